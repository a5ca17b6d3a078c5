// Splits each line in one pass, field by field.
#include "sim/core/csv.h"

#include <algorithm>
#include <utility>

namespace tilescope {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

void skip_blanks(std::string_view& text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
}

}  // namespace

CsvReader::CsvReader(std::string_view text, CsvDialect dialect) : rest_(text), dialect_(dialect) {
  if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);  // the byte order mark that spreadsheets write
}

std::string_view CsvReader::next_line() {
  const std::size_t end = std::min(rest_.find('\n'), rest_.size());
  const std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  ++line_;
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

std::vector<std::string> CsvReader::next_row() {
  std::string_view line = next_line();
  if (dialect_.comment != '\0') line = line.substr(0, line.find(dialect_.comment));
  if (dialect_.blanks_separate) skip_blanks(line);
  std::vector<std::string> fields;
  const auto separates = [&](char c) { return dialect_.separators.find(c) != std::string_view::npos; };
  if (line.empty()) return fields;
  while (true) {
    std::string field;
    bool quoted = false;
    for (; !line.empty(); line.remove_prefix(1)) {
      const char c = line.front();
      if (quoted && c == '"' && line.size() > 1 && line[1] == '"') {
        field += c;
        line.remove_prefix(1);
      } else if (dialect_.quotes && c == '"') {
        quoted = !quoted;
      } else if (!quoted && (separates(c) || (dialect_.blanks_separate && is_blank(c)))) {
        break;
      } else {
        field += c;
      }
    }
    fields.push_back(std::move(field));
    if (dialect_.blanks_separate) skip_blanks(line);
    if (line.empty()) return fields;
    // Blanks alone may have ended the field. After a trailing separator comes an empty field.
    if (separates(line.front())) line.remove_prefix(1);
    if (dialect_.blanks_separate) skip_blanks(line);
  }
}

}  // namespace tilescope
