// Result maps: results of two runs of a lesson's page, element by element, with those that have other bits marked.
#pragma once

#include <span>
#include <string>

#include "app/model/lessons/page_figures.h"
#include "app/ui/widgets.h"
#include "app/views/view.h"

namespace tilescope {

/// "319 of 1 024 elements differ, in 64 of 64 rows, by at most 1.2e−7".
std::string difference_text(const Difference& difference);

/// Draws a map of each result. Returns the height, which is more than that of `given` where the words need it.
float draw_result_maps(const View& view, std::span<const ComparedResult> results, const Rect& given);

}  // namespace tilescope
