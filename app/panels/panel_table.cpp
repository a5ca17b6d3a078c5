// The one table of panels.
#include <array>

#include "app/panels/panels.h"
#include "app/view.h"

namespace tilescope {

std::span<const PanelInfo> panel_table() {
  static constexpr std::array<PanelInfo, 6> table = {{
      {"listing", "Algorithm", &draw_listing_panel},
      {"stage", "Stage", &draw_stage_panel},
      {"softmax", "Softmax", &draw_softmax_panel},
      {"traffic", "Traffic", &draw_traffic_panel},
      {"timeline", "Timeline", &draw_timeline_panel},
      {"race", "Race", &draw_race_panel},
  }};
  return table;
}

}  // namespace tilescope
