// The session: stepping, seeking, scrubbing and playing.
#include <random>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "tests/app/model/session/opened_session.h"

using namespace tilescope;

TEST_CASE("session: a step forward and a step back lead to the same state") {
  Opened opened;
  const TraceState before = opened.view().lane().state;
  const SessionView there = opened.after(Step{1, Grain::operation});
  CHECK(there.lane().step == before.step + 1);
  const SessionView back = opened.after(Step{-1, Grain::operation});
  CHECK(back.lane().state == before);
}

TEST_CASE("session: a step animates the clock and settles at the step") {
  Opened opened;
  const double from = opened.view().playback.cycle;
  opened.session.apply(Step{1, Grain::tile});
  opened.session.tick(0.05);
  const SessionView moving = opened.view();
  CHECK(opened.session.animating());
  CHECK(moving.playback.motion > 0);
  CHECK(moving.playback.motion < 1);
  CHECK(moving.playback.cycle > from);
  CHECK(moving.playback.cycle < moving.lane().rest.cycle);
  opened.session.tick(5);
  const SessionView rest = opened.view();
  CHECK(rest.playback.motion == 1);
  CHECK(rest.lane().state == rest.lane().rest);
  CHECK(rest.playback.cycle == rest.lane().rest.cycle);
}

TEST_CASE("session: a step gives the same bits however it is reached") {
  Opened opened;
  const std::int64_t last = opened.view().lane().step_count;
  const auto seed = static_cast<std::uint32_t>(std::random_device{}());
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 200; ++i) {
    const auto step = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(last + 1));
    const SessionView view = opened.after(SeekStep{step});
    const Trace& trace = *view.lane().simulation->trace;
    CHECK(view.lane().step == step);
    CHECK(view.lane().state == trace.state_at(view.lane().focus_sm, step));
  }
}

TEST_CASE("session: seeking beyond either end stops at the end") {
  Opened opened;
  CHECK(opened.after(SeekStep{-50}).lane().step == 0);
  CHECK(opened.view().lane().operation == nullptr);
  const SessionView end = opened.after(SeekStep{1 << 30});
  CHECK(end.lane().step == end.lane().step_count);
  CHECK(opened.after(Step{1, Grain::operation}).lane().step == end.lane().step_count);
}

TEST_CASE("session: playing reaches the end and stops there; playing again starts over") {
  Opened opened;
  opened.session.apply(SeekStep{0});
  opened.session.apply(SetSpeed{8});
  opened.session.apply(SetPlaying{true});
  int frames = 0;
  for (; frames < 20000 && opened.view().playback.playing; ++frames) opened.session.tick(1.0 / 60);
  CHECK(opened.view().lane().step == opened.view().lane().step_count);
  CHECK_FALSE(opened.session.animating());
  opened.session.apply(SetPlaying{true});
  opened.session.tick(1.0 / 60);
  CHECK(opened.view().playback.playing);
  CHECK(opened.view().lane().step <= 1);
}

TEST_CASE("session: speed 2 plays twice as many steps per second as speed 1") {
  const auto steps_in_ten_seconds = [](double speed) {
    Opened opened;
    opened.session.apply(SeekStep{0});
    opened.session.apply(SetSpeed{speed});
    opened.session.apply(SetPlaying{true});
    for (int i = 0; i < 600; ++i) opened.session.tick(1.0 / 60);
    return opened.view().lane().step;
  };
  const std::int64_t one = steps_in_ten_seconds(1);
  CHECK(one >= 19);
  CHECK(one <= 21);
  CHECK(std::llabs(steps_in_ten_seconds(2) - 2 * one) <= 2);
  CHECK(steps_in_ten_seconds(0.05) <= 2);
  CHECK(steps_in_ten_seconds(0.0001) <= 2);  // clamped to the crawl
}

TEST_CASE("session: scrubbing shows the moment between two steps") {
  Opened opened;
  const double end = opened.view().lane().simulation->trace->end_cycle();
  const SessionView view = opened.after(SeekCycle{end * 0.37});
  CHECK(view.playback.cycle == doctest::Approx(end * 0.37));
  CHECK(view.lane().state.cycle == doctest::Approx(view.playback.cycle));
  CHECK(opened.after(SeekCycle{-5}).playback.cycle == 0);
  CHECK(opened.after(SeekCycle{1e30}).playback.cycle == doctest::Approx(end));
}

TEST_CASE("session: one step after the focused SM's last goes to the end of the run, one back returns") {
  Session::Start start = opening_start();
  start.request.problem.causal = true;
  Opened opened(std::move(start));
  const SessionView last = opened.after(SeekStep{1 << 30});
  const double whole = last.lane().simulation->cycles.value, own = last.playback.cycle;
  REQUIRE(own < whole);
  const SessionView end = opened.after(Step{1, Grain::operation});
  CHECK(end.playback.cycle == whole);
  CHECK(end.lane().step == end.lane().step_count);
  CHECK(opened.after(Step{1, Grain::operation}).playback.cycle == whole);
  const SessionView back = opened.after(Step{-1, Grain::operation});
  CHECK(back.playback.cycle == own);
  CHECK(back.lane().step == back.lane().step_count);
  CHECK(opened.after(Step{-1, Grain::operation}).lane().step == back.lane().step_count - 1);

  opened.session.apply(SetPlaying{true});
  for (int frame = 0; frame < 20000 && opened.view().playback.playing; ++frame) opened.session.tick(1.0 / 60);
  CHECK(opened.view().playback.cycle == whole);
}

TEST_CASE("session: values never go back while stepping forward, although loads land out of order") {
  for (const std::string algorithm : {"flash2", "flash1", "standard", "softmax_safe", "softmax_online", "softmax_fused"}) {
    CAPTURE(algorithm);
    Session::Start start = opening_start();
    start.request.algorithm = algorithm;
    start.request.problem.seq_q = start.request.problem.seq_kv = 16;
    start.request.problem.head_dim = 4;
    start.request.tile = TileShape{4, 4};
    start.request.blocks_per_sm = 1;
    Opened opened(std::move(start));
    const std::int64_t steps = opened.view().lane().step_count;
    std::int32_t run = -1;
    int values = -1, transfers = 0;
    for (std::int64_t step = 1; step <= steps; ++step) {
      const Lane& lane = opened.after(SeekStep{step}).lane();
      if (lane.rest.run == run) CHECK(lane.values_op >= values);
      const bool moves = lane.operation->kind == OpKind::load || lane.operation->kind == OpKind::store;
      if (!moves) CHECK(lane.values_op == lane.rest.op);
      transfers += moves ? 1 : 0;
      run = lane.rest.run;
      values = lane.values_op;
    }
    CHECK(transfers > 0);
  }
}
