// RatioErrors: how far predicted ratios of two times were off, over pairs of recorded runs.
#pragma once

#include "app/model/measurements/time_errors.h"

namespace tilescope {

/// How far predicted ratios of two times were off, over pairs of recorded runs.
struct RatioErrors {
  int pairs = 0;
  bool held_out = false;       // the model had seen neither run of any pair
  double mean = 0, worst = 0;  // of the absolute relative error of the ratio
};
/// Returns the errors of a ratio of the time of `a` to that of `b`: pairs of recorded runs of both programs on one problem or, of
/// one program on one GPU, pairs on two problems. Runs are chosen as time_errors_of() does, the short ones for a short run.
/// Errors   those of time_errors_of(); two tiles of one program, a GPU with changed values: no recording has them; no such pair
Result<RatioErrors> ratio_errors_of(const Measurements& known, const PredictedRun& a, const PredictedRun& b);

}  // namespace tilescope
