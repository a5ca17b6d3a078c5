// The session: what is simulated: the problem, the tile and the GPU, and what is refused of them.
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "tests/app/model/opened_session.h"

using namespace tilescope;

TEST_CASE("session: changing N simulates again and keeps the step") {
  Opened opened;
  const std::int64_t step = opened.view().lane().step;
  const View view = opened.after(SetProblem{with_rows(opened.view(), 96), "seq"});
  CHECK(view.lane().simulation->request.problem.seq_q == 96);
  CHECK(view.lane().step == step);
}

TEST_CASE("session: a problem without the current step opens on its own opening step") {
  Opened opened;
  AttentionProblem causal = opened.view().request.problem;
  causal.causal = true;
  const View view = opened.after(SetProblem{causal, "causal"});
  CHECK(view.lane().step > 0);
  CHECK(view.lane().step < view.lane().step_count);
}

TEST_CASE("session: an invalid size is explained at its control, and the last good simulation stays") {
  Opened opened;
  const auto good = opened.view().lane().simulation;
  const View bad = opened.after(SetProblem{with_rows(opened.view(), 0), "seq"});
  REQUIRE(bad.message.has_value());
  CHECK(bad.message->control == "seq");
  CHECK(bad.message->sentence.find('0') != std::string::npos);
  CHECK(bad.lane().simulation == good);
  CHECK(bad.request.problem.seq_q == 0);  // the control shows what was asked for
  const View mended = opened.after(SetProblem{with_rows(opened.view(), 32), "seq"});
  CHECK_FALSE(mended.message.has_value());
  CHECK(mended.lane().simulation->request.problem.seq_q == 32);
}

TEST_CASE("session: a tile that does not fit is explained with both numbers") {
  Opened opened;
  AttentionProblem large = with_rows(opened.view(), 8192);
  large.head_dim = 256;
  opened.after(SetProblem{large, "seq"});
  const View view = opened.after(SetTile{TileShape{2048, 2048}, "block_q"});
  REQUIRE(view.message.has_value());
  CHECK(view.message->control == "block_q");
  CHECK(view.message->sentence.find("KiB") != std::string::npos);
}

TEST_CASE("session: another GPU starts with its own default tile") {
  Opened opened;
  CHECK(opened.view().lane().simulation->request.tile == TileShape{16, 16});
  const View h200 = opened.after(SetGpu{"h200"});
  CHECK_FALSE(h200.request.tile.has_value());
  CHECK(h200.lane().simulation->request.tile == TileShape{128, 128});
}

TEST_CASE("session: another GPU is loaded from its file; an unknown one is an error") {
  Opened opened;
  CHECK(opened.after(SetGpu{"h200"}).lane().simulation->request.gpu.sm_count == 132);
  const View bad = opened.after(SetGpu{"h9000"});
  REQUIRE(bad.message.has_value());
  CHECK(bad.message->control == "gpu");
  CHECK(bad.request.gpu.id == "h200");
}

TEST_CASE("session: a GPU value can be changed, refused and reset") {
  Opened opened;
  const double cycles = opened.view().lane().simulation->cycles.value;
  const View slow = opened.after(SetSpecValue{"hbm.bytes_per_second=1000000000"});
  CHECK(slow.lane().simulation->cycles.value > cycles);
  CHECK(slow.request.gpu.provenance.find("hbm.bytes_per_second")->second.source == Source::user);
  const View refused = opened.after(SetSpecValue{"l2.capacity_bytes=-4"});
  REQUIRE(refused.message.has_value());
  CHECK(refused.message->control == "l2.capacity_bytes");
  const View reset = opened.after(ResetSpecValue{"hbm.bytes_per_second"});
  CHECK(reset.lane().simulation->cycles.value == cycles);
  CHECK(reset.request.gpu.provenance.find("hbm.bytes_per_second")->second.source != Source::user);
}

TEST_CASE("session: the first request may be invalid") {
  Session::Start start = opening_start();
  start.request.problem.head_dim = 1000;
  Opened opened(std::move(start));
  CHECK(opened.view().lanes.empty());
  REQUIRE(opened.view().message.has_value());
  // Commands that need a simulation do nothing.
  opened.after(Step{1, Grain::operation});
  opened.after(SetPlaying{true});
  opened.after(SeekCycle{5});
  CHECK_FALSE(opened.view().playing);
  AttentionProblem good;
  CHECK_FALSE(opened.after(SetProblem{good, "head_dim"}).lanes.empty());
}
