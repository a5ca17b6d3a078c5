// The CSV reader: what it takes, and the sentence it gives for what it does not.
#include <doctest/doctest.h>

#include <random>
#include <string>

#include "sim/numerics/tile_machine.h"

using namespace tilescope;

namespace {

std::string error_of(std::string_view text) {
  const auto result = parse_csv_matrix(text, "m.csv");
  return result ? "no error" : result.error().sentence;
}

void is_one_to_six(std::string_view text) {
  CAPTURE(text);
  const auto matrix = parse_csv_matrix(text, "m.csv");
  REQUIRE_MESSAGE(matrix, error_of(text));
  CHECK(matrix->rows == 2);
  CHECK(matrix->cols == 3);
  CHECK(matrix->values == std::vector<float>{1, 2, 3, 4, 5, 6});
}

bool names(const std::string& sentence, std::string_view part) {
  return sentence.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("csv: commas, semicolons, tabs and blanks separate, alone or mixed") {
  is_one_to_six("1,2,3\n4,5,6\n");
  is_one_to_six("1;2;3\n4;5;6");
  is_one_to_six("1\t2\t3\n4\t5\t6");
  is_one_to_six("  1 2   3  \n4 5 6 ");
  is_one_to_six("1 , 2\t;3\n4,5 6\n");
}

TEST_CASE("csv: comments, empty lines, Windows line ends and a byte-order mark are passed over") {
  is_one_to_six("# a title\n1,2,3 # first\n\n   \n4,5,6\n#");
  is_one_to_six("1,2,3\r\n4,5,6\r\n");
  is_one_to_six(
      "\xEF\xBB\xBF"
      "1,2,3\n4,5,6");
}

TEST_CASE("csv: numbers may have signs, points and exponents") {
  const auto matrix = parse_csv_matrix("-1.5 +2 .25 3e-2 -4E+1", "m.csv");
  REQUIRE(matrix);
  CHECK(matrix->values == std::vector<float>{-1.5F, 2.0F, 0.25F, 0.03F, -40.0F});
}

TEST_CASE("csv: every refusal names the line, the text and a way out") {
  CHECK(names(error_of("1,2\n3,x"), "m.csv, line 2: 'x' is not a number"));
  CHECK(names(error_of("1,2\n\n3,4,5"), "line 3: 3 numbers where the rows before have 2"));
  CHECK(names(error_of("1,nan"), "line 1: 'nan' is not finite"));
  CHECK(names(error_of("1\n-inf"), "line 2: '-inf' is not finite"));
  CHECK(names(error_of("1e99"), "'1e99' is out of range"));
  CHECK(names(error_of("1,,2"), "line 1: a number is missing"));
  CHECK(names(error_of(",1"), "line 1: a number is missing"));
  CHECK(names(error_of("1,2,"), "line 1: the line ends with a separator"));
  CHECK(names(error_of("1.2.3"), "'1.2.3' is not a number"));
  CHECK(names(error_of("0x10"), "'0x10' is not a number"));
  CHECK(names(error_of("+-1"), "is not a number"));
  CHECK(names(error_of("+"), "is not a number"));
  CHECK(names(error_of(""), "m.csv has no numbers"));
  CHECK(names(error_of("\n \n# only words\n"), "m.csv has no numbers"));
}

TEST_CASE("csv: what is not text, or is too large, is refused without being taken in") {
  using namespace std::string_literals;
  CHECK(names(error_of("1,2\0"s), "not text"));
  CHECK(names(error_of("\x89PNG\r\n\x1a\n\0\0"s), "not text"));
  CHECK(error_of("\xff\xfe\x01").find('\xff') == std::string::npos);  // control bytes do not come back in the sentence
  std::string tall, wide;
  for (int i = 0; i < 1024; ++i) tall += "1\n";
  for (int i = 0; i < 256; ++i) wide += "1 ";
  CHECK(parse_csv_matrix(tall, "m.csv"));
  CHECK(parse_csv_matrix(wide, "m.csv"));
  CHECK(names(error_of(tall + "1\n"), "line 1025: row 1025: at most 1024"));
  CHECK(names(error_of(wide + "1"), "more than 256 numbers"));
}

TEST_CASE("csv: rubbish gives a matrix or a sentence, and never anything else") {
  std::random_device device;
  const auto seed = device();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string_view letters = "0123456789,;.-+eE \t\r\n#naif\xff\0\x80x";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (std::size_t length = random() % 40; text.size() < length;) text += letters[random() % letters.size()];
    const auto result = parse_csv_matrix(text, "m.csv");
    if (result) {
      CHECK(result->values.size() == static_cast<std::size_t>(result->rows) * static_cast<std::size_t>(result->cols));
      CHECK(result->rows >= 1);
      for (float value : result->values) CHECK(std::isfinite(value));
    } else {
      CHECK(names(result.error().sentence, "m.csv"));
    }
  }
}
