// Rounding to fp16 and bf16 by integer and float arithmetic on the bits, ties to even.
#include "sim/numerics/rounding.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "sim/numerics/tile_machine.h"

namespace tilescope {

namespace {

/// Drops the low `dropped` bits of a finite value's mantissa, nearest, ties to even; a carry runs into the exponent as it must.
inline std::uint32_t drop_bits(std::uint32_t bits, int dropped) {
  const std::uint32_t half = (1U << (dropped - 1)) - 1 + ((bits >> dropped) & 1U);
  return (bits + half) & ~((1U << dropped) - 1);
}

inline float round_to_bf16(float value) {
  const float rounded = std::bit_cast<float>(drop_bits(std::bit_cast<std::uint32_t>(value), 16));
  return value == value ? rounded : value;
}

inline float round_to_fp16(float value) {
  constexpr float smallest_normal = 6.103515625e-05F;  // 2^-14
  constexpr float overflow = 65520.0F;                 // halfway between the largest fp16 and the next power of two
  const float magnitude = std::fabs(value);
  const float normal = std::bit_cast<float>(drop_bits(std::bit_cast<std::uint32_t>(magnitude), 13));
  // Floats in [0.5, 1) are 2^-24 apart, as the subnormals of fp16 are: the addition does the rounding.
  const float subnormal = (magnitude + 0.5F) - 0.5F;
  float rounded = magnitude < smallest_normal ? subnormal : normal;
  rounded = magnitude >= overflow ? HUGE_VALF : rounded;
  return value == value ? std::copysign(rounded, value) : value;
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

void round_all(DataType type, Matrix& matrix) {
  switch (type) {
    case DataType::fp16:
      for (float& value : matrix.values) value = round_to_fp16(value);
      return;
    case DataType::bf16:
      for (float& value : matrix.values) value = round_to_bf16(value);
      return;
    case DataType::fp32:
      return;
  }
}

}  // namespace tilescope
