// UndoHistory: what a person did is undone in the pieces in which they did it.
#include <doctest/doctest.h>

#include "app/model/state/undo_history.h"
#include "tests/app/model/session/opened_session.h"

using namespace tilescope;

namespace {

WindowState with_seq(std::int64_t rows, std::int64_t step = 0) {
  WindowState state;
  state.problem.seq_q = state.problem.seq_kv = rows;
  state.position = WindowState::Step{step};
  return state;
}

std::int64_t step_of(const SessionView& view) {
  return view.playback.step;
}

}  // namespace

TEST_CASE("history: undo goes back through the states, redo forward, and a change ends what redo had") {
  UndoHistory history;
  double now = 0;
  for (std::int64_t rows : {16, 32, 64}) history.note(with_seq(rows), {now += 10, 0});
  CHECK(history.undo()->problem.seq_q == 32);
  CHECK(history.undo()->problem.seq_q == 16);
  CHECK(history.undo() == nullptr);
  CHECK(history.redo()->problem.seq_q == 32);
  history.note(with_seq(32), {now += 10, 0});  // it is there now
  CHECK(history.can_redo());
  history.note(with_seq(48), {now + 10, 0});
  CHECK_FALSE(history.can_redo());
  CHECK(history.undo()->problem.seq_q == 32);
}

TEST_CASE("history: stepping is one entry until something else is changed") {
  UndoHistory history;
  double now = 0;
  history.note(with_seq(16, 0), {now, 0});
  for (std::int64_t step = 1; step < 40; ++step) history.note(with_seq(16, step), {now += 5, 0});
  history.note(with_seq(32, 39), {now += 5, 0});
  for (std::int64_t step = 40; step < 50; ++step) history.note(with_seq(32, step), {now += 5, 0});
  CHECK(*history.undo() == with_seq(32, 39));
  CHECK(*history.undo() == with_seq(16, 39));
  CHECK(*history.undo() == with_seq(16, 0));
}

TEST_CASE("history: what one drag changes is one entry, and two drags are two") {
  UndoHistory history;
  history.note(with_seq(16), {0, 0});
  for (std::int64_t rows = 17; rows < 40; ++rows) history.note(with_seq(rows, rows), {static_cast<double>(rows), 1});
  for (std::int64_t rows = 40; rows < 60; ++rows) history.note(with_seq(rows), {static_cast<double>(rows), 2});
  CHECK(history.undo()->problem.seq_q == 39);
  CHECK(history.undo()->problem.seq_q == 16);
}

TEST_CASE("history: a setting that is typed is one entry, and two settings are two") {
  UndoHistory history;
  history.note(with_seq(16), {0, 0});
  history.note(with_seq(1), {10, 0});
  history.note(with_seq(12), {10.3, 0});
  history.note(with_seq(128), {10.6, 0});
  WindowState causal = with_seq(128);
  causal.problem.causal = true;
  history.note(causal, {10.9, 0});
  CHECK(*history.undo() == with_seq(128));
  CHECK(*history.undo() == with_seq(16));
}

TEST_CASE("history: it is bounded, by its entries and by the numbers in them") {
  UndoHistory history;
  for (std::int64_t rows = 1; rows < 1000; ++rows) history.note(with_seq(rows), {static_cast<double>(10 * rows), 0});
  std::size_t back = 0;
  while (history.undo() != nullptr) ++back;
  CHECK(back == UndoHistory::most_entries - 1);
  UndoHistory large;
  for (std::int64_t rows = 1; rows < 20; ++rows) {
    WindowState state = with_seq(rows);
    state.q = Matrix(1024, 1024);
    large.note(state, {static_cast<double>(10 * rows), 0});
  }
  for (back = 0; large.undo() != nullptr;) ++back;
  CHECK(back < 9);
  CHECK(back >= 1);
}

TEST_CASE("history: entries share a matrix, so that any number of them costs its numbers once") {
  UndoHistory history;
  WindowState state;
  state.q = Matrix(1024, 1024);
  const std::shared_ptr<const Matrix> matrix = state.q.pointer();
  for (std::int64_t rows = 16; rows < 16 + 100; ++rows) {
    state.problem.seq_q = rows;
    history.note(state, {static_cast<double>(10 * rows), 0});
  }
  int steps = 0;
  for (auto back = history.undo(); back != nullptr; back = history.undo()) {
    ++steps;
    CHECK(back->q.pointer() == matrix);
  }
  CHECK(steps == 99);
}

TEST_CASE("history: a session's states share the matrix that was given") {
  Opened opened;
  opened.after(SetProblem{two_numbers_a_row(4), "seq"});
  opened.after(SetMatrix{Meaning::query, "1,2\n3,4\n5,6\n7,8"});
  const std::shared_ptr<const Matrix> given = opened.view().requested->inputs.q;
  REQUIRE(given != nullptr);
  CHECK(window_state_of(opened.view()).q.pointer() == given);
  opened.after(SetThemeKind{ThemeKind::light});
  CHECK(window_state_of(opened.view()).q.pointer() == given);
}

TEST_CASE("history: the links of pinned runs count too, since they may hold matrices") {
  UndoHistory history;
  WindowState state;
  state.pinned = {std::string(std::size_t{12} << 20, 'x')};
  for (std::int64_t rows = 16; rows < 16 + 40; ++rows) {
    state.problem.seq_q = rows;
    history.note(state, {static_cast<double>(10 * rows), 0});
  }
  int steps = 0;
  while (history.undo() != nullptr) ++steps;
  CHECK(steps >= 1);
  CHECK(steps < 4);
}

TEST_CASE("history: a session undoes and redoes what was asked for, exactly") {
  Opened opened;
  const WindowState first = window_state_of(opened.view());
  CHECK_FALSE(opened.view().can_undo);
  opened.after(SetThemeKind{ThemeKind::light});
  const WindowState light = window_state_of(opened.view());
  opened.after(SetProblem{with_rows(opened.view(), 96), "seq"});
  const WindowState larger = window_state_of(opened.view());
  for (int i = 0; i < 5; ++i) opened.after(Step{1, Grain::operation});
  const WindowState stepped = window_state_of(opened.view());
  opened.after(Undo{});
  CHECK(window_state_of(opened.view()) == larger);
  opened.after(Undo{});
  CHECK(window_state_of(opened.view()) == light);
  opened.after(Undo{});
  CHECK(window_state_of(opened.view()) == first);
  CHECK_FALSE(opened.view().can_undo);
  opened.after(Undo{});
  CHECK(window_state_of(opened.view()) == first);
  for (int i = 0; i < 3; ++i) opened.after(Redo{});
  CHECK(window_state_of(opened.view()) == stepped);
  CHECK_FALSE(opened.view().can_redo);
}

TEST_CASE("history: playing is one entry") {
  Opened opened;
  opened.after(SeekStep{0});
  const std::int64_t from = step_of(opened.view());
  opened.after(SetThemeKind{ThemeKind::light});
  opened.session.apply(SetPlaying{true});
  for (int i = 0; i < 200; ++i) opened.session.tick(0.1);
  opened.after(SetPlaying{false});
  CHECK(step_of(opened.view()) > from);
  opened.after(Undo{});
  CHECK(step_of(opened.view()) == from);
  CHECK(opened.view().workspace->theme == ThemeKind::light);
}

TEST_CASE("history: after a refusal, undo takes the controls back to what is on screen") {
  Opened opened;
  opened.after(SetProblem{with_rows(opened.view(), 96), "seq"});
  const WindowState good = window_state_of(opened.view());
  opened.after(SetTile{TileShape{4096, 4096}, "block_q"});
  REQUIRE(opened.view().workspace->message.has_value());
  opened.after(Undo{});
  CHECK(window_state_of(opened.view()) == good);
  CHECK(opened.view().requested->request.tile == good.tile);
  CHECK_FALSE(opened.view().workspace->message.has_value());
  opened.after(Undo{});
  CHECK(window_state_of(opened.view()).problem.seq_q != 96);
}

TEST_CASE("history: a race is undone and redone, also one that was begun while the run played") {
  for (const bool playing : {false, true}) {
    CAPTURE(playing);
    Opened opened;
    opened.after(SetAlgorithm{"flash1"});
    opened.after(SeekStep{0});
    if (playing) opened.session.apply(SetPlaying{true});
    opened.session.apply(SetRace{true});
    opened.session.finish();
    CHECK(opened.view().lanes.size() == 2);
    CHECK(opened.view().playback.playing == playing);
    opened.after(Undo{});
    CHECK(opened.view().lanes.size() == 1);
    CHECK(opened.view().requested->request.algorithm == "flash1");
    opened.after(Redo{});
    CHECK(opened.view().lanes.size() == 2);
  }
}

TEST_CASE("history: a second mask, and one that is taken away, are undone") {
  Opened opened;
  MaskChoice choice;
  choice.masks = {"q >= kv"};
  opened.after(SetMasking{choice});
  choice.masks.emplace_back("q - kv < 8");
  opened.after(SetMasking{choice});
  choice.masks.erase(choice.masks.begin());
  opened.session.tick(2);  // not one change with the last
  opened.after(SetMasking{choice});
  opened.after(Undo{});
  CHECK(opened.view().requested->request.masking.masks == std::vector<std::string>{"q >= kv", "q - kv < 8"});
  opened.after(Undo{});
  CHECK(opened.view().requested->request.masking.masks == std::vector<std::string>{"q >= kv"});
  opened.after(Undo{});
  CHECK(opened.view().requested->request.masking.empty());
  CHECK(opened.view().requested->request.algorithm == "flash2");
}
