// Reads matrices that a user types or loads, as CSV with any of the usual separators.

#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "sim/core/csv.h"
#include "sim/core/refuse.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

namespace {

constexpr int most_rows = 1024, most_cols = 256;

Error at_line(const Sentence& origin, int line, const Sentence& what) {
  return refuse("{}, line {}: {}", origin, line, what);
}

/// Shortens a user's text for an error message, and replaces control characters.
std::string shown(std::string_view text) {
  std::string result;
  for (char c : text.substr(0, 20)) result += c >= ' ' && c < 127 ? c : '?';
  return text.size() > 20 ? result + "..." : result;
}

/// Parses one field as a number.
Result<float> number_of(std::string_view word, const Sentence& origin, int line) {
  if (word.empty()) return at_line(origin, line, phrase("a number is missing between two separators: write 0 where there is none"));
  std::string_view digits = word;
  if (digits.front() == '+' && digits.size() > 1 && digits[1] != '-') digits.remove_prefix(1);
  float value = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code == std::errc::result_out_of_range && end == digits.data() + digits.size())
    return at_line(origin, line, phrase("'{}' is out of range: float32 holds 1e-45 to 3.4e38", shown(word)));
  if (code != std::errc() || end != digits.data() + digits.size())
    return at_line(origin, line,
                   phrase("'{}' is not a number: write numbers such as -1.25 or 3e-2, separated by commas or blanks", shown(word)));
  if (!std::isfinite(value)) return at_line(origin, line, phrase("'{}' is not finite: write finite numbers only", shown(word)));
  return value;
}

}  // namespace

Result<Matrix> parse_csv_matrix(std::string_view text, const Sentence& origin) {
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos)
    return refuse("{} is not text: it has a zero byte at position {}; give numbers as CSV", origin, zero);
  Matrix matrix;
  CsvReader reader(text, {.separators = ",;", .quotes = false, .blanks_separate = true, .comment = '#'});
  while (!reader.done()) {
    const std::vector<std::string> fields = reader.next_row();
    const int line = reader.line();
    if (fields.empty()) continue;
    if (matrix.rows == most_rows) return at_line(origin, line, phrase("row {}: at most {} are taken", most_rows + 1, most_rows));
    int cols = 0;
    for (const std::string& field : fields) {
      if (field.empty() && cols > 0 && &field == &fields.back())
        return at_line(origin, line, phrase("the line ends with a separator: take it out, or write the number that is missing"));
      if (cols == most_cols)
        return at_line(origin, line, phrase("more than {} numbers: at most that many columns are taken", most_cols));
      const Result<float> value = number_of(field, origin, line);
      if (!value) return value.error();
      matrix.values.push_back(*value);
      ++cols;
    }
    if (matrix.rows > 0 && cols != matrix.cols)
      return at_line(origin, line,
                     phrase("{} numbers where the rows before have {}: every row needs the same number", cols, matrix.cols));
    matrix.cols = cols;
    ++matrix.rows;
  }
  if (matrix.rows == 0) return refuse("{} has no numbers: give one row of numbers a line, separated by commas or blanks", origin);
  return matrix;
}

}  // namespace tilescope
