// Names of masks and score changes in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/engine/simulation.h"

namespace tilescope {

/// Returns a preset's request as a person says it: "softcap:cap=30" is "softcap, cap 30".
std::string preset_words(std::string_view request);
/// Returns the names of all conditions of a request: "causal", "sliding window, window 512"; empty without a mask.
std::vector<std::string> mask_names(const SimulationRequest& request);
/// Returns true where there is a mask besides the causal one.
bool has_own_mask(const SimulationRequest& request);
/// Returns the names in one text.
std::string mask_words(const SimulationRequest& request);
/// Returns a name for a button: "sliding window", "own mask", "2 masks"; empty without a mask.
std::string brief_mask_words(const SimulationRequest& request);

}  // namespace tilescope
