// Sentences of the simulation in the window's words.
#include <doctest/doctest.h>

#include "app/panels/window_words.h"

using namespace tilescope;

TEST_CASE("window words: a sentence about flags speaks of the controls instead, and one without flags stays") {
  CHECK(window_words("use a smaller --block-q or --block-kv") == "use a smaller Br or Bc");
  CHECK(window_words("--seq-kv 4, --seq 8: use a smaller --batch, --heads or --seq") == "keys 4, N 8: use a smaller B, H or N");
  CHECK(window_words("there is no such file") == "there is no such file");
  CHECK(window_words("").empty());
}
