// CsvReader splits CSV text into rows of fields. All CSV input of the program goes through it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilescope {

/// The separators and the syntax that a CSV text may use.
struct CsvDialect {
  std::string_view separators = ",";
  bool quotes = true;            // "a,b" is one field; a quote inside it is written twice
  bool blanks_separate = false;  // blanks separate fields too, and are ignored next to a separator
  char comment = '\0';           // starts a comment that runs to the end of the line; 0: no comments
};

class CsvReader {
 public:
  CsvReader(std::string_view text, CsvDialect dialect);

  bool done() const { return rest_.empty(); }
  /// Takes the next line unsplit, without its line break.
  std::string_view next_line();
  /// Takes the next line and splits it; an empty line has no fields.
  std::vector<std::string> next_row();
  /// Returns the number of the last line taken, counted from 1.
  int line() const { return line_; }

 private:
  std::string_view rest_;
  CsvDialect dialect_;
  int line_ = 0;
};

}  // namespace tilescope
