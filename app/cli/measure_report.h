// What `measure` prints about one case.
#pragma once

#include <string>

#include "kernels/measure/check_kernel.h"
#include "kernels/measure/measure_case.h"
#include "sim/core/probe_result.h"

namespace tilescope {

/// How a case was checked against float64, and what it cost to measure.
struct MeasureNotes {
  AttentionProblem checked;  // the problem itself, or a smaller one like it
  KernelCheck check;
  double open_seconds = 0;  // device, flush memory, profiler
  MeasuringCost cost;
};

/// Aligned text: problem, launches, times, every counter with its spread, closed forms beside them, the check.
std::string measure_table(const MeasuredCase& measured, const DeviceInfo& device, const MeasureNotes& notes);

/// What a probe found, in a few lines: the rest is in its file.
std::string probe_table(const ProbeResult& probe);
std::string samples_table(const BandwidthRecord& record);

}  // namespace tilescope
