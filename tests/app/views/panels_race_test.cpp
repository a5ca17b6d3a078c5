// Why one run of a race is slower: what bounds it, and the tensors that are credited.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "app/model/measurements/measurements.h"
#include "app/model/measurements/runs_at_clock.h"
#include "app/model/requests/assets.h"
#include "app/model/run_data/exactness.h"
#include "app/ui/text_record.h"
#include "app/views/chrome.h"
#include "app/views/lesson/figure_words.h"
#include "app/views/race/race_exactness.h"
#include "app/views/race/race_reason.h"
#include "sim/analysis/format.h"
#include "sim/analysis/outcome.h"
#include "sim/programs/attention_tensors.h"
#include "tests/app/model/session/opened_session.h"
#include "tests/app/run_simulation.h"
#include "tests/app/views/panel_screen.h"

using namespace tilescope;

namespace {

std::shared_ptr<const Simulation> of_rows(const char* algorithm, const GpuSpec& gpu) {
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 64;
  return run(algorithm, gpu, problem);
}

bool contains(const std::vector<std::string>& sentences, std::string_view text) {
  return !sentences.empty() && sentences.front().find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("race: where the times are at another clock than the cycles, the verdict says at which") {
  Session::Start start = h200_start({.heads = 16, .kv_heads = 16, .seq_q = 1024, .seq_kv = 1024, .head_dim = 64});
  start.measurements = load_measurements();
  start.race = true;
  Opened opened(std::move(start));
  opened.after(SeekCycle{1e12});
  REQUIRE(opened.view().studies->race != nullptr);
  const GpuSpec &shown = opened.view().lanes.front().simulation->request.gpu,
                &timed = opened.view().studies->race->first->request.gpu;
  REQUIRE(timed.sm_clock_hz != shown.sm_clock_hz);
  CHECK(opened.view().studies->race->second->request.gpu.sm_clock_hz == timed.sm_clock_hz);  // never two clocks
  PanelScreen screen({1600, 900});
  const std::string text = screen.text(View{opened.view(), nullptr}, draw_race_panel);
  CAPTURE(text);
  CHECK(text.find("faster at " + format_clock(timed.sm_clock_hz)) != std::string::npos);
}

TEST_CASE("race reason: in the first example HBM bounds standard attention, and S and P are its extra traffic") {
  const GpuSpec toy = *load_gpu("toy");
  const auto standard = of_rows("standard", toy), flash = of_rows("flash2", toy);
  CHECK(static_cast<double>(standard->ledger.total(tensors::s, Link::hbm_write).value) > toy.l2_capacity_bytes);
  const auto hbm = [](const Simulation& run) {
    return static_cast<double>(run.ledger.total(Link::hbm_read).value + run.ledger.total(Link::hbm_write).value);
  };
  const double bytes = hbm(*standard) / hbm(*flash), time = standard->time.value / flash->time.value;
  CHECK(bytes > 4);
  // Time is bytes over the bandwidth in use: what the bytes leave of the ratio is how busy HBM is.
  const auto busy = [](const Simulation& run) { return run.utilisation[static_cast<std::size_t>(Bound::hbm)]; };
  CHECK(time == doctest::Approx(bytes * busy(*flash) / busy(*standard)).epsilon(0.005));
  const RaceReason reason = race_reason(*standard, *flash);
  CHECK(reason.bound == Bound::hbm);
  REQUIRE(reason.tensors.size() == 2);
  for (const Tensor tensor : reason.tensors) CHECK((tensor == tensors::s || tensor == tensors::p));
  CHECK(reason.faster == 0);
  const auto moved = [&](Tensor tensor) {
    return standard->ledger.total(tensor, Link::hbm_read).value + standard->ledger.total(tensor, Link::hbm_write).value;
  };
  CHECK(reason.slower == moved(tensors::s) + moved(tensors::p));
  CHECK(dirty_bytes_at_end(*standard, tensors::o) > 0);  // O is still dirty in the L2: not among the bytes of the run
  CHECK(hbm_bytes(*standard, tensors::o) == moved(tensors::o));
  CHECK(reason.share == doctest::Approx(static_cast<double>(reason.slower) / hbm(*standard)));
  CHECK(contains(race_sentences(*standard, *flash), "bottleneck of Standard attention: HBM bandwidth"));
}

TEST_CASE("race reason: bytes are credited only if HBM or the L2 bounds the slower run") {
  const auto standard = of_rows("standard", toy_gpu()), flash = of_rows("flash2", toy_gpu());
  REQUIRE(standard->bound == Bound::latency);
  const RaceReason reason = race_reason(*standard, *flash);
  CHECK(reason.any);
  CHECK(reason.tensors.empty());
  CHECK(reason.same_hbm);
  CHECK(contains(race_sentences(*standard, *flash), "bottleneck of Standard attention: latency. It has 3 launches against 1"));
  CHECK(contains(race_sentences(*standard, *flash),
                 "Nothing is evicted from the L2: the HBM bytes saved are written back at the end."));
  for (const std::string& text : race_sentences(*standard, *flash)) CHECK(text.find("S and P") == std::string::npos);
}

TEST_CASE("race reason: every bound and every order of the two gives a sentence that names the slower run's bound") {
  for (const double hbm : {4e9, 64e9, 1e12}) {
    for (const double l2 : {0.0, 4096.0, 1048576.0}) {
      GpuSpec gpu = toy_gpu();
      gpu.hbm_bytes_per_second = hbm;
      gpu.l2_capacity_bytes = l2;
      for (const auto& [a, b] : {std::pair{"standard", "flash2"}, std::pair{"flash1", "flash2"}, std::pair{"flash2", "standard"}}) {
        const auto first = of_rows(a, gpu), second = of_rows(b, gpu);
        const RaceReason reason = race_reason(*first, *second);
        REQUIRE(reason.any);
        const Simulation& slow = first->time.value >= second->time.value ? *first : *second;
        CHECK(reason.bound == slow.bound);
        if (slow.bound != Bound::hbm && slow.bound != Bound::l2) CHECK(reason.tensors.empty());
        CHECK_FALSE(race_sentences(*first, *second).empty());
      }
    }
  }
}

TEST_CASE("race reason: a race of two equal runs has no reason") {
  const auto naive = of_rows("matmul_naive", toy_gpu());
  CHECK_FALSE(race_reason(*naive, *naive).any);
  CHECK(race_sentences(*naive, *naive).empty());
}

TEST_CASE("exactness: both algorithms are within rounding of float64, and the sentence has the bytes of the run") {
  const GpuSpec toy = *load_gpu("toy");
  const auto standard = of_rows("standard", toy), flash = of_rows("flash2", toy);
  REQUIRE(can_compare_outputs(*standard, *flash));
  const auto exact = compare_outputs(*standard, *flash, InputSource{});
  REQUIRE(exact);
  CHECK(exact->first.rows == 64);
  CHECK(exact->first.cols == 16);
  CHECK(exact->first_error > 0);
  CHECK(exact->second_error > 0);
  CHECK(exact->same_answer());
  const auto hbm = [](const Simulation& run) {
    return static_cast<double>(run.ledger.total(Link::hbm_read).value + run.ledger.total(Link::hbm_write).value);
  };
  CHECK(exact->first_hbm_bytes == hbm(*standard));
  CHECK(exact->second_hbm_bytes == hbm(*flash));
  CHECK(exactness_sentences(*exact, "a", "b").front().starts_with("Same answer, 1/"));
}

TEST_CASE("exactness: an error is the text that a lesson has of it") {
  const GpuSpec toy = *load_gpu("toy");
  const auto exact = compare_outputs(*of_rows("standard", toy), *of_rows("flash2", toy), InputSource{});
  REQUIRE(exact);
  const std::string first = figure_words(exact->first_error, FigureUnit::number),
                    second = figure_words(exact->second_error, FigureUnit::number);
  CHECK(contains(exactness_sentences(*exact, "a", "b"), fmt::format("a {}, b {}.", first, second)));
}

TEST_CASE("exactness: an output that differs by more than rounding is not called the same answer") {
  const auto standard = of_rows("standard", toy_gpu()), flash = of_rows("flash2", toy_gpu());
  auto exact = compare_outputs(*standard, *flash, InputSource{});
  REQUIRE(exact);
  // All of S and P is still in the L2, dirty: HBM has not moved it by the end of the run.
  CHECK(dirty_bytes_at_end(*standard) > dirty_bytes_at_end(*flash));
  CHECK(exactness_sentences(*exact, "a", "b").back() == "Same answer, same HBM bytes.");
  exact->first_hbm_bytes = 2 * exact->second_hbm_bytes;
  CHECK(exactness_sentences(*exact, "a", "b").back() == "Same answer, 1/2.0 of the HBM bytes.");
  exact->second_error = 5 * exact->rounding;
  CHECK_FALSE(exact->same_answer());
  CHECK(exactness_sentences(*exact, "a", "b").back() == "The answers differ by more than rounding.");
}

TEST_CASE("exactness: a problem too large to execute, a product and a softmax are not compared") {
  const auto naive = of_rows("matmul_naive", toy_gpu()), tiled = of_rows("matmul_tiled", toy_gpu());
  CHECK_FALSE(can_compare_outputs(*naive, *tiled));
  AttentionProblem large;
  large.seq_q = large.seq_kv = 8192;
  const auto flash = run("flash2", h200_gpu(), large);
  CHECK_FALSE(can_compare_outputs(*flash, *flash));
}

TEST_CASE("transport: at the end the HBM bytes are a lesson's figure, and name what is still dirty in the L2") {
  Opened opened;
  CHECK(left_in_l2(opened.view().lane()) == 0);
  opened.after(SeekCycle{opened.view().lane().simulation->cycles.value});
  const Lane& lane = opened.view().lane();
  const std::int64_t left = left_in_l2(lane);
  std::int64_t moved = 0;
  for (const auto& by_link : lane.state.traffic)
    for (const Link link : {Link::hbm_read, Link::hbm_write}) moved += by_link[static_cast<std::size_t>(link)];
  CHECK(left > 0);
  CHECK(moved == hbm_bytes(*lane.simulation));
  CHECK(left == dirty_bytes_at_end(*lane.simulation));
  PanelScreen screen({1600, 60});
  const auto draw = [](const View& view, Commands& commands) { draw_transport({{0, 0}, {1600, 60}}, view, commands); };
  const View view{opened.view(), nullptr};
  screen.frame(view, draw);
  const TextRecording recording;
  screen.frame(view, draw);
  const std::string both =
      fmt::format("HBM {} + {} still in the L2", format_exact_bytes(Bytes(moved)), format_exact_bytes(Bytes(left)));
  CAPTURE(recording.text());
  CHECK(recording.text().find(both) != std::string::npos);
}

TEST_CASE("race panel: the headline has two ratios of HBM bytes, that of the runs and that with what is written later") {
  Opened opened;
  opened.after(SetRace{true});
  const View view{opened.view(), nullptr};
  PanelScreen screen({1600, 900});
  screen.frame(view, &draw_race_panel);
  const TextRecording recording;
  screen.frame(view, &draw_race_panel);
  const Simulation &first = *view.lanes.front().simulation, &second = *view.lanes.back().simulation;
  const auto ratio = [](std::int64_t a, std::int64_t b) {
    return "1/" + format_times(static_cast<double>(a) / static_cast<double>(b));
  };
  const std::string end = ratio(hbm_bytes(first), hbm_bytes(second));
  const std::string later = ratio(hbm_bytes(first) + dirty_bytes_at_end(first), hbm_bytes(second) + dirty_bytes_at_end(second));
  REQUIRE(end != later);
  CAPTURE(recording.text());
  CHECK(recording.text().find(end) != std::string::npos);
  CHECK(recording.text().find("during the runs") != std::string::npos);
  CHECK(recording.text().find(later) != std::string::npos);
  CHECK(recording.text().find("with what is written after the runs") != std::string::npos);
}

TEST_CASE("race panel: presented, who wins is kept back until both runs are over or the question is answered") {
  Opened opened;
  opened.after(SetRace{true});
  PanelScreen screen({1600, 900});
  const auto text = [&] {
    const View view{opened.view(), nullptr};
    screen.frame(view, &draw_race_panel);
    const TextRecording recording;
    screen.frame(view, &draw_race_panel);
    return recording.text();
  };
  const auto tells = [&] { return text().find("faster") != std::string::npos; };
  const auto covers = [&] {
    const View view{opened.view(), nullptr};
    screen.frame(view, &draw_timeline_panel);
    const TextRecording recording;
    screen.frame(view, &draw_timeline_panel);
    return recording.text().find("What comes after the playhead shows as the runs go on.") != std::string::npos;
  };
  opened.after(SeekStep{1});
  CHECK(tells());
  CHECK_FALSE(covers());
  opened.after(SetPresent{true});
  CHECK_FALSE(tells());
  CHECK(text().find("% done") == std::string::npos);
  CHECK(covers());
  CHECK(text().find("shows at the end") != std::string::npos);
  CHECK(text().find("of the HBM") == std::string::npos);
  opened.after(AskClass{true, true});
  CHECK(tells());
  opened.after(AskClass{false, false});
  opened.after(SeekCycle{opened.view().lanes.front().simulation->cycles.value});
  CHECK(tells());
  CHECK_FALSE(covers());
}
