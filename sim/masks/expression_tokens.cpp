// Cuts expressions into tokens.
#include "sim/masks/expression_tokens.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Characters that people paste, and what the language writes for them.
constexpr std::pair<std::string_view, std::string_view> typographic[] = {{"\u2264", "<="}, {"\u2265", ">="}, {"\u2260", "!="},
                                                                         {"\u2227", "&&"}, {"\u2228", "||"}, {"\u00AC", "!"},
                                                                         {"\u2212", "-"},  {"\u00B7", "*"},  {"\u00D7", "*"}};

/// Operators of other languages, looked for before the symbols that they begin with.
constexpr std::pair<std::string_view, std::string_view> foreign[] = {
    {"===", "=="}, {"!==", "!="}, {"=>", ">="}, {"=<", "<="}, {"<>", "!="}};

constexpr std::string_view symbols[] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "//", "..", "+", "-", "*", "/", "%", "&",
                                        "|",  "^",  "~",  "<",  ">",  "!",  "?",  ":",  "(",  ")",  "[", "]", ",", ";", "="};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> tokens() {
    std::vector<Token> found;
    for (;;) {
      while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
      Token token = next();
      found.push_back(token);
      if (token.kind == TokenKind::end) return found;
    }
  }

  std::vector<Token> readable() {
    std::vector<Token> found;
    for (;;) {
      while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
      if (at_ >= text_.size()) return found;
      const std::size_t before = at_;
      try {
        found.push_back(next());
      } catch (const ExprFault&) { at_ = std::max(at_, before + 1); }
    }
  }

 private:
  Token next() {
    Token token;
    token.column = static_cast<std::uint32_t>(at_ + 1);
    if (at_ == text_.size()) return token;
    const char c = text_[at_];
    const std::size_t begin = at_;
    if (is_letter(c)) {
      while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
      token.kind = TokenKind::name;
      token.text = text_.substr(begin, at_ - begin);
      return token;
    }
    if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) return number(token);
    as_written_here(foreign, token.column);
    for (std::string_view symbol : symbols)
      if (text_.substr(at_).starts_with(symbol)) {
        at_ += symbol.size();
        token.kind = TokenKind::symbol;
        token.text = symbol;
        return token;
      }
    as_written_here(typographic, token.column);
    std::size_t glyph_bytes = 1;
    while (at_ + glyph_bytes < text_.size() && (static_cast<unsigned char>(text_[at_ + glyph_bytes]) & 0xC0U) == 0x80U)
      ++glyph_bytes;
    fail(refuse("column {}: '{}' is no part of an expression", token.column, printable(text_.substr(at_, glyph_bytes), 4)));
  }

  /// Fails where one of `others` comes next, and says what it is here.
  void as_written_here(std::span<const std::pair<std::string_view, std::string_view>> others, std::uint32_t column) const {
    for (const auto& [other, written] : others)
      if (text_.substr(at_).starts_with(other)) fail(refuse("column {}: '{}' is written {} here", column, other, written));
  }

  Token number(Token token) {
    const std::size_t begin = at_;
    if (text_.substr(at_).starts_with("0x")) {
      at_ += 2;
      std::uint64_t value = 0;
      const auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value, 16);
      if (code != std::errc() || value > 0x7fffffffU)
        fail(refuse("column {}: a hexadecimal number has 1 to 8 digits, at most 0x7fffffff", token.column));
      at_ = static_cast<std::size_t>(end - text_.data());
      token.kind = TokenKind::integer;
      token.number = static_cast<double>(value);
      token.text = text_.substr(begin, at_ - begin);
      return token;
    }
    const auto digits = [&] {
      while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    };
    digits();
    bool real = false;
    if (at_ < text_.size() && text_[at_] == '.' && !text_.substr(at_).starts_with("..")) real = true, ++at_, digits();
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      const std::size_t mark = at_++;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      const std::size_t first = at_;
      digits();
      if (at_ == first)
        at_ = mark;
      else
        real = true;
    }
    token.text = text_.substr(begin, at_ - begin);
    if (at_ < text_.size() && is_letter(text_[at_]))
      fail(refuse("column {}: '{}' is neither a number nor a name", token.column,
                  printable(text_.substr(begin, at_ + 1 - begin), 20)));
    const auto [end, code] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), token.number);
    if (code == std::errc::result_out_of_range)
      fail(refuse("column {}: {} is beyond a float", token.column, printable(token.text, 30)));
    token.kind = real ? TokenKind::real : TokenKind::integer;
    if (!real && token.number > std::numeric_limits<std::int32_t>::max())
      fail(refuse("column {}: {} does not fit 32 bits: write {}.0 for a float", token.column, printable(token.text, 30),
                  printable(token.text, 30)));
    return token;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

void fail(Error error) {
  throw ExprFault{std::move(error)};
}

std::vector<Token> tokens_of(std::string_view text) {
  return Lexer(text).tokens();
}

std::vector<Token> readable_tokens(std::string_view text) {
  return Lexer(text).readable();
}

std::size_t column_of(std::string_view sentence) {
  constexpr std::string_view word = "column ";
  if (!sentence.starts_with(word)) return 0;
  std::size_t column = 0;
  const char* const first = sentence.data() + word.size();
  const auto [end, code] = std::from_chars(first, sentence.data() + sentence.size(), column);
  return code == std::errc() && end != sentence.data() + sentence.size() && *end == ':' ? column : 0;
}

std::vector<NamedNumber> named_numbers(std::string_view text) {
  const std::vector<Token> tokens = readable_tokens(text);
  const auto is = [&](std::size_t i, std::string_view word) { return i < tokens.size() && tokens[i].text == word; };
  std::vector<NamedNumber> found;
  for (std::size_t i = 0; i + 3 < tokens.size(); ++i) {
    if (!is(i, "let") || tokens[i + 1].kind != TokenKind::name || !is(i + 2, "=")) continue;
    const bool minus = is(i + 3, "-");
    const std::size_t at = i + 3 + (minus ? 1 : 0);
    if (at >= tokens.size() || !is(at + 1, ";")) continue;
    const Token& number = tokens[at];
    if (number.kind != TokenKind::integer && number.kind != TokenKind::real) continue;
    if (number.text.starts_with("0x")) continue;  // bits, not an amount
    const std::size_t first = tokens[i + 3].column - 1, end = number.column - 1 + number.text.size();
    found.push_back(
        {tokens[i + 1].text, minus ? -number.number : number.number, number.kind == TokenKind::integer, first, end - first});
  }
  return found;
}

std::string with_number(std::string_view text, const NamedNumber& number, double value) {
  std::string written = number.whole ? fmt::format("{:.0f}", std::round(value)) : fmt::format("{}", value);
  if (!number.whole && written.find_first_of(".e") == std::string::npos) written += ".0";
  std::string out(text);
  out.replace(number.first, number.length, written);
  return out;
}

bool is_language_word(std::string_view word) {
  constexpr std::string_view words[] = {"let", "in", "and", "or", "not", "true", "false", "sum", "any", "all"};
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

}  // namespace tilescope
