// Turns the mouse over the plot and over the names of SMs into another window, other rows or a command.
#include "app/views/timeline/timeline_mouse.h"

#include <algorithm>
#include <cmath>

namespace tilescope {
namespace {

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

void names_item(const TimelineLayout& layout) {
  ImGui::SetCursorScreenPos(layout.area.min);
  ImGui::InvisibleButton("names", {layout.plot.min.x - layout.area.min.x, layout.plot.height()});
}

}  // namespace

void handle_names(TimelineState& state, const TimelineLayout& layout) {
  if (layout.hidden > 0) {
    names_item(layout);
    const ImGuiIO& io = ImGui::GetIO();
    const float by =
        (ImGui::IsItemHovered() ? io.MouseWheel * layout.lane_height : 0) + (ImGui::IsItemActive() ? io.MouseDelta.y : 0);
    state.scroll -= by;
    state.scrolled_by_hand = state.scrolled_by_hand || by != 0;
  }
  state.scroll = std::clamp(state.scroll, 0.0F, layout.hidden);
}

void handle_gutter(TimelineState& state, const TimelineLayout& layout) {
  names_item(layout);
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

void handle_click(TimelineState& state, const View& view, const TimelineLayout& layout, Commands& commands) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (ImGui::IsItemActivated()) state.pressed = mouse;
  if (!ImGui::IsItemDeactivated() || !ImGui::IsMouseReleased(ImGuiMouseButton_Left)) return;
  const float slack = 3 * layout.scale;
  if (std::abs(mouse.x - state.pressed.x) > slack || std::abs(mouse.y - state.pressed.y) > slack) return;
  if (view.workspace->by_sm) {
    const auto block = find_sm_block(state.sms, view, layout, state.window, mouse);
    if (block && !block->measured && block->group + 1 == view.lanes.size())
      commands.push(FocusBlock{block->run.sm, block->run.launch, block->run.block, block->run.start});
    else if (block)
      commands.push(SetFocusSm{block->run.sm});
    return;
  }
  if (!layout.plot.contains(mouse)) return;
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

}  // namespace tilescope
