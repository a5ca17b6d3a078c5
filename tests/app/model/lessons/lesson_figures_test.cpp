// Figures of lessons are the simulation's own numbers.
#include <clocale>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/lesson_expression.h"
#include "app/model/lessons/lesson_list.h"
#include "app/model/lessons/lesson_parser.h"
#include "app/model/lessons/lesson_runs.h"
#include "app/model/lessons/lesson_task.h"
#include "app/model/lessons/page_figures.h"
#include "app/model/requests/assets.h"
#include "sim/analysis/roofline.h"
#include "tests/app/model/lessons/lesson_fixture.h"

using namespace tilescope;

namespace {

FigureRuns runs_of(const std::string& link, const std::string& other = {}) {
  StateRuns states(&load_gpu);
  FigureRuns runs(load_measurements());
  const auto state = from_link(link);
  REQUIRE(state);
  const auto run = states.run(*state, {});
  REQUIRE_MESSAGE(run, (run ? std::string() : run.error().sentence.text()));
  runs.set("", *run);
  if (!other.empty()) runs.set("other", *states.run(*from_link(changed_link(link, other)), {}));
  return runs;
}

double value_of(FigureRuns& runs, const std::string& expression) {
  const auto value = evaluate(expression, [&](const std::string& name) { return runs.value(name); });
  REQUIRE_MESSAGE(value, (value ? std::string() : value.error().sentence.text()));
  return *value;
}

std::string refusal(FigureRuns& runs, const std::string& expression) {
  const auto value = evaluate(expression, [&](const std::string& name) { return runs.value(name); });
  return value ? "" : value.error().sentence.text();
}

constexpr const char* small = "seq=16&head_dim=4&block_q=4&block_kv=4&blocks_per_sm=1&step=9&row=1";

}  // namespace

TEST_CASE("lesson figures: traffic, time and work are those of the simulation") {
  FigureRuns runs = runs_of(small, "algorithm=standard");
  const Simulation& run = *runs.run("").simulation;
  for (const Link link : all_links) {
    CAPTURE(to_string(link));
    CHECK(value_of(runs, std::string(to_string(link))) == static_cast<double>(run.ledger.total(link).value));
    for (const Tensor tensor : run.program->tensors())
      CHECK(value_of(runs, fmt::format("{}.{}", to_string(link), to_string(tensor))) ==
            static_cast<double>(run.ledger.total(tensor, link).value));
  }
  // HBM bytes are those of the counters; what is still dirty in the L2 at the end is another figure.
  CHECK(value_of(runs, "hbm") == value_of(runs, "hbm_read + hbm_write"));
  CHECK(value_of(runs, "hbm_write + dirty") == static_cast<double>(run.hbm_write_after_flush.value));
  CHECK(value_of(runs, "dirty") > 0);
  double by_tensor = 0, dirty = 0;
  for (const Tensor tensor : run.program->tensors()) {
    by_tensor += value_of(runs, fmt::format("hbm.{}", to_string(tensor)));
    dirty += value_of(runs, fmt::format("dirty.{}", to_string(tensor)));
  }
  CHECK(value_of(runs, "hbm") == by_tensor);
  CHECK(value_of(runs, "dirty") == dirty);
  CHECK(value_of(runs, "intensity") == doctest::Approx(value_of(runs, "operations / hbm")));
  CHECK(value_of(runs, "operations") > value_of(runs, "flops"));
  CHECK(value_of(runs, "hbm.S") == 0);  // flash2 never stores it
  CHECK(value_of(runs, "other.sm_to_l2.S") > 0);
  CHECK(value_of(runs, "cycles") == run.cycles.value);
  CHECK(value_of(runs, "us * 1000") == doctest::Approx(run.time.value));
  CHECK(value_of(runs, "flops") == static_cast<double>(run.flops));
  CHECK(value_of(runs, "exps") == static_cast<double>(run.exps));
  CHECK(value_of(runs, "peak_hbm - extra_hbm") == static_cast<double>(run.peak_hbm.value - run.extra_hbm.value));
  CHECK(value_of(runs, "busy.tensor") == run.utilisation[static_cast<std::size_t>(Bound::tensor)]);
  CHECK(value_of(runs, "busy.hbm") == run.utilisation[static_cast<std::size_t>(Bound::hbm)]);
  CHECK(value_of(runs, "useful") == product_share(run));
  CHECK(value_of(runs, "useful") > 0);
  CHECK(value_of(runs, "useful <= busy.tensor") == 1);
  CHECK(value_of(runs, "B * H * N * Nk * d * element_bytes") == 16 * 16 * 4 * 2);
  CHECK(value_of(runs, "block_q + block_kv") == 8);
  CHECK(value_of(runs, "blocks") == static_cast<double>(run.launches.front().blocks));
  CHECK(value_of(runs, "waves") == run.launches.front().waves);
  CHECK(value_of(runs, "gpu.l2.capacity_bytes") == run.request.gpu.l2_capacity_bytes);
  CHECK(value_of(runs, "step") == 9);
  CHECK(value_of(runs, "steps") == static_cast<double>(run.trace->step_count(0)));
  for (const RooflinePoint& point : whole_kernel_points(run, roofline_points(run)))
    if (point.level == Ceiling::hbm) CHECK(value_of(runs, "intensity") == point.operations() / point.bytes);
  CHECK(value_of(runs, "ridge") == doctest::Approx(roofline_of(run.request.gpu, 0).ceilings.front().ridge));
  CHECK(value_of(runs, "tiles.full") == 16);
  double waits = 0;
  for (const Interval& interval : run.trace->intervals(0))
    if (interval.cause == WaitCause::data) waits += interval.start - interval.ready;
  CHECK(value_of(runs, "waits.data") == doctest::Approx(waits));
}

TEST_CASE("lesson figures: a row's softmax is the tile machine's at that step") {
  FigureRuns runs = runs_of(
      "seq=4&head_dim=4&dtype=fp32&block_q=4&block_kv=2&q=2,0,0,0;2,0,0,0;2,0,0,0;2,0,0,0"
      "&k=0.6931472,0,0,0;1.386294,0,0,0;2.079442,0,0,0;2.772589,0,0,0&v=4,1,0,0;2,1,0,0;8,1,0,0;1,1,0,0&step=24&row=0");
  CHECK(value_of(runs, "row.O.0 / row.l") == doctest::Approx((2 * 4 + 4 * 2 + 8 * 8 + 16 * 1) / 30.0).epsilon(0.001));
  CHECK(value_of(runs, "error.self") < 1e-5);
  CHECK(refusal(runs, "row.O.9").find("4 columns") != std::string::npos);
}

TEST_CASE("lesson figures: elements and products of tiles are the tile machine's, of the block at the step") {
  const std::string link =
      "algorithm=flash2_backward&seq=4&head_dim=2&dtype=fp32&block_q=2&block_kv=2&blocks_per_sm=1"
      "&q=1.414214,0;1.414214,0;1.414214,0;1.414214,0&k=0,0;0.6931472,0;1.386294,0;0,0&v=2,0;1,1;0,1;1,2&step=21";
  FigureRuns runs = runs_of(link, "sm=1");
  CHECK(value_of(runs, "value.P.r0.c1") == doctest::Approx(0.25));  // 2 of 1 + 2 + 4 + 1
  CHECK(value_of(runs, "other.value.P.r0.c0") == doctest::Approx(0.5));
  CHECK(value_of(runs, "value.V.r1.c1") == 1);
  CHECK(value_of(runs, "dot.dO.r0.V.r1") == doctest::Approx(value_of(runs, "value.dP.r0.c1")));
  CHECK(value_of(runs, "dot.P.r0.V.c0") == doctest::Approx(0.125 * 2 + 0.25 * 1));
  // What makes D enough: the sum over the keys of both blocks is a product of two rows that neither of them needs the other for.
  CHECK(value_of(runs, "dot.P.r0.dP.r0 + other.dot.P.r0.dP.r0") == doctest::Approx(value_of(runs, "value.D.r0.c0")));
  CHECK(refusal(runs, "value.P.r0").find("write value.P.r0.c0") != std::string::npos);
  CHECK(refusal(runs, "value.P.r0.c7").find("2 columns") != std::string::npos);
  CHECK(refusal(runs, "value.P.r7.c0").find("2 x 2") != std::string::npos);
  CHECK(refusal(runs, "value.Z.r0.c0").find("no tile 'Z'") != std::string::npos);
  CHECK(refusal(runs, "value.dQ.r0.c0").find("dQ holds nothing at this step") != std::string::npos);
  CHECK(refusal(runs, "dot.P.r0").find("write dot.dO.r0.O.r0") != std::string::npos);
  CHECK(refusal(runs, "dot.P.r0.D.c0.K").find("write dot.") != std::string::npos);
  FigureRuns early = runs_of(link, "step=2");
  CHECK(refusal(early, "other.value.D.r0.c0").find("holds nothing at this step") != std::string::npos);
  CHECK(refusal(early, "dot.P.r0.D.r0").find("lines of 2 and 1") != std::string::npos);
}

TEST_CASE("lesson figures: another order of blocks changes bits of dQ alone, and none where the order of its sum is fixed") {
  const auto differs = [](const std::string& link, const char* figure) {
    FigureRuns runs = runs_of(link, "block_order=reversed");
    return value_of(runs, figure);
  };
  const std::string adding = "algorithm=flash2_backward&dtype=fp32";
  CHECK(differs(adding, "differ.other.dQ") > 0);
  CHECK(differs(adding, "apart.other.dQ") > 0);
  CHECK(differs(adding, "apart.other.dQ") < 1e-5);
  CHECK(differs(adding, "differ.other.dK + differ.other.dV") == 0);
  CHECK(differs(adding + "&seq=32&block_q=16&block_kv=16", "differ.other.dQ") == 0);  // a + b is b + a
  for (const char* fixed : {"flash2_backward_two_pass", "flash2_backward_deterministic"})
    CHECK(differs(fmt::format("algorithm={}&dtype=fp32", fixed), "differ.other.dQ + apart.other.dQ") == 0);
  FigureRuns runs = runs_of(adding, "block_order=reversed");
  CHECK(refusal(runs, "differ.other").find("write differ.other.dQ") != std::string::npos);
  CHECK(refusal(runs, "differ.othr.dQ").find("there is no figure differ.othr.dQ") != std::string::npos);
  CHECK(refusal(runs, "differ.other.dX").find("leaves no 'dX'") != std::string::npos);
}

TEST_CASE("lesson figures: the mask's tiles add up to all of them") {
  FigureRuns runs = runs_of("seq=64&head_dim=16&block_q=16&block_kv=16&causal=1");
  CHECK(value_of(runs, "tiles.empty") == 6);
  CHECK(value_of(runs, "tiles.partial") == 4);
  CHECK(value_of(runs, "tiles.full") == 6);
}

TEST_CASE("lesson figures: an access costs what its words in banks or its sectors say") {
  const std::string column = std::string(small) + "&access=column";
  FigureRuns runs = runs_of(column, "swizzled=1");
  CHECK(value_of(runs, "access.wavefronts") == 32);  // each lane another row, and all rows begin in one bank
  CHECK(value_of(runs, "access.least") == 1);
  CHECK(value_of(runs, "access.conflicts") == 31);
  CHECK(value_of(runs, "other.access.wavefronts") == 4);  // eight chunks for 32 lanes
  CHECK(refusal(runs, "access.sectors").find("has no sectors") != std::string::npos);
  FigureRuns global = runs_of(column, "access=shifted");
  CHECK(value_of(global, "other.access.sectors") == 5);  // 128 bytes off by 4
  CHECK(refusal(global, "other.access.wavefronts").find("has no wavefronts") != std::string::npos);
}

TEST_CASE("lesson figures: an unknown name lists the nearest") {
  FigureRuns runs = runs_of(small, "algorithm=standard");
  CHECK(refusal(runs, "hbn").find("did you mean hbm?") != std::string::npos);
  CHECK(refusal(runs, "othr.hbm").find("did you mean other?") != std::string::npos);
  CHECK(refusal(runs, "hbm.X").find("no tensor 'X'") != std::string::npos);
  CHECK(refusal(runs, "gpu.l2.capacty_bytes").find("did you mean gpu.l2.capacity_bytes?") != std::string::npos);
  CHECK(refusal(runs, "cycles.K").find("has no part") != std::string::npos);
  CHECK(refusal(runs, "busy.tensr").find("did you mean tensor?") != std::string::npos);
  CHECK(refusal(runs, "row.Z").find("there is no figure row.Z") != std::string::npos);
  CHECK(refusal(runs, "measured.us").find("nothing is recorded") != std::string::npos);
  CHECK(refusal(runs, "1 / 0").find("not a finite number") != std::string::npos);
  CHECK(refusal(runs, "").find("cannot be computed") != std::string::npos);
  CHECK(refusal(runs, "hbm,cycles").find("a comma") != std::string::npos);
  CHECK(refusal(runs, std::string(600, '1')).find("at most 500") != std::string::npos);
}

TEST_CASE("lesson figures: no locale changes a number") {
  FigureRuns runs = runs_of(small);
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* name : {"de_DE.UTF-8", "ko_KR.UTF-8", "C"}) {
    if (std::setlocale(LC_ALL, name) == nullptr) continue;
    CHECK(value_of(runs, "1.5 * 2.25 + min(0.5, 3)") == 3.875);
  }
  std::setlocale(LC_ALL, before.c_str());
  CHECK(value_of(runs, "round(2.6) + (N > 3 && d < 5 ? 10 : 20) + max(1, 2)") == 15);
}

TEST_CASE("lesson figures: a recorded case has its measured bytes and time") {
  const Measurements known = load_measurements();
  REQUIRE_FALSE(known.bundles.empty());
  const MeasuredCase* flash2 = nullptr;
  for (const MeasuredCase& c : known.bundles.front()->bundle.cases)
    if (c.kernel == "flash2" && c.problem.seq_q <= 1024 && !c.problem.has_mask() && c.counters.contains("hbm_read_bytes"))
      flash2 = &c;
  REQUIRE(flash2 != nullptr);
  WindowState state;
  state.algorithm = "flash2";
  state.gpu = known.bundles.front()->bundle.gpu;
  state.problem = flash2->problem;
  state.tile = ProgramTile(flash2->tile);
  StateRuns states(&load_gpu);
  const auto run = states.run(state, {});
  REQUIRE_MESSAGE(run, (run ? std::string() : run.error().sentence.text()));
  FigureRuns runs(known);
  runs.set("", *run);
  CHECK(value_of(runs, "measured.us") == doctest::Approx(flash2->time_cold_ns.median / 1e3));
  CHECK(value_of(runs, "measured.hbm_read") == flash2->counters.at("hbm_read_bytes").median);
}

TEST_CASE("lesson figures: a page's values are those at its scene, and a reveal's those where it plays to") {
  const auto lesson = parse_lesson(small_lesson, "x", "x.md");
  REQUIRE(lesson);
  StateRuns runs(&load_gpu);
  const auto first = page_figures(**lesson, 0, runs, {}, {});
  REQUIRE_MESSAGE(first, (first ? std::string() : first.error().sentence.text()));
  CHECK(first->shown.contains("standard.hbm / hbm"));
  CHECK(right_option(*(*lesson)->pages[0].ask, *first) == 1);
  const auto run = runs.run((*lesson)->scene_of(0).state, {});
  REQUIRE(run);
  CHECK(first->revealed.at("step") == static_cast<double>(run->simulation->trace->step_count(0)));
  const auto last = page_figures(**lesson, 4, runs, {}, {});
  REQUIRE(last);
  REQUIRE(last->curve.size() == 3);
  CHECK(last->curve[1] == doctest::Approx(4 * last->curve[0]).epsilon(0.3));
  const auto there = task_figures(**lesson, 4, *run, runs, {}, {});
  REQUIRE(there);
  CHECK_FALSE(there->reached);
  const auto solved = task_figures(**lesson, 4, *runs.run((*lesson)->pages[4].task->solution->state, {}), runs, {}, {});
  REQUIRE(solved);
  CHECK(solved->reached);
  CHECK(solved->shown.at("N") == 32);
}

TEST_CASE("lesson figures: a run at the clock of the recording has it too, and one at another clock has not") {
  const auto recorded_at = [](const std::string& clock) {
    const auto lesson = parse_lesson(R"(```lesson
title = "A clock"
minutes = 1
goal = "You can test a clock."
```

## A page

The time is {= us : us}, or {= slow.us : us}.

```scene
link = "gpu=h200&heads=16&seq=4096&head_dim=64&view=compare&step=0"
others = { slow = "sm.clock_hz=)" + clock +
                                         R"(" }
```
)",
                                     "x", "x.md");
    REQUIRE_MESSAGE(lesson, (lesson ? std::string() : lesson.error().sentence.text()));
    StateRuns runs(&load_gpu);
    const auto figures = page_figures(**lesson, 0, runs, load_measurements(), {});
    REQUIRE_MESSAGE(figures, (figures ? std::string() : figures.error().sentence.text()));
    REQUIRE(figures->runs.size() == 2);
    REQUIRE(figures->runs[0].recorded);
    return figures->runs[1].recorded.has_value();
  };
  CHECK(recorded_at("1758000000"));
  CHECK_FALSE(recorded_at("1600000000"));
  // Also where no run beside it is at the clock of the GPU's file.
  constexpr const char* link = "gpu=h200&heads=16&seq=4096&head_dim=64&sm.clock_hz=";
  FigureRuns as_recorded = runs_of(std::string(link) + "1758000000"), other_clock = runs_of(std::string(link) + "1600000000");
  CHECK(value_of(as_recorded, "abs(us / measured.us - 1) < 0.1") == 1);
  CHECK(refusal(other_clock, "measured.us").find("nothing is recorded") != std::string::npos);
}

TEST_CASE("lesson figures: a change that does not reach a goal says whether it serves it") {
  const auto lesson = load_lesson(load_lesson_list(), "6", "en");
  REQUIRE(lesson);
  constexpr std::size_t page = 6;  // halve the bytes of K and V: Br decides
  const std::string scene = to_link((*lesson)->scene_of(page).state);
  StateRuns runs(&load_gpu);
  const auto after = [&](const std::string& change) {
    const auto state = from_link(change.empty() ? scene : changed_link(scene, change));
    REQUIRE(state);
    const auto run = runs.run(*state, {});
    REQUIRE(run);
    const auto figures = task_figures(**lesson, page, *run, runs, {}, {});
    REQUIRE(figures);
    return *figures;
  };
  CHECK_FALSE(after("").changed);
  const TaskFigures keys = after("block_kv=8");
  CHECK(keys.changed);
  CHECK(keys.effect == TaskEffect::unmoved);
  REQUIRE(keys.measures.size() == 2);
  CHECK(keys.measures[0].figure == "l2_to_sm.K");
  CHECK(keys.measures[0].before == keys.measures[0].now);
  const TaskFigures worse = after("block_q=2");
  CHECK(worse.effect == TaskEffect::farther);
  CHECK(worse.measures[0].now > worse.measures[0].before);
  CHECK(after("block_q=6").effect == TaskEffect::closer);
  CHECK(after("block_q=8").reached);
}

TEST_CASE("lessons: every block of the map that lesson 15 calls full is full") {
  const auto lesson = load_lesson(load_lesson_list(), "15", "en");
  REQUIRE(lesson);
  StateRuns runs(&load_gpu);
  const LessonPage& page = (*lesson)->pages[5];
  REQUIRE(page.reveal->scene);
  for (const WindowState* state : {&page.scene->state, &page.reveal->scene->state}) {
    FigureRuns names;
    names.set("", *runs.run(*state, {}));
    CHECK(*names.value("tiles.partial") == 0);
    CHECK(*names.value("tiles.full") > 0);
  }
}

TEST_CASE("lesson list: a page may stand behind the lesson, counted from 1") {
  REQUIRE(lesson_at("20:6"));
  CHECK(lesson_at("20:6")->id == "20");
  CHECK(lesson_at("20:6")->page == 5);
  CHECK(lesson_at("01-why-memory")->page == 0);
  for (const char* wrong : {"", ":2", "20:", "20:0", "20:x", "20:6:answered"}) CHECK_FALSE(lesson_at(wrong));
}
