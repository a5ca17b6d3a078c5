// Says how the run on screen differs from the pinned one beside it.
#include "app/views/beside_run.h"

#include <cmath>

#include "app/ui/say.h"
#include "app/ui/widgets.h"
#include "app/views/compare/compare_sheet.h"

namespace tilescope {

const BesideRun* beside_run(const View& view) {
  return view.lesson.locked ? nullptr : view.pinned.beside;
}

std::string beside_label(const BesideRun& beside) {
  return say(tr("Pinned {}"), beside.place);
}

std::string beside_text(const View& view, const BesideRun& beside) {
  const PinnedRun& run = view.pinned.runs[static_cast<std::size_t>(beside.place) - 1];
  return say(tr("Against pinned {} ({}): {}"), beside.place, run_name(*run.state),
             run_difference_text(*beside.simulation, *view.lane().simulation));
}

void draw_beside_line(const View& view) {
  const BesideRun* const beside = beside_run(view);
  if (beside == nullptr) return;
  const Theme& theme = *view.theme;
  const std::string text = beside_text(view, *beside);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const Rect line = {at, {at.x + ImGui::GetContentRegionAvail().x, at.y + theme.ui_small->FontSize + std::round(4 * theme.scale)}};
  ImGui::InvisibleButton("beside", {line.width(), line.height()});
  item_tooltip(theme, text, tr("Compare (6) chooses the pinned run, and has every difference."));
  draw_text(ImGui::GetWindowDrawList(), theme.ui_small, line, theme.highlight, text);
}

}  // namespace tilescope
