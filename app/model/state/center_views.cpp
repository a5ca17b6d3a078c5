// The one table of middle views.
#include "app/model/state/center_views.h"

#include <array>

namespace tilescope {

std::span<const CenterViewInfo> center_views() {
  static constexpr std::array table = {
      CenterViewInfo{CenterView::stage, "stage", "Stage", "The GPU at this step (1)"},
      CenterViewInfo{CenterView::roofline, "roofline", "Roofline", "Every launch against the GPU's ceilings"},
      CenterViewInfo{CenterView::what_if, "what_if", "What if", "The same kernel on a modified GPU"},
      CenterViewInfo{CenterView::fit, "fit", "Fit", "Tiles that fit an SM, and their times"},
      CenterViewInfo{CenterView::sweep, "sweep", "Sweep", "Bytes and time over a range, with the theory"},
      CenterViewInfo{CenterView::compare, "compare", "Compare",
                     "Two runs side by side: pinned ones, or the one on screen (K pins)"},
      CenterViewInfo{CenterView::validate, "validate", "Validate", "Every recorded case, simulated against measured"},
      CenterViewInfo{CenterView::mask, "mask", "Mask", "Which tiles of queries and keys the mask leaves, and what they cost"},
      CenterViewInfo{CenterView::banks, "banks", "Banks", "Which banks and sectors one access of a warp touches"},
      CenterViewInfo{CenterView::ladder, "ladder", "Ladder", "From FlashAttention-2 to Hopper, one idea a rung (0)"},
  };
  return table;
}

std::optional<CenterView> center_view_from(std::string_view id) {
  for (const CenterViewInfo& row : center_views())
    if (row.id == id) return row.view;
  return std::nullopt;
}

}  // namespace tilescope
