// Clicks in the timeline, by the events a person would cause: an operation is gone to, a wait is explained.
#include <algorithm>

#include <doctest/doctest.h>
#include <imgui_internal.h>

#include "app/panels/timeline_causes.h"
#include "app/panels/timeline_picture.h"
#include "tests/app/window_script.h"

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

TEST_CASE("timeline: a click on an operation goes to its step, on a wait it says why, and a line of that goes there") {
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
    if (intervals[i].unit == Unit::tensor && intervals[i].cause == WaitCause::data &&
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
  CHECK(script->view().lane().step == step_of_interval(*simulation->trace, sm, longest));
  CHECK(box->WasActive);
  const Rect stage = script->frame().layout().stage;
  script->click(stage.center().x, stage.max.y - 4);
  script->settle();
  CHECK_FALSE(box->WasActive);
}

}  // namespace tilescope
