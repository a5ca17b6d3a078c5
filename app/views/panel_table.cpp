// The one table of panels.
#include "app/views/panel_table.h"

#include "app/views/panels.h"

namespace tilescope {

std::span<const PanelInfo> panel_table() {
  constexpr PanelContent plot_below_text = {500, 385};
  static constexpr PanelInfo table[] = {
      {"listing", "Algorithm", &draw_listing_panel, {0, 0}, true, false, true},
      {"stage", "Stage", &draw_stage_panel, {}, false, true},
      {"softmax", "Softmax", &draw_softmax_panel, {190, 0}, true, false, true},
      {"traffic", "Traffic", &draw_traffic_panel, {0, 0}, true, false, true},
      {"timeline", "Timeline", &draw_timeline_panel, {0, 0}},
      {"race", "Race", &draw_race_panel, {}, false, true},
      {"roofline", "Roofline", &draw_roofline_panel, {240, 0}, true},
      {"what_if", "What if", &draw_what_if_panel, {430, 0}, true},
      {"fit", "Fit", &draw_fit_panel, {500, 0}, true},
      {"sweep", "Sweep", &draw_sweep_panel, plot_below_text},
      {"compare", "Compare", &draw_compare_panel, {380, 0}, true, false, true},
      {"validate", "Validate", &draw_validate_panel, {310, 0}, true},
      {"mask", "Mask", &draw_mask_panel},
      {"banks", "Banks", &draw_banks_panel, plot_below_text},
      {"ladder", "Ladder", &draw_ladder_panel, {500, 0}, true},
      {"presenter", "Presenter", &draw_presenter_panel, {0, 0}, true, false, false, {960, 640}},
      {"lesson", "Lesson", &draw_lesson_panel, {180, 0}, true},
      {"curve", "Curve", &draw_curve_panel, {300, 200}, false, false, true},
  };
  return table;
}

}  // namespace tilescope
