// Drawings beside the curves of questions.
#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "app/model/lessons/drawn_curve.h"
#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/lesson_list.h"
#include "app/model/lessons/lesson_runs.h"
#include "app/model/lessons/page_figures.h"
#include "app/model/requests/assets.h"
#include "tests/app/model/lessons/lesson_fixture.h"

using namespace tilescope;

TEST_CASE("drawn curve: a drawing differs from its curve in how steep it is, and where the two part or meet") {
  using Slope = CurveDifference::Slope;
  const std::vector<double> xs = {16, 32, 64, 128}, curve = {10, 40, 160, 640};
  const auto difference = [&](const std::vector<double>& drawn, double tolerance = 0.5) {
    return *curve_difference(xs, drawn, curve, tolerance);
  };
  CHECK(difference({10, 20, 40, 80}).slope == Slope::too_flat);
  CHECK(difference({1, 40, 160, 640}).slope == Slope::too_steep);
  CHECK(difference({640, 160, 40, 10}).slope == Slope::other_way);
  CHECK(difference({20, 80, 320, 1280}).slope == Slope::right);  // twice as high everywhere
  CHECK_FALSE(difference({0, 40, 160, 640}).slope);
  CHECK(difference({10, 40, 60, 80}).parts_after == 1);
  CHECK_FALSE(difference({10, 40, 60, 80}).meets_at);
  CHECK(difference({1, 10, 160, 640}).meets_at == 2);
  for (const auto& both : {difference({10, 400, 160, 80}), difference(curve), difference({1, 1, 1, 1})}) {
    CHECK_FALSE(both.parts_after);
    CHECK_FALSE(both.meets_at);
  }
  CHECK_FALSE(curve_difference(xs, {1, 2}, curve, 0.5));
}

TEST_CASE("drawn curve: a straight line through the ends of the HBM bytes of standard attention is told that they bend") {
  const auto lesson = load_lesson(load_lesson_list(), "1", "en");
  REQUIRE(lesson);
  const auto page = std::ranges::find_if((*lesson)->pages,
                                         [](const LessonPage& each) { return each.ask && each.ask->kind == QuestionKind::draw; });
  REQUIRE(page != (*lesson)->pages.end());
  StateRuns runs(&load_gpu);
  const auto figures = page_figures(**lesson, static_cast<std::size_t>(page - (*lesson)->pages.begin()), runs, {}, {});
  REQUIRE(figures);
  const std::vector<double> across = places_across(page->ask->xs), &curve = figures->curve;
  LessonAnswer straight, exact;
  for (const double part : across) straight.drawn.push_back(curve.front() + part * (curve.back() - curve.front()));
  exact.drawn = curve;
  CHECK(is_right(*page->ask, exact, *figures));
  CHECK_FALSE(is_right(*page->ask, straight, *figures));
  const LessonWrong* const reason = why_wrong(*page->ask, straight, *figures);
  REQUIRE(reason != nullptr);
  CHECK(plain_text(reason->say).find("straight line") != std::string::npos);
}

TEST_CASE("drawn curve: lesson 20 takes no flat and no straight line for a time that grows in steps") {
  const auto lesson = load_lesson(load_lesson_list(), "20", "en");
  REQUIRE(lesson);
  StateRuns runs(&load_gpu);
  const auto figures = page_figures(**lesson, 5, runs, {}, {});
  REQUIRE(figures);
  const LessonQuestion& ask = *(*lesson)->pages[5].ask;
  REQUIRE(ask.kind == QuestionKind::draw);
  const std::vector<double>& curve = figures->curve;
  LessonAnswer exact, flat, straight;
  exact.drawn = curve;
  flat.drawn = {37.8, 40, 40, 40};
  for (const double part : places_across(ask.xs)) straight.drawn.push_back(curve.front() + part * (curve.back() - curve.front()));
  CHECK(is_right(ask, exact, *figures));
  CHECK_FALSE(is_right(ask, flat, *figures));
  CHECK_FALSE(is_right(ask, straight, *figures));
}
