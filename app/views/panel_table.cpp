// The one table of panels.
#include "app/views/panel_table.h"

#include "app/views/panels.h"

namespace tilescope {

std::span<const PanelInfo> panel_table() {
  constexpr PanelContent any_size = {0, 0}, plot_below_text = {500, 385};
  static constexpr PanelInfo table[] = {
      {.id = "listing", .title = "Algorithm", .draw = &draw_listing_panel, .least = any_size, .scrolls = true, .reads_large = true},
      {.id = "stage", .title = "Stage", .draw = &draw_stage_panel, .lays_itself_out = true},
      {.id = "softmax", .title = "Softmax", .draw = &draw_softmax_panel, .least = {190, 0}, .scrolls = true, .reads_large = true},
      {.id = "traffic", .title = "Traffic", .draw = &draw_traffic_panel, .least = any_size, .scrolls = true, .reads_large = true},
      {.id = "timeline", .title = "Timeline", .draw = &draw_timeline_panel, .least = any_size},
      {.id = "race", .title = "Race", .draw = &draw_race_panel, .lays_itself_out = true},
      {.id = "roofline", .title = "Roofline", .draw = &draw_roofline_panel, .least = {240, 0}, .scrolls = true},
      {.id = "what_if", .title = "What if", .draw = &draw_what_if_panel, .least = {430, 0}, .scrolls = true},
      {.id = "fit", .title = "Fit", .draw = &draw_fit_panel, .least = {500, 0}, .scrolls = true},
      {.id = "sweep", .title = "Sweep", .draw = &draw_sweep_panel, .least = plot_below_text},
      {.id = "compare", .title = "Compare", .draw = &draw_compare_panel, .least = {380, 0}, .scrolls = true, .reads_large = true},
      {.id = "validate", .title = "Validate", .draw = &draw_validate_panel, .least = {310, 0}, .scrolls = true},
      {.id = "mask", .title = "Mask", .draw = &draw_mask_panel},
      {.id = "banks", .title = "Banks", .draw = &draw_banks_panel, .least = plot_below_text},
      {.id = "ladder", .title = "Ladder", .draw = &draw_ladder_panel, .least = {500, 0}, .scrolls = true},
      {.id = "presenter",
       .title = "Presenter",
       .draw = &draw_presenter_panel,
       .least = any_size,
       .scrolls = true,
       .grows_from = {960, 640}},
      {.id = "lesson", .title = "Lesson", .draw = &draw_lesson_panel, .least = {180, 0}, .scrolls = true},
      {.id = "curve", .title = "Curve", .draw = &draw_curve_panel, .least = {300, 200}, .reads_large = true},
  };
  return table;
}

}  // namespace tilescope
