// Labels of a plot: they lie at what they name.
#include "app/ui/plot.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/app/views/panel_screen.h"

namespace tilescope {
namespace {

/// Flat lines at these heights, one close above the other and one at the plot's upper edge, and a slope.
constexpr std::array<double, 3> heights = {700, 1070, 2140};

struct Drawn {
  std::array<std::optional<Rect>, 4> labels;
  std::array<float, 3> lines{};
  ImVec2 low, high;
};

Drawn draw_lines(ImVec2 size) {
  static Drawn drawn;  // a panel is a plain function
  drawn = {};
  PanelScreen screen(size);
  const auto draw = [](const View& view, Commands&) {
    const ImVec2 room = ImGui::GetIO().DisplaySize;
    Plot plot(*view.theme, ImGui::GetWindowDrawList(), {{0, 0}, room}, {.low = 1, .high = 2000}, {.low = 0.5, .high = 2200});
    const std::array<PlotPoint, 2> slope = {PlotPoint{1, 4.6}, {150, 700}};
    plot.curve(slope, view.theme->text, 2);
    for (const double y : heights) plot.curve(std::array<PlotPoint, 2>{PlotPoint{1, y}, {2000, y}}, view.theme->text, 2);
    plot.keep_clear({{room.x - 160, plot.at({1, 700}).y + 3}, {room.x, plot.at({1, 700}).y + 17}});
    drawn.low = plot.at(slope[0]);
    drawn.high = plot.at(slope[1]);
    for (std::size_t i = 0; i < heights.size(); ++i) {
      drawn.lines[i] = plot.at({1, heights[i]}).y;
      drawn.labels[i] = plot.label_on_line({2000, heights[i]}, {1, heights[i]}, "tensor cores 700 TFLOP/s", view.theme->text);
    }
    drawn.labels[3] = plot.label_on_line(slope[0], slope[1], "HBM 4626 GB/s", view.theme->text);
  };
  screen.frame(View{}, draw);
  return drawn;
}

bool meet(const Rect& a, const Rect& b) {
  return a.min.x < b.max.x && b.min.x < a.max.x && a.min.y < b.max.y && b.min.y < a.max.y;
}

}  // namespace

TEST_CASE("plot: all ticks at equal steps have one unit, zero too") {
  const auto texts = [](double high, std::span<const PlotUnit> units) {
    const PlotAxis axis{.low = 0, .high = high, .log = false, .units = units};
    std::vector<std::string> out;
    for (const PlotTick& tick : plot_ticks(axis, 3)) out.push_back(tick.text);
    return out;
  };
  CHECK(texts(60, plot_units_of_us) == std::vector<std::string>{"0 µs", "20 µs", "40 µs", "60 µs"});
  CHECK(texts(1500, plot_units_of_us) == std::vector<std::string>{"0 ms", "0.5 ms", "1 ms", "1.5 ms"});
  CHECK(texts(1500, plot_units_of_bytes) == std::vector<std::string>{"0 kB", "0.5 kB", "1 kB", "1.5 kB"});
  CHECK(texts(0.6, plot_units_of_ns) == std::vector<std::string>{"0 ns", "0.2 ns", "0.4 ns", "0.6 ns"});
}

TEST_CASE("plot: an axis from 0 has a 0 without a sign at its foot") {
  const PlotAxis axis{.low = 0, .high = 3, .log = false, .format = [](double value) { return std::to_string(value); }};
  const std::vector<PlotTick> ticks = plot_ticks(axis, 4);
  REQUIRE_FALSE(ticks.empty());
  CHECK(ticks.front().text == "0.000000");
}

TEST_CASE("plot: a logarithmic axis has at least three labels, however short it is") {
  for (const int most : {3, 5, 9})
    for (double low = 1.05; low < 900; low *= 1.37)
      for (double times = 1.3; times < 5000; times *= 1.6) {
        const PlotAxis axis{.low = low, .high = low * times};
        CAPTURE(most);
        CAPTURE(low);
        CAPTURE(times);
        int labels = 0;
        double before = 0;
        for (const PlotTick& tick : plot_ticks(axis, most)) {
          if (tick.text.empty()) continue;
          CHECK(tick.value > before);
          before = tick.value;
          labels += tick.value >= axis.low && tick.value <= axis.high ? 1 : 0;
        }
        CHECK(labels >= 3);
        CHECK(labels <= 12);
      }
}

TEST_CASE("plot: the label of a line lies on it and on no other label, also where lines are close or at the edge") {
  for (const ImVec2 size : {ImVec2{1400, 560}, ImVec2{900, 320}, ImVec2{640, 240}}) {
    CAPTURE(size.y);
    const Drawn drawn = draw_lines(size);
    for (std::size_t i = 0; i < drawn.labels.size(); ++i) {
      CAPTURE(i);
      REQUIRE(drawn.labels[i]);
      const ImVec2 c = drawn.labels[i]->center();
      const float slope = (drawn.high.y - drawn.low.y) / (drawn.high.x - drawn.low.x);
      const float line = i < heights.size() ? drawn.lines[i] : drawn.low.y + slope * (c.x - drawn.low.x);
      CHECK(std::abs(c.y - line) < 1);
      for (std::size_t j = 0; j < i; ++j) CHECK_FALSE(meet(*drawn.labels[i], *drawn.labels[j]));
    }
  }
}

}  // namespace tilescope
