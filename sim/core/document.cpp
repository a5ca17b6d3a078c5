// Counts the nesting of TOML and JSON texts in one pass, with a stack of fixed depth.
#include "sim/core/document.h"

#include <algorithm>
#include <array>

#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

/// Scans a document up to the first syntax error. The parser stops there too, so nesting behind it cannot hurt.
class DepthScanner {
 public:
  DepthScanner(std::string_view text, DocumentKind kind) : text_(text), toml_(kind == DocumentKind::toml) {}

  /// Returns the first line that is nested too deeply; 0 if there is none.
  std::size_t too_deep_at() {
    while (at_ < text_.size() && !too_deep_) step();
    if (!too_deep_) return 0;
    return 1 + static_cast<std::size_t>(std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n'));
  }

 private:
  bool next_is(std::string_view mark) const { return text_.substr(at_).starts_with(mark); }

  void step() {
    const char c = text_[at_];
    if (c == '"' || (toml_ && c == '\'')) return skip_string(c);
    if (toml_ && c == '#') return skip_comment();
    switch (c) {
      case '[':
      case '{':
        open();
        break;
      case ']':
      case '}':
        close();
        break;
      case '.':
        if (toml_) ++dots_;
        break;
      case '=':
        key_dots_ = dots_;
        dots_ = 0;
        break;
      case ',':
        key_dots_ = dots_ = 0;
        break;
      case '\n':
        if (open_ == 0) key_dots_ = dots_ = 0, in_header_ = false, line_is_empty_ = true;
        break;
      default:
        break;
    }
    if (c != '\n' && c != ' ' && c != '\t' && c != '\r') line_is_empty_ = false;
    too_deep_ = too_deep_ || depth_ + header_ + dots_ > deepest_document;
    if (!too_deep_) ++at_;
  }

  /// Enters a bracket: one level, plus one for each dot in its key. In a table header every part of the name is a level.
  void open() {
    if (toml_ && open_ == 0 && line_is_empty_) {
      in_header_ = true;
      header_ = 0;
    }
    if (open_ == static_cast<int>(levels_.size())) {
      too_deep_ = true;
      return;
    }
    levels_[static_cast<std::size_t>(open_++)] = 1 + key_dots_;
    depth_ += 1 + key_dots_;
    key_dots_ = dots_ = 0;
  }

  void close() {
    if (in_header_) header_ = std::max(header_, dots_ + 1);
    key_dots_ = dots_ = 0;
    if (open_ == 0) return;
    depth_ -= levels_[static_cast<std::size_t>(--open_)];
  }

  void skip_comment() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  void skip_string(char quote) {
    line_is_empty_ = false;
    const std::array<char, 3> three = {quote, quote, quote};
    const std::string_view mark(three.data(), toml_ && next_is({three.data(), 3}) ? 3 : 1);
    at_ += mark.size();
    while (at_ < text_.size() && !next_is(mark)) {
      const bool escape = quote == '"' && text_[at_] == '\\';
      if (toml_ && mark.size() == 1 && text_[at_] == '\n') return;  // unterminated: a one-line string cannot hold a line break
      at_ += escape ? 2 : 1;
    }
    at_ = std::min(at_ + mark.size(), text_.size());
    // TOML allows up to two quotes right before the three that end a multi-line string.
    for (int i = 0; i < 2 && mark.size() == 3 && at_ < text_.size() && text_[at_] == quote; ++i) ++at_;
  }

  std::string_view text_;
  bool toml_;
  std::size_t at_ = 0;
  std::array<int, deepest_document> levels_{};  // the levels that each open bracket added to depth_
  int open_ = 0, depth_ = 0;
  int dots_ = 0;      // dots of the current key: since the last bracket, comma, equals sign or line break
  int key_dots_ = 0;  // dots of the key whose value comes next
  int header_ = 0;    // levels of the current table header
  bool in_header_ = false, line_is_empty_ = true, too_deep_ = false;
};

}  // namespace

Status check_document(std::string_view text, DocumentKind kind, std::string_view origin) {
  const std::string name = printable(origin, 200);
  if (text.size() > largest_document_bytes)
    return refuse("{} has {} bytes, and at most {} are read: name a smaller file", name, text.size(), largest_document_bytes);
  if (const std::size_t line = DepthScanner(text, kind).too_deep_at(); line > 0)
    return refuse("{}:{}: nested deeper than {} levels: no file that TileScope reads nests so deep", name, line, deepest_document);
  return Done{};
}

}  // namespace tilescope
