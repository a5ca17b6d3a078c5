// Simulated against measured as points: on two logarithmic axes, or as the error over the size.
#include <algorithm>
#include <cmath>

#include "app/ui/say.h"
#include "app/views/validate/validate_panel.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

struct Point {
  std::size_t index = 0, kernel = 0;
  PlotPoint at;
  std::optional<Verdict> verdict;
};

std::string bytes_tick(double value) {
  return format_bytes(Bytes(std::llround(value)));
}
std::string time_tick(double value) {
  return format_time(Nanoseconds(value));
}
std::string percent_tick(double value) {
  return format_signed_percent(value);
}

std::vector<Point> collect(const ValidationState& validation, const ValidatePanelState& state,
                           const std::vector<std::string>& kernels) {
  std::vector<Point> points;
  const auto& cases = validation.bundle->bundle.cases;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!validation.results[i] || (!state.only_kernel.empty() && cases[i].kernel != state.only_kernel)) continue;
    const auto& c = validation.results[i]->figure(state.figure);
    if (!c || c->measured.median <= 0) continue;
    const auto kernel = static_cast<std::size_t>(std::find(kernels.begin(), kernels.end(), cases[i].kernel) - kernels.begin());
    const PlotPoint at = state.picture == ValidatePicture::errors ? PlotPoint{c->measured.median, c->error()}
                                                                  : PlotPoint{c->measured.median, c->simulated};
    points.push_back({i, kernel, at, c->verdict()});
  }
  return points;
}

struct Axes {
  PlotAxis x, y;
};

Axes axes_of(const std::vector<Point>& points, const ValidatePanelState& state) {
  std::vector<double> xs, ys, both;
  for (const Point& p : points) {
    xs.push_back(p.at.x);
    ys.push_back(p.at.y);
    both.push_back(p.at.x);
    if (p.at.y > 0) both.push_back(p.at.y);
  }
  const bool time = state.figure == Figure::time;
  Axes axes;
  if (state.picture == ValidatePicture::errors) {
    axes.x = axis_over(time ? tr("measured time") : tr("measured bytes"), xs);
    double most = 0.01;
    for (const double y : ys) most = std::max(most, std::abs(y) * 1.1);
    axes.y.title = tr("error of the simulation");
    axes.y.log = false;
    axes.y.low = -most;
    axes.y.high = most;
    axes.y.format = &percent_tick;
  } else {
    axes.x = axis_over(time ? tr("measured time") : tr("measured bytes"), both);
    axes.y = axes.x;
    axes.y.title = time ? tr("simulated time") : tr("simulated bytes");
    axes.y.format = time ? &time_tick : &bytes_tick;
  }
  axes.x.format = time ? &time_tick : &bytes_tick;
  return axes;
}

void draw_reference(Plot& plot, const Theme& theme, const ValidatePanelState& state) {
  const double low = plot.x_axis().low, high = plot.x_axis().high;
  if (state.picture == ValidatePicture::errors) {
    plot.curve(std::vector<PlotPoint>{{low, 0}, {high, 0}}, theme.text_faint, theme.scale, Plot::Line::solid);
    return;
  }
  const std::vector<PlotPoint> diagonal = {{low, low}, {high, high}};
  plot.curve(diagonal, theme.text_faint, theme.scale, Plot::Line::dashed);
  plot.end_label(diagonal, tr("equal"), theme.text_faint);
}

/// The point nearest to the mouse within reach.
const Point* under_mouse(const Plot& plot, const std::vector<Point>& points, float reach) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (!plot.inside().contains(mouse)) return nullptr;
  const Point* nearest = nullptr;
  float least = reach * reach;
  for (const Point& p : points) {
    const ImVec2 at = plot.at(p.at);
    const float distance = (at.x - mouse.x) * (at.x - mouse.x) + (at.y - mouse.y) * (at.y - mouse.y);
    if (distance < least) least = distance, nearest = &p;
  }
  return nearest;
}

}  // namespace

void draw_validate_plot(const Rect& area, const View& view, Commands& commands, ValidatePanelState& state) {
  const Theme& theme = *view.theme;
  const ValidationState& validation = *view.measured.validation;
  const std::vector<std::string> kernels = kernels_of(validation.bundle->bundle);
  const std::vector<Point> points = collect(validation, state, kernels);
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (points.empty()) {
    draw_text(list, theme.ui, area, theme.text_faint, tr("no case has been simulated yet"), Align::center);
    return;
  }
  const Axes axes = axes_of(points, state);
  Plot plot(theme, list, area, axes.x, axes.y);
  draw_reference(plot, theme, state);

  const float radius = 4 * theme.scale;
  const auto shown = shown_case(view);
  const Point* nearest = ImGui::IsWindowHovered() ? under_mouse(plot, points, 12 * theme.scale) : nullptr;
  if (nearest != nullptr) state.hovered = nearest->index;
  for (const Point& p : points) {
    const KernelMark mark = mark_of(theme, p.kernel);
    plot.marker(mark.marker, p.at, mark.color, radius);
    const ImVec2 at = plot.at(p.at);
    if (p.verdict >= Verdict::within_spread)
      list->AddCircle(at, radius * 1.9F, style_of(theme, p.verdict).color, 0, 1.5F * theme.scale);
    if (state.hovered == p.index || shown == p.index) list->AddCircle(at, radius * 2.6F, theme.highlight, 0, 2 * theme.scale);
  }
  if (nearest == nullptr) return;
  ImGui::SetCursorScreenPos(plot.inside().min);
  if (hit_area("points", plot.inside())) open_case(view, commands, nearest->index);
  const MeasuredCase& measured = validation.bundle->bundle.cases[nearest->index];
  const Comparison& c = *validation.results[nearest->index]->figure(state.figure);
  show_tooltip(theme, fmt::format("{}, {}", measured.kernel, short_text(measured)), comparison_text(c, measured, state.figure));
}

}  // namespace tilescope
