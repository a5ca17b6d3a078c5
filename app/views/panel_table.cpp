// The one table of panels.
#include "app/views/panel_table.h"

#include "app/views/panels.h"

namespace tilescope {

std::span<const PanelInfo> panel_table() {
  static constexpr PanelInfo table[] = {
      {"listing", "Algorithm", &draw_listing_panel},
      {"stage", "Stage", &draw_stage_panel},
      {"softmax", "Softmax", &draw_softmax_panel},
      {"traffic", "Traffic", &draw_traffic_panel},
      {"timeline", "Timeline", &draw_timeline_panel},
      {"race", "Race", &draw_race_panel},
      {"roofline", "Roofline", &draw_roofline_panel},
      {"what_if", "What if", &draw_what_if_panel},
      {"fit", "Fit", &draw_fit_panel},
      {"sweep", "Sweep", &draw_sweep_panel},
      {"compare", "Compare", &draw_compare_panel},
      {"validate", "Validate", &draw_validate_panel},
      {"mask", "Mask", &draw_mask_panel},
      {"banks", "Banks", &draw_banks_panel},
      {"ladder", "Ladder", &draw_ladder_panel},
      {"presenter", "Presenter", &draw_presenter_panel},
      {"lesson", "Lesson", &draw_lesson_panel},
  };
  return table;
}

}  // namespace tilescope
