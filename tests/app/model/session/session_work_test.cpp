// The session: work in the background, and what is kept of it.
#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include "tests/app/model/session/opened_session.h"

using namespace tilescope;

TEST_CASE("session: while a long block is generated the last picture stays, then the step appears") {
  Session::Start start = opening_start();
  start.request.algorithm = "flash1";
  start.request.problem.heads = start.request.problem.kv_heads = 2;
  start.request.problem.seq_q = start.request.problem.seq_kv = 256;
  start.request.tile = TileShape{16, 16};
  start.threads = true;
  Opened opened(std::move(start));
  const SessionView before = opened.view();
  REQUIRE(before.lane().operations != nullptr);
  REQUIRE(before.lane().operations->operations.size() > 2048);
  const auto key_of = [](const Lane& lane) { return std::pair(lane.operations->launch, lane.operations->block); };
  const auto block = key_of(before.lane());
  const std::int64_t step = before.lane().step, last = before.lane().step_count;
  opened.session.apply(SetFocusSm{before.lane().focus_sm == 0 ? 1 : 0});
  opened.session.apply(SeekStep{last});
  bool came = false;
  for (int frame = 0; frame < 5000 && !came; ++frame) {
    opened.session.tick(0.001);
    const Lane& lane = opened.view().lane();
    REQUIRE(lane.operations != nullptr);
    REQUIRE(lane.operation == &lane.operations->operations[static_cast<std::size_t>(lane.rest.op)]);
    came = key_of(lane) != block;
    if (!came) {
      CHECK(lane.step == step);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  REQUIRE(came);
  CHECK(opened.view().lane().step == opened.view().lane().step_count);
}

TEST_CASE("session: a distant step appears once its values are computed") {
  Session::Start start = h200_start({.heads = 1, .kv_heads = 1, .seq_q = 4096, .seq_kv = 4096, .head_dim = 128});
  start.request.algorithm = "flash1";
  start.threads = true;
  Opened opened(std::move(start));
  REQUIRE(opened.view().lane().history != nullptr);
  REQUIRE_FALSE(opened.view().lane().history->keeps_everything());
  const std::int64_t goal = opened.view().lane().step_count * 7 / 10;
  opened.session.apply(SeekStep{goal});
  for (int tries = 0; tries < 10'000 && opened.view().lane().step != goal; ++tries) {
    opened.session.tick(1e-4);
    const SessionView view = opened.view();
    const Lane& lane = view.lane();
    REQUIRE(lane.operations != nullptr);
    REQUIRE(lane.history != nullptr);  // of the step before until then
    for (ChipTile tile : lane.operations->tiles) REQUIRE(lane.history->at_hand(tile, lane.values_op));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(opened.view().lane().step == goal);
}

TEST_CASE("session: a replaced simulation is released") {
  Opened opened;
  const std::weak_ptr<const Simulation> first = opened.view().lane().simulation;
  opened.after(SetProblem{with_rows(opened.view(), 24), "seq"});
  opened.after(SetProblem{with_rows(opened.view(), 32), "seq"});
  opened.session.finish();
  CHECK(first.expired());
}

TEST_CASE("session: with a thread, dragging N ends at the last value and never blocks a frame") {
  Session::Start start = opening_start();
  start.threads = true;
  Opened opened(std::move(start));
  using Clock = std::chrono::steady_clock;
  double worst = 0;
  for (std::int64_t rows = 64; rows <= 512; rows += 16) {
    opened.session.apply(SetProblem{with_rows(opened.view(), rows), "seq"});
    const auto before = Clock::now();
    opened.session.tick(1.0 / 60);
    worst = std::max(worst, std::chrono::duration<double>(Clock::now() - before).count());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  opened.session.finish();
  CHECK(opened.view().lane().simulation->request.problem.seq_q == 512);
  CHECK(worst < 0.2);
}

TEST_CASE("session: cancelling keeps the last good picture and its controls") {
  Session::Start start = opening_start();
  start.threads = true;
  Opened opened(std::move(start));
  AttentionProblem large{4, 32, 32, 16384, 16384, 128, DataType::fp16, false, Pass::forward};
  opened.session.apply(SetProblem{large, "seq"});
  opened.session.apply(CancelWork{});
  opened.session.finish();
  CHECK(opened.view().lane().simulation->request.problem.seq_q == 64);
  CHECK(opened.view().requested->request.problem.seq_q == 64);
  CHECK_FALSE(opened.view().requested->request.blocks_per_sm.has_value());  // what was left to the program still is
}

TEST_CASE("session: the float64 reference comes with the values, once per plane, except for large planes") {
  Opened opened;
  const auto first = opened.view().lane().reference;
  REQUIRE(first != nullptr);
  opened.after(Step{1, Grain::tile});
  CHECK(opened.view().lane().reference == first);  // the same plane
  AttentionProblem large = with_rows(opened.view(), 16384);
  large.head_dim = 128;
  opened.after(SetTile{TileShape{64, 64}, "block_q"});
  const SessionView view = opened.after(SetProblem{large, "seq"});
  CHECK(view.lane().history != nullptr);
  CHECK(view.lane().reference == nullptr);
}
