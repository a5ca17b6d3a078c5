// TextTable: aligned columns for a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilescope {

class TextTable {
 public:
  /// One letter per column: 'l' for text, 'r' for figures.
  explicit TextTable(std::string_view alignment) : alignment_(alignment) {}

  /// Missing cells are empty.
  void row(std::vector<std::string> cells);
  /// Removes the columns that have nothing below the first row.
  void drop_empty_columns();
  /// Returns the lines, each starting with `indent`, without trailing blanks.
  std::string text(std::string_view indent) const;

 private:
  std::string alignment_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tilescope
