// fp16 and bf16 on the host: one element to its bits and back, to nearest, ties to even.
#pragma once

#include <cstdint>

#include "sim/core/attention_problem.h"

namespace tilescope {

std::uint16_t to_bits(DataType type, float value);  // fp16 or bf16
float from_bits(DataType type, std::uint16_t bits);

}  // namespace tilescope
