// Division by a positive constant as a multiplication: floor(a / d) = ((a ^ s) * magic >> shift) ^ s with s = a >> 31.
#pragma once

#include <cstdint>

namespace tilescope {

struct DivisionMagic {
  std::uint32_t magic = 0, shift = 0;
};
DivisionMagic division_magic(std::int32_t divisor);
std::int32_t divide_by_magic(std::int32_t a, const DivisionMagic& magic);

}  // namespace tilescope
