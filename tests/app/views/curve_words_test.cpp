// What is said of a drawn curve is so: which way it goes, and which points are off.
#include "app/views/lesson/curve_words.h"

#include <doctest/doctest.h>

namespace tilescope {

namespace {

LessonQuestion drawing(std::vector<double> xs, double tolerance) {
  LessonQuestion ask;
  ask.kind = QuestionKind::draw;
  ask.x_key = "seq";
  ask.xs = std::move(xs);
  ask.tolerance = tolerance;
  return ask;
}

}  // namespace

TEST_CASE("drawn curve: one that bends otherwise is told how the curve rises or falls") {
  const LessonQuestion ask = drawing({1, 2, 3, 4, 5}, 0.9);
  const auto verdict = [&](const std::vector<double>& real) {
    std::vector<double> straight;
    for (std::size_t i = 0; i < real.size(); ++i)
      straight.push_back(real.front() + static_cast<double>(i) / 4 * (real.back() - real.front()));
    return curve_verdict(ask, straight, real);
  };
  CHECK(verdict({10, 11, 13, 17, 25}).find("rises more and more steeply") != std::string::npos);
  CHECK(verdict({10, 18, 22, 24, 25}).find("rises less and less steeply") != std::string::npos);
  CHECK(verdict({25, 17, 13, 11, 10}).find("falls less and less steeply") != std::string::npos);
  CHECK(verdict({25, 24, 22, 18, 10}).find("falls more and more steeply") != std::string::npos);
  CHECK(verdict({25, 14, 13, 18, 24}).find("bends upwards") != std::string::npos);
  CHECK(curve_verdict(ask, {25, 17, 13, 11, 10}, {25, 17, 13, 11, 10}).starts_with("Right:"));
}

TEST_CASE("drawn curve: points that are equally far off are all named") {
  const LessonQuestion ask = drawing({16, 32, 64, 128}, 0.2);
  const std::vector<double> real = {10, 20, 40, 80};
  CHECK(curve_verdict(ask, {10, 10, 40, 40}, real) == "Too low at N = 32, 128. Farthest: N = 32, 128, each 50 % off.");
  CHECK(curve_verdict(ask, {10, 10, 40, 20}, real) == "Too low at N = 32, 128. Farthest: N = 128, 20 instead of 80.");
}

}  // namespace tilescope
