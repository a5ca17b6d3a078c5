// Prints one measured case.
#pragma once

#include <string>

#include "kernels/measure/check_kernel.h"
#include "kernels/measure/measure_case.h"
#include "sim/core/probe_result.h"

namespace tilescope {

/// The float64 check of a case and the cost of measuring it.
struct MeasureNotes {
  AttentionProblem checked;  // the problem itself, or a smaller one like it
  KernelCheck check;
  double open_seconds = 0;  // device, flush memory, profiler
  MeasuringCost cost;
};

/// Returns a table: problem, launches, times, counters with spreads and closed forms, and the check.
std::string measure_table(const MeasuredCase& measured, const DeviceInfo& device, const MeasureNotes& notes);

/// Summarises a probe in a few lines; the rest is in its file.
std::string probe_table(const ProbeResult& probe);
std::string samples_table(const BandwidthRecord& record);

}  // namespace tilescope
