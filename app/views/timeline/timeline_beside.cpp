// Draws the launches of the pinned run beside the one on screen.
#include "app/views/timeline/timeline_beside.h"

#include <algorithm>
#include <cmath>

#include "app/ui/say.h"
#include "app/views/beside_run.h"
#include "app/views/study_panel.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

const BesideRun* shown_run(const View& view) {
  return view.playback.race ? nullptr : beside_run(view);
}

/// Cycles of the run on screen in one of the pinned run: GPUs differ in their clocks.
double cycles_on_screen(const View& view, const BesideRun& beside) {
  return view.lane().simulation->request.gpu.sm_clock_hz / beside.simulation->request.gpu.sm_clock_hz;
}

/// "FlashAttention-1: 3.15 µs. SM time without a block: 12 %".
std::string total_text(const Simulation& run) {
  const std::string total = fmt::format("{}: {}", algorithm_title(run.request.algorithm), format_time(run.time));
  return run.sms.many_idle() ? say(tr("{}. SM time without a block: {}"), total, format_percent(run.sms.idle)) : total;
}

/// The axis reaches at most so many times the run on screen, whose rows must stay readable; a longer pinned run goes on beyond it.
constexpr double most_of_screen = 2;

}  // namespace

float beside_row_height(const View& view, float panel_height) {
  const float scale = view.theme->scale;
  if (shown_run(view) == nullptr || panel_height < 80 * scale) return 0;
  return std::round(view.theme->ui_small->FontSize + 8 * scale);
}

double beside_end(const View& view) {
  const BesideRun* const beside = shown_run(view);
  if (beside == nullptr) return 0;
  return std::min(beside->simulation->cycles.value * cycles_on_screen(view, *beside),
                  most_of_screen * view.lane().simulation->cycles.value);
}

void draw_beside_row(ImDrawList* list, const View& view, const TimeWindow& window, const Rect& gutter, const Rect& plot) {
  const BesideRun* const beside = shown_run(view);
  if (beside == nullptr) return;
  const Theme& theme = *view.theme;
  const Simulation& run = *beside->simulation;
  const double scale = cycles_on_screen(view, *beside);
  draw_text(list, theme.ui_small, gutter, theme.highlight, beside_label(*beside));
  list->AddRectFilled(plot.min, plot.max, with_alpha(theme.inset, 0.6F));
  const auto x = [&](double cycle) {
    return std::clamp(static_cast<float>(window.x_of(cycle * scale, plot.min.x, plot.width())), plot.min.x, plot.max.x);
  };
  const auto launches = run.trace->launches();
  const auto& specs = run.program->launches();
  const std::string total = total_text(run);
  // Behind its end, where the run on screen is longer; else in the first bar that is wide enough.
  const Rect rest = {{x(run.cycles.value) + 6 * theme.scale, plot.min.y}, plot.max};
  bool is_said = launches.size() > 1 && text_width(theme.ui_small, total) <= rest.width();
  if (is_said) draw_text(list, theme.ui_small, rest, theme.text_dim, total);
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const Rect bar = {{x(launches[i].start), plot.min.y}, {std::max(x(launches[i].start), x(launches[i].end) - 1), plot.max.y}};
    list->AddRectFilled(bar.min, bar.max, with_alpha(theme.highlight, 0.28F), 2 * theme.scale);
    list->AddRect(bar.min, bar.max, theme.highlight, 2 * theme.scale, 0, std::max(1.0F, theme.scale));
    const Rect inside = {{bar.min.x + 5 * theme.scale, bar.min.y}, {bar.max.x - 8 * theme.scale, bar.max.y}};
    const std::string name = launches.size() > 1 ? std::string(specs[i].name) : std::string();
    const std::string with_total = name.empty() ? total : fmt::format("{} · {}", name, total);
    const bool says_total = !is_said && text_width(theme.ui_small, with_total) <= inside.width();
    const std::string& text = says_total ? with_total : name;
    if (text_width(theme.ui_small, text) <= inside.width()) draw_text(list, theme.ui_small, inside, theme.text, text);
    is_said = is_said || says_total;
  }
  if (const float head = 5 * theme.scale; run.cycles.value * scale > window.end)  // it goes on
    list->AddTriangleFilled({plot.max.x - head, plot.min.y}, {plot.max.x, plot.min.y + 0.5F * plot.height()},
                            {plot.max.x - head, plot.max.y}, theme.highlight);
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (!ImGui::IsWindowHovered() || !(plot.contains(mouse) || gutter.contains(mouse))) return;
  std::string body = beside_text(view, *beside);
  add_line(body, total);
  for (std::size_t i = 0; launches.size() > 1 && i < launches.size(); ++i)
    add_line(body, say(tr("{}: {} cycles"), specs[i].name, format_cycles(Cycles(launches[i].end - launches[i].start))));
  show_tooltip(theme, beside_label(*beside), body);
}

}  // namespace tilescope
