// Sentences of the simulation in the window's words.
#include <doctest/doctest.h>

#include "app/ui/window_words.h"

using namespace tilescope;

TEST_CASE("window words: flags become control names; other sentences stay") {
  CHECK(window_words("use a smaller --block-q or --block-kv") == "use a smaller Br or Bc");
  CHECK(window_words("--seq-kv 4, --seq 8: use a smaller --batch, --heads or --seq") == "keys 4, N 8: use a smaller B, H or N");
  CHECK(window_words("there is no such file") == "there is no such file");
  CHECK(window_words("").empty());
}

TEST_CASE("window words: a number and its unit stay on one line") {
  CHECK(window_words("a block needs 300 KiB, an SM has 227 KiB: use a smaller --block-q") ==
        "a block needs 300\u00A0KiB, an SM has 227\u00A0KiB: use a smaller Br");
  CHECK(with_units_kept("1.5 G to 76.8 T is possible.") == "1.5\u00A0G to 76.8\u00A0T is possible.");
  CHECK(with_units_kept("keys 4 and N 8, 12 %") == "keys 4 and N 8, 12\u00A0%");
  CHECK(with_units_kept("launch 2 sums 16 rows; of 3 Bytes") == "launch 2 sums 16 rows; of 3 Bytes");
}
