// run_sweep(): simulates the points of a sweep, for the window and for the command line.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "app/model/background/growing.h"
#include "app/model/measurements/clock_under_load.h"
#include "app/model/measurements/measurements.h"
#include "sim/analysis/sweep.h"

namespace tilescope {

/// How far times of one program of a sweep were off.
struct SweepErrors {
  Result<TimeErrors> time = Error{};  // of the first value that a kernel can run
  std::vector<double> unlike;         // values of the axis at which the error is unknown: no kernel can run them
  bool is_known_at(double value) const { return time && std::ranges::find(unlike, value) == unlike.end(); }
};

/// Returns how far times of each program of a sweep were off, and at which values no kernel can run it.
std::vector<SweepErrors> errors_of(const SweepRequest& sweep, const Measurements& known);

/// Whether the GPU of a point has a changed value and the L2 may decide its time.
bool l2_may_decide(const SweepResult& result, std::size_t algorithm, std::size_t value);

/// Simulates what is missing of a sweep, on `threads` threads. `stop` is asked now and then from every thread; `changed` is called
/// after each point, never twice at once. With `recordings`, each point is simulated at its clock under load: points that differ in
/// a part of the tile or in a value of the GPU alone have one clock. False when it was stopped.
bool run_sweep(Growing<SweepResult>& sweep, int threads, const std::function<bool()>& stop,
               const std::function<void(const SweepResult&)>& changed, const Recordings* recordings = nullptr);

}  // namespace tilescope
