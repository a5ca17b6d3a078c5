// The timeline panel: bandwidth over time and one lane a unit of the SM in focus, or one an SM; drag to scrub, wheel to zoom, right
// drag to pan.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/panels/light_tensor.h"
#include "app/panels/panel_state.h"
#include "app/panels/panels.h"
#include "app/panels/say.h"
#include "app/panels/sm_timeline.h"
#include "app/panels/timeline_bandwidth.h"
#include "app/panels/timeline_causes.h"
#include "app/panels/timeline_hover.h"
#include "app/panels/timeline_measured.h"
#include "sim/analysis/format.h"

namespace tilescope {
namespace {

/// What the kept picture was drawn from; it is drawn anew when any of it changes.
struct PictureKey {
  std::vector<const TimelineData*> data;
  double begin = 0, end = 0;
  ImVec2 min, max;
  ThemeKind theme = ThemeKind::dark;
  float scale = 1;
  std::optional<Tensor> lit;
  bool by_sm = false;
  SmRows rows;
  std::vector<const void*> blocks;  // lanes and works of the SMs, simulated and measured
  bool same_as(const PictureKey& o) const {
    return data == o.data && by_sm == o.by_sm && rows == o.rows && blocks == o.blocks && begin == o.begin && end == o.end &&
           min.x == o.min.x && min.y == o.min.y && max.x == o.max.x && max.y == o.max.y && theme == o.theme && scale == o.scale &&
           lit == o.lit;
  }
};

/// The box that says why an operation waited.
struct CauseBox {
  std::shared_ptr<const TimelineData> of;
  std::size_t group = 0;
  std::vector<CauseLink> chain;
  ImVec2 at;
};

constexpr float switch_padding = 5;  // beside a word that can be switched on

/// Room for the names of lanes, and for the words that can be clicked before the axis.
float gutter_width(const Theme& theme, float panel) {
  const float words = text_width(theme.ui_small, tr("units")) + text_width(theme.ui_small, "SM") +
                      4 * switch_padding * theme.scale +
                      std::max(text_width(theme.ui_small, tr("cycles")), text_width(theme.ui_small, tr("time"))) + 16 * theme.scale;
  return std::min(std::max(104 * theme.scale, words), panel * 0.25F);
}

struct TimelineState {
  std::vector<std::shared_ptr<const TimelineData>> data;
  TimeWindow window;
  bool wall_time = false;  // ticks in time instead of cycles
  std::int64_t last_step = -1;
  double last_scrub = -1;
  ImVec2 pressed;          // where the button went down
  CauseBox causes;
  SmPanelState sms;
  PictureKey key;
  TimelinePicture picture;
};

/// False while a lane's data are not there yet.
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
  if (view.by_sm && !refresh_sm_state(state.sms, view)) return false;
  whole = std::max({whole, measured_end(view), bandwidth_end(view), view.by_sm ? measured_sms_end(state.sms) : 0});
  if (changed || state.window.whole != whole) state.window = carry_over(state.window, whole);
  return true;
}

void follow_playhead(TimelineState& state, const View& view) {
  const std::int64_t step = view.lane().step;
  if (view.playing || step != state.last_step) state.window = follow(state.window, std::clamp(view.cycle, 0.0, state.window.whole));
  state.last_step = step;
}

/// The row of SMs, counted with its fraction, that is under `y`; nullopt where lanes are units, or none is there.
std::optional<double> row_under(const TimelineState& state, const TimelineLayout& layout, float y) {
  for (const TimelineRow& row : layout.rows)
    if ((row.kind == TimelineRow::Kind::sms || row.kind == TimelineRow::Kind::measured_sms) && y >= row.rect.min.y &&
        y < row.rect.max.y)
      return state.sms.rows.first + (y - row.rect.min.y) / row.rect.height() * state.sms.rows.count;
  return std::nullopt;
}

float height_of_rows(const TimelineLayout& layout) {
  for (const TimelineRow& row : layout.rows)
    if (row.kind == TimelineRow::Kind::sms) return row.rect.height();
  return 1;
}

/// Over the names of the SMs the wheel zooms into them and a drag moves them.
void handle_gutter(TimelineState& state, const TimelineLayout& layout) {
  ImGui::SetCursorScreenPos(layout.area.min);
  ImGui::InvisibleButton("sm names", {layout.plot.min.x - layout.area.min.x, layout.plot.height()});
  const ImGuiIO& io = ImGui::GetIO();
  const auto under = row_under(state, layout, io.MousePos.y);
  if (ImGui::IsItemHovered() && io.MouseWheel != 0 && under)
    set_rows(state.sms, zoom_rows(state.sms.exact, *under, std::pow(0.8, io.MouseWheel)));
  if (ImGui::IsItemActive())
    set_rows(state.sms, pan_rows(state.sms.exact, -io.MouseDelta.y / height_of_rows(layout) * state.sms.exact.count));
}

void handle_mouse(TimelineState& state, const TimelineLayout& layout, Commands& commands) {
  const ImGuiIO& io = ImGui::GetIO();
  const double left = layout.plot.min.x, width = layout.plot.width();
  const double under = state.window.cycle_at(io.MousePos.x, left, width);
  if (ImGui::IsItemHovered()) {
    const auto row = row_under(state, layout, io.MousePos.y);
    if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
      state.window = fit(state.window.whole);
      set_rows(state.sms, all_rows(static_cast<int>(state.sms.rows.whole)));
    }
    const float sideways = io.KeyShift ? io.MouseWheel + io.MouseWheelH : io.MouseWheelH;
    if (sideways != 0)
      state.window = pan(state.window, -0.12 * sideways * state.window.span());
    else if (io.MouseWheel != 0 && io.KeyCtrl && row)
      set_rows(state.sms, zoom_rows(state.sms.exact, *row, std::pow(0.8, io.MouseWheel)));
    else if (io.MouseWheel != 0 && !io.KeyShift)
      state.window = zoom_at(state.window, under, std::pow(0.8, io.MouseWheel));
  }
  if (!ImGui::IsItemActive()) {
    state.last_scrub = -1;
    return;
  }
  if (ImGui::IsMouseDown(ImGuiMouseButton_Right)) {
    state.window = pan(state.window, -io.MouseDelta.x / width * state.window.span());
    set_rows(state.sms, pan_rows(state.sms.exact, -io.MouseDelta.y / height_of_rows(layout) * state.sms.exact.count));
  } else if (ImGui::IsMouseDown(ImGuiMouseButton_Left)) {
    const double cycle = std::clamp(under, 0.0, state.window.whole);
    if (cycle != state.last_scrub) commands.push(SeekCycle{cycle});
    state.last_scrub = cycle;
  }
}

/// A click, not a drag: on an operation it goes to its step, on a wait it asks why.
void handle_click(TimelineState& state, const View& view, const TimelineLayout& layout, Commands& commands) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (ImGui::IsItemActivated()) state.pressed = mouse;
  if (!ImGui::IsItemDeactivated() || !ImGui::IsMouseReleased(ImGuiMouseButton_Left)) return;
  const float slack = 3 * layout.scale;
  if (std::abs(mouse.x - state.pressed.x) > slack || std::abs(mouse.y - state.pressed.y) > slack) return;
  if (view.by_sm) {
    const auto block = find_sm_block(state.sms, view, layout, state.window, mouse);
    if (block && !block->measured && block->group + 1 == view.lanes.size())
      commands.push(FocusBlock{block->run.sm, block->run.launch, block->run.block, block->run.start});
    else if (block)
      commands.push(SetFocusSm{block->run.sm});
    return;
  }
  for (const TimelineRow& row : layout.rows) {
    if (row.kind != TimelineRow::Kind::unit || !row.rect.contains(mouse)) continue;
    const Simulation& simulation = *view.lanes[row.group].simulation;
    const TimelineData& data = *state.data[row.group];
    const UnderMouse under = find_under_mouse(simulation, data, layout, row, state.window, mouse);
    const bool last_lane = row.group + 1 == view.lanes.size();  // steps are those of the chosen algorithm
    if (under.bar && last_lane) commands.push(SeekStep{simulation.trace->step_of_interval(data.steps->sm, *under.bar)});
    if (under.bar || !under.wait) continue;
    state.causes = {state.data[row.group], row.group, cause_chain(simulation, data, *under.wait), mouse};
  }
}

void draw_cause_lines(const CauseBox& box, const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const Simulation& simulation = *view.lanes[box.group].simulation;
  text_item(theme.ui_bold, theme.text, tr("Why it waited, back to the first cause"));
  const bool steps = box.group + 1 == view.lanes.size();
  ImGui::PushFont(theme.ui_small);
  for (std::size_t i = 0; i < box.chain.size(); ++i) {
    const CauseLink& link = box.chain[i];
    const std::string line = fmt::format("{}  {}  {}##{}", i == 0 ? " " : "←", link.name, link.why, i);
    if (!ImGui::Selectable(line.c_str())) continue;
    if (steps)
      commands.push(SeekStep{simulation.trace->step_of_interval(box.of->steps->sm, link.interval)});
    else
      commands.push(SeekCycle{simulation.trace->intervals(box.of->steps->sm)[link.interval].end});
  }
  ImGui::PopFont();
  text_item(theme.ui_small, theme.text_faint, tr("Click a line to go there."));
}

/// The box of the wait that was clicked, above it, until a click elsewhere. No popup, which would swallow that click.
void show_causes(TimelineState& state, const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  CauseBox& box = state.causes;
  if (box.chain.empty()) return;
  if (box.group >= state.data.size() || box.of != state.data[box.group]) {  // another simulation
    box.chain.clear();
    return;
  }
  ImGui::SetNextWindowPos({box.at.x, box.at.y - 10 * theme.scale}, ImGuiCond_Always, {0.2F, 1});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, ImGui::GetColorU32(ImGuiCol_PopupBg));
  constexpr ImGuiWindowFlags flags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoSavedSettings |
                                     ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoMove;
  if (ImGui::Begin("causes", nullptr, flags)) {
    draw_cause_lines(box, view, commands);
    const bool elsewhere = ImGui::IsMouseClicked(ImGuiMouseButton_Left) && !ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem);
    if (elsewhere || ImGui::IsKeyPressed(ImGuiKey_Escape, false)) box.chain.clear();
  }
  ImGui::End();
  ImGui::PopStyleColor();
}

void refresh_picture(TimelineState& state, const View& view, const TimelineLayout& layout) {
  PictureKey key;
  for (const auto& data : state.data) key.data.push_back(data.get());
  key.begin = state.window.begin;
  key.end = state.window.end;
  key.min = layout.area.min;
  key.max = layout.area.max;
  key.theme = view.theme->kind;
  key.scale = view.theme->scale;
  key.lit = view.hovered_tensor;
  key.by_sm = view.by_sm;
  if (view.by_sm) {
    key.rows = state.sms.rows;
    for (const Lane& lane : view.lanes) key.blocks.insert(key.blocks.end(), {lane.sm_lanes.get(), lane.sm_works.get()});
    key.blocks.push_back(state.sms.measured.get());
  }
  if (state.picture.quads && key.same_as(state.key)) return;
  std::vector<std::shared_ptr<const Simulation>> simulations;
  for (const Lane& lane : view.lanes) simulations.push_back(lane.simulation);
  // Tens of thousands of quads: their memory is used again once no frame draws from it.
  std::shared_ptr<QuadBatch> quads = state.picture.quads.use_count() == 1 ? std::move(state.picture.quads) : nullptr;
  state.picture =
      make_timeline_picture(*view.theme, layout, state.window, state.data, simulations, view.hovered_tensor, std::move(quads));
  for (const TimelineRow& row : layout.rows) {
    const Lane& lane = view.lanes[row.group];
    if (row.kind == TimelineRow::Kind::sms)
      add_sm_blocks(state.picture, *view.theme, layout, state.window, row, state.sms.rows, *lane.sm_lanes, lane.sm_works.get());
    else if (row.kind == TimelineRow::Kind::measured_sms)
      add_sm_blocks(state.picture, *view.theme, layout, state.window, row, state.sms.rows, *state.sms.measured, nullptr);
  }
  state.key = std::move(key);
}

bool is_curve(const TimelineRow& row) {
  return row.kind == TimelineRow::Kind::hbm || row.kind == TimelineRow::Kind::l2;
}

const char* row_name(const TimelineRow& row) {
  switch (row.kind) {
    case TimelineRow::Kind::hbm:
      return "HBM";
    case TimelineRow::Kind::l2:
      return "L2";
    case TimelineRow::Kind::unit:
      return lane_name(timeline_units[row.unit]);
    default:
      break;
  }
  return "";
}

/// The names before the rows; in Race the first row of a group names its algorithm.
void draw_gutter(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout) {
  const Theme& theme = *view.theme;
  for (const TimelineRow& row : layout.rows) {
    if (!is_curve(row) && row.kind != TimelineRow::Kind::unit) continue;  // named by draw_sm_labels()
    const bool first_of_group = &row == layout.rows.data() || (&row - 1)->group != row.group;
    const Rect label = {{layout.area.min.x, row.rect.min.y}, {row.rect.min.x - 8 * theme.scale, row.rect.max.y}};
    const Simulation& simulation = *view.lanes[row.group].simulation;
    const bool small = layout.lane_height < theme.ui_small->FontSize * 0.85F;
    if (view.race && first_of_group && !view.by_sm)
      draw_text(list, theme.ui_small, label, theme.text, simulation.info->title, Align::left);
    else if (!small)
      draw_text(list, theme.ui_small, label, theme.text_dim, row_name(row), view.race ? Align::right : Align::left);
    if (row.kind == TimelineRow::Kind::unit || small || view.race) continue;
    const BandwidthCurve& curve = row.kind == TimelineRow::Kind::hbm ? state.data[row.group]->hbm : state.data[row.group]->l2;
    const std::string ceiling =
        curve.ceiling > 0 ? format_bandwidth(curve.ceiling * simulation.request.gpu.sm_clock_hz) : tr("none");
    const Rect after_name = {{label.min.x + 32 * theme.scale, label.min.y}, label.max};
    draw_text(list, theme.ui_small, after_name, theme.text_faint, ceiling, Align::right);
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
        draw_text(list, theme.ui_small, name, theme.text_dim, fmt::format("{} {}", i + 1, simulation.launches[i].name));
    }
  }
}

void draw_axis(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout) {
  const Theme& theme = *view.theme;
  const int most = std::max(2, static_cast<int>(layout.axis.width() / (100 * theme.scale)));
  const auto ticks = state.wall_time ? time_ticks(state.window, most, view.lane().simulation->request.gpu.clock())
                                     : cycle_ticks(state.window, most);
  const float width = std::max(1.0F, std::floor(theme.scale));
  const double playhead = state.window.x_of(view.cycle, layout.plot.min.x, layout.plot.width());
  const double badge = 0.5 * text_width(theme.mono_small, format_cycles(Cycles(view.cycle))) + 9 * theme.scale;
  for (const Tick& tick : ticks) {
    const auto x = std::floor(static_cast<float>(state.window.x_of(tick.cycle, layout.plot.min.x, layout.plot.width())));
    list->AddRectFilled({x, layout.plot.min.y + layout.launch_strip}, {x + width, layout.plot.max.y},
                        with_alpha(theme.panel_border, 0.6F));
    list->AddRectFilled({x, layout.plot.max.y}, {x + width, layout.plot.max.y + 4 * theme.scale}, theme.text_faint);
    const float text = text_width(theme.mono_small, tick.text);
    const float left = std::clamp(x - text * 0.5F, layout.axis.min.x, std::max(layout.axis.min.x, layout.axis.max.x - text));
    if (left + text > playhead - badge && left < playhead + badge) continue;  // the playhead's own number is there
    draw_text_at(list, theme.mono_small, {std::floor(left), layout.axis.max.y - theme.mono_small->FontSize}, theme.text_faint,
                 tick.text);
  }
  if (state.window.fits_all()) return;
  const float from = static_cast<float>(state.window.begin / state.window.whole),
              to = static_cast<float>(state.window.end / state.window.whole);
  const float y = layout.area.max.y - width;  // where in the whole run this is
  list->AddRectFilled({layout.axis.min.x, y}, {layout.axis.max.x, y + width}, theme.inset_border);
  list->AddRectFilled({layout.axis.min.x + from * layout.axis.width(), y - width},
                      {layout.axis.min.x + std::max(to, from + 0.004F) * layout.axis.width(), y + width}, theme.accent);
}

void draw_playhead(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout) {
  const Theme& theme = *view.theme;
  const double at = state.window.x_of(view.cycle, layout.plot.min.x, layout.plot.width());
  const float right = std::max(layout.plot.min.x, static_cast<float>(std::min(at, static_cast<double>(layout.plot.max.x))));
  const float top = layout.plot.min.y + layout.launch_strip;
  list->AddRectFilled({right, top}, layout.plot.max, with_alpha(theme.panel, 0.38F));  // what is yet to come is quieter
  if (at < layout.plot.min.x - 0.5 || at > layout.plot.max.x + 0.5) return;
  const auto x = std::floor(static_cast<float>(at));
  const float half = std::max(0.75F, 0.75F * theme.scale);
  list->AddRectFilled({x - half, layout.plot.min.y}, {x + half, layout.plot.max.y + 2 * theme.scale}, theme.text);
  const std::string cycle = format_cycles(Cycles(view.cycle));
  const float text = text_width(theme.mono_small, cycle), pad = 5 * theme.scale;
  const float left =
      std::clamp(x - text * 0.5F - pad, layout.axis.min.x, std::max(layout.axis.min.x, layout.axis.max.x - text - 2 * pad));
  const Rect badge = {{std::floor(left), layout.plot.max.y + theme.scale}, {std::floor(left + text + 2 * pad), layout.axis.max.y}};
  list->AddRectFilled(badge.min, badge.max, theme.text, 3 * theme.scale);
  draw_text(list, theme.mono_small, badge, theme.panel, cycle, Align::center);
}

/// The operation of the current step, outlined in its lane.
void draw_current(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout) {
  const Theme& theme = *view.theme;
  for (const TimelineRow& row : layout.rows) {
    if (row.kind != TimelineRow::Kind::unit) continue;
    const auto& interval = view.lanes[row.group].rest.interval;
    if (!interval || interval->unit != timeline_units[row.unit]) continue;
    const UnitLane& lane = state.data[row.group]->lanes[row.unit];
    const auto intervals = view.lanes[row.group].simulation->trace->intervals(view.lanes[row.group].focus_sm);
    const auto [first, last] = lane.visible(interval->start, interval->start);
    for (std::size_t i = first; i < last; ++i) {
      const Interval& candidate = intervals[static_cast<std::size_t>(lane.bars[i].interval)];
      if (candidate.op != interval->op || candidate.run != interval->run) continue;
      const Rect track = timeline_track(row, lane, lane_is_dense(layout, lane, state.window) ? 0 : lane.bars[i].track, theme.scale);
      const double from = state.window.x_of(interval->start, layout.plot.min.x, layout.plot.width());
      const double to = state.window.x_of(interval->end, layout.plot.min.x, layout.plot.width());
      if (to < layout.plot.min.x || from > layout.plot.max.x) continue;
      const float x0 = std::max(static_cast<float>(from), layout.plot.min.x) - theme.scale;
      const float x1 = std::min(std::max(static_cast<float>(to), static_cast<float>(from) + 2), layout.plot.max.x) + theme.scale;
      list->AddRect({x0, track.min.y - theme.scale}, {x1, track.max.y + theme.scale}, theme.highlight, 3 * theme.scale, 0,
                    1.5F * theme.scale);
    }
  }
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
  for (const TimelineRow& row : layout.rows) {
    const bool unit = row.kind == TimelineRow::Kind::unit;
    if (!row.rect.contains(mouse) || (!unit && !is_curve(row))) continue;
    const Simulation& simulation = *view.lanes[row.group].simulation;
    const TimelineData& data = *state.data[row.group];
    HoverText text = unit ? lane_hover(simulation, data, layout, row, state.window, mouse)
                          : curve_hover(simulation, data, layout, row, state.window, mouse);
    if (row.kind == TimelineRow::Kind::hbm)
      if (const std::string measured = measured_bandwidth_text(view, state.window, layout, mouse.x); !measured.empty()) add_line(text.body, measured);
    if (!text.title.empty()) show_tooltip(*view.theme, text.title, text.body);
  }
}

/// What the lanes are: two words before the axis, of which one is on.
void lanes_switch(const View& view, const TimelineLayout& layout, Commands& commands) {
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  float x = layout.area.min.x;
  for (const bool by_sm : {false, true}) {
    const char* const word = by_sm ? "SM" : tr("units");
    const float width = text_width(theme.ui_small, word) + switch_padding * 2 * theme.scale;
    const Rect label = {{x, layout.axis.min.y + theme.scale}, {x + width, layout.axis.max.y}};
    ImGui::PushID(by_sm ? 1 : 0);
    if (hit_area("lanes", label)) commands.push(SetLanes{by_sm});
    const bool hovered = ImGui::IsItemHovered(), on = view.by_sm == by_sm;
    if (on) list->AddRectFilled(label.min, label.max, theme.accent_soft, 4 * theme.scale);
    draw_text(list, theme.ui_small, label, on ? theme.accent : hovered ? theme.text : theme.text_faint, word, Align::center);
    if (hovered)
      show_tooltip(theme, by_sm ? tr("A lane for each SM") : tr("A lane for each unit of the SM in focus"),
                   by_sm ? tr("Blocks on every SM: waves, the tail, who waits. Wheel over the names, or Ctrl and wheel: fewer, "
                              "higher rows. L switches.")
                         : tr("Copies, products, exponentials and stores of one SM. L switches."));
    ImGui::PopID();
    x += width;
  }
}

/// The word before the axis: a click changes cycles into time and back.
void unit_switch(TimelineState& state, const View& view, const TimelineLayout& layout) {
  const Theme& theme = *view.theme;
  const float width = std::max(text_width(theme.ui_small, tr("cycles")), text_width(theme.ui_small, tr("time")));
  const float right = layout.axis.min.x - 8 * theme.scale;
  const Rect label = {{right - width - 1, layout.axis.min.y}, {right, layout.axis.max.y}};
  if (hit_area("axis unit", label)) state.wall_time = !state.wall_time;
  const bool hovered = ImGui::IsItemHovered();
  draw_text(ImGui::GetWindowDrawList(), theme.ui_small, label, hovered ? theme.text : theme.text_faint,
            state.wall_time ? tr("time") : tr("cycles"), Align::right);
  if (hovered)
    show_tooltip(theme, state.wall_time ? tr("Show cycles") : tr("Show time"),
                 tr("Drag to scrub, wheel to zoom, right drag or Shift and wheel to move, double-click to see everything."));
}

}  // namespace

void draw_timeline_panel(const View& view, Commands& commands) {
  const ImVec2 size = ImGui::GetContentRegionAvail(), at = ImGui::GetCursorScreenPos();
  if (view.lanes.empty() || !view.lane().simulation || size.x < 40 || size.y < 30) return;
  const Theme& theme = *view.theme;
  auto& state = panel_state<TimelineState>("timeline");
  if (!refresh_data(state, view)) return text_item(theme.ui_small, theme.text_faint, tr("laying out the timeline"));
  follow_playhead(state, view);

  bool several_launches = false;
  if (view.lanes.size() == 1) several_launches = view.lane().simulation->trace->launches().size() > 1;
  const float gutter = gutter_width(theme, size.x);
  int tracks = 1;
  for (const auto& data : state.data) tracks = std::max(tracks, data->lanes.front().tracks);
  const float measured = view.by_sm ? 0 : measured_lanes_height(view, size.y);
  const Rect area = {at, {at.x + size.x, at.y + size.y - measured}};
  const TimelineShape shape = {view.lanes.size(), tracks, several_launches, gutter, theme.scale};
  const TimelineLayout layout =
      view.by_sm ? lay_out_sm_timeline(area, shape, state.sms.measured != nullptr) : lay_out_timeline(area, shape);
  if (view.by_sm) handle_gutter(state, layout);
  ImGui::SetCursorScreenPos(layout.plot.min);
  ImGui::InvisibleButton("plot", {layout.plot.width(), layout.area.max.y - layout.plot.min.y},
                         ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonRight);
  const bool hovered = ImGui::IsItemHovered() && !ImGui::IsItemActive();
  handle_mouse(state, layout, commands);
  handle_click(state, view, layout, commands);
  refresh_picture(state, view, layout);

  ImDrawList* list = ImGui::GetWindowDrawList();
  list->PushClipRect(layout.area.min, layout.area.max, true);
  draw_picture(list, view, state);
  draw_measured_bandwidth(list, view, state.window, layout);
  draw_axis(list, view, state, layout);
  draw_gutter(list, view, state, layout);
  if (!view.by_sm) draw_launches(list, view, state, layout);
  draw_playhead(list, view, state, layout);
  draw_sm_labels(list, state.sms, view, layout, state.window);
  draw_current(list, view, state, layout);
  list->PopClipRect();
  if (measured > 0)
    draw_measured_lanes(list, view, state.window, {{at.x, at.y + size.y - measured + 4 * theme.scale}, {layout.plot.min.x - 8 * theme.scale, at.y + size.y}},
                        {{layout.plot.min.x, at.y + size.y - measured + 4 * theme.scale}, {layout.plot.max.x, at.y + size.y}});
  unit_switch(state, view, layout);
  lanes_switch(view, layout, commands);
  if (hovered) show_hover(view, state, layout);
  if (hovered)
    if (const HoverText text = sm_hover(state.sms, view, layout, state.window, ImGui::GetIO().MousePos); !text.title.empty())
      show_tooltip(theme, text.title, text.body);
  if (view.by_sm) {
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const auto under = hovered ? find_sm_block(state.sms, view, layout, state.window, mouse) : std::nullopt;
    ask_for_works(state.sms, view, layout, under, commands);
  }
  show_causes(state, view, commands);
  light_tensor(view, commands, std::nullopt);
}

}  // namespace tilescope
