// Quoting what a user typed, and guessing what was meant.
#include "sim/core/text.h"

#include <array>

#include <doctest/doctest.h>

namespace tilescope {

TEST_CASE("printable: a quoted text is one line of valid UTF-8, whatever was typed") {
  CHECK(printable("flash2") == "flash2");
  CHECK(printable("a\nb\tc\x1b[31m") == "a?b?c?[31m");
  CHECK(printable("어텐션 Qᵢ") == "어텐션 Qᵢ");
  CHECK(printable("\xff\xc3(\xe2\x82") ==
        "?"
        "?("
        "?"
        "?");
  CHECK(printable("\xed\xa0\x80") == "???");      // a surrogate
  CHECK(printable("\xc0\xaf") == "??");           // overlong
  CHECK(printable("a\xe2\x80\xa8z") == "a???z");  // a line separator
  CHECK(printable("a\xe2\x80\xaez") == "a???z");  // right-to-left override
}

TEST_CASE("printable: a long text is cut between characters") {
  CHECK(printable("abcdef", 4) == "abcd…");
  CHECK(printable("ab어c", 4) == "ab…");
  CHECK(printable(std::string(1000, 'x'), 10).size() == 10 + std::string("…").size());
}

TEST_CASE("nearest_name: a slip finds its word, a different word finds none") {
  constexpr std::array<std::string_view, 5> names = {"standard", "flash1", "flash2", "--seq", "--seq-kv"};
  CHECK(nearest_name("flahs2", names) == "flash2");
  CHECK(nearest_name("FLASH1", names) == "flash1");
  CHECK(nearest_name("standart", names) == "standard");
  CHECK(nearest_name("--seqq", names) == "--seq");
  CHECK(nearest_name("sta", names) == "standard");
  CHECK_FALSE(nearest_name("st", names));
  constexpr std::array<std::string_view, 3> letters = {"N", "d", "Br"};
  CHECK_FALSE(nearest_name("q", letters));  // another letter is no slip
  CHECK(nearest_name("B", letters) == "Br");
  CHECK(nearest_name("flash3", names) == "flash1");  // of several as near, the first
  CHECK(nearest_name("--sqe", names) == "--seq");    // two neighbours changed places: one slip
  CHECK_FALSE(nearest_name("--qes", names));
  CHECK_FALSE(nearest_name("transformer", names));
  CHECK_FALSE(nearest_name("", names));
  CHECK_FALSE(nearest_name(std::string(100000, 'f'), names));
}

TEST_CASE("name_hint: names the nearest, else all") {
  constexpr std::array<std::string_view, 3> names = {"toy", "textbook", "h200"};
  CHECK(name_hint("h20", names) == "did you mean h200?");
  CHECK(name_hint("voodoo", names) == "there are toy, textbook and h200");
}

}  // namespace tilescope
