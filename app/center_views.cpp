// The one table of middle views.
#include "app/center_views.h"

#include <array>

namespace tilescope {

std::span<const CenterViewInfo> center_views() {
  static constexpr std::array table = {
      CenterViewInfo{CenterView::stage, "stage", "Stage", "the machine at this step (1)"},
  };
  return table;
}

std::optional<CenterView> center_view_from(std::string_view id) {
  for (const CenterViewInfo& row : center_views())
    if (row.id == id) return row.view;
  return std::nullopt;
}

}  // namespace tilescope
