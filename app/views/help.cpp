// Draws the key list.
#include <algorithm>
#include <cmath>

#include "app/views/chrome.h"
#include "app/views/keys.h"

namespace tilescope {

void draw_help(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const ImVec2 screen = ImGui::GetMainViewport()->Size;
  ImGui::SetNextWindowPos({screen.x * 0.5F, screen.y * 0.5F}, ImGuiCond_Always, {0.5F, 0.5F});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, theme.inset);
  constexpr ImGuiWindowFlags flags = ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoMove |
                                     ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_AlwaysAutoResize |
                                     ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoNav;
  if (ImGui::Begin("##help", nullptr, flags)) {
    panel_heading(theme, tr("Keys"), tr("Esc to close"));
    ImGui::PushStyleVar(ImGuiStyleVar_CellPadding, ImVec2(std::round(12 * theme.scale), std::round(4 * theme.scale)));
    // Two halves side by side, parted at a heading: one column of all keys is higher than a projector.
    const auto rows = key_help();
    std::size_t half = (rows.size() + 1) / 2;
    while (half + 1 < rows.size() && *rows[half].keys != '\0') --half;
    if (ImGui::BeginTable("keys", 4)) {
      for (std::size_t i = 0; i < std::max(half, rows.size() - half); ++i) {
        ImGui::TableNextRow();
        for (const std::size_t at : {i, i + half}) {
          if (at >= rows.size() || (at == i && i >= half)) {
            ImGui::TableNextColumn();
            ImGui::TableNextColumn();
            continue;
          }
          const bool heading = *rows[at].keys == '\0';
          ImGui::TableNextColumn();
          heading ? text_item(theme.ui_bold, theme.text_dim, tr(rows[at].what))
                  : text_item(theme.mono, theme.accent, tr(rows[at].keys));
          ImGui::TableNextColumn();
          if (!heading) text_item(theme.ui, theme.text, tr(rows[at].what));
        }
      }
      ImGui::EndTable();
    }
    ImGui::PopStyleVar();
    const bool outside = ImGui::IsMouseClicked(ImGuiMouseButton_Left) && !ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows);
    if (outside && !ImGui::IsWindowAppearing()) commands.push(ShowHelp{false});
  }
  ImGui::End();
  ImGui::PopStyleColor();
}

}  // namespace tilescope
