// The session: what is simulated: the problem, the tile and the GPU, and what is refused of them.
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "tests/app/model/session/opened_session.h"

using namespace tilescope;

TEST_CASE("session: changing N simulates again and keeps the step") {
  Opened opened;
  const std::int64_t step = opened.view().lane().step;
  const SessionView view = opened.after(SetProblem{with_rows(opened.view(), 96), "seq"});
  CHECK(view.lane().simulation->request.problem.seq_q == 96);
  CHECK(view.lane().step == step);
}

TEST_CASE("session: a problem without the current step opens on its own opening step") {
  Opened opened;
  AttentionProblem causal = opened.view().requested->request.problem;
  causal.causal = true;
  const SessionView view = opened.after(SetProblem{causal, "causal"});
  CHECK(view.lane().step > 0);
  CHECK(view.lane().step < view.lane().step_count);
}

TEST_CASE("session: a number that is typed and taken back leaves the playhead at its step") {
  Opened opened;
  opened.after(SeekStep{opened.view().lane().step_count - 1});
  const std::int64_t step = opened.view().lane().step;
  opened.session.set_gesture(1);
  for (const std::int64_t half_typed : {8, 16}) opened.after(SetProblem{with_rows(opened.view(), half_typed), "seq"});
  REQUIRE(opened.view().lane().step_count < step);
  CHECK(opened.after(SetProblem{with_rows(opened.view(), 64), "seq"}).lane().step == step);
  // A step that was chosen meanwhile stays.
  opened.after(SetProblem{with_rows(opened.view(), 16), "seq"});
  opened.after(SeekStep{3});
  CHECK(opened.after(SetProblem{with_rows(opened.view(), 64), "seq"}).lane().step == 3);
}

TEST_CASE("session: a shorter run that was meant leaves the playhead where it is when a later edit makes the run longer") {
  for (const std::int64_t later : {0, 2}) {
    CAPTURE(later);
    Opened opened;
    opened.after(SeekStep{opened.view().lane().step_count - 1});
    const std::int64_t step = opened.view().lane().step;
    opened.session.set_gesture(later == 0 ? 0 : 1);
    const std::int64_t shown = opened.after(SetProblem{with_rows(opened.view(), 16), "seq"}).lane().step;
    REQUIRE(shown < step);
    opened.session.set_gesture(later);
    CHECK(opened.after(SetProblem{with_rows(opened.view(), 64), "seq"}).lane().step == shown);
  }
}

TEST_CASE("session: an invalid size is explained at its control, and the last good simulation stays") {
  Opened opened;
  const auto good = opened.view().lane().simulation;
  const SessionView bad = opened.after(SetProblem{with_rows(opened.view(), 0), "seq"});
  REQUIRE(bad.workspace->message.has_value());
  CHECK(bad.workspace->message->control == "seq");
  CHECK(bad.workspace->message->error.sentence.text().find('0') != std::string::npos);
  CHECK(bad.lane().simulation == good);
  CHECK(bad.requested->request.problem.seq_q == 0);  // the control shows what was asked for
  const SessionView mended = opened.after(SetProblem{with_rows(opened.view(), 32), "seq"});
  CHECK_FALSE(mended.workspace->message.has_value());
  CHECK(mended.lane().simulation->request.problem.seq_q == 32);
}

TEST_CASE("session: a tile that does not fit is explained with both numbers") {
  Opened opened;
  AttentionProblem large = with_rows(opened.view(), 8192);
  large.head_dim = 256;
  opened.after(SetProblem{large, "seq"});
  const SessionView view = opened.after(SetTile{TileShape{2048, 2048}, "block_q"});
  REQUIRE(view.workspace->message.has_value());
  CHECK(view.workspace->message->control == "block_q");
  CHECK(view.workspace->message->error.sentence.text().find("KiB") != std::string::npos);
}

TEST_CASE("session: another GPU starts with its own default tile") {
  Opened opened;
  CHECK(opened.view().lane().simulation->request.tile == TileShape{16, 16});
  const SessionView h200 = opened.after(SetGpu{"h200"});
  CHECK_FALSE(h200.requested->request.tile.has_value());
  CHECK(h200.lane().simulation->request.tile == TileShape{128, 128});
}

TEST_CASE("session: another GPU is loaded from its file; an unknown one is an error") {
  Opened opened;
  CHECK(opened.after(SetGpu{"h200"}).lane().simulation->request.gpu.sm_count == 132);
  const SessionView bad = opened.after(SetGpu{"h9000"});
  REQUIRE(bad.workspace->message.has_value());
  CHECK(bad.workspace->message->control == "gpu");
  CHECK(bad.requested->request.gpu.id == "h200");
}

TEST_CASE("session: a GPU value can be changed, refused and reset") {
  Opened opened;
  const double cycles = opened.view().lane().simulation->cycles.value;
  const SessionView slow = opened.after(SetSpecValue{"hbm.bytes_per_second=1000000000"});
  CHECK(slow.lane().simulation->cycles.value > cycles);
  CHECK(slow.requested->request.gpu.provenance.find("hbm.bytes_per_second")->second.source == Source::user);
  const SessionView refused = opened.after(SetSpecValue{"l2.capacity_bytes=-4"});
  REQUIRE(refused.workspace->message.has_value());
  CHECK(refused.workspace->message->control == "l2.capacity_bytes");
  const SessionView reset = opened.after(ResetSpecValue{"hbm.bytes_per_second"});
  CHECK(reset.lane().simulation->cycles.value == cycles);
  CHECK(reset.requested->request.gpu.provenance.find("hbm.bytes_per_second")->second.source != Source::user);
}

TEST_CASE("session: the first request may be invalid") {
  Session::Start start = opening_start();
  start.request.problem.head_dim = 1000;
  Opened opened(std::move(start));
  CHECK(opened.view().lanes.empty());
  REQUIRE(opened.view().workspace->message.has_value());
  // Commands that need a simulation do nothing.
  opened.after(Step{1, Grain::operation});
  opened.after(SetPlaying{true});
  opened.after(SeekCycle{5});
  CHECK_FALSE(opened.view().playback.playing);
  AttentionProblem good;
  CHECK_FALSE(opened.after(SetProblem{good, "head_dim"}).lanes.empty());
}
