// Drives the window's session with random actions, each sequence in a process of its own, and shrinks a sequence that fails.
//
//   monkey [--seed S] [--actions N] [--length L] [--seconds T] [--keep I,J,K] [--soak T]
//
// Sequence i has seed S + i and L actions. --keep runs only these actions of seed S, and lists them: a failure again. --soak runs
// one sequence on the h200 for T seconds, all in this process, and prints its memory as CSV each minute; it fails where the heap of
// the last quarter is more than 5 % above that of the second. TILESCOPE_MONKEY_ACTIONS takes the place of N, for long runs under
// ctest.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/monkey/sequence.h"

namespace tilescope {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int exit_skipped = 77;
constexpr unsigned slowest_action_seconds = 60;  // under the sanitizers on a busy machine
constexpr auto shrinking_time = std::chrono::minutes(3);
constexpr double fewest_samples = 12, most_growth = 0.05;

struct Options {
  std::uint64_t seed = std::random_device{}();
  std::size_t actions = 5000, length = 250;
  double seconds = 0, soak_seconds = 0;
  std::vector<std::size_t> keep;
};

/// What a child tells its parent, in shared memory: it outlives a crash.
struct Report {
  std::size_t position, commands;
  char broken[256];
};

struct Ending {
  bool failed = false, skipped = false;
  std::string why;
  std::size_t position = 0, commands = 0;
};

Report* shared_report() {
  void* memory = ::mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    std::exit(1);
  }
  return static_cast<Report*>(memory);
}

int run_child(const Sequence& sequence, Report& report, bool list) {
  SequenceWatch watch;
  watch.at = [&](std::size_t position) {
    ::alarm(slowest_action_seconds);
    report.position = position;
  };
  if (list)
    watch.said = [&](const std::string& action) {
      std::printf("  %zu: %s\n", report.position < sequence.actions.size() ? sequence.actions[report.position] : 0, action.c_str());
      std::fflush(stdout);
    };
  const SequenceResult result = run_sequence(sequence, watch);
  report.commands = result.commands;
  if (!result.has_screen) return exit_skipped;
  std::strncpy(report.broken, result.broken.c_str(), sizeof report.broken - 1);
  return result.broken.empty() ? 0 : 1;
}

/// Runs a sequence in a process of its own. Its output is thrown away while a failure shrinks.
Ending run_apart(const Sequence& sequence, bool quiet, bool list = false) {
  static Report* const report = shared_report();
  *report = {};
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    if (quiet && std::freopen("/dev/null", "w", stderr) == nullptr) std::_Exit(1);
    const int code = run_child(sequence, *report, list);
    std::fflush(nullptr);
    std::exit(code);  // so that a leak is found
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  Ending ending;
  ending.position = report->position;
  ending.commands = report->commands;
  if (WIFSIGNALED(status))
    ending.why = fmt::format("ended by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  else if (WEXITSTATUS(status) == exit_skipped)
    ending.skipped = true;
  else if (WEXITSTATUS(status) != 0)
    ending.why = report->broken[0] != '\0' ? fmt::format("does not hold: {}", report->broken)
                                           : fmt::format("exit code {}", WEXITSTATUS(status));
  ending.failed = !ending.why.empty();
  return ending;
}

/// Delta debugging: drops ever smaller pieces as long as the rest still fails in the same way.
std::vector<std::size_t> shrink(const Sequence& failing, const std::string& why) {
  std::vector<std::size_t> kept = failing.actions;
  const Clock::time_point start = Clock::now();
  for (std::size_t piece = std::max<std::size_t>(1, kept.size() / 2); piece >= 1; piece /= 2) {
    for (std::size_t at = 0; at < kept.size() && Clock::now() - start < shrinking_time;) {
      std::vector<std::size_t> fewer(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(at));
      const std::size_t after = std::min(kept.size(), at + piece);
      fewer.insert(fewer.end(), kept.begin() + static_cast<std::ptrdiff_t>(after), kept.end());
      if (run_apart({failing.seed, fewer}, true).why == why)
        kept = std::move(fewer);
      else
        at += piece;
    }
  }
  return kept;
}

std::string list_of(const std::vector<std::size_t>& actions) {
  std::string text;
  for (const std::size_t action : actions) text += fmt::format("{}{}", text.empty() ? "" : ",", action);
  return text;
}

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--seed") options.seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--actions") options.actions = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--length") options.length = std::max<std::size_t>(1, std::strtoull(argv[i + 1], nullptr, 10));
    if (name == "--seconds") options.seconds = std::strtod(argv[i + 1], nullptr);
    if (name == "--soak") options.soak_seconds = std::strtod(argv[i + 1], nullptr);
    if (name == "--keep")
      for (char* at = argv[i + 1]; *at != '\0'; at += *at == ',' ? 1 : 0) options.keep.push_back(std::strtoull(at, &at, 10));
  }
  if (const char* actions = std::getenv("TILESCOPE_MONKEY_ACTIONS")) options.actions = std::strtoull(actions, nullptr, 10);
  return options;
}

int fail(const Sequence& sequence, const Ending& ending) {
  std::printf("monkey: seed %llu: %s, at action %zu of %zu; shrinking\n", static_cast<unsigned long long>(sequence.seed),
              ending.why.c_str(), ending.position, sequence.actions.size());
  Sequence shortest = sequence;
  if (ending.position < shortest.actions.size()) shortest.actions.resize(ending.position + 1);
  if (run_apart(shortest, true).why != ending.why) shortest = sequence;
  shortest.actions = shrink(shortest, ending.why);
  std::printf("monkey: %zu actions are enough: --seed %llu --keep %s\n", shortest.actions.size(),
              static_cast<unsigned long long>(shortest.seed), list_of(shortest.actions).c_str());
  const Ending again = run_apart(shortest, false, true);
  std::printf("monkey: %s\n", again.failed ? again.why.c_str() : "did not fail again");
  return 1;
}

double median_heap(const std::vector<SoakSample>& samples, std::size_t first, std::size_t last) {
  std::vector<double> heaps;
  for (std::size_t i = first; i < last; ++i) heaps.push_back(static_cast<double>(samples[i].heap));
  std::nth_element(heaps.begin(), heaps.begin() + static_cast<std::ptrdiff_t>(heaps.size() / 2), heaps.end());
  return heaps[heaps.size() / 2];
}

/// Ends the process where an action takes a minute of processor time, or is not over in half an hour; 0 and 0: never. A soak runs
/// at low priority, where a busy machine may keep it waiting for minutes.
void limit_action(long processor_seconds, unsigned seconds) {
  const itimerval limit = {{0, 0}, {processor_seconds, 0}};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
  ::alarm(seconds);
}

/// One long sequence in this process; what the heap holds at rest is printed, and compared between its second and its last quarter.
int soak(const Options& options) {
  std::printf("# monkey: seed %llu, soak of %.0f s\nseconds,actions,heap_bytes,resident_bytes\n",
              static_cast<unsigned long long>(options.seed), options.soak_seconds);
  SequenceWatch watch;
  std::size_t position = 0;
  watch.at = [&](std::size_t at) {
    limit_action(slowest_action_seconds, 30 * slowest_action_seconds);
    position = at;
  };
  watch.rests = [] { limit_action(0, 0); };
  std::vector<SoakSample> samples;
  const Soak asked{.seed = options.seed,
                   .seconds = options.soak_seconds,
                   .seconds_between_samples = std::min(60.0, options.soak_seconds / fewest_samples)};
  const SequenceResult result = run_soak(asked, watch, [&](const SoakSample& sample) {
    std::printf("%.0f,%zu,%zu,%zu\n", sample.seconds, sample.actions, sample.heap, sample.resident);
    std::fflush(stdout);
    samples.push_back(sample);
  });
  if (!result.has_screen) return exit_skipped;
  if (!result.broken.empty()) {
    std::printf("# monkey: does not hold: %s, at action %zu\n", result.broken.c_str(), position);
    return 1;
  }
  const std::size_t count = samples.size();
  if (count < 4) return 1;
  const double growth = median_heap(samples, 3 * count / 4, count) / median_heap(samples, count / 4, count / 2) - 1;
  std::printf("# monkey: %zu actions, %zu of them commands: none failed; heap of the last quarter %+.1f %% of the second\n",
              position + 1, result.commands, 100 * growth);
  return growth > most_growth ? 1 : 0;
}

int run(const Options& options) {
  if (options.soak_seconds > 0) return soak(options);
  if (!options.keep.empty()) {
    const Ending ending = run_apart({options.seed, options.keep}, false, true);
    std::printf("monkey: %s\n", ending.failed ? ending.why.c_str() : "none failed");
    return ending.failed ? 1 : 0;
  }
  const Clock::time_point start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  std::printf("monkey: seed %llu\n", static_cast<unsigned long long>(options.seed));
  std::size_t actions = 0, commands = 0, sequences = 0;
  while (options.seconds > 0 ? seconds() < options.seconds : actions < options.actions) {
    Sequence sequence{options.seed + sequences, {}};
    const std::size_t left = options.seconds > 0 ? options.length : options.actions - actions;
    sequence.actions.resize(std::min(options.length, left));
    std::iota(sequence.actions.begin(), sequence.actions.end(), std::size_t{0});
    const Ending ending = run_apart(sequence, false);
    if (ending.skipped) return exit_skipped;
    if (ending.failed) return fail(sequence, ending);
    actions += sequence.actions.size();
    commands += ending.commands;
    ++sequences;
  }
  std::printf("monkey: %zu actions, %zu of them commands, in %zu sequences and %.0f s: none failed\n", actions, commands, sequences,
              seconds());
  return 0;
}

}  // namespace

}  // namespace tilescope

int main(int argc, char** argv) {
  ::setenv("TILESCOPE_ASSETS", TILESCOPE_SOURCE_DIR "/assets", 0);
  return tilescope::run(tilescope::read_options(argc, argv));
}
