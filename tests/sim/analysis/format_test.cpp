// How quantities are written: the exact texts.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "sim/analysis/format.h"

using namespace tilescope;

namespace {

/// Characters that a person sees: UTF-8 continuation bytes do not count.
std::size_t characters(const std::string& text) {
  std::size_t count = 0;
  for (char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("format: traffic is shortened in decimal units to three significant digits") {
  CHECK(format_bytes(Bytes(0)) == "0 B");
  CHECK(format_bytes(Bytes(96)) == "96 B");
  CHECK(format_bytes(Bytes(999)) == "999 B");
  CHECK(format_bytes(Bytes(1000)) == "1.00 kB");
  CHECK(format_bytes(Bytes(9996)) == "10.0 kB");
  CHECK(format_bytes(Bytes(18'432'000)) == "18.4 MB");
  CHECK(format_bytes(Bytes(999'499)) == "999 kB");
  CHECK(format_bytes(Bytes(999'999)) == "1.00 MB");
  CHECK(format_bytes(Bytes(1'020'000'000)) == "1.02 GB");
  CHECK(format_bytes(Bytes(-18'432'000)) == "−18.4 MB");
  CHECK(format_exact_bytes(Bytes(18'432'000)) == "18\u2009432\u2009000 B");
}

TEST_CASE("format: capacity is binary, bandwidth decimal") {
  CHECK(format_capacity(Bytes(0)) == "0 B");
  CHECK(format_capacity(Bytes(1024)) == "1 KiB");
  CHECK(format_capacity(Bytes(65536)) == "64 KiB");
  CHECK(format_capacity(Bytes(227 * 1024)) == "227 KiB");
  CHECK(format_capacity(Bytes(60 * 1024 * 1024)) == "60 MiB");
  CHECK(format_capacity(Bytes(1536 * 1024)) == "1.5 MiB");
  CHECK(format_capacity(Bytes(140LL << 30)) == "140 GiB");
  CHECK(format_bandwidth(4.8e12) == "4\u2009800 GB/s");
  CHECK(format_bandwidth(64e6) == "0.064 GB/s");
  CHECK(format_rate(BytesPerCycle(36.55)) == "36.5 B/cycle");
}

TEST_CASE("format: cycles and counts are grouped with a thin space") {
  CHECK(format_cycles(Cycles(1972.5)) == "1\u2009973");  // as JSON rounds it
  CHECK(format_cycles(Cycles(5120)) == "5\u2009120");
  CHECK(format_cycles(Cycles(123456789)) == "123\u2009456\u2009789");
  CHECK(format_cycles(Cycles(999)) == "999");
  CHECK(format_cycles(Cycles(1.5)) == "1.5");
  CHECK(format_cycles(Cycles(0)) == "0");
  CHECK(format_count(1048576) == "1\u2009048\u2009576");
  CHECK(format_count(-1000) == "−1\u2009000");
  CHECK(format_count(std::numeric_limits<std::int64_t>::min()) == "−9\u2009223\u2009372\u2009036\u2009854\u2009775\u2009808");
}

TEST_CASE("format: time, short numbers and percentages") {
  CHECK(format_time(Nanoseconds(830)) == "830 ns");
  CHECK(format_time(Nanoseconds(12345)) == "12.3 µs");
  CHECK(format_time(Nanoseconds(999.4)) == "999 ns");
  CHECK(format_time(Nanoseconds(999.5)) == "1.00 µs");
  CHECK(format_time(Nanoseconds(-999.5)) == "−1.00 µs");
  CHECK(format_time(Nanoseconds(999.9)) == "1.00 µs");
  CHECK(format_short(999.5, "FLOP") == "1.00 kFLOP");
  CHECK(format_time(Nanoseconds(4.56e6)) == "4.56 ms");
  CHECK(format_time(Nanoseconds(1.2e9)) == "1.20 s");
  CHECK(format_time(Nanoseconds(std::nan(""))) == "—");
  CHECK(format_short(950) == "950");
  CHECK(format_short(68.7e9, "FLOP") == "68.7 GFLOP");
  CHECK(format_short(12, "FLOP") == "12 FLOP");
  CHECK(format_short(412e12, "FLOP/s") == "412 TFLOP/s");
  CHECK(format_percent(0.1234) == "12.3 %");
  CHECK(format_percent(1) == "100 %");
  CHECK(format_percent(0) == "0 %");
  CHECK(format_percent(0.000123) == "0.012 %");
  CHECK(format_signed_percent(0.012) == "+1.2 %");
  CHECK(format_signed_percent(-0.004) == "−0.4 %");
  CHECK(format_signed_percent(0) == "0 %");
}

TEST_CASE("format: a number that rounds up to the next power of ten has the digits and the unit of that power") {
  CHECK(format_bytes(Bytes(9994)) == "9.99 kB");
  CHECK(format_bytes(Bytes(99'940)) == "99.9 kB");
  CHECK(format_bytes(Bytes(99'960)) == "100 kB");
  CHECK(format_time(Nanoseconds(9.994)) == "9.99 ns");
  CHECK(format_time(Nanoseconds(9.996)) == "10 ns");
  CHECK(format_bandwidth(9.994e9) == "9.99 GB/s");
  CHECK(format_bandwidth(9.996e9) == "10 GB/s");
  CHECK(format_bandwidth(12.34e6) == "0.0123 GB/s");
  CHECK(format_bandwidth(999.4e9) == "999 GB/s");
  CHECK(format_cycles(Cycles(9.94)) == "9.9");
  CHECK(format_cycles(Cycles(9.96)) == "10");
  CHECK(format_cycles(Cycles(-9.94)) == "−9.9");
  CHECK(format_times(1.994) == "1.99");
  CHECK(format_times(1.996) == "2.0");
  CHECK(format_times(9.94) == "9.9");
  CHECK(format_percent(0.99996) == "100 %");
  CHECK(format_percent(0.010049) == "1 %");
  CHECK(format_percent(0.0099951) == "1 %");
  CHECK(format_percent(0.00994) == "0.99 %");
  CHECK(format_percent(-0.00095) == "−0.095 %");
  CHECK(format_percent(2e-8) == "0.000002 %");
  CHECK(format_percent(9e-9) == "<0.000001 %");
  CHECK(format_percent(-9e-9) == "−<0.000001 %");
  CHECK(format_value(99999.4) == "99999");
  CHECK(format_value(99999.6) == "1e5");
  CHECK(format_value(9999.6) == "10000");
  CHECK(format_value(999.96) == "1000");
  CHECK(format_value(0.00123) == "0.00123");
  CHECK(format_value(0.00099) == "0.00099");
  CHECK(format_value(-0.000012) == "−1.2e−5");
}

TEST_CASE("format: what is no number or infinite has a sign for it") {
  const double nan = std::nan("");
  CHECK(format_percent(nan) == "—");
  CHECK(format_percent(-HUGE_VAL) == "−∞ %");
  CHECK(format_signed_percent(HUGE_VAL) == "+∞ %");
  CHECK(format_times(HUGE_VAL) == "∞");
  CHECK(format_time(Nanoseconds(-HUGE_VAL)) == "−∞");
  CHECK(format_short(HUGE_VAL, "FLOP") == "∞");
  CHECK(format_cycles(Cycles(HUGE_VAL)) == "∞");
  CHECK(format_cell(nan, 3) == "NaN");
  CHECK(format_cell(nan, 2) == "?");
  CHECK(format_cell(HUGE_VAL, 1) == "∞");
  CHECK(format_cell(-HUGE_VAL, 2) == "-∞");
  CHECK(format_cell(-HUGE_VAL, 1) == "∞");
}

TEST_CASE("format: a factor has two significant digits, three below two") {
  CHECK(format_times(1.006) == "1.01");
  CHECK(format_times(1.99) == "1.99");
  CHECK(format_times(1.999) == "2.0");
  CHECK(format_times(4.948) == "4.9");
  CHECK(format_times(9.96) == "10");
  CHECK(format_times(34.8) == "35");
  CHECK(format_times(1234) == "1\u2009234");
}

TEST_CASE("format: a number in a formula has at most four significant digits and real signs") {
  CHECK(format_value(1.2041) == "1.204");
  CHECK(format_value(-1.871) == "−1.871");
  CHECK(format_value(0.51342) == "0.513");
  CHECK(format_value(0.5) == "0.5");
  CHECK(format_value(12.3456) == "12.35");
  CHECK(format_value(1e-5) == "1e−5");
  CHECK(format_value(123456) == "1.23e5");
  CHECK(format_value(-0.0) == "0");
  CHECK(format_value(HUGE_VAL) == "∞");
  CHECK(format_value(-HUGE_VAL) == "−∞");
  CHECK(format_value(std::nan("")) == "NaN");
}

TEST_CASE("format: a cell shows as many digits as fit") {
  CHECK(format_cell(-1.1234, 4) == "-1.1");
  CHECK(format_cell(0.8234, 3) == ".82");
  CHECK(format_cell(0.8234, 5) == "0.823");
  CHECK(format_cell(-0.96, 4) == "-.96");
  CHECK(format_cell(12.34, 2) == "12");
  CHECK(format_cell(0.0004, 3) == "≈0");
  CHECK(format_cell(-0.036, 3) == "≈0");
  CHECK(format_cell(0, 3) == "0");
  CHECK(format_cell(23456, 3) == "2e4");
  CHECK(format_cell(-HUGE_VAL, 3) == "-∞");
  CHECK(format_cell(1, 0).empty());
}

TEST_CASE("format: a cell is never wider than its room, and shows the value to the last digit that it has room for") {
  std::random_device device;
  const auto seed = device();
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> mantissa(-10, 10);
  for (int i = 0; i < 20000; ++i) {
    const double value = mantissa(random) * std::pow(10.0, static_cast<int>(random() % 12) - 6);
    const int width = 1 + static_cast<int>(random() % 8);
    const std::string cell = format_cell(value, width);
    CAPTURE(value);
    CAPTURE(cell);
    CHECK(characters(cell) <= static_cast<std::size_t>(width));
    CHECK_FALSE(cell.empty());
    if (cell == "#") {
      CHECK(std::abs(value) >= 0.5);
      continue;
    }
    if (cell == "≈0") {
      CHECK(value != 0);
      CHECK(std::abs(value) <= 0.5);
      continue;
    }
    if (cell == "0") CHECK((value == 0 || width < 2));
    const double shown = std::stod(cell);
    if (cell.find('e') != std::string::npos) {
      CHECK(std::abs(shown - value) <= std::abs(value) * 0.51);
    } else {
      const std::size_t point = cell.find('.');
      const int decimals = point == std::string::npos ? 0 : static_cast<int>(cell.size() - point - 1);
      CHECK(std::abs(shown - value) <= 0.5001 * std::pow(10.0, -decimals));
    }
  }
}
