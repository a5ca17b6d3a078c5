// Plot: a rectangle with two axes, linear or logarithmic: grid, curves, points, and labels that stand beside what they name.
//
//   y title, with its unit
//   100 ┤      ╱ label          area − room for ticks = inside()
//    10 ┤   ●╱                  labels give way to each other in the order in which they are asked for
//     1 ┼───┬───┬──
//       1  10  100    x title, with its unit
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/ui/widgets.h"

namespace tilescope {

struct PlotAxis {
  std::string title;         // with its unit: "queries N", "HBM traffic (bytes)"
  double low = 0, high = 1;  // of a logarithmic axis above 0
  bool log = true;
  int base = 10;                            // of a logarithmic axis: ticks at powers of 10 or of 2
  std::string (*format)(double) = nullptr;  // of a tick; format_value() when absent
};

/// An axis from the least to the greatest of `values` with a little room beyond; what is not finite, or not positive where the
/// axis is logarithmic, is passed over. From 1 to 10 where nothing is left.
PlotAxis axis_over(std::string title, std::span<const double> values, bool log = true);

struct PlotTick {
  double value = 0;
  std::string text;  // empty: a grid line without a number
};
/// At most `most` ticks with a text, at round numbers (1, 2, 5 of a power of ten; powers of `base`) inside the axis.
std::vector<PlotTick> plot_ticks(const PlotAxis& axis, int most);

struct PlotPoint {
  double x = 0, y = 0;
};

enum class Marker { circle, ring, square, diamond, triangle, cross };

/// A marker alone, for keys and other places outside a plot.
void draw_marker(ImDrawList* list, Marker marker, ImVec2 center, float radius, ImU32 color, float line_width);

class Plot {
 public:
  /// Draws the grid, the ticks and the titles.
  Plot(const Theme& theme, ImDrawList* list, const Rect& area, PlotAxis x, PlotAxis y);

  const Rect& inside() const { return inside_; }
  const PlotAxis& x_axis() const { return x_; }
  const PlotAxis& y_axis() const { return y_; }
  ImVec2 at(PlotPoint point) const;  // may be outside
  double x_at(float pixel) const;
  double y_at(float pixel) const;
  bool shows(PlotPoint point) const;

  enum class Line { solid, dashed, dotted };
  /// A line through `points`, cut at the edges; breaks at what is not finite, or not positive where an axis is logarithmic.
  void curve(std::span<const PlotPoint> points, ImU32 color, float width, Line line = Line::solid);
  void marker(Marker marker, PlotPoint point, ImU32 color, float radius);
  /// A bar from `low` to `high` at x: the spread of a measured value.
  void spread(double x, double low, double high, ImU32 color);
  /// A line across all of the plot at `x`.
  void vertical(double x, ImU32 color, Line line = Line::dashed);

  enum class Side { right, left, above, below };
  /// One line beside `point`, on `side` if nothing stands there, else on another side or further off, with a line back to the
  /// point. Left out where there is no room at all.
  void label(PlotPoint point, std::string_view text, ImU32 color, Side side = Side::right, bool bold = false);
  /// A label beside the last point of a curve that lies inside the plot.
  void end_label(std::span<const PlotPoint> points, std::string_view text, ImU32 color);
  /// Keeps labels away from `rect`.
  void keep_clear(const Rect& rect) { taken_.push_back(rect); }

 private:
  bool valid(PlotPoint point) const;
  bool is_free(const Rect& rect) const;
  void keep_clear_along(ImVec2 a, ImVec2 b);
  void polyline(std::span<const ImVec2> pixels, ImU32 color, float width, Line line);

  const Theme& theme_;
  ImDrawList* list_;
  Rect inside_;
  PlotAxis x_, y_;
  std::vector<Rect> taken_;
};

/// Draws a pattern of slanted lines in `rect`: what is not possible, or a second sign beside a colour.
void draw_hatch(ImDrawList* list, const Rect& rect, ImU32 color, float spacing, float width, bool backward = false);

}  // namespace tilescope
