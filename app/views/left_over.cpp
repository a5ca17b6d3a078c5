// The offer to go on where the last window was, after it ended without being closed.
#include <cmath>

#include "app/views/chrome.h"

namespace tilescope {

float left_over_height(const Theme& theme) {
  return std::round(theme.ui->FontSize + 2 * ImGui::GetStyle().FramePadding.y + 2 * ImGui::GetStyle().WindowPadding.y + theme.gap);
}

std::optional<bool> draw_left_over(const View& view, ImVec2 at) {
  const Theme& theme = *view.theme;
  std::optional<bool> answer;
  ImGui::SetNextWindowPos(at);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, theme.inset);
  constexpr ImGuiWindowFlags flags = ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoMove |
                                     ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_AlwaysAutoResize |
                                     ImGuiWindowFlags_NoFocusOnAppearing;
  if (ImGui::Begin("##left over", nullptr, flags)) {
    ImGui::AlignTextToFramePadding();
    text_item(theme.ui, theme.text, tr("The last window was not closed."));
    ImGui::SameLine();
    if (pill(theme, tr("Go on where it was"), true)) answer = true;
    ImGui::SameLine();
    if (pill(theme, tr("Dismiss"), false)) answer = false;
  }
  ImGui::End();
  ImGui::PopStyleColor();
  return answer;
}

}  // namespace tilescope
