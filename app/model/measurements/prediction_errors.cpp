// Asks for the errors of each figure.
#include "app/model/measurements/prediction_errors.h"

namespace tilescope {

PredictionErrors prediction_errors(const Recordings& recordings, const Simulation& run,
                                   const std::optional<ClockUnderLoad>& clock) {
  const PredictedRun asked = predicted(run);
  PredictionErrors errors{time_errors_of(recordings.known, asked),
                          {},
                          byte_errors_of(recordings.known, asked, Link::hbm_read),
                          byte_errors_of(recordings.known, asked, Link::hbm_write)};
  if (errors.time && clock && clock->from == ClockUnderLoad::From::like_runs)
    errors.clock = borrowed_clock_errors(recordings.runs, errors.time->kernel);
  return errors;
}

}  // namespace tilescope
