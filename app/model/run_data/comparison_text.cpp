// Formats figures by their unit.
#include "app/model/run_data/comparison_text.h"

#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "sim/analysis/format.h"
#include "sim/analysis/l2_busy.h"

namespace tilescope {

namespace {

Bytes whole_bytes(double value) {
  return Bytes(std::llround(value));
}

/// The same with so many digits that values which differ read differently.
std::string exact_text(RunFigure figure, double value) {
  if (group_of(figure) == FigureGroup::bytes || figure == RunFigure::shared_bytes || figure == RunFigure::peak_hbm ||
      figure == RunFigure::extra_hbm)
    return exact_bytes_text(value);
  if (figure == RunFigure::time || figure == RunFigure::balanced_time) return fmt::format("{:.9g} ns", value);
  if (figure == RunFigure::busy) return fmt::format("{:.6g} %", 100 * value);
  return fmt::format("{:.9g}", value);
}

std::string text_or_dash(RunFigure figure, const std::optional<double>& value) {
  return value ? figure_text(figure, *value) : "–";
}

std::string difference_text(const ComparedFigure& f) {
  const double difference = f.difference();
  if (f.figure != RunFigure::busy)
    return fmt::format("{}{}", difference < 0 ? minus_sign : std::string_view("+"), figure_text(f.figure, std::abs(difference)));
  std::string points = format_signed_percent(difference);
  if (points.ends_with(" %")) points.resize(points.size() - 2);
  return points;
}

/// Shows the busy share of the L2 as ranges. Ranges that meet have no difference.
void show_l2_ranges(FigureTexts& texts, const RunComparison& comparison) {
  const L2Busy a = l2_busy(comparison.first->l2), b = l2_busy(comparison.second->l2);
  if (a.is_known() && b.is_known()) return;
  texts.is_range = true;
  texts.first = l2_busy_text(a);
  texts.second = l2_busy_text(b);
  if (a.least <= b.most && b.least <= a.most) texts.difference = texts.ratio = {};
}

}  // namespace

std::string ratio_text(const ComparedFigure& f) {
  const double first = f.first.value_or(0), second = f.second.value_or(0);
  if (f.figure == RunFigure::busy || first <= 0 || second <= 0) return {};
  const double ratio = second / first;
  if (ratio >= 2) return fmt::format("{}×", format_times(ratio));
  if (ratio <= 0.5) return fmt::format("1/{}", format_times(1 / ratio));
  return format_signed_percent(ratio - 1);
}

std::string exact_bytes_text(double value) {
  return format_exact_bytes(whole_bytes(value));
}

std::string figure_text(RunFigure figure, double value) {
  switch (figure) {
    case RunFigure::time:
    case RunFigure::balanced_time:
      return format_time(Nanoseconds(value));
    case RunFigure::cycles:
    case RunFigure::launch_cycles:
    case RunFigure::wait_cycles:
      return format_cycles(Cycles(value));
    case RunFigure::flops:
      return format_short(value, "FLOP");
    case RunFigure::exps:
      return format_short(value);
    case RunFigure::link_bytes:
    case RunFigure::tensor_bytes:
    case RunFigure::flushed_bytes:
      return format_bytes(whole_bytes(value));
    case RunFigure::busy:
      return format_percent(value);
    case RunFigure::waves:
    case RunFigure::tiles_per_block:
      return fmt::format("{:.2f}", value);
    case RunFigure::shared_bytes:
    case RunFigure::peak_hbm:
    case RunFigure::extra_hbm:
      return format_capacity(whole_bytes(value));
    default:
      return format_count(std::llround(value));
  }
}

FigureTexts texts_of(const ComparedFigure& f, const RunComparison& comparison) {
  FigureTexts texts{text_or_dash(f.figure, f.first), text_or_dash(f.figure, f.second), {}, {}};
  if (!f.equal()) {
    texts.difference = difference_text(f);
    texts.is_points = f.figure == RunFigure::busy;
    texts.ratio = ratio_text(f);
  }
  if (!f.equal() && f.first && f.second && texts.first == texts.second) {
    texts.first = exact_text(f.figure, *f.first);
    texts.second = exact_text(f.figure, *f.second);
  }
  if (f.figure == RunFigure::busy && f.bound == Bound::l2) show_l2_ranges(texts, comparison);
  return texts;
}

}  // namespace tilescope
