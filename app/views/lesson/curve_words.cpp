// What came of a drawn curve: which points are off, how it bends, how steep it is.
#include "app/views/lesson/curve_words.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "app/ui/say.h"
#include "app/views/lesson/figure_words.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

/// "N = 32, 64"
std::string points_words(const LessonQuestion& ask, const std::vector<double>& xs) {
  std::string list;
  for (const double x : xs) {
    if (!list.empty()) list += ", ";
    list += is_capacity(ask.x_key) ? figure_words(x, FigureUnit::capacity) : format_count(std::llround(x));
  }
  return fmt::format("{} = {}", key_words(ask.x_key), list);
}

const char* slope_words(CurveDifference::Slope slope) {
  switch (slope) {
    case CurveDifference::Slope::other_way:
      return tr("Your curve goes the other way.");
    case CurveDifference::Slope::too_steep:
      return tr("Your curve is too steep.");
    case CurveDifference::Slope::too_flat:
      return tr("Your curve is too flat.");
    case CurveDifference::Slope::right:
      return tr("From end to end it changes nearly as much.");
  }
  return "";
}

/// How a curve bends, by what its values do from point to point.
const char* bend_words(const std::vector<double>& real, bool upwards) {
  if (std::ranges::is_sorted(real))
    return upwards ? tr("Every point is within {}. But the curve rises more and more steeply, and yours does not.")
                   : tr("Every point is within {}. But the curve rises less and less steeply, and yours does not.");
  if (std::ranges::is_sorted(real, std::greater<>()))
    return upwards ? tr("Every point is within {}. But the curve falls less and less steeply, and yours does not.")
                   : tr("Every point is within {}. But the curve falls more and more steeply, and yours does not.");
  return upwards ? tr("Every point is within {}. But the curve bends upwards, and yours does not.")
                 : tr("Every point is within {}. But the curve bends downwards, and yours does not.");
}

/// The point that is farthest off, with both values; where several are equally far, all of them.
std::string farthest_words(const LessonQuestion& ask, const std::vector<double>& drawn, const std::vector<double>& real) {
  const std::size_t count = std::min({ask.xs.size(), drawn.size(), real.size()});
  const auto error = [&](std::size_t i) { return std::fabs(drawn[i] - real[i]) / std::max(std::fabs(real[i]), 1e-12); };
  std::size_t farthest = 0;
  for (std::size_t i = 1; i < count; ++i)
    if (error(i) > error(farthest)) farthest = i;
  const std::string off = format_percent(error(farthest));
  std::vector<double> equally;  // as far, to the digits that a reader sees
  for (std::size_t i = 0; i < count; ++i)
    if (format_percent(error(i)) == off) equally.push_back(ask.xs[i]);
  if (equally.size() > 1) return say(tr("Farthest: {}, each {} off."), points_words(ask, equally), off);
  return say(tr("Farthest: {}, {} instead of {}."), points_words(ask, equally), figure_words(drawn[farthest], ask.unit),
             figure_words(real[farthest], ask.unit));
}

}  // namespace

std::string curve_course(const LessonQuestion& ask, const std::vector<double>& drawn, const std::vector<double>& real,
                         const CurveDifference& difference) {
  std::string text;
  if (difference.slope) {
    text = slope_words(*difference.slope);
    text += ' ';
    text += say(tr("At {} the simulated curve is {}× as high as at {}, yours {}×."), points_words(ask, {ask.xs.back()}),
                format_times(real.back() / real.front()), points_words(ask, {ask.xs.front()}),
                format_times(drawn.back() / drawn.front()));
  }
  const auto add = [&](const char* words, std::size_t point) {
    text += (text.empty() ? "" : " ") + say(words, points_words(ask, {ask.xs[point]}));
  };
  if (difference.parts_after) add(tr("The two part after {}."), *difference.parts_after);
  if (difference.meets_at) add(tr("From {} on yours is close enough."), *difference.meets_at);
  return text;
}

std::string curve_verdict(const LessonQuestion& ask, const std::vector<double>& drawn, const std::vector<double>& real) {
  const std::size_t count = std::min({ask.xs.size(), drawn.size(), real.size()});
  std::vector<double> above, below;
  for (std::size_t i = 0; i < count; ++i)
    if (!is_near(drawn[i], real[i], ask.tolerance)) (drawn[i] > real[i] ? above : below).push_back(ask.xs[i]);
  if (above.empty() && below.empty()) {
    const std::string within = format_percent(ask.tolerance);
    const auto missed = bend_missed(ask.xs, drawn, real);
    return missed ? say(bend_words(real, missed->upwards), within) : say(tr("Right: every point is within {}."), within);
  }
  std::string way = above.empty() ? std::string() : say(tr("Too high at {}."), points_words(ask, above));
  if (!below.empty()) way += (way.empty() ? "" : " ") + say(tr("Too low at {}."), points_words(ask, below));
  return way + " " + farthest_words(ask, drawn, real);
}

}  // namespace tilescope
