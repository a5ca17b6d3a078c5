// How a drawn curve differs from the real one: its points, its bend, and how steep it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "app/model/lessons/lesson.h"

namespace tilescope {

/// What is added to every tolerance: sums round, and of a real 0 the tolerance is 0.
inline constexpr double rounding = 1e-12;
/// Whether a number is within a tolerance, relative to the real one.
bool is_near(double number, double real, double tolerance);

/// From which bend on a curve clearly bends: the mean distance from the straight line between its ends, over its height.
inline constexpr double least_bend = 0.05;
/// The part of that bend that a drawing needs.
inline constexpr double least_part_of_bend = 1.0 / 3;
/// Returns true if a curve over these values of x is drawn on a logarithmic axis: their distances have no common step.
bool logarithmic_axis(const std::vector<double>& xs);
/// Returns where the values of x lie on that axis: 0 at its first value, 1 at its last.
std::vector<double> places_across(const std::vector<double>& xs);
/// How the course of a drawing differs from that of a curve which clearly bends: less than a third of its bend, or the other way.
struct BendMissed {
  bool upwards = false;  // how the curve bends
};
std::optional<BendMissed> bend_missed(const std::vector<double>& xs, const std::vector<double>& drawn,
                                      const std::vector<double>& curve);
/// Which way a drawing is off: its points, or else its bend, which is its shape. nullopt where it is right.
std::optional<DrawnWay> way_off(const std::vector<double>& xs, const std::vector<double>& drawn, const std::vector<double>& curve,
                                double tolerance);
/// How a drawing differs from the curve, for words: how steep it is from end to end, and where the two part or meet.
struct CurveDifference {
  enum class Slope : std::uint8_t { right, too_steep, too_flat, other_way };
  std::optional<Slope> slope;              // nullopt: an end is not positive, so there is no ratio of the ends
  std::optional<std::size_t> parts_after;  // the last point within the tolerance, where all before are too and none after
  std::optional<std::size_t> meets_at;     // the first point within the tolerance, where none before is and all after are
};
/// Growths from end to end that differ by less than this factor are alike.
inline constexpr double like_growth = 1.5;
/// Returns nullopt for fewer than two points, and for lists of other lengths.
std::optional<CurveDifference> curve_difference(const std::vector<double>& xs, const std::vector<double>& drawn,
                                                const std::vector<double>& curve, double tolerance);

}  // namespace tilescope
