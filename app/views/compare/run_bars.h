// Run bars: several runs below each other, with bars of their bytes, their work and their time on common scales.
//
//   FlashAttention-2          HBM traffic        L2↔SM traffic       Time
//     1 head                  ▇Q▇▇K▇▇V▇          ▇▇▇▇▇▇▇▇▇           ▇▇▇▇▇▇  12.3 µs, tensor cores
//     2 heads                 ▇▇▇Q▇▇▇▇▇K▇▇▇▇     ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇     ▇▇▇▇▇▇▇▇▇▇
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/model/lessons/page_figures.h"
#include "app/ui/widgets.h"
#include "app/views/view.h"

namespace tilescope {

/// Returns whether the middle shows the runs of the lesson's page: the page looks at Compare.
bool compares_page_runs(const View& view);

/// Names each run by the settings in which the runs differ. The program comes first.
std::vector<std::string> distinct_names(std::span<const PageRun> runs);

/// Draws the runs. While a question `asks`, names and the figures that the page's text says; the others are hidden. Returns the
/// height, which is more than that of `given` where text is so large that its lines would overlap.
float draw_run_bars(const View& view, std::span<const PageRun> runs, const Rect& given, bool asks);

}  // namespace tilescope
