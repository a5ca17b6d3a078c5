// CsvReader: fields of both dialects that the program takes.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/core/csv.h"

using namespace tilescope;

namespace {

using Fields = std::vector<std::string>;

Fields row(std::string_view text, CsvDialect dialect) {
  return CsvReader(text, dialect).next_row();
}

constexpr CsvDialect numbers = {.separators = ",;", .quotes = false, .blanks_separate = true, .comment = '#'};

}  // namespace

TEST_CASE("csv: quoted fields hold commas and quotes") {
  CHECK(row("a,b,,c", {}) == Fields{"a", "b", "", "c"});
  CHECK(row("a,", {}) == Fields{"a", ""});
  CHECK(row(",", {}) == Fields{"", ""});
  CHECK(row(R"(x,"one, two","say ""hi""")", {}) == Fields{"x", "one, two", R"(say "hi")"});
  CHECK(row(" a , b ", {}) == Fields{" a ", " b "});
  CHECK(row("", {}).empty());
}

TEST_CASE("csv: numbers are separated by commas, semicolons or blanks, up to a comment") {
  CHECK(row("1, 2;3\t4  5", numbers) == Fields{"1", "2", "3", "4", "5"});
  CHECK(row("  1 ,2 # three, 4", numbers) == Fields{"1", "2"});
  CHECK(row("1,,2", numbers) == Fields{"1", "", "2"});
  CHECK(row("1 , ", numbers) == Fields{"1", ""});
  CHECK(row(",1", numbers) == Fields{"", "1"});
  CHECK(row(" \t # nothing", numbers).empty());
  CHECK(row("\"1\"", numbers) == Fields{"\"1\""});
}

TEST_CASE("csv: lines end with either kind of end, and are counted") {
  CsvReader reader("\xEF\xBB\xBF# head\r\na,b\n\nc", {});
  CHECK(reader.next_line() == "# head");
  CHECK(reader.next_row() == Fields{"a", "b"});
  CHECK(reader.next_row().empty());
  CHECK_FALSE(reader.done());
  CHECK(reader.next_row() == Fields{"c"});
  CHECK(reader.line() == 4);
  CHECK(reader.done());
}
