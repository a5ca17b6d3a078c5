// The validate view in the whole window without a display: simulated case by case, and a click opens a case. Synthetic
// measurements.
#include <algorithm>
#include <chrono>
#include <thread>

#include <doctest/doctest.h>

#include "app/model/requests/assets.h"
#include "app/model/session/studies.h"
#include "app/model/state/window_state.h"
#include "app/ui/language.h"
#include "app/views/traffic/traffic_measured.h"
#include "app/views/validate/validate_panel.h"
#include "tests/app/model/session/opened_session.h"
#include "tests/app/views/panel_screen.h"
#include "tests/app/views/window_script.h"
#include "tests/synthetic_measurements.h"

using namespace tilescope;

namespace {

Session::Start start_with(const MeasurementBundle& bundle) {
  Session::Start start = opening_start();
  start.measurements.bundles.push_back(std::make_shared<const KnownBundle>(KnownBundle{bundle, "synthetic.json", false}));
  return start;
}

Session::Start start_in(CenterView center, const MeasurementBundle& bundle) {
  Session::Start start = start_with(bundle);
  start.center = center;
  return start;
}

GpuSpec toy() {
  const auto gpu = load_gpu("toy");
  REQUIRE(gpu);
  return *gpu;
}

}  // namespace

TEST_CASE("validate view: nothing is simulated for it until it is shown; then every case is, and there is a summary") {
  Session session(start_with(synthetic_bundle(toy())));
  session.finish();
  CHECK(session.view().measured.validation->done == 0);
  session.apply(SetCenter{CenterView::validate});
  session.tick(0);
  session.finish();
  const ValidationState& state = *session.view().measured.validation;
  CHECK(state.complete());
  REQUIRE(state.summary);
  CHECK_FALSE(state.summary->fails());
  CHECK(state.summary->cases[Verdict::within] == 6);
  CHECK(case_verdicts(state)[Verdict::within] == 6);
}

TEST_CASE("validate view: stopping and going on, with threads") {
  Session::Start start = start_in(CenterView::validate, synthetic_bundle(toy()));
  start.threads = true;
  Session session(std::move(start));
  session.apply(RunValidation{false});
  session.finish();
  CHECK(session.view().measured.validation->stopped);
  session.apply(RunValidation{true});
  session.tick(0);
  session.finish();
  CHECK(session.view().measured.validation->complete());
}

TEST_CASE("validate view: it holds the bundle of the chosen GPU, the largest one, and keeps what it had of the other") {
  const auto textbook = load_gpu("textbook");
  REQUIRE(textbook);
  Session::Start start = start_in(CenterView::validate, synthetic_bundle(toy()));
  MeasurementBundle few = synthetic_bundle(*textbook), all = few;
  few.cases.resize(2);
  for (MeasurementBundle* bundle : {&few, &all})
    start.measurements.bundles.push_back(std::make_shared<const KnownBundle>(KnownBundle{*bundle, "synthetic.json", false}));
  Session session(std::move(start));
  const auto settle = [&] {
    session.tick(0);
    session.finish();
  };
  settle();
  CHECK(session.view().measured.validation->bundle->bundle.gpu == "toy");
  CHECK(session.view().measured.validation->complete());
  session.apply(SetGpu{"textbook"});
  settle();
  CHECK(session.view().measured.validation->bundle->bundle.gpu == "textbook");
  CHECK(session.view().measured.validation->results.size() == all.cases.size());
  settle();
  CHECK(session.view().measured.validation->complete());
  for (const char* gpu : {"toy", "textbook", "h200"}) {  // the first bundle where there is none of the GPU
    session.apply(SetGpu{gpu});
    session.tick(0);
    CHECK(session.view().measured.validation->bundle->bundle.gpu == (std::string_view(gpu) == "textbook" ? "textbook" : "toy"));
    CHECK(session.view().measured.validation->complete());
  }
}

TEST_CASE("validate view: it opens the bundle that has the program on screen, not the largest") {
  Session::Start start = start_in(CenterView::validate, synthetic_bundle(toy()));
  MeasurementBundle others = synthetic_bundle(toy()), own = others;
  const std::string shown = start.request.algorithm;
  std::erase_if(others.cases, [&](const MeasuredCase& each) { return each.kernel == shown; });
  std::erase_if(own.cases, [&](const MeasuredCase& each) { return each.kernel != shown; });
  REQUIRE_FALSE(others.cases.empty());
  REQUIRE_FALSE(own.cases.empty());
  own.cases.resize(2);
  REQUIRE(own.cases.size() < others.cases.size());
  start.measurements.bundles.clear();
  for (const MeasurementBundle* bundle : {&others, &own})
    start.measurements.bundles.push_back(std::make_shared<const KnownBundle>(KnownBundle{*bundle, "synthetic.json", false}));
  Session session(std::move(start));
  session.tick(0);
  session.finish();
  CHECK(session.view().measured.validation->results.size() == own.cases.size());
}

TEST_CASE("validate view: the headline says that library kernels, whose rows stand in the list, are not counted") {
  use_language(nullptr);  // a window of another test may have left its own
  MeasurementBundle bundle = synthetic_bundle(toy());
  const auto own = std::ranges::find(bundle.cases, "standard", &MeasuredCase::kernel);
  REQUIRE(own != bundle.cases.end());
  MeasuredCase library = *own;
  library.kernel = "standard_cublas";
  library.counters["hbm_read_bytes"].median *= 4;
  const auto text_of = [](const MeasurementBundle& shown) {
    Opened opened(start_in(CenterView::validate, shown));
    View view;
    static_cast<SessionView&>(view) = opened.after(SetCenter{CenterView::validate});
    REQUIRE(view.measured.validation->complete());
    PanelScreen screen({2400, 900});
    return screen.text(view, draw_validate_panel);
  };
  CHECK(text_of(bundle).find("not counted") == std::string::npos);
  bundle.cases.push_back(library);
  const std::string text = text_of(bundle);
  CAPTURE(text);
  CHECK(text.find("; library kernels, not counted: worst ") != std::string::npos);
}

TEST_CASE("validate view: any bundle of the GPU can be chosen, by keyboard too, and stays chosen") {
  Session::Start start = start_in(CenterView::validate, synthetic_bundle(toy()));
  MeasurementBundle few = synthetic_bundle(toy());
  few.cases.resize(2);
  start.measurements.bundles.push_back(std::make_shared<const KnownBundle>(KnownBundle{few, "toy-few.json", false}));
  const auto script = WindowScript::open(std::move(start), 1600, 900);
  if (script == nullptr) return;
  const auto shown = [&] { return script->view().measured.validation->results.size(); };
  CHECK(shown() == 6);
  constexpr int most_stops = 60;
  for (int i = 0; i < most_stops && shown() == 6; ++i) {
    script->press(ImGuiKey_Tab);
    const std::string before = to_link(window_state_of(script->view()));
    script->press(ImGuiKey_Enter);
    if (ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel))
      for (const ImGuiKey key : {ImGuiKey_DownArrow, ImGuiKey_Enter}) script->press(key);
    if (ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel)) script->press(ImGuiKey_Escape);
    if (to_link(window_state_of(script->view())) != before) script->command(Undo{});
  }
  CHECK(shown() == 2);
  script->command(SetGpu{"textbook"});
  script->command(SetGpu{"toy"});
  CHECK(shown() == 2);
  script->command(SetValidation{});
  CHECK(shown() == 6);
}

TEST_CASE("validate view: a sweep that is left running gives way to it") {
  const Theme theme = make_theme(ThemeKind::dark, 1);
  Session::Start start = start_in(CenterView::sweep, synthetic_bundle(toy()));
  start.threads = true;
  Session session(std::move(start));
  const auto tick_until = [&](const auto& there) {
    for (int i = 0; i < 60000 && !there(View{session.view(), &theme}); ++i) {
      session.tick(0.001);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return there(View{session.view(), &theme});
  };
  const auto points = [](const View& view) {
    return view.studies->sweep == nullptr ? std::size_t{0} : view.studies->sweep->done();
  };
  // Its longest sequences take this sweep many times as long as all cases of the bundle.
  REQUIRE(tick_until([&](const View& view) { return points(view) > 0; }));
  session.apply(SetCenter{CenterView::validate});
  REQUIRE(tick_until([](const View& view) { return view.measured.validation->complete(); }));
  const View view{session.view(), &theme};
  CHECK(points(view) < view.studies->sweep->points.size());
}

TEST_CASE("validate view: opening a case changes everything in one go, and its measurement is beside it") {
  const Theme theme = make_theme(ThemeKind::dark, 1);
  const MeasurementBundle bundle = synthetic_bundle(toy(), 1.5);
  Session session(start_with(bundle));
  session.finish();
  CHECK(session.view().measured.found == nullptr);
  const View before{session.view(), &theme};
  CHECK_FALSE(measured_total(before, LinkChoice::l2_to_sm).known);
  session.apply(SetRace{true});
  session.apply(SetSpecValue{"l2.capacity_bytes=4096"});
  session.finish();

  Commands commands;
  open_case(View{session.view(), &theme}, commands, 4);
  for (const Command& command : commands.take()) session.apply(command);
  session.finish();
  const View view{session.view(), &theme};
  CHECK_FALSE(view.playback.race);
  CHECK(view.lane().simulation->request.algorithm == bundle.cases[4].kernel);
  CHECK(view.lane().simulation->request.problem == bundle.cases[4].problem);
  REQUIRE(view.measured.found != nullptr);
  CHECK(view.measured.found->index == 4);
  CHECK(shown_case(view) == 4);
  const MeasuredTotal total = measured_total(view, LinkChoice::l2_to_sm);
  CHECK(total.known);
  CHECK(static_cast<double>(total.bytes) == bundle.cases[4].counters.at("l2_to_sm_bytes").median);
  CHECK_FALSE(measured_total(view, LinkChoice::shared).known);
  CHECK(std::string(measured_heading(view)) == "Recorded");
  CHECK(measured_column_meaning(view).find("2000-01-02") != std::string::npos);
}

TEST_CASE("validate view: a case that is not there is a mark, not a crash; measuring without CUDA is a sentence") {
  MeasurementBundle bundle = synthetic_bundle(toy());
  bundle.cases[1].kernel = "flash9";
  bundle.cases[2].counters.clear();
  Session session(start_in(CenterView::validate, bundle));
  session.finish();
  CHECK(session.view().measured.validation->summary->not_simulated == 1);
  session.apply(Measure{});
  session.finish();
  REQUIRE(session.view().workspace->message);
  CHECK(session.view().workspace->message->error.sentence.text().size() > 20);
}

TEST_CASE("validate view: every picture draws at any size, with and without a bundle, and clicks into it open cases") {
  const auto script = WindowScript::open(900, 560);
  if (script == nullptr) return;
  script->command(SetCenter{CenterView::validate});
  CHECK(script->view().workspace->center == CenterView::validate);
  for (const auto& [width, height] : {std::pair{1600, 900}, {640, 400}, {200, 120}}) script->resize(width, height);
}
