// Decks: what is written is read as it was, and what is broken is one sentence with the file and the line.
#include <string>

#include <doctest/doctest.h>

#include "app/model/lessons/lecture.h"
#include "app/model/state/deck.h"

using namespace tilescope;

namespace {

WindowState state_of(const char* link) {
  auto state = from_link(link);
  REQUIRE_MESSAGE(state, (state ? "" : state.error().sentence));
  return *state;
}

Deck two_scenes() {
  Deck deck;
  deck.title = "Attention \"tile by tile\"";
  Scene first;
  first.title = "하나의 행";
  first.notes = "Ask first.\nThen step: ' and \" and \\ and '''.";
  first.state = state_of("seq=16&head_dim=4&block_q=4&block_kv=4&step=3");
  first.steps = StepRange{3, 9};
  first.question = ClassQuestion{"How many bytes?", {"fewer", "as many", "more"}, 1};
  first.raised = true;
  Scene second;
  second.state = state_of("gpu=h200&race=1&heads=4&seq=512&head_dim=64&view=roofline");
  second.lesson = ScenePage{"01-why-memory", 6};
  deck.scenes = {first, second};
  return deck;
}

std::string deck_refusal(const std::string& text) {
  const auto deck = parse_deck(text, "talk.toml");
  return deck ? std::string("(accepted)") : deck.error().sentence.text();
}

const std::string head = "schema = \"tilescope.deck/1\"\n";

}  // namespace

TEST_CASE("deck: what is written is read as it was") {
  const Deck deck = two_scenes();
  const std::string text = format_deck(deck);
  const auto back = parse_deck(text, "talk.toml");
  CAPTURE(text);
  REQUIRE_MESSAGE(back, (back ? "" : back.error().sentence.text()));
  CHECK(*back == deck);
  CHECK(format_deck(*back) == text);
  Deck blank = deck;
  blank.title = blank.scenes[0].title = "  ";
  blank.scenes[0].question->text = " ";
  const auto said = parse_deck(format_deck(blank), "talk.toml");
  REQUIRE(said);
  CHECK(said->title.empty());
  CHECK_FALSE(said->scenes[0].question.has_value());
  CHECK_FALSE(said->scenes[0].raised);
  for (const char* notes : {"\n\nAsk first.\nThen step.", "two\n'''\nquotes", "ends with '", "a \\ b\n\tc", "\n"}) {
    Deck noted = deck;
    noted.scenes[0].notes = notes;
    const auto read = parse_deck(format_deck(noted), "talk.toml");
    REQUIRE(read);
    CHECK(read->scenes[0].notes == notes);
  }
}

TEST_CASE("deck: a broken one is one sentence with the file and the line") {
  CHECK(deck_refusal("") == "talk.toml, line 1: this is no deck: one begins with schema = \"tilescope.deck/1\"");
  CHECK(deck_refusal("[[[").starts_with("talk.toml, line 1: "));
  CHECK(deck_refusal("# a talk\nschema = \"tilescope.deck/2\"\n") ==
        "talk.toml, line 2: the deck is of a newer TileScope (tilescope.deck/2): this one reads tilescope.deck/1");
  CHECK(deck_refusal(head + "[[scene]]\ntitle = \"x\"\n") ==
        "talk.toml, line 2: a scene needs a link, or a lesson such as \"01-why-memory:2\"");
  CHECK(deck_refusal(head + "[[scene]]\nlink = \"sqe=4\"\n") == "talk.toml, line 3: a link has no key 'sqe': did you mean seq?");
  CHECK(deck_refusal(head + "[[scene]]\nlink = \"\"\nstep = \"3\"\n") ==
        "talk.toml, line 4: a scene has no 'step': did you mean steps?");
  CHECK(deck_refusal(head + "[[scene]]\nlink = \"\"\nsteps = \"9:3\"\n") ==
        "talk.toml, line 4: steps must be a range such as \"3:12\"");
  CHECK(deck_refusal(head + "[[scene]]\nlink = 4\n") == "talk.toml, line 3: link must be a text in quotes");
  CHECK(deck_refusal(head + "[[scene]]\nlink = \"\"\nquestion = \"?\"\nchoices = [\"a\"]\nanswer = 2\n") ==
        "talk.toml, line 2: answer is 2, and there are 1 choices");
  const std::string scene = head + "[[scene]]\nlink = \"\"\n";
  CHECK(deck_refusal(head) == "talk.toml, line 1: the deck has no scene: begin one with [[scene]]");
  CHECK(deck_refusal(scene + "title = \"  \"\n") == "talk.toml, line 4: title is blank: write it, or leave it out");
  CHECK(deck_refusal(scene + "title = \"a\\u0000b\"\n") == "talk.toml, line 4: title has the control character 0: take it out");
  CHECK(deck_refusal(scene + "question = \"\"\n") == "talk.toml, line 4: question is blank: write it, or leave it out");
  CHECK(deck_refusal(scene + "question = \"?\"\nchoices = [\"a\", \"\"]\n") ==
        "talk.toml, line 5: a choice is blank: write it, or leave it out");
  CHECK(deck_refusal(scene + "raised = true\n") == "talk.toml, line 2: raised needs a question, or a lesson's page");
  CHECK(deck_refusal(scene + "question = \"?\"\nraised = 1\n") == "talk.toml, line 5: raised must be true or false");
  CHECK(deck_refusal(head + "[[scene]]\nlesson = \"01-why-memory:2\"\n") == "(accepted)");
  CHECK(deck_refusal(head + "scene = 4\n") == "talk.toml, line 2: scenes are tables: begin each with [[scene]]");
}

TEST_CASE("deck: cut off anywhere, it is refused in one line or read as a shorter deck") {
  const std::string text = format_deck(two_scenes());
  for (std::size_t length = 0; length < text.size(); ++length) {
    CAPTURE(length);
    const auto deck = parse_deck(std::string_view(text).substr(0, length), "talk.toml");
    if (deck) {
      CHECK(deck->scenes.size() <= 2);
    } else {
      CHECK(deck.error().sentence.text().starts_with("talk.toml"));
      CHECK(deck.error().sentence.text().find('\n') == std::string::npos);
    }
  }
}

TEST_CASE("lecture: pages walk through the steps of a scene, then turn; backward a scene begins at its last step") {
  Lecture lecture;
  Deck deck = two_scenes();
  deck.scenes[0].raised = false;  // a question on screen has its answer before the page turns
  lecture.take(deck, "talk.toml");
  CHECK(lecture.scene() == -1);
  CHECK(lecture.turn(1, 0) == Lecture::Turn::scene);
  lecture.go(0);
  CHECK(lecture.turn(1, 3) == Lecture::Turn::step);
  CHECK(lecture.turn(1, 9) == Lecture::Turn::scene);
  CHECK(lecture.turn(-1, 4) == Lecture::Turn::step);
  CHECK(lecture.turn(-1, 3) == Lecture::Turn::none);
  lecture.go(1);
  CHECK(lecture.turn(1, 0) == Lecture::Turn::none);
  CHECK(lecture.turn(-1, 0) == Lecture::Turn::scene);
  CHECK(lecture.state_of(0, false).position == decltype(WindowState::position)(WindowState::Step{3}));
  CHECK(lecture.state_of(0, true).position == decltype(WindowState::position)(WindowState::Step{9}));
}

TEST_CASE("lecture: before a page leaves a scene forward, it shows the answer of the question that is on screen") {
  Deck deck;
  deck.scenes.resize(2);
  deck.scenes[0].question = ClassQuestion{.text = "Which?", .choices = {"this", "that"}, .answer = 2};
  Lecture lecture;
  lecture.take(deck, "");
  lecture.go(0);
  CHECK(lecture.turn(1, 0) == Lecture::Turn::scene);  // nobody asked
  lecture.asking = true;
  CHECK(lecture.turn(1, 0) == Lecture::Turn::answer);
  CHECK(lecture.turn(-1, 0) == Lecture::Turn::none);
  deck.scenes[0].steps = StepRange{3, 9};
  lecture.take(deck, "");
  lecture.go(0);
  lecture.asking = true;
  CHECK(lecture.turn(1, 8) == Lecture::Turn::step);
  CHECK(lecture.turn(1, 9) == Lecture::Turn::answer);
  lecture.answered = true;
  CHECK(lecture.turn(1, 9) == Lecture::Turn::scene);
  lecture.go(1);
  lecture.asking = true;
  lecture.answered = false;
  CHECK(lecture.turn(-1, 0) == Lecture::Turn::scene);
  ClassQuestion open_question{.text = "Why?", .choices = {"a", "b"}};
  lecture.write(open_question);
  CHECK(lecture.turn(1, 0) == Lecture::Turn::none);  // without a right choice there is nothing to show
}

TEST_CASE("lecture: the shown scene stays the shown one while scenes move, come and go") {
  Lecture lecture;
  Deck deck;
  for (const char* title : {"a", "b", "c", "d"}) deck.scenes.emplace_back().title = title;
  lecture.take(deck, {});
  lecture.go(1);
  const auto order = [&] {
    std::string out;
    for (const Scene& scene : lecture.deck().scenes) out += scene.title;
    return out + " " + (lecture.shown() != nullptr ? lecture.shown()->title : "-");
  };
  lecture.move(0, 3);
  CHECK(order() == "bcda b");
  lecture.move(3, 0);
  CHECK(order() == "abcd b");
  lecture.move(1, 2);
  CHECK(order() == "acbd b");
  lecture.remove(0);
  CHECK(order() == "cbd b");
  Scene kept;
  kept.title = "e";
  lecture.bookmark(kept);
  CHECK(order() == "cbed e");
  lecture.remove(2);
  CHECK(order() == "cbd d");
  lecture.move(0, 7);
  lecture.remove(9);
  CHECK(order() == "cbd d");
  CHECK(lecture.changed());
}
