// The stage panel: the GPU at the current step, from one SM's registers to HBM, with tiles in flight.
#include <algorithm>

#include "app/ui/panel_state.h"
#include "app/ui/widgets.h"
#include "app/views/panels.h"
#include "app/views/stage/stage_context.h"

namespace tilescope {

namespace {

/// Sizes in points that need no squeezing: of the whole stage, and of the focused SM, L2 and HBM alone (as in Race).
constexpr ImVec2 whole = {520, 392}, least_alone = {244, 102};

}  // namespace

void draw_stage_panel(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const ImVec2 origin = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  const ImVec2 size = picture_size(room, whole, least_alone, theme.scale);
  if (view.lanes.empty() || !view.lane().simulation) {
    draw_text(ImGui::GetWindowDrawList(), theme.ui, {origin, {origin.x + room.x, origin.y + room.y}}, theme.text_dim,
              tr("Simulating…"), Align::center);
    ImGui::Dummy(room);
    return;
  }
  StageContext context{view, view.lane(), theme, commands, stage_metrics(theme), panel_state<StageCache>("stage")};
  context.alone = !is_whole(size, whole, theme.scale);
  context.metrics.presented = view.workspace->present;
  if (context.says_large()) context.metrics.operation_line = std::ceil(1.15F * theme.display->FontSize);
  context.list = ImGui::GetWindowDrawList();
  context.mouse = ImGui::GetMousePos();
  context.mouse_here = ImGui::IsWindowHovered();
  draw_stage(context, {origin, {origin.x + size.x, origin.y + size.y}});
  context.finish_hover();
  ImGui::Dummy(size);
}

}  // namespace tilescope
