// Rounds 2^shift / divisor up.
#include "sim/masks/division_magic.h"

#include <bit>

namespace tilescope {

DivisionMagic division_magic(std::int32_t divisor) {
  const auto d = static_cast<std::uint64_t>(divisor);
  const auto shift = static_cast<std::uint32_t>(31 + std::bit_width(d - 1));
  return {static_cast<std::uint32_t>(((std::uint64_t{1} << shift) + d - 1) / d), shift};
}

std::int32_t divide_by_magic(std::int32_t a, const DivisionMagic& magic) {
  const std::int32_t sign = a >> 31;
  return static_cast<std::int32_t>(std::uint64_t{static_cast<std::uint32_t>(a ^ sign)} * magic.magic >> magic.shift) ^ sign;
}

}  // namespace tilescope
