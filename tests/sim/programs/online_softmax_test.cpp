// How often the kernel rescales O on average, worked out by hand.
#include "sim/programs/online_softmax.h"

#include <doctest/doctest.h>

using namespace tilescope;

TEST_CASE("online softmax: a warp of one row rescales with probability 1 / j in tile j") {
  CHECK(eighths_moved(4, 1) == 8);
  CHECK(eighths_moved(4, 2) == 6);  // (1 + 1/2) / 2
  CHECK(eighths_moved(4, 4) == 4);  // (1 + 1/2 + 1/3 + 1/4) / 4 is 0.52
  CHECK(eighths_moved(1, 4) == 4);  // a warp has at least one row
}

TEST_CASE("online softmax: the more rows a warp has, the more often the maximum of one grows") {
  CHECK(eighths_moved(8, 4) == 5);     // (1 + 3/4 + 5/9 + 7/16) / 4 is 0.69: 5.49 eighths
  CHECK(eighths_moved(128, 4) == 8);   // 32 rows: nearly always
  CHECK(eighths_moved(128, 128) < 5);  // but seldom once the row is long
  CHECK(eighths_moved(128, 0) == 8);
}
