// The session: racing: two lanes on one clock.
#include <algorithm>
#include <utility>

#include <doctest/doctest.h>

#include "app/model/run_data/sm_lanes.h"
#include "tests/app/model/session/opened_session.h"

using namespace tilescope;

TEST_CASE("session: a race shows standard and the chosen algorithm on one clock; off, only the chosen one") {
  Opened opened;
  const SessionView race = opened.after(SetRace{true});
  REQUIRE(race.lanes.size() == 2);
  CHECK(race.playback.race);
  CHECK(race.lanes[0].simulation->request.algorithm == "standard");
  CHECK(race.lane().simulation->request.algorithm == "flash2");
  for (double share : {0.1, 0.5, 0.9}) {
    const SessionView there = opened.after(SeekCycle{share * race.lanes[0].simulation->trace->end_cycle()});
    CHECK(there.lanes[0].state.cycle == doctest::Approx(there.playback.cycle));
    // The faster lane stays at its end once it is there.
    const double own_end = there.lanes[1].simulation->trace->end_cycle();
    CHECK(there.lanes[1].state.cycle == doctest::Approx(std::min(there.playback.cycle, own_end)));
  }
  const SessionView off = opened.after(SetRace{false});
  CHECK(off.lanes.size() == 1);
  CHECK_FALSE(off.playback.race);
}

TEST_CASE("session: standard races flash2") {
  Opened opened;
  opened.after(SetAlgorithm{"standard"});
  const SessionView race = opened.after(SetRace{true});
  REQUIRE(race.lanes.size() == 2);
  CHECK(race.lanes[0].simulation->request.algorithm == "standard");
  CHECK(race.lanes[1].simulation->request.algorithm == "flash2");
}

TEST_CASE("session: a race against another program of the kind, which stays until it is off and is in the link") {
  Opened opened;
  opened.after(SetAlgorithm{"flash2_backward"});
  CHECK(opened.after(SetRace{true}).lanes[0].simulation->request.algorithm == "standard_backward");
  const SessionView race = opened.after(SetRace{true, "flash2_backward_two_pass"});
  REQUIRE(race.lanes.size() == 2);
  CHECK(race.lanes[0].simulation->request.algorithm == "flash2_backward_two_pass");
  CHECK(race.lane().simulation->request.algorithm == "flash2_backward");
  opened.after(SetRace{false});
  CHECK(opened.after(SetRace{true}).lanes[0].simulation->request.algorithm == "flash2_backward_two_pass");
  WindowState state;
  state.algorithm = "flash2_backward";
  state.race = {true, "flash2_backward_two_pass"};
  CHECK(to_link(state).find("race=flash2_backward_two_pass") != std::string::npos);
  CHECK(from_link(to_link(state))->race == state.race);
  CHECK_FALSE(from_link("race=flash9"));
  CHECK(opened.after(SetAlgorithm{"flash1"}).lanes[0].simulation->request.algorithm == "standard");  // of another kind
}

TEST_CASE("session: a race steps through both runs, forward and back, and plays to the end of the slower one") {
  Session::Start start = opening_start();
  start.race = true;
  Opened opened(std::move(start));
  opened.after(SeekStep{0});
  double last = opened.view().playback.cycle;
  for (int i = 0; i < 12; ++i) {
    const double now = opened.after(Step{1, Grain::operation}).playback.cycle;
    CHECK(now > last);
    last = now;
  }
  CHECK(opened.after(Step{-1, Grain::operation}).playback.cycle < last);
  opened.session.apply(SetSpeed{8});
  opened.session.apply(SetPlaying{true});
  for (int i = 0; i < 3000 && opened.view().playback.playing; ++i) opened.session.tick(1.0 / 60);
  double end = 0;
  for (const Lane& lane : opened.view().lanes) end = std::max(end, lane.simulation->trace->end_cycle());
  CHECK(opened.view().playback.cycle == doctest::Approx(end));
}

TEST_CASE("session: in a race, SMs of both runs are simulated in the background") {
  Session::Start start = h200_start({.heads = 32, .kv_heads = 32, .seq_q = 1024, .seq_kv = 1024, .head_dim = 64});
  start.race = start.by_sm = true;
  Opened opened(std::move(start));
  REQUIRE(opened.view().lanes.size() == 2);
  opened.after(LookIntoSms{70, 71, 0});
  REQUIRE(opened.view().lanes[0].sm_works != nullptr);
  CHECK(opened.view().lanes[0].sm_works->of(70) != nullptr);
  CHECK(opened.view().lanes[1].sm_works == nullptr);
  opened.after(LookIntoSms{71, 72, 1});
  REQUIRE(opened.view().lanes[1].sm_works != nullptr);
  const SmWork* const work = opened.view().lanes[1].sm_works->of(71);
  REQUIRE(work != nullptr);
  CHECK(work->simulation->request.algorithm == opened.view().lanes[1].simulation->request.algorithm);
}

TEST_CASE("session: a race that cannot be simulated stays off and says why") {
  Opened opened;
  const AttentionProblem long_one = with_rows(opened.view(), 32768);
  opened.after(SetProblem{long_one, "seq"});
  opened.after(SetTile{TileShape{128, 128}, "block_q"});
  const SessionView view = opened.after(SetRace{true});  // S alone is 2 GiB: more than the toy has
  REQUIRE(view.workspace->message.has_value());
  CHECK(view.workspace->message->control == "race");
  CHECK_FALSE(view.playback.race);
  CHECK(view.lanes.size() == 1);
  opened.after(SetProblem{with_rows(opened.view(), 64), "seq"});
  CHECK(opened.view().lanes.size() == 1);
}

TEST_CASE("session: a race compares O of both runs, again after other inputs, and not without a race") {
  Opened opened;
  CHECK(opened.view().studies->exactness == nullptr);
  opened.after(SetRace{true});
  opened.session.finish();
  const auto exact = opened.view().studies->exactness;
  REQUIRE(exact != nullptr);
  CHECK(exact->same_answer());
  CHECK_FALSE(exact->first == exact->reference);
  InputSource others = opened.view().requested->inputs;
  others.seed += 1;
  opened.after(SetInputs{others});
  opened.session.finish();
  REQUIRE(opened.view().studies->exactness != nullptr);
  CHECK_FALSE(opened.view().studies->exactness->first == exact->first);
  opened.after(SetRace{false});
  opened.session.finish();
  CHECK(opened.view().studies->exactness == nullptr);
}
