// TextTable: rows of cells, lined up in columns for a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilescope {

class TextTable {
 public:
  /// One letter a column: 'l' for text, 'r' for figures.
  explicit TextTable(std::string_view alignment) : alignment_(alignment) {}

  /// Missing cells are empty.
  void row(std::vector<std::string> cells);
  /// Every line starts with `indent` and has no blanks at its end.
  std::string text(std::string_view indent) const;

 private:
  std::string alignment_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tilescope
