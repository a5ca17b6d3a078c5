// run_sweep(): simulates the points of a sweep, for the window and for the command line.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "app/model/background/growing.h"
#include "app/model/measurements/measurements.h"
#include "app/model/measurements/recordings.h"
#include "app/model/measurements/time_errors.h"
#include "sim/analysis/sweep.h"

namespace tilescope {

/// How far the times of a sweep are off, by index of the point; nullopt: it is not simulated.
using SweepErrors = std::vector<std::optional<Result<FigureErrors>>>;

/// Adds the errors of the points that have been simulated since.
void add_errors(SweepErrors& errors, const SweepResult& result, const Measurements& known);

/// Returns whether the GPU of a point has a changed value and the L2 may decide its time.
bool l2_may_decide(const SweepResult& result, std::size_t algorithm, std::size_t value);

/// Simulates what is missing of a sweep, on `threads` threads. `stop` is asked now and then from every thread; `changed` is called
/// after each point, never twice at once. With `recordings`, each point is simulated at its clock under load: points that differ in
/// a part of the tile or in a value of the GPU alone have one clock. False when it was stopped.
bool run_sweep(Growing<SweepResult>& sweep, int threads, const std::function<bool()>& stop,
               const std::function<void(const SweepResult&)>& changed, const Recordings* recordings = nullptr);

}  // namespace tilescope
