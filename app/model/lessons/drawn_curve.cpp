// Measures a curve from its ends.
#include "app/model/lessons/drawn_curve.h"

#include <algorithm>
#include <cmath>

namespace tilescope {

bool is_near(double number, double real, double tolerance) {
  return std::fabs(number - real) <= tolerance * std::fabs(real) + rounding;
}

bool logarithmic_axis(const std::vector<double>& xs) {
  const double widest = xs.back() - xs.front();
  for (std::size_t i = 2; i < xs.size(); ++i) {
    const double steps = (xs[i] - xs[i - 1]) / (xs[1] - xs[0]);
    if (std::fabs(steps - std::round(steps)) > 1e-9 || xs[i] - xs[i - 1] > 0.5 * widest) return true;
  }
  return false;
}

std::vector<double> places_across(const std::vector<double>& xs) {
  const bool logarithmic = logarithmic_axis(xs);
  const auto at = [&](double x) { return logarithmic ? std::log(x) : x; };
  std::vector<double> places;
  for (const double x : xs) places.push_back((at(x) - at(xs.front())) / (at(xs.back()) - at(xs.front())));
  return places;
}

namespace {

/// Returns how far a curve lies above the straight line between its ends: the mean of the points between, over its height.
double bend_of(const std::vector<double>& xs, const std::vector<double>& ys) {
  const auto [low, high] = std::ranges::minmax(ys);
  if (ys.size() < 3 || ys.size() != xs.size() || high <= low) return 0;
  const std::vector<double> across = places_across(xs);
  const std::size_t last = ys.size() - 1;
  double above = 0;
  for (std::size_t i = 1; i < last; ++i) above += ys[i] - (ys[0] + across[i] * (ys[last] - ys[0]));
  return above / (static_cast<double>(last - 1) * (high - low));
}

}  // namespace

std::optional<BendMissed> bend_missed(const std::vector<double>& xs, const std::vector<double>& drawn,
                                      const std::vector<double>& curve) {
  const double real = bend_of(xs, curve), own = bend_of(xs, drawn);
  if (std::fabs(real) < least_bend || own * real >= least_part_of_bend * real * real) return std::nullopt;
  return BendMissed{real < 0};
}

std::optional<DrawnWay> way_off(const std::vector<double>& xs, const std::vector<double>& drawn, const std::vector<double>& curve,
                                double tolerance) {
  bool above = false, below = false;
  for (std::size_t i = 0; i < std::min(drawn.size(), curve.size()); ++i) {
    if (is_near(drawn[i], curve[i], tolerance)) continue;
    (drawn[i] > curve[i] ? above : below) = true;
  }
  if (above && below) return DrawnWay::shape;
  if (above || below) return above ? DrawnWay::above : DrawnWay::below;
  return bend_missed(xs, drawn, curve) ? std::optional(DrawnWay::shape) : std::nullopt;
}

std::optional<CurveDifference> curve_difference(const std::vector<double>& xs, const std::vector<double>& drawn,
                                                const std::vector<double>& curve, double tolerance) {
  const std::size_t count = xs.size();
  if (count < 2 || drawn.size() != count || curve.size() != count) return std::nullopt;
  CurveDifference out;
  if (curve.front() > 0 && curve.back() > 0 && drawn.front() > 0 && drawn.back() > 0) {
    using Slope = CurveDifference::Slope;
    const double real = std::log(curve.back() / curve.front()), own = std::log(drawn.back() / drawn.front());
    out.slope = std::fabs(own - real) < std::log(like_growth) ? Slope::right
                : own * real < 0                              ? Slope::other_way
                : std::fabs(own) > std::fabs(real)            ? Slope::too_steep
                                                              : Slope::too_flat;
  }
  const auto near = [&](std::size_t i) { return is_near(drawn[i], curve[i], tolerance); };
  std::size_t changes = 0, at = 0;  // between near and off, and the first point after the last change
  for (std::size_t i = 1; i < count; ++i)
    if (near(i) != near(i - 1)) ++changes, at = i;
  if (changes != 1) return out;
  (near(0) ? out.parts_after : out.meets_at) = near(0) ? at - 1 : at;
  return out;
}

}  // namespace tilescope
