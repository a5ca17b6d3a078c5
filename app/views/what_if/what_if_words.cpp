// Chooses units, and words for what bounds a changed run.
#include "app/views/what_if/what_if_words.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "app/ui/say.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

ColumnUnit unit_in(double value, std::span<const ColumnUnit> units) {
  ColumnUnit found = units.front();
  for (const ColumnUnit& unit : units)
    if (value >= unit.size) found = unit;
  return found;
}

double busy_of(const Outcome& run, Bound bound) {
  return run.utilisation[static_cast<std::size_t>(bound)];
}

}  // namespace

ColumnUnit time_unit(double ns) {
  static const std::array units = {ColumnUnit{1, "ns"}, ColumnUnit{1e3, "µs"}, ColumnUnit{1e6, "ms"}, ColumnUnit{1e9, "s"}};
  return unit_in(ns, units);
}

ColumnUnit byte_unit(double bytes) {
  static const std::array units = {ColumnUnit{1, "B"}, ColumnUnit{1e3, "kB"}, ColumnUnit{1e6, "MB"}, ColumnUnit{1e9, "GB"},
                                   ColumnUnit{1e12, "TB"}};
  return unit_in(bytes, units);
}

std::string in_unit(double value, const ColumnUnit& unit) {
  const double count = value / unit.size;
  if (count <= 0) return fmt::format("0 {}", unit.name);
  const bool is_whole = unit.size <= 1;
  if (count >= 999.5 || is_whole) return fmt::format("{} {}", format_count(std::llround(count)), unit.name);
  const int decimals = std::clamp(2 - static_cast<int>(std::floor(std::log10(count))), 0, 4);
  return fmt::format("{:.{}f} {}", count, decimals, unit.name);
}

bool needs_factors(const std::vector<double>& ratios) {
  return std::ranges::any_of(ratios, [](double ratio) { return ratio >= 2 || (ratio > 0 && ratio <= 0.1); });
}

std::string difference_text(double now, double before, bool as_factor) {
  if (before <= 0) return now <= 0 ? std::string(tr("same")) : std::string("+");
  const double ratio = now / before;
  if (std::abs(ratio - 1) < (as_factor ? 0.005 : 0.0005)) return tr("same");
  return as_factor ? format_times(ratio) + "×" : format_signed_percent(ratio - 1);
}

RunBound changed_bound(const Outcome& now, const Outcome& base, const NextLimit* base_limit) {
  const RunBound alone = bound_of(now);
  return same_bottleneck(alone, bound_of(base)) ? bound_of(now, base_limit) : alone;
}

std::vector<std::string> bound_reasons(const RunBound& run) {
  if (run.idle_decides()) return {idle_bound_text(run.sms), tr("SMs without a block")};
  const std::string name = bound_name(run.bound);
  if (run.bound == Bound::latency) return {name};
  return {say(tr("{} ({} busy)"), name, whole_percent(run.busy)), name};
}

std::vector<std::string> row_reasons(const WhatIfPart& part, const ChangedRun& run, double noise) {
  const auto& [base, now, base_bound, now_bound] = run;
  const bool same_time = std::abs(now.time_ns - base.time_ns) <= noise * base.time_ns;
  if (same_time && part.resource && *part.resource != base.bound) {
    const std::string busy = whole_percent(busy_of(base, *part.resource)), name = bound_name(*part.resource);
    return {say(tr("{} was {} busy"), name, busy), say(tr("{}: {}"), name, busy)};
  }
  if (part.room_on_sm && same_time && now.blocks_per_sm == base.blocks_per_sm && now.buffers == base.buffers)
    return {say(tr("still {} blocks per SM"), now.blocks_per_sm)};
  std::vector<std::string> reasons = bound_reasons(now_bound);
  const bool same = same_bottleneck(base_bound, now_bound);
  for (std::string& reason : reasons) reason = say(same ? tr("still {}") : tr("now {}"), reason);
  return reasons;
}

}  // namespace tilescope
