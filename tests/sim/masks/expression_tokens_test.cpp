// Tokens: what an editor colours, and the numbers that sliders change.
#include <random>
#include <string>
#include <utility>
#include <vector>

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

TEST_CASE("tokens: a number takes as many characters as its form allows, and what follows is a token of its own") {
  struct Row {
    const char *text, *first, *second;
    TokenKind kind;
    double value;
  };
  constexpr TokenKind whole = TokenKind::integer, real = TokenKind::real;
  for (const Row& row : {Row{"0", "0", "", whole, 0},
                         {"9z", "", "", whole, 0},
                         {"12 3", "12", "3", whole, 12},
                         {"2147483647", "2147483647", "", whole, 2147483647},
                         {"2147483648", "", "", whole, 0},
                         {"2147483648.", "2147483648.", "", real, 2147483648.0},
                         {"1.5", "1.5", "", real, 1.5},
                         {".5", ".5", "", real, 0.5},
                         {"1.", "1.", "", real, 1},
                         {"1..4", "1", "..", whole, 1},
                         {"1...4", "1", "..", whole, 1},
                         {"1.5.2", "1.5", ".2", real, 1.5},
                         {"2e3", "2e3", "", real, 2000},
                         {"2E3", "2E3", "", real, 2000},
                         {"2e-3", "2e-3", "", real, 0.002},
                         {"2e+3", "2e+3", "", real, 2000},
                         {"2.5e1+1", "2.5e1", "+", real, 25},
                         {"2e", "", "", whole, 0},
                         {"2e+", "", "", whole, 0},
                         {"1e999", "", "", whole, 0},
                         {"0x1f", "0x1f", "", whole, 31},
                         {"0xAg", "0xA", "g", whole, 10},
                         {"0x7fffffff", "0x7fffffff", "", whole, 2147483647},
                         {"0x80000000", "", "", whole, 0},
                         {"0x", "", "", whole, 0},
                         {"3kv", "", "", whole, 0},
                         {"3-kv", "3", "-", whole, 3}}) {
    CAPTURE(row.text);
    std::vector<Token> tokens;
    try {
      tokens = tokens_of(row.text);
    } catch (const ExprFault&) {}
    if (row.first == std::string()) {
      CHECK(tokens.empty());
      continue;
    }
    REQUIRE(tokens.size() >= 2);
    CHECK(tokens[0].text == row.first);
    CHECK(tokens[0].kind == row.kind);
    CHECK(tokens[0].number == row.value);
    CHECK(tokens[1].text == row.second);
    CHECK((tokens[1].kind == TokenKind::end) == (row.second == std::string()));
    CHECK(tokens.back().column == std::string(row.text).size() + 1);
  }
}

TEST_CASE("tokens: any row of names, numbers and symbols is cut into exactly these, at their columns") {
  const std::vector<std::string> words = {
      "a", "Z_9", "_", "q", "zebra0", "7", "0.25", "1e3", "0x2", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "//", "..", "+",
      "-", "*",   "/", "%", "&",      "|", "^",    "~",   "<",   ">",  "!",  "?",  ":",  "(",  ")",  "[",  "]",  ",",  ";",  "="};
  const std::vector<std::string> blanks = {" ", "\t", "\n", "\r", " \r\n\t "};
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    std::string text = random() % 2 == 0 ? " " : "";
    std::vector<std::pair<std::string, std::size_t>> made;  // word and column
    for (unsigned n = random() % 9; n > 0; --n) {
      made.emplace_back(words[random() % words.size()], text.size() + 1);
      text += made.back().first + blanks[random() % blanks.size()];
    }
    CAPTURE(text);
    const std::vector<Token> tokens = tokens_of(text), readable = readable_tokens(text);
    REQUIRE(tokens.size() == made.size() + 1);
    REQUIRE(readable.size() == made.size());
    for (std::size_t n = 0; n < made.size(); ++n) {
      CHECK(tokens[n].text == made[n].first);
      CHECK(tokens[n].column == made[n].second);
      CHECK(readable[n].text == made[n].first);
      CHECK(readable[n].column == made[n].second);
      const char first = made[n].first.front();
      CHECK((tokens[n].kind == TokenKind::name) == (std::string("aZ_qz").find(first) != std::string::npos));
      CHECK((tokens[n].kind == TokenKind::symbol) == (std::string("aZ_qz701").find(first) == std::string::npos));
    }
    CHECK(tokens.back().kind == TokenKind::end);
  }
}

TEST_CASE("tokens: a column is read from the front of a sentence, and only before a colon") {
  CHECK(column_of("column 1: x") == 1);
  CHECK(column_of("column 907:") == 907);
  for (const char* none : {"column 12", "column 12 : x", "a column 3: x", "column : x"}) CHECK_MESSAGE(column_of(none) == 0, none);
}

TEST_CASE("tokens: only a let of one number is a number with a name, wherever it stands") {
  const auto names = [](const char* text) {
    std::string all;
    for (const NamedNumber& number : named_numbers(text)) all += std::string(number.name) + " ";
    return all;
  };
  CHECK(names("let a = 1; let b = - 2; let c = 3 + 1; let d = 0x10; let e = f; let 5 = 6; x = 7; let g = 8") == "a b ");
  CHECK(names("let a = 1;") == "a ");
  CHECK(names("let a = -1;") == "a ");
  CHECK(names("let a = - ;").empty());
  CHECK(names("let a = -").empty());
  CHECK(names("let a =").empty());
  // The sign belongs to what is replaced, and so does a blank behind it.
  const std::string text = "let a = - 12; a";
  const auto numbers = named_numbers(text);
  REQUIRE(numbers.size() == 1);
  CHECK(numbers[0].value == -12);
  CHECK(with_number(text, numbers[0], 5) == "let a = 5; a");
  const std::string cap = "let cap = 1.5; cap";
  CHECK(with_number(cap, named_numbers(cap)[0], 1e30) == "let cap = 1e+30; cap");
  CHECK(with_number(cap, named_numbers(cap)[0], 0.25) == "let cap = 0.25; cap");
}

}  // namespace tilescope
