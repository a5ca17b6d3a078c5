// Operations by name, and the next stall.
#include <doctest/doctest.h>

#include <algorithm>

#include "app/model/run_data/timeline_data.h"
#include "app/model/run_data/timeline_search.h"
#include "tests/app/model/session/opened_session.h"

using namespace tilescope;

TEST_CASE("timeline search: a tile is found by its name, with plain digits for the subscript") {
  Opened opened;
  const Lane& lane = opened.view().lane();
  REQUIRE(lane.timeline);
  const StepIndex& steps = *lane.timeline->steps;
  const auto found = steps_named(*lane.simulation, steps, "k2");
  REQUIRE_FALSE(found.empty());
  for (const std::int64_t step : found) {
    const SessionView view = opened.after(SeekStep{step});
    REQUIRE(view.lane().operation != nullptr);
    const auto listing = view.lane().simulation->info->listing;
    const bool loads_k =
        listing[static_cast<std::size_t>(view.lane().operation->line) - 1].text.find('K') != std::string_view::npos;
    CHECK(loads_k);
  }
  CHECK(std::is_sorted(found.begin(), found.end()));
  CHECK(steps_named(*lane.simulation, steps, "").empty());
  CHECK(steps_named(*lane.simulation, steps, "no such operation").empty());
}

TEST_CASE("timeline search: a word of the listing finds every step of its lines") {
  const Opened opened;
  const Lane& lane = opened.view().lane();
  const StepIndex& steps = *lane.timeline->steps;
  std::size_t on_lines = 0;
  for (std::size_t line = 0; line < lane.simulation->info->listing.size(); ++line)
    if (lane.simulation->info->listing[line].text.find("load") != std::string_view::npos)
      on_lines += steps.on_line[line + 1].size();
  REQUIRE(on_lines > 0);
  CHECK(steps_named(*lane.simulation, steps, "LOAD").size() == on_lines);
}

TEST_CASE("timeline search: the next stall is the nearest, and going back undoes going on") {
  const Opened opened;
  const Lane& lane = opened.view().lane();
  const StepIndex& steps = *lane.timeline->steps;
  std::vector<std::int64_t> forward;
  for (auto step = next_stall(*lane.simulation, steps, 0, 1); step; step = next_stall(*lane.simulation, steps, *step, 1))
    forward.push_back(*step);
  REQUIRE(forward.size() > 1);
  CHECK(std::is_sorted(forward.begin(), forward.end()));
  std::vector<std::int64_t> back;
  for (auto step = next_stall(*lane.simulation, steps, lane.step_count + 1, -1); step;
       step = next_stall(*lane.simulation, steps, *step, -1))
    back.push_back(*step);
  std::reverse(back.begin(), back.end());
  CHECK(forward == back);
}
