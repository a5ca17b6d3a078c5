// Lessons are read from Markdown with TOML blocks; what is wrong is one sentence with file and line.
#include <doctest/doctest.h>

#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_list.h"
#include "app/model/lessons/lesson_parser.h"
#include "tests/app/model/lessons/lesson_fixture.h"

using namespace tilescope;

namespace {

std::string lesson_refusal(const std::string& text) {
  const auto lesson = parse_lesson(text, "x", "x.md");
  return lesson ? "" : lesson.error().sentence.text();
}

/// The small lesson with one piece of text replaced.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = small_lesson;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("lesson: pages have prose, a scene, a question, a reveal, a task and notes") {
  const auto read = parse_lesson(small_lesson, "00-small", "small.md");
  REQUIRE_MESSAGE(read, (read ? std::string() : read.error().sentence.text()));
  const Lesson& lesson = **read;
  CHECK(lesson.id == "00-small");
  CHECK(lesson.title == "Small");
  CHECK(lesson.minutes == 1);
  REQUIRE(lesson.pages.size() == 5);
  const LessonPage& first = lesson.pages[0];
  CHECK(first.title == "Choice");
  REQUIRE(first.prose.size() == 1);
  const auto figures = figures_of(first.prose);
  REQUIRE(figures.size() == 1);
  CHECK(figures[0]->expression == "standard.hbm / hbm");
  CHECK(figures[0]->unit == FigureUnit::times);
  CHECK(figures[0]->line == 9);
  CHECK(plain_text(first.prose) == "Standard attention moves {} the bytes of flash2.");
  CHECK(std::any_of(first.prose[0].runs.begin(), first.prose[0].runs.end(), [](const ProseRun& run) { return run.bold; }));
  CHECK(std::any_of(first.prose[0].runs.begin(), first.prose[0].runs.end(), [](const ProseRun& run) { return run.code; }));
  REQUIRE(first.scene);
  CHECK(first.scene->state.problem.seq_q == 16);
  CHECK(first.scene->look == std::vector<std::string>{"stage", "traffic"});
  REQUIRE(first.scene->others.size() == 1);
  CHECK(first.scene->others[0].state.algorithm == "standard");
  CHECK(first.scene->others[0].state.problem.seq_q == 16);
  REQUIRE(first.ask);
  CHECK(first.ask->options.size() == 2);
  CHECK(first.reveal->play == LessonReveal::Play::end);
  CHECK(lesson.pages[1].reveal->play == LessonReveal::Play::step);
  CHECK(lesson.pages[1].reveal->step == 3);
  CHECK(&lesson.scene_of(4) == &*lesson.pages[0].scene);
  const LessonPage& last = lesson.pages[4];
  REQUIRE(last.ask);
  CHECK(last.ask->points.size() == 3);
  CHECK(last.ask->points[2].problem.seq_kv == 32);
  REQUIRE(last.task);
  CHECK(last.task->free == std::vector<std::string>{"seq"});
  REQUIRE(last.task->solution);
  CHECK(last.task->solution->state.problem.seq_q == 32);
  CHECK(last.notes.size() == 1);
}

TEST_CASE("lesson: stars and brackets inside a figure are arithmetic, not Markdown") {
  const auto prose = parse_prose("{= 2 * N * d : bytes} and *more* of {= (N > 2 ? 1 : 2) * 3 * 4 : number}", "x", 7);
  REQUIRE(prose);
  const auto figures = figures_of(*prose);
  REQUIRE(figures.size() == 2);
  CHECK(figures[0]->expression == "2 * N * d");
  CHECK(figures[0]->unit == FigureUnit::bytes);
  CHECK(figures[1]->expression == "(N > 2 ? 1 : 2) * 3 * 4");
  CHECK(figures[1]->line == 7);
}

TEST_CASE("lesson: lists keep their depth and numbers, code keeps its lines") {
  const auto prose = parse_prose("1. one\n2. two\n   - inner\n\n```\na  b\nc\n```\n", "x", 1);
  REQUIRE(prose);
  REQUIRE(prose->size() == 4);
  CHECK((*prose)[1].kind == ProseBlock::Kind::item);
  CHECK((*prose)[1].number == 2);
  CHECK((*prose)[2].depth == 2);
  CHECK((*prose)[2].number == 0);
  CHECK((*prose)[3].kind == ProseBlock::Kind::code);
  CHECK((*prose)[3].runs[0].text == "a  b\nc\n");
}

TEST_CASE("lesson: every fault is a sentence with file and line") {
  CHECK(holds(lesson_refusal(""), "x.md: the file is empty"));
  CHECK(holds(lesson_refusal("hello"), "x.md:1: a lesson begins with a block"));
  CHECK(holds(lesson_refusal(std::string(300 << 10, 'a')), "at most 256 KiB"));
  CHECK(holds(lesson_refusal(std::string("a\0b", 3)), "control character"));
  CHECK(holds(lesson_refusal("a\n\xFF"), "x.md:2: the text is not UTF-8"));
  CHECK(
      holds(lesson_refusal(changed("minutes = 1", "minutes = 1\nversion = 9")), "of version 9, and this program reads version 1"));
  CHECK(holds(lesson_refusal(changed("minutes = 1", "minutes = ")), "x.md:3: not TOML"));
  CHECK(holds(lesson_refusal(changed("minutes = 1", "minutse = 1")), "did you mean minutes?"));
  CHECK(holds(lesson_refusal(changed("kind = \"choice\"", "kind = \"chioce\"")), "did you mean choice?"));
  CHECK(holds(lesson_refusal(changed("link = \"seq=16", "link = \"seqq=16")),
              "x.md:12: a link has no key 'seqq': did you mean seq?"));
  CHECK(holds(lesson_refusal(changed("look = [\"stage\"", "look = [\"stagee\"")),
              "x.md:13: there is no panel 'stagee': did you mean stage?"));
  CHECK(holds(lesson_refusal(changed("{= standard.hbm", "{= standrad.hbm")), "x.md:9: there is no figure 'standrad.hbm'"));
  CHECK(holds(lesson_refusal(changed("/ hbm : times}", "/ hbmm : times}")), "did you mean hbm?"));
  CHECK(holds(lesson_refusal(changed(": times}", ": tims}")), "x.md:9: there is no unit 'tims': did you mean times?"));
  CHECK(holds(lesson_refusal(changed("answer = \"Nk\"", "answer = \"Nk +\"")), "cannot be computed"));
  CHECK(holds(lesson_refusal(changed("goal = \"N > scene.N\"", "goal = \"N = 3\"")), "write == to compare"));
  CHECK(holds(lesson_refusal(changed("pick = \"largest\"", "pick = \"best\"")), "pick must be"));
  CHECK(holds(lesson_refusal(changed("values = [8, 16, 32]", "values = [16, 8]")), "each larger than the one before"));
  CHECK(holds(lesson_refusal(changed("free = [\"seq\"]", "free = [\"sequ\"]")), "did you mean seq?"));
  CHECK(holds(lesson_refusal(changed("others = { standard", "others = { hbm")), "the name 'hbm' is taken"));
  CHECK(holds(lesson_refusal(changed("## Choice", "# Choice")), "stands before the first page"));
  CHECK(holds(lesson_refusal(changed("Standard attention moves", "| a | b |\n|---|---|\n| c | d |\n\nStandard moves")),
              "something else"));
  // Cut off anywhere, it is refused or still a lesson, never a crash.
  const std::string text = small_lesson;
  for (std::size_t length = 0; length < text.size(); length += 7) {
    const std::string why = lesson_refusal(text.substr(0, length));
    if (!why.empty()) CHECK(holds(why, "x.md"));
  }
}

TEST_CASE("lesson: a question has reasons for wrong answers, by option, by number and for the rest") {
  const auto read = parse_lesson(small_lesson, "00-small", "small.md");
  REQUIRE_MESSAGE(read, (read ? std::string() : read.error().sentence.text()));
  const auto& pages = (*read)->pages;
  REQUIRE(pages[0].ask->wrong.size() == 1);
  CHECK(pages[0].ask->wrong[0].option == 0);
  CHECK(plain_text(pages[0].ask->wrong[0].say) == "It never stores the {} scores.");
  REQUIRE(pages[1].ask->wrong.size() == 3);
  CHECK(pages[1].ask->wrong[0].near.text == "d");
  CHECK(pages[1].ask->wrong[0].line == 40);
  CHECK_FALSE(pages[1].ask->wrong[1].takes_all());
  CHECK(pages[1].ask->wrong[2].takes_all());
  CHECK(pages[2].ask->wrong.empty());
  CHECK(pages[3].ask->wrong[0].takes_all());
}

TEST_CASE("lesson: a fault in a reason is a sentence with its line") {
  CHECK(holds(lesson_refusal(changed("{ choice = 1, say", "{ choise = 1, say")),
              "x.md:24: unknown key 'choise' in wrong: did you mean choice?"));
  CHECK(holds(lesson_refusal(changed("{ choice = 1, say", "{ choice = 3, say")),
              "x.md:24: choice must be the place of an option, 1 to 2"));
  CHECK(holds(lesson_refusal(changed("{ choice = 1, say", "{ choice = \"flash2\", say")), "choice must be the place of an option"));
  CHECK(holds(lesson_refusal(changed("{ choice = 1, say", "{ near = \"N\", say")), "unknown key 'near' in wrong"));
  CHECK(holds(lesson_refusal(changed("wrong = [{ choice", "wrong = [{ choice = 1, say = \"No.\" }, { choice")),
              "option 1 has a second reason: keep one"));
  CHECK(holds(lesson_refusal(changed("{ near = \"d\", say", "{ near = 4, say")), "x.md:40: near must be a text: write near = "));
  CHECK(holds(lesson_refusal(changed("{ near = \"d\", say", "{ near = \"dd\", say")), "x.md:40: there is no figure 'dd'"));
  CHECK(holds(lesson_refusal(changed("{ near = \"d\", say", "{ near = \"d +\", say")), "x.md:40: 'd +' cannot be computed"));
  CHECK(holds(lesson_refusal(changed("{ near = \"d\", say = \"That", "{ near = \"d\", sai = \"That")), "did you mean say?"));
  CHECK(holds(lesson_refusal(changed("{ near = \"N * Nk\", say", "{ say")),
              "x.md:42: this reason comes after the one for every other answer: move it before that one"));
  CHECK(holds(lesson_refusal(changed("row, at step {= step", "row, at step {= stepp")), "x.md:40: there is no figure 'stepp'"));
  CHECK(holds(lesson_refusal(changed("wrong = [{ say = \"O is written once.\" }]", "wrong = \"no\"")), "must be a list of 1 to"));
  CHECK(holds(lesson_refusal(changed("wrong = [{ say = \"O is written once.\" }]", "wrong = []")), "must be a list of 1 to"));
  CHECK(holds(lesson_refusal(changed("wrong = [{ say = \"O is written once.\" }]", "wrong = [{}]")), "say must be a text"));
}

TEST_CASE("lesson: a reveal may show another run, where no task keeps that of the page") {
  const std::string before = "say = \"It is O.\"", last = "say = \"Twice N, four times the exponentials.\"";
  const auto with = [&](const std::string& reveal) { return changed(before, before + "\n" + reveal); };
  const auto lesson = parse_lesson(with("link = \"seq=32&step=2\"\nlook = [\"timeline\"]"), "00-small", "small.md");
  REQUIRE(lesson);
  REQUIRE((*lesson)->pages[2].reveal->scene);
  const LessonScene& then = *(*lesson)->pages[2].reveal->scene;
  CHECK(then.state.problem.seq_q == 32);
  CHECK(then.look == std::vector<std::string>{"timeline"});
  CHECK(then.others.size() == 1);
  CHECK_FALSE((*lesson)->pages[1].reveal->scene);
  CHECK(holds(lesson_refusal(with("link = \"seq=none\"")), "the link of the reveal: "));
  CHECK(holds(lesson_refusal(with("look = [\"nowhere\"]")), "there is no panel 'nowhere'"));
  CHECK(holds(lesson_refusal(changed(last, last + "\nlink = \"seq=32\"")), "give the task a page of its own"));
}

TEST_CASE("lesson: the keys of a variant take the place of the scene's, and an empty one takes its key away") {
  CHECK(changed_link("seq=16&mask=q&step=1", "mask=&step=3") == "seq=16&step=3");
  CHECK(changed_link("a=1&b=2&c=3", "b=5") == "a=1&c=3&b=5");
  CHECK(changed_link("a=1", "") == "a=1");
  CHECK(changed_link("", "b=5") == "b=5");
  CHECK(changed_link("step=4&a=1", "cycle=2") == "a=1&cycle=2");
}

TEST_CASE("lesson: the shipped ones are found by number, name and id, in both languages") {
  const LessonList list = load_lesson_list();
  CHECK(list.problem.empty());
  REQUIRE(list.lessons.size() >= 8);
  for (const LessonInfo& info : list.lessons) {
    CAPTURE(info.id);
    CHECK(info.languages.contains("en"));
    CHECK(info.languages.contains("ko"));
    CHECK(list.find(info.id) == &info);
    CHECK(list.find(std::to_string(info.number)) == &info);
  }
  CHECK(list.find("why-memory") == &list.lessons.front());
  CHECK(list.find("why-memroy") == nullptr);
  const auto missing = load_lesson(list, "01-why-memroy", "en");
  REQUIRE_FALSE(missing);
  CHECK(holds(missing.error().sentence.text(), "did you mean 01-why-memory?"));
}
