// A lesson in a session: the run waits for the answer, then plays; only a task's controls are free; answers stay.
#include <doctest/doctest.h>

#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/lesson_list.h"
#include "app/model/requests/assets.h"
#include "tests/app/model/lessons/lesson_fixture.h"
#include "tests/app/model/session/opened_session.h"
#include "tests/app/temporary_folder.h"

using namespace tilescope;

namespace {

/// A session with the small lesson as its only one.
struct Classroom {
  explicit Classroom(const std::string& text = small_lesson) : path(folder.file("00-small.en.md", text)) {}

  TemporaryFolder folder;
  std::string path;
  Opened opened{[this] {
    Session::Start start = opening_start();
    start.lessons = list_of_small_lesson(path);
    start.offer_lessons = true;
    return start;
  }()};

  LessonView lesson() const { return opened.view().lesson; }
  SessionView answer(const LessonAnswer& given) { return opened.after(AnswerLesson{std::make_shared<const LessonAnswer>(given)}); }
  std::int64_t step() const { return opened.view().lane().step; }
};

LessonAnswer option(int i) {
  LessonAnswer answer;
  answer.option = i;
  return answer;
}

}  // namespace

TEST_CASE("lesson: opening shows the scene of the first page, and holds the run until the question is answered") {
  Classroom room;
  CHECK(room.lesson().offered);
  room.opened.after(SetThemeKind{ThemeKind::light});
  const SessionView view = room.opened.after(OpenLesson{"00-small"});
  REQUIRE(view.lesson.lesson != nullptr);
  CHECK_FALSE(view.lesson.offered);
  CHECK(view.requested->request.problem.seq_q == 16);
  CHECK(view.workspace->theme == ThemeKind::light);  // the window's own
  CHECK(view.lane().step == 1);
  CHECK(view.lesson.locked);
  REQUIRE(view.lesson.figures != nullptr);
  for (const Command& command : {Command(Step{1}), Command(SeekStep{5}), Command(SeekCycle{1e6}), Command(SetPlaying{true})}) {
    room.opened.session.apply(command);
    REQUIRE(room.opened.view().workspace->message);
    CHECK(room.opened.view().workspace->message->notice == Notice::lesson_waits);
    room.opened.session.tick(10);
    CHECK(room.step() == 1);
  }
  room.opened.after(TurnLessonPage{1});
  CHECK(room.lesson().page == 0);

  const SessionView after = room.answer(option(1));
  CHECK_FALSE(after.lesson.locked);
  REQUIRE(after.lesson.answer != nullptr);
  CHECK(is_right(*after.lesson.lesson->pages[0].ask, *after.lesson.answer, *after.lesson.figures));
  CHECK(after.lane().step == after.lane().step_count);  // the reveal played to the end
  CHECK(after.lesson.figures->revealed.at("step") == static_cast<double>(after.lane().step_count));
  CHECK(after.playback.cycle == after.lane().simulation->trace->end_cycle());
  room.opened.after(Step{-1});
  room.opened.after(Step{-1});
  CHECK(room.step() < after.lane().step_count);
}

TEST_CASE("lesson: the reveal plays in time, and a step of one's own ends it") {
  Classroom room;
  room.opened.after(OpenLesson{"00-small"});
  room.opened.session.apply(AnswerLesson{std::make_shared<const LessonAnswer>(option(0))});
  room.opened.session.tick(0.2);
  CHECK(room.opened.session.animating());
  room.opened.session.tick(0.5);
  const std::int64_t between = room.step();
  CHECK(between > 1);
  CHECK(between < room.opened.view().lane().step_count);
  room.opened.session.apply(Step{1});
  room.opened.session.tick(10);
  CHECK(room.step() < room.opened.view().lane().step_count);
}

TEST_CASE("lesson: an answer that lacks something is passed over, and the first one stays") {
  Classroom room;
  room.opened.after(OpenLesson{"00-small"});
  room.answer(option(7));
  room.answer(option(-1));
  CHECK(room.lesson().locked);
  room.answer(option(0));
  room.answer(option(1));
  CHECK(room.lesson().answer->option == 0);
}

TEST_CASE("lesson: a question that was answered is asked again, and the run waits for it") {
  Classroom room;
  room.opened.after(OpenLesson{"00-small"});
  room.answer(option(0));
  REQUIRE_FALSE(room.lesson().locked);
  CHECK(room.lesson().right == 0);
  room.opened.after(RetryLesson{});
  CHECK(room.lesson().locked);
  CHECK(room.lesson().answer == nullptr);
  CHECK(room.step() == 1);
  room.answer(option(1));
  CHECK(room.lesson().right == 1);
  CHECK(room.lesson().missed.size() == 4);  // the pages after it
}

TEST_CASE("lesson: a walk through all pages keeps the answers and ends with the lesson done") {
  Classroom room;
  room.opened.after(OpenLesson{"00-small"});
  room.answer(option(1));
  room.opened.after(TurnLessonPage{1});
  CHECK(room.lesson().page == 1);
  LessonAnswer number;
  number.number = 16;
  room.answer(number);
  CHECK(room.step() == 3);  // play = "step:3"
  room.opened.after(TurnLessonPage{1});
  room.answer(option(1));
  CHECK(room.step() == 1);  // nothing plays
  room.opened.after(TurnLessonPage{1});
  LessonAnswer order;
  order.order = {1, 0};
  room.answer(order);
  room.opened.after(TurnLessonPage{-1});
  room.opened.after(TurnLessonPage{-1});
  CHECK(room.lesson().page == 1);
  REQUIRE(room.lesson().answer != nullptr);
  CHECK(room.lesson().answer->number == 16);
  CHECK_FALSE(room.lesson().locked);
  CHECK_FALSE(room.lesson().done->contains("00-small"));
  for (int page = 2; page < 5; ++page) room.opened.after(TurnLessonPage{1});
  CHECK(room.lesson().page == 4);
  REQUIRE(room.lesson().figures != nullptr);
  LessonAnswer drawn;
  drawn.drawn = room.lesson().figures->curve;
  room.answer(drawn);
  CHECK(room.lesson().done->contains("00-small"));
  room.opened.after(CloseLesson{});
  CHECK(room.lesson().lesson == nullptr);
  CHECK(room.lesson().done->contains("00-small"));
  CHECK_FALSE(room.lesson().locked);
}

TEST_CASE("lesson: a page that one comes back to shows its run as it was left, played and where it was looked at") {
  Classroom room;
  room.opened.after(OpenLesson{"00-small"});
  room.answer(option(1));
  const std::int64_t end = room.step();
  REQUIRE(end > 2);
  room.opened.after(SeekStep{end - 1});
  room.opened.after(TurnLessonPage{1});
  room.opened.after(TurnLessonPage{-1});
  CHECK(room.step() == end - 1);

  // Left while it plays, it has come to its end.
  room.opened.after(RetryLesson{});
  CHECK(room.step() == 1);
  room.opened.session.apply(AnswerLesson{std::make_shared<const LessonAnswer>(option(1))});
  room.opened.session.tick(0.2);
  REQUIRE(room.opened.view().lesson.revealing);
  room.opened.after(TurnLessonPage{1});
  room.opened.after(TurnLessonPage{-1});
  CHECK(room.step() == end);

  // A question that is not answered waits at its scene.
  room.opened.after(TurnLessonPage{1});
  REQUIRE(room.lesson().locked);
  room.opened.after(TurnLessonPage{-1});
  room.opened.after(TurnLessonPage{1});
  CHECK(room.lesson().locked);
  CHECK(room.step() < room.opened.view().lane().step_count);
}

TEST_CASE("lesson: the answer shows the run of the reveal, and asked again the page shows its own") {
  std::string text = small_lesson;
  const std::string_view before = "say = \"There are {= Nk : number}.\"";
  text.replace(text.find(before), before.size(), std::string(before) + "\nlink = \"seq=32&step=2\"\nlook = [\"timeline\"]");
  Classroom room(text);
  room.opened.after(OpenLesson{"00-small"});
  room.answer(option(1));
  room.opened.after(TurnLessonPage{1});
  const auto queries = [&] { return room.opened.view().requested->request.problem.seq_q; };
  CHECK(queries() == 16);
  LessonAnswer number;
  number.number = 16;
  room.answer(number);
  CHECK(queries() == 32);
  CHECK(room.step() == 3);  // play = "step:3", from step 2
  CHECK(room.lesson().scene->look == std::vector<std::string>{"timeline"});
  CHECK(room.lesson().figures->revealed.at("Nk") == 16);  // the text is about the page's own run
  room.opened.after(RetryLesson{});
  CHECK(queries() == 16);
  CHECK(room.lesson().scene->look == std::vector<std::string>{"stage", "traffic"});
}

TEST_CASE("lesson: answers and pages stay while another lesson is open, and go with the last one") {
  Classroom room;
  const std::string other = room.folder.file("01-other.en.md", small_lesson);
  room.opened.after(OpenLesson{"00-small"});
  room.answer(option(1));
  const std::int64_t end = room.step();
  room.opened.after(SeekStep{end - 1});
  room.opened.after(OpenLesson{other});
  REQUIRE(room.lesson().locked);
  room.answer(option(0));
  room.opened.after(TurnLessonPage{1});

  room.opened.after(OpenLesson{"00-small"});  // back to the lesson before
  CHECK_FALSE(room.lesson().locked);
  REQUIRE(room.lesson().answer != nullptr);
  CHECK(room.lesson().answer->option == 1);
  CHECK(room.lesson().right == 1);
  CHECK(room.step() == end - 1);  // as it was left
  room.opened.after(OpenLesson{other});
  REQUIRE(room.lesson().answer != nullptr);
  CHECK(room.lesson().answer->option == 0);

  room.opened.after(OpenLesson{other});  // the open lesson itself begins anew
  CHECK(room.lesson().locked);
  room.opened.after(CloseLesson{});
  room.opened.after(OpenLesson{"00-small"});
  CHECK(room.lesson().locked);
}

TEST_CASE("lesson: closed, it brings back what was open before the first lesson") {
  Classroom room;
  const auto link = [&] { return to_link(window_state_of(room.opened.view())); };
  room.opened.after(Step{1});
  const std::string before = link();
  CHECK_FALSE(room.lesson().returns);
  room.opened.after(OpenLesson{"00-small"});
  CHECK(room.lesson().returns);
  room.answer(option(1));
  CHECK(room.lesson().right == 1);
  CHECK(room.lesson().scores->at("00-small") == LessonScore{1, 5});
  CHECK(room.lesson().questions == 5);
  CHECK(room.lesson().tasks == 1);
  room.opened.after(OpenLesson{"00-small", 2});  // as the next lesson
  CHECK(room.lesson().right == 0);
  room.answer(option(0));
  CHECK(room.lesson().right == 0);
  CHECK(room.lesson().scores->at("00-small") == LessonScore{1, 5});  // of the best attempt
  room.opened.after(SetThemeKind{ThemeKind::light});
  room.opened.after(CloseLesson{});
  CHECK(room.lesson().lesson == nullptr);
  CHECK(room.opened.view().workspace->theme == ThemeKind::light);  // the window's own
  room.opened.after(SetThemeKind{ThemeKind::dark});
  CHECK(link() == before);
  room.opened.after(OpenLesson{"00-small"});
  CHECK(link() != before);
  room.opened.after(CloseLesson{});
  CHECK(link() == before);
  room.opened.after(Step{1});
  const std::string later = link();
  room.opened.after(CloseLesson{});  // no lesson is open any more
  CHECK(link() == later);
}

TEST_CASE("lesson: a task frees its controls only, and is reached by a simulation") {
  Classroom room;
  room.opened.after(OpenLesson{"00-small", 4});
  REQUIRE(room.lesson().page == 4);
  const AttentionProblem before = room.opened.view().requested->request.problem;
  AttentionProblem longer = before;
  longer.seq_q = longer.seq_kv = 24;
  room.opened.after(SetProblem{longer, "seq"});
  CHECK(room.opened.view().requested->request.problem == before);  // the question comes first
  LessonAnswer none;
  none.given = false;
  room.answer(none);
  CHECK(room.lesson().reached == nullptr);
  REQUIRE(room.lesson().task != nullptr);
  AttentionProblem wider = before;
  wider.head_dim = 8;
  room.opened.after(SetProblem{wider, "head_dim"});
  CHECK(room.opened.view().requested->request.problem == before);
  CHECK(room.opened.view().workspace->message->notice == Notice::lesson_holds);
  MaskChoice window;
  window.presets = {"sliding_window:window=8"};
  room.opened.after(SetMasking{window});
  CHECK(room.opened.view().requested->request.masking.empty());
  room.opened.after(SetAlgorithm{"standard"});
  CHECK(room.opened.view().requested->request.algorithm == "flash2");
  const SessionView after = room.opened.after(SetProblem{longer, "seq"});
  CHECK(after.requested->request.problem == longer);
  REQUIRE(after.lesson.reached != nullptr);
  CHECK(after.lesson.reached->shown.at("N") == 24);
  room.opened.after(SetProblem{before, "seq"});
  CHECK(room.lesson().reached != nullptr);  // once reached, it stays
}

TEST_CASE("lesson: what cannot be opened is said, and the window keeps what it had") {
  Classroom room;
  room.opened.after(OpenLesson{"00-small"});
  room.answer(option(1));
  const SessionView view = room.opened.after(OpenLesson{"99"});
  REQUIRE(view.workspace->message);
  CHECK(view.workspace->message->error.sentence.text().find("there is no lesson '99'") != std::string::npos);
  REQUIRE(view.lesson.lesson != nullptr);
  CHECK(view.lesson.answer != nullptr);
  room.opened.after(OpenLesson{"00-small", 17});
  CHECK(room.opened.view().workspace->message->error.sentence.text().find("there is no page 18") != std::string::npos);
  room.folder.file("00-small.en.md", "broken");
  room.opened.after(OpenLesson{"00-small"});
  CHECK(room.opened.view().workspace->message->error.sentence.text().find("00-small.en.md:1:") != std::string::npos);
  CHECK(room.lesson().lesson != nullptr);
}

TEST_CASE("lesson: the offer goes away for good once it is declined") {
  Classroom room;
  CHECK(room.lesson().offered);
  room.opened.after(DeclineLessons{});
  CHECK_FALSE(room.lesson().offered);
}
