// fp16 and bf16 on the host: rounding, and conversion to bits and back. No compiler has to offer a half type for it.
#pragma once

#include <cstdint>
#include <span>

#include "sim/core/attention_problem.h"

namespace tilescope {

/// Rounds to the nearest value of the type, ties to even. fp32 values do not change.
float round_to(DataType type, float value);
/// Rounds every value in place.
void round_all(DataType type, std::span<float> values);
/// Returns whether rounding to the type changes no value.
constexpr bool keeps_every_float(DataType type) {
  return type == DataType::fp32;
}

// Both take fp16 or bf16 only.
std::uint16_t to_bits(DataType type, float value);
float from_bits(DataType type, std::uint16_t bits);

}  // namespace tilescope
