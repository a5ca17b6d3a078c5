// A curve that one draws: points over a few values of x, moved by mouse or keys, then beside the simulated one.
#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "app/model/lessons/drawn_curve.h"
#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_answer.h"
#include "app/model/state/center_views.h"
#include "app/ui/panel_state.h"
#include "app/ui/plot.h"
#include "app/ui/say.h"
#include "app/views/lesson/curve_words.h"
#include "app/views/lesson/figure_words.h"
#include "app/views/lesson/question.h"
#include "app/views/panels.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

std::string plain_number(double value) {
  return format_count(std::llround(value));
}

std::string capacity(double value) {
  return figure_words(value, FigureUnit::capacity);
}

/// The axis leaves room above the curve, so that its end is not given away. Shares of a whole end at the whole.
double top_of(const LessonView& lesson) {
  double most = 0;
  if (lesson.figures != nullptr)
    for (const double value : lesson.figures->curve) most = std::max(most, value);
  if (lesson.answer != nullptr)
    for (const double value : lesson.answer->drawn) most = std::max(most, value);
  const bool share = lesson.lesson->pages[lesson.page].ask->unit == FigureUnit::percent && most <= 1;
  return share ? std::min(1.0, round_number_from(1.3 * most)) : round_number_from(1.3 * most);
}

/// The ticks of the axis have no unit of their own to be told: each unit has its function.
template <FigureUnit unit>
std::string tick(double value) {
  return figure_words(value, unit);
}

std::string (*tick_of(FigureUnit unit))(double) {
  switch (unit) {
    case FigureUnit::bandwidth:
      return &tick<FigureUnit::bandwidth>;
    case FigureUnit::flops:
      return &tick<FigureUnit::flops>;
    case FigureUnit::times:
      return &tick<FigureUnit::times>;
    case FigureUnit::percent:
      return &tick<FigureUnit::percent>;
    case FigureUnit::bytes:
    case FigureUnit::exact_bytes:
    case FigureUnit::capacity:
    case FigureUnit::us:  // by units_of()
    case FigureUnit::cycles:
    case FigureUnit::number:
      break;
  }
  return &tick<FigureUnit::number>;
}

/// The units among which the axis of a curve has one.
std::span<const PlotUnit> units_of(FigureUnit unit) {
  if (unit == FigureUnit::us) return plot_units_of_us;
  const bool bytes = unit == FigureUnit::bytes || unit == FigureUnit::exact_bytes || unit == FigureUnit::capacity;
  return bytes ? std::span<const PlotUnit>(plot_units_of_bytes) : std::span<const PlotUnit>();
}

/// "HBM bytes": the figure of the curve, where it is one; else its unit.
std::string curve_title(const LessonQuestion& ask) {
  const std::string& figure = ask.curve.text;
  if (figure == "hbm") return tr("HBM bytes");
  if (figure == "extra_hbm") return tr("Extra memory, bytes");
  return unit_label(ask.unit);
}

struct CurvePlot {
  Rect area;
  Plot plot;
};

CurvePlot begin_plot(const View& view, float height) {
  const Theme& theme = *view.theme;
  const LessonQuestion& ask = question_of(view);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const Rect area = {at, {at.x + width, at.y + height}};
  PlotAxis x;
  x.log = logarithmic_axis(ask.xs);
  x.title = x.log ? say(tr("{}, logarithmic"), key_words(ask.x_key)) : key_words(ask.x_key);
  const double room = 0.05 * (ask.xs.back() - ask.xs.front());
  x.low = x.log ? ask.xs.front() / 1.15 : std::max(0.0, ask.xs.front() - room);
  x.high = x.log ? ask.xs.back() * 1.15 : ask.xs.back() + room;
  x.ticks = ask.xs;
  x.format = is_capacity(ask.x_key) ? &capacity : &plain_number;
  PlotAxis y;
  y.title = curve_title(ask);
  y.log = false;
  y.low = 0;
  y.high = top_of(view.lesson);
  y.format = tick_of(ask.unit);
  y.units = units_of(ask.unit);
  return {area, Plot(theme, ImGui::GetWindowDrawList(), area, x, y)};
}

std::vector<PlotPoint> points_of(const LessonQuestion& ask, const std::vector<double>& values) {
  std::vector<PlotPoint> points;
  for (std::size_t i = 0; i < std::min(values.size(), ask.xs.size()); ++i) points.push_back({ask.xs[i], values[i]});
  return points;
}

/// The points as they are drawn, which follow the mouse.
void draw_draft(const View& view, QuestionDraft& draft, float height) {
  const Theme& theme = *view.theme;
  const LessonQuestion& ask = question_of(view);
  const int count = static_cast<int>(ask.xs.size());
  const double top = top_of(view.lesson);
  CurvePlot curve = begin_plot(view, height);
  hit_area("curve", curve.plot.inside());
  if (ImGui::IsItemActive()) {
    // The point nearest to the mouse across follows it, so that a stroke draws the whole curve.
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const auto across = [&](int i) { return std::fabs(curve.plot.at({ask.xs[static_cast<std::size_t>(i)], 0}).x - mouse.x); };
    for (int i = 0; i < count; ++i)
      if (across(i) < across(draft.handle)) draft.handle = i;
    draft.drawn[static_cast<std::size_t>(draft.handle)] = std::clamp(curve.plot.y_at(mouse.y), 0.0, top);
    draft.touched = true;
  }
  const std::vector<PlotPoint> points = points_of(ask, draft.drawn);
  curve.plot.curve(points, theme.accent, 2 * theme.scale);
  for (int i = 0; i < count; ++i)
    curve.plot.marker(Marker::circle, points[static_cast<std::size_t>(i)], theme.accent,
                      (i == draft.handle ? 6.0F : 4.5F) * theme.scale);
  const PlotPoint& chosen = points[static_cast<std::size_t>(draft.handle)];
  curve.plot.label(chosen, figure_words(chosen.y, ask.unit), theme.text, Plot::Side::above, true);
  ImGui::Dummy({curve.area.width(), curve.area.height()});
}

/// The own points beside the simulated ones.
void draw_both(const View& view, float height) {
  const Theme& theme = *view.theme;
  const LessonQuestion& ask = question_of(view);
  const LessonAnswer& answer = *view.lesson.answer;
  CurvePlot curve = begin_plot(view, height);
  if (answer.given) {
    const std::vector<PlotPoint> own = points_of(ask, answer.drawn);
    curve.plot.curve(own, theme.accent, 2 * theme.scale, Plot::Line::dashed);
    const std::vector<double> none;
    const std::vector<double>& real = view.lesson.figures != nullptr ? view.lesson.figures->curve : none;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const bool off = i < real.size() && !is_near(own[i].y, real[i], ask.tolerance);
      curve.plot.marker(Marker::ring, own[i], off ? theme.bad : theme.accent, (off ? 6.0F : 4.0F) * theme.scale);
    }
    // Its name stands where the curves are farthest apart, so that neither crosses it.
    std::size_t apart = 0;
    const auto gap = [&](std::size_t i) { return i < real.size() ? std::fabs(own[i].y - real[i]) : 0; };
    for (std::size_t i = 0; i < own.size(); ++i)
      if (gap(i) > gap(apart)) apart = i;
    const bool below = apart < real.size() && own[apart].y < real[apart];
    curve.plot.label(own[apart], tr("yours"), theme.accent, below ? Plot::Side::below : Plot::Side::above);
  }
  if (view.lesson.figures != nullptr) {
    const std::vector<PlotPoint> real = points_of(ask, view.lesson.figures->curve);
    curve.plot.curve(real, theme.good, 2.5F * theme.scale);
    for (const PlotPoint& point : real) curve.plot.marker(Marker::circle, point, theme.good, 4 * theme.scale);
    if (!real.empty()) curve.plot.label(real[real.size() / 2], tr("simulated"), theme.good, Plot::Side::below);
    if (!real.empty()) curve.plot.label(real.back(), figure_words(real.back().y, ask.unit), theme.good, Plot::Side::left, true);
  }
  ImGui::Dummy({curve.area.width(), curve.area.height()});
}

/// Arrows choose a point and move it, while the item of `keys` that was declared last has the keyboard.
void move_by_keys(const LessonQuestion& ask, double top, QuestionDraft& draft, LessonKeys& keys) {
  if (!keys.here()) return;
  keys.take_arrows();
  const int count = static_cast<int>(ask.xs.size());
  const double by = top * (ImGui::GetIO().KeyShift ? 0.1 : 0.02);
  double& value = draft.drawn[static_cast<std::size_t>(draft.handle)];
  if (keys.pressed(ImGuiKey_LeftArrow)) draft.handle = std::max(0, draft.handle - 1);
  if (keys.pressed(ImGuiKey_RightArrow)) draft.handle = std::min(count - 1, draft.handle + 1);
  if (keys.pressed(ImGuiKey_UpArrow)) value = std::min(top, value + by), draft.touched = true;
  if (keys.pressed(ImGuiKey_DownArrow)) value = std::max(0.0, value - by), draft.touched = true;
  draft.early = draft.early || (keys.entered() && !draft.touched);
  if (keys.entered() && draft.touched) keys.go(keys.last() + 1);
}

/// Half of the height for every point, until they are moved.
void begin_draft(const View& view, QuestionDraft& draft) {
  const std::size_t count = question_of(view).xs.size();
  if (draft.drawn.size() != count) draft.drawn.assign(count, top_of(view.lesson) / 2);
}

bool asks_for_curve(const View& view) {
  const Lesson* lesson = view.lesson.lesson;
  if (lesson == nullptr) return false;
  const auto& ask = lesson->pages[view.lesson.page].ask;
  return ask && ask->kind == QuestionKind::draw;
}

}  // namespace

QuestionDraft& question_draft() {
  return panel_state<QuestionDraft>("question draft");
}

bool draws_curve_in_middle(const View& view) {
  if (!asks_for_curve(view) || view.lesson.scene == nullptr) return false;
  const auto& look = view.lesson.scene->look;
  return std::ranges::find(look, "curve") != look.end() && view.workspace->center == CenterView::stage && !view.playback.race &&
         view.workspace->alone != "lesson";
}

float curve_height(const View& view, float width) {
  const float part = view.workspace->present ? 0.5F : 0.74F;  // of the width; a class also reads the text above it at once
  return draws_curve_in_middle(view) ? 0 : std::round(std::min(260 * view.theme->scale, part * width));
}

void draw_curve_panel(const View& shown, Commands& /*commands*/) {
  const Theme theme = shown.workspace->present ? without_small_text(reading_theme(*shown.theme)) : *shown.theme;
  const View view{shown, &theme};
  if (!asks_for_curve(view)) return text_item(theme.ui, theme.text_dim, tr("No page asks for a curve."));
  if (view.lesson.figures == nullptr) return text_item(theme.ui, theme.text_dim, tr("Simulating the points…"));
  ImGui::PushFont(theme.ui);
  const float height = std::max(40.0F, ImGui::GetContentRegionAvail().y);
  if (view.lesson.answer != nullptr) {
    draw_both(view, height);
  } else {
    begin_draft(view, question_draft());
    draw_draft(view, question_draft(), height);
  }
  ImGui::PopFont();
}

void draw_curve_question(const View& view, QuestionDraft& draft, LessonKeys& keys) {
  const Theme& theme = *view.theme;
  if (view.lesson.figures == nullptr) return text_item(theme.ui_small, theme.text_faint, tr("Simulating the points…"));
  begin_draft(view, draft);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  if (draft.early && !draft.touched)
    wrapped_text(theme.ui_small, theme.text, tr("Move a point first. By keyboard: ← → choose one, ↑ ↓ move it."));
  else
    wrapped_text(theme.ui_small, theme.text_faint, tr("Drag the points. By keyboard: ← → choose one, ↑ ↓ move it."));
  if (!draws_curve_in_middle(view)) draw_draft(view, draft, curve_height(view, width));
  keys.item({at, {at.x + width, ImGui::GetCursorScreenPos().y}});
  move_by_keys(question_of(view), top_of(view.lesson), draft, keys);
}

std::string curve_verdict_words(const View& view) {
  return curve_verdict(question_of(view), view.lesson.answer->drawn, view.lesson.figures->curve);
}

void draw_curve_answer(const View& view) {
  const Theme& theme = *view.theme;
  const LessonQuestion& ask = question_of(view);
  const LessonAnswer& answer = *view.lesson.answer;
  if (!draws_curve_in_middle(view)) draw_both(view, curve_height(view, ImGui::GetContentRegionAvail().x));
  if (!answer.given || view.lesson.figures == nullptr) return;
  const bool right = is_right(ask, answer, *view.lesson.figures);
  wrapped_text(theme.ui_bold, right ? theme.good : theme.bad, curve_verdict_words(view));
  const auto difference = curve_difference(ask.xs, answer.drawn, view.lesson.figures->curve, ask.tolerance);
  if (!difference || (right && difference->slope == CurveDifference::Slope::right)) return;
  if (const std::string course = curve_course(ask, answer.drawn, view.lesson.figures->curve, *difference); !course.empty())
    wrapped_text(theme.ui, theme.text, course);
}

}  // namespace tilescope
