// The session: the SM in focus, and the SMs that are looked into.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <span>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include "app/model/run_data/sm_lanes.h"
#include "tests/app/model/session/opened_session.h"

using namespace tilescope;

TEST_CASE("session: removing the focused SM resets the focus") {
  Opened opened;
  CHECK(opened.after(SetFocusSm{3}).lane().focus_sm == 3);
  const SessionView view = opened.after(SetSpecValue{"sm.count=2"});
  CHECK_FALSE(view.workspace->message.has_value());
  CHECK(view.lane().focus_sm == 0);
}

TEST_CASE("session: a control that leaves the SM in focus without a block moves the focus, and a link keeps it") {
  Opened opened;  // on toy FlashAttention-1 has one block
  opened.after(SetFocusSm{1});
  const SessionView view = opened.after(SetAlgorithm{"flash1"});
  CHECK(view.lane().focus_sm == 0);
  CHECK(view.lane().step_count > 0);
  const SessionView linked = opened.after(OpenLink{"algorithm=flash1&sm=1"});
  CHECK(linked.lane().focus_sm == 1);
  CHECK(linked.lane().step_count == 0);
  CHECK(opened.after(SetFocusSm{2}).lane().focus_sm == 2);
}

TEST_CASE("session: on a large GPU, focusing another SM simulates it and keeps the clock") {
  Opened opened(h200_start({.heads = 8, .kv_heads = 8, .seq_q = 2048, .seq_kv = 2048, .head_dim = 64}));
  const double cycle = opened.view().playback.cycle;
  const SessionView view = opened.after(SetFocusSm{77});
  CHECK(view.playback.cycle == cycle);
  CHECK(view.lane().focus_sm == 77);
  CHECK(view.lane().simulation->request.focus_sm == 77);
}

TEST_CASE("session: focusing an SM that was simulated before needs no simulation") {
  for (const bool race : {false, true}) {
    CAPTURE(race);
    Session::Start start = h200_start({.heads = 32, .kv_heads = 32, .seq_q = 1024, .seq_kv = 1024, .head_dim = 64});
    start.race = race;
    Opened opened(std::move(start));
    const auto first = opened.view().lane().simulation;
    const auto second = opened.after(SetFocusSm{77}).lane().simulation;
    CHECK(second != first);
    CHECK(opened.after(SetFocusSm{0}).lane().simulation == first);  // the very same one
    CHECK(opened.view().lane().focus_sm == 0);
    CHECK(opened.after(SetFocusSm{77}).lane().simulation == second);

    opened.session.apply(SetLanes{true});
    opened.after(LookIntoSms{30, 31, 0});
    if (race) opened.after(LookIntoSms{30, 31, 1});
    const SmWork* const work = opened.view().lane().sm_works->of(30);
    REQUIRE(work != nullptr);
    const std::span<const Interval> looked_at = work->simulation->trace->intervals(30);
    const Lane lane = opened.after(SetFocusSm{30}).lane();
    CHECK(lane.focus_sm == 30);
    CHECK(lane.simulation->request.focus_sm == 30);
    CHECK(lane.simulation->trace->intervals(30).data() == looked_at.data());  // shared, not made again
    CHECK(lane.timeline != nullptr);
    CHECK(lane.step > 0);
  }
}

TEST_CASE("session: two changes of focus that finish between two frames show the later one") {
  for (const bool race : {false, true}) {
    CAPTURE(race);
    Session::Start start = h200_start({.heads = 8, .kv_heads = 8, .seq_q = 2048, .seq_kv = 2048, .head_dim = 64});
    start.race = race;
    start.threads = true;
    std::atomic<int> results = 0;
    start.wake = [&results] { ++results; };
    Opened opened(std::move(start));
    opened.after(SetLanes{true});
    const double cycle = opened.view().playback.cycle;
    for (const int sm : {5, 9}) {
      const int before = results;
      opened.session.apply(SetFocusSm{sm});
      while (results == before) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    opened.session.tick(0);
    opened.session.finish();
    CHECK(opened.view().lane().focus_sm == 9);
    CHECK(opened.view().lane().simulation->request.focus_sm == 9);
    CHECK(opened.view().lane().sm_lanes != nullptr);
    CHECK(opened.view().playback.cycle == cycle);
  }
}

TEST_CASE("session: a block is gone to once its own SM is in focus, although another focus arrives first") {
  Session::Start start = h200_start({.heads = 8, .kv_heads = 8, .seq_q = 2048, .seq_kv = 2048, .head_dim = 64});
  start.threads = true;
  std::atomic<int> results = 0;
  start.wake = [&results] { ++results; };
  Opened opened(std::move(start));
  const auto runs = opened.view().lane().simulation->trace->runs();
  const auto run = std::find_if(runs.begin(), runs.end(), [](const BlockRun& r) { return r.sm == 9; });
  REQUIRE(run != runs.end());
  const int before = results;
  opened.session.apply(SetFocusSm{5});
  while (results == before) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  opened.session.apply(FocusBlock{run->sm, run->launch, run->block, run->start});
  opened.session.tick(0);
  opened.session.finish();
  const SessionView view = opened.view();
  CHECK(view.lane().focus_sm == 9);
  REQUIRE(view.lane().operations != nullptr);
  CHECK(view.lane().operations->block == run->block);
}

TEST_CASE("session: a new problem does not reuse SMs of the last one") {
  Opened opened(h200_start({.heads = 8, .kv_heads = 8, .seq_q = 2048, .seq_kv = 2048, .head_dim = 64}));
  opened.after(SetFocusSm{77});
  opened.session.apply(SetProblem{with_rows(opened.view(), 1024), "seq"});
  const SessionView view = opened.after(SetFocusSm{0});
  CHECK(view.lane().simulation->request.problem.seq_q == 1024);
  CHECK(view.lane().focus_sm == 0);
}
