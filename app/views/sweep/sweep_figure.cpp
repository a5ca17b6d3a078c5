// Plots a sweep on logarithmic axes.
#include "app/views/sweep/sweep_figure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "app/model/measurements/error_sentences.h"
#include "app/ui/say.h"
#include "app/views/algorithm_style.h"
#include "app/views/beside_run.h"
#include "app/views/measured_case.h"
#include "sim/analysis/format.h"
#include "sim/analysis/io_complexity.h"

namespace tilescope {
namespace {

std::string value_text(double value, SweepQuantity quantity) {
  return quantity == SweepQuantity::time ? format_time(Nanoseconds(value)) : format_bytes(value);
}

/// "16 384", "4.8 T", "64 KiB".
std::string axis_value(std::string_view key, double value) {
  if (key == "shared_bytes" || key == "l2.capacity_bytes" || key.ends_with("shared_bytes_per_block"))
    return format_capacity(Bytes(static_cast<std::int64_t>(value)));
  if (value >= 1e6 || value != std::trunc(value)) return format_short(value);
  return format_count(static_cast<std::int64_t>(value));
}

std::vector<PlotPoint> curve_of(const SweepResult& result, std::size_t algorithm, SweepQuantity quantity) {
  std::vector<PlotPoint> out;
  const auto& values = result.request.axis.values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& point = result.at(algorithm, i);
    if (point && point->done()) out.push_back({values[i], sweep_value(*point, quantity)});
  }
  return out;
}

std::string title_of(const SweepRequest& sweep, std::size_t algorithm) {
  return algorithm_title(sweep.algorithms[algorithm], sweep.base.problem.pass);
}

/// Whether the order of an algorithm's traffic holds at `value`: one in M holds for d <= M <= N d only.
bool order_holds(const SweepRequest& sweep, std::size_t algorithm, double value) {
  const auto count = theory_at(sweep, sweep.algorithms[algorithm], value);
  const auto request = request_at(sweep, sweep.algorithms[algorithm], value);
  if (!count || !request) return false;
  if (count->order.find("/M") == std::string_view::npos) return true;
  return io_complexity(request->problem, chosen_tile(*request).value_or(ProgramTile{}), request->gpu).bound_applies;
}

/// Returns the paper's count in bytes; empty for time, and where its order does not hold.
std::vector<PlotPoint> theory_of(const SweepResult& result, std::size_t algorithm, SweepQuantity quantity) {
  std::vector<PlotPoint> out;
  if (!is_traffic(quantity)) return out;
  for (double value : result.request.axis.values)
    if (const auto count = theory_at(result.request, result.request.algorithms[algorithm], value);
        count && order_holds(result.request, algorithm, value))
      out.push_back({value, count->bytes});
  return out;
}

/// Returns the Θ form with its constant at the largest value; without it where a mask hides tiles.
std::string theory_text(const SweepResult& result, std::size_t algorithm) {
  const double largest = result.request.axis.values.back();
  const auto count = theory_at(result.request, result.request.algorithms[algorithm], largest);
  const auto request = request_at(result.request, result.request.algorithms[algorithm], largest);
  if (!count || !request || !order_holds(result.request, algorithm, largest)) return {};
  if (request->problem.mask) return say(order_text(count->order, request->problem));
  return fmt::format("{}: {} = {}", count->order, count->constant_formula,
                     format_value(std::round(count->leading_constant * 100) / 100));
}

struct MeasuredPoint {
  PlotPoint at;
  double low = 0, high = 0;
  const MeasuredCase* of = nullptr;
};

std::vector<MeasuredPoint> measured_of(const View& view, const SweepResult& result, std::size_t algorithm, SweepQuantity quantity) {
  std::vector<MeasuredPoint> out;
  if (view.requested == nullptr || !same_numbers(result.request.base.gpu, view.requested->gpu_base)) return out;
  if (!result.request.base.masking.empty()) return out;  // no case was recorded with a mask of its own
  for (double value : result.request.axis.values) {
    const auto request = request_at(result.request, result.request.algorithms[algorithm], value);
    if (!request || !same_numbers(request->gpu, result.request.base.gpu)) continue;
    const MeasuredCase* measured = measured_case(view, request->algorithm, request->problem);
    if (measured == nullptr || (request->tile && !(measured->tile == *request->tile))) continue;
    // Both directions or none, because half of a sum would mislead.
    const auto add = [&](std::optional<double> in, std::optional<double> back) {
      if (in && back) out.push_back({{value, *in + *back}, 0, 0, measured});
    };
    switch (quantity) {
      case SweepQuantity::hbm:
        add(counter(*measured, "hbm_read_bytes"), counter(*measured, "hbm_write_bytes"));
        break;
      case SweepQuantity::sm_link:
        add(counter(*measured, "l2_to_sm_bytes"), counter(*measured, "sm_to_l2_bytes"));
        break;
      case SweepQuantity::time:
        out.push_back(
            {{value, measured->time_cold_ns.median}, measured->time_cold_ns.least, measured->time_cold_ns.most, measured});
        break;
      case SweepQuantity::memory:  // no counter has it
        break;
    }
  }
  std::erase_if(out, [](const MeasuredPoint& point) { return point.at.y <= 0; });
  return out;
}

/// Returns the last value at which both algorithms are simulated.
std::optional<std::size_t> last_common(const SweepResult& result, std::size_t a, std::size_t b) {
  for (std::size_t i = result.request.axis.values.size(); i-- > 0;) {
    const auto &first = result.at(a, i), &second = result.at(b, i);
    if (first && second && first->done() && second->done()) return i;
  }
  return std::nullopt;
}

/// Describes the GPU and the problem without the swept value.
std::string base_text(const SweepRequest& request) {
  const AttentionProblem& p = request.base.problem;
  const std::string& key = request.axis.key;
  std::string text = request.base.gpu.name + ",";
  const auto add = [&](bool swept, std::string_view name, std::int64_t value) {
    if (!swept) text += fmt::format(" {} {}", name, value);
  };
  add(key == "batch", "B", p.batch);
  add(key == "heads", "H", p.heads);
  add(key == "seq", "N", p.seq_q);
  if (p.seq_kv != p.seq_q) add(key == "seq_kv", "Nk", p.seq_kv);
  add(key == "head_dim", "d", p.head_dim);
  text += fmt::format(" {}, ", to_string(p.dtype));
  if (p.causal) text += fmt::format("{}, ", tr("causal"));
  return text + (request.base.tile ? say(tr("tile {}×{}."), request.base.tile->block_q, request.base.tile->block_kv)
                                   : std::string(tr("default tiles.")));
}

PlotAxis x_axis_of(const SweepResult& result) {
  PlotAxis axis = axis_over(axis_name(result.request.axis.key), result.request.axis.values);
  const bool log = result.request.axis.values.front() > 0;
  if (!log) axis = axis_over(axis_name(result.request.axis.key), result.request.axis.values, false);
  const bool powers = std::all_of(result.request.axis.values.begin(), result.request.axis.values.end(),
                                  [](double v) { return v > 0 && std::log2(v) == std::trunc(std::log2(v)); });
  if (powers) axis.base = 2;
  if (result.request.axis.key == "shared_bytes" || result.request.axis.key == "l2.capacity_bytes")
    axis.format = [](double v) { return format_capacity(Bytes(static_cast<std::int64_t>(v))); };
  else if (result.request.axis.values.back() < 1e6)
    axis.format = [](double v) { return v == std::trunc(v) ? format_count(static_cast<std::int64_t>(v)) : format_value(v); };
  else
    axis.format = [](double v) { return format_short(v); };
  return axis;
}

/// Where the pinned run beside the one on screen is among the curves; nullopt outside of the axis.
std::optional<PlotPoint> pinned_point(const View& view, const SweepResult& result, SweepQuantity quantity) {
  const BesideRun* const beside = beside_run(view);
  if (beside == nullptr || beside->kernel == nullptr) return std::nullopt;
  const auto value = sweep_value_of(*beside->simulation, result.request.axis.key);
  const auto& axis = result.request.axis.values;
  if (!value || *value < axis.front() || *value > axis.back()) return std::nullopt;
  return PlotPoint{*value, sweep_value(beside->kernel->outcome, quantity)};
}

PlotAxis y_axis_of(const View& view, const SweepResult& result, SweepQuantity quantity) {
  std::vector<double> values;
  if (const auto pinned = pinned_point(view, result, quantity)) values.push_back(pinned->y);
  for (std::size_t a = 0; a < result.request.algorithms.size(); ++a) {
    for (const PlotPoint& point : curve_of(result, a, quantity)) values.push_back(point.y);
    for (const PlotPoint& point : theory_of(result, a, quantity)) values.push_back(point.y);
  }
  PlotAxis axis = axis_over(quantity_name(quantity), values);
  axis.format = quantity == SweepQuantity::time ? +[](double v) { return format_time(Nanoseconds(v)); }
                                                : +[](double v) { return format_bytes(v); };
  axis.units = quantity == SweepQuantity::time ? std::span<const PlotUnit>(plot_units_of_ns) : plot_units_of_bytes;
  return axis;
}

void draw_theory(Plot& plot, const View& view, const SweepResult& result, SweepQuantity quantity) {
  const Theme& theme = *view.theme;
  for (std::size_t a = 0; a < result.request.algorithms.size(); ++a)
    plot.curve(theory_of(result, a, quantity), with_alpha(algorithm_color(theme, result.request.algorithms[a]), 0.75F),
               1.2F * theme.scale, Plot::Line::dashed);
}

/// The order in which curves are drawn: the program on screen comes last, above the others.
std::vector<std::size_t> drawing_order(const View& view, const SweepResult& result) {
  std::vector<std::size_t> order(result.request.algorithms.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::string& shown = view.lane().simulation->request.algorithm;
  std::stable_partition(order.begin(), order.end(), [&](std::size_t a) { return result.request.algorithms[a] != shown; });
  return order;
}

/// Counts the curves drawn after `order[place]` that lie on it at most of its points; it is drawn wider to stay visible.
float curves_over(const SweepResult& result, const std::vector<std::size_t>& order, std::size_t place, SweepQuantity quantity) {
  const std::size_t points = result.request.axis.values.size();
  const auto close_at = [&](std::size_t later, std::size_t i) {
    const auto &own = result.at(order[place], i), &other = result.at(later, i);
    if (!own || !own->done() || !other || !other->done()) return false;
    const double y = sweep_value(*own, quantity);
    return std::abs(sweep_value(*other, quantity) - y) < 0.03 * y;
  };
  float count = 0;
  for (std::size_t later = place + 1; later < order.size(); ++later) {
    std::size_t close = 0;
    for (std::size_t i = 0; i < points; ++i) close += close_at(order[later], i) ? 1 : 0;
    count += 2 * close > points ? 1.0F : 0.0F;
  }
  return count;
}

/// Marks where HBM traffic reaches the paper's count, so that the L2 no longer helps.
void mark_parting(Plot& plot, const View& view, const SweepResult& result, SweepQuantity quantity) {
  if (quantity != SweepQuantity::hbm || !result.request.base.gpu.has_l2()) return;
  const Theme& theme = *view.theme;
  for (std::size_t a = 0; a < result.request.algorithms.size(); ++a) {
    const auto parting = l2_parting(result, a);
    if (!parting || !parting->joins) continue;
    const double value = result.request.axis.values[*parting->joins];
    plot.vertical(value, with_alpha(algorithm_color(theme, result.request.algorithms[a]), 0.8F), Plot::Line::dotted);
    plot.label(
        {value, plot.y_axis().low * std::pow(plot.y_axis().high / plot.y_axis().low, 0.06)},
        say(tr("From {} on, the L2 no longer helps {}"), axis_value(result.request.axis.key, value), title_of(result.request, a)),
        algorithm_color(theme, result.request.algorithms[a]), Plot::Side::left);
  }
}

}  // namespace

double sweep_value(const Outcome& outcome, SweepQuantity quantity) {
  switch (quantity) {
    case SweepQuantity::hbm:
      return outcome.hbm();
    case SweepQuantity::sm_link:
      return outcome.sm_link();
    case SweepQuantity::time:
      return outcome.wall_ns();
    case SweepQuantity::memory:
      return outcome.live_peak_bytes;
  }
  return 0;
}

const char* quantity_name(SweepQuantity quantity) {
  switch (quantity) {
    case SweepQuantity::hbm:
      return tr("HBM bytes, read and written");
    case SweepQuantity::sm_link:
      return tr("L2↔SM bytes, both ways");
    case SweepQuantity::time:
      return tr("Time");
    case SweepQuantity::memory:
      return tr("HBM in use, at most");
  }
  return "";
}

std::string axis_name(std::string_view key) {
  if (key == "seq") return tr("N, queries and keys");
  if (key == "seq_kv") return tr("keys and values");
  if (key == "head_dim") return tr("d, head dimension");
  if (key == "batch") return tr("B, batch size");
  if (key == "heads") return tr("H, heads");
  if (key == "block_q") return tr("Br, query rows of a tile");
  if (key == "block_kv") return tr("Bc, key rows of a tile");
  if (key == "shared_bytes") return tr("M, shared memory of a block");
  return std::string(key);
}

std::string axis_symbol(std::string_view key) {
  struct Symbol {
    std::string_view key;
    const char* letter;
  };
  constexpr std::array symbols = {Symbol{"seq", "N"},      Symbol{"seq_kv", "Nk"},   Symbol{"head_dim", "d"},
                                  Symbol{"batch", "B"},    Symbol{"heads", "H"},     Symbol{"kv_heads", "Hkv"},
                                  Symbol{"block_q", "Br"}, Symbol{"block_kv", "Bc"}, Symbol{"shared_bytes", "M"}};
  for (const Symbol& symbol : symbols)
    if (symbol.key == key) return symbol.letter;
  return std::string(key);
}

namespace {

/// The clock of all points, or that each has its own.
std::string clock_text(const SweepResult& result) {
  std::optional<double> common;
  for (const auto& point : result.points) {
    if (!point || !point->done()) continue;
    const double hz = point->under_load.clock_hz > 0 ? point->under_load.clock_hz : result.request.base.gpu.sm_clock_hz;
    if (common && *common != hz) return tr("Each point is at its own clock under load.");
    common = hz;
  }
  return say(tr("Simulated at {}."), format_clock(common.value_or(result.request.base.gpu.sm_clock_hz)));
}

}  // namespace

SweepWords sweep_words(const SweepResult& result, SweepQuantity quantity, std::string_view on_screen) {
  SweepWords words;
  const auto& request = result.request;
  const std::size_t algorithms = request.algorithms.size();
  const char* both = quantity == SweepQuantity::time     ? tr("At {} = {}: {} takes {}, {} takes {}")
                     : quantity == SweepQuantity::memory ? tr("Memory at {} = {}: {} {}, {} {}")
                     : quantity == SweepQuantity::hbm    ? tr("HBM traffic at {} = {}: {} {}, {} {}")
                                                         : tr("L2↔SM traffic at {} = {}: {} {}, {} {}");
  const char* one = quantity == SweepQuantity::time     ? tr("{} takes {} at {} = {} and {} at {}")
                    : quantity == SweepQuantity::memory ? tr("Memory of {}: {} at {} = {} and {} at {}")
                    : quantity == SweepQuantity::hbm    ? tr("HBM traffic of {}: {} at {} = {} and {} at {}")
                                                        : tr("L2↔SM traffic of {}: {} at {} = {} and {} at {}");
  if (algorithms >= 2) {
    const auto chosen = std::find(request.algorithms.begin() + 1, request.algorithms.end(), on_screen);
    const std::size_t first = 0, last = chosen == request.algorithms.end()
                                            ? algorithms - 1
                                            : static_cast<std::size_t>(chosen - request.algorithms.begin());
    if (const auto at = last_common(result, first, last)) {
      const Outcome &before = *result.at(first, *at), &now = *result.at(last, *at);
      double a = sweep_value(before, quantity), b = sweep_value(now, quantity);
      words.finding = say(both, axis_symbol(request.axis.key), axis_value(request.axis.key, request.axis.values[*at]),
                          title_of(request, first), value_text(a, quantity), title_of(request, last), value_text(b, quantity));
      const bool time = quantity == SweepQuantity::time;
      // Two programs compare at one clock. Where each has its own, their cycles do.
      const bool by_cycles = time && before.under_load.clock_hz != now.under_load.clock_hz;
      if (by_cycles) a = before.cycles, b = now.cycles;
      const char* const less = by_cycles ? tr(" (1/{} of the cycles)") : time ? tr(" ({}× faster)") : tr(" (1/{})");
      const char* const more = by_cycles ? tr(" ({}× the cycles)") : time ? tr(" ({}× slower)") : tr(" ({}×)");
      if (b > 0 && a > b * 1.005) words.finding += say(less, format_times(a / b));
      if (a > 0 && b > a * 1.005) words.finding += say(more, format_times(b / a));
    }
  } else if (algorithms == 1) {
    const auto curve = curve_of(result, 0, quantity);
    if (curve.size() >= 2)
      words.finding = say(one, title_of(request, 0), value_text(curve.front().y, quantity), axis_symbol(request.axis.key),
                          axis_value(request.axis.key, curve.front().x), value_text(curve.back().y, quantity),
                          axis_value(request.axis.key, curve.back().x));
  }
  if (words.finding.empty()) words.finding = say(tr("{} over {}"), quantity_name(quantity), axis_name(request.axis.key));

  words.detail = base_text(request);
  if (quantity == SweepQuantity::time) words.detail.append(" ").append(clock_text(result));
  const bool theory = std::any_of(request.algorithms.begin(), request.algorithms.end(), [&](const std::string& algorithm) {
    return !request.axis.values.empty() && theory_at(request, algorithm, request.axis.values.back()).has_value();
  });
  if (!is_traffic(quantity) || !theory) return words;
  words.detail += ' ';
  words.detail += tr("Dashed: the paper's traffic between slow and fast memory.");
  if (quantity != SweepQuantity::hbm) return words;
  std::string saved;
  for (std::size_t a = 0; a < algorithms; ++a) {
    const auto parting = l2_parting(result, a);
    if (!request.base.gpu.has_l2() || !parting || parting->joins || parting->saved_at_end < 0.1) continue;
    saved += fmt::format("{}{} {}", saved.empty() ? "" : ", ", title_of(request, a), format_percent(parting->saved_at_end));
  }
  if (saved.empty()) return words;
  words.detail += ' ';
  words.detail += say(tr("L2 hit share at the largest value: {}."), saved);
  return words;
}

bool has_legend(const SweepResult& result) {
  return result.request.algorithms.size() > 5;
}

std::optional<std::size_t> legend_value(const SweepResult& result) {
  for (std::size_t v = result.request.axis.values.size(); v-- > 0;) {
    bool all = true;
    for (std::size_t a = 0; a < result.request.algorithms.size(); ++a) all = all && result.at(a, v).has_value();
    if (all) return v;
  }
  return std::nullopt;
}

const Result<FigureErrors>* errors_at(const View& view, std::size_t algorithm, std::size_t value) {
  const SweepErrors& errors = view.studies->sweep_errors;
  const std::size_t at = view.studies->sweep->index(algorithm, value);
  return at < errors.size() && errors[at] ? &*errors[at] : nullptr;
}

namespace {

/// One line of the legend.
struct LegendRow {
  std::size_t algorithm = 0;
  double value = 0;  // 0: it could not be simulated there
};

/// The largest first.
std::vector<LegendRow> legend_of(const SweepResult& result, SweepQuantity quantity, std::optional<std::size_t> at) {
  std::vector<LegendRow> rows;
  for (std::size_t a = 0; a < result.request.algorithms.size(); ++a)
    rows.push_back({a, at && result.at(a, *at)->done() ? sweep_value(*result.at(a, *at), quantity) : 0});
  std::ranges::stable_sort(rows, std::greater(), &LegendRow::value);
  return rows;
}

/// "±5.7 %", for times alone.
std::string error_of(const View& view, SweepQuantity quantity, std::size_t algorithm, std::optional<std::size_t> at) {
  if (quantity != SweepQuantity::time || !at) return {};
  const Result<FigureErrors>* const errors = errors_at(view, algorithm, *at);
  return errors != nullptr && *errors ? "±" + format_percent((*errors)->mean) : std::string();
}

/// Draws the legend from the right edge of `area`, which it narrows. Returns the program whose line the mouse is on.
std::optional<std::size_t> draw_legend(const View& view, const SweepResult& result, SweepQuantity quantity, Rect& area) {
  const Theme& theme = *view.theme;
  const std::string& shown = view.lane().simulation->request.algorithm;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const std::optional<std::size_t> at = legend_value(result);
  const std::vector<LegendRow> rows = legend_of(result, quantity, at);
  const auto value_of = [&](const LegendRow& row) { return row.value > 0 ? value_text(row.value, quantity) : std::string("–"); };
  float title = 0, value = 0, error = 0;
  for (const LegendRow& row : rows) {
    title = std::max(title, text_width(theme.ui_small, title_of(result.request, row.algorithm)));
    value = std::max(value, text_width(theme.mono_small, value_of(row)));
    error = std::max(error, text_width(theme.mono_small, error_of(view, quantity, row.algorithm, at)));
  }
  const float gap = theme.gap, swatch = 22 * theme.scale;
  const float width = swatch + gap + title + gap + value + (error > 0 ? gap + error : 0);
  const float left = area.max.x - width, height = theme.ui_small->FontSize + 6 * theme.scale;
  area.max.x = left - 2 * gap;
  float y = area.min.y;
  if (at)
    draw_text(list, theme.ui_small, {{left, y}, {left + width, y + height}}, theme.text_faint,
              say(tr("At {} = {}"), axis_symbol(result.request.axis.key),
                  axis_value(result.request.axis.key, result.request.axis.values[*at])));
  if (error > 0)
    draw_text(list, theme.ui_small, {{left, y}, {left + width, y + height}}, theme.text_faint, tr("error"), Align::right);
  y += height;
  std::optional<std::size_t> hovered;
  for (const LegendRow& row : rows) {
    const std::string& algorithm = result.request.algorithms[row.algorithm];
    const Rect line = {{left - 4 * theme.scale, y}, {left + width + 4 * theme.scale, y + height}};
    ImGui::PushID(static_cast<int>(row.algorithm));
    hit_area("legend", line);
    const bool is_on = ImGui::IsItemHovered();
    ImGui::PopID();
    if (is_on) {
      hovered = row.algorithm;
      const Result<FigureErrors>* const errors = at ? errors_at(view, row.algorithm, *at) : nullptr;
      if (quantity == SweepQuantity::time && errors != nullptr)
        show_tooltip(theme, title_of(result.request, row.algorithm),
                     say(time_errors_sentence(*errors, title_of(result.request, row.algorithm), result.request.base.gpu.id)));
    }
    if (is_on || algorithm == shown)
      list->AddRectFilled(line.min, line.max, is_on ? with_alpha(theme.inset_border, 0.6F) : theme.accent_soft, 3 * theme.scale);
    const ImU32 color = algorithm_color(theme, algorithm), ink = algorithm == shown || is_on ? theme.text : theme.text_dim;
    const float middle = line.center().y;
    list->AddLine({left, middle}, {left + swatch, middle}, color, 2 * theme.scale);
    draw_marker(list, algorithm_marker(algorithm), {left + swatch * 0.5F, middle}, 3.6F * theme.scale, color, theme.scale);
    const float from = left + swatch + gap;
    draw_text(list, theme.ui_small, {{from, y}, {from + title + 1, y + height}}, ink, title_of(result.request, row.algorithm));
    draw_text(list, theme.mono_small, {{from + title + gap, y}, {from + title + gap + value, y + height}}, ink, value_of(row),
              Align::right);
    if (error > 0)
      draw_text(list, theme.mono_small, {{left + width - error, y}, {left + width, y + height}}, theme.text_faint,
                error_of(view, quantity, row.algorithm, at), Align::right);
    y += height;
  }
  return hovered;
}

/// Names the curves at their ends.
void label_curves(Plot& plot, const View& view, const SweepResult& result, SweepQuantity quantity) {
  const Theme& theme = *view.theme;
  for (std::size_t a = 0; a < result.request.algorithms.size(); ++a) {
    auto curve = curve_of(result, a, quantity);
    std::ranges::reverse(curve);  // from its end, where curves are apart
    plot.label(curve, title_of(result.request, a), algorithm_color(theme, result.request.algorithms[a]), Plot::Side::left, true);
  }
}

}  // namespace

std::optional<SweepHover> draw_sweep_figure(const View& view, const SweepResult& result, SweepQuantity quantity,
                                            const Rect& whole) {
  if (result.request.axis.values.empty()) return std::nullopt;
  const Theme& theme = *view.theme;
  Rect area = whole;
  const bool legend = has_legend(result);
  const std::optional<std::size_t> pointed = legend ? draw_legend(view, result, quantity, area) : std::nullopt;
  Plot plot(theme, ImGui::GetWindowDrawList(), area, x_axis_of(result), y_axis_of(view, result, quantity));
  draw_theory(plot, view, result, quantity);
  std::vector<std::size_t> order = drawing_order(view, result);
  if (pointed)  // above all others
    std::stable_partition(order.begin(), order.end(), [&](std::size_t a) { return a != *pointed; });
  // With a legend, the lines of curves that coincide stand together in it, and no curve is widened.
  std::vector<float> covered(order.size());
  for (std::size_t place = 0; place < order.size() && !legend; ++place)
    covered[order[place]] = curves_over(result, order, place, quantity);
  const auto color_of = [&](std::size_t a) {
    const ImU32 color = algorithm_color(theme, result.request.algorithms[a]);
    return pointed && *pointed != a ? with_alpha(color, 0.25F) : color;
  };
  for (const std::size_t a : order)
    plot.curve(curve_of(result, a, quantity), color_of(a), ((pointed == a ? 3.4F : 2.2F) + 3.0F * covered[a]) * theme.scale);
  std::optional<SweepHover> hover;
  float least = 12 * theme.scale;
  bool labelled_one = false;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  for (const std::size_t a : order) {
    for (std::size_t i = 0; i < result.request.axis.values.size(); ++i) {
      const auto& point = result.at(a, i);
      if (!point || !point->done()) continue;
      const PlotPoint at = {result.request.axis.values[i], sweep_value(*point, quantity)};
      plot.marker(algorithm_marker(result.request.algorithms[a]), at, color_of(a), (4 + 2.5F * covered[a]) * theme.scale);
      const ImVec2 pixel = plot.at(at);
      const float distance = std::hypot(pixel.x - mouse.x, pixel.y - mouse.y);
      if (distance < least) least = distance, hover = SweepHover{a, i};
    }
    bool labelled = false;
    for (const MeasuredPoint& measured : measured_of(view, result, a, quantity)) {
      if (measured.high > measured.low) plot.spread(measured.at.x, measured.low, measured.high, theme.text);
      plot.marker(Marker::cross, measured.at, theme.text, 5 * theme.scale);
      if (!labelled && !(legend && labelled_one))
        plot.label(measured.at, measured_label(view, *measured.of), theme.text, Plot::Side::below);
      labelled = labelled_one = true;
    }
  }
  if (const auto pinned = pinned_point(view, result, quantity)) {
    plot.marker(Marker::ring, *pinned, theme.highlight, 7 * theme.scale);
    plot.label(*pinned, beside_label(*beside_run(view)), theme.highlight, Plot::Side::right, true);
  }
  if (!legend) mark_parting(plot, view, result, quantity);
  if (!legend) label_curves(plot, view, result, quantity);
  for (std::size_t a = 0; a < result.request.algorithms.size(); ++a) {
    auto theory = theory_of(result, a, quantity);
    if (theory.size() < 2) continue;
    std::rotate(theory.begin(), theory.begin() + static_cast<std::ptrdiff_t>(theory.size() * 2 / 5), theory.end());
    plot.label(theory, theory_text(result, a), algorithm_color(theme, result.request.algorithms[a]), Plot::Side::above);
  }
  return hover;
}

}  // namespace tilescope
