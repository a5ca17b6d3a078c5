// fp16 and bf16 on the host: rounding, and one element to its bits and back. Nothing here uses a half type of the compiler.
#pragma once

#include <cstdint>
#include <span>

#include "sim/core/attention_problem.h"

namespace tilescope {

/// Rounds to the nearest value of the type, ties to even. fp32 stays as it is.
float round_to(DataType type, float value);
/// Rounds every value.
void round_all(DataType type, std::span<float> values);
/// Returns true where rounding changes nothing at all.
constexpr bool keeps_every_float(DataType type) {
  return type == DataType::fp32;
}

// fp16 or bf16:
std::uint16_t to_bits(DataType type, float value);
float from_bits(DataType type, std::uint16_t bits);

}  // namespace tilescope
