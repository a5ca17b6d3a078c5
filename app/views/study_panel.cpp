// Headlines, progress, messages and keys of views of many simulations.
#include "app/views/study_panel.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/ui/widgets.h"
#include "app/views/work_words.h"

namespace tilescope {

void study_head(const View& view, std::string_view finding, std::string_view detail) {
  const Theme& theme = *view.theme;
  const float most = 0.3F * ImGui::GetWindowHeight(), width = ImGui::GetContentRegionAvail().x, top = ImGui::GetCursorPosY();
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, std::round(4 * theme.scale)});
  wrapped_text(theme.heading, theme.text, finding);
  const float finding_height = ImGui::GetCursorPosY() - top;
  const float detail_height = wrapped_height(theme.ui_small, detail, width);
  if (finding_height + detail_height > most)
    item_tooltip(theme, {}, detail);
  else if (!detail.empty())
    wrapped_text(theme.ui_small, theme.text_dim, detail);
  ImGui::Dummy({0, std::round(2 * theme.scale)});
  ImGui::PopStyleVar();
}

namespace {

/// The last frame that showed a study under way.
int& study_frame() {
  struct Frame {
    int number = -2;
  };
  return panel_state<Frame>("study under way").number;
}

}  // namespace

bool shows_running_study() {
  return ImGui::GetFrameCount() - study_frame() <= 1;
}

void study_progress(const View& view, Commands& commands, std::size_t done, std::size_t total) {
  if (done >= total) return;
  if (!view.studies->stopped) study_frame() = ImGui::GetFrameCount();
  const Theme& theme = *view.theme;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = std::round(20 * theme.scale), width = ImGui::GetContentRegionAvail().x;
  const std::string text = say(tr("{} of {} simulated"), done, total);
  const float bar = std::round(120 * theme.scale);
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_bar(list, theme, {{at.x, at.y + height * 0.4F}, {at.x + bar, at.y + height * 0.6F}},
           static_cast<double>(done) / static_cast<double>(std::max<std::size_t>(1, total)), theme.accent);
  draw_text(list, theme.ui_small, {{at.x + bar + theme.gap, at.y}, {at.x + width, at.y + height}}, theme.text_dim, text);
  ImGui::SetCursorScreenPos({at.x + bar + 2 * theme.gap + text_width(theme.ui_small, text), at.y});
  const std::array labels = {view.studies->stopped ? tr("Resume") : tr("Stop")};
  if (segmented(theme, "study", labels, -1, true)) {
    if (view.studies->stopped)
      commands.push(GoOnWithStudy{});
    else
      commands.push(CancelWork{});
  }
  ImGui::SetCursorScreenPos(at);
  // Adds an item, because ImGui requires one at the end of a window's extent.
  ImGui::Dummy({0, height + std::round(4 * theme.scale) - ImGui::GetStyle().ItemSpacing.y});
}

void study_empty(const View& view, std::string_view sentence) {
  wrapped_text(view.theme->ui, view.theme->text_dim, sentence);
}

bool study_takes_keys(const View& view) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool popup = ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel);
  return !popup && !io.WantTextInput && !io.NavVisible && !io.KeyCtrl && !io.KeyAlt && !io.KeySuper && !view.workspace->blank;
}

void study_message(const View& view, std::string_view control) {
  if (view.workspace->message && view.workspace->message->control == control)
    wrapped_text(view.theme->ui_small, view.theme->bad, words_of(*view.workspace->message));
}

}  // namespace tilescope
