// The stage panel: the machine at the step, from the registers of one SM down to HBM, with the tiles moving between them.
#include <algorithm>

#include "app/panels/panel_state.h"
#include "app/panels/panels.h"
#include "app/stage/stage_context.h"
#include "app/widgets.h"

namespace tilescope {

namespace {

/// Below this the parts would be on top of each other; the panel then scrolls.
constexpr float least_width = 520, least_height = 392;

}  // namespace

void draw_stage_panel(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const ImVec2 origin = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  const ImVec2 size = {std::max(room.x, least_width * theme.scale), std::max(room.y, least_height * theme.scale)};
  if (view.lanes.empty() || !view.lane().simulation) {
    draw_text(ImGui::GetWindowDrawList(), theme.ui, {origin, {origin.x + room.x, origin.y + room.y}}, theme.text_dim,
              tr("simulating…"), Align::center);
    ImGui::Dummy(room);
    return;
  }
  StageContext context{view, view.lane(), theme, commands, stage_metrics(theme), panel_state<StageCache>("stage")};
  context.list = ImGui::GetWindowDrawList();
  context.mouse = ImGui::GetMousePos();
  context.mouse_here = ImGui::IsWindowHovered();
  update_stage_cache(context, {origin, {origin.x + size.x, origin.y + size.y}});
  update_stage_values(context);

  draw_focus_box(context);
  draw_slots(context);
  draw_other_sms(context);
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
