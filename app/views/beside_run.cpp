// Says how the run on screen differs from the pinned one beside it.
#include "app/views/beside_run.h"

#include <cmath>

#include "app/ui/say.h"
#include "app/ui/widgets.h"
#include "app/views/algorithm_style.h"
#include "app/views/compare/compare_sheet.h"

namespace tilescope {

const BesideRun* beside_run(const View& view) {
  return view.lesson.locked ? nullptr : view.pinned.beside;
}

std::string beside_label(const BesideRun& beside) {
  return say(tr("Pinned {}"), beside.place);
}

namespace {

/// The same with and without the settings of the pinned run. In Race it is about the algorithm that was chosen, and names it.
std::string text_of(const View& view, const BesideRun& beside, bool with_settings) {
  const Simulation& shown = *view.lane().simulation;
  const std::string difference = beside.timed != nullptr ? run_difference_text(*beside.timed->second, *beside.timed->first)
                                                         : run_difference_text(*beside.simulation, shown),
                    title = algorithm_title(shown.request.algorithm),
                    name = run_name(*view.pinned.runs[static_cast<std::size_t>(beside.place) - 1].state);
  if (view.playback.race)
    return with_settings ? say(tr("{} against pinned {} ({}): {}"), title, beside.place, name, difference)
                         : say(tr("{} against pinned {}: {}"), title, beside.place, difference);
  return with_settings ? say(tr("Against pinned {} ({}): {}"), beside.place, name, difference)
                       : say(tr("Against pinned {}: {}"), beside.place, difference);
}

}  // namespace

std::string beside_text(const View& view, const BesideRun& beside) {
  return text_of(view, beside, true);
}

float beside_line_height(const Theme& theme) {
  return theme.ui_small->FontSize + std::round(4 * theme.scale);
}

void draw_beside_line(const View& view) {
  const BesideRun* const beside = beside_run(view);
  if (beside == nullptr) return;
  const Theme& theme = *view.theme;
  const std::string text = beside_text(view, *beside);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const Rect line = {at, {at.x + ImGui::GetContentRegionAvail().x, at.y + beside_line_height(theme)}};
  ImGui::InvisibleButton("beside", {line.width(), line.height()});
  item_tooltip(theme, text, tr("Compare (6) chooses the pinned run, and has every difference."));
  draw_text(ImGui::GetWindowDrawList(), theme.ui_small, line, theme.highlight,
            first_that_fits(theme.ui_small, line.width(), {text, text_of(view, *beside, false)}));
}

}  // namespace tilescope
