// Human formatting of quantities, shared by the window, the command line and the docs, so that a figure reads the same everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/core/units.h"

namespace tilescope {

/// Between groups of three digits: U+2009, a thin space.
inline constexpr std::string_view group_separator = "\u2009";
/// U+2212; figures that a person reads have a real minus sign, except in cells, where width is everything.
inline constexpr std::string_view minus_sign = "\u2212";

/// Traffic, shortened in decimal units to three significant digits: "96 B", "18.4 MB", "1.02 GB".
std::string format_bytes(Bytes bytes);
/// Traffic to the byte: "18 432 000 B".
std::string format_exact_bytes(Bytes bytes);
/// Capacity in binary units: "64 KiB", "1.5 MiB", "140 GiB"; 0 is "none".
std::string format_capacity(Bytes bytes);
/// Bandwidth in decimal GB/s, whatever its size: "4 800 GB/s", "0.064 GB/s".
std::string format_bandwidth(double bytes_per_second);
/// "64 B/cycle", "36.5 B/cycle".
std::string format_rate(BytesPerCycle rate);
/// Cycles rounded to whole ones, grouped: "5 120". Below 10, one decimal where it is not zero.
std::string format_cycles(Cycles cycles);
/// Time in the unit that leaves one to three digits before the point: "830 ns", "12.3 µs", "4.56 ms", "1.20 s".
std::string format_time(Nanoseconds time);
/// "1 048 576", grouped from four digits on.
std::string format_count(std::int64_t count);
/// Shortened: "950", "68.7 G"; with a unit "68.7 GFLOP", "412 TFLOP/s".
std::string format_short(double value, std::string_view unit = "");
/// A factor to two significant digits, without a sign: "1.31", "4.9", "35", "1 200".
std::string format_times(double factor);
/// 0.1234 is "12.3 %"; below one percent two significant digits.
std::string format_percent(double fraction);
/// The same with its sign: "+1.2 %", "−0.4 %", "0 %". For errors.
std::string format_signed_percent(double fraction);
/// A number in a formula: at most four significant digits, "−∞" and "∞" as signs.
std::string format_value(double value);
/// A number in a cell that has room for `width` characters: "-1.1", ".82", "12", "-∞"; never wider.
/// A number that does not fit even without decimals is shown as its order ("2e4"), and failing that as "#".
std::string format_cell(double value, int width);

}  // namespace tilescope
