// The one table of middle views.
#include "app/model/center_views.h"

#include <array>

namespace tilescope {

std::span<const CenterViewInfo> center_views() {
  static constexpr std::array table = {
      CenterViewInfo{CenterView::stage, "stage", "Stage", "the machine at this step (1)"},
      CenterViewInfo{CenterView::roofline, "roofline", "Roofline", "every launch under the ceilings of the machine"},
      CenterViewInfo{CenterView::what_if, "what_if", "What if", "the same kernel on a changed machine"},
      CenterViewInfo{CenterView::fit, "fit", "Fit", "which tiles fit an SM, and how long each would take"},
      CenterViewInfo{CenterView::sweep, "sweep", "Sweep", "bytes and time over a range, beside the theory"},
      CenterViewInfo{CenterView::validate, "validate", "Validate", "simulated against measured, every recorded case"},
  };
  return table;
}

std::optional<CenterView> center_view_from(std::string_view id) {
  for (const CenterViewInfo& row : center_views())
    if (row.id == id) return row.view;
  return std::nullopt;
}

}  // namespace tilescope
