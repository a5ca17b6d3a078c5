// Clicks in the timeline, by the events a person would cause: an operation is gone to, a wait is explained.
#include <algorithm>

#include <doctest/doctest.h>
#include <imgui_internal.h>

#include "app/views/timeline/sm_timeline.h"
#include "app/views/timeline/timeline_causes.h"
#include "app/views/timeline/timeline_picture.h"
#include "tests/app/views/window_script.h"

namespace tilescope {

namespace {

/// The timeline's rows as the panel lays them out.
TimelineLayout timeline_layout(WindowScript& script) {
  const Theme& theme = script.frame().theme();
  const Rect body = script.frame().layout().timeline.inset(theme.padding);
  const float gutter = std::min(104 * theme.scale, body.width() * 0.25F);
  const TimelineData& data = *script.view().lane().timeline;
  return lay_out_timeline(body, {1, data.lanes.front().tracks, false, gutter, theme.scale});
}

ImVec2 place_of(const TimelineLayout& layout, const TimelineData& data, Unit unit, double cycle) {
  const TimeWindow window = fit(data.end);
  for (const TimelineRow& row : layout.rows)
    if (row.kind == TimelineRow::Kind::unit && timeline_units[row.unit] == unit)
      return {static_cast<float>(window.x_of(cycle, layout.plot.min.x, layout.plot.width())), row.rect.center().y};
  return {};
}

}  // namespace

TEST_CASE("timeline: clicking an operation goes to its step; clicking a stall lists its causes") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  script->settle();
  const View before = script->view();
  REQUIRE(before.lane().timeline != nullptr);
  const TimelineData data = *before.lane().timeline;
  const int sm = before.lane().focus_sm;
  const auto simulation = before.lane().simulation;
  const auto intervals = simulation->trace->intervals(sm);
  const TimelineLayout layout = timeline_layout(*script);

  const auto operation =
      std::find_if(intervals.begin(), intervals.end(), [](const Interval& each) { return each.unit == Unit::store; });
  REQUIRE(operation != intervals.end());
  const ImVec2 on_bar = place_of(layout, data, Unit::store, (operation->start + operation->end) / 2);
  script->click(on_bar.x, on_bar.y);
  script->settle();
  const auto last_step = script->view().lane().step;
  const auto shown = script->view().lane().rest.interval;
  REQUIRE(shown);
  CHECK(shown->unit == Unit::store);

  std::size_t longest = 0;
  double waited = 0;
  for (std::size_t i = 0; i < intervals.size(); ++i)
    if (intervals[i].unit == Unit::tensor && (intervals[i].cause == WaitCause::data || intervals[i].cause == WaitCause::hbm) &&
        intervals[i].start - intervals[i].ready > waited) {
      longest = i;
      waited = intervals[i].start - intervals[i].ready;
    }
  REQUIRE(waited > 0);
  const ImVec2 on_wait = place_of(layout, data, Unit::tensor, intervals[longest].ready + waited * 0.3);
  script->click(on_wait.x, on_wait.y);
  script->settle();
  const ImGuiWindow* box = ImGui::FindWindowByName("causes");
  REQUIRE(box != nullptr);
  CHECK(box->WasActive);
  const auto at_wait = script->view().lane().step;
  CHECK(at_wait != last_step);  // the clock went to where the click was

  const ImVec2 first_line = {box->Pos.x + box->Size.x * 0.3F,
                             box->Pos.y + box->WindowPadding.y + script->frame().theme().ui_bold->FontSize * 2};
  script->click(first_line.x, first_line.y);
  script->settle();
  CHECK(script->view().lane().step == simulation->trace->step_of_interval(sm, longest));
  CHECK(box->WasActive);
  const Rect stage = script->frame().layout().stage;
  script->click(stage.center().x, stage.min.y + 4);  // above the box, whose list may reach into the stage
  script->settle();
  CHECK_FALSE(box->WasActive);
}

namespace {

/// The rows of the timeline whose lanes are SMs.
TimelineLayout sm_layout(WindowScript& script) {
  const Theme& theme = script.frame().theme();
  const Rect body = script.frame().layout().timeline.inset(theme.padding);
  return lay_out_sm_timeline(body, {1, 1, false, std::min(104 * theme.scale, body.width() * 0.25F), theme.scale}, false);
}

ImVec2 place_of_block(const TimelineLayout& layout, const BlockRun& run, double end, int sms) {
  const TimeWindow window = fit(end);
  for (const TimelineRow& row : layout.rows)
    if (row.kind == TimelineRow::Kind::sms) {
      const Rect rect = sm_rect(row, all_rows(sms), run.sm);
      return {static_cast<float>(window.x_of((run.start + run.end) / 2, layout.plot.min.x, layout.plot.width())),
              std::min(rect.min.y + rect.height() * 0.3F, row.rect.max.y - 1)};
    }
  return {};
}

/// The word before the axis that makes SMs the lanes.
ImVec2 sm_word(WindowScript& script) {
  const Theme& theme = script.frame().theme();
  const Rect body = script.frame().layout().timeline.inset(theme.padding);
  return {body.min.x + text_width(theme.ui_small, "Units") + 10 * theme.scale + 10 * theme.scale, body.max.y - 8 * theme.scale};
}

}  // namespace

TEST_CASE("timeline: \"SM\" gives every SM a row; clicking a block focuses its SM and goes there") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  script->settle();
  CHECK(script->view().lane().sm_lanes == nullptr);
  const ImVec2 word = sm_word(*script);
  script->click(word.x, word.y);
  REQUIRE(script->view().workspace->by_sm);
  REQUIRE(script->view().lane().sm_lanes != nullptr);
  REQUIRE(script->view().lane().sm_works != nullptr);  // a toy has all its SMs in focus
  for (int sm = 0; sm < 4; ++sm) CHECK(script->view().lane().sm_works->of(sm) != nullptr);

  const SmLanes lanes = *script->view().lane().sm_lanes;
  const BlockRun run = lanes.of(2, 0).front();
  const ImVec2 at = place_of_block(sm_layout(*script), run, lanes.end, 4);
  script->click(at.x, at.y);
  const Lane lane = script->view().lane();
  CHECK(lane.focus_sm == 2);
  REQUIRE(lane.rest.run >= 0);
  CHECK(lane.simulation->trace->runs()[static_cast<std::size_t>(lane.rest.run)].block == run.block);
  const auto intervals = lane.simulation->trace->intervals(2);
  const auto first = std::find_if(intervals.begin(), intervals.end(), [&](const Interval& i) { return i.run == lane.rest.run; });
  REQUIRE(lane.rest.interval);
  CHECK(lane.rest.interval->start == first->start);

  script->press(ImGuiKey_L);
  CHECK_FALSE(script->view().workspace->by_sm);
}

TEST_CASE("timeline: on a large GPU, hovering an SM simulates it; clicking its block focuses it") {
  Session::Start start = h200_start({.heads = 16, .kv_heads = 16, .seq_q = 2048, .seq_kv = 2048, .head_dim = 64});
  start.by_sm = true;
  const auto script = WindowScript::open(std::move(start), 1600, 900);
  if (script == nullptr) return;
  script->settle();
  REQUIRE(script->view().lane().sm_lanes != nullptr);
  CHECK(script->view().lane().sm_works == nullptr);  // rows are too thin to show what is inside: nobody asked
  const SmLanes lanes = *script->view().lane().sm_lanes;
  const BlockRun run = lanes.of(77, 0).front();
  const ImVec2 at = place_of_block(sm_layout(*script), run, lanes.end, 132);
  script->move(at.x, at.y);
  for (int i = 0; i < 20; ++i) script->settle();
  REQUIRE(script->view().lane().sm_works != nullptr);

  const double cycles = script->view().lane().simulation->cycles.value;
  script->click(at.x, at.y);
  const Lane lane = script->view().lane();
  const BlockRun& shown = lane.simulation->trace->runs()[static_cast<std::size_t>(lane.rest.run)];
  CHECK(shown.sm == lane.focus_sm);
  CHECK(std::abs(lane.focus_sm - 77) <= 1);  // a line of the picture can be two SMs
  CHECK(lane.simulation->cycles.value == cycles);
  CHECK(lane.sm_works != nullptr);  // what was found out still holds

  // Ctrl and the wheel make rows higher, so that what was done inside is seen.
  ImGuiIO& io = script->frame().io();
  io.AddKeyEvent(ImGuiMod_Ctrl, true);
  for (int i = 0; i < 25; ++i) {
    script->frame().io().AddMouseWheelEvent(0, 1);
    script->frame().build(1600, 900, 1.0 / 60);
  }
  script->frame().io().AddKeyEvent(ImGuiMod_Ctrl, false);
  script->settle();
  CHECK(script->view().lane().sm_works->of(lane.focus_sm) != nullptr);
}

}  // namespace tilescope
