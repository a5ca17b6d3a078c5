// Which answers are right, and which reason a wrong one gets.
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/lesson_check.h"
#include "app/model/lessons/lesson_parser.h"
#include "app/model/lessons/lesson_runs.h"
#include "app/model/lessons/page_figures.h"
#include "app/model/requests/assets.h"
#include "tests/app/model/lessons/lesson_fixture.h"

using namespace tilescope;

TEST_CASE("lesson answer: the first reason that fits a wrong answer is its reason") {
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

TEST_CASE("lesson answer: a wrong drawing has the reason of the way it is off") {
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

TEST_CASE("lesson answer: an answer is right within its tolerance") {
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
