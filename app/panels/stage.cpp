// The stage panel: the machine at the step, from the registers of one SM down to HBM, with the tiles moving between them.
#include <algorithm>

#include "app/panels/panel_state.h"
#include "app/panels/panels.h"
#include "app/stage/stage_context.h"
#include "app/widgets.h"

namespace tilescope {

namespace {

/// Below this the parts would be on top of each other. A little less is scrolled; with much less the SM in focus, the L2 and HBM
/// stand alone, as a lane of Race has them.
constexpr ImVec2 whole = {520, 392};
constexpr float least_of_whole = 0.9F;
/// Below this those would be on top of each other too; the panel then scrolls.
constexpr ImVec2 least_alone = {300, 124};

}  // namespace

void draw_stage_panel(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const ImVec2 origin = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  const float least_share = least_of_whole * theme.scale;
  const bool alone = room.x < least_share * whole.x || room.y < least_share * whole.y;
  const ImVec2 least = alone ? least_alone : whole,
               size = {std::max(room.x, least.x * theme.scale), std::max(room.y, least.y * theme.scale)};
  if (view.lanes.empty() || !view.lane().simulation) {
    draw_text(ImGui::GetWindowDrawList(), theme.ui, {origin, {origin.x + room.x, origin.y + room.y}}, theme.text_dim,
              tr("simulating…"), Align::center);
    ImGui::Dummy(room);
    return;
  }
  StageContext context{view, view.lane(), theme, commands, stage_metrics(theme), panel_state<StageCache>("stage")};
  context.alone = alone;
  context.list = ImGui::GetWindowDrawList();
  context.mouse = ImGui::GetMousePos();
  context.mouse_here = ImGui::IsWindowHovered();
  update_stage_cache(context, {origin, {origin.x + size.x, origin.y + size.y}});
  update_stage_values(context);

  draw_focus_box(context);
  draw_slots(context);
  if (!context.alone) draw_other_sms(context);
  draw_l2(context);
  draw_hbm(context);
  draw_links(context);
  draw_operation(context);
  draw_occupancy(context);
  draw_flights(context);
  context.finish_hover();
  ImGui::Dummy(size);
}

}  // namespace tilescope
