// Draws the roof, the marks of the launches and the legend.
#include "app/views/roofline/roofline_plot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/ui/say.h"
#include "app/ui/tab_stops.h"
#include "app/views/algorithm_style.h"
#include "app/views/beside_run.h"
#include "app/views/chrome.h"
#include "app/views/measured_case.h"
#include "app/views/outcome_words.h"
#include "app/views/roofline/roofline_words.h"
#include "sim/analysis/format.h"

namespace tilescope {
namespace {

PlotPoint plot_point(const RooflinePoint& point) {
  return {point.operations_per_byte(), point.operations_per_second()};
}

Marker marker_of(Ceiling level) {
  return level == Ceiling::hbm ? Marker::circle : level == Ceiling::l2 ? Marker::square : Marker::diamond;
}

/// Returns the ceiling of the fastest products among the kernels: no run of theirs lies above it.
const RooflineCeiling& roof_of_products(const RooflineStudy& study) {
  for (const RooflineKernel& kernel : study.kernels)
    for (const RooflinePoint& point : kernel.launches)
      if (const RooflineCeiling* found = study.roof.find(point.products); found != nullptr && point.products == Ceiling::wgmma)
        return *found;
  return *study.roof.find(Ceiling::tensor_cores);
}

/// Returns the line of an L2 whose reads share lookups, up to the ceiling of the products.
std::vector<PlotPoint> shared_line(const RooflineCeiling& l2, double low, double high, const RooflineCeiling& products) {
  const double end = std::min(high, products.rate / l2.shared_rate);
  return {{low, l2.shared_rate * low}, {end, l2.shared_rate * end}};
}

/// Returns true for the ceiling of the exponentials where it lies above the roof.
bool limits_nothing(const RooflineStudy& study, const RooflineCeiling& ceiling) {
  constexpr double above = 1.02;
  return ceiling.of == Ceiling::exponentials && ceiling.rate > above * roof_of_products(study).rate;
}

void draw_roof(Plot& plot, const View& view, const RooflineStudy& study) {
  const Theme& theme = *view.theme;
  const double low = plot.x_axis().low, high = plot.x_axis().high;
  const RooflineCeiling& products = roof_of_products(study);
  const RooflineCeiling* wgmma = study.roof.find(Ceiling::wgmma);
  for (const RooflineCeiling& ceiling : study.roof.ceilings) {
    if (limits_nothing(study, ceiling)) continue;
    const bool slope = is_memory(ceiling.of);
    const double end = slope ? std::min(high, products.rate / ceiling.rate) : high;
    const std::vector<PlotPoint> line = {{low, ceiling.at(low)}, {end, ceiling.at(end)}};
    const bool is_roof = ceiling.of == Ceiling::hbm || ceiling.of == products.of;
    const bool other_products = !is_roof && (ceiling.of == Ceiling::wgmma || ceiling.of == Ceiling::tensor_cores);
    plot.curve(line, is_roof ? theme.text : theme.text_dim, (is_roof ? 2.2F : 1.3F) * theme.scale,
               ceiling.of == Ceiling::exponentials ? Plot::Line::dashed
               : other_products                    ? Plot::Line::dotted
                                                   : Plot::Line::solid);
    if (ceiling.shared_rate > 0)
      plot.curve(shared_line(ceiling, low, high, products), theme.text_dim, theme.scale, Plot::Line::dashed);
    if (!slope || wgmma == nullptr || wgmma->rate <= products.rate) continue;
    // Continues from the mma.sync ridge to the wgmma ridge.
    const double far_end = std::min(high, wgmma->rate / ceiling.rate);
    const std::vector<PlotPoint> on = {{end, ceiling.at(end)}, {far_end, ceiling.at(far_end)}};
    plot.curve(on, theme.text_dim, theme.scale, Plot::Line::dotted);
  }
}

double ridge_of(const RooflineStudy& study) {
  return roof_of_products(study).rate / study.roof.find(Ceiling::hbm)->rate;
}

/// Marks where the slope of HBM meets the flat roof: to its left a run waits for bytes.
void draw_ridge(Plot& plot, const View& view, const RooflineStudy& study) {
  const double ridge = ridge_of(study);
  const std::vector<PlotPoint> line = {{ridge, roof_of_products(study).rate}, {ridge, plot.y_axis().low}};
  plot.curve(line, view.theme->text_dim, view.theme->scale, Plot::Line::dotted);
}

void label_ridge(Plot& plot, const View& view, const RooflineStudy& study) {
  const RooflineCeiling& products = roof_of_products(study);
  const double ridge = ridge_of(study);
  const std::string value = format_value(std::round(ridge));
  // Under load a GPU lowers its clock with the run, and the ridge with it.
  const std::string text = study.gpu.slows_under_load()
                               ? say(tr("ridge {} ({} at {})"), value, products.of == Ceiling::wgmma ? "wgmma" : "mma.sync",
                                     format_clock(study.gpu.sm_clock_hz))
                               : say(tr("ridge {}"), value);
  std::vector<PlotPoint> points;  // along its height, from the foot up
  for (const double up : {0.1, 0.25, 0.4, 0.55, 0.7})
    points.push_back({ridge, std::pow(products.rate, up) * std::pow(plot.y_axis().low, 1 - up)});
  plot.label(points, std::array{text, say(tr("ridge {}"), value)}, view.theme->text_dim, Plot::Side::left);
}

/// Returns true if two lines would overlap.
bool nearly(double a, double b) {
  return std::abs(a - b) < 0.02 * b;
}

void label_roof(Plot& plot, const View& view, const RooflineStudy& study) {
  const Theme& theme = *view.theme;
  for (const RooflineCeiling& ceiling : study.roof.ceilings) {
    if (limits_nothing(study, ceiling)) continue;
    const bool slope = is_memory(ceiling.of);
    const std::string rate = slope ? format_bandwidth(ceiling.rate) : format_short(ceiling.rate, "FLOP/s");
    std::string text = fmt::format("{} {}", ceiling_name(ceiling.of), rate);
    if (slope && ceiling.copy_rate > 0 && !nearly(ceiling.rate, ceiling.copy_rate))
      text = say(tr("{} {}, reads only"), ceiling_name(ceiling.of), rate);
    if (ceiling.of == Ceiling::tensor_cores && study.roof.find(Ceiling::wgmma) != nullptr)
      text = say(tr("Tensor cores, mma.sync {}"), rate);
    const RooflineCeiling* wgmma = study.roof.find(Ceiling::wgmma);
    const RooflineCeiling* exponentials = study.roof.find(Ceiling::exponentials);
    const bool together = wgmma != nullptr && exponentials != nullptr && nearly(wgmma->rate, exponentials->rate) &&
                          !limits_nothing(study, *exponentials);
    if (together && ceiling.of == Ceiling::exponentials) continue;
    if (ceiling.of == Ceiling::wgmma && ceiling.rate > roof_of_products(study).rate)
      text = say(tr("Tensor cores with wgmma, which these kernels do not use: {}"), rate);
    if (together && ceiling.of == Ceiling::wgmma)
      text = say(tr("Tensor cores, wgmma, and products if exponentials limit {}"), rate);
    if (ceiling.of == Ceiling::exponentials) {
      const double tensor = study.roof.find(Ceiling::tensor_cores)->rate;
      if (nearly(ceiling.rate, tensor)) continue;  // labelled on the shared line
      text = say(tr("Products if exponentials limit {}"), rate);
    } else if (const RooflineCeiling* exps = study.roof.find(Ceiling::exponentials);
               ceiling.of == Ceiling::tensor_cores && exps != nullptr && nearly(exps->rate, ceiling.rate)) {
      text = say(tr("Tensor cores, and products if exponentials limit {}"), rate);
    }
    // Slopes from their lower end, flat lines from the right.
    const double low = plot.x_axis().low, high = plot.x_axis().high;
    const double ridge = slope ? std::min(high, roof_of_products(study).rate / ceiling.rate) : low;
    if (ceiling.shared_rate > 0) {
      const std::vector<PlotPoint> line = shared_line(ceiling, low, high, roof_of_products(study));
      plot.label_on_line(line[0], line[1], say(tr("L2 with shared lookups, at most {}"), format_bandwidth(ceiling.shared_rate)),
                         theme.text_dim);
    }
    for (const std::string& shown :
         {text, fmt::format("{} {}", ceiling_name(ceiling.of), rate), std::string(ceiling_name(ceiling.of))}) {
      const auto placed = slope ? plot.label_on_line({low, ceiling.at(low)}, {ridge, ceiling.at(ridge)}, shown, theme.text_dim)
                                : plot.label_on_line({high, ceiling.at(high)}, {low, ceiling.at(low)}, shown, theme.text_dim);
      if (placed) break;
    }
  }
}

/// Returns true if the roofs on screen bound the run too.
bool under_these_roofs(const View& view, const BesideRun& beside) {
  const SimulationRequest& other = beside.simulation->request;
  const SimulationRequest& shown = view.lane().simulation->request;
  return same_numbers(other.gpu, shown.gpu) && other.problem.dtype == shown.problem.dtype;
}

/// Names a mark: its run or program, and of several launches which. `alone`: the picture stands for the sentences below it, so the
/// mark has its figure. A launch of the program that the page is about then needs no name of its program. The full name first, then
/// those for less room.
std::vector<std::string> mark_names(const RooflineMark& mark, bool alone) {
  const RooflineKernel& kernel = *mark.kernel;
  const std::string program = algorithm_title(kernel.algorithm);
  const bool is_launch = !mark.whole && launches_of(kernel).size() > 1;
  std::string name = !mark.name.empty() ? mark.name
                     : mark.whole       ? say(tr("{}, all launches"), program)
                     : is_launch        ? fmt::format("{} {}", program, translated(mark.point->launch))
                                        : program;
  std::vector<std::string> names;
  const std::string launch = is_launch && kernel.chosen && mark.name.empty() ? translated(mark.point->launch) : std::string();
  if (alone && !launch.empty()) name = launch;
  if (alone) names.push_back(name + say(tr(": {} per byte of {}"), per_byte(*mark.point), ceiling_name(mark.point->level)));
  names.push_back(name);
  if (!launch.empty()) names.push_back(launch);
  if (!launch.empty() || !mark.name.empty()) return names;
  names.push_back(program);
  if (const auto info = find_program(kernel.algorithm)) names.push_back(short_algorithm_title(**info));
  return names;
}

void draw_marks(Plot& plot, const View& view, std::span<const RooflineMark> marks) {
  const Theme& theme = *view.theme;
  // A line connects the levels of one launch.
  for (std::size_t i = 1; i < marks.size(); ++i) {
    const RooflineMark &a = marks[i - 1], &b = marks[i];
    if (a.kernel != b.kernel || a.point->launch != b.point->launch || a.whole != b.whole) continue;
    const std::vector<PlotPoint> line = {a.at, b.at};
    plot.curve(line, with_alpha(algorithm_color(theme, a.kernel->algorithm), 0.45F), std::max(1.0F, theme.scale),
               Plot::Line::dotted);
  }
  for (const RooflineMark& mark : marks) {
    const bool main = mark.point->level == Ceiling::hbm;
    const float radius = (mark.whole ? 7.0F : main ? 5.5F : 3.6F) * theme.scale;
    const ImU32 color = mark.name.empty() ? algorithm_color(theme, mark.kernel->algorithm) : theme.highlight;
    plot.marker(mark.whole && main ? Marker::ring : marker_of(mark.point->level), mark.at, color, radius);
  }
}

void label_marks(Plot& plot, const View& view, std::span<const RooflineMark> marks) {
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const RooflineMark& mark = marks[i];
    const bool first_level = i == 0 || marks[i - 1].point->launch != mark.point->launch || marks[i - 1].kernel != mark.kernel ||
                             marks[i - 1].whole != mark.whole;
    if (!first_level) continue;
    plot.label(std::span(&mark.at, 1), mark_names(mark, view.workspace->present), view.theme->text, Plot::Side::right,
               mark.kernel->chosen);
  }
}

/// Draws measured kernels at HBM: simulated operations over counted bytes and measured time.
void draw_measured(Plot& plot, const View& view, const RooflineStudy& study) {
  const Theme& theme = *view.theme;
  for (const RooflineKernel& kernel : study.kernels) {
    const MeasuredCase* measured = measured_case(view, kernel.algorithm, study.problem);
    if (measured == nullptr || kernel.whole.empty() || measured->time_cold_ns.median <= 0) continue;
    const auto read = counter(*measured, "hbm_read_bytes"), written = counter(*measured, "hbm_write_bytes");
    if (!read || !written || *read + *written <= 0) continue;
    const double bytes = *read + *written;
    const double operations = kernel.whole.front().operations();
    const PlotPoint at = {operations / bytes, operations / (measured->time_cold_ns.median * 1e-9)};
    plot.marker(Marker::cross, at, theme.text, 6 * theme.scale);
    plot.label(at, fmt::format("{} {}", algorithm_title(kernel.algorithm), measured_label(view, *measured)), theme.text,
               Plot::Side::below);
  }
}

std::vector<LegendItem> legend_items(const Theme& theme, const RooflineStudy& study, bool all, float marker, bool brief) {
  std::vector<LegendItem> items;
  const char* const title_of_marks = brief ? tr("Bytes") : tr("Marks");
  for (const RooflineCeiling& ceiling : study.roof.ceilings) {
    if (!is_memory(ceiling.of)) continue;
    // With a title, so that nobody takes its marks for those of a run.
    if (items.empty()) items.push_back({LegendItem::Kind::title, {}, title_of_marks, text_width(theme.ui_bold, title_of_marks)});
    const std::string text = brief ? std::string(ceiling_name(ceiling.of)) : say(tr("{} bytes"), ceiling_name(ceiling.of));
    items.push_back({LegendItem::Kind::marker, marker_of(ceiling.of), text, marker + text_width(theme.ui_small, text)});
  }
  const auto other = std::ranges::find(study.kernels, false, &RooflineKernel::chosen);
  if (other == study.kernels.end()) return items;
  const std::string title = algorithm_title(other->algorithm);
  const std::string text = all ? say(tr("Only the main mark of {}"), title) : say(tr("All marks of {}"), title);
  items.push_back({LegendItem::Kind::all_marks, {}, text, text_width(theme.ui_small, text)});
  return items;
}

/// On lines of its own, so `brief`, it has fewer words.
RooflineLegend lay_out(const Theme& theme, const RooflineStudy& study, bool all, float room, float title, bool brief) {
  RooflineLegend legend;
  legend.line = theme.ui_small->FontSize + std::round(5 * theme.scale);
  legend.marker = std::round(0.5F * theme.ui_small->FontSize + 8 * theme.scale);
  legend.items = legend_items(theme, study, all, legend.marker, brief);
  const float between = std::round(14 * theme.scale);
  float width = -between;
  for (const LegendItem& item : legend.items) width += item.width + between;
  const bool beside_title = title + 2 * between + width <= room;
  if (!beside_title && !brief) return lay_out(theme, study, all, room, title, true);
  ImVec2 at = {beside_title ? room - width - 2 : 0, 0};
  for (LegendItem& item : legend.items) {
    if (at.x > 0 && at.x + item.width > room) at = {0, at.y + legend.line};
    item.at = at;
    at.x += item.width + between;
  }
  if (!beside_title && !legend.items.empty()) legend.height = at.y + legend.line + std::round(3 * theme.scale);
  return legend;
}

}  // namespace

std::vector<RooflineMark> roofline_marks(const View& view, const RooflineStudy& study, bool all) {
  std::vector<RooflineMark> marks;
  if (const BesideRun* const beside = beside_run(view);
      beside != nullptr && beside->kernel != nullptr && under_these_roofs(view, *beside))
    for (const RooflinePoint& point : beside->kernel->whole)
      marks.push_back({beside->kernel.get(), &point, plot_point(point), true, beside_label(*beside)});

  for (const RooflineKernel& kernel : study.kernels) {
    if (!all && !kernel.chosen) {
      if (const RooflinePoint* const main = whole_at(kernel, Ceiling::hbm))
        marks.push_back({&kernel, main, plot_point(*main), launches_of(kernel).size() > 1});
      continue;
    }
    for (const RooflinePoint& point : kernel.launches) marks.push_back({&kernel, &point, plot_point(point), false});
    if (launches_of(kernel).size() < 2) continue;
    for (const RooflinePoint& point : kernel.whole) marks.push_back({&kernel, &point, plot_point(point), true});
  }
  return marks;
}

PlotAxis roofline_axis(const RooflineStudy& study, std::span<const RooflineMark> marks, bool x) {
  std::vector<double> values;
  for (const RooflineMark& mark : marks) values.push_back(x ? mark.at.x : mark.at.y);
  const RooflineCeiling* tensor = study.roof.find(Ceiling::tensor_cores);
  if (x) {
    for (const RooflineCeiling& ceiling : study.roof.ceilings)
      if (ceiling.ridge > 0) values.push_back(ceiling.ridge * 2);
    values.push_back(1);
  } else {
    const RooflineCeiling* wgmma = study.roof.find(Ceiling::wgmma);
    values.push_back(std::max(tensor->rate, wgmma != nullptr ? wgmma->rate : 0) * 2.5);  // labels have room above the roof
    values.push_back(tensor->rate * 1e-3);
  }
  PlotAxis axis = axis_over(x ? tr("Arithmetic intensity (operations per byte)") : tr("Operations per second"), values);
  axis.format = x ? +[](double v) { return format_value(v); } : +[](double v) { return format_short(v); };
  return axis;
}

void draw_roofline(Plot& plot, const View& view, const RooflineStudy& study, std::span<const RooflineMark> marks) {
  draw_roof(plot, view, study);
  draw_ridge(plot, view, study);
  draw_marks(plot, view, marks);
  // Names of marks find other places, those of lines do not.
  label_roof(plot, view, study);
  label_ridge(plot, view, study);
  label_marks(plot, view, marks);
  draw_measured(plot, view, study);
}

void hover_marks(const Plot& plot, const View& view, const RooflineStudy& study, std::span<const RooflineMark> marks) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (!ImGui::IsWindowHovered() || !plot.inside().contains(mouse)) return;
  const RooflineMark* nearest = nullptr;
  float least = 14 * view.theme->scale;
  for (const RooflineMark& mark : marks) {
    const ImVec2 at = plot.at(mark.at);
    const float distance = std::hypot(at.x - mouse.x, at.y - mouse.y);
    if (distance < least) least = distance, nearest = &mark;
  }
  if (nearest == nullptr) return;
  const RooflinePoint& p = *nearest->point;
  std::string body = say(tr("{} over {} of {}: {} operations per byte"), format_short(p.operations(), "op"), format_bytes(p.bytes),
                         ceiling_name(p.level), format_value(nearest->at.x));
  if (p.flops > 0) add_line(body, say(tr("{} in products"), format_short(p.flops, "FLOP")));
  add_line(body, say(tr("{} from {}, {} of its bandwidth"), format_bandwidth(p.bytes_per_second), ceiling_name(p.level),
                     format_percent(p.of_bandwidth())));
  const RooflineCeiling* level = study.roof.find(p.level);
  if (level->copy_rate > 0)
    add_line(body, say(tr("Bandwidth at this mix of reads and writes: {} (reads only {}, copy {})"), format_bandwidth(p.level_rate),
                       format_bandwidth(level->rate), format_bandwidth(level->copy_rate)));
  if (level->shared_rate > 0)
    add_line(body, say(tr("Bandwidth with these shared lookups and writes: {} (reads without sharing {}, at most {})"),
                       format_bandwidth(p.level_rate), format_bandwidth(level->rate), format_bandwidth(level->shared_rate)));
  if (p.earlier_bytes > 0) add_line(body, say(tr("{} written back for earlier launches"), format_bytes(p.earlier_bytes)));
  if (p.later_bytes > 0) add_line(body, say(tr("{} written back later, during other launches"), format_bytes(p.later_bytes)));
  const RooflineKernel& kernel = *nearest->kernel;
  const std::string later = p.level == Ceiling::hbm && (nearest->whole || launches_of(kernel).size() == 1)
                                ? written_after_text(kernel.outcome.dirty())
                                : std::string();
  add_line(body, later);
  add_line(body, say(tr("Reached: {}"), format_short(nearest->at.y, "op/s")));
  show_tooltip(*view.theme,
               fmt::format("{}{} {}", nearest->name.empty() ? std::string() : nearest->name + ", ",
                           algorithm_title(nearest->kernel->algorithm),
                           nearest->whole ? std::string(tr("all launches")) : translated(p.launch)),
               body);
}

RooflineLegend lay_out_legend(const Theme& theme, const RooflineStudy& study, bool all, float room, float title) {
  return lay_out(theme, study, all, room, title, false);
}

void draw_legend(const Theme& theme, const RooflineLegend& legend, ImVec2 corner, bool& all) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float high = theme.ui_small->FontSize;
  for (const LegendItem& item : legend.items) {
    const ImVec2 at = {corner.x + item.at.x, corner.y + item.at.y};
    const Rect row = {at, {at.x + item.width + 0.5F, at.y + high}};
    if (item.kind == LegendItem::Kind::title) draw_text(list, theme.ui_bold, row, theme.text_dim, item.text);
    if (item.kind == LegendItem::Kind::marker) {
      const float radius = 0.28F * high;
      draw_marker(list, item.marker, {row.min.x + radius, row.center().y}, radius, theme.text_dim, 1);
      draw_text(list, theme.ui_small, {{row.min.x + legend.marker, row.min.y}, row.max}, theme.text_dim, item.text);
    }
    if (item.kind != LegendItem::Kind::all_marks) continue;
    const bool clicked = hit_area("marks", row), hovered = ImGui::IsItemHovered();
    if (tab_stop(theme, row, 4 * theme.scale) || clicked) all = !all;
    item_tooltip(theme, item.text, tr("Each level of each launch, or HBM of the whole run alone"));
    draw_text(list, theme.ui_small, row, hovered ? theme.text : theme.accent, item.text);
  }
}

}  // namespace tilescope
