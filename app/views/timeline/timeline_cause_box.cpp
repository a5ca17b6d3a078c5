// Draws the chain of causes; each line links to its moment.
#include "app/views/timeline/timeline_cause_box.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "app/ui/tab_stops.h"

namespace tilescope {
namespace {

void draw_cause_lines(CauseBox& box, const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const Simulation& simulation = *view.lanes[box.group].simulation;
  text_item(theme.ui_bold, theme.text, tr("Stall, back to its first cause"));
  const bool steps = box.group + 1 == view.lanes.size();
  ImGui::PushFont(theme.ui_small);
  const ImGuiID group = ImGui::GetID("causes");
  for (std::size_t i = 0; i < box.chain.size(); ++i) {
    const CauseLink& link = box.chain[i];
    const std::string line = fmt::format("{}  {}  {}##{}", i == 0 ? " " : "←", link.name, link.why, i);
    bool chosen = ImGui::Selectable(line.c_str());
    if (i == 0 && std::exchange(box.opened_by_key, false)) focus_tab_stop(ImGui::GetItemID());
    chosen = tab_stop(theme, item_rect(), 2 * theme.scale, group) || chosen;
    if (!chosen) continue;
    if (steps)
      commands.push(SeekStep{simulation.trace->step_of_interval(box.of->steps->sm, link.interval)});
    else
      commands.push(SeekCycle{simulation.trace->intervals(box.of->steps->sm)[link.interval].end});
  }
  ImGui::PopFont();
  text_item(theme.ui_small, theme.text_faint, tr("Click a line to go there, or ↑ ↓ and Enter."));
}

}  // namespace

void show_causes(CauseBox& box, std::span<const std::shared_ptr<const TimelineData>> data, const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  if (box.chain.empty()) return;
  if (box.group >= data.size() || box.of != data[box.group]) {  // the simulation changed
    box.chain.clear();
    return;
  }
  // Not a popup, which would swallow clicks elsewhere.
  ImGui::SetNextWindowPos({box.at.x, box.at.y - 10 * theme.scale}, ImGuiCond_Always, {0.2F, 1});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, ImGui::GetColorU32(ImGuiCol_PopupBg));
  constexpr ImGuiWindowFlags flags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_AlwaysAutoResize |
                                     ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoFocusOnAppearing |
                                     ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoMove;
  if (ImGui::Begin("causes", nullptr, flags)) {
    draw_cause_lines(box, view, commands);
    const bool elsewhere =
        ImGui::IsMouseClicked(ImGuiMouseButton_Left) && !ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem);
    if (elsewhere || ImGui::IsKeyPressed(ImGuiKey_Escape, false)) box.chain.clear();
  }
  ImGui::End();
  ImGui::PopStyleColor();
}

}  // namespace tilescope
