// The timeline panel: bandwidth over time, and one row per unit of the focused SM or one per SM. Drag to seek, wheel to zoom.
#include <algorithm>
#include <utility>

#include "app/model/run_data/timeline_search.h"
#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/ui/tab_stops.h"
#include "app/views/light_tensor.h"
#include "app/views/panels.h"
#include "app/views/timeline/sm_picture.h"
#include "app/views/timeline/timeline_bandwidth.h"
#include "app/views/timeline/timeline_beside.h"
#include "app/views/timeline/timeline_hover.h"
#include "app/views/timeline/timeline_marks.h"
#include "app/views/timeline/timeline_measured.h"
#include "app/views/timeline/timeline_mouse.h"
#include "app/views/timeline/timeline_range.h"
#include "app/views/timeline/timeline_state.h"

namespace tilescope {
namespace {

constexpr float switch_padding = 5;  // around a clickable word

/// Returns the width of row names and of the clickable words.
float gutter_width(const View& view, float panel) {
  const Theme& theme = *view.theme;
  float names = 104 * theme.scale;
  if (view.playback.race && !view.workspace->by_sm)
    for (const Lane& lane : view.lanes)
      names = std::max(names, text_width(theme.ui_small, translated(lane.simulation->info->title)) + 104 * theme.scale);
  const float words = text_width(theme.ui_small, tr("Units")) + text_width(theme.ui_small, "SM") +
                      4 * switch_padding * theme.scale +
                      std::max(text_width(theme.ui_small, tr("cycles")), text_width(theme.ui_small, tr("time"))) + 16 * theme.scale;
  // The switches below the names do not overlap, whatever the size of text.
  return std::min(std::max(std::min(names, panel * 0.25F), words), panel * 0.45F);
}

/// Returns false while data of a run are missing.
bool refresh_data(TimelineState& state, const View& view) {
  state.data.resize(view.lanes.size());
  double whole = 0;
  bool changed = false;
  for (std::size_t i = 0; i < view.lanes.size(); ++i) {
    if (!view.lanes[i].timeline) return false;
    changed = changed || state.data[i] != view.lanes[i].timeline;
    state.data[i] = view.lanes[i].timeline;
    whole = std::max(whole, state.data[i]->end);
  }
  if (view.workspace->by_sm && !refresh_sm_state(state.sms, view)) return false;
  whole = std::max(
      {whole, measured_end(view), bandwidth_end(view), beside_end(view), view.workspace->by_sm ? measured_sms_end(state.sms) : 0});
  if (changed || state.window.whole != whole) state.window = carry_over(state.window, whole);
  return true;
}

bool same_window(const TimeWindow& a, const TimeWindow& b) {
  return a.begin == b.begin && a.end == b.end;
}

std::optional<TimeRange> range_of(const TimeWindow& window) {
  return window.fits_all() ? std::nullopt : std::optional(TimeRange{window.begin, window.end});
}

/// Shows what a state was opened with.
void open_window(TimelineState& state, const View& view) {
  const auto& asked = view.workspace->views.time_window;
  if (asked == state.seen) return;
  state.seen = asked;
  if (asked == range_of(state.told)) return;  // it came from here
  TimeWindow window = fit(state.window.whole);
  if (asked && asked->from < window.whole) {
    window.begin = asked->from;
    window.end = std::min(asked->to, window.whole);
  }
  state.window = state.told = window;
  state.last_step = view.lane().step;  // the playhead may be elsewhere
}

/// Puts what is shown into the state; while the run plays, once it rests.
void tell_window(TimelineState& state, const View& view, Commands& commands) {
  if (view.playback.playing || same_window(state.window, state.told)) return;
  state.told = state.window;
  ViewChoices views = view.workspace->views;
  views.time_window = range_of(state.window);
  if (views != view.workspace->views) commands.push(SetViews{views});
}

void follow_playhead(TimelineState& state, const View& view) {
  const std::int64_t step = view.lane().step;
  if (view.playback.playing || step != state.last_step)
    state.window = follow(state.window, std::clamp(view.playback.cycle, 0.0, state.window.whole));
  state.last_step = step;
}

/// Zooms to a stretch that was not chosen here, and jumps to the playhead.
void follow_range(TimelineState& state, const View& view) {
  const auto& range = view.workspace->range;
  const bool opened = range && range != state.seen_range && !state.range_from;
  state.seen_range = range;
  if (range && (opened || state.show_range)) {
    constexpr double margin = 0.08;
    const double span = std::min(range->to, state.window.whole) - range->from;
    if (span > 0) {
      state.window = zoom_at(fit(state.window.whole), 0, (1 + 2 * margin) * span / state.window.whole);
      state.window = pan(state.window, range->from - margin * span - state.window.begin);
      if (opened) state.told = state.window;  // the range in the state says it
    }
  }
  state.show_range = false;
  const bool popup = ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup);
  const bool key = !popup && !ImGui::GetIO().WantTextInput && !ImGui::GetIO().KeyCtrl && ImGui::IsKeyPressed(ImGuiKey_J, false);
  if (std::exchange(state.jump, false) || key)
    state.window = pan(state.window, view.playback.cycle - state.window.begin - 0.5 * state.window.span());
}

bool timeline_key(ImGuiKey key, bool alt, bool repeat = true) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool elsewhere = io.WantTextInput || io.KeyCtrl || ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup);
  return !elsewhere && io.KeyAlt == alt && ImGui::IsKeyPressed(key, repeat);
}

/// Alt and the arrows scroll and zoom, at the playhead where it is in view.
void handle_zoom_keys(TimelineState& state, const View& view) {
  const TimeWindow& window = state.window;
  const double cycle = view.playback.cycle, middle = window.begin + 0.5 * window.span();
  const double around = cycle >= window.begin && cycle <= window.end ? cycle : middle;
  constexpr double step = 0.12, closer = 0.8;  // those of the wheel
  if (timeline_key(ImGuiKey_LeftArrow, true)) state.window = pan(window, -step * window.span());
  if (timeline_key(ImGuiKey_RightArrow, true)) state.window = pan(window, step * window.span());
  if (timeline_key(ImGuiKey_UpArrow, true)) state.window = zoom_at(window, around, closer);
  if (timeline_key(ImGuiKey_DownArrow, true)) state.window = zoom_at(window, around, 1 / closer);
  if (timeline_key(ImGuiKey_Home, true)) {
    state.window = fit(window.whole);
    set_rows(state.sms, all_rows(static_cast<int>(state.sms.rows.whole)));
  }
}

/// C: why the step's operation began no earlier.
void open_causes_by_key(TimelineState& state, const View& view, const TimelineLayout& layout) {
  if (!timeline_key(ImGuiKey_C, false, false)) return;
  const std::size_t group = view.lanes.size() - 1;
  const Lane& lane = view.lanes[group];
  const auto interval = interval_of_step(*lane.simulation, *state.data[group]->steps, lane.step);
  if (!interval) return;
  const auto x = static_cast<float>(state.window.x_of(view.playback.cycle, layout.plot.min.x, layout.plot.width()));
  const ImVec2 at = {std::clamp(x, layout.plot.min.x, layout.plot.max.x), layout.plot.min.y};
  state.causes = {state.data[group], group, cause_chain(*lane.simulation, *state.data[group], *interval), at, true};
}

/// What comes after the playhead answers many a question of a lesson.
void cover_future(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout, float bottom) {
  const Theme& theme = *view.theme;
  const double at = state.window.x_of(view.playback.cycle, layout.plot.min.x, layout.plot.width());
  const float left = std::clamp(static_cast<float>(at), layout.plot.min.x, layout.plot.max.x);
  const Rect future = {{left, layout.plot.min.y}, {layout.area.max.x, bottom}};
  list->AddRectFilled(future.min, future.max, theme.panel);
  list->AddRectFilled({left, layout.plot.min.y}, {layout.plot.max.x, layout.plot.max.y}, with_alpha(theme.inset, 0.6F));
  const Rect room = {{left + theme.padding, layout.plot.min.y}, {layout.plot.max.x - theme.padding, layout.plot.max.y}};
  const std::string words = first_that_fits(theme.ui, room.width(),
                                            {view.lesson.locked ? tr("The rest of the run shows after the answer.")
                                                                : tr("What comes after the playhead shows as the runs go on."),
                                             view.lesson.locked ? tr("After the answer") : tr("Later"), "…"});
  draw_text(list, theme.ui, room, theme.text_dim, words, Align::center);
}

/// If rows do not fit, scrolls to the row of the current operation. Manual scrolling during playback is respected.
void follow_rows(TimelineState& state, const View& view, const TimelineLayout& layout) {
  state.row_steps.resize(view.lanes.size(), -1);
  if (view.playback.playing != state.was_playing) state.scrolled_by_hand = false;
  state.was_playing = view.playback.playing;
  const float before = state.scroll;
  for (const TimelineRow& row : layout.rows) {
    const Lane& lane = view.lanes[row.group];
    const auto& interval = lane.rest.interval;
    if (row.kind != TimelineRow::Kind::unit || lane.step == state.row_steps[row.group]) continue;
    if (!interval || !state.data[row.group]->lanes[row.unit].shows(*interval) || (view.playback.playing && state.scrolled_by_hand))
      continue;
    state.scroll = scroll_to(layout, row, before);
  }
  for (std::size_t group = 0; group < view.lanes.size(); ++group) state.row_steps[group] = view.lanes[group].step;
}

void refresh_picture(TimelineState& state, const View& view, const TimelineLayout& layout) {
  PictureKey key;
  for (const auto& data : state.data) key.data.push_back(data.get());
  key.begin = state.window.begin;
  key.end = state.window.end;
  key.scroll = state.scroll;
  key.min = layout.area.min;
  key.max = layout.area.max;
  key.theme = view.theme->kind;
  key.scale = view.theme->scale;
  key.lit = view.workspace->hovered_tensor;
  key.by_sm = view.workspace->by_sm;
  if (view.workspace->by_sm) {
    key.rows = state.sms.rows;
    for (const Lane& lane : view.lanes) key.blocks.insert(key.blocks.end(), {lane.sm_lanes.get(), lane.sm_works.get()});
    key.blocks.push_back(state.sms.measured.get());
  }
  if (state.picture.quads && key.same_as(state.key)) return;
  std::vector<std::shared_ptr<const Simulation>> simulations;
  for (const Lane& lane : view.lanes) simulations.push_back(lane.simulation);
  // Reuses the memory of tens of thousands of quads once no frame needs it.
  std::shared_ptr<QuadBatch> quads = state.picture.quads.use_count() == 1 ? std::move(state.picture.quads) : nullptr;
  state.picture = make_timeline_picture(*view.theme, layout, state.window, state.data, simulations, view.workspace->hovered_tensor,
                                        std::move(quads));
  for (const TimelineRow& row : layout.rows) {
    const Lane& lane = view.lanes[row.group];
    if (row.kind == TimelineRow::Kind::sms)
      add_sm_blocks(state.picture, *view.theme, layout, state.window, row, state.sms.rows, *lane.sm_lanes, lane.sm_works.get());
    else if (row.kind == TimelineRow::Kind::measured_sms)
      add_sm_blocks(state.picture, *view.theme, layout, state.window, row, state.sms.rows, *state.sms.measured, nullptr);
  }
  state.key = std::move(key);
}

void draw_picture(ImDrawList* list, const View& view, const TimelineState& state) {
  const Theme& theme = *view.theme;
  draw_quads(list, std::shared_ptr<const QuadBatch>(state.picture.quads));
  for (const auto& line : state.picture.lines)
    list->AddPolyline(line.data(), static_cast<int>(line.size()), theme.accent, ImDrawFlags_None, 1.2F * theme.scale);
  for (const TimelineText& text : state.picture.texts) draw_text_at(list, theme.ui_small, text.at, text.color, text.text);
}

void show_hover(const View& view, const TimelineState& state, const TimelineLayout& layout) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (!layout.plot.contains(mouse)) return;
  for (const TimelineRow& row : layout.rows) {
    const bool unit = row.kind == TimelineRow::Kind::unit;
    if (!row.rect.contains(mouse) || (!unit && !is_curve(row))) continue;
    const Simulation& simulation = *view.lanes[row.group].simulation;
    const TimelineData& data = *state.data[row.group];
    HoverText text = unit ? lane_hover(simulation, data, layout, row, state.window, mouse)
                          : curve_hover(simulation, data, layout, row, state.window, mouse);
    if (row.kind == TimelineRow::Kind::hbm)
      if (const std::string measured = measured_bandwidth_text(view, state.window, layout, mouse.x); !measured.empty())
        add_line(text.body, measured);
    if (!text.title.empty()) show_tooltip(*view.theme, text.title, text.body);
  }
}

/// Explains the row whose name the mouse is on.
void show_name(const View& view, const TimelineState& state, const TimelineLayout& layout) {
  if (!ImGui::IsWindowHovered()) return;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  for (const TimelineRow& row : layout.rows) {
    const Rect name = {{layout.area.min.x, row.rect.min.y}, {layout.plot.min.x, row.rect.max.y}};
    if (!name.contains(mouse)) continue;
    if (const HoverText text = row_meaning(row, state.data[row.group].get()); !text.title.empty())
      show_tooltip(*view.theme, text.title, text.body);
    return;
  }
}

/// Draws the switch between Units and SM.
void lanes_switch(const View& view, const TimelineLayout& layout, Commands& commands) {
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  float x = layout.area.min.x;
  for (const bool by_sm : {false, true}) {
    const char* const word = by_sm ? "SM" : tr("Units");
    const float width = text_width(theme.ui_small, word) + switch_padding * 2 * theme.scale;
    const Rect label = {{x, layout.axis.min.y + theme.scale}, {x + width, layout.axis.max.y}};
    ImGui::PushID(by_sm ? 1 : 0);
    const bool clicked = hit_area("lanes", label);
    if (tab_stop(theme, label, 4 * theme.scale) || clicked) commands.push(SetLanes{by_sm});
    const bool hovered = ImGui::IsItemHovered(), on = view.workspace->by_sm == by_sm;
    if (on) list->AddRectFilled(label.min, label.max, theme.accent_soft, 4 * theme.scale);
    draw_text(list, theme.ui_small, label, on ? theme.accent : hovered ? theme.text : theme.text_faint, word, Align::center);
    if (hovered)
      show_tooltip(
          theme, by_sm ? tr("One row per SM") : tr("One row per unit of the SM in focus"),
          by_sm
              ? tr("Blocks of all SMs: waves, tail, stalls. Wheel over the names or Ctrl+wheel changes the row height. L switches.")
              : tr("Copies, products, exponentials and stores of one SM. L switches."));
    ImGui::PopID();
    x += width;
  }
}

/// Draws the switch between cycles and time.
void unit_switch(const View& view, const TimelineLayout& layout, Commands& commands) {
  const Theme& theme = *view.theme;
  const bool wall_time = view.workspace->views.wall_time;
  const float width = std::max(text_width(theme.ui_small, tr("cycles")), text_width(theme.ui_small, tr("time")));
  const float right = layout.axis.min.x - 8 * theme.scale;
  const Rect label = {{right - width - 1, layout.axis.min.y}, {right, layout.axis.max.y}};
  const bool clicked = hit_area("axis unit", label);
  if (tab_stop(theme, label, 4 * theme.scale) || clicked) {
    ViewChoices views = view.workspace->views;
    views.wall_time = !wall_time;
    commands.push(SetViews{views});
  }
  const bool hovered = ImGui::IsItemHovered();
  draw_text(ImGui::GetWindowDrawList(), theme.ui_small, label, hovered ? theme.text : theme.text_faint,
            wall_time ? tr("time") : tr("cycles"), Align::right);
  if (hovered)
    show_tooltip(theme, wall_time ? tr("Show cycles") : tr("Show time"),
                 tr("Drag to seek, Ctrl and drag to sum over a stretch, wheel to zoom, right drag or Shift+wheel to scroll, "
                    "double-click to show everything."));
}

}  // namespace

void draw_timeline_panel(const View& view, Commands& commands) {
  const ImVec2 size = ImGui::GetContentRegionAvail(), at = ImGui::GetCursorScreenPos();
  if (view.lanes.empty() || !view.lane().simulation || size.x < 40 || size.y < 30) return;
  const Theme& theme = *view.theme;
  auto& state = panel_state<TimelineState>("timeline");
  if (!refresh_data(state, view)) return text_item(theme.ui_small, theme.text_faint, tr("preparing the timeline"));
  open_window(state, view);
  follow_playhead(state, view);
  follow_range(state, view);
  handle_zoom_keys(state, view);

  bool several_launches = false;
  if (view.lanes.size() == 1) several_launches = view.lane().simulation->trace->launches().size() > 1;
  const float gutter = gutter_width(view, size.x);
  int tracks = 1;
  for (const auto& data : state.data) tracks = std::max(tracks, data->lanes.front().tracks);
  const float measured = view.workspace->by_sm ? 0 : measured_lanes_height(view, size.y);
  const float beside = beside_row_height(view, size.y);
  const Rect area = {at, {at.x + size.x, at.y + size.y - measured - beside}};
  const float least_lane = least_lane_height(theme.ui_small->FontSize, view.lanes.size());
  const auto lay_out = [&] {
    TimelineShape shape = {view.lanes.size(), tracks, several_launches, gutter, theme.scale, least_lane, state.scroll};
    shape.leaves_out = view.workspace->present;
    constexpr float presented_lane = 90;  // a lesson's page may be about the timeline alone
    if (view.workspace->present) shape.most_lane = presented_lane;
    for (std::size_t i = 0; i < state.data.size(); ++i) shape.lanes[i] = state.data[i]->lanes.size();
    return view.workspace->by_sm ? lay_out_sm_timeline(area, shape, state.sms.measured != nullptr) : lay_out_timeline(area, shape);
  };
  TimelineLayout layout = lay_out();
  if (const float before = state.scroll; layout.hidden > 0 && !view.workspace->by_sm) {
    follow_rows(state, view, layout);
    if (state.scroll != before) layout = lay_out();
  }
  view.workspace->by_sm ? handle_gutter(state, layout) : handle_names(state, layout);
  ImGui::SetCursorScreenPos(layout.plot.min);
  ImGui::InvisibleButton("plot", {layout.plot.width(), layout.area.max.y - layout.plot.min.y},
                         ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonRight);
  const double playhead = state.window.x_of(view.playback.cycle, layout.plot.min.x, layout.plot.width());
  const bool hidden = view.lesson.covers || (view.playback.race && holds_race_result(view));
  const bool in_future = hidden && ImGui::GetIO().MousePos.x > playhead;
  const bool hovered = ImGui::IsItemHovered() && !ImGui::IsItemActive() && !in_future;
  const bool choosing = handle_range(state, layout, commands);
  if (!choosing) {
    handle_mouse(state, layout, commands);
    handle_click(state, view, layout, commands);
  }
  refresh_picture(state, view, layout);

  ImDrawList* list = ImGui::GetWindowDrawList();
  list->PushClipRect(layout.area.min, layout.area.max, true);
  const bool scrolls = layout.hidden > 0;
  const Rect seen = {{layout.area.min.x, layout.plot.min.y + layout.launch_strip}, {layout.area.max.x, layout.plot.max.y}};
  if (scrolls) list->PushClipRect(seen.min, seen.max, true);
  draw_picture(list, view, state);
  draw_measured_bandwidth(list, view, state.window, layout);
  draw_gutter(list, view, state, layout);
  if (scrolls) list->PopClipRect();
  draw_axis(list, view, state, layout);
  draw_scrollbar(list, theme, layout, state.scroll);
  if (!view.workspace->by_sm) draw_launches(list, view, state, layout);
  draw_range_band(list, view, state, layout);
  draw_playhead(list, view, state, layout);
  draw_sm_labels(list, state.sms, view, layout, state.window);
  if (scrolls) list->PushClipRect(seen.min, seen.max, true);
  draw_current(list, view, state, layout);
  draw_pointed_visit(list, view, state, layout);
  if (scrolls) list->PopClipRect();
  list->PopClipRect();
  const float gutter_end = layout.plot.min.x - 8 * theme.scale, below = layout.area.max.y + 4 * theme.scale;
  if (measured > 0)
    draw_measured_lanes(list, view, state.window, {{at.x, below}, {gutter_end, layout.area.max.y + measured}},
                        {{layout.plot.min.x, below}, {layout.plot.max.x, layout.area.max.y + measured}});
  if (beside > 0)
    draw_beside_row(list, view, state.window, {{at.x, below + measured}, {gutter_end, at.y + size.y}},
                    {{layout.plot.min.x, below + measured}, {layout.plot.max.x, at.y + size.y}});
  if (hidden) cover_future(list, view, state, layout, at.y + size.y);
  draw_playhead_cycle(list, view, state, layout);  // above what hides the future
  unit_switch(view, layout, commands);
  lanes_switch(view, layout, commands);
  if (hovered)
    show_hover(view, state, layout);
  else
    show_name(view, state, layout);
  if (hovered)
    if (const HoverText text = sm_hover(state.sms, view, layout, state.window, ImGui::GetIO().MousePos); !text.title.empty())
      show_tooltip(theme, text.title, text.body);
  if (view.workspace->by_sm) {
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const auto under = hovered ? find_sm_block(state.sms, view, layout, state.window, mouse) : std::nullopt;
    ask_for_works(state.sms, view, layout, under, commands);
  }
  open_causes_by_key(state, view, layout);
  show_causes(state.causes, state.data, view, commands);
  draw_range_box(state, view, layout, commands);
  tell_window(state, view, commands);
  light_tensor(view, commands, std::nullopt);
}

}  // namespace tilescope
