// Division as a multiplication, against division.
#include "sim/masks/division_magic.h"

#include <random>

#include <doctest/doctest.h>

namespace tilescope {

TEST_CASE("division magic: division by a constant is exact for every sign") {
  std::mt19937 engine(7);
  const auto floor_divide = [](std::int64_t a, std::int64_t d) { return a >= 0 ? a / d : -((-a + d - 1) / d); };
  for (const std::int32_t d : {1, 2, 3, 5, 7, 64, 97, 700, 1000003, 1 << 30, 2147483647})
    for (int i = 0; i < 2000; ++i) {
      const auto a = i < 6 ? std::int32_t(std::int64_t{-2147483648} + i) : i < 12 ? i - 9 : static_cast<std::int32_t>(engine());
      CHECK(divide_by_magic(a, division_magic(d)) == floor_divide(a, d));
    }
}

}  // namespace tilescope
