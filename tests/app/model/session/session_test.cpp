// The session: how it opens, and that the same commands give the same view.
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "sim/programs/attention_tensors.h"
#include "tests/app/model/session/opened_session.h"

using namespace tilescope;

TEST_CASE("session: it opens on the second key tile of flash2, settled, with values and alpha below 1") {
  Opened opened;
  const SessionView view = opened.view();
  REQUIRE(view.lanes.size() == 1);
  const Lane& lane = view.lane();
  CHECK(lane.simulation->request.algorithm == "flash2");
  CHECK_FALSE(view.playback.playing);
  CHECK_FALSE(opened.session.animating());
  REQUIRE(lane.operation != nullptr);
  CHECK(lane.operation->kv_tile == 1);
  CHECK(lane.step > 0);
  CHECK(lane.step < lane.step_count);
  REQUIRE(lane.history != nullptr);
  const auto alpha = lane.history->value(tiles::alpha, lane.rest.op);
  REQUIRE(alpha != nullptr);
  CHECK(alpha->at(view.workspace->row, 0) < 0.99F);
  CHECK(alpha->at(view.workspace->row, 0) > 0);
}

TEST_CASE("session: every program of the table opens, steps and races") {
  for (const ProgramInfo& info : program_table()) {
    CAPTURE(info.id);
    Opened opened;
    const SessionView view = opened.after(SetAlgorithm{std::string(info.id)});
    CHECK_FALSE(view.workspace->message.has_value());
    REQUIRE(view.lane().simulation->request.algorithm == info.id);
    CHECK(view.lane().operation != nullptr);
    CHECK(opened.after(Step{1, Grain::operation}).lane().history != nullptr);
    const SessionView race = opened.after(SetRace{true});
    REQUIRE(race.lanes.size() == 2);
    CHECK(race.lanes[0].simulation->info->family == info.family);
    CHECK(race.lanes[0].simulation->request.algorithm != race.lanes[1].simulation->request.algorithm);
  }
}

TEST_CASE("session: a first step that the run does not have is said, and the last one shows") {
  Session::Start start = opening_start();
  start.step = 99999;
  Opened opened(start);
  const SessionView view = opened.view();
  CHECK(view.lane().step == view.lane().step_count);
  REQUIRE(view.workspace->refused() != nullptr);
  CHECK(view.workspace->refused()->sentence.text().starts_with("there is no step 99999: this run has steps 0 to "));
  start.step = 3;
  CHECK(Opened(start).view().workspace->refused() == nullptr);
}

TEST_CASE("session: what the last window left and cannot be read is said beside the first run") {
  Session::Start start = opening_start();
  start.notice = Sentence("window.toml is binary");
  Opened opened(start);
  REQUIRE(opened.view().workspace->message.has_value());
  CHECK(opened.view().workspace->message->error.sentence == "window.toml is binary");
}

TEST_CASE("session: equal commands without time passing give equal views") {
  Opened first, second;
  for (Opened* one : {&first, &second}) {
    one->after(SeekStep{9});
    one->after(SetAlgorithm{"flash1"});
    one->after(Step{1, Grain::tile});
  }
  CHECK(first.view().lane().state == second.view().lane().state);
  CHECK(first.view().workspace->row == second.view().workspace->row);
}

TEST_CASE("session: a score that cannot be is said once, and the session comes to rest") {
  Session::Start start = opening_start();
  start.request.algorithm = "flex";
  Session session(start);
  session.finish();
  MaskChoice choice;
  choice.score = "sqrt(score)";
  session.apply(SetMasking{choice});
  session.finish();
  const auto& message = session.view().workspace->message;
  REQUIRE(message);
  CHECK(message->error.sentence.text().find("the score expression makes NaN of ") == 0);
  CHECK(session.view().lane().history == nullptr);
  choice.score = "score / 2";
  session.apply(SetMasking{choice});
  session.finish();
  CHECK(session.view().lane().history != nullptr);
}

TEST_CASE("session: two blocks of a race whose scores cannot be are each asked for once") {
  Session::Start start = opening_start();
  start.request.algorithm = "flex";
  Session session(start);
  MaskChoice choice;
  choice.score = "sqrt(score)";
  session.apply(SetMasking{choice});
  session.apply(SetRace{true});
  session.finish();  // does not end where each of the two is forgotten when the other fails
  REQUIRE(session.view().lanes.size() == 2);
  CHECK(session.view().workspace->message);
  for (const Lane& lane : session.view().lanes) CHECK(lane.history == nullptr);
}

TEST_CASE("session: a view that shows no numbers of the step computes none, and the stage computes them when it comes") {
  Session::Start start = opening_start();
  start.center = CenterView::roofline;
  Opened opened(std::move(start));
  CHECK(opened.view().lane().history == nullptr);
  CHECK(opened.view().lane().reference == nullptr);
  CHECK(opened.after(SetCenter{CenterView::stage}).lane().history != nullptr);
  CHECK(opened.view().lane().reference != nullptr);
  CHECK(opened.after(SetCenter{CenterView::roofline}).lane().history == nullptr);
  CHECK(opened.view().lane().tile_accesses == nullptr);
}
