// The clock that a GPU holds under a run. The harder the tensor cores work, the more power they draw and the slower all SMs run.
//
//   recorded cases ── recorded_runs() ──► borrowed_clock() ──► ClockUnderLoad ── simulate() at it ──► RunUnderLoad
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/model/measurements/borrowed_clock.h"
#include "app/model/measurements/measurements.h"
#include "app/model/measurements/probe_time.h"
#include "app/model/measurements/time_errors.h"
#include "sim/analysis/outcome.h"

namespace tilescope {

/// Returns the FLOP count that FlashAttention's papers and PyTorch use for what was simulated: 4 B H Nq Nk D, half of it with a
/// causal mask and Nq = Nk, the visible share of it with another mask or other lengths, and 2.5 times as much for a backward pass
/// (nominal_flops()). Without a kernel of its own, and for both passes together: the products that the program computes. 0 where
/// too many elements would have to be counted.
double useful_flops(const Simulation& simulation);
TensorLoad load_of(const Simulation& simulation);

struct ClockUnderLoad {
  enum class From : std::uint8_t { this_case, like_runs, calibration, set };
  double hz = 0;
  From from = From::calibration;
  int runs = 0;  // like_runs: of how many recorded runs it is the mean
  // It is that of the same run …
  bool of_unchanged = false;  // on the GPU without changed values
  bool of_own_tile = false;   // in the tile and the orders of the kernel as it stands
};
/// Returns the key of JSON: "this_case", "like_runs", "calibration", "set".
std::string_view to_string(ClockUnderLoad::From from);
/// Returns where the clock comes from, for a person: "the mean of 5 recorded runs around its load".
std::string origin_text(const ClockUnderLoad& clock);

/// Recordings of one GPU, ready to be asked for many runs.
struct Recordings {
  Measurements known;
  std::vector<RecordedRun> runs;
};
/// Returns what is recorded of a GPU among `known`. Of a file of one's own that has the id of a GPU and other numbers nothing is
/// recorded. Where its SMs and its highest clock are those of that GPU, it has `runs`, which lend it their clocks.
Recordings recordings_of(const Measurements& known, const GpuSpec& gpu);
/// Loads the same from assets/measured/, apart from samples.
Recordings load_recordings(const GpuSpec& gpu);

/// Returns the clock of a run: that which the user set for load, else that of its own recording, else borrowed_clock(), else
/// sm.clock_under_load_hz. With another tile or order than the kernel's, and on a GPU with changed values, it is the clock of the
/// kernel as it stands, which is simulated for it: a change must not show as another clock. nullopt where none is known, or where
/// the user chose the clock itself; also if cancelled.
std::optional<ClockUnderLoad> clock_under_load(const Recordings& recordings, const Simulation& simulation,
                                               const Progress& progress = {});

/// Says which clock the times on a GPU from a file of one's own have, and how to give it another. Empty where `source`, which
/// load_gpu() took, is no file.
Sentence clock_of_file(std::string_view source, const GpuSpec& gpu, const Recordings& recordings);

/// Whether a run on this GPU can have a clock under load that is not its own.
bool may_slow(const Recordings& recordings, const GpuSpec& gpu);

/// How far predictions of one program on one GPU were off.
struct PredictionErrors {
  Result<FigureErrors> time = Error{};  // or why it is unknown
  std::optional<ClockErrors> clock;     // what a borrowed clock adds; absent for a clock that is not borrowed
  Result<FigureErrors> hbm_read = Error{}, hbm_write = Error{};  // of the bytes
};
/// `run`: at the clock at which its time is shown, which is `clock` where it is one under load.
PredictionErrors prediction_errors(const Recordings& recordings, const Simulation& run, const std::optional<ClockUnderLoad>& clock);

/// Returns the bytes that the L2 looked up for the recorded run of a request on the GPU without its changes; 0: not recorded.
double recorded_lookups(const Recordings& recordings, const SimulationRequest& request);

/// A run at the clock under load. HBM and launches keep their times in seconds, so it takes a simulation of its own.
struct RunUnderLoad {
  std::shared_ptr<const Simulation> simulation;
  ClockUnderLoad clock;
  std::optional<FoundCase> recorded = {};  // the same run on real hardware
  PredictionErrors errors = {};
  std::optional<ProbeTime> probed = {};  // the same run as a probe recorded it
};
/// Simulates a run again at `clock`. Returns nullopt where that is refused or cancelled.
std::optional<RunUnderLoad> run_at(const ClockUnderLoad& clock, const Recordings& recordings, const Simulation& simulation,
                                   const Progress& progress = {});
/// Simulates a run again at clock_under_load(). Returns nullopt where no clock is known, too.
std::optional<RunUnderLoad> run_under_load(const Recordings& recordings, const Simulation& simulation,
                                           const Progress& progress = {});

// Runs that are compared or ranked on one GPU have one clock: that which the GPU holds under the first of them, or of several
// programs under the fastest. With a clock each, the clock could decide which comes first: recorded clocks differ by up to a fifth.

/// Returns a request at the clock of a comparison; 0 changes nothing, and a clock that the user chose stays.
SimulationRequest at_clock(SimulationRequest request, double clock_hz);
/// Returns the clock for runs that are compared with `first`; 0 where the highest stays, because none is known under load or the
/// user chose one. It simulates `first`. Errors  cancelled
Result<double> clock_of_comparison(const SimulationRequest& first, const Recordings& recordings, const Progress& progress = {});
/// Simulates a request at the clock of a comparison and keeps its figures, with its useful FLOP count and its recorded time.
/// Errors  cancelled
Result<Outcome> simulate_outcome_at(double clock_hz, const SimulationRequest& request, const Recordings& recordings,
                                    const Progress& progress = {});

/// The clock of several programs on one problem.
struct RankingClock {
  double hz = 0;               // 0: the highest, because none is known under load or the user chose one
  std::string algorithm = {};  // under which the GPU holds it: that with the fewest cycles at the highest clock
};
/// Returns the clock for programs that are ranked, on `threads` threads. Of equally fast ones it is that of the last. A request
/// that is refused does not count. Errors  cancelled
Result<RankingClock> clock_of_ranking(std::span<const SimulationRequest> requests, const Recordings& recordings, int threads,
                                      const Progress& progress = {});

struct PairUnderLoad {
  std::shared_ptr<const Simulation> first, second;
};
/// Simulates two runs again at the clock that the GPU holds under the first. On two GPUs each run has its own clock under load. A
/// run whose clock does not change is returned as it is.
/// Errors   those of simulate(); cancelled
Result<PairUnderLoad> pair_under_load(const Measurements& known, const std::shared_ptr<const Simulation>& first,
                                      const std::shared_ptr<const Simulation>& second, const Progress& progress = {});

/// Simulates a request at the clock of a comparison or, where none is given, at its own clock under load, and keeps the figures of
/// that run, with Outcome::under_load. It simulates once where the clock is known before, else twice: the clock follows from a run
/// at the highest.
Result<Outcome> simulate_outcome_under_load(const SimulationRequest& request, const Recordings& recordings,
                                            const Progress& progress = {}, std::optional<double> common_hz = {});

}  // namespace tilescope
