// The clock that a run borrows from recorded ones. More FLOP a cycle for more cycles take more power: they never raise a clock.
//
//   FLOP/cycle ▲         . v      heavier and longer than x: its clock is no higher
//              │    ┌──────┐
//              │    │ . x  │      the recorded runs between u and v lend x their mean clock
//              │    └──────┘
//              │    u .           lighter and shorter than x: its clock is no lower
//              └────────────────► cycles
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/model/measurements/measurements.h"
#include "sim/analysis/roofline.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// What decides a clock: the instruction of the products, how many of them a cycle has, and for how long.
struct TensorLoad {
  ProductInstruction instruction{};
  double flops = 0, cycles = 0;  // flops: useful_flops(), 0 for a softmax; under a mask of visited tiles
};
/// Returns how hard a run works the tensor cores.
TensorLoad load_of(const Simulation& simulation);

struct RecordedRun {
  TensorLoad load;
  double clock_hz = 0;
  std::string kernel = {};
  AttentionProblem problem = {};
};
/// Returns the recorded runs of a GPU. Cases with a mask or a score change are left out: what they compute is not recorded.
std::vector<RecordedRun> recorded_runs(const Measurements& measurements, const GpuSpec& gpu);

struct BorrowedClock {
  double hz = 0;
  int runs = 0;  // of how many recorded runs it is the mean
};
/// Returns the clock of a load: the least over u of the largest over v of the mean clock between u and v, as in the picture.
/// Corners are recorded runs with the same instruction, and no load and any load. It never rises with FLOP a cycle or with cycles.
/// Source   Deng and Zhang, "Isotonic regression in multi-dimensional spaces and graphs", 2020: the min-max block estimator
/// Limits   nullopt for fewer than least_lenders runs
std::optional<BorrowedClock> borrowed_clock(std::span<const RecordedRun> runs, const TensorLoad& load);
inline constexpr std::size_t least_lenders = 5;

/// How far borrowed clocks would have been off on the recorded runs of a kernel: each is borrowed from runs of other problems.
struct ClockErrors {
  int runs = 0;
  double mean = 0, worst = 0;  // of the absolute relative error
};
/// Returns nullopt where no clock could have been borrowed.
std::optional<ClockErrors> borrowed_clock_errors(std::span<const RecordedRun> runs, std::string_view kernel);

}  // namespace tilescope
