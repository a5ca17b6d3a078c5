// The errors of predictions as JSON, in one shape for every command.
#pragma once

#include <nlohmann/json.hpp>

#include "app/model/measurements/ratio_errors.h"
#include "app/model/measurements/time_errors.h"

namespace tilescope {

/// Returns whose recorded runs they are, how they differ from the predicted run, and the mean and worst error. null where they are
/// unknown.
nlohmann::ordered_json json_of_errors(const Result<FigureErrors>& errors);
/// Returns the same of a ratio of two times, over pairs of recorded runs.
nlohmann::ordered_json json_of_errors(const Result<RatioErrors>& errors);

}  // namespace tilescope
