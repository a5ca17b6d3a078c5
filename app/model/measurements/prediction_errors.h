// PredictionErrors: how far predictions of one program on one GPU were off, by figure.
#pragma once

#include <optional>

#include "app/model/measurements/borrowed_clock.h"
#include "app/model/measurements/clock_under_load.h"
#include "app/model/measurements/recordings.h"
#include "app/model/measurements/time_errors.h"

namespace tilescope {

/// How far predictions of one program on one GPU were off, against its recordings.
struct PredictionErrors {
  Result<FigureErrors> time = Error{};  // or why it is unknown
  std::optional<ClockErrors> clock;     // what a borrowed clock adds; absent for a clock that is not borrowed
  Result<FigureErrors> hbm_read = Error{}, hbm_write = Error{};  // of the bytes
};
/// Returns the errors of predictions like that of `run`, which is at the clock at which its time is shown, which is `clock` where
/// it is one under load.
PredictionErrors prediction_errors(const Recordings& recordings, const Simulation& run, const std::optional<ClockUnderLoad>& clock);

}  // namespace tilescope
