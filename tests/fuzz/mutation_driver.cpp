// Runs a fuzz target for some seconds on mutations of a corpus; for compilers without libFuzzer.
//
//   fuzz_x [--seconds S] [--seed N] [--only I] CORPUS_FOLDER…
//
// Input I of a seed depends on nothing but the seed, I and the corpus: --seed N --only I is one failing input again.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "tests/fuzz/fuzz_target.h"

// NOLINTNEXTLINE(bugprone-reserved-identifier): the runtime's own name
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

using Random = std::mt19937_64;
using Clock = std::chrono::steady_clock;

constexpr std::size_t largest_input = 65536;
constexpr std::chrono::seconds slowest_input{5};  // with sanitizers on a busy machine

std::atomic<std::uint64_t> current_seed{0}, current_input{0};

/// Only what a signal handler may do.
void say_which_input() {
  char text[128];
  std::size_t length = 0;
  const auto add = [&](const char* words) {
    for (; *words != '\0'; ++words) text[length++] = *words;
  };
  const auto add_number = [&](std::uint64_t number) {
    char digits[20];
    std::size_t count = 0;
    do digits[count++] = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    while (count > 0) text[length++] = digits[--count];
  };
  add("\nfailed; this input again: --seed ");
  add_number(current_seed);
  add(" --only ");
  add_number(current_input);
  add("\n");
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, length);
}

void on_signal(int number) {
  say_which_input();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

std::size_t below(Random& random, std::size_t limit) {
  return limit == 0 ? 0 : static_cast<std::size_t>(random() % limit);
}

std::string load(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Pieces between blanks and punctuation of the whole corpus, and texts that parsers stumble over.
std::vector<std::string> words_of(const std::vector<std::string>& corpus) {
  std::vector<std::string> words = {
      "0", "-1", "1e999", "nan", "inf", "-0",   "9223372036854775808", "18446744073709551616", "0x1p-1074", "\"",   "\"\"\"", "[[",
      "]", "{",  "}",     "=",   "--",  "\xff", "\xef\xbb\xbf",        "\xed\xa0\x80",         "\r\n",      "\n\n", "#",      ",,",
      ";", "\t"};
  words.emplace_back(1, '\0');
  for (const std::string& text : corpus) {
    std::string word;
    for (const char c : text) {
      if (std::strchr(" \t\n,={}\"", c) == nullptr)
        word += c;
      else if (!word.empty() && word.size() < 40)
        words.push_back(std::exchange(word, {}));
      else
        word.clear();
    }
  }
  return words;
}

class Mutator {
 public:
  explicit Mutator(std::vector<std::string> corpus) : corpus_(std::move(corpus)), words_(words_of(corpus_)) {}

  std::string input(std::uint64_t seed, std::uint64_t index) const {
    if (index < corpus_.size()) return corpus_[index];  // each of the corpus once as it is
    std::seed_seq sequence{seed, seed >> 32, index, index >> 32};
    Random random(sequence);
    std::string text = pick(random, corpus_);
    for (std::size_t changes = 1 + below(random, 6); changes > 0; --changes) change(random, text);
    if (text.size() > largest_input) text.resize(largest_input);
    return text;
  }

 private:
  static const std::string& pick(Random& random, const std::vector<std::string>& from) { return from[below(random, from.size())]; }

  void change(Random& random, std::string& text) const {
    const std::size_t at = below(random, text.size() + 1);
    const std::size_t left = text.size() - at;
    switch (below(random, 8)) {
      case 0:
        if (left > 0) text[at] = static_cast<char>(text[at] ^ (1 << below(random, 8)));
        break;
      case 1:
        if (left > 0) text[at] = static_cast<char>(random());
        break;
      case 2:
        text.insert(at, pick(random, words_));
        break;
      case 3:
        text.erase(at, below(random, std::min<std::size_t>(left, 64) + 1));
        break;
      case 4:
        text.insert(at, text.substr(below(random, text.size() + 1), below(random, 128)));
        break;
      case 5:
        replace_word(random, text, at);
        break;
      case 6:
        text.resize(at);
        break;
      default: {
        const std::string& other = pick(random, corpus_);
        text = text.substr(0, at) + other.substr(below(random, other.size() + 1));
      }
    }
  }

  /// Swaps the digits or letters at `at` for another word.
  void replace_word(Random& random, std::string& text, std::size_t at) const {
    const auto inside = [&](std::size_t i) { return i < text.size() && std::strchr(" \t\n,={}\"", text[i]) == nullptr; };
    std::size_t first = at, last = at;
    while (first > 0 && inside(first - 1)) --first;
    while (inside(last)) ++last;
    text.replace(first, last - first, pick(random, words_));
  }

  std::vector<std::string> corpus_, words_;
};

struct Options {
  double seconds = 20;
  std::uint64_t seed = std::random_device{}();
  std::int64_t only = -1;
  std::vector<std::string> corpus;
};

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--seconds" && i + 1 < argc)
      options.seconds = std::strtod(argv[++i], nullptr);
    else if (name == "--seed" && i + 1 < argc)
      options.seed = std::strtoull(argv[++i], nullptr, 10);
    else if (name == "--only" && i + 1 < argc)
      options.only = std::strtoll(argv[++i], nullptr, 10);
    else
      for (const auto& file : std::filesystem::directory_iterator(name)) options.corpus.push_back(file.path().native());
  }
  // The order of a folder is not that of another machine.
  std::sort(options.corpus.begin(), options.corpus.end());
  for (std::string& file : options.corpus) file = load(file);
  return options;
}

void run_one(const Mutator& mutator, std::uint64_t seed, std::uint64_t index) {
  current_input = index;
  const std::string text = mutator.input(seed, index);
  const Clock::time_point start = Clock::now();
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  tilescope::fuzz_check(Clock::now() - start < slowest_input, "an input is dealt with in five seconds");
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  if (options.corpus.empty()) {
    std::fputs("give at least one folder with inputs to start from\n", stderr);
    return 2;
  }
  current_seed = options.seed;
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(say_which_input);
  for (const int number : {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGBUS}) std::signal(number, on_signal);

  const Mutator mutator(options.corpus);
  if (options.only >= 0) {
    run_one(mutator, options.seed, static_cast<std::uint64_t>(options.only));
    return 0;
  }
  std::printf("seed %llu, %zu inputs to start from, %g s\n", static_cast<unsigned long long>(options.seed), options.corpus.size(),
              options.seconds);
  std::fflush(stdout);
  std::uint64_t index = 0;
  const Clock::time_point start = Clock::now();
  while (index < options.corpus.size() || std::chrono::duration<double>(Clock::now() - start).count() < options.seconds)
    run_one(mutator, options.seed, index++);
  std::printf("%llu inputs, none failed\n", static_cast<unsigned long long>(index));
  return 0;
}
