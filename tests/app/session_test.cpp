// The session: opening, stepping, seeking, playing, racing, changing what is simulated, and what goes wrong.
#include <algorithm>
#include <cmath>
#include <random>
#include <thread>

#include <doctest/doctest.h>

#include "app/files.h"
#include "app/panels/sm_lanes.h"
#include "app/session.h"
#include "tests/app/temporary_folder.h"
#include "tests/app/window_script.h"

using namespace tilescope;

namespace {

const Theme& plain_theme() {
  static const Theme theme = make_theme(ThemeKind::dark, 1);
  return theme;
}

/// A session with its first simulation done.
struct Opened {
  Session session;
  explicit Opened(Session::Start start = opening_start()) : session(std::move(start)) { session.finish(); }
  View view() const { return session.view(plain_theme()); }
  /// Carries `command` out and lets every motion and all work end.
  template <class T>
  View after(const T& command) {
    session.apply(command);
    session.finish();
    session.tick(10);
    session.finish();
    return view();
  }
};

AttentionProblem with_rows(const View& view, std::int64_t rows) {
  AttentionProblem problem = view.request.problem;
  problem.seq_q = problem.seq_kv = rows;
  return problem;
}

AttentionProblem two_numbers_a_row(std::int64_t rows) {
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = rows;
  problem.head_dim = 2;
  return problem;
}

}  // namespace

TEST_CASE("session: it opens on the second key tile of flash2, at rest, with values, where alpha is not 1") {
  Opened opened;
  const View view = opened.view();
  REQUIRE(view.lanes.size() == 1);
  const Lane& lane = view.lane();
  CHECK(lane.simulation->request.algorithm == "flash2");
  CHECK_FALSE(view.playing);
  CHECK_FALSE(opened.session.animating());
  REQUIRE(lane.operation != nullptr);
  CHECK(lane.operation->kv_tile == 1);
  CHECK(lane.step > 0);
  CHECK(lane.step < lane.step_count);
  REQUIRE(lane.history != nullptr);
  const auto alpha = lane.history->value(Slot::alpha, lane.rest.op);
  REQUIRE(alpha != nullptr);
  CHECK(alpha->at(view.row, 0) < 0.99F);
  CHECK(alpha->at(view.row, 0) > 0);
}

TEST_CASE("session: a step forward and a step back lead to the same state") {
  Opened opened;
  const TraceState before = opened.view().lane().state;
  const View there = opened.after(Step{1, Grain::operation});
  CHECK(there.lane().step == before.step + 1);
  const View back = opened.after(Step{-1, Grain::operation});
  CHECK(back.lane().state == before);
}

TEST_CASE("session: a step moves the clock little by little and comes to rest at the step") {
  Opened opened;
  const double from = opened.view().cycle;
  opened.session.apply(Step{1, Grain::tile});
  opened.session.tick(0.05);
  const View moving = opened.view();
  CHECK(opened.session.animating());
  CHECK(moving.motion > 0);
  CHECK(moving.motion < 1);
  CHECK(moving.cycle > from);
  CHECK(moving.cycle < moving.lane().rest.cycle);
  opened.session.tick(5);
  const View rest = opened.view();
  CHECK(rest.motion == 1);
  CHECK(rest.lane().state == rest.lane().rest);
  CHECK(rest.cycle == rest.lane().rest.cycle);
}

TEST_CASE("session: any step reached by any way is the same bits") {
  Opened opened;
  const std::int64_t last = opened.view().lane().step_count;
  const auto seed = static_cast<std::uint32_t>(std::random_device{}());
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 200; ++i) {
    const auto step = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(last + 1));
    const View view = opened.after(SeekStep{step});
    const Trace& trace = *view.lane().simulation->trace;
    CHECK(view.lane().step == step);
    CHECK(view.lane().state == trace.state_at(view.lane().focus_sm, step));
  }
}

TEST_CASE("session: seeking beyond either end stops at the end") {
  Opened opened;
  CHECK(opened.after(SeekStep{-50}).lane().step == 0);
  CHECK(opened.view().lane().operation == nullptr);
  const View end = opened.after(SeekStep{1 << 30});
  CHECK(end.lane().step == end.lane().step_count);
  CHECK(opened.after(Step{1, Grain::operation}).lane().step == end.lane().step_count);
}

TEST_CASE("session: playing reaches the end and stops there; playing again starts over") {
  Opened opened;
  opened.session.apply(SeekStep{0});
  opened.session.apply(SetSpeed{8});
  opened.session.apply(SetPlaying{true});
  int frames = 0;
  for (; frames < 20000 && opened.view().playing; ++frames) opened.session.tick(1.0 / 60);
  CHECK(opened.view().lane().step == opened.view().lane().step_count);
  CHECK_FALSE(opened.session.animating());
  opened.session.apply(SetPlaying{true});
  opened.session.tick(1.0 / 60);
  CHECK(opened.view().playing);
  CHECK(opened.view().lane().step <= 1);
}

TEST_CASE("session: speed 2 plays twice as many steps a second as speed 1, the crawl very few") {
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
  const View view = opened.after(SeekCycle{end * 0.37});
  CHECK(view.cycle == doctest::Approx(end * 0.37));
  CHECK(view.lane().state.cycle == doctest::Approx(view.cycle));
  CHECK(opened.after(SeekCycle{-5}).cycle == 0);
  CHECK(opened.after(SeekCycle{1e30}).cycle == doctest::Approx(end));
}

TEST_CASE("session: a race shows standard and the chosen algorithm at one clock, and leaves one lane when it is off") {
  Opened opened;
  const View race = opened.after(SetRace{true});
  REQUIRE(race.lanes.size() == 2);
  CHECK(race.race);
  CHECK(race.lanes[0].simulation->request.algorithm == "standard");
  CHECK(race.lane().simulation->request.algorithm == "flash2");
  for (double share : {0.1, 0.5, 0.9}) {
    const View there = opened.after(SeekCycle{share * race.lanes[0].simulation->trace->end_cycle()});
    CHECK(there.lanes[0].state.cycle == doctest::Approx(there.cycle));
    // The faster lane stays at its end once it is there.
    const double own_end = there.lanes[1].simulation->trace->end_cycle();
    CHECK(there.lanes[1].state.cycle == doctest::Approx(std::min(there.cycle, own_end)));
  }
  const View off = opened.after(SetRace{false});
  CHECK(off.lanes.size() == 1);
  CHECK_FALSE(off.race);
}

TEST_CASE("session: standard races flash2") {
  Opened opened;
  opened.after(SetAlgorithm{"standard"});
  const View race = opened.after(SetRace{true});
  REQUIRE(race.lanes.size() == 2);
  CHECK(race.lanes[0].simulation->request.algorithm == "standard");
  CHECK(race.lanes[1].simulation->request.algorithm == "flash2");
}

TEST_CASE("session: a race steps to the next step of either lane, back the same way, and plays to the end of the slower one") {
  Session::Start start = opening_start();
  start.race = true;
  Opened opened(std::move(start));
  opened.after(SeekStep{0});
  double last = opened.view().cycle;
  for (int i = 0; i < 12; ++i) {
    const double now = opened.after(Step{1, Grain::operation}).cycle;
    CHECK(now > last);
    last = now;
  }
  CHECK(opened.after(Step{-1, Grain::operation}).cycle < last);
  opened.session.apply(SetSpeed{8});
  opened.session.apply(SetPlaying{true});
  for (int i = 0; i < 3000 && opened.view().playing; ++i) opened.session.tick(1.0 / 60);
  double end = 0;
  for (const Lane& lane : opened.view().lanes) end = std::max(end, lane.simulation->trace->end_cycle());
  CHECK(opened.view().cycle == doctest::Approx(end));
}

TEST_CASE("session: every program of the table opens, steps and races") {
  for (const ProgramInfo& info : program_table()) {
    CAPTURE(info.id);
    Opened opened;
    const View view = opened.after(SetAlgorithm{std::string(info.id)});
    CHECK_FALSE(view.message.has_value());
    REQUIRE(view.lane().simulation->request.algorithm == info.id);
    CHECK(view.lane().operation != nullptr);
    CHECK(opened.after(Step{1, Grain::operation}).lane().history != nullptr);
    const View race = opened.after(SetRace{true});
    REQUIRE(race.lanes.size() == 2);
    CHECK(race.lanes[0].simulation->info->family == info.family);
    CHECK(race.lanes[0].simulation->request.algorithm != race.lanes[1].simulation->request.algorithm);
  }
}

TEST_CASE("session: changing N simulates again and keeps the step") {
  Opened opened;
  const std::int64_t step = opened.view().lane().step;
  const View view = opened.after(SetProblem{with_rows(opened.view(), 96), "seq"});
  CHECK(view.lane().simulation->request.problem.seq_q == 96);
  CHECK(view.lane().step == step);
}

TEST_CASE("session: a problem without the step that was shown opens on its telling one") {
  Opened opened;
  AttentionProblem causal = opened.view().request.problem;
  causal.causal = true;
  const View view = opened.after(SetProblem{causal, "causal"});
  CHECK(view.lane().step > 0);
  CHECK(view.lane().step < view.lane().step_count);
}

TEST_CASE("session: after the last step of the SM in focus one more goes to the end of the run, and one back to that step") {
  Session::Start start = opening_start();
  start.request.problem.causal = true;
  Opened opened(std::move(start));
  const View last = opened.after(SeekStep{1 << 30});
  const double whole = last.lane().simulation->cycles.value, own = last.cycle;
  REQUIRE(own < whole);
  const View end = opened.after(Step{1, Grain::operation});
  CHECK(end.cycle == whole);
  CHECK(end.lane().step == end.lane().step_count);
  CHECK(opened.after(Step{1, Grain::operation}).cycle == whole);
  const View back = opened.after(Step{-1, Grain::operation});
  CHECK(back.cycle == own);
  CHECK(back.lane().step == back.lane().step_count);
  CHECK(opened.after(Step{-1, Grain::operation}).lane().step == back.lane().step_count - 1);

  opened.session.apply(SetPlaying{true});
  for (int frame = 0; frame < 20000 && opened.view().playing; ++frame) opened.session.tick(1.0 / 60);
  CHECK(opened.view().cycle == whole);
}

TEST_CASE("session: a size that cannot be is a sentence at its control, and the last good simulation stays") {
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

TEST_CASE("session: a tile that does not fit says both numbers at its control") {
  Opened opened;
  AttentionProblem large = with_rows(opened.view(), 8192);
  large.head_dim = 256;
  opened.after(SetProblem{large, "seq"});
  const View view = opened.after(SetTile{TileShape{2048, 2048}, "block_q"});
  REQUIRE(view.message.has_value());
  CHECK(view.message->control == "block_q");
  CHECK(view.message->sentence.find("KiB") != std::string::npos);
}

TEST_CASE("session: values never go back while one steps forward, though loads land long after their turn, or before it") {
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

TEST_CASE("session: another GPU runs the tile of its own kernel, not the one that was chosen for the last") {
  Opened opened;
  CHECK(opened.view().lane().simulation->request.tile == TileShape{16, 16});
  const View h200 = opened.after(SetGpu{"h200"});
  CHECK_FALSE(h200.request.tile.has_value());
  CHECK(h200.lane().simulation->request.tile == TileShape{128, 128});
}

TEST_CASE("session: another GPU comes from its file; an unknown one is a sentence") {
  Opened opened;
  CHECK(opened.after(SetGpu{"h200"}).lane().simulation->request.gpu.sm_count == 132);
  const View bad = opened.after(SetGpu{"h9000"});
  REQUIRE(bad.message.has_value());
  CHECK(bad.message->control == "gpu");
  CHECK(bad.request.gpu.id == "h200");
}

TEST_CASE("session: one number of the GPU can be changed, refused, and put back") {
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

TEST_CASE("session: fewer SMs than the one in focus brings the focus back") {
  Opened opened;
  CHECK(opened.after(SetFocusSm{3}).lane().focus_sm == 3);
  const View view = opened.after(SetSpecValue{"sm.count=2"});
  CHECK_FALSE(view.message.has_value());
  CHECK(view.lane().focus_sm == 0);
}

TEST_CASE("session: on a large GPU another SM in focus is simulated and the clock kept") {
  Opened opened(h200_start({.heads = 8, .kv_heads = 8, .seq_q = 2048, .seq_kv = 2048, .head_dim = 64}));
  const double cycle = opened.view().cycle;
  const View view = opened.after(SetFocusSm{77});
  CHECK(view.cycle == cycle);
  CHECK(view.lane().focus_sm == 77);
  CHECK(view.lane().simulation->request.focus_sm == 77);
}

TEST_CASE("session: an SM that was in focus before, or looked into, comes into focus without simulating again") {
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

TEST_CASE("session: another problem is not shown with what is known of the last one's SMs") {
  Opened opened(h200_start({.heads = 8, .kv_heads = 8, .seq_q = 2048, .seq_kv = 2048, .head_dim = 64}));
  opened.after(SetFocusSm{77});
  opened.session.apply(SetProblem{with_rows(opened.view(), 1024), "seq"});
  const View view = opened.after(SetFocusSm{0});
  CHECK(view.lane().simulation->request.problem.seq_q == 1024);
  CHECK(view.lane().focus_sm == 0);
}

TEST_CASE("session: a matrix of one's own is used; one of another shape is refused with both shapes") {
  Opened opened;
  opened.after(SetProblem{two_numbers_a_row(4), "seq"});
  const View good = opened.after(SetMatrix{Tensor::q, "1,2\n3,4\n5,6\n7,8"});
  CHECK_FALSE(good.message.has_value());
  REQUIRE(good.inputs->q != nullptr);
  CHECK(good.inputs->q->at(3, 1) == 8);
  const View bad = opened.after(SetMatrix{Tensor::k, "1,2,3\n4,5,6"});
  REQUIRE(bad.message.has_value());
  CHECK(bad.message->control == "inputs.K");
  CHECK(bad.inputs->k == nullptr);
  CHECK(bad.inputs->q != nullptr);
  const View rubbish = opened.after(SetMatrix{Tensor::v, "one, two"});
  REQUIRE(rubbish.message.has_value());
  CHECK(rubbish.message->control == "inputs.V");
  const View seeded = opened.after(SetMatrix{Tensor::q, ""});
  CHECK(seeded.inputs->q == nullptr);
  CHECK_FALSE(seeded.message.has_value());
}

TEST_CASE("session: a matrix is loaded from a file, and a missing file is a sentence") {
  const TemporaryFolder folder;
  Opened opened;
  opened.after(SetProblem{two_numbers_a_row(2), "seq"});
  CHECK(opened.after(SetMatrix{Tensor::v, folder.file("v.csv", "1 0\n0 1\n"), true}).inputs->v != nullptr);
  const View missing = opened.after(SetMatrix{Tensor::v, folder.path("none.csv"), true});
  REQUIRE(missing.message.has_value());
  CHECK(missing.message->sentence.find("none.csv") != std::string::npos);
}

TEST_CASE("session: a matrix that no longer fits the problem is left out and said so") {
  Opened opened;
  opened.after(SetProblem{two_numbers_a_row(2), "seq"});
  opened.after(SetMatrix{Tensor::q, "1 0\n0 1"});
  const View view = opened.after(SetProblem{with_rows(opened.view(), 8), "seq"});
  REQUIRE(view.message.has_value());
  CHECK(view.message->control == "inputs");
  CHECK(view.lane().history != nullptr);
}

TEST_CASE("session: while a long block is written out, what was shown stays; then the step is shown with its operations") {
  Session::Start start = opening_start();
  start.request.algorithm = "flash1";
  start.request.problem.heads = start.request.problem.kv_heads = 2;
  start.request.problem.seq_q = start.request.problem.seq_kv = 256;
  start.request.tile = TileShape{16, 16};
  start.threads = true;
  Opened opened(std::move(start));
  const View before = opened.view();
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

TEST_CASE("session: a step far away in a block of checkpoints is shown with its values, and only once they are at hand") {
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
    const View view = opened.view();
    const Lane& lane = view.lane();
    REQUIRE(lane.operations != nullptr);
    REQUIRE(lane.history != nullptr);  // of the step before until then
    for (int i = 1; i < slot_count; ++i) REQUIRE(lane.history->at_hand(static_cast<Slot>(i), lane.values_op));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(opened.view().lane().step == goal);
}

TEST_CASE("session: in a race the SMs of either side are looked into") {
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

TEST_CASE("session: a simulation that left the screen is let go of") {
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

TEST_CASE("session: cancelling keeps the last good picture and what its controls showed") {
  Session::Start start = opening_start();
  start.threads = true;
  Opened opened(std::move(start));
  AttentionProblem large{4, 32, 32, 16384, 16384, 128, DataType::fp16, false, Pass::forward};
  opened.session.apply(SetProblem{large, "seq"});
  opened.session.apply(CancelWork{});
  opened.session.finish();
  CHECK(opened.view().lane().simulation->request.problem.seq_q == 64);
  CHECK(opened.view().request.problem.seq_q == 64);
  CHECK_FALSE(opened.view().request.blocks_per_sm.has_value());  // what was left to the program still is
}

TEST_CASE("session: the float64 reference comes with the values, one a plane, and not for planes too large for a frame") {
  Opened opened;
  const auto first = opened.view().lane().reference;
  REQUIRE(first != nullptr);
  opened.after(Step{1, Grain::tile});
  CHECK(opened.view().lane().reference == first);  // the same plane
  AttentionProblem large = with_rows(opened.view(), 16384);
  large.head_dim = 128;
  opened.after(SetTile{TileShape{64, 64}, "block_q"});
  const View view = opened.after(SetProblem{large, "seq"});
  CHECK(view.lane().history != nullptr);
  CHECK(view.lane().reference == nullptr);
}

TEST_CASE("session: a race that cannot be simulated leaves the switch off, with a sentence") {
  Opened opened;
  const AttentionProblem long_one = with_rows(opened.view(), 32768);
  opened.after(SetProblem{long_one, "seq"});
  opened.after(SetTile{TileShape{128, 128}, "block_q"});
  const View view = opened.after(SetRace{true});  // S alone is 2 GiB: more than the toy has
  REQUIRE(view.message.has_value());
  CHECK(view.message->control == "race");
  CHECK_FALSE(view.race);
  CHECK(view.lanes.size() == 1);
  opened.after(SetProblem{with_rows(opened.view(), 64), "seq"});
  CHECK(opened.view().lanes.size() == 1);
}

TEST_CASE("session: the first request can be one that cannot be simulated") {
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

TEST_CASE("session: the same commands without time passing give the same view") {
  Opened first, second;
  for (Opened* one : {&first, &second}) {
    one->after(SeekStep{9});
    one->after(SetAlgorithm{"flash1"});
    one->after(Step{1, Grain::tile});
  }
  CHECK(first.view().lane().state == second.view().lane().state);
  CHECK(first.view().row == second.view().row);
}
