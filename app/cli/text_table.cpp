// TextTable: aligned columns for a terminal.
#include "app/cli/text_table.h"

#include <algorithm>
#include <utility>

namespace tilescope {

namespace {

/// Returns the width in characters; every character here is one column wide.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

void TextTable::row(std::vector<std::string> cells) {
  cells.resize(alignment_.size());
  rows_.push_back(std::move(cells));
}

void TextTable::drop_empty_columns() {
  for (std::size_t column = alignment_.size(); column-- > 0;) {
    const auto is_empty = [&](const std::vector<std::string>& cells) { return cells[column].empty(); };
    if (!std::all_of(rows_.begin() + 1, rows_.end(), is_empty)) continue;
    const auto at = static_cast<std::ptrdiff_t>(column);
    alignment_.erase(alignment_.begin() + at);
    for (auto& cells : rows_) cells.erase(cells.begin() + at);
  }
}

std::string TextTable::text(std::string_view indent) const {
  std::vector<std::size_t> widths(alignment_.size(), 0);
  for (const auto& cells : rows_)
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], width(cells[i]));
  std::string text;
  for (const auto& cells : rows_) {
    std::string line(indent);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string blanks(widths[i] - width(cells[i]), ' ');
      line += alignment_[i] == 'r' ? blanks + cells[i] : cells[i] + blanks;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace tilescope
