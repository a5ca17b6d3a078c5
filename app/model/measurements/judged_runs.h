// JudgedRun: a recorded run of a kernel that the model was compared with.
#pragma once

#include <string_view>
#include <vector>

#include "app/model/measurements/measurements.h"

namespace tilescope {

/// Below it the start of a launch and of its blocks is much of the time, and predictions are worse (docs/model-limits.md, row 11).
inline constexpr double short_run_ns = 20e3;

struct JudgedRun {
  const MeasuredCase* measured = nullptr;
  double ns = 0;                           // predicted, at the clock of the recording
  double error = 0;                        // relative, of that time
  bool held_out = false;                   // of the list judge
  const CaseValidation* result = nullptr;  // null where the tables lack a case of its bundle
  bool is_short() const { return ns < short_run_ns; }
};

/// Returns the recorded runs of a kernel on a GPU that have an error in the tables.
std::vector<JudgedRun> judged_runs(const Measurements& known, std::string_view gpu, std::string_view kernel);

}  // namespace tilescope
