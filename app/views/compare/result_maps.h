// Result maps: results of two runs of a lesson's page, element by element, with those that have other bits marked.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "app/model/lessons/page_figures.h"
#include "app/ui/widgets.h"
#include "app/views/view.h"

namespace tilescope {

/// How two results differ.
struct ResultDifference {
  std::int64_t elements = 0, all = 0;  // with other bits; of the result
  std::int64_t rows = 0, all_rows = 0;
  double largest = 0;
};
ResultDifference difference_of(const ComparedResult& result);
/// "319 of 1 024 elements differ, in 64 of 64 rows, by at most 1.2e−7".
std::string difference_text(const ResultDifference& difference);

/// Draws a map of each result. Returns the height, which is more than that of `given` where the words need it.
float draw_result_maps(const View& view, std::span<const ComparedResult> results, const Rect& given);

}  // namespace tilescope
