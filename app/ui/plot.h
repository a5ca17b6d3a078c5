// Plot: two axes, linear or logarithmic, with grid, curves, points and labels next to what they name.
//
//   y title, with its unit
//   100 ┤      ╱ label          area − room for ticks = inside()
//    10 ┤   ●╱                  earlier labels have priority over later ones
//     1 ┼───┬───┬──
//       1  10  100    x title, with its unit
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/ui/widgets.h"

namespace tilescope {

/// A unit of ticks, and how much of the axis's own it is.
struct PlotUnit {
  double size = 1;
  std::string_view name;
};
inline constexpr PlotUnit plot_units_of_ns[] = {{1, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}};
inline constexpr PlotUnit plot_units_of_us[] = {{1e-3, "ns"}, {1, "µs"}, {1e3, "ms"}, {1e6, "s"}};
inline constexpr PlotUnit plot_units_of_bytes[] = {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}};

struct PlotAxis {
  std::string title;         // with its unit: "queries N", "HBM traffic (bytes)"
  double low = 0, high = 1;  // above 0 on a logarithmic axis
  bool log = true;
  int base = 10;                            // logarithmic ticks at powers of 10 or 2
  std::vector<double> ticks = {};           // the only ticks, all labelled; empty: round numbers
  std::string (*format)(double) = nullptr;  // tick text; format_value() by default
  std::span<const PlotUnit> units = {};     // the smallest first: ticks at equal steps all have the largest that the axis reaches
};

/// Returns an axis over `values` with a small margin. Skips values that are not finite, or not positive on a logarithmic axis.
/// From 1 to 10 if none is left.
PlotAxis axis_over(std::string title, std::span<const double> values, bool log = true);

/// Returns the first round number that is not below `value`: 1, 1.5, 2, 3, … times a power of ten. 1 where `value` is not above 0.
double round_number_from(double value);

struct PlotTick {
  double value = 0;
  std::string text;  // empty: grid line only
};
/// Returns at most `most` labelled ticks at round numbers (1, 2, 5 times a power of ten; powers of `base`).
std::vector<PlotTick> plot_ticks(const PlotAxis& axis, int most);

struct PlotPoint {
  double x = 0, y = 0;
};

enum class Marker { circle, ring, square, diamond, triangle, cross };

/// Draws a marker outside a plot, for legends.
void draw_marker(ImDrawList* list, Marker marker, ImVec2 center, float radius, ImU32 color, float line_width);

class Plot {
 public:
  /// Draws grid, ticks and titles.
  Plot(const Theme& theme, ImDrawList* list, const Rect& area, PlotAxis x, PlotAxis y);

  const Rect& inside() const { return inside_; }
  const PlotAxis& x_axis() const { return x_; }
  const PlotAxis& y_axis() const { return y_; }
  ImVec2 at(PlotPoint point) const;  // may be outside
  double x_at(float pixel) const;
  double y_at(float pixel) const;
  bool shows(PlotPoint point) const;

  enum class Line { solid, dashed, dotted };
  /// Draws a line through `points`, clipped to the plot. It breaks at values that the axes cannot show. Labels keep off it.
  void curve(std::span<const PlotPoint> points, ImU32 color, float width, Line line = Line::solid);
  void marker(Marker marker, PlotPoint point, ImU32 color, float radius);
  /// Draws the spread of a measured value, from `low` to `high`.
  void spread(double x, double low, double high, ImU32 color);
  /// Draws a vertical line at `x`.
  void vertical(double x, ImU32 color, Line line = Line::dashed);

  enum class Side { right, left, above, below };
  /// Draws a label next to `point`, preferably on `side`. If that is occupied it moves to another side or further away, with a
  /// leader line, which crosses no curve where there is such a place. False, and no label, if there is no room.
  bool label(PlotPoint point, std::string_view text, ImU32 color, Side side = Side::right, bool bold = false);
  /// Draws one label for a curve, at the first of `points` whose leader crosses nothing; at the very first if each would.
  bool label(std::span<const PlotPoint> points, std::string_view text, ImU32 color, Side side, bool bold = false);
  /// Draws the first of `texts`, the longest first, that finds a place without crossing anything; else the first that finds one.
  bool label(std::span<const PlotPoint> points, std::span<const std::string> texts, ImU32 color, Side side, bool bold = false);
  /// Draws a label on the straight line from `from` to `to`, which it interrupts: near `from`, or at the first place after it that
  /// is free. On a slope among others it lies below its line instead. Draw the line with curve() first. Returns the label's place;
  /// nullopt, and no label, if there is none.
  std::optional<Rect> label_on_line(PlotPoint from, PlotPoint to, std::string_view text, ImU32 color);
  /// Labels the last visible point of a curve.
  void end_label(std::span<const PlotPoint> points, std::string_view text, ImU32 color);
  /// Keeps labels away from `rect`.
  void keep_clear(const Rect& rect) { taken_.push_back(rect); }

 private:
  bool valid(PlotPoint point) const;
  bool is_free(const Rect& rect) const;  // of other labels, points and curves
  bool place_label(PlotPoint point, std::string_view text, ImU32 color, Side side, bool bold, bool may_cross);
  bool crosses(ImVec2 from, ImVec2 to) const;  // curves or labels, beyond the surroundings of `from`
  void keep_clear_along(ImVec2 a, ImVec2 b);
  void polyline(std::span<const ImVec2> pixels, ImU32 color, float width, Line line);

  const Theme& theme_;
  ImDrawList* list_;
  Rect inside_;
  PlotAxis x_, y_;
  std::vector<Rect> taken_, lines_;  // lines_: small boxes along curves
};

/// Hatches `rect`: marks impossible cells, or adds a second cue to a colour.
void draw_hatch(ImDrawList* list, const Rect& rect, ImU32 color, float spacing, float width, bool backward = false);

}  // namespace tilescope
