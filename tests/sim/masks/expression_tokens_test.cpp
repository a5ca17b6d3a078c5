// Tokens: what an editor colours, and the numbers that sliders change.
#include <string>

#include <doctest/doctest.h>

#include "sim/masks/expression_tokens.h"

namespace tilescope {

TEST_CASE("tokens: a text that cannot be parsed still has its readable tokens, at their columns") {
  const std::string text = "q >= kv $ 12 \xE2\x89\xA4 let";
  const auto tokens = readable_tokens(text);
  REQUIRE(tokens.size() == 5);
  CHECK(tokens[1].text == ">=");
  CHECK(tokens[3].kind == TokenKind::integer);
  CHECK(tokens[3].column == 11);
  CHECK(tokens[4].text == "let");
  CHECK(readable_tokens("").empty());
}

TEST_CASE("tokens: an error names its column") {
  CHECK(column_of("column 12: unknown name 'kw'") == 12);
  CHECK(column_of("the expression has 17000 characters") == 0);
  CHECK(column_of("column x") == 0);
}

TEST_CASE("tokens: numbers with a name are found and replaced, and whole ones stay whole") {
  const std::string text = "let w = 256; let cap = -2.5; let f(x) = x; let bits = 0xff; let n = w * 2; q - kv < w";
  const auto numbers = named_numbers(text);
  REQUIRE(numbers.size() == 2);
  CHECK(numbers[0].name == "w");
  CHECK(numbers[0].whole);
  CHECK(numbers[1].value == -2.5);
  CHECK(with_number(text, numbers[0], 17.6).starts_with("let w = 18; let cap"));
  CHECK(with_number(text, numbers[1], 3).find("let cap = 3.0; let f") != std::string::npos);
}

}  // namespace tilescope
