// The words of an expression: what the parser reads, and what an editor colours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/result.h"

namespace tilescope {

enum class TokenKind : std::uint8_t { end, name, integer, real, symbol };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  std::uint32_t column = 1;
  double number = 0;
};

/// What cannot be parsed, as an exception inside the parser: it has many levels, and all of them end there.
struct ExprFault {
  Error error;  // "column {}: …"
};
[[noreturn]] void fail(Error error);

/// Cuts a text into tokens that point into it; the last one is the end. Throws ExprFault at what is no token.
std::vector<Token> tokens_of(std::string_view text);

/// Returns the same without an exception: what is no token is left out.
std::vector<Token> readable_tokens(std::string_view text);

/// Returns the column that an error of the parser begins with, counted in bytes from 1; 0: it names none.
std::size_t column_of(std::string_view sentence);

/// `let window = 1024;`: a number with a name, which a slider may change.
struct NamedNumber {
  std::string_view name;
  double value = 0;
  bool whole = true;
  std::size_t first = 0, length = 0;  // of the number in the text, with its sign
};
std::vector<NamedNumber> named_numbers(std::string_view text);

/// Returns the text with another value of one of its numbers; a whole one stays whole.
std::string with_number(std::string_view text, const NamedNumber& number, double value);

/// Returns whether a word is one of the language, but no name or function: let, in, and, or, not, true, false, sum, any, all.
bool is_language_word(std::string_view word);

}  // namespace tilescope
