// A lecture in a session: pages, scenes that are kept, and what the room decides.
#include <csignal>
#include <string>

#include <sys/resource.h>

#include <doctest/doctest.h>

#include "app/model/lessons/lecture.h"
#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_answer.h"
#include "app/platform/files.h"
#include "tests/app/model/lessons/lesson_fixture.h"
#include "tests/app/model/session/opened_session.h"
#include "tests/app/temporary_folder.h"

using namespace tilescope;

namespace {

std::shared_ptr<const Deck> deck_of(std::initializer_list<const char*> links) {
  Deck deck;
  for (const char* link : links) {
    auto state = from_link(link);
    REQUIRE_MESSAGE(state, (state ? "" : state.error().sentence));
    deck.scenes.emplace_back().state = std::move(*state);
  }
  deck.scenes.front().steps = StepRange{3, 6};
  return std::make_shared<const Deck>(std::move(deck));
}

Session::Start start_with(std::shared_ptr<const Deck> deck) {
  Session::Start start = opening_start();
  start.deck = std::move(deck);
  start.scene = -1;
  start.save_text = [](const std::string& path, const std::string& text) { return write_file(path, text); };
  return start;
}

}  // namespace

TEST_CASE("session: pages walk through the steps of a scene and turn, forward and back") {
  Opened opened(start_with(deck_of({"block_q=16&block_kv=16&step=3&theme=light", "seq=96&block_q=16&block_kv=16&step=7"})));
  opened.after(SetPresent{true});
  opened.after(TurnPage{1});
  CHECK(opened.view().lecture->scene() == 0);
  CHECK(opened.view().playback.step == 3);
  CHECK(opened.view().workspace->theme == ThemeKind::dark);  // the room's
  CHECK(opened.view().workspace->present);
  for (std::int64_t step = 4; step <= 6; ++step) {
    opened.after(TurnPage{1});
    CHECK(opened.view().playback.step == step);
  }
  opened.after(TurnPage{1});
  CHECK(opened.view().lecture->scene() == 1);
  CHECK(opened.view().requested->request.problem.seq_q == 96);
  CHECK(opened.view().playback.step == 7);
  opened.after(TurnPage{1});
  CHECK(opened.view().playback.step == 7);  // the last scene has no steps of its own
  opened.after(TurnPage{-1});
  CHECK(opened.view().lecture->scene() == 0);
  CHECK(opened.view().playback.step == 6);
}

TEST_CASE("session: the presenter's timer begins with the presentation, and from zero when it is told to") {
  double now = 100;
  Session::Start start = start_with(deck_of({"block_q=16&block_kv=16&step=3", "seq=96&block_q=16&block_kv=16&step=7"}));
  start.clock = [&now] { return now; };
  Opened opened(std::move(start));
  now = 160;
  opened.after(GoToScene{1});
  const double since_first_page = opened.view().lecture->seconds;
  CHECK(since_first_page == 0);
  now = 220;
  opened.after(SetPresent{true});
  CHECK(opened.view().lecture->seconds == 60);
  now = 230;
  opened.after(RestartTimer{});
  CHECK(opened.view().lecture->seconds == 0);
  now = 242;
  opened.after(SetPresent{false});
  CHECK(opened.view().lecture->seconds == 12);
  opened.after(SetPresent{true});  // a look at something else does not stop the time
  CHECK(opened.view().lecture->seconds == 12);
  now = 500;
  opened.after(CloseLesson{});  // there is no lesson
  CHECK(opened.view().lecture->seconds == 270);
}

TEST_CASE("session: without a deck a presentation starts the timer") {
  double now = 5;
  Session::Start start = start_with(nullptr);
  start.clock = [&now] { return now; };
  Opened opened(std::move(start));
  now = 50;
  opened.after(SetPresent{true});
  now = 53;
  opened.after(Step{1, Grain::operation});
  CHECK(opened.view().lecture->seconds == 3);
}

TEST_CASE("session: without a deck pages are steps; on a black screen they only bring the picture back") {
  Opened opened;
  const std::int64_t step = opened.view().playback.step;
  opened.after(TurnPage{1});
  CHECK(opened.view().playback.step == step + 1);
  opened.after(SetBlank{true});
  opened.after(TurnPage{1});
  CHECK_FALSE(opened.view().workspace->blank);
  CHECK(opened.view().playback.step == step + 1);
}

TEST_CASE("session: a deck is made in the window, saved, and read back as it was") {
  const TemporaryFolder folder;
  Opened opened(start_with(nullptr));
  opened.after(BookmarkState{});
  opened.after(SetProblem{with_rows(opened.view(), 96), "seq"});
  opened.after(BookmarkState{});
  REQUIRE(opened.view().lecture->count() == 2);
  CHECK(opened.view().lecture->scene() == 1);
  Scene named = *opened.view().lecture->shown();
  named.title = "96 rows";
  opened.after(EditScene{1, std::make_shared<const Scene>(named)});
  opened.after(MoveScene{1, 0});
  CHECK(opened.view().lecture->deck().title.empty());
  opened.after(NameDeck{"Attention in an hour"});
  opened.after(SaveDeck{folder.path("talk.toml")});
  CHECK_FALSE(opened.view().lecture->changed());
  const Deck made = opened.view().lecture->deck();
  opened.after(DeleteScene{0});
  opened.after(OpenDeck{folder.path("talk.toml")});
  CHECK(opened.view().lecture->deck() == made);
  CHECK(opened.view().lecture->deck().title == "Attention in an hour");
  CHECK(opened.view().lecture->shown()->title == "96 rows");
  CHECK(opened.view().requested->request.problem.seq_q == 96);
}

TEST_CASE("session: undo brings a removed scene back, and takes an order and a title back, one at a time") {
  Opened opened(start_with(deck_of({"step=3", "step=7", "step=9"})));
  const auto deck = [&] { return opened.view().lecture->deck(); };
  const Deck made = deck();
  Scene named = made.scenes[1];
  named.title = "After seven steps";
  opened.after(EditScene{1, std::make_shared<const Scene>(named)});
  const Deck titled = deck();
  opened.after(MoveScene{2, 0});
  const Deck moved = deck();
  opened.after(DeleteScene{1});
  REQUIRE(deck().scenes.size() == 2);
  CHECK(opened.after(Undo{}).lecture->deck() == moved);
  CHECK(opened.after(Undo{}).lecture->deck() == titled);
  CHECK(opened.after(Undo{}).lecture->deck() == made);
  CHECK_FALSE(opened.view().lecture->changed());
  CHECK(opened.after(Redo{}).lecture->deck() == titled);
  CHECK(opened.view().lecture->changed());
  opened.after(Redo{});
  opened.after(Redo{});
  CHECK(deck().scenes.size() == 2);
  CHECK_FALSE(opened.view().can_redo);
}

TEST_CASE("session: undo takes back a change of the window and one of the deck in the order in which they were made") {
  Opened opened(start_with(deck_of({"step=3", "step=7"})));
  opened.after(SetProblem{with_rows(opened.view(), 96), "seq"});
  opened.after(DeleteScene{0});
  opened.after(SetProblem{with_rows(opened.view(), 48), "seq"});
  CHECK(opened.after(Undo{}).requested->request.problem.seq_q == 96);
  CHECK(opened.view().lecture->count() == 1);
  CHECK(opened.after(Undo{}).lecture->count() == 2);
  CHECK(opened.view().requested->request.problem.seq_q == 96);
  CHECK(opened.after(Undo{}).requested->request.problem.seq_q != 96);
  CHECK(opened.view().lecture->count() == 2);
}

TEST_CASE("session: undo brings back scenes that opening a deck dropped, and the file that they belong to") {
  const TemporaryFolder folder;
  Opened opened(start_with(nullptr));
  opened.after(BookmarkState{});
  opened.after(SaveDeck{folder.path("one.toml")});
  opened.after(BookmarkState{});
  opened.after(OpenDeck{folder.path("one.toml")});
  REQUIRE(opened.view().lecture->count() == 1);
  opened.after(Undo{});
  CHECK(opened.view().lecture->count() == 2);
  CHECK(opened.view().lecture->changed());
  CHECK(opened.view().lecture->path() == folder.path("one.toml"));
}

TEST_CASE("session: a scene keeps the row that the window chose by itself") {
  Opened opened(start_with(nullptr));
  REQUIRE_FALSE(opened.view().workspace->row_by_user);
  REQUIRE(opened.view().workspace->row_chosen);
  opened.after(BookmarkState{});
  CHECK(opened.view().lecture->shown()->state.row == opened.view().workspace->row);
}

TEST_CASE("session: a deck that cannot be read or written is one sentence, and the open one stays") {
  const TemporaryFolder folder;
  Opened opened(start_with(deck_of({"step=0"})));
  const auto refusal = [&](const Command& command) {
    opened.session.apply(command);
    opened.session.finish();
    REQUIRE(opened.view().workspace->message.has_value());
    CHECK(opened.view().workspace->message->control == "deck");
    CHECK(opened.view().lecture->count() == 1);
    return opened.view().workspace->message->error.sentence.text();
  };
  CHECK(refusal(OpenDeck{folder.path("none.toml")}).find("there is no such file") != std::string::npos);
  CHECK(refusal(OpenDeck{folder.file("cut.toml", "schema = \"tilescope.deck/1\"\n[[sce")}).find("cut.toml, line 2: ") !=
        std::string::npos);
  CHECK(refusal(OpenDeck{folder.file("new.toml", "schema = \"tilescope.deck/9\"\n")}).find("newer TileScope") != std::string::npos);
  CHECK(refusal(SaveDeck{folder.path("no folder/talk.toml")}).find("there is no folder") != std::string::npos);
}

TEST_CASE("session: a full disk leaves the old deck whole") {
  const TemporaryFolder folder;
  const std::string path = folder.file("talk.toml", "the old deck\n");
  Opened opened(start_with(deck_of({"step=0", "seq=96"})));
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{16, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  opened.session.apply(SaveDeck{path});
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  REQUIRE(opened.view().workspace->message.has_value());
  CHECK(opened.view().workspace->message->error.sentence.text().starts_with("cannot write "));
  CHECK(*read_text_file(path) == "the old deck\n");
  CHECK(folder.entries() == 1);
}

TEST_CASE("session: a scene that cannot be is refused, and what was shown stays") {
  Opened opened(start_with(deck_of({"block_q=16&block_kv=16&step=3", "block_q=4096&block_kv=4096&step=1"})));
  opened.after(GoToScene{0});
  const WindowState before = window_state_of(opened.view());
  opened.after(GoToScene{1});
  CHECK(window_state_of(opened.view()) == before);
  REQUIRE(opened.view().workspace->message.has_value());
}

TEST_CASE("session: raised hands of a scene are there again when one comes back to it") {
  Opened opened(start_with(deck_of({"step=3", "step=5"})));
  const auto lecture = [&] { return opened.view().lecture; };
  opened.after(GoToScene{0});
  opened.after(AskClass{true});
  opened.after(CountAnswer{1, 14});
  opened.after(CountAnswer{9, 3});
  opened.after(CountAnswer{-1, 3});
  CHECK(lecture()->counts[1] == 14);
  opened.after(AskClass{true, true});
  CHECK(lecture()->answered);
  opened.after(GoToScene{1});
  CHECK_FALSE(lecture()->asking);
  CHECK(lecture()->counts[1] == 0);
  opened.after(WriteQuestion{std::make_shared<const ClassQuestion>(ClassQuestion{"How many?", {"one", "two"}, 2})});
  opened.after(CountAnswer{0, 5});
  opened.after(GoToScene{0});
  CHECK_FALSE(lecture()->asking);  // a scene opens as it did before, without its answer
  CHECK_FALSE(lecture()->answered);
  CHECK(lecture()->written() == nullptr);
  CHECK(lecture()->counts[1] == 14);
  // They move with their scene, and go with the deck.
  opened.after(MoveScene{1, 0});
  CHECK(lecture()->counts[1] == 14);
  opened.after(GoToScene{0});
  CHECK(lecture()->counts[0] == 5);
  REQUIRE(lecture()->written() != nullptr);
  CHECK(lecture()->written()->text == "How many?");
  opened.after(DeleteScene{0});
  CHECK(lecture()->counts[0] == 0);
  CHECK(lecture()->counts[1] == 14);
  const TemporaryFolder folder;
  opened.after(SaveDeck{folder.path("talk.toml")});
  opened.after(OpenDeck{folder.path("talk.toml")});
  CHECK(lecture()->counts[1] == 0);
}

TEST_CASE("session: hands that were raised for other choices are not those of a scene's new question") {
  auto deck = std::make_shared<Deck>(*deck_of({"step=3", "step=5"}));
  deck->scenes.front().question = ClassQuestion{"How many?", {"one", "two"}, 2};
  Opened opened(start_with(deck));
  opened.after(GoToScene{0});
  opened.after(CountAnswer{1, 14});
  Scene edited = *opened.view().lecture->shown();
  edited.notes = "Wait.";
  opened.after(EditScene{0, std::make_shared<const Scene>(edited)});
  CHECK(opened.view().lecture->counts[1] == 14);
  edited.question->choices = {"one", "three"};
  opened.after(EditScene{0, std::make_shared<const Scene>(edited)});
  CHECK(opened.view().lecture->counts[1] == 0);
}

TEST_CASE("session: raised hands of a lesson's page stay until the lesson is closed") {
  const TemporaryFolder folder;
  Session::Start start = opening_start();
  start.lessons = list_of_small_lesson(folder.file("00-small.en.md", small_lesson));
  Opened opened(std::move(start));
  const auto counts = [&] { return opened.view().lecture->counts; };
  opened.after(OpenLesson{"00-small"});
  opened.after(AskClass{true});
  opened.after(CountAnswer{0, 9});
  LessonAnswer none;
  none.given = false;
  opened.after(AnswerLesson{std::make_shared<const LessonAnswer>(none)});
  opened.after(TurnLessonPage{1});
  CHECK_FALSE(opened.view().lecture->asking);
  CHECK(counts()[0] == 0);
  opened.after(TurnLessonPage{-1});
  CHECK(counts()[0] == 9);
  opened.after(BookmarkState{});  // the page is a scene now
  CHECK(counts()[0] == 9);
  opened.after(CloseLesson{});
  opened.after(OpenLesson{"00-small", 1});
  CHECK(counts()[0] == 0);
}

TEST_CASE("session: a scene that says so opens with its question on screen, a page of a lesson too") {
  const TemporaryFolder folder;
  Session::Start start = opening_start();
  start.lessons = list_of_small_lesson(folder.file("00-small.en.md", small_lesson));
  const auto deck = parse_deck(
      "schema = \"tilescope.deck/1\"\n"
      "[[scene]]\nlink = \"step=3\"\nquestion = \"How many?\"\nchoices = [\"one\"]\nraised = true\n"
      "[[scene]]\nlesson = \"00-small:1\"\nraised = true\n"
      "[[scene]]\nlink = \"step=5\"\nquestion = \"How many?\"\n",
      "talk.toml");
  REQUIRE(deck);
  start.deck = std::make_shared<const Deck>(*deck);
  start.scene = 0;
  Opened opened(std::move(start));
  CHECK(opened.view().lecture->asking);
  opened.after(AskClass{false});
  opened.after(TurnPage{1});
  REQUIRE(opened.view().lesson.lesson != nullptr);  // it needs no link
  CHECK(opened.view().lesson.page == 0);
  CHECK(opened.view().lecture->asking);
  opened.after(TurnPage{1});
  CHECK_FALSE(opened.view().lecture->asking);
  opened.after(GoToScene{0});
  CHECK(opened.view().lecture->asking);
}

TEST_CASE("session: a page turns to the next scene at the end of the run, though the steps of the scene go on beyond it") {
  auto deck = std::make_shared<Deck>(*deck_of({"block_q=16&block_kv=16&step=3", "seq=96&block_q=16&block_kv=16&step=7"}));
  deck->scenes.front().steps = StepRange{3, 1000000};
  Opened opened(start_with(deck));
  opened.after(GoToScene{0});
  opened.after(SeekStep{opened.view().lane().step_count});
  opened.after(TurnPage{1});
  CHECK(opened.view().lecture->scene() == 1);
}

TEST_CASE("session: a scene says that its steps go beyond its run once that is known, and no other state does") {
  auto deck = std::make_shared<Deck>(*deck_of({"block_q=16&block_kv=16&step=3", "seq=96&block_q=16&block_kv=16&step=7"}));
  deck->scenes.front().steps = StepRange{3, 6};
  deck->scenes.back().steps = StepRange{7, 12000};
  Opened opened(start_with(deck));
  const auto said = [&](const Command& command) {
    opened.session.apply(command);
    opened.session.finish();
    const Error* const refused = opened.view().workspace->refused();
    return refused != nullptr ? refused->sentence.text() : std::string();
  };
  CHECK(said(GoToScene{0}).empty());
  const std::string beyond = said(GoToScene{1});
  CHECK(opened.view().requested->request.problem.seq_q == 96);  // it is shown all the same
  CHECK(opened.view().playback.step == 7);
  CHECK(beyond ==
        "scene 2: steps 7:12000 go beyond the run, whose last step is " + std::to_string(opened.view().lane().step_count));
  CHECK(said(GoToScene{1}) == beyond);  // the run is on screen already
  opened.after(Step{1, Grain::operation});
  opened.session.tick(100);
  CHECK(said(OpenState{std::make_shared<const WindowState>(deck->scenes.back().state)}).empty());
}

TEST_CASE("session: a deck with a page that there is not is refused with its line, and the open one stays") {
  const TemporaryFolder folder;
  Session::Start start = start_with(deck_of({"step=0"}));
  start.lessons = list_of_small_lesson(folder.file("00-small.en.md", small_lesson));
  Opened opened(std::move(start));
  const auto refusal = [&](const std::string& scene) {
    const std::string file = folder.file("talk.toml", "schema = \"tilescope.deck/1\"\n[[scene]]\n" + scene);
    opened.session.apply(OpenDeck{file});
    opened.session.finish();
    const auto& message = opened.view().workspace->message;
    return message && message->control == "deck" ? message->error.sentence.text() : std::string();
  };
  CHECK(refusal("lesson = \"00-small:6\"\n").ends_with("talk.toml, line 3: there is no page 6: lesson 00-small has 5"));
  CHECK(refusal("link = \"step=3\"\nlesson = \"00-small:6\"\n").find("line 4: there is no page 6") != std::string::npos);
  CHECK(refusal("lesson = \"nolesson:3\"\n").find("line 3: there is no lesson 'nolesson'") != std::string::npos);
  CHECK(opened.view().lecture->path().empty());
  CHECK(refusal("lesson = \"nolesson:3\"\nlink = \"step=3\"\n").empty());  // its link stands in
  CHECK(refusal("lesson = \"00-small:5\"\n").empty());
  CHECK(opened.view().lesson.page == 4);
}

TEST_CASE("session: a scene may name its lesson by number, and its page is the scene that is shown") {
  const TemporaryFolder folder;
  Session::Start start = start_with(deck_of({"step=0"}));
  start.lessons = list_of_small_lesson(folder.file("00-small.en.md", small_lesson));
  Opened opened(std::move(start));
  const std::string file =
      folder.file("talk.toml", "schema = \"tilescope.deck/1\"\n[[scene]]\nlesson = \"0:5\"\n[[scene]]\nlink = \"step=3\"\n");
  opened.after(OpenDeck{file});
  REQUIRE(opened.view().lesson.lesson != nullptr);
  CHECK(opened.view().lesson.page == 4);
  CHECK(opened.view().lecture->shows_page("00-small", 4));
  opened.after(TurnPage{1});
  CHECK(opened.view().lecture->scene() == 1);
}

TEST_CASE("session: a page of a lesson is kept as a scene, which opens it again without its answer") {
  const TemporaryFolder folder;
  Session::Start start = opening_start();
  start.lessons = list_of_small_lesson(folder.file("00-small.en.md", small_lesson));
  Opened opened(std::move(start));
  const auto lesson = [&] { return opened.view().lesson; };
  opened.after(BookmarkState{});
  opened.after(OpenLesson{"00-small"});
  LessonAnswer second;
  second.option = 1;
  opened.after(AnswerLesson{std::make_shared<const LessonAnswer>(second)});
  opened.after(BookmarkState{});
  const Scene kept = *opened.view().lecture->shown();
  CHECK(kept.title == "Choice");
  CHECK(kept.lesson == ScenePage{"00-small", 0});

  opened.after(TurnPage{-1});  // a scene without a lesson
  CHECK(opened.view().lecture->scene() == 0);
  CHECK(lesson().lesson == nullptr);
  opened.after(TurnPage{1});
  REQUIRE(lesson().lesson != nullptr);
  CHECK(lesson().page == 0);
  CHECK(lesson().answer == nullptr);
  CHECK(lesson().locked);

  // A deck that begins with a page begins in its lesson.
  Session::Start again = opening_start();
  again.lessons = list_of_small_lesson(folder.file("00-small.en.md", small_lesson));
  Deck deck;
  deck.scenes = {kept, Scene{}};
  deck.scenes[1].lesson = ScenePage{"99-nowhere", 3};
  deck.scenes[1].state = kept.state;
  again.deck = std::make_shared<const Deck>(deck);
  again.state = std::make_shared<const WindowState>(kept.state);
  Opened reopened(std::move(again));
  reopened.session.finish();
  REQUIRE(reopened.view().lesson.lesson != nullptr);
  CHECK(reopened.view().lesson.locked);
  // A lesson that is not there leaves the state of its scene.
  reopened.after(TurnPage{1});
  CHECK(reopened.view().lecture->scene() == 1);
  CHECK(reopened.view().lesson.lesson == nullptr);
}
