// What the check of a lesson finds.
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "app/model/lessons/lesson_check.h"
#include "app/model/lessons/lesson_parser.h"
#include "app/model/lessons/lesson_runs.h"
#include "app/model/requests/assets.h"
#include "tests/app/model/lessons/lesson_fixture.h"

using namespace tilescope;

TEST_CASE("lesson check: a reason that no answer gets, and options in the right order, are findings") {
  StateRuns runs(&load_gpu);
  const auto findings = [&](const std::string& from, const std::string& to) {
    std::string text = small_lesson;
    REQUIRE(text.find(from) != std::string::npos);
    const auto lesson = parse_lesson(text.replace(text.find(from), from.size(), to), "x", "x.md");
    REQUIRE_MESSAGE(lesson, (lesson ? std::string() : lesson.error().sentence.text()));
    std::vector<std::string> found = check_pages(**lesson, runs, {});
    for (const std::string& digit : check_digits(**lesson)) found.push_back(digit);
    const auto plain = parse_lesson(small_lesson, "y", "y.md");
    REQUIRE(plain);
    for (const std::string& other : check_same_structure(**plain, **lesson)) found.push_back(other);
    return fmt::format("{}", fmt::join(found, "\n"));
  };
  CHECK(findings("choice = 1", "choice = 1").empty());
  CHECK(findings("[8, 16, 32] }\ncurve = \"exps\"", "[8, 16, 24] }\ncurve = \"N + 100\"").find("a flat line at 112") !=
        std::string::npos);
  CHECK(findings("choice = 1", "choice = 2").find("x.md:24: option 2 is the right one: it needs no reason") == 0);
  CHECK(findings("near = \"d\"", "near = \"N\"").find("x.md:40: near is 16, within the tolerance of the right answer, 16") == 0);
  CHECK(findings("near = \"d\"", "near = \"N / (N - 16)\"").find("x.md:40: 'N / (N - 16)' cannot be computed") == 0);
  CHECK(findings("near = \"N * Nk\"", "near = \"d + 0.1\"").find("x.md:41: near is 4.1, and the reason at line 40 comes first") ==
        0);
  CHECK(findings("the number of scores", "all 256 scores").find("x.md:41: '256' is a number that nothing computes") == 0);
  CHECK(findings("\"sm_to_l2.O\", \"l2_to_sm.Q + l2_to_sm.K + l2_to_sm.V\"", "\"N * Nk\", \"N\"")
            .find("the options stand in the right order already: move one, and its value") != std::string::npos);
  CHECK(findings("near = \"d\"", "near = \"d + 1\"").find("here 'reason: near = d + 1', there 'reason: near = d'") !=
        std::string::npos);
}
