// fp16 and bf16 by their bits.
#include "kernels/measure/element.h"

#include <bit>
#include <cmath>
#include <limits>

namespace tilescope {

namespace {

std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

std::uint16_t to_fp16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00);
  if (magnitude >= 65520.0F) return static_cast<std::uint16_t>(sign | 0x7c00);
  // Scaled so that one unit is the last place of the result; nearbyint rounds ties to even.
  const int exponent = magnitude < 0x1p-14F ? -14 : std::ilogb(magnitude);
  const auto units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  // A significand that rounded up to the next power of two carries into the exponent by itself.
  return static_cast<std::uint16_t>(sign |
                                    (magnitude < 0x1p-14F ? units : static_cast<std::uint32_t>((exponent + 14) << 10) + units));
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

std::uint16_t to_bits(DataType type, float value) {
  return type == DataType::fp16 ? to_fp16(value) : to_bf16(value);
}

float from_bits(DataType type, std::uint16_t bits) {
  return type == DataType::fp16 ? from_fp16(bits) : std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace tilescope
