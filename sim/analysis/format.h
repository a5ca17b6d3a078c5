// Formatting of quantities. The window, the command line and the docs share it, so that a figure reads the same everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/core/units.h"

namespace tilescope {

/// U+2009, a thin space between groups of three digits.
inline constexpr std::string_view group_separator = "\u2009";
/// U+2212, the typographic minus sign. Only format_cell() uses a hyphen, because its width is limited.
inline constexpr std::string_view minus_sign = "\u2212";

/// Formats traffic in decimal units with three significant digits: "96 B", "18.4 MB", "1.02 GB".
std::string format_bytes(Bytes bytes);
/// Returns the same of a number that need not be whole, such as a mean; the fraction is cut off.
std::string format_bytes(double bytes);
/// Formats traffic to the byte: "18 432 000 B".
std::string format_exact_bytes(Bytes bytes);
/// Formats capacity in binary units: "64 KiB", "1.5 MiB", "140 GiB"; 0 is "0 B".
std::string format_capacity(Bytes bytes);
/// Formats bandwidth in decimal GB/s, whatever its size: "4 800 GB/s", "0.064 GB/s".
std::string format_bandwidth(double bytes_per_second);
/// "1.72 GHz".
std::string format_clock(double hertz);
/// Formats a rate: "64 B/cycle", "36.5 B/cycle".
std::string format_rate(BytesPerCycle rate);
/// Formats whole cycles, grouped: "5 120". Below 10, with one decimal unless it is zero.
std::string format_cycles(Cycles cycles);
/// Formats time in the unit with one to three digits before the point: "830 ns", "12.3 µs", "4.56 ms", "1.20 s".
std::string format_time(Nanoseconds time);
/// Formats a count, grouped from four digits on: "1 048 576".
std::string format_count(std::int64_t count);
/// Shortens a number: "950", "68.7 G"; with a unit "68.7 GFLOP", "412 TFLOP/s".
std::string format_short(double value, std::string_view unit = "");
/// Formats a factor without the × sign: "1.31", "4.9", "35", "1 200".
std::string format_times(double factor);
/// Formats 0.1234 as "12.3 %"; below one percent with two significant digits.
std::string format_percent(double fraction);
/// Formats an error with its sign: "+1.2 %", "−0.4 %", "0 %".
std::string format_signed_percent(double fraction);
/// Formats a number in a formula, with at most four significant digits; infinities are "∞" and "−∞".
std::string format_value(double value);
/// Formats a number for a cell of `width` characters, and never wider: "-1.1", ".82", "12", "-∞".
/// A number that is too long even without decimals becomes its order of magnitude ("2e4"), or else "#".
std::string format_cell(double value, int width);

}  // namespace tilescope
