// The roofline panel: every launch under the GPU's ceilings, at each memory level, with its limit.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/ui/tab_stops.h"
#include "app/views/beside_run.h"
#include "app/views/chrome.h"
#include "app/views/error_words.h"
#include "app/views/panels.h"
#include "app/views/study_panel.h"
#include "sim/analysis/format.h"
#include "sim/analysis/l2_busy.h"
#include "sim/analysis/outcome.h"

namespace tilescope {
namespace {

/// A point on screen. It counts all operations, so that a softmax without products appears.
struct DrawnPoint {
  const RooflineKernel* kernel = nullptr;
  const RooflinePoint* point = nullptr;
  PlotPoint at;
  bool whole = false;
  std::string name = {};  // of the pinned run; empty: of its program and launch
};

PlotPoint plot_point(const RooflinePoint& point) {
  return {point.operations_per_byte(), point.operations_per_second()};
}

/// Translates the name of a level or rate.
const char* ceiling_name(Ceiling ceiling) {
  switch (ceiling) {
    case Ceiling::hbm:
      return "HBM";
    case Ceiling::l2:
      return "L2";
    case Ceiling::shared_memory:
      return tr("shared memory");
    case Ceiling::tensor_cores:
      return tr("tensor cores");
    case Ceiling::wgmma:
      return tr("tensor cores with wgmma");
    case Ceiling::exponentials:
      return tr("exponentials");
  }
  return "";
}

std::vector<std::string_view> launches_of(const RooflineKernel& kernel) {
  std::vector<std::string_view> names;
  for (const RooflinePoint& point : kernel.launches)
    if (names.empty() || names.back() != point.launch) names.push_back(point.launch);
  return names;
}

/// Returns a launch's point at its slowest level.
const RooflinePoint* slowest_level(std::span<const RooflinePoint> points, std::string_view launch) {
  const auto found = std::find_if(points.begin(), points.end(), [&](const RooflinePoint& p) { return p.launch == launch; });
  return found == points.end() ? nullptr : &*found;
}

std::string whole_bytes(double count) {
  return format_bytes(std::round(count));
}

constexpr double shown_share = 0.005;  // of a sum: less does not show in its digits

/// Writes a launch's bytes at a level as a sum: "S 597 MB + P 505 MB + other 17.6 MB". Up to four tensors have their names.
std::string carried(const RooflinePoint& point) {
  std::string text;
  double rest = 0;
  int named = 0;
  for (const TensorShare& share : point.tensors) {
    if (named >= 4 || share.bytes < 0.1 * point.bytes) {
      rest += share.bytes;
      continue;
    }
    text += fmt::format("{}{} {}", named == 0 ? "" : " + ", to_string(share.tensor), whole_bytes(share.bytes));
    ++named;
  }
  if (rest > 0) text += (named > 0 ? " + " : "") + say(tr("other {}"), whole_bytes(rest));
  if (point.queued_bytes > shown_share * point.bytes)
    text += say(tr(" + {} queued by the launch before"), whole_bytes(point.queued_bytes));
  else if (-point.queued_bytes > shown_share * point.bytes)
    text += say(tr(" − {} that HBM writes only after its end"), whole_bytes(-point.queued_bytes));
  return text;
}

/// Describes a launch by the ceiling that it comes closest to, which need not be the bottleneck of the run. `shown` is the chosen
/// algorithm's simulation: its busy tensor time is the figure of the bottleneck above the views, so it says what it is of.
std::string ceiling_sentence(const RooflineStudy& study, const RooflineKernel& kernel, std::string_view launch,
                             const Simulation& shown) {
  const RooflinePoint* point = slowest_level(kernel.launches, launch);
  const NearestCeiling nearest = nearest_ceiling(study.roof, kernel.launches, launch, flops_per_score(study.problem));
  const PlotPoint at = plot_point(*point);
  const RooflineCeiling* level = study.roof.find(point->level);
  const bool below = level != nullptr && at.x < point->ridge;
  const std::string ridge = level != nullptr ? format_value(std::round(point->ridge)) : std::string();
  const bool at_memory = is_memory(nearest.of);
  const char* sentence = below && !at_memory
                             ? tr("{}: {} operations per byte of {}, below its ridge ({}), but closest to {} ({} reached)")
                         : below ? tr("{}: {} operations per byte of {}, below its ridge ({}). Closest ceiling: {} ({} reached)")
                                 : tr("{}: {} operations per byte of {}, above its ridge ({}). Closest ceiling: {} ({} reached)");
  const std::string operations = format_short(point->operations(), "op"), bytes = format_bytes(std::round(point->bytes));
  const std::string why = point->flops > 0 ? say(tr(". {} ({} of products) over {}: {}"), operations,
                                                 format_short(point->flops, "FLOP"), bytes, carried(*point))
                                           : say(tr(". {} (no products) over {}: {}"), operations, bytes, carried(*point));
  const double tensor = shown.utilisation[static_cast<std::size_t>(Bound::tensor)];
  const double useful = product_share(shown);
  const bool said = kernel.chosen && launches_of(kernel).size() == 1 && nearest.of == point->products && tensor > useful;
  std::string taken;
  if (said && shown.sms.many_idle() && shown.sms.never_used())
    taken = say(tr(". Tensor cores of {} of {} SMs busy {} of the SM time with a block, also with other instructions"),
                shown.sms.with_blocks, shown.sms.all, format_percent(tensor));
  else if (said)
    taken = say(tr(". Tensor cores busy {} of the SM time with a block, also with other instructions"), format_percent(tensor));
  const std::string name = launches_of(kernel).size() > 1
                               ? fmt::format("{} {}", algorithm_title(kernel.algorithm), translated(launch))
                               : algorithm_title(kernel.algorithm);
  const auto result = std::ranges::find(kernel.results, launch, &LaunchResult::name);
  const auto busier = result != kernel.results.end() ? busier_without_line(*result, nearest) : std::nullopt;
  const std::string without_line =
      busier ? say(tr(". Busier, and without a line here: {} ({})"), bound_name(busier->of), format_percent(busier->share))
             : std::string();
  return say(sentence, name, format_value(std::round(at.x * 10) / 10), ceiling_name(point->level), ridge, ceiling_name(nearest.of),
             format_percent(nearest.share)) +
         without_line + taken + why;
}

/// Returns all launches of a kernel at the level, or null.
const RooflinePoint* whole_at(const RooflineKernel& kernel, Ceiling level) {
  const auto found =
      std::find_if(kernel.whole.begin(), kernel.whole.end(), [&](const RooflinePoint& p) { return p.level == level; });
  return found == kernel.whole.end() ? nullptr : &*found;
}

std::string per_byte(const RooflinePoint& point) {
  return format_value(std::round(plot_point(point).x * 10) / 10);
}

/// The same at HBM with the bytes that the L2 still holds when the run ends: results such as O and L, of which a large L2 keeps
/// all.
std::string per_byte_with_later(const RooflineKernel& kernel, const RooflinePoint& whole) {
  const double later = whole.level == Ceiling::hbm ? kernel.outcome.dirty() : 0;
  return format_value(std::round(10 * whole.operations() / (whole.bytes + later)) / 10);
}

/// Writes the HBM bytes of a run of several launches as the sum of theirs; empty for one launch. HBM also writes between two
/// launches and after the last, and no launch has those bytes.
std::string sum_of_launches(const RooflineKernel& kernel) {
  const RooflinePoint* const whole = whole_at(kernel, Ceiling::hbm);
  if (whole == nullptr || launches_of(kernel).size() < 2) return {};
  std::string parts;
  double rest = whole->bytes;
  for (const RooflinePoint& point : kernel.launches) {
    if (point.level != Ceiling::hbm) continue;
    parts += fmt::format("{}{} {}", parts.empty() ? "" : " + ", translated(point.launch), whole_bytes(point.bytes));
    rest -= point.bytes;
  }
  if (rest > shown_share * whole->bytes)
    parts += say(tr(" + {} that HBM writes between launches and after the last"), whole_bytes(rest));
  return say(tr("{}, all launches: {} of HBM: {}"), algorithm_title(kernel.algorithm), whole_bytes(whole->bytes), parts);
}

/// Names the bottleneck of the run, in the words of the line above the views, and compares the chosen algorithm with the other at
/// one level.
std::string finding(const RooflineStudy& study, const Simulation& timed, const NextLimit* limit) {
  const RooflineKernel *chosen = nullptr, *other = nullptr;
  for (const RooflineKernel& kernel : study.kernels) (kernel.chosen ? chosen : other) = &kernel;
  if (chosen == nullptr || chosen->whole.empty()) return tr("Nothing moves here");
  // The ceilings are those of all SMs, so a run that leaves many idle stays below them whatever limits it.
  std::string text = bottleneck_text(bound_of(timed, limit)) + idle_text(bound_of(timed, limit)) + ". ";
  if (const double best = share_if_far_below(study.kernels); best > 0)
    return text + say(tr("Every launch is far below every ceiling ({} at most)"), format_percent(best));
  const RooflinePoint& point = chosen->whole.front();
  const RooflinePoint* beside = other != nullptr ? whole_at(*other, point.level) : nullptr;
  const auto later = [&](const RooflineKernel& kernel, const RooflinePoint& at) { return per_byte_with_later(kernel, at); };
  const bool written_later =
      later(*chosen, point) != per_byte(point) || (beside != nullptr && later(*other, *beside) != per_byte(*beside));
  if (!written_later) {
    text +=
        say(tr("{}: {} operations per byte of {}"), algorithm_title(chosen->algorithm), per_byte(point), ceiling_name(point.level));
    if (beside != nullptr) text += say(tr(", {} {}"), algorithm_title(other->algorithm), per_byte(*beside));
  } else {
    text += say(tr("{}: {} operations per byte of HBM during the run, {} with later write-backs"),
                algorithm_title(chosen->algorithm), per_byte(point), later(*chosen, point));
    if (beside != nullptr)
      text += say(tr("; {}: {} and {}"), algorithm_title(other->algorithm), per_byte(*beside), later(*other, *beside));
  }
  return text + say(tr(". Below {}, memory is slower than the tensor cores"), format_value(std::round(point.ridge)));
}

/// Says what the headline divides, and the bytes that HBM still gets after the run.
std::string divided(const RooflineStudy& study) {
  const RooflineKernel *chosen = nullptr, *other = nullptr;
  for (const RooflineKernel& kernel : study.kernels) (kernel.chosen ? chosen : other) = &kernel;
  if (chosen == nullptr || chosen->whole.empty() || share_if_far_below(study.kernels) > 0) return {};
  const Ceiling level = chosen->whole.front().level;
  const auto of = [](const RooflineKernel& kernel, const RooflinePoint& point) {
    return say(tr("{}: {} over {}"), algorithm_title(kernel.algorithm), format_short(point.operations(), "op"),
               format_bytes(std::round(point.bytes)));
  };
  std::string text = of(*chosen, chosen->whole.front());
  const RooflinePoint* const beside = other != nullptr ? whole_at(*other, level) : nullptr;
  if (beside != nullptr) text += ". " + of(*other, *beside);
  text += '.';
  const std::string later = level != Ceiling::hbm ? std::string()
                            : beside != nullptr   ? written_after_text(chosen->outcome.dirty(), other->outcome.dirty())
                                                  : written_after_text(chosen->outcome.dirty());
  return later.empty() ? text : text + " " + later;
}

/// Says the clock of the roofs, and the one of the bar below where that is another.
std::string clock_text(const View& view, const RooflineStudy& study) {
  const std::string clock = format_clock(study.gpu.sm_clock_hz), below = format_clock(timed_run(view).request.gpu.sm_clock_hz);
  if (below == clock) return say(tr("Simulated at {}."), clock);
  return say(tr("Simulated at {}. The time below is at {}, the clock under load."), clock, below);
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

struct RooflinePanelState {
  bool all = false;  // marks of the programs beside the shown one: each level of each launch
};

/// Returns the marks, with `all` those of each level and launch of every program. Else a program beside the shown one has one mark,
/// that of all its launches at HBM.
std::vector<DrawnPoint> drawn_points(const View& view, const RooflineStudy& study, bool all) {
  std::vector<DrawnPoint> places;
  if (const BesideRun* const beside = beside_run(view);
      beside != nullptr && beside->kernel != nullptr && under_these_roofs(view, *beside))
    for (const RooflinePoint& point : beside->kernel->whole)
      places.push_back({beside->kernel.get(), &point, plot_point(point), true, beside_label(*beside)});

  for (const RooflineKernel& kernel : study.kernels) {
    if (!all && !kernel.chosen) {
      if (const RooflinePoint* const main = whole_at(kernel, Ceiling::hbm))
        places.push_back({&kernel, main, plot_point(*main), launches_of(kernel).size() > 1});
      continue;
    }
    for (const RooflinePoint& point : kernel.launches) places.push_back({&kernel, &point, plot_point(point), false});
    if (launches_of(kernel).size() < 2) continue;
    for (const RooflinePoint& point : kernel.whole) places.push_back({&kernel, &point, plot_point(point), true});
  }
  return places;
}

/// Names a mark: its run or program, and of several launches which. `alone`: the picture stands for the sentences below it, so the
/// mark has its figure. A launch of the program that the page is about then needs no name of its program. The full name first, then
/// those for less room.
std::vector<std::string> mark_names(const DrawnPoint& place, bool alone) {
  const RooflineKernel& kernel = *place.kernel;
  const std::string program = algorithm_title(kernel.algorithm);
  const bool is_launch = !place.whole && launches_of(kernel).size() > 1;
  std::string name = !place.name.empty() ? place.name
                     : place.whole       ? say(tr("{}, all launches"), program)
                     : is_launch         ? fmt::format("{} {}", program, translated(place.point->launch))
                                         : program;
  std::vector<std::string> names;
  const std::string launch = is_launch && kernel.chosen && place.name.empty() ? translated(place.point->launch) : std::string();
  if (alone && !launch.empty()) name = launch;
  if (alone) names.push_back(name + say(tr(": {} per byte of {}"), per_byte(*place.point), ceiling_name(place.point->level)));
  names.push_back(name);
  if (!launch.empty()) names.push_back(launch);
  if (!launch.empty() || !place.name.empty()) return names;
  names.push_back(program);
  if (const auto info = find_program(kernel.algorithm)) names.push_back(short_algorithm_title(**info));
  return names;
}

void draw_marks(Plot& plot, const View& view, std::span<const DrawnPoint> places) {
  const Theme& theme = *view.theme;
  // A line connects the levels of one launch.
  for (std::size_t i = 1; i < places.size(); ++i) {
    const DrawnPoint &a = places[i - 1], &b = places[i];
    if (a.kernel != b.kernel || a.point->launch != b.point->launch || a.whole != b.whole) continue;
    const std::vector<PlotPoint> line = {a.at, b.at};
    plot.curve(line, with_alpha(algorithm_color(theme, a.kernel->algorithm), 0.45F), std::max(1.0F, theme.scale),
               Plot::Line::dotted);
  }
  for (const DrawnPoint& place : places) {
    const bool main = place.point->level == Ceiling::hbm;
    const float radius = (place.whole ? 7.0F : main ? 5.5F : 3.6F) * theme.scale;
    const ImU32 color = place.name.empty() ? algorithm_color(theme, place.kernel->algorithm) : theme.highlight;
    plot.marker(place.whole && main ? Marker::ring : marker_of(place.point->level), place.at, color, radius);
  }
}

void label_marks(Plot& plot, const View& view, std::span<const DrawnPoint> places) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    const DrawnPoint& place = places[i];
    const bool first_level = i == 0 || places[i - 1].point->launch != place.point->launch || places[i - 1].kernel != place.kernel ||
                             places[i - 1].whole != place.whole;
    if (!first_level) continue;
    plot.label(std::span(&place.at, 1), mark_names(place, view.workspace->present), view.theme->text, Plot::Side::right,
               place.kernel->chosen);
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

/// A part of the legend: a title, a marker with what it stands for, or the switch.
struct KeyItem {
  enum class Kind { title, marker, all_marks } kind = Kind::title;
  Marker marker = Marker::circle;
  std::string text;
  float width = 0;
  ImVec2 at = {};  // from the upper left corner of the legend
};

/// The legend of the marks, and the switch of the other program's marks. It stands outside the plot, where it covers no mark: on
/// the line of the plot's title, or where that is too short on lines above it.
struct Key {
  std::vector<KeyItem> items;
  float line = 0, mark = 0;
  float height = 0;  // above the plot; 0: on the line of its title
};

std::vector<KeyItem> key_items(const Theme& theme, const RooflineStudy& study, bool all, float mark, bool brief) {
  std::vector<KeyItem> items;
  const char* const title_of_marks = brief ? tr("Bytes") : tr("Marks");
  for (const RooflineCeiling& ceiling : study.roof.ceilings) {
    if (!is_memory(ceiling.of)) continue;
    // With a title, so that nobody takes its marks for those of a run.
    if (items.empty()) items.push_back({KeyItem::Kind::title, {}, title_of_marks, text_width(theme.ui_bold, title_of_marks)});
    const std::string text = brief ? std::string(ceiling_name(ceiling.of)) : say(tr("{} bytes"), ceiling_name(ceiling.of));
    items.push_back({KeyItem::Kind::marker, marker_of(ceiling.of), text, mark + text_width(theme.ui_small, text)});
  }
  const auto other = std::ranges::find(study.kernels, false, &RooflineKernel::chosen);
  if (other == study.kernels.end()) return items;
  const std::string title = algorithm_title(other->algorithm);
  const std::string text = all ? say(tr("Only the main mark of {}"), title) : say(tr("All marks of {}"), title);
  items.push_back({KeyItem::Kind::all_marks, {}, text, text_width(theme.ui_small, text)});
  return items;
}

/// `title`: the width of the plot's title. On lines of its own it has fewer words.
Key lay_out_key(const Theme& theme, const RooflineStudy& study, bool all, float room, float title, bool brief = false) {
  Key key;
  key.line = theme.ui_small->FontSize + std::round(5 * theme.scale);
  key.mark = std::round(0.5F * theme.ui_small->FontSize + 8 * theme.scale);
  key.items = key_items(theme, study, all, key.mark, brief);
  const float between = std::round(14 * theme.scale);
  float width = -between;
  for (const KeyItem& item : key.items) width += item.width + between;
  const bool beside_title = title + 2 * between + width <= room;
  if (!beside_title && !brief) return lay_out_key(theme, study, all, room, title, true);
  ImVec2 at = {beside_title ? room - width - 2 : 0, 0};
  for (KeyItem& item : key.items) {
    if (at.x > 0 && at.x + item.width > room) at = {0, at.y + key.line};
    item.at = at;
    at.x += item.width + between;
  }
  if (!beside_title && !key.items.empty()) key.height = at.y + key.line + std::round(3 * theme.scale);
  return key;
}

void draw_key(const Theme& theme, const Key& key, ImVec2 corner, RooflinePanelState& state) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float high = theme.ui_small->FontSize;
  for (const KeyItem& item : key.items) {
    const ImVec2 at = {corner.x + item.at.x, corner.y + item.at.y};
    const Rect row = {at, {at.x + item.width + 0.5F, at.y + high}};
    if (item.kind == KeyItem::Kind::title) draw_text(list, theme.ui_bold, row, theme.text_dim, item.text);
    if (item.kind == KeyItem::Kind::marker) {
      const float radius = 0.28F * high;
      draw_marker(list, item.marker, {row.min.x + radius, row.center().y}, radius, theme.text_dim, 1);
      draw_text(list, theme.ui_small, {{row.min.x + key.mark, row.min.y}, row.max}, theme.text_dim, item.text);
    }
    if (item.kind != KeyItem::Kind::all_marks) continue;
    const bool clicked = hit_area("marks", row), hovered = ImGui::IsItemHovered();
    if (tab_stop(theme, row, 4 * theme.scale) || clicked) state.all = !state.all;
    item_tooltip(theme, item.text, tr("Each level of each launch, or HBM of the whole run alone"));
    draw_text(list, theme.ui_small, row, hovered ? theme.text : theme.accent, item.text);
  }
}

void hover(const Plot& plot, const View& view, const RooflineStudy& study, std::span<const DrawnPoint> places) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (!ImGui::IsWindowHovered() || !plot.inside().contains(mouse)) return;
  const DrawnPoint* nearest = nullptr;
  float least = 14 * view.theme->scale;
  for (const DrawnPoint& place : places) {
    const ImVec2 at = plot.at(place.at);
    const float distance = std::hypot(at.x - mouse.x, at.y - mouse.y);
    if (distance < least) least = distance, nearest = &place;
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

PlotAxis axis_for(const RooflineStudy& study, std::span<const DrawnPoint> places, bool x) {
  std::vector<double> values;
  for (const DrawnPoint& place : places) values.push_back(x ? place.at.x : place.at.y);
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

/// The theme of the plot: that of the panel, or where its letters leave no room for the picture the usual one.
const Theme& plot_theme(const Theme& large, const Theme& usual, float width) {
  constexpr float least_letters = 30;
  return width >= least_letters * large.ui_small->FontSize ? large : usual;
}

/// Heights of the plot in lines of small text, with the titles and the numbers of its axes.
constexpr float wanted_lines = 14, least_lines = 9;

}  // namespace

void draw_roofline_panel(const View& view, Commands& commands) {
  const bool present = view.workspace->present;
  // A class sees a picture: large labels, and of the words only what the picture cannot show.
  const Theme theme = present ? without_small_text(reading_theme(*view.theme)) : *view.theme;
  const View read{view, &theme};
  if (view.studies->roofline == nullptr) return study_empty(read, tr("Nothing simulated yet."));
  const RooflineStudy& study = *view.studies->roofline;
  if (!study.complete) {
    study_progress(read, commands, 0, 1);
    return;
  }
  const bool held = view.lesson.locked;  // the sentences answer the question of a lesson
  const NextLimit* const limit = view.studies->limit && view.studies->limit->outcome.done() ? view.studies->limit.get() : nullptr;
  std::string detail = held || present ? std::string() : divided(study);
  if (!detail.empty()) detail += ' ';
  const L2Use& l2 = timed_run(view).l2;
  if (!held && !present && !l2_busy(l2).is_known())
    detail +=
        say(tr("L2 busy with lookups: {} to {}. The model may let too many reads share one; the upper end is without sharing."),
            format_percent(l2.lookups), format_percent(std::min(1.0, l2.unshared))) +
        ' ';
  // Before a class, a low panel is for the picture.
  constexpr float least_high = 20;
  const bool small = present && ImGui::GetWindowHeight() < least_high * theme.ui->FontSize;
  study_head(read, held ? std::string(tr("What limits the run shows after the answer.")) : finding(study, timed_run(view), limit),
             (small ? std::string() : detail + clock_text(read, study)) +
                 (present ? std::string() : " " + time_errors_text(view.studies->errors->time, view.lane().simulation->request)));
  draw_beside_line(read);
  std::vector<std::string> sentences;
  if (!held && !present)
    sentences.emplace_back(
        tr("Closest ceiling of each launch. The bottleneck above is that of the run: what the run is faster without."));
  for (const RooflineKernel& kernel : study.kernels) {
    if (held || present) break;
    for (std::string_view launch : launches_of(kernel))
      sentences.push_back(ceiling_sentence(study, kernel, launch, timed_run(view)));
    if (std::string sum = sum_of_launches(kernel); !sum.empty()) sentences.push_back(std::move(sum));
  }
  const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  float text = 4 * theme.scale;
  for (const std::string& sentence : sentences) text += wrapped_height(theme.ui_small, sentence, room.x) + 3 * theme.scale;
  auto& state = panel_state<RooflinePanelState>("roofline");
  const Theme& drawn_theme = plot_theme(theme, *view.theme, room.x);
  const View drawn{view, &drawn_theme};
  // The axes do not move with the switch.
  const std::vector<DrawnPoint> places = drawn_points(read, study, state.all), all = drawn_points(read, study, true);
  PlotAxis x = axis_for(study, all, true), y = axis_for(study, all, false);
  const Key key = lay_out_key(drawn_theme, study, state.all, room.x, text_width(drawn_theme.ui_small, y.title));
  // The plot stays in sight whole: sentences that have no room below it are scrolled to.
  const float line = drawn_theme.ui_small->FontSize;
  const float wanted = std::min(room.y, std::max(room.y * 0.55F, key.height + wanted_lines * line));
  const float height = std::max({room.y - text, wanted, key.height + least_lines * line});
  Plot plot(drawn_theme, ImGui::GetWindowDrawList(), {{at.x, at.y + key.height}, {at.x + room.x, at.y + height}}, std::move(x),
            std::move(y));
  draw_key(drawn_theme, key, at, state);
  draw_roof(plot, drawn, study);
  draw_ridge(plot, drawn, study);
  draw_marks(plot, drawn, places);
  // Names of marks find other places, those of lines do not.
  label_roof(plot, drawn, study);
  label_ridge(plot, drawn, study);
  label_marks(plot, drawn, places);
  draw_measured(plot, drawn, study);
  if (!held) hover(plot, read, study, places);
  ImGui::SetCursorScreenPos({at.x, at.y + height + 4 * theme.scale});
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 3 * theme.scale});
  for (const std::string& sentence : sentences) wrapped_text(theme.ui_small, theme.text_dim, sentence);
  ImGui::PopStyleVar();
}

}  // namespace tilescope
