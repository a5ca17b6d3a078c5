// Rounding to fp16 and bf16 with integer and float arithmetic on the bits, ties to even.
#include "sim/core/element.h"

#include <bit>
#include <cmath>
#include <limits>

namespace tilescope {

namespace {

constexpr float smallest_normal = 6.103515625e-05F;  // of fp16: 2^-14

/// Rounds away the low `dropped` mantissa bits of a finite value, ties to even. A carry into the exponent is correct.
inline std::uint32_t drop_bits(std::uint32_t bits, int dropped) {
  const std::uint32_t half = (1U << (dropped - 1)) - 1 + ((bits >> dropped) & 1U);
  return (bits + half) & ~((1U << dropped) - 1);
}

inline float round_to_bf16(float value) {
  const float rounded = std::bit_cast<float>(drop_bits(std::bit_cast<std::uint32_t>(value), 16));
  return value == value ? rounded : value;
}

inline float round_to_fp16(float value) {
  constexpr float overflow = 65520.0F;  // halfway between the largest fp16 and the next power of two
  const float magnitude = std::fabs(value);
  const float normal = std::bit_cast<float>(drop_bits(std::bit_cast<std::uint32_t>(magnitude), 13));
  // Floats in [0.5, 1) are 2^-24 apart, like the subnormals of fp16, so adding 0.5 rounds.
  const float subnormal = (magnitude + 0.5F) - 0.5F;
  float rounded = magnitude < smallest_normal ? subnormal : normal;
  rounded = magnitude >= overflow ? HUGE_VALF : rounded;
  return value == value ? std::copysign(rounded, value) : value;
}

/// Encodes a value that fp16 represents exactly.
std::uint16_t fp16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00);
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | 0x7c00);
  if (magnitude < smallest_normal) return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(magnitude * 0x1p24F));
  constexpr std::uint32_t bias_difference = 127 - 15;
  return static_cast<std::uint16_t>(sign | (((bits & 0x7fffffff) >> 13) - (bias_difference << 10)));
}

float from_fp16(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const auto fraction = static_cast<float>(bits & 0x3ff);
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 31)
    return fraction != 0 ? std::numeric_limits<float>::quiet_NaN() : sign * std::numeric_limits<float>::infinity();
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024.0F, exponent - 25));
}

}  // namespace

float round_to(DataType type, float value) {
  switch (type) {
    case DataType::fp16:
      return round_to_fp16(value);
    case DataType::bf16:
      return round_to_bf16(value);
    case DataType::fp32:
      return value;
  }
  return value;
}

void round_all(DataType type, std::span<float> values) {
  switch (type) {
    case DataType::fp16:
      for (float& value : values) value = round_to_fp16(value);
      return;
    case DataType::bf16:
      for (float& value : values) value = round_to_bf16(value);
      return;
    case DataType::fp32:
      return;
  }
}

std::uint16_t to_bits(DataType type, float value) {
  if (type == DataType::fp16) return fp16_bits(round_to_fp16(value));
  const auto high_half = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(round_to_bf16(value)) >> 16);
  return std::isnan(value) ? static_cast<std::uint16_t>(high_half | 0x40) : high_half;
}

float from_bits(DataType type, std::uint16_t bits) {
  return type == DataType::fp16 ? from_fp16(bits) : std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace tilescope
