// The studies of the window, their files, and the plots and chains that are made of them.
#include "app/model/session/studies.h"
#include "app/model/measurements/common_clock.h"
#include "app/model/measurements/run_under_load.h"
#include "app/model/session/run_sweep.h"

#include <algorithm>
#include <atomic>
#include <set>

#include <doctest/doctest.h>

#include "app/cli/sweep_file.h"
#include "app/model/measurements/clock_under_load.h"
#include "app/model/requests/assets.h"
#include "app/model/session/session.h"
#include "app/ui/plot.h"
#include "app/views/timeline/timeline_causes.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

Session::Start small_start(CenterView center, bool threads = false) {
  Session::Start start;
  start.request.gpu = *load_gpu("toy");
  start.request.problem = {.seq_q = 32, .seq_kv = 32, .head_dim = 16};
  start.center = center;
  start.threads = threads;
  return start;
}

SweepResult small_sweep() {
  SweepRequest request;
  request.base.gpu = *load_gpu("toy");
  request.algorithms = {"standard", "flash2"};
  request.axis = *parse_sweep_axis("seq=16:64");
  return SweepResult(std::move(request));
}

}  // namespace

TEST_CASE("what if: what does not cancel of a cycle more and a cycle less, and what no real machine does, are noise") {
  WhatIfTable table;
  CHECK(table.noise() == 0);
  const auto took = [](double time_ns) {
    Outcome outcome;
    outcome.time_ns = time_ns;
    return outcome;
  };
  table.base = took(1000);
  const auto add = [&](WhatIfPart part, double time_ns) {
    WhatIfRow row;
    row.what.part = part;
    row.outcome = took(time_ns);
    table.rows.push_back(row);
  };
  add({Bound::hbm}, 900);  // a real gain is no noise
  CHECK(table.noise() == 0);
  add({}, 960);  // another block order is a change like others
  CHECK(table.noise() == 0);
  table.jitters.resize(2);
  table.jitters[0].longer_outcome = took(1060);
  table.jitters[0].shorter_outcome = took(980);
  table.jitters[1].longer_outcome = took(1010);
  table.jitters[1].shorter_outcome = took(990);  // what the cycle costs
  CHECK(table.noise() == doctest::Approx(0.02));
  add({Bound::hbm, false}, 970);  // faster with less bandwidth
  CHECK(table.noise() == doctest::Approx(0.03));
  add({Bound::exp}, 1050);  // slower with a faster unit
  CHECK(table.noise() == doctest::Approx(0.05));
}

TEST_CASE("studies: a view's study starts when it opens, and is complete when the session is idle") {
  for (bool threads : {false, true}) {
    Session session(small_start(CenterView::stage, threads));
    session.finish();
    CHECK(session.view().studies->fit == nullptr);
    session.apply(SetCenter{CenterView::fit});
    session.finish();
    const auto fit = session.view().studies->fit;
    REQUIRE(fit != nullptr);
    CHECK(fit->simulated() == fit->fitting());
    CHECK(fit->maps.size() == 6);
    session.apply(SetCenter{CenterView::what_if});
    session.finish();
    const auto table = session.view().studies->what_if;
    REQUIRE(table != nullptr);
    CHECK(table->done() == table->total());
    session.apply(SetCenter{CenterView::roofline});
    session.finish();
    const auto roofline = session.view().studies->roofline;
    REQUIRE(roofline != nullptr);
    CHECK(roofline->kernels.size() == 2);
    session.apply(SetCenter{CenterView::sweep});
    session.apply(SetSweep{"seq=16:64", {"flash2"}, SweepQuantity::time});
    session.finish();
    const auto sweep = session.view().studies->sweep;
    REQUIRE(sweep != nullptr);
    CHECK(sweep->complete());
    CHECK(sweep->points.size() == 3);
    session.apply(SetCenter{CenterView::fit});
    session.finish();
    CHECK(session.view().studies->fit == fit);  // kept
  }
}

TEST_CASE("studies: the ladder is every rung on the problem that is shown, each over one that stands before it") {
  Session::Start start = small_start(CenterView::ladder);
  start.request.gpu = *load_gpu("h200");
  start.request.problem = {.seq_q = 256, .seq_kv = 256, .head_dim = 64, .causal = true};
  Session session(start);
  session.finish();
  const auto study = session.view().studies->ladder;
  REQUIRE(study);
  CHECK(study->done() == ladder().size());
  std::set<std::string> before;
  for (const LadderRung& rung : study->rungs) {
    CAPTURE(rung.algorithm);
    CHECK(rung.outcome->done());
    CHECK(rung.outcome->cycles > 0);
    if (!rung.over.empty()) CHECK(before.contains(rung.over));
    before.insert(rung.algorithm);
  }
  // Where there is no wgmma the first alone runs, and the others say why.
  start.request.gpu = *load_gpu("a100");
  Session other(start);
  other.finish();
  const auto without = other.view().studies->ladder;
  CHECK(without->done() == ladder().size());
  for (const LadderRung& rung : without->rungs) CHECK(rung.outcome->done() == (rung.algorithm == "flash2"));
}

TEST_CASE("studies: the baseline of What if is the unchanged GPU file") {
  Session session(small_start(CenterView::what_if));
  session.apply(SetSpecValue{"hbm.bytes_per_second=1e9"});
  session.finish();
  const SessionView view = session.view();
  CHECK(same_numbers(view.studies->what_if->real.gpu, view.requested->gpu_base));
  CHECK_FALSE(same_numbers(view.lane().simulation->request.gpu, view.requested->gpu_base));
}

TEST_CASE("studies: the next limit is computed for every simulation, with or without threads") {
  for (bool threads : {false, true}) {
    Session session(small_start(CenterView::stage, threads));
    session.finish();
    const auto first = session.view().studies->limit;
    REQUIRE(first != nullptr);
    CHECK(first->without == session.view().lane().simulation->bound);
    CHECK(first->before_ns == session.view().lane().simulation->time.value);
    session.apply(SetSpecValue{"hbm.bytes_per_second=1e8"});
    session.finish();
    const auto second = session.view().studies->limit;
    REQUIRE(second != nullptr);
    CHECK(second->without == Bound::hbm);
    CHECK(second->outcome.time_ns < second->before_ns);
  }
}

TEST_CASE("studies: a block order is simulated, and What if still starts from the launch order") {
  Session::Start start = small_start(CenterView::what_if);
  start.request.problem = {.heads = 2, .kv_heads = 2, .seq_q = 160, .seq_kv = 160, .head_dim = 16, .causal = true};
  Session session(std::move(start));
  session.finish();
  const auto before = session.view().studies->what_if;
  session.apply(SetBlockOrder{BlockOrder::longest});
  session.finish();
  const SessionView view = session.view();
  CHECK(view.lane().simulation->request.block_order == BlockOrder::longest);
  CHECK(view.studies->what_if == before);
  REQUIRE(before->base);
  const auto row =
      std::find_if(before->rows.begin(), before->rows.end(), [](const WhatIfRow& r) { return r.what.id == "order_longest"; });
  REQUIRE(row != before->rows.end());
  CHECK(row->outcome->cycles == view.lane().simulation->cycles.value);
  CHECK(row->outcome->time_ns != before->base->time_ns);
}

TEST_CASE("studies: an invalid sweep keeps the last one and says why") {
  Session session(small_start(CenterView::sweep));
  session.apply(SetSweep{"seq=16:32", {"flash2"}, SweepQuantity::hbm});
  session.finish();
  session.apply(SetSweep{"seq=32:16", {"flash2"}, SweepQuantity::hbm});
  session.finish();
  const SessionView view = session.view();
  REQUIRE(view.workspace->message);
  CHECK(view.workspace->message->control == "sweep");
  CHECK(view.studies->sweep->request.axis.values.size() == 2);
}

TEST_CASE("studies: every offered range is valid") {
  for (const char* gpu : {"toy", "h200", "textbook"}) {
    SimulationRequest request;
    request.gpu = *load_gpu(gpu);
    for (const SweepKey& key : sweep_keys())
      CHECK_MESSAGE(parse_sweep_axis(usual_range(key.key, request)), usual_range(key.key, request));
    for (const SpecKey& key : spec_keys())
      if (key.minimum < key.maximum) CHECK_MESSAGE(parse_sweep_axis(usual_range(key.key, request)), usual_range(key.key, request));
  }
}

TEST_CASE("studies: the longest sequence of the usual sweep grows with the tile and shrinks with the planes") {
  const auto longest = [](const char* gpu, std::int64_t heads) {
    SimulationRequest request;
    request.gpu = *load_gpu(gpu);
    request.problem.heads = request.problem.kv_heads = heads;
    const auto axis = parse_sweep_axis(usual_range("seq", request));
    REQUIRE(axis);
    return axis->values.back();
  };
  // At most 65536 pairs of tiles in a plane, which one block of flash1 may hold: half a gigabyte.
  CHECK(longest("toy", 1) == 4096);
  CHECK(longest("h200", 1) == 16384);
  CHECK(longest("toy", 8) == 2048);
  CHECK(longest("h200", 64) == 8192);
}

TEST_CASE("sweep: points that differ in a value of the GPU have one clock for each program, that of What if") {
  SweepRequest request;
  request.base.gpu = *load_gpu("h100");
  request.base.problem = {.heads = 8, .kv_heads = 8, .seq_q = 1024, .seq_kv = 1024, .head_dim = 128, .dtype = DataType::fp16};
  request.algorithms = {"flash2", "flash3"};
  request.axis = *parse_sweep_axis("hbm.bytes_per_second=4e11,3.35e12");
  const Recordings recordings = load_recordings(request.base.gpu);
  Growing<SweepResult> sweep{SweepResult(request)};
  REQUIRE(run_sweep(sweep, 1, {}, {}, &recordings));
  const auto result = sweep.read();
  for (std::size_t a = 0; a < request.algorithms.size(); ++a) {
    CAPTURE(request.algorithms[a]);
    SimulationRequest own = request.base;
    own.algorithm = request.algorithms[a];
    const double clock = *clock_of_comparison(own, recordings);
    CHECK(clock > 0);
    for (std::size_t v = 0; v < 2; ++v) {
      REQUIRE(result->at(a, v));
      CHECK(result->at(a, v)->under_load.clock_hz == clock);
      CHECK(result->at(a, v)->time_ns == result->at(a, v)->under_load.time_ns);
    }
  }
}

TEST_CASE("sweep file: CSV and JSON round-trip to the bit") {
  Growing<SweepResult> sweep(small_sweep());
  REQUIRE(run_sweep(sweep, 2, {}, {}));
  auto whole = *sweep.read();
  whole.points[1]->refusal = "a sentence, with \"quotes\" and commas";
  for (const std::string& text : {sweep_to_csv(whole), sweep_to_json(whole)}) {
    SweepResult read = small_sweep();
    const Status status = continue_sweep(text, "file", read);
    REQUIRE_MESSAGE(status, (status ? "" : status.error().sentence));
    for (std::size_t i = 0; i < whole.points.size(); ++i) CHECK(*read.points[i] == *whole.points[i]);
  }
}

TEST_CASE("sweep file: a stopped sweep continues, another one is refused") {
  Growing<SweepResult> sweep(small_sweep());
  std::atomic<bool> stop = false;
  CHECK_FALSE(run_sweep(
      sweep, 1, [&] { return stop.load(); }, [&](const SweepResult& now) { stop = now.done() >= 2; }));
  const std::size_t done = sweep.read()->done();
  CHECK(done >= 2);
  CHECK(done < sweep.read()->points.size());
  SweepResult read = small_sweep();
  REQUIRE(continue_sweep(sweep_to_csv(*sweep.read()), "file", read));
  CHECK(read.done() == done);
  SweepResult other = small_sweep();
  other.request.base.problem.head_dim = 32;
  CHECK_FALSE(continue_sweep(sweep_to_csv(*sweep.read()), "file", other));
  CHECK_FALSE(continue_sweep(sweep_to_json(*sweep.read()), "file", other));
  for (const char* rubbish : {"", "a,b\n1,2\n", "# tilescope.sweep/1 {", "[1,2]", "{\"schema\":\"tilescope.sweep/1\"}", "\x01\x02"})
    CHECK_FALSE(continue_sweep(rubbish, "file", other));
}

TEST_CASE("sweep file: a point that was cut or altered is refused, with its line or number") {
  Growing<SweepResult> sweep(small_sweep());
  REQUIRE(run_sweep(sweep, 2, {}, {}));
  const std::string csv = sweep_to_csv(*sweep.read()), json = sweep_to_json(*sweep.read());
  const auto lines = std::count(csv.begin(), csv.end(), '\n');
  const auto why = [](const std::string& text) {
    SweepResult read = small_sweep();
    const Status status = continue_sweep(text, "file", read);
    CHECK(read.done() == 0);
    return status ? std::string() : status.error().sentence.text();
  };
  const std::string last = fmt::format("file, line {}: ", lines), remove = ". Remove it, and the same command simulates it again";
  // In the middle of the last row, and in its last field.
  const std::size_t row = csv.rfind('\n', csv.size() - 2) + 1, comma = csv.find(',', csv.find(',', row) + 1);
  CHECK(why(csv.substr(0, comma)).starts_with(last + "the point has 2 of "));
  CHECK(why(csv.substr(0, comma)).ends_with(remove));
  CHECK(why(csv.substr(0, csv.size() - 4)) == last + "the point was cut or altered, its checksum does not match" + remove);
  std::string altered = csv;
  altered[comma + 1] = altered[comma + 1] == '7' ? '8' : '7';
  CHECK(why(altered) == last + "the point was cut or altered, its checksum does not match" + remove);
  CHECK(why(json.substr(0, json.size() / 2)).find("is a sweep in JSON that was cut, at or before line ") != std::string::npos);
  std::string changed = json;
  const std::size_t cycles = changed.find("\"cycles\": ") + 10;
  changed.insert(cycles, "1");
  CHECK(why(changed).starts_with("file, point 1: the point was cut or altered"));
  // A file without checksums is of another program.
  CHECK(why(csv.substr(0, csv.find(",check\n")) + "\n").find("line 2: the columns do not end in check") != std::string::npos);
}

TEST_CASE("plot: axes contain their values, ticks are round and inside") {
  const std::vector<double> values = {3, 700, 0, -1, 1e9};
  const PlotAxis axis = axis_over("x", values);
  CHECK(axis.low < 3);
  CHECK(axis.low > 0);
  CHECK(axis.high > 1e9);
  int written = 0;
  for (const PlotTick& tick : plot_ticks(axis, 6)) written += tick.text.empty() ? 0 : 1;
  CHECK(written >= 2);
  CHECK(written <= 6);
  PlotAxis doubles = axis_over("n", std::vector<double>{64, 4096});
  doubles.base = 2;
  for (const PlotTick& tick : plot_ticks(doubles, 20)) CHECK(tick.value >= doubles.low);
  const PlotAxis linear = axis_over("y", std::vector<double>{0, 5}, false);
  for (const PlotTick& tick : plot_ticks(linear, 5)) CHECK(tick.value <= linear.high * 1.001);
  CHECK(axis_over("nothing", {}).high > axis_over("nothing", {}).low);
}

TEST_CASE("causes: every stall is traced back to a first cause") {
  for (const char* algorithm : {"standard", "flash1", "flash2", "hopper_ping_pong"}) {
    SimulationRequest request;
    request.algorithm = algorithm;
    request.gpu = *load_gpu(algorithm == std::string_view("hopper_ping_pong") ? "h100" : "toy");
    request.problem = {.heads = 4, .seq_q = 128, .seq_kv = 128, .head_dim = 16};
    if (request.gpu.id == "h100") request.problem = {.heads = 4, .kv_heads = 4, .seq_q = 512, .seq_kv = 512, .head_dim = 64};
    const auto simulation = *simulate(request);
    const TimelineData data = make_timeline(*simulation, std::make_shared<const StepIndex>(make_step_index(*simulation, 0)));
    const auto intervals = simulation->trace->intervals(0);
    int followed = 0;
    for (std::size_t i = 0; i < intervals.size(); i += 7) {
      if (intervals[i].cause == WaitCause::none || intervals[i].start - intervals[i].ready < 1) continue;
      const auto chain = cause_chain(*simulation, data, i);
      REQUIRE_FALSE(chain.empty());
      CHECK(chain.front().interval == i);
      for (const CauseLink& link : chain) CHECK((link.name != "none" && !link.name.empty()));
      for (std::size_t link = 1; link < chain.size(); ++link) {
        CHECK(chain[link].interval < chain[link - 1].interval);  // by start: never forward in time
        CHECK_FALSE(chain[link].why.empty());
      }
      followed += chain.size() > 1 ? 1 : 0;
    }
    CHECK(followed > 0);
  }
}

namespace {

/// A run that is recorded on an H100.
Session::Start recorded_start(CenterView center) {
  Session::Start start;
  start.request.gpu = *load_gpu("h100");
  start.request.algorithm = "flash3";
  start.request.problem = {
      .batch = 2, .heads = 8, .kv_heads = 2, .seq_q = 325, .seq_kv = 325, .head_dim = 128, .dtype = DataType::fp16};
  start.measurements = load_measurements_of("h100");
  start.center = center;
  return start;
}

}  // namespace

TEST_CASE("studies: all rungs of the ladder are at one clock, at which the fastest has the time that simulate gives") {
  Session::Start start = recorded_start(CenterView::ladder);
  start.request.problem.seq_q = start.request.problem.seq_kv = 333;
  Session session(std::move(start));
  session.finish();
  REQUIRE(session.view().studies->ladder != nullptr);
  REQUIRE(session.view().studies->under_load != nullptr);
  const LadderStudy& ladder = *session.view().studies->ladder;
  const Recordings recordings = load_recordings(ladder.of.gpu);
  REQUIRE(ladder.clock);
  double fewest = 1e18;
  std::string fastest;
  for (const LadderRung& rung : ladder.rungs) {
    CAPTURE(rung.algorithm);
    REQUIRE(rung.outcome);
    SimulationRequest alone = ladder.of;
    alone.algorithm = rung.algorithm;
    const auto highest = *simulate(alone);
    if (highest->cycles.value <= fewest) {
      fewest = highest->cycles.value;
      fastest = rung.algorithm;
    }
    CHECK(rung.outcome->time_ns == (*simulate(at_clock(alone, ladder.clock->hz)))->time.value);
    if (rung.algorithm != ladder.clock->algorithm) continue;
    const auto loaded = run_under_load(recordings, *highest);
    REQUIRE(loaded);
    CHECK(ladder.clock->hz == loaded->clock.hz);
    CHECK(rung.outcome->time_ns == loaded->simulation->time.value);
  }
  CHECK(ladder.clock->algorithm == fastest);
}

TEST_CASE("studies: the time of a run is the one at its clock under load in every view that compares runs") {
  Session session(recorded_start(CenterView::what_if));
  session.finish();
  const auto loaded = session.view().studies->under_load;
  REQUIRE(loaded != nullptr);
  const double time = loaded->simulation->time.value;
  CHECK(session.view().studies->what_if->base->time_ns == time);
  CHECK(session.view().studies->limit->before_ns == time);
  session.apply(SetCenter{CenterView::fit});
  session.finish();
  const FitMap& real = session.view().studies->fit->maps.front();
  CHECK(real.find(real.usual)->outcome->time_ns == time);
  session.apply(SetCenter{CenterView::roofline});
  session.finish();
  for (const RooflineKernel& kernel : session.view().studies->roofline->kernels)
    if (kernel.chosen) CHECK(kernel.outcome.time_ns == time);
  session.apply(SetSweep{"seq=325", {"flash3"}, SweepQuantity::time});
  session.apply(SetCenter{CenterView::sweep});
  session.finish();
  CHECK(session.view().studies->sweep->points[0]->wall_ns() == time);
  session.apply(PinRun{});
  session.apply(SetTile{ProgramTile(128, 64), "block_kv"});
  session.apply(SetCenter{CenterView::compare});
  session.finish();
  const auto compared = session.view().pinned.comparison;
  REQUIRE(compared != nullptr);
  CHECK(compared->first->time.value == time);
  CHECK(compared->second->request.gpu.sm_clock_hz == loaded->clock.hz);
  session.apply(SetTile{{}, "block_kv"});
  session.apply(SetCenter{CenterView::stage});
  session.apply(SetRace{true});
  session.finish();
  const auto race = session.view().studies->race;
  REQUIRE(race != nullptr);
  CHECK(race->second->time.value == time);
  // A run is compared with the same without its mask at its own clock.
  session.apply(SetRace{false});
  AttentionProblem causal = loaded->simulation->request.problem;
  causal.causal = true;
  session.apply(SetProblem{causal, "problem"});
  session.apply(SetCenter{CenterView::mask});
  session.finish();
  const auto dense = session.view().studies->dense;
  REQUIRE(dense != nullptr);
  CHECK(dense->masked->time.value == session.view().studies->under_load->simulation->time.value);
  CHECK(dense->dense->request.gpu.sm_clock_hz == dense->masked->request.gpu.sm_clock_hz);
  CHECK_FALSE(dense->dense->request.problem.causal);
  // Both programs of a race are at one clock.
  CHECK(race->first->request.gpu.sm_clock_hz == race->second->request.gpu.sm_clock_hz);
}

TEST_CASE("studies: a lesson has one clock, that of the runs as they are drawn") {
  Session::Start start = recorded_start(CenterView::stage);
  start.measurements = load_measurements_of("h200");
  start.request.gpu = *load_gpu("h200");
  start.request.algorithm = "flash2";
  start.lessons = std::make_shared<const LessonList>(load_lesson_list());
  Session session(std::move(start));
  // Its text says times and busy shares of the run without a mask and of the run itself.
  session.apply(OpenLesson{"09-causal-balance", 3});
  session.finish();
  const auto shown = [&] { return session.view().lanes.front().simulation; };
  CHECK(session.view().studies->under_load == nullptr);
  REQUIRE(session.view().studies->limit != nullptr);
  CHECK(session.view().studies->limit->before_ns == shown()->time.value);
  session.apply(CloseLesson{});
  session.finish();
  REQUIRE(session.view().studies->under_load != nullptr);
  CHECK(session.view().studies->limit->before_ns == session.view().studies->under_load->simulation->time.value);
  CHECK(session.view().studies->limit->before_ns > shown()->time.value);
}

}  // namespace tilescope
