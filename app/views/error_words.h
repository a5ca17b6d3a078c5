// Words for how far predicted times were off.
#pragma once

#include <string>

#include "app/model/measurements/prediction_errors.h"

namespace tilescope {

/// "±5.7 %"; empty where it is unknown.
std::string error_mark(const PredictionErrors& errors);
/// "Times of FlashAttention-3 are ±5.7 %: mean of 30 recorded runs that the model had not seen, 21.9 % at worst."
std::string time_errors_text(const Result<FigureErrors>& errors, const SimulationRequest& request);
/// The same, and what a borrowed clock adds.
std::string prediction_errors_text(const PredictionErrors& errors, const SimulationRequest& request);

}  // namespace tilescope
