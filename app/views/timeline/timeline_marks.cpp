// Draws what changes every frame, so that bars and curves can be cached.
#include "app/views/timeline/timeline_marks.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "app/ui/say.h"
#include "app/ui/text_record.h"
#include "app/views/timeline/timeline_hover.h"
#include "sim/analysis/format.h"

namespace tilescope {
namespace {

std::string row_name(const TimelineRow& row, const TimelineState& state) {
  switch (row.kind) {
    case TimelineRow::Kind::hbm:
      return "HBM";
    case TimelineRow::Kind::l2:
      return "L2";
    case TimelineRow::Kind::unit:
      return lane_title(state.data[row.group]->lanes[row.unit]);
    default:
      break;
  }
  return "";
}

/// Draws one line of `text` in `rect`, smaller if too wide, then elided.
void draw_name(ImDrawList* list, ImFont* font, float size, const Rect& rect, ImU32 color, std::string_view text, Align align) {
  const float whole = text_width(font, text) * size / font->FontSize;
  size *= std::clamp(rect.width() / std::max(whole, 1.0F), 0.8F, 1.0F);
  const std::string shown = elide(font, text, rect.width() * font->FontSize / size + 0.5F);
  const float width = text_width(font, shown) * size / font->FontSize;
  const float x = align == Align::right ? rect.max.x - width : rect.min.x;
  record_text({x, rect.center().y - size * 0.5F}, font, size, text);
  list->AddText(font, size, {std::floor(x), std::floor(rect.center().y - size * 0.5F)}, color, shown.data(),
                shown.data() + shown.size());
}

/// Outlines a stretch of cycles at the height of `track`, where it is in sight.
void outline_span(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout, double start,
                  double end, const Rect& track, ImU32 color) {
  const float scale = view.theme->scale;
  const double from = state.window.x_of(start, layout.plot.min.x, layout.plot.width());
  const double to = state.window.x_of(end, layout.plot.min.x, layout.plot.width());
  if (to < layout.plot.min.x || from > layout.plot.max.x) return;
  const float x0 = std::max(static_cast<float>(from), layout.plot.min.x) - scale;
  const float x1 = std::min(std::max(static_cast<float>(to), static_cast<float>(from) + 2), layout.plot.max.x) + scale;
  list->AddRect({x0, track.min.y - scale}, {x1, track.max.y + scale}, color, 3 * scale, 0, 1.5F * scale);
}

float last_of_group(const TimelineLayout& layout, std::size_t group) {
  float last = layout.plot.min.y;
  for (const TimelineRow& row : layout.rows)
    if (row.group == group) last = std::max(last, row.rect.max.y);
  return last;
}

}  // namespace

float lane_name_size(const ImFont* font, float lane_height) {
  constexpr float least_part = 0.5F, hangul_line = 0.95F;  // Korean syllables fill their line
  const float size = std::min(font->FontSize, lane_height / (language_in_use() != nullptr ? hangul_line : name_line));
  return size >= least_part * font->FontSize ? size : 0;
}

void draw_scrollbar(ImDrawList* list, const Theme& theme, const TimelineLayout& layout, float scroll) {
  if (layout.hidden <= 0) return;
  const float top = layout.plot.min.y + layout.launch_strip, room = layout.plot.max.y - top, all = room + layout.hidden;
  const float width = 3 * theme.scale, right = layout.plot.min.x - 3 * theme.scale;
  const Rect bar = {{right - width, top + room * scroll / all}, {right, top + room * (scroll + room) / all}};
  list->AddRectFilled({bar.min.x, top}, {right, layout.plot.max.y}, theme.inset_border, width * 0.5F);
  list->AddRectFilled(bar.min, bar.max, theme.text_faint, width * 0.5F);
}

bool is_curve(const TimelineRow& row) {
  return row.kind == TimelineRow::Kind::hbm || row.kind == TimelineRow::Kind::l2;
}

namespace {

/// The names of low lanes stand in two columns in turn, so that each has the height of two lanes.
struct NameColumns {
  float size = 0;   // of the font; 0: unreadable
  float inner = 0;  // by how much the left column ends before the right one; 0: there is one column
  float taken = 0;  // by the right column and the first name of the left one
};

NameColumns name_columns(const View& view, const TimelineState& state, const TimelineLayout& layout) {
  const ImFont* font = view.theme->ui_small;
  NameColumns columns{lane_name_size(font, layout.lane_height)};
  if (!view.playback.race || columns.size >= font->FontSize) return columns;
  columns.size = lane_name_size(font, 2 * layout.lane_height);
  std::size_t of_group = 0, group = 0;
  for (const TimelineRow& row : layout.rows) {
    if (!is_curve(row) && row.kind != TimelineRow::Kind::unit) continue;
    of_group = row.group == group ? of_group : 0;
    group = row.group;
    const float width = text_width(font, row_name(row, state)) + 8 * view.theme->scale;
    if (of_group % 2 == 0) columns.inner = std::max(columns.inner, width);
    if (of_group == 1) columns.taken = std::max(columns.taken, width);
    ++of_group;
  }
  columns.taken += columns.inner;
  return columns;
}

}  // namespace

void draw_gutter(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout) {
  const Theme& theme = *view.theme;
  const NameColumns columns = name_columns(view, state, layout);
  std::size_t of_group = 0;  // the place of a row among the named ones of its group
  std::size_t group = 0;
  for (const TimelineRow& row : layout.rows) {
    if (!is_curve(row) && row.kind != TimelineRow::Kind::unit) continue;  // named by draw_sm_labels()
    const bool first_of_group = &row == layout.rows.data() || (&row - 1)->group != row.group;
    const Rect label = {{layout.area.min.x, row.rect.min.y}, {row.rect.min.x - 8 * theme.scale, row.rect.max.y}};
    const Simulation& simulation = *view.lanes[row.group].simulation;
    const float size = columns.size;
    of_group = row.group == group ? of_group : 0;
    group = row.group;
    Rect name = label;
    if (of_group++ % 2 == 1) name.max.x -= columns.inner;
    float named_from = label.max.x;
    if (size > 0) {
      draw_name(list, theme.ui_small, size, name, theme.text_dim, row_name(row, state),
                view.playback.race ? Align::right : Align::left);
      named_from -= text_width(theme.ui_small, row_name(row, state)) * size / theme.ui_small->FontSize + 6 * theme.scale;
    }
    named_from = std::min(named_from, label.max.x - columns.taken);
    if (view.playback.race && first_of_group && !view.workspace->by_sm) {
      // Where the rows scroll, the name stays in sight.
      const float hidden = std::max(0.0F, layout.plot.min.y - label.min.y), last = last_of_group(layout, row.group) - label.max.y;
      const float lower = std::min(hidden, std::max(0.0F, last));
      draw_name(list, theme.ui_small, theme.ui_small->FontSize,
                {{label.min.x, label.min.y + lower}, {named_from, label.max.y + lower}}, theme.text,
                translated(simulation.info->title), Align::left);
    }
    if (row.kind == TimelineRow::Kind::unit || size == 0 || view.playback.race) continue;
    const BandwidthCurve& curve = row.kind == TimelineRow::Kind::hbm ? state.data[row.group]->hbm : state.data[row.group]->l2;
    const double lowest = curve.unshared_ceiling > 0 ? curve.unshared_ceiling : curve.ceiling;  // where there is no room for both
    const std::string ceiling =
        lowest > 0 ? "≤ " + format_bandwidth(lowest * simulation.request.gpu.sm_clock_hz) : std::string(tr("none"));
    const Rect after_name = {{label.min.x + 32 * theme.scale, label.min.y}, label.max};
    const GpuSpec& gpu = simulation.request.gpu;
    // Reads and writes mixed stay below it.
    const bool of_reads = row.kind == TimelineRow::Kind::hbm && gpu.hbm_read_rate().value > gpu.hbm_rate().value;
    const std::string longer = of_reads                     ? say(tr("reads {}"), ceiling)
                               : curve.unshared_ceiling > 0 ? "≤ " + ceiling_text(curve, gpu)
                                                            : ceiling;
    const bool fits = text_width(theme.ui_small, longer) * size <= after_name.width() * theme.ui_small->FontSize;
    draw_name(list, theme.ui_small, size, after_name, theme.text_faint, fits ? longer : ceiling, Align::right);
  }
}

void draw_launches(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout) {
  const Theme& theme = *view.theme;
  for (std::size_t group = 0; group < view.lanes.size(); ++group) {
    const Simulation& simulation = *view.lanes[group].simulation;
    const auto launches = simulation.trace->launches();
    if (launches.size() < 2) continue;
    float top = layout.plot.max.y, bottom = layout.plot.min.y;
    for (const TimelineRow& row : layout.rows)
      if (row.group == group) top = std::min(top, row.rect.min.y), bottom = std::max(bottom, row.rect.max.y);
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const double start = state.window.x_of(launches[i].start, layout.plot.min.x, layout.plot.width());
      const double end = i + 1 < launches.size() ? state.window.x_of(launches[i + 1].start, layout.plot.min.x, layout.plot.width())
                                                 : static_cast<double>(layout.plot.max.x);
      if (end < layout.plot.min.x || start > layout.plot.max.x) continue;
      const auto x = std::floor(static_cast<float>(std::max(start, static_cast<double>(layout.plot.min.x))));
      const auto x_end = static_cast<float>(std::min(end, static_cast<double>(layout.plot.max.x)));
      const float line_top = group == 0 ? layout.plot.min.y : top;
      if (i > 0 && start >= layout.plot.min.x)
        list->AddRectFilled({x, line_top}, {x + std::max(1.0F, theme.scale), bottom}, with_alpha(theme.text_dim, 0.7F));
      if (layout.launch_strip <= 0 || group > 0) continue;
      const Rect name = {{x + 5 * theme.scale, layout.plot.min.y},
                         {x_end - 4 * theme.scale, layout.plot.min.y + layout.launch_strip}};
      if (name.width() > 24 * theme.scale && i < simulation.launches.size())
        draw_text(list, theme.ui_small, name, theme.text_dim, fmt::format("{} {}", i + 1, translated(simulation.launches[i].name)));
    }
  }
}

void draw_axis(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout) {
  const Theme& theme = *view.theme;
  const int most = std::max(2, static_cast<int>(layout.axis.width() / (100 * theme.scale)));
  const auto ticks = view.workspace->views.wall_time ? time_ticks(state.window, most, view.lane().simulation->request.gpu.clock())
                                                     : cycle_ticks(state.window, most);
  const float width = std::max(1.0F, std::floor(theme.scale));
  const double playhead = state.window.x_of(view.playback.cycle, layout.plot.min.x, layout.plot.width());
  const double badge = 0.5 * text_width(theme.mono_small, format_cycles(Cycles(view.playback.cycle))) + 9 * theme.scale;
  for (const Tick& tick : ticks) {
    const auto x = std::floor(static_cast<float>(state.window.x_of(tick.cycle, layout.plot.min.x, layout.plot.width())));
    list->AddRectFilled({x, layout.plot.min.y + layout.launch_strip}, {x + width, layout.plot.max.y},
                        with_alpha(theme.panel_border, 0.6F));
    list->AddRectFilled({x, layout.plot.max.y}, {x + width, layout.plot.max.y + 4 * theme.scale}, theme.text_faint);
    const float text = text_width(theme.mono_small, tick.text);
    const float left = std::clamp(x - text * 0.5F, layout.axis.min.x, std::max(layout.axis.min.x, layout.axis.max.x - text));
    if (left + text > playhead - badge && left < playhead + badge) continue;  // covered by the playhead's number
    draw_text_at(list, theme.mono_small, {std::floor(left), layout.axis.max.y - theme.mono_small->FontSize}, theme.text_faint,
                 tick.text);
  }
  if (state.window.fits_all()) return;
  const float from = static_cast<float>(state.window.begin / state.window.whole),
              to = static_cast<float>(state.window.end / state.window.whole);
  const float y = layout.area.max.y - width;  // position in the whole run
  list->AddRectFilled({layout.axis.min.x, y}, {layout.axis.max.x, y + width}, theme.inset_border);
  list->AddRectFilled({layout.axis.min.x + from * layout.axis.width(), y - width},
                      {layout.axis.min.x + std::max(to, from + 0.004F) * layout.axis.width(), y + width}, theme.accent);
}

void draw_playhead(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout) {
  const Theme& theme = *view.theme;
  const double at = state.window.x_of(view.playback.cycle, layout.plot.min.x, layout.plot.width());
  const float right = std::max(layout.plot.min.x, static_cast<float>(std::min(at, static_cast<double>(layout.plot.max.x))));
  const float top = layout.plot.min.y + layout.launch_strip;
  list->AddRectFilled({right, top}, layout.plot.max, with_alpha(theme.panel, 0.38F));  // dims the future
  if (at < layout.plot.min.x - 0.5 || at > layout.plot.max.x + 0.5) return;
  const auto x = std::floor(static_cast<float>(at));
  const float half = std::max(0.75F, 0.75F * theme.scale);
  list->AddRectFilled({x - half, layout.plot.min.y}, {x + half, layout.plot.max.y + 2 * theme.scale}, theme.text);
}

void draw_playhead_cycle(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout) {
  const Theme& theme = *view.theme;
  const double at = state.window.x_of(view.playback.cycle, layout.plot.min.x, layout.plot.width());
  if (at < layout.plot.min.x - 0.5 || at > layout.plot.max.x + 0.5) return;
  const auto x = std::floor(static_cast<float>(at));
  const std::string cycle = format_cycles(Cycles(view.playback.cycle));
  const float text = text_width(theme.mono_small, cycle), pad = 5 * theme.scale;
  const float left =
      std::clamp(x - text * 0.5F - pad, layout.axis.min.x, std::max(layout.axis.min.x, layout.axis.max.x - text - 2 * pad));
  const Rect badge = {{std::floor(left), layout.plot.max.y + theme.scale}, {std::floor(left + text + 2 * pad), layout.axis.max.y}};
  list->AddRectFilled(badge.min, badge.max, theme.text, 3 * theme.scale);
  draw_text(list, theme.mono_small, badge, theme.panel, cycle, Align::center);
}

namespace {

/// Outlines an interval in its row of a group.
void outline_interval(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout,
                      std::size_t group, const Interval& interval, ImU32 color) {
  const Theme& theme = *view.theme;
  const auto intervals = view.lanes[group].simulation->trace->intervals(view.lanes[group].focus_sm);
  for (const TimelineRow& row : layout.rows) {
    if (row.kind != TimelineRow::Kind::unit || row.group != group) continue;
    const UnitLane& lane = state.data[group]->lanes[row.unit];
    if (!lane.shows(interval)) continue;
    const auto [first, last] = lane.visible(interval.start, interval.start);
    for (std::size_t i = first; i < last; ++i) {
      const Interval& candidate = intervals[static_cast<std::size_t>(lane.bars[i].interval)];
      if (candidate.op != interval.op || candidate.run != interval.run) continue;
      const Rect track = timeline_track(row, lane, lane_is_dense(layout, lane, state.window) ? 0 : lane.bars[i].track, theme.scale);
      outline_span(list, view, state, layout, interval.start, interval.end, track, color);
    }
  }
}

/// Returns the interval of a visit, where its SM is in focus.
const Interval* interval_of(const Lane& lane, const TileVisit& visit) {
  const Trace& trace = *lane.simulation->trace;
  if (!visit.step || visit.sm != lane.focus_sm) return nullptr;
  const auto intervals = trace.intervals(lane.focus_sm);
  const auto from = std::lower_bound(intervals.begin(), intervals.end(), visit.start,
                                     [](const Interval& interval, double at) { return interval.start < at; });
  const auto found = std::find_if(from, intervals.end(), [&](const Interval& interval) {
    const BlockRun& run = trace.runs()[static_cast<std::size_t>(interval.run)];
    return interval.op == visit.op && run.block == visit.block && run.launch == visit.launch;
  });
  return found == intervals.end() ? nullptr : &*found;
}

}  // namespace

void draw_current(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout) {
  for (std::size_t group = 0; group < view.lanes.size(); ++group)
    if (const auto& interval = view.lanes[group].rest.interval)
      outline_interval(list, view, state, layout, group, *interval, view.theme->highlight);
}

void draw_pointed_visit(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout) {
  if (view.workspace->center != CenterView::mask || !view.mask.visit || view.mask.visit->op < 0) return;
  const TileVisit& visit = *view.mask.visit;
  const Theme& theme = *view.theme;
  const std::size_t group = view.lanes.size() - 1;  // the chosen algorithm
  if (const Interval* const load = interval_of(view.lane(), visit); load != nullptr && !view.workspace->by_sm)
    return outline_interval(list, view, state, layout, group, *load, theme.text);
  for (const TimelineRow& row : layout.rows) {
    if (row.group != group || row.kind != TimelineRow::Kind::sms) continue;
    const Rect of_sm = sm_rect(row, state.sms.rows, visit.sm);
    const Rect shown = {{of_sm.min.x, std::max(of_sm.min.y, row.rect.min.y)}, {of_sm.max.x, std::min(of_sm.max.y, row.rect.max.y)}};
    if (shown.max.y > shown.min.y) outline_span(list, view, state, layout, visit.start, visit.end, shown, theme.text);
    return;
  }
}

}  // namespace tilescope
