// Reads the matrices that a user types or loads: CSV with any of the usual separators.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "sim/numerics/tile_machine.h"

namespace tilescope {

namespace {

constexpr int most_rows = 1024, most_cols = 256;

bool is_separator(char c) {
  return c == ',' || c == ';';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

Error at_line(std::string_view origin, int line, std::string_view what) {
  return {fmt::format("{}, line {}: {}", origin, line, what)};
}

/// What can be shown of a user's text in a sentence: short, and without control characters.
std::string shown(std::string_view text) {
  std::string result;
  for (char c : text.substr(0, 20)) result += c >= ' ' && c < 127 ? c : '?';
  return text.size() > 20 ? result + "..." : result;
}

/// The numbers of one line, without its comment. Blanks separate, and may stand around a comma or semicolon.
class LineReader {
 public:
  LineReader(std::string_view text, std::string_view origin, int line)
      : rest_(text.substr(0, text.find('#'))), origin_(origin), line_(line) {
    skip_blanks();
  }
  bool done() const { return rest_.empty(); }

  Result<float> next() {
    std::size_t length = 0;
    while (length < rest_.size() && !is_blank(rest_[length]) && !is_separator(rest_[length])) ++length;
    const std::string_view word = rest_.substr(0, length);
    if (word.empty()) return at_line(origin_, line_, "a number is missing between two separators: write 0 where there is none");
    std::string_view digits = word;
    if (digits.front() == '+' && digits.size() > 1 && digits[1] != '-') digits.remove_prefix(1);
    float value = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (code == std::errc::result_out_of_range && end == digits.data() + digits.size())
      return at_line(origin_, line_, fmt::format("'{}' is out of range: float32 holds 1e-45 to 3.4e38", shown(word)));
    if (code != std::errc() || end != digits.data() + digits.size())
      return at_line(
          origin_, line_,
          fmt::format("'{}' is not a number: write numbers such as -1.25 or 3e-2, separated by commas or blanks", shown(word)));
    if (!std::isfinite(value))
      return at_line(origin_, line_, fmt::format("'{}' is not finite: write finite numbers only", shown(word)));
    rest_.remove_prefix(length);
    return step_over_separator(value);
  }

 private:
  Result<float> step_over_separator(float value) {
    skip_blanks();
    if (rest_.empty() || !is_separator(rest_.front())) return value;
    rest_.remove_prefix(1);
    skip_blanks();
    if (rest_.empty())
      return at_line(origin_, line_, "the line ends with a separator: take it out, or write the number that is missing");
    return value;
  }
  void skip_blanks() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
  }

  std::string_view rest_, origin_;
  int line_;
};

}  // namespace

Result<Matrix> parse_csv_matrix(std::string_view text, std::string_view origin) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);  // the mark that spreadsheets put in front of UTF-8
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos)
    return Error{fmt::format("{} is not text: it has a zero byte at position {}; give numbers as CSV", origin, zero)};
  Matrix matrix;
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    LineReader reader(text.substr(0, length), origin, line);
    text.remove_prefix(std::min(length + 1, text.size()));
    if (reader.done()) continue;
    if (matrix.rows == most_rows)
      return at_line(origin, line, fmt::format("row {}: at most {} are taken", most_rows + 1, most_rows));
    int cols = 0;
    while (!reader.done()) {
      if (cols == most_cols)
        return at_line(origin, line, fmt::format("more than {} numbers: at most that many columns are taken", most_cols));
      Result<float> value = reader.next();
      if (!value) return value.error();
      matrix.values.push_back(*value);
      ++cols;
    }
    if (matrix.rows > 0 && cols != matrix.cols)
      return at_line(origin, line,
                     fmt::format("{} numbers where the rows before have {}: every row needs the same number", cols, matrix.cols));
    matrix.cols = cols;
    ++matrix.rows;
  }
  if (matrix.rows == 0)
    return Error{fmt::format("{} has no numbers: give one row of numbers a line, separated by commas or blanks", origin)};
  return matrix;
}

}  // namespace tilescope
