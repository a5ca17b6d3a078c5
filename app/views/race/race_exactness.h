// draw_exactness(): O of both runs of a race, element by element, and how far each is from float64.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/views/stage/stage_layout.h"
#include "app/views/view.h"

namespace tilescope {

/// Returns the finding of a comparison, longest first: "Same answer, 1/6.1 of the HBM bytes. Largest difference …".
std::vector<std::string> exactness_sentences(const Exactness& exact, const std::string& first, const std::string& second);

/// Says why the outputs are not compared, and with how many queries they are (queries_that_can_be_compared()).
void draw_too_large(const View& view, const Rect& rect, const StageMetrics& metrics, std::int64_t queries);

/// Draws the finding over three pictures: O of each run and their difference. Rows of O run from left to right.
void draw_exactness(const View& view, const Rect& rect, const StageMetrics& metrics);

}  // namespace tilescope
