// Percentages of a class that sum to 100.
#pragma once

#include <array>

#include "app/model/state/deck.h"

namespace tilescope {

/// Returns the whole percentage of each count by the largest remainder: they sum to 100, or are all 0 without a count.
std::array<int, most_choices> whole_percents(const std::array<int, most_choices>& counts);

}  // namespace tilescope
