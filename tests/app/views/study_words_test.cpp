// What the window calls a bottleneck.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>

#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/lesson_list.h"
#include "app/model/measurements/clock_under_load.h"
#include "app/model/requests/assets.h"
#include "app/platform/files.h"
#include "app/ui/say.h"
#include "app/ui/text_record.h"
#include "app/views/algorithm_style.h"
#include "app/views/chrome.h"
#include "app/views/error_words.h"
#include "app/views/lesson/figure_words.h"
#include "app/views/mask/mask_words.h"
#include "app/views/measured_case.h"
#include "app/views/outcome_words.h"
#include "app/views/race/race_reason.h"
#include "app/views/sweep/sweep_figure.h"
#include "app/views/timed_run.h"
#include "app/views/what_if/what_if_words.h"
#include "sim/analysis/format.h"
#include "sim/analysis/outcome.h"
#include "tests/app/model/session/opened_session.h"
#include "tests/app/temporary_folder.h"
#include "tests/app/views/panel_screen.h"
#include "tests/app/views/window_script.h"

using namespace tilescope;

namespace {

NextLimit limit_that_saves(double part) {
  NextLimit limit;
  limit.without = Bound::hbm;
  limit.before_ns = 1000;
  limit.outcome.time_ns = 1000 * (1 - part);
  limit.outcome.bound = Bound::tensor;
  return limit;
}

}  // namespace

TEST_CASE("sweep: a run of both passes is named by both, and not by its forward program") {
  CHECK(algorithm_title("flash2", Pass::forward) == algorithm_title("flash2"));
  CHECK(algorithm_title("flash2", Pass::both) != algorithm_title("flash2"));
}

TEST_CASE("mask: presets are named in words, and several masks are counted") {
  CHECK(preset_words("softcap:cap=30") == "softcap, cap 30");
  CHECK(preset_words("sliding_window:window=512,dilation=2") == "sliding window, window 512, dilation 2");
  SimulationRequest request;
  CHECK(mask_words(request).empty());
  CHECK(brief_mask_words(request).empty());
  request.masking.presets = {"sliding_window:window=512", "softcap:cap=30"};  // the second changes scores
  CHECK(mask_words(request) == "sliding window, window 512");
  CHECK(brief_mask_words(request) == "sliding window");
  request.masking.masks = {"q != kv"};
  CHECK(mask_words(request) == "sliding window, window 512, q != kv");
  CHECK(brief_mask_words(request) == "2 masks");
}

TEST_CASE("lesson: what a goal counts is said in words") {
  CHECK(measure_words({"busy.hbm", 0.9, 0.4}).starts_with("busy share, HBM bandwidth: "));
  CHECK(measure_words({"tiles.partial", 4, 8}).starts_with("tiles of the mask, partial: "));
}

TEST_CASE("bottleneck: what saves a few percent when lifted is only the busiest resource") {
  const NextLimit large = limit_that_saves(0.6), little = limit_that_saves(0.019);
  CHECK(bottleneck_text({Bound::hbm, {}, 0.9, &large}) == "Bottleneck: HBM bandwidth");
  CHECK(next_limit_text({Bound::hbm, {}, 0.9, &large}) == "Without this limit: 2.5× faster, then limited by the tensor cores");
  CHECK(bottleneck_text({Bound::hbm, {}, 0.9, &little}) == "No single bottleneck, busiest: HBM bandwidth");
  CHECK(next_limit_text({Bound::hbm, {}, 0.9, &little}) == "Without HBM bandwidth alone: 1.02× faster");
  const NextLimit slower = limit_that_saves(-0.05);
  CHECK(next_limit_text({Bound::hbm, {}, 0.9, &slower}) == "Without HBM bandwidth alone: no faster");
  CHECK(bottleneck_text({Bound::latency, {}, 0.9, &slower}) == "No single bottleneck");
  CHECK(bottleneck_text({Bound::hbm, {}, 0.9, nullptr}) == "Bottleneck: HBM bandwidth");
}

TEST_CASE("bottleneck: where many SMs have no block, the sentence says how many have one, or for how long they idle") {
  const SmUse few{.all = 132, .with_blocks = 4, .idle = 0.97}, tail{.all = 132, .with_blocks = 132, .idle = 0.48};
  const SmUse full{.all = 132, .with_blocks = 128, .idle = 0.03};
  CHECK(bottleneck_text({Bound::tensor, few, 0.98, nullptr}) == "Bottleneck: tensor cores on 4 of 132 SMs");
  CHECK(idle_text({Bound::tensor, few, 0.98}) == "; the others have no block");
  CHECK(bottleneck_text({Bound::hbm, few, 0.98, nullptr}) == "Bottleneck: HBM bandwidth");
  CHECK(idle_text({Bound::hbm, few, 0.98}) == "; 128 of 132 SMs have no block");
  CHECK(bottleneck_text({Bound::exp, tail, 0.9, nullptr}) == "Bottleneck: exponential unit");
  CHECK(idle_text({Bound::exp, tail, 0.9}) == "; SMs have no block 48 % of the time");
  CHECK(bottleneck_text({Bound::tensor, full, 0.9, nullptr}) == "Bottleneck: tensor cores");
  CHECK(idle_text({Bound::tensor, full, 0.9}).empty());
}

TEST_CASE("bottleneck: SMs without a block are named where they cost more than the busiest resource") {
  const SmUse few{.all = 132, .with_blocks = 4, .idle = 0.97}, tail{.all = 132, .with_blocks = 132, .idle = 0.266};
  const auto text = [](const RunBound& run) { return bottleneck_text(run) + idle_text(run); };
  // Tensor cores are busy longer than SMs have no block. But without them the run would still have its tail.
  const NextLimit large = limit_that_saves(0.28), little = limit_that_saves(0.22);
  CHECK(text({Bound::tensor, tail, 0.635}) == "Bottleneck: tensor cores; SMs have no block 26.6 % of the time");
  CHECK(text({Bound::tensor, tail, 0.635, &large}) == "Bottleneck: tensor cores; SMs have no block 26.6 % of the time");
  CHECK(text({Bound::tensor, tail, 0.635, &little}) == "Bottleneck: SMs without a block (26.6 % of the SM time)");
  CHECK(next_limit_text({Bound::tensor, tail, 0.635, &little}) == "Without HBM bandwidth alone: 1.28× faster");
  CHECK(text({Bound::tensor, few, 0.626}) == "Bottleneck: SMs without a block (128 of 132)");
  // Whatever has no block, HBM is as busy; and without latency nobody knows what the run would be before it is simulated.
  CHECK(text({Bound::hbm, tail, 0.1, &little}).starts_with("Bottleneck: HBM bandwidth"));
  CHECK(text({Bound::latency, tail, 0}).starts_with("Bottleneck: latency"));
}

TEST_CASE("lesson 12: where most SMs have no block, neither the headline nor Compare calls tensor cores the bottleneck") {
  Session::Start start = h200_start({});
  start.lessons = std::make_shared<const LessonList>(load_lesson_list());
  Opened opened(std::move(start));
  opened.after(OpenLesson{"12-not-the-same-twice", 7});
  LessonAnswer none;
  none.given = false;
  View view;
  static_cast<SessionView&>(view) = opened.after(AnswerLesson{std::make_shared<const LessonAnswer>(none)});
  const Simulation& timed = timed_run(view);
  REQUIRE(timed.bound == Bound::tensor);
  CHECK(bottleneck_text(bound_of(timed, view.studies->limit.get())).starts_with("Bottleneck: SMs without a block ("));
  PanelScreen screen({1400, 900});
  const std::string text = screen.text(view, draw_compare_panel);
  CAPTURE(text);
  CHECK(text.find(idle_bound_text(timed.sms) + "; tensor cores: busy ") != std::string::npos);
}

TEST_CASE("roofline: a sentence has one figure of its ceiling, and the busy time is that of the bottleneck above the views") {
  Opened opened(h200_start({.heads = 16, .kv_heads = 16, .seq_q = 1024, .seq_kv = 1024, .head_dim = 64}));
  View view;
  static_cast<SessionView&>(view) = opened.after(SetCenter{CenterView::roofline});
  PanelScreen screen({1600, 900});
  const std::string text = screen.text(view, draw_roofline_panel);
  CAPTURE(text);
  REQUIRE(view.studies->under_load != nullptr);
  const double busy = timed_run(view).utilisation[static_cast<std::size_t>(Bound::tensor)];
  CHECK(text.find("Closest ceiling: tensor cores (") != std::string::npos);
  CHECK(text.find("% reached). Tensor cores busy " + format_percent(busy) + " of the SM time with a block") != std::string::npos);
  CHECK(text.find("useful") == std::string::npos);
  // The headline is that of the run, and the rest says what it is.
  const NextLimit* const limit = view.studies->limit.get();
  const Simulation& timed = timed_run(view);
  CHECK(text.starts_with(bottleneck_text(bound_of(timed, limit)) + idle_text(bound_of(timed, limit)) + ". "));
  CHECK(text.find("Closest ceiling of each launch.") != std::string::npos);
}

/// Sums what a sentence writes as a sum: "S 4.10 kB + Q 2.05 kB − 859 B".
double sum_in(const std::string& sum) {
  static const std::regex part("(− )?([0-9.]+) (B|kB)");
  double all = 0;
  for (std::sregex_iterator at(sum.begin(), sum.end(), part), end; at != end; ++at)
    all += ((*at)[1].matched ? -1 : 1) * std::stod((*at)[2]) * ((*at)[3] == "kB" ? 1e3 : 1);
  return all;
}

TEST_CASE("roofline: presented, it is a picture: the marks have their figures, and no sentence stands below it") {
  Opened opened;
  opened.after(SetCenter{CenterView::roofline});
  PanelScreen screen({1600, 900});
  View view;
  static_cast<SessionView&>(view) = opened.view();
  const std::string alone = screen.text(view, draw_roofline_panel);
  CAPTURE(alone);
  CHECK(alone.find("Closest ceiling") != std::string::npos);
  static_cast<SessionView&>(view) = opened.after(SetPresent{true});
  const std::string presented = screen.text(view, draw_roofline_panel);
  CAPTURE(presented);
  CHECK(presented.find("Closest ceiling") == std::string::npos);
  CHECK(presented.find(" per byte of HBM") != std::string::npos);
  CHECK(presented.find("ridge ") != std::string::npos);
}

TEST_CASE("roofline: the headline has operations per byte without and with the O and L that HBM gets after the run") {
  Opened opened;
  View view;
  static_cast<SessionView&>(view) = opened.after(SetCenter{CenterView::roofline});
  PanelScreen screen({1600, 900});
  const std::string text = screen.text(view, draw_roofline_panel);
  CAPTURE(text);
  const Simulation& run = *view.lane().simulation;
  const auto& kernels = view.studies->roofline->kernels;
  const auto chosen = std::ranges::find(kernels, true, &RooflineKernel::chosen);
  REQUIRE(chosen != kernels.end());
  const double operations = chosen->whole.front().operations();
  const auto during = static_cast<double>((run.ledger.total(Link::hbm_read) + run.ledger.total(Link::hbm_write)).value);
  const auto later = static_cast<double>(dirty_bytes_at_end(run));
  REQUIRE(later > 0);
  const auto per = [&](double bytes) { return format_value(std::round(10 * operations / bytes) / 10); };
  CHECK(text.find(per(during) + " operations per byte of HBM during the run, " + per(during + later) + " with later write-backs") !=
        std::string::npos);
}

TEST_CASE("roofline: the program beside the shown one has one mark, until its marks are asked for") {
  Opened opened;
  View view{opened.view(), nullptr};
  static_cast<SessionView&>(view) = opened.after(SetCenter{CenterView::roofline});
  PanelScreen screen({1400, 900});
  const auto marks_text = [&] { return screen.text(view, draw_roofline_panel); };
  const std::string rest = marks_text();
  CAPTURE(rest);
  CHECK(rest.find("Standard attention, all launches") != std::string::npos);
  CHECK(rest.find("Standard attention softmax\n") == std::string::npos);
  CHECK(rest.find("All marks of Standard attention") != std::string::npos);
}

TEST_CASE("roofline: the parts of a launch's bytes make their total, and the launches make that of the run") {
  Session::Start start = opening_start();
  start.request.algorithm = "standard";
  Opened opened(start);
  View view;
  static_cast<SessionView&>(view) = opened.after(SetCenter{CenterView::roofline});
  PanelScreen screen({1900, 900});
  const std::string text = screen.text(view, draw_roofline_panel);
  CAPTURE(text);
  static const std::regex launch("products\\)? over ([^:]+): ([^\n]+)"), run("all launches: ([^:]+) of HBM: ([^\n]+)");
  int sums = 0;
  for (const std::regex& sentence : {launch, run})
    for (std::sregex_iterator at(text.begin(), text.end(), sentence), end; at != end; ++at, ++sums) {
      CAPTURE((*at)[2].str());
      CHECK(sum_in((*at)[2]) == doctest::Approx(sum_in((*at)[1])).epsilon(0.005));
    }
  CHECK(sums == 5);  // three launches and their run, and FlashAttention-2
  CHECK(text.find("HBM writes only after its end") != std::string::npos);
  CHECK(text.find("HBM writes between launches and after the last") != std::string::npos);
}

TEST_CASE("roofline: a launch that FP32 units limit says so beside its closest ceiling, since they have no line") {
  Session::Start start = opening_start();
  start.request.algorithm = "standard";
  Opened opened(start);
  View view;
  static_cast<SessionView&>(view) = opened.after(SetCenter{CenterView::roofline});
  PanelScreen screen({1900, 900});
  std::string text = screen.text(view, draw_roofline_panel);
  CAPTURE(text);
  const LaunchResult& softmax = timed_run(view).launches[1];
  const std::string busy = format_percent(softmax.utilisation[static_cast<std::size_t>(Bound::fp32)]);
  CHECK(text.find("Busier, and without a line here: FP32 units (" + busy + ")") != std::string::npos);
  // The other launches wait for HBM, and the run does too.
  CHECK(text.find("Busier, and") == text.rfind("Busier, and"));
  CHECK(text.find("Bottleneck: FP32 units") == std::string::npos);

  start.request.gpu.hbm_bytes_per_second = 16e9;
  Opened faster(start);
  static_cast<SessionView&>(view) = faster.after(SetCenter{CenterView::roofline});
  text = screen.text(view, draw_roofline_panel);
  CHECK(text.find("Bottleneck: FP32 units") != std::string::npos);
}

TEST_CASE("bottleneck: a busy share of an SM's own units says that it is of the SM time with a block, in any run") {
  CHECK(busy_text(Bound::tensor, "94 %") == "busy 94 % of the SM time with a block");
  CHECK(busy_text(Bound::hbm, "94 %") == "94 % busy");
}

TEST_CASE("what if: why a run is slower follows from what bounds it") {
  Outcome slow, fast;
  slow.time_ns = 8000, fast.time_ns = 7000;
  slow.bound = fast.bound = Bound::hbm;
  slow.bytes[static_cast<std::size_t>(Link::hbm_read)] = fast.bytes[static_cast<std::size_t>(Link::hbm_read)] = 32000;
  fast.hbm_write_queued_bytes = 5000;
  CHECK(slower_reason(slow, fast, "masked", "dense") ==
        "HBM bytes by the end of the run: masked 32.0 kB, dense 27.0 kB. Written after it: masked 0 B, dense 5.00 kB.");
  CHECK(slower_reason(fast, slow, "masked", "dense").empty());
  slow.bound = Bound::tensor;
  slow.sms.idle = 0.09;
  slow.bytes[static_cast<std::size_t>(Link::hbm_read)] = 16000;
  slow.utilisation[static_cast<std::size_t>(Bound::hbm)] = 0.1;
  CHECK(slower_reason(slow, fast, "grouped", "longest") ==
        "Fewer bytes save no time here: HBM is busy 10 %. Time without a block, mean of all SMs: grouped 9 %, longest 0 %.");
  slow.sms.idle = 0;
  slow.utilisation[static_cast<std::size_t>(Bound::tensor)] = 0.5;
  CHECK(slower_reason(slow, fast, "this", "that").find("Work of its bottleneck (tensor cores): this 4.00 µs, that 0 ns.") !=
        std::string::npos);
  slow.bound = Bound::latency;
  CHECK(slower_reason(slow, fast, "this", "that").find("No unit is the limit") != std::string::npos);
}

TEST_CASE("what if: the best row that the headline names is the shortest of all rows, that of the lifted limit too") {
  Opened opened(h200_start({.heads = 16, .kv_heads = 16, .seq_q = 1024, .seq_kv = 1024, .head_dim = 64}));
  View view;
  static_cast<SessionView&>(view) = opened.after(SetCenter{CenterView::what_if});
  REQUIRE(view.studies->what_if != nullptr);
  REQUIRE(view.studies->what_if->base.has_value());
  auto limit = std::make_shared<NextLimit>();
  limit->without = Bound::tensor;
  limit->before_ns = view.studies->what_if->base->time_ns;
  limit->outcome = *view.studies->what_if->base;
  limit->outcome.time_ns = 0.01 * limit->before_ns;
  limit->outcome.unshared_ns = 0;
  auto studies = std::make_shared<StudyView>(*view.studies);
  studies->limit = limit;
  view.studies = studies.get();
  PanelScreen screen({3000, 900});
  studies->errors = std::make_shared<PredictionErrors>(PredictionErrors{.time = FigureErrors{.runs = 3, .mean = 0.057}});
  const TextRecording recording;
  screen.frame(view, draw_what_if_panel);
  CHECK(recording.text().find(" ±5.7 %. ") != std::string::npos);  // beside the time of the headline
  CHECK(recording.text().find("Best: No bottleneck: tensor cores infinitely fast (100× faster)") != std::string::npos);
}

TEST_CASE("what if: a row whose time the L2 may decide has both ends, and the headline does not promise the shorter one") {
  Opened opened(h200_start({.heads = 16, .kv_heads = 16, .seq_q = 1024, .seq_kv = 1024, .head_dim = 64}));
  View view;
  static_cast<SessionView&>(view) = opened.after(SetCenter{CenterView::what_if});
  auto table = std::make_shared<WhatIfTable>(*view.studies->what_if);
  for (WhatIfRow& row : table->rows) {
    REQUIRE(row.outcome);
    row.outcome->unshared_ns = 0;
    if (row.what.id != "sms_double") continue;
    row.outcome->time_ns = 0.2 * table->base->time_ns;
    row.outcome->unshared_ns = 0.5 * table->base->time_ns;
  }
  auto studies = std::make_shared<StudyView>(*view.studies);
  studies->what_if = table;
  studies->limit = nullptr;
  view.studies = studies.get();
  PanelScreen screen({3000, 900});
  const TextRecording recording;
  screen.frame(view, draw_what_if_panel);
  const std::string text = recording.text();
  CAPTURE(text);
  CHECK(text.find("Best: Twice as many SMs (5.0× faster; at best 2.0× faster if no read shares an L2 lookup)") !=
        std::string::npos);
  CHECK(text.find(fmt::format("{} … ≥ {}", format_time(Nanoseconds(0.2 * table->base->time_ns)),
                              format_time(Nanoseconds(0.5 * table->base->time_ns)))) != std::string::npos);
}

TEST_CASE("mask: a bottleneck that hardly saves time when lifted is only the busiest resource") {
  const Opened opened;
  Simulation run = *opened.view().lane().simulation;
  run.bound = Bound::l2;
  NextLimit limit;
  limit.without = Bound::l2;
  limit.before_ns = 100;
  limit.outcome.time_ns = 99;
  CHECK(mask_reason(run, run, &limit).starts_with("No single bottleneck, busiest: L2 bandwidth"));
  limit.outcome.time_ns = 50;
  CHECK(mask_reason(run, run, &limit).starts_with("Bottleneck: L2 bandwidth"));
}

TEST_CASE("bottleneck: SMs without a block are one bottleneck, whatever the busiest resource is") {
  const SmUse idle = {.all = 132, .with_blocks = 132, .idle = 0.4};
  const RunBound tensor = {.bound = Bound::tensor}, smem = {.bound = Bound::smem};
  const RunBound idle_tensor = {.bound = Bound::tensor, .sms = idle, .busy = 0.3};
  const RunBound idle_smem = {.bound = Bound::smem, .sms = idle, .busy = 0.3};
  CHECK(same_bottleneck(tensor, tensor));
  CHECK_FALSE(same_bottleneck(tensor, smem));
  CHECK_FALSE(same_bottleneck(tensor, idle_tensor));
  CHECK(same_bottleneck(idle_tensor, idle_smem));
}

TEST_CASE("what if: the row of the unchanged run names the bottleneck that the headline names") {
  Opened opened(h200_start({.heads = 16, .kv_heads = 16, .seq_q = 1024, .seq_kv = 1024, .head_dim = 64}));
  View view;
  static_cast<SessionView&>(view) = opened.after(SetCenter{CenterView::what_if});
  auto table = std::make_shared<WhatIfTable>(*view.studies->what_if);
  Outcome& base = table->base.value();
  base.bound = Bound::tensor;
  base.utilisation[static_cast<std::size_t>(Bound::tensor)] = 0.95;
  base.sms = {.all = 132, .with_blocks = 132, .idle = 0.4};
  std::erase_if(table->rows, [](const WhatIfRow& row) { return row.what.id != "l2_unlimited"; });
  REQUIRE(table->rows.size() == 1);
  table->rows.front().outcome = base;  // a change without effect
  auto limit = std::make_shared<NextLimit>(limit_that_saves(0.3));
  limit->without = Bound::tensor;
  limit->outcome.bound = Bound::hbm;
  auto studies = std::make_shared<StudyView>(*view.studies);
  studies->what_if = table;
  studies->limit = limit;
  view.studies = studies.get();
  PanelScreen screen({3000, 900});
  const std::string text = screen.text(view, draw_what_if_panel);
  CAPTURE(text);
  CHECK(text.find("Bottleneck: SMs without a block (40 % of the SM time)") != std::string::npos);
  CHECK(text.find("tensor cores (95 % busy)") == std::string::npos);
  CHECK(text.find("still SMs without a block") != std::string::npos);
}

TEST_CASE("what if: a row says why its change helps as much as it does") {
  Outcome base;
  base.time_ns = 1000;
  base.bound = Bound::tensor;
  base.blocks_per_sm = 2;
  base.utilisation[static_cast<std::size_t>(Bound::tensor)] = 0.95;
  base.utilisation[static_cast<std::size_t>(Bound::hbm)] = 0.084;
  const auto reason = [&](const WhatIfPart& part, const Outcome& now) {
    return row_reasons(part, {base, now, bound_of(base), changed_bound(now, base, nullptr)}, 0.005).front();
  };
  CHECK(bound_reasons(bound_of(base)).front() == "tensor cores (95 % busy)");
  CHECK(reason({Bound::hbm}, base) == "HBM bandwidth was 8 % busy");
  CHECK(reason({.room_on_sm = true}, base) == "still 2 blocks per SM");
  CHECK(reason({}, base) == "still tensor cores (95 % busy)");
  Outcome now = base;
  now.time_ns = 650;
  now.bound = Bound::smem;
  now.utilisation[static_cast<std::size_t>(Bound::smem)] = 0.62;
  CHECK(reason({Bound::tensor}, now) == "now shared memory (62 % busy)");
  now.bound = Bound::latency;
  CHECK(reason({Bound::tensor}, now) == "now latency");
  now = base;
  now.time_ns = 700;
  now.sms = {.all = 264, .with_blocks = 264, .idle = 0.4};
  now.utilisation[static_cast<std::size_t>(Bound::tensor)] = 0.3;
  CHECK(reason({}, now) == "now SMs without a block (40 % of the SM time)");
  // Latency was never a resource that doubles; a resource that bounds the run and helps little is not called idle.
  base.bound = Bound::hbm;
  CHECK(reason({Bound::hbm}, base) == "still HBM bandwidth (8 % busy)");
}

TEST_CASE("what if: a change of a rate names its resource, and more shared memory is room on an SM") {
  SimulationRequest real;
  real.gpu = *load_gpu("h200");
  int rates = 0, rooms = 0;
  for (const WhatIf& what : what_ifs(real)) {
    CAPTURE(what.id);
    const auto changes = [&](std::string_view part_of_key) {
      return std::ranges::any_of(what.assignments,
                                 [&](const std::string& text) { return text.find(part_of_key) != std::string::npos; });
    };
    const bool is_rate = changes("_per_cycle=") || changes("_per_second=");
    const bool is_room = changes("sm.shared_bytes=");
    CHECK(what.part.resource.has_value() == is_rate);
    CHECK(what.part.room_on_sm == is_room);
    rates += is_rate ? 1 : 0;
    rooms += is_room ? 1 : 0;
  }
  CHECK(rates >= 6);
  CHECK(rooms == 1);
}

TEST_CASE("what if: a column has one unit, and either percentages or factors") {
  CHECK(in_unit(25.2e6, byte_unit(554e6)) == "25.2 MB");
  CHECK(in_unit(12.2e9, byte_unit(554e6)) == "12\u2009200 MB");
  CHECK(in_unit(820e3, byte_unit(25.2e6)) == "0.820 MB");
  CHECK(in_unit(998e3, time_unit(1.02e6)) == "0.998 ms");
  CHECK(in_unit(96, byte_unit(96)) == "96 B");
  CHECK_FALSE(needs_factors({0.52, 1, 1.9}));
  CHECK(needs_factors({1, 22}));
  CHECK(difference_text(62, 100, false) == "−38 %");
  CHECK(difference_text(62, 100, true) == "0.62×");
  CHECK(difference_text(100, 100, true) == "same");
}

TEST_CASE("what if: perfect balance is a row where SMs run out of blocks early") {
  const auto text_of = [](int heads, bool causal) {
    AttentionProblem problem = {
        .heads = heads, .kv_heads = heads, .seq_q = 2048, .seq_kv = 2048, .head_dim = 64, .dtype = DataType::fp16};
    problem.causal = causal;
    Opened opened(h200_start(problem));
    View view;
    static_cast<SessionView&>(view) = opened.after(SetCenter{CenterView::what_if});
    PanelScreen screen({3000, 900});
    const TextRecording recording;
    screen.frame(view, draw_what_if_panel);
    const Outcome& base = *view.studies->what_if->base;
    return std::pair(recording.text(), format_time(Nanoseconds(base.balanced_ns)));
  };
  const auto [text, least] = text_of(32, true);
  CHECK(text.find("Perfect balance (a bound)") != std::string::npos);
  CHECK(text.find(least) != std::string::npos);
  // Sixteen equal blocks, each on an SM of its own, end together.
  const std::string balanced_text = text_of(1, false).first;
  CHECK(balanced_text.find(", unchanged") != std::string::npos);
  CHECK(balanced_text.find("Perfect balance (a bound)") == std::string::npos);
}

TEST_CASE("window: a time under load has the mean error of recorded runs beside it, and its tooltip the rest") {
  Session::Start start =
      h200_start({.heads = 4, .kv_heads = 4, .seq_q = 384, .seq_kv = 384, .head_dim = 64, .dtype = DataType::fp16});
  start.measurements = load_measurements_of("h200");
  Opened opened(std::move(start));
  View view;
  static_cast<SessionView&>(view) = opened.view();
  REQUIRE(view.studies->under_load != nullptr);
  const PredictionErrors& errors = view.studies->under_load->errors;
  REQUIRE(errors.time);
  CHECK(error_mark(errors) == "±" + format_percent(errors.time->mean));
  const std::string text = prediction_errors_text(errors, view.lane().simulation->request);
  CHECK(text.find(fmt::format("mean of {} recorded runs that the model had not seen. Of all {} the worst is ", errors.time->runs,
                              errors.time->all_runs)) != std::string::npos);
  CHECK(text.find("The borrowed clock adds ") != std::string::npos);
  PanelScreen screen({2400, 60});
  const auto draw = [](const View& shown, Commands& commands) { draw_transport({{0, 0}, {2400, 60}}, shown, commands); };
  screen.frame(view, draw);
  const TextRecording recording;
  screen.frame(view, draw);
  CHECK(recording.text().find(format_time(view.studies->under_load->simulation->time) + " " + error_mark(errors)) !=
        std::string::npos);
  REQUIRE(errors.clock);
  CHECK(recording.text().find(format_clock(view.studies->under_load->clock.hz) + " ±" + format_percent(errors.clock->mean)) !=
        std::string::npos);
  // Of a program that nobody recorded it says that, and of a GPU that was never built that.
  SimulationRequest on_a100 = view.lane().simulation->request, on_toy = on_a100;
  on_a100.gpu = *load_gpu("a100");
  on_toy.gpu = *load_gpu("toy");
  CHECK(time_errors_text(time_errors_of(*view.measured.known, {on_toy, 1e5}), on_toy) ==
        "toy was never built, so its times have nothing to be compared with.");
  CHECK(time_errors_text(time_errors_of(*view.measured.known, {on_a100, 1e5}), on_a100) ==
        "How far times of FlashAttention-2 are off is unknown: no run of flash2 is recorded on a100.");
}

TEST_CASE("transport: no bytes are exactly none, also in a long run whose bytes so far are approximate") {
  Opened opened(h200_start({.heads = 64, .kv_heads = 64, .seq_q = 4096, .seq_kv = 4096, .head_dim = 64, .causal = true}));
  PanelScreen screen({2400, 60});
  const auto draw = [](const View& shown, Commands& commands) { draw_transport({{0, 0}, {2400, 60}}, shown, commands); };
  View view;
  static_cast<SessionView&>(view) = opened.after(SeekStep{40});
  REQUIRE_FALSE(view.lane().state.traffic_exact);
  CHECK(screen.text(view, draw).find("HBM ≈ ") != std::string::npos);
  static_cast<SessionView&>(view) = opened.after(SeekStep{0});
  const std::string text = screen.text(view, draw);
  CAPTURE(text);
  CHECK(text.find("HBM 0 B") != std::string::npos);
  CHECK(text.find("≈ 0") == std::string::npos);
}

TEST_CASE("fit, roofline, what if, sweep: each says how far predicted times are off, in the same words") {
  Session::Start start =
      h200_start({.heads = 4, .kv_heads = 4, .seq_q = 384, .seq_kv = 384, .head_dim = 64, .dtype = DataType::fp16});
  start.measurements = load_measurements_of("h200");
  Opened opened(std::move(start));
  View view;
  static_cast<SessionView&>(view) = opened.after(SetSweep{"seq=128,256", {"flash2"}, SweepQuantity::time});
  const std::string mark = error_mark(*view.studies->errors);
  REQUIRE_FALSE(mark.empty());
  using Draw = void (*)(const View&, Commands&);
  for (const auto& [center, draw] : {std::pair<CenterView, Draw>(CenterView::fit, draw_fit_panel),
                                     std::pair<CenterView, Draw>(CenterView::roofline, draw_roofline_panel),
                                     std::pair<CenterView, Draw>(CenterView::what_if, draw_what_if_panel),
                                     std::pair<CenterView, Draw>(CenterView::sweep, draw_sweep_panel)}) {
    CAPTURE(static_cast<int>(center));
    static_cast<SessionView&>(view) = opened.after(SetCenter{center});
    PanelScreen screen({2400, 900});
    screen.frame(view, draw);
    const TextRecording recording;
    screen.frame(view, draw);
    const std::string words = center == CenterView::sweep ? "FlashAttention-2 " + mark + " under 20 µs"
                                                          : std::string("Times of FlashAttention-2 under 20\u00A0µs are ±");
    CHECK(recording.text().find(words) != std::string::npos);
  }
}

TEST_CASE("sweep: many programs have a legend with their values, and the usual sweep leaves out the rungs between") {
  SimulationRequest flash3;
  flash3.algorithm = "flash3";
  flash3.gpu = *load_gpu("h100");
  const SweepChoice usual = usual_sweep(flash3);
  CHECK(std::ranges::count(usual.algorithms, "flash3") == 1);
  CHECK(std::ranges::count(usual.algorithms, "hopper_overlap") == 0);
  flash3.algorithm = "hopper_overlap";
  CHECK(std::ranges::count(usual_sweep(flash3).algorithms, "hopper_overlap") == 1);

  Opened opened(h200_start({.heads = 2, .kv_heads = 2, .seq_q = 256, .seq_kv = 256, .head_dim = 64, .dtype = DataType::fp16}));
  View view;
  opened.after(SetSweep{
      "seq=128,256", {"standard", "flash1", "flash2", "flex", "hopper_wgmma", "hopper_producer", "flash3"}, SweepQuantity::hbm});
  static_cast<SessionView&>(view) = opened.after(SetCenter{CenterView::sweep});
  REQUIRE(view.studies->sweep != nullptr);
  CHECK(has_legend(*view.studies->sweep));
  // While it runs, the legend is of the last value at which every program is there.
  SweepResult running = *view.studies->sweep;
  REQUIRE(running.complete());
  CHECK(legend_value(running) == 1);
  running.points[running.index(3, 1)].reset();
  CHECK(legend_value(running) == 0);
  running.points[running.index(0, 0)].reset();
  CHECK_FALSE(legend_value(running));
  PanelScreen screen({1260, 560});
  screen.frame(view, draw_sweep_panel);
  const TextRecording recording;
  screen.frame(view, draw_sweep_panel);
  const std::string text = recording.text();
  CHECK(text.find("At N = 256") != std::string::npos);
  for (const std::string& algorithm : view.studies->sweep->request.algorithms) {
    // In its switch and in the legend.
    const std::size_t first = text.find(algorithm_title(algorithm));
    REQUIRE(first != std::string::npos);
    CHECK(text.find(algorithm_title(algorithm), first + 1) != std::string::npos);
  }
}

TEST_CASE("window: a GPU from a file says which clock its times have, beside its values") {
  const auto text = read_text_file(fmt::format("{}/assets/gpus/toy.toml", TILESCOPE_SOURCE_DIR));
  REQUIRE(text);
  std::string changed = *text;
  const std::size_t clock = changed.find("1_000_000_000"), id = changed.find("id = \"toy\"");
  REQUIRE(clock != std::string::npos);
  REQUIRE(id != std::string::npos);
  changed.replace(clock, 13, "1_100_000_000");
  changed.replace(id, 10, "id = \"mine\"");
  const TemporaryFolder folder;
  const std::string path = folder.file("mine.toml", changed);
  const auto words = [](Session::Start start) {
    Opened opened(std::move(start));
    View view;
    static_cast<SessionView&>(view) = opened.view();
    PanelScreen screen({900, 700});
    std::string shown = screen.text(view, draw_gpu_controls);
    std::replace(shown.begin(), shown.end(), '\n', ' ');  // where lines break
    return shown;
  };
  Session::Start start = opening_start();
  CHECK(words(start).find("this file") == std::string::npos);
  const auto gpu = load_gpu(path);
  REQUIRE(gpu);
  start.request.gpu = *gpu;
  start.gpu_source = path;
  CHECK(words(start).find("No clock under load is known of the GPU of this file, so its times are at 1.10\u00A0GHz, ") !=
        std::string::npos);
}

TEST_CASE("window: a head dimension that no kernel has is told beside the tile") {
  const auto warnings = [](std::int64_t head_dim) {
    Opened opened(
        h200_start({.heads = 4, .kv_heads = 4, .seq_q = 256, .seq_kv = 256, .head_dim = head_dim, .dtype = DataType::fp16}));
    View view;
    static_cast<SessionView&>(view) = opened.view();
    PanelScreen screen({400, 60});  // what is known of a panel belongs to a screen
    return kernel_warnings(view);
  };
  CHECK(warnings(64).empty());
  REQUIRE(warnings(96).size() >= 1);
  CHECK(warnings(96).front().find("no kernel of flash2 takes head dimension 96") == 0);
}

TEST_CASE("measured label: it says the clock of the case, and the day of its bundle") {
  Opened opened(h200_start({.heads = 16, .kv_heads = 16, .seq_q = 1024, .seq_kv = 1024, .head_dim = 64}));
  View view;
  static_cast<SessionView&>(view) = opened.view();
  Measurements known;
  for (const char* date : {"2026-11-26T01:02:03Z", "2026-11-23T01:02:03Z"}) {
    auto bundle = std::make_shared<KnownBundle>();
    bundle->bundle.gpu = "h200";
    bundle->bundle.date = date;
    bundle->bundle.cases.resize(2);
    for (MeasuredCase& each : bundle->bundle.cases) each.sm_clock_hz = 1.724e9;
    known.bundles.push_back(bundle);
  }
  view.measured.known = &known;
  CHECK(measured_label(view, known.bundles[0]->bundle.cases[1]) == "measured at 1.72 GHz, recorded 2026-11-26");
  CHECK(measured_label(view, known.bundles[1]->bundle.cases[0]) == "measured at 1.72 GHz, recorded 2026-11-23");
}

TEST_CASE("study colours: no two programs of a family have the same") {
  for (const ThemeKind kind : {ThemeKind::dark, ThemeKind::light}) {
    const Theme theme = make_theme(kind, 1);
    std::set<std::pair<std::string_view, ImU32>> seen;
    for (const ProgramInfo& row : program_table()) {
      CAPTURE(row.id);
      CHECK(seen.emplace(row.family, algorithm_color(theme, row.id)).second);
    }
  }
}

TEST_CASE("a GPU's number is called what its meaning says before the unit") {
  CHECK(spec_key_name(*find_spec_key("hbm.bytes_per_second")) == "Peak bandwidth of HBM");
  CHECK(spec_key_name(*find_spec_key("sm.mma_flops_per_cycle")) == "Rate of mma.sync on one SM");
  CHECK(spec_key_name(*find_spec_key("sm.registers")) == "32-bit registers of one SM");
}
