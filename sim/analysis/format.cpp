// Formatting of quantities for people.
#include "sim/analysis/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace tilescope {

namespace {

/// Groups digits by three. Four-digit numbers are grouped too, so that columns of figures line up.
std::string grouped(std::string digits) {
  const std::size_t start = !digits.empty() && digits.front() == '-' ? 1 : 0;
  const std::size_t point = std::min(digits.find('.'), digits.size());
  for (std::size_t at = point; at > start + 3;) {
    at -= 3;
    digits.insert(at, group_separator);
  }
  if (start == 1) digits.replace(0, 1, minus_sign);
  return digits;
}

/// Removes trailing zeros after the point: "64.0" becomes "64".
std::string trimmed(std::string digits) {
  if (digits.find('.') == std::string::npos) return digits;
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return digits == "-0" ? "0" : digits;
}

/// Returns the decimals for three significant digits. Callers choose the unit so that nothing rounds to 1000.
int decimals_for(double magnitude) {
  return magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0;
}

struct Step {
  double size;
  std::string_view unit;
};

/// Formats `value` in the largest unit that it fills; in the next larger one if rounding would give four digits.
std::string in_steps(double value, std::span<const Step> steps, bool keep_zeros) {
  if (std::isnan(value)) return "—";
  const double magnitude = std::abs(value);
  std::size_t chosen = 0;
  while (chosen + 1 < steps.size() && magnitude >= steps[chosen + 1].size * 0.9995) ++chosen;
  const double scaled = value / steps[chosen].size;
  std::string digits = fmt::format("{:.{}f}", scaled, decimals_for(std::abs(scaled)));
  if (!keep_zeros) digits = trimmed(std::move(digits));
  const std::string_view unit = steps[chosen].unit;
  return grouped(std::move(digits)) + (unit.empty() ? "" : " ") + std::string(unit);
}

/// Formats three significant digits, and all digits before the point.
std::string significant(double value) {
  const double magnitude = std::abs(value);
  if (!std::isfinite(value)) return format_value(value);
  if (magnitude == 0) return "0";
  const int before = static_cast<int>(std::floor(std::log10(magnitude))) + 1;
  return grouped(trimmed(fmt::format("{:.{}f}", value, std::min(12, std::max(0, 3 - before)))));
}

}  // namespace

std::string format_bytes(Bytes bytes) {
  constexpr std::array<Step, 6> steps = {{{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}, {1e15, "PB"}}};
  const double value = static_cast<double>(bytes.value);
  return in_steps(value, steps, std::abs(value) >= 999.5);
}

std::string format_bytes(double bytes) {
  return format_bytes(Bytes(static_cast<std::int64_t>(bytes)));
}

std::string format_exact_bytes(Bytes bytes) {
  return format_count(bytes.value) + " B";
}

std::string format_capacity(Bytes bytes) {
  if (bytes.value == 0) return "0 B";
  constexpr double kibi = 1024;
  constexpr std::array<Step, 5> steps = {
      {{1, "B"}, {kibi, "KiB"}, {kibi * kibi, "MiB"}, {kibi * kibi * kibi, "GiB"}, {kibi * kibi * kibi * kibi, "TiB"}}};
  const double value = static_cast<double>(bytes.value);
  std::size_t chosen = 0;
  while (chosen + 1 < steps.size() && std::abs(value) >= steps[chosen + 1].size) ++chosen;
  const double scaled = value / steps[chosen].size;
  return grouped(trimmed(fmt::format("{:.{}f}", scaled, decimals_for(std::abs(scaled))))) + " " + std::string(steps[chosen].unit);
}

std::string format_bandwidth(double bytes_per_second) {
  return significant(bytes_per_second / 1e9) + " GB/s";
}

std::string format_clock(double hertz) {
  // Two digits after the point say nothing of a slow one.
  if (hertz < 0.1e9) return fmt::format("{:.3g} MHz", hertz / 1e6);
  return fmt::format("{:.2f} GHz", hertz / 1e9);
}

std::string format_rate(BytesPerCycle rate) {
  return significant(rate.value) + " B/cycle";
}

std::string format_cycles(Cycles cycles) {
  if (!std::isfinite(cycles.value)) return format_value(cycles.value);
  if (std::abs(cycles.value) < 9.95) return grouped(trimmed(fmt::format("{:.1f}", cycles.value)));
  return grouped(fmt::format("{:.0f}", std::round(cycles.value)));  // a half goes up, as in JSON
}

std::string format_time(Nanoseconds time) {
  constexpr std::array<Step, 4> steps = {{{1, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}}};
  if (std::isinf(time.value)) return format_value(time.value);
  return in_steps(time.value, steps, std::abs(time.value) >= 999.5);
}

std::string format_count(std::int64_t count) {
  return grouped(fmt::format("{}", count));
}

std::string format_short(double value, std::string_view unit) {
  constexpr std::array<Step, 6> steps = {{{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}, {1e15, "P"}}};
  if (std::isinf(value)) return format_value(value);
  std::string text = in_steps(value, steps, std::abs(value) >= 999.5);
  if (unit.empty()) return text;
  const bool has_prefix = text.back() > '9';  // every prefix is a letter
  return text + (has_prefix ? "" : " ") + std::string(unit);
}

std::string format_times(double factor) {
  if (!std::isfinite(factor)) return format_value(factor);
  if (factor >= 9.95) return format_count(std::llround(factor));
  return fmt::format("{:.{}f}", factor, factor < 1.995 ? 2 : 1);
}

std::string format_percent(double fraction) {
  if (!std::isfinite(fraction)) return std::isnan(fraction) ? "—" : format_value(fraction) + " %";
  const double percent = fraction * 100;
  const double magnitude = std::abs(percent);
  if (magnitude == 0) return "0 %";
  if (magnitude < 1e-6) return percent < 0 ? "−<0.000001 %" : "<0.000001 %";
  const int decimals = std::max(1, 1 - static_cast<int>(std::floor(std::log10(magnitude))));
  return grouped(trimmed(fmt::format("{:.{}f}", percent, decimals))) + " %";
}

std::string format_signed_percent(double fraction) {
  return fmt::format("{}{}", fraction > 0 ? "+" : "", format_percent(fraction));
}

std::string format_value(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? std::string(minus_sign) + "∞" : "∞";
  const double magnitude = std::abs(value);
  if (magnitude == 0) return "0";
  std::string digits;
  if (magnitude >= 99999.5) {
    digits = fmt::format("{:.3g}", value);
  } else if (magnitude >= 0.0009995) {
    // Four significant digits from 1 on, three below: 1.204, 0.513, 0.0183.
    const int before = static_cast<int>(std::floor(std::log10(magnitude))) + 1;
    digits = trimmed(fmt::format("{:.{}f}", value, before >= 1 ? std::max(0, 4 - before) : 3 - before));
  } else {
    digits = fmt::format("{:.2g}", value);
  }
  // Turn "1e-05" into "1e−5".
  if (const std::size_t e = digits.find('e'); e != std::string::npos) {
    const std::size_t power = e + 2;
    while (power + 1 < digits.size() && digits[power] == '0') digits.erase(power, 1);
    if (digits[e + 1] == '+') digits.erase(e + 1, 1);
  }
  for (std::size_t at = digits.find('-'); at != std::string::npos; at = digits.find('-', at + minus_sign.size()))
    digits.replace(at, 1, minus_sign);
  return digits;
}

std::string format_cell(double value, int width) {
  if (width < 1) return "";
  const auto room = static_cast<std::size_t>(width);
  if (std::isnan(value)) return room >= 3 ? "NaN" : "?";
  if (std::isinf(value)) return value > 0 ? "∞" : room >= 2 ? "-∞" : "∞";
  // Use as many decimals as fit, at most three. Drop the zero before the point before dropping a decimal.
  for (int decimals = std::min(3, width); decimals >= 0; --decimals) {
    std::string digits = fmt::format("{:.{}f}", value, decimals);
    if (digits.find_first_not_of("-0.") == std::string::npos) {
      if (decimals > 0) continue;  // show "0" rather than "0.00"
      return value == 0 || room < 2 ? "0" : "≈0";
    }
    if (digits.size() <= room) return digits;
    const std::size_t zero = digits.find("0.");
    if (zero == 0 || (zero == 1 && digits[0] == '-')) digits.erase(zero, 1);
    if (digits.size() <= room) return digits;
  }
  const int order = static_cast<int>(std::floor(std::log10(std::abs(value))));
  const std::string power = fmt::format("{:.0f}e{}", value / std::pow(10.0, order), order);
  return power.size() <= room ? power : "#";
}

}  // namespace tilescope
