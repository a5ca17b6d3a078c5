// Draws the launches and the units of the pinned run beside the one on screen.
#include "app/views/timeline/timeline_beside.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/views/algorithm_style.h"
#include "app/views/beside_run.h"
#include "app/views/timeline/timeline_hover.h"
#include "app/views/timeline/timeline_state.h"
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

/// "FlashAttention-1: 3.15 µs at 1.72 GHz. SM time without a block: 12 %", the time as Compare has it.
std::string total_text(const BesideRun& beside) {
  const Simulation& run = beside.timed != nullptr ? *beside.timed->second : *beside.simulation;
  const std::string total = say(tr("{}: {} at {}"), algorithm_title(run.request.algorithm), format_time(run.time),
                                format_clock(run.request.gpu.sm_clock_hz));
  return run.sms.many_idle() ? say(tr("{}. SM time without a block: {}"), total, format_percent(run.sms.idle)) : total;
}

/// The axis reaches at most so many times the run on screen, whose rows must stay readable; a longer pinned run goes on beyond it.
constexpr double most_of_screen = 2;

float bar_height(const Theme& theme) {
  return std::round(theme.ui_small->FontSize + 8 * theme.scale);
}

/// The units of the pinned run as they were last drawn.
struct UnitRows {
  PictureKey key;
  TimelinePicture picture;
};

/// Rows of equal height in `plot`, one a lane.
TimelineLayout lay_out_units(const Theme& theme, const TimelineData& data, const Rect& plot) {
  TimelineLayout layout;
  layout.area = layout.plot = plot;
  layout.scale = theme.scale;
  layout.lane_height = plot.height() / static_cast<float>(data.lanes.size());
  for (std::size_t unit = 0; unit < data.lanes.size(); ++unit) {
    const float top = plot.min.y + layout.lane_height * static_cast<float>(unit);
    layout.rows.push_back(
        {TimelineRow::Kind::unit, 0, unit, {{plot.min.x, std::round(top)}, {plot.max.x, std::round(top + layout.lane_height)}}});
  }
  return layout;
}

void draw_units(ImDrawList* list, const View& view, const BesideRun& beside, const TimeWindow& on_screen, const Rect& gutter,
                const Rect& plot) {
  const Theme& theme = *view.theme;
  const TimelineData& data = *beside.timeline;
  const double scale = cycles_on_screen(view, beside);
  const TimeWindow window = {on_screen.begin / scale, on_screen.end / scale, on_screen.whole / scale};
  const TimelineLayout layout = lay_out_units(theme, data, plot);
  auto& state = panel_state<UnitRows>("pinned units");
  PictureKey key;
  key.data = {&data};
  key.begin = window.begin, key.end = window.end;
  key.min = plot.min, key.max = plot.max;
  key.theme = theme.kind, key.scale = theme.scale;
  key.lit = view.workspace->hovered_tensor;
  if (!state.picture.quads || !key.same_as(state.key)) {
    const std::array timelines = {beside.timeline};
    const std::array simulations = {beside.simulation};
    state.picture = make_timeline_picture(theme, layout, window, timelines, simulations, key.lit);
    state.key = std::move(key);
  }
  draw_quads(list, std::shared_ptr<const QuadBatch>(state.picture.quads));
  list->AddRectFilled(plot.min, plot.max, with_alpha(theme.panel, 0.4F));  // behind the run on screen
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (!ImGui::IsWindowHovered()) return;
  for (const TimelineRow& row : layout.rows) {
    const Rect name = {{gutter.min.x, row.rect.min.y}, {gutter.max.x, row.rect.max.y}};
    const HoverText text = row.rect.contains(mouse) ? lane_hover(*beside.simulation, data, layout, row, window, mouse)
                           : name.contains(mouse)   ? row_meaning(row, &data)
                                                    : HoverText{};
    if (!text.title.empty()) show_tooltip(theme, fmt::format("{} · {}", beside_label(beside), text.title), text.body);
  }
}

}  // namespace

float beside_row_height(const View& view, float panel_height) {
  const float scale = view.theme->scale;
  constexpr float least_panel = 80, least_with_units = 150, units = 35;
  if (shown_run(view) == nullptr || panel_height < least_panel * scale) return 0;
  const bool has_units = !view.workspace->by_sm && panel_height >= least_with_units * scale;
  return bar_height(*view.theme) + (has_units ? std::round(units * scale) : 0);
}

double beside_end(const View& view) {
  const BesideRun* const beside = shown_run(view);
  if (beside == nullptr) return 0;
  return std::min(beside->simulation->cycles.value * cycles_on_screen(view, *beside),
                  most_of_screen * view.lane().simulation->cycles.value);
}

void draw_beside_row(ImDrawList* list, const View& view, const TimeWindow& window, const Rect& all_gutter, const Rect& all_plot) {
  const BesideRun* const beside = shown_run(view);
  if (beside == nullptr) return;
  const Theme& theme = *view.theme;
  const float below = std::min(all_plot.min.y + bar_height(theme) - 4 * theme.scale, all_plot.max.y);
  const Rect gutter = {all_gutter.min, {all_gutter.max.x, below}}, plot = {all_plot.min, {all_plot.max.x, below}};
  if (const float top = below + 2 * theme.scale; all_plot.max.y - top > 8 * theme.scale && beside->timeline != nullptr)
    draw_units(list, view, *beside, window, {{all_gutter.min.x, top}, all_gutter.max}, {{all_plot.min.x, top}, all_plot.max});
  const Simulation& run = *beside->simulation;
  const double scale = cycles_on_screen(view, *beside);
  draw_text(list, theme.ui_small, gutter, theme.highlight, beside_label(*beside));
  list->AddRectFilled(plot.min, plot.max, with_alpha(theme.inset, 0.6F));
  const auto x = [&](double cycle) {
    return std::clamp(static_cast<float>(window.x_of(cycle * scale, plot.min.x, plot.width())), plot.min.x, plot.max.x);
  };
  const auto launches = run.trace->launches();
  const auto& specs = run.program->launches();
  const std::string total = total_text(*beside);
  // Behind its end, where the run on screen is longer; else in the first bar that is wide enough.
  const Rect rest = {{x(run.cycles.value) + 6 * theme.scale, plot.min.y}, plot.max};
  bool is_said = launches.size() > 1 && text_width(theme.ui_small, total) <= rest.width();
  if (is_said) draw_text(list, theme.ui_small, rest, theme.text_dim, total);
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const Rect bar = {{x(launches[i].start), plot.min.y}, {std::max(x(launches[i].start), x(launches[i].end) - 1), plot.max.y}};
    list->AddRectFilled(bar.min, bar.max, with_alpha(theme.highlight, 0.28F), 2 * theme.scale);
    list->AddRect(bar.min, bar.max, theme.highlight, 2 * theme.scale, 0, std::max(1.0F, theme.scale));
    const Rect inside = {{bar.min.x + 5 * theme.scale, bar.min.y}, {bar.max.x - 8 * theme.scale, bar.max.y}};
    const std::string name = launches.size() > 1 ? translated(specs[i].name) : std::string();
    const std::string with_total = name.empty() ? total : fmt::format("{} · {}", name, total);
    const bool says_total = !is_said && text_width(theme.ui_small, with_total) <= inside.width();
    const std::string& text = says_total ? with_total : name;
    if (text_width(theme.ui_small, text) <= inside.width()) draw_text(list, theme.ui_small, inside, theme.text, text);
    is_said = is_said || says_total;
  }
  if (const float head = 5 * theme.scale; run.cycles.value * scale > window.end)  // it goes on
    list->AddTriangleFilled({plot.max.x - head, plot.min.y}, {plot.max.x, plot.min.y + 0.5F * plot.height()},
                            {plot.max.x - head, plot.max.y}, theme.highlight);
  // Presented, nothing can be dragged.
  const bool lacks_units = all_plot.max.y <= plot.max.y + 8 * theme.scale && !view.workspace->by_sm && !view.workspace->present;
  const std::string hint = lacks_units ? tr("Drag the timeline higher to see its units.") : "";
  if (is_said && text_width(theme.ui_small, total) + text_width(theme.ui_small, hint) + theme.gap <= rest.width())
    draw_text(list, theme.ui_small, rest, theme.text_faint, hint, Align::right);
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (!ImGui::IsWindowHovered() || !(plot.contains(mouse) || gutter.contains(mouse))) return;
  std::string body = beside_text(view, *beside);
  add_line(body, total);
  if (lacks_units) add_line(body, hint);
  for (std::size_t i = 0; launches.size() > 1 && i < launches.size(); ++i)
    add_line(body, say(tr("{}: {} cycles"), specs[i].name, format_cycles(Cycles(launches[i].end - launches[i].start))));
  show_tooltip(theme, beside_label(*beside), body);
}

}  // namespace tilescope
