// The clock that a GPU holds under a run. The harder the tensor cores work, the more power they draw and the slower all SMs run.
//
//   recorded cases ── recorded_runs() ──► the runs most like this one ── median ──► ClockUnderLoad
//                                                                            └── simulate() at it ──► RunUnderLoad
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/model/measurements/measurements.h"
#include "sim/analysis/outcome.h"

namespace tilescope {

/// What decides a clock: the instruction of the products, how many of them a cycle has, and for how long.
struct TensorLoad {
  ProductInstruction instruction{};
  double flops = 0, cycles = 0;  // flops: useful_flops(), 0 for a softmax
};

struct RecordedRun {
  TensorLoad load;
  double clock_hz = 0;
};
/// Returns the recorded runs of a GPU. Cases with a mask or a score change are left out: what they compute is not recorded.
std::vector<RecordedRun> recorded_runs(const Measurements& measurements, const GpuSpec& gpu);

/// Returns the usual FLOP count of what was simulated: 4 B H Nq Nk D, half of it with a causal mask, 2.5 times as much for a
/// backward pass (nominal_flops()). With a mask, or without a kernel of its own: the products that the program computes.
double useful_flops(const Simulation& simulation);
TensorLoad load_of(const Simulation& simulation);

struct ClockUnderLoad {
  enum class From : std::uint8_t { this_case, like_runs, calibration };
  double hz = 0;
  From from = From::calibration;
  int runs = 0;  // like_runs: of how many recorded runs it is the median
};
/// Returns the key of JSON: "this_case", "like_runs", "calibration".
std::string_view to_string(ClockUnderLoad::From from);
/// Returns where the clock comes from, for a person: "the median of the 5 recorded runs most like it".
std::string origin_text(const ClockUnderLoad& clock);

/// Returns the median clock of the recorded runs with the same instruction that are most like `load`, in octaves of cycles and of
/// FLOP a cycle; nullopt for fewer than alike_runs.
std::optional<ClockUnderLoad> clock_of_like_runs(std::span<const RecordedRun> runs, const TensorLoad& load);
inline constexpr std::size_t alike_runs = 5;

/// Recordings of one GPU, ready to be asked for many runs.
struct Recordings {
  Measurements known;
  std::vector<RecordedRun> runs;
};
/// Loads what is recorded of a GPU, apart from probes and samples. Nothing is recorded of a file of one's own that has the id of a
/// GPU and other numbers.
Recordings load_recordings(const GpuSpec& gpu);

/// Returns the clock of a run: that of its own recording, else of those most like it, else sm.clock_under_load_hz. nullopt where
/// none is known, or where the user chose the clock.
std::optional<ClockUnderLoad> clock_under_load(const Recordings& recordings, const Simulation& simulation);

/// A run at the clock under load. HBM and launches keep their times in seconds, so it takes a simulation of its own.
struct RunUnderLoad {
  std::shared_ptr<const Simulation> simulation;
  ClockUnderLoad clock;
  std::optional<FoundCase> recorded;  // the same run on real hardware
};
/// Returns nullopt where no clock is known, or where the second simulation is refused or cancelled.
std::optional<RunUnderLoad> run_under_load(const Recordings& recordings, const Simulation& simulation,
                                           const Progress& progress = {});

/// Returns what a study keeps of it.
UnderLoad under_load_of(const RunUnderLoad& run);
/// Simulates a request as simulate_outcome() does, and fills in Outcome::under_load.
Result<Outcome> simulate_outcome_under_load(const SimulationRequest& request, const Recordings& recordings,
                                            const Progress& progress = {});

}  // namespace tilescope
