// Figures of lessons are the simulation's own numbers.
#include <algorithm>
#include <clocale>
#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "app/model/lessons/lesson_check.h"
#include "app/model/lessons/lesson_expression.h"
#include "app/model/lessons/lesson_list.h"
#include "app/model/lessons/lesson_runs.h"
#include "app/model/requests/assets.h"
#include "app/model/run_data/exactness.h"
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
  CHECK(recorded_at("1747000000"));
  CHECK_FALSE(recorded_at("1600000000"));
  // Also where no run beside it is at the clock of the GPU's file.
  constexpr const char* link = "gpu=h200&heads=16&seq=4096&head_dim=64&sm.clock_hz=";
  FigureRuns as_recorded = runs_of(std::string(link) + "1747000000"), other_clock = runs_of(std::string(link) + "1600000000");
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

TEST_CASE("lesson figures: the first reason that fits a wrong answer is its reason") {
  const auto lesson = parse_lesson(small_lesson, "x", "x.md");
  REQUIRE(lesson);
  StateRuns runs(&load_gpu);
  const auto why = [&](std::size_t page, const LessonAnswer& answer) {
    const auto figures = page_figures(**lesson, page, runs, {}, {});
    REQUIRE_MESSAGE(figures, (figures ? std::string() : figures.error().sentence.text()));
    const LessonWrong* wrong = why_wrong(*(*lesson)->pages[page].ask, answer, *figures);
    return wrong == nullptr ? std::string() : plain_text(wrong->say);
  };
  LessonAnswer answer;
  answer.option = 0;
  CHECK(why(0, answer) == "It never stores the {} scores.");
  answer.option = 1;
  CHECK(why(0, answer).empty());          // right
  CHECK(why(2, LessonAnswer{}).empty());  // wrong, and no reason is written
  answer.number = 16;
  CHECK(why(1, answer).empty());
  answer.number = 4.3;  // d is 4, and the tolerance a tenth
  CHECK(why(1, answer) == "That is the length of a row, at step {}.");
  answer.number = 4.5;
  CHECK(why(1, answer) == "Count the rows of K.");
  answer.number = 250;
  CHECK(why(1, answer) == "That is the number of scores.");
  answer.given = false;
  CHECK(why(1, answer).empty());
  answer.given = true;
  answer.order = {0, 1};
  CHECK(why(3, answer) == "O is written once.");
  // Figures of a reason are those of the reveal: the step that it plays to.
  CHECK(page_figures(**lesson, 1, runs, {}, {})->revealed.at("step") == 3);
}

TEST_CASE("lesson figures: a wrong drawing has the reason of the way it is off") {
  std::string text = small_lesson;
  const std::string curve = "curve = \"exps\"\n";
  REQUIRE(text.find(curve) != std::string::npos);
  text.insert(text.find(curve) + curve.size(),
              "wrong = [{ drawn = \"above\", say = \"High.\" }, { drawn = \"below\", say = \"Low.\" }, { say = \"Other.\" }]\n");
  const auto lesson = parse_lesson(text, "x", "x.md");
  REQUIRE_MESSAGE(lesson, (lesson ? std::string() : lesson.error().sentence.text()));
  const LessonQuestion& ask = *(*lesson)->pages[4].ask;
  PageFigures figures;
  figures.curve = {10, 20, 40};
  const auto why = [&](std::vector<double> drawn) {
    LessonAnswer answer;
    answer.drawn = std::move(drawn);
    const LessonWrong* wrong = why_wrong(ask, answer, figures);
    return wrong == nullptr ? std::string() : plain_text(wrong->say);
  };
  CHECK(why({14, 11, 40}).empty());  // within a half everywhere
  CHECK(why({20, 20, 40}) == "High.");
  CHECK(why({20, 11, 40}) == "High.");  // the second is below, but near enough
  CHECK(why({10, 20, 10}) == "Low.");
  CHECK(why({20, 20, 10}) == "Other.");
  figures.curve = {10, 20, 80};
  CHECK(why({10, 28, 64}).empty());      // bends less, but upwards
  CHECK(why({10, 30, 60}) == "Other.");  // near enough everywhere, but nearly straight

  StateRuns runs(&load_gpu);
  const auto findings = [&](const std::string& reasons) {
    std::string changed = text;
    const std::size_t from = changed.find("wrong = [{ drawn");
    changed.replace(from, changed.find('\n', from) - from, reasons);
    const auto again = parse_lesson(changed, "x", "x.md");
    return again ? fmt::format("{}", fmt::join(check_pages(**again, runs, {}), "\n")) : again.error().sentence.text();
  };
  const std::string high = "{ drawn = \"above\", say = \"High.\" }", low = "{ drawn = \"below\", say = \"Low.\" }",
                    shape = "{ drawn = \"shape\", say = \"Shape.\" }", rest = "{ say = \"Other.\" }";
  CHECK(findings("wrong = [" + high + "," + low + "," + shape + "]").empty());
  CHECK(findings("wrong = [" + high + "," + low + "," + shape + "," + rest + "]").find("take every wrong drawing") !=
        std::string::npos);
  CHECK(findings("wrong = [" + high + "," + high + "]").find("drawn = \"above\" has a second reason") != std::string::npos);
  CHECK(findings("wrong = [{ drawn = \"left\", say = \"No.\" }]").find("drawn must be") != std::string::npos);
}

TEST_CASE("lesson: a drawing differs from its curve in how steep it is, and where the two part or meet") {
  using Slope = CurveDifference::Slope;
  const std::vector<double> xs = {16, 32, 64, 128}, curve = {10, 40, 160, 640};
  const auto difference = [&](const std::vector<double>& drawn, double tolerance = 0.5) {
    return *curve_difference(xs, drawn, curve, tolerance);
  };
  CHECK(difference({10, 20, 40, 80}).slope == Slope::too_flat);
  CHECK(difference({1, 40, 160, 640}).slope == Slope::too_steep);
  CHECK(difference({640, 160, 40, 10}).slope == Slope::other_way);
  CHECK(difference({20, 80, 320, 1280}).slope == Slope::right);  // twice as high everywhere
  CHECK_FALSE(difference({0, 40, 160, 640}).slope);
  CHECK(difference({10, 40, 60, 80}).parts_after == 1);
  CHECK_FALSE(difference({10, 40, 60, 80}).meets_at);
  CHECK(difference({1, 10, 160, 640}).meets_at == 2);
  for (const auto& both : {difference({10, 400, 160, 80}), difference(curve), difference({1, 1, 1, 1})}) {
    CHECK_FALSE(both.parts_after);
    CHECK_FALSE(both.meets_at);
  }
  CHECK_FALSE(curve_difference(xs, {1, 2}, curve, 0.5));
}

TEST_CASE("lessons: a straight line through the ends of the HBM bytes of standard attention is told that they bend") {
  const auto lesson = load_lesson(load_lesson_list(), "1", "en");
  REQUIRE(lesson);
  const auto page = std::ranges::find_if((*lesson)->pages,
                                         [](const LessonPage& each) { return each.ask && each.ask->kind == QuestionKind::draw; });
  REQUIRE(page != (*lesson)->pages.end());
  StateRuns runs(&load_gpu);
  const auto figures = page_figures(**lesson, static_cast<std::size_t>(page - (*lesson)->pages.begin()), runs, {}, {});
  REQUIRE(figures);
  const std::vector<double> across = places_across(page->ask->xs), &curve = figures->curve;
  LessonAnswer straight, exact;
  for (const double part : across) straight.drawn.push_back(curve.front() + part * (curve.back() - curve.front()));
  exact.drawn = curve;
  CHECK(is_right(*page->ask, exact, *figures));
  CHECK_FALSE(is_right(*page->ask, straight, *figures));
  const LessonWrong* const reason = why_wrong(*page->ask, straight, *figures);
  REQUIRE(reason != nullptr);
  CHECK(plain_text(reason->say).find("straight line") != std::string::npos);
}

TEST_CASE("lesson check: a reason that no answer gets, and options in the right order, are findings") {
  StateRuns runs(&load_gpu);
  const auto findings = [&](const std::string& from, const std::string& to) {
    std::string text = small_lesson;
    REQUIRE(text.find(from) != std::string::npos);
    const auto lesson = parse_lesson(text.replace(text.find(from), from.size(), to), "x", "x.md");
    REQUIRE_MESSAGE(lesson, (lesson ? std::string() : lesson.error().sentence.text()));
    std::vector<std::string> found = check_pages(**lesson, runs, {});
    for (const std::string& digit : check_digits(**lesson)) found.push_back(digit);
    const auto plain = parse_lesson(small_lesson, "y", "y.md");
    REQUIRE(plain);
    for (const std::string& other : check_same_structure(**plain, **lesson)) found.push_back(other);
    return fmt::format("{}", fmt::join(found, "\n"));
  };
  CHECK(findings("choice = 1", "choice = 1").empty());
  CHECK(findings("[8, 16, 32] }\ncurve = \"exps\"", "[8, 16, 24] }\ncurve = \"N + 100\"").find("a flat line at 112") !=
        std::string::npos);
  CHECK(findings("choice = 1", "choice = 2").find("x.md:24: option 2 is the right one: it needs no reason") == 0);
  CHECK(findings("near = \"d\"", "near = \"N\"").find("x.md:40: near is 16, within the tolerance of the right answer, 16") == 0);
  CHECK(findings("near = \"d\"", "near = \"N / (N - 16)\"").find("x.md:40: 'N / (N - 16)' cannot be computed") == 0);
  CHECK(findings("near = \"N * Nk\"", "near = \"d + 0.1\"").find("x.md:41: near is 4.1, and the reason at line 40 comes first") ==
        0);
  CHECK(findings("the number of scores", "all 256 scores").find("x.md:41: '256' is a number that nothing computes") == 0);
  CHECK(findings("\"sm_to_l2.O\", \"l2_to_sm.Q + l2_to_sm.K + l2_to_sm.V\"", "\"N * Nk\", \"N\"")
            .find("the options stand in the right order already: move one, and its value") != std::string::npos);
  CHECK(findings("near = \"d\"", "near = \"d + 1\"").find("here 'reason: near = d + 1', there 'reason: near = d'") !=
        std::string::npos);
}

TEST_CASE("lesson figures: an answer is right within its tolerance") {
  const auto lesson = parse_lesson(small_lesson, "x", "x.md");
  REQUIRE(lesson);
  const LessonQuestion& number = *(*lesson)->pages[1].ask;
  PageFigures figures;
  figures.answer = 16;
  LessonAnswer answer;
  answer.number = 17;
  CHECK(is_right(number, answer, figures));
  answer.number = 18;
  CHECK_FALSE(is_right(number, answer, figures));
  answer.number = std::nan("");
  CHECK_FALSE(is_complete(number, answer));
  const LessonQuestion& order = *(*lesson)->pages[3].ask;
  figures.values = {1, 3};
  answer.order = {1, 0};
  CHECK(is_complete(order, answer));
  CHECK(is_right(order, answer, figures));
  answer.order = {0, 1};
  CHECK_FALSE(is_right(order, answer, figures));
  answer.order = {0, 0};
  CHECK_FALSE(is_complete(order, answer));
}

TEST_CASE("lessons: lesson 20 takes no flat and no straight line for a time that grows in steps") {
  const auto lesson = load_lesson(load_lesson_list(), "20", "en");
  REQUIRE(lesson);
  StateRuns runs(&load_gpu);
  const auto figures = page_figures(**lesson, 5, runs, {}, {});
  REQUIRE(figures);
  const LessonQuestion& ask = *(*lesson)->pages[5].ask;
  REQUIRE(ask.kind == QuestionKind::draw);
  const std::vector<double>& curve = figures->curve;
  LessonAnswer exact, flat, straight;
  exact.drawn = curve;
  flat.drawn = {37.8, 40, 40, 40};
  for (const double part : places_across(ask.xs)) straight.drawn.push_back(curve.front() + part * (curve.back() - curve.front()));
  CHECK(is_right(ask, exact, *figures));
  CHECK_FALSE(is_right(ask, flat, *figures));
  CHECK_FALSE(is_right(ask, straight, *figures));
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
