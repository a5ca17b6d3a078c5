// What a key tile does to the rows of a block.
#include "sim/programs/online_softmax.h"

#include <doctest/doctest.h>

namespace tilescope {

TEST_CASE("online softmax: O is rescaled as often as the maximum of one of a warp's rows moves, in eighths") {
  // Four warps share the rows of a block. Of a warp with one row, the maximum moves with tile j in one of j cases.
  const double harmonic = 1 + 1 / 2.0 + 1 / 3.0 + 1 / 4.0 + 1 / 5.0 + 1 / 6.0 + 1 / 7.0 + 1 / 8.0;
  CHECK(in_eighths(moved_share(4, 8)) == std::lround(harmonic));
  CHECK(in_eighths(moved_share(2, 8)) == std::lround(harmonic));  // a warp has a row or more
  // Of a warp with four rows it stays in (1 - 1/j)^4: 0, 1/16, 16/81, 81/256, 256/625, 625/1296, 1296/2401, 2401/4096.
  const double stays = 1 / 16.0 + 16 / 81.0 + 81 / 256.0 + 256 / 625.0 + 625 / 1296.0 + 1296 / 2401.0 + 2401 / 4096.0;
  CHECK(in_eighths(moved_share(16, 8)) == std::lround(8 - stays));
  CHECK(in_eighths(moved_share(16, 1)) == 8);
  CHECK(in_eighths(moved_share(16, 0)) == 8);
}

}  // namespace tilescope
