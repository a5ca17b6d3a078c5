// A guess on a second thread, while the run itself is simulated on the first.
#include "app/cli/run_and_next_limit.h"

#include <atomic>
#include <functional>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include <unistd.h>

#include "app/model/background/parallel.h"
#include "app/model/measurements/common_clock.h"
#include "sim/core/refuse.h"

namespace tilescope {

namespace {

constexpr double room_for_both = 6e9;  // two of the largest simulations that simulate() accepts

/// Returns 0 if the system does not say.
double free_bytes() {
#ifdef _SC_AVPHYS_PAGES
  return static_cast<double>(::sysconf(_SC_AVPHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
#else
  return 0;
#endif
}

/// The run without its probable bottleneck.
class Guess {
 public:
  Guess(const SimulationRequest& request, std::function<bool()> stopped) : stopped_(std::move(stopped)) {
    if (core_count() < 2 || free_bytes() <= room_for_both) return;
    try {
      thread_ = std::thread([this, request] { run(request); });
    } catch (const std::system_error&) {  // without a thread there is no guess
    }
  }
  ~Guess() { drop(); }
  Guess(const Guess&) = delete;
  Guess& operator=(const Guess&) = delete;

  /// Waits for the result; nullptr if the guess was different or absent.
  std::shared_ptr<const Simulation> without(Bound bound) {
    if (!thread_.joinable()) return nullptr;
    wanted_ = static_cast<int>(bound);
    thread_.join();
    return guessed_ == bound ? std::move(made_) : nullptr;
  }
  void drop() {
    if (!thread_.joinable()) return;
    wanted_ = nothing;
    thread_.join();
  }

 private:
  static constexpr int unknown = -1, nothing = -2;

  /// Makes no guess without enough memory.
  void run(const SimulationRequest& request) try { simulate_guess(request); } catch (const std::bad_alloc&) {
    guessed_.reset();
  }

  void simulate_guess(SimulationRequest request) {
    // Once the bottleneck is known, a missing or wrong guess is abandoned.
    guessed_ = likely_bound(request, [this](double) { return wanted_ == unknown && !is_stopped(); });
    if (!guessed_) return;
    request.tile = chosen_tile(request);
    request.gpu = without_limit(std::move(request.gpu), *guessed_);
    const int good = static_cast<int>(*guessed_);
    if (auto made = simulate(request, [this, good](double) { return (wanted_ == unknown || wanted_ == good) && !is_stopped(); }))
      made_ = std::move(*made);
  }

  bool is_stopped() const { return stopped_ && stopped_(); }

  std::function<bool()> stopped_;
  std::atomic<int> wanted_ = unknown;  // a Bound, as a number
  std::optional<Bound> guessed_;
  std::shared_ptr<const Simulation> made_;
  std::thread thread_;
};

}  // namespace

Result<RunAndNextLimit> simulate_run_and_next_limit(const SimulationRequest& request, const Recordings& recordings,
                                                    const Watch& watch) {
  const auto shown = [&watch](std::string_view what) {
    return watch.show ? Progress([&watch, what](double fraction) { return watch.show(what, fraction); }) : Progress();
  };
  const bool slows = may_slow(recordings, request.gpu);
  std::optional<Guess> guess;
  if (!slows) guess.emplace(request, watch.stopped);
  const Progress of_run = shown("the run");
  if (of_run && !of_run(0)) return simulation_cancelled();  // a short run shows no other progress
  const auto start = std::chrono::steady_clock::now();
  const auto made = simulate(request, of_run);
  RunAndNextLimit both;
  both.wall = std::chrono::steady_clock::now() - start;
  if (!made) return made.error();
  both.simulation = *made;
  const Progress under_load = shown("the run at its clock under load");
  if (const auto clock = slows ? clock_under_load(recordings, **made, under_load) : std::nullopt) {
    guess.emplace(at_clock(request, clock->hz), watch.stopped);
    both.under_load = run_at(*clock, recordings, **made, under_load);
  }
  both.errors = both.under_load ? both.under_load->errors : prediction_errors(recordings, **made, std::nullopt);
  both.recorded_lookups = recorded_lookups(recordings.known, (*made)->request);
  const Simulation& timed = both.under_load ? *both.under_load->simulation : **made;
  if (const auto without = guess ? guess->without(timed.bound) : nullptr) {
    both.next = next_limit_of(timed, *without);
  } else if (const auto next = next_limit(timed, shown("the run without its bottleneck"))) {
    both.next = *next;
  }
  // A part that was stopped is missing, and nothing in the result would say so.
  if (watch.stopped && watch.stopped()) return simulation_cancelled();
  return both;
}

}  // namespace tilescope
