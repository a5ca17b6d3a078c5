// round_to against the definition, over every value of the half types and every gap between two of them.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "sim/core/element.h"

using namespace tilescope;

namespace {

/// The value of a half-precision bit pattern, from sign, exponent and mantissa as the format defines them.
double decoded(std::uint32_t bits, int exponent_bits, int mantissa_bits) {
  const std::uint32_t mantissa = bits & ((1U << mantissa_bits) - 1);
  const int exponent = static_cast<int>(bits >> mantissa_bits & ((1U << exponent_bits) - 1));
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = (bits >> (exponent_bits + mantissa_bits)) != 0 ? -1 : 1;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(static_cast<double>(mantissa) + std::ldexp(1.0, mantissa_bits), exponent - bias - mantissa_bits);
}

struct Format {
  DataType type;
  int exponent_bits, mantissa_bits;
};

/// Every finite magnitude of the format, smallest first; even and odd bit patterns alternate.
std::vector<float> magnitudes(const Format& format) {
  std::vector<float> values;
  const std::uint32_t infinity = ((1U << format.exponent_bits) - 1) << format.mantissa_bits;
  for (std::uint32_t bits = 0; bits < infinity; ++bits)
    values.push_back(static_cast<float>(decoded(bits, format.exponent_bits, format.mantissa_bits)));
  return values;
}

constexpr Format formats[] = {{DataType::fp16, 5, 10}, {DataType::bf16, 8, 7}};

}  // namespace

TEST_CASE("rounding: every value of fp16 and bf16 stays what it is, with either sign") {
  for (const Format& format : formats)
    for (float value : magnitudes(format)) {
      CHECK(round_to(format.type, value) == value);
      CHECK(round_to(format.type, -value) == -value);
    }
}

TEST_CASE("rounding: between two neighbours the nearer one is taken, and of a tie the even one") {
  for (const Format& format : formats) {
    const std::vector<float> values = magnitudes(format);
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
      const float below = values[i], above = values[i + 1];
      const auto middle = static_cast<float>((static_cast<double>(below) + above) / 2);
      const float even = i % 2 == 0 ? below : above;
      if (static_cast<double>(middle) * 2 == static_cast<double>(below) + above) CHECK(round_to(format.type, middle) == even);
      const float before = std::nextafter(middle, 0.0F), after = std::nextafter(middle, HUGE_VALF);
      if (before > below && static_cast<double>(before) * 2 < static_cast<double>(below) + above)
        CHECK(round_to(format.type, before) == below);
      if (after < above) CHECK(round_to(format.type, after) == above);
    }
  }
}

TEST_CASE("rounding: beyond the largest value lies infinity, and only from half a step on") {
  CHECK(round_to(DataType::fp16, 65504.0F) == 65504.0F);
  CHECK(round_to(DataType::fp16, 65519.99F) == 65504.0F);
  CHECK(round_to(DataType::fp16, 65520.0F) == HUGE_VALF);
  CHECK(round_to(DataType::fp16, -1e9F) == -HUGE_VALF);
  CHECK(round_to(DataType::bf16, std::numeric_limits<float>::max()) == HUGE_VALF);
  for (DataType type : {DataType::fp16, DataType::bf16, DataType::fp32}) {
    CHECK(round_to(type, HUGE_VALF) == HUGE_VALF);
    CHECK(round_to(type, -HUGE_VALF) == -HUGE_VALF);
    CHECK(std::isnan(round_to(type, std::nanf(""))));
  }
}

TEST_CASE("rounding: zero keeps its sign and what is too small becomes it") {
  for (DataType type : {DataType::fp16, DataType::bf16}) {
    CHECK(std::signbit(round_to(type, -0.0F)));
    CHECK_FALSE(std::signbit(round_to(type, 0.0F)));
  }
  CHECK(round_to(DataType::fp16, std::ldexp(1.0F, -25)) == 0.0F);                     // a tie, and zero is even
  CHECK(round_to(DataType::fp16, std::ldexp(1.001F, -25)) == std::ldexp(1.0F, -24));  // the smallest subnormal
}

TEST_CASE("rounding: a whole tile rounds to the bits that its values are rounded to one by one") {
  std::mt19937 random(5);
  std::vector<float> values(37 * 53);
  for (float& value : values) value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  for (DataType type : {DataType::fp16, DataType::bf16, DataType::fp32}) {
    std::vector<float> rounded = values;
    round_all(type, rounded);
    for (std::size_t i = 0; i < values.size(); ++i)
      CHECK(std::bit_cast<std::uint32_t>(rounded[i]) == std::bit_cast<std::uint32_t>(round_to(type, values[i])));
  }
}
