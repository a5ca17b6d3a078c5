// The roofline panel: every launch under the GPU's ceilings, at each memory level, with its limit.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/views/beside_run.h"
#include "app/views/chrome.h"
#include "app/views/error_words.h"
#include "app/views/panels.h"
#include "app/views/roofline/roofline_plot.h"
#include "app/views/roofline/roofline_words.h"
#include "app/views/study_panel.h"
#include "app/views/timed_run.h"
#include "sim/analysis/format.h"
#include "sim/analysis/l2_busy.h"

namespace tilescope {
namespace {

struct RooflinePanelState {
  bool all = false;  // marks of the programs beside the shown one: each level of each launch
};

/// The theme of the plot: that of the panel, or where its letters leave no room for the picture the usual one.
const Theme& plot_theme(const Theme& large, const Theme& usual, float width) {
  constexpr float least_letters = 30;
  return width >= least_letters * large.ui_small->FontSize ? large : usual;
}

/// Heights of the plot in lines of small text, with the titles and the numbers of its axes.
constexpr float wanted_lines = 14, least_lines = 9;

}  // namespace

void draw_roofline_panel(const View& view, Commands& commands) {
  const bool present = view.workspace->present;
  // A class sees a picture: large labels, and of the words only what the picture cannot show.
  const Theme theme = present ? without_small_text(reading_theme(*view.theme)) : *view.theme;
  const View read{view, &theme};
  if (view.studies->roofline == nullptr) return study_empty(read, tr("Nothing simulated yet."));
  const RooflineStudy& study = *view.studies->roofline;
  if (!study.complete) {
    study_progress(read, commands, 0, 1);
    return;
  }
  const bool held = view.lesson.locked;  // the sentences answer the question of a lesson
  const NextLimit* const limit = view.studies->limit && view.studies->limit->outcome.done() ? view.studies->limit.get() : nullptr;
  std::string detail = held || present ? std::string() : divided_text(study);
  if (!detail.empty()) detail += ' ';
  const L2Use& l2 = timed_run(view).l2;
  if (!held && !present && !l2_busy(l2).is_known())
    detail +=
        say(tr("L2 busy with lookups: {} to {}. The model may let too many reads share one; the upper end is without sharing."),
            format_percent(l2.lookups), format_percent(std::min(1.0, l2.unshared))) +
        ' ';
  // Before a class, a low panel is for the picture.
  constexpr float least_high = 20;
  const bool small = present && ImGui::GetWindowHeight() < least_high * theme.ui->FontSize;
  study_head(
      read,
      held ? std::string(tr("What limits the run shows after the answer.")) : roofline_headline(study, timed_run(view), limit),
      (small ? std::string() : detail + roof_clock_text(read, study)) +
          (present ? std::string() : " " + time_errors_text(view.studies->errors->time, view.lane().simulation->request)));
  draw_beside_line(read);
  std::vector<std::string> sentences;
  if (!held && !present)
    sentences.emplace_back(
        tr("Closest ceiling of each launch. The bottleneck above is that of the run: what the run is faster without."));
  for (const RooflineKernel& kernel : study.kernels) {
    if (held || present) break;
    for (std::string_view launch : launches_of(kernel))
      sentences.push_back(ceiling_sentence(study, kernel, launch, timed_run(view)));
    if (std::string sum = sum_of_launches(kernel); !sum.empty()) sentences.push_back(std::move(sum));
  }
  const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  float text = 4 * theme.scale;
  for (const std::string& sentence : sentences) text += wrapped_height(theme.ui_small, sentence, room.x) + 3 * theme.scale;
  auto& state = panel_state<RooflinePanelState>("roofline");
  const Theme& drawn_theme = plot_theme(theme, *view.theme, room.x);
  const View drawn{view, &drawn_theme};
  // The axes do not move with the switch.
  const std::vector<RooflineMark> marks = roofline_marks(read, study, state.all), all = roofline_marks(read, study, true);
  PlotAxis x = roofline_axis(study, all, true), y = roofline_axis(study, all, false);
  const RooflineLegend legend = lay_out_legend(drawn_theme, study, state.all, room.x, text_width(drawn_theme.ui_small, y.title));
  // The plot stays in sight whole: sentences that have no room below it are scrolled to.
  const float line = drawn_theme.ui_small->FontSize;
  const float wanted = std::min(room.y, std::max(room.y * 0.55F, legend.height + wanted_lines * line));
  const float height = std::max({room.y - text, wanted, legend.height + least_lines * line});
  Plot plot(drawn_theme, ImGui::GetWindowDrawList(), {{at.x, at.y + legend.height}, {at.x + room.x, at.y + height}}, std::move(x),
            std::move(y));
  draw_legend(drawn_theme, legend, at, state.all);
  draw_roofline(plot, drawn, study, marks);
  if (!held) hover_marks(plot, read, study, marks);
  ImGui::SetCursorScreenPos({at.x, at.y + height + 4 * theme.scale});
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 3 * theme.scale});
  for (const std::string& sentence : sentences) wrapped_text(theme.ui_small, theme.text_dim, sentence);
  ImGui::PopStyleVar();
}

}  // namespace tilescope
