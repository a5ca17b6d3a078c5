// Words for how far predicted times were off.
#pragma once

#include <string>

#include "app/model/measurements/clock_under_load.h"

namespace tilescope {

/// "±5.7 %"; empty where nothing is recorded of the program.
std::string error_mark(const PredictionErrors& errors);
/// "Predicted times of FlashAttention-3 on h100 were off by 5.7 % on average, 22.4 % at worst: 30 recorded runs, not seen before.";
/// or that none is recorded.
std::string time_errors_text(const std::optional<TimeErrors>& errors, const SimulationRequest& request);
/// The same, and what a borrowed clock adds.
std::string prediction_errors_text(const PredictionErrors& errors, const SimulationRequest& request);

}  // namespace tilescope
