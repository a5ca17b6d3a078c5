// CsvReader: rows of fields from text; the one reader of every CSV that the program takes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilescope {

/// What separates fields, and what else a line may hold.
struct CsvDialect {
  std::string_view separators = ",";
  bool quotes = true;            // "a,b" is one field; a quote in it is written twice
  bool blanks_separate = false;  // and stand around a separator without a meaning
  char comment = '\0';           // what begins one, to the end of the line; 0: there are none
};

class CsvReader {
 public:
  CsvReader(std::string_view text, CsvDialect dialect);

  bool done() const { return rest_.empty(); }
  /// Takes the next line as it is, without its end.
  std::string_view next_line();
  /// Takes the next line as fields: none where it is empty.
  std::vector<std::string> next_row();
  /// Of the line taken last, counted from 1.
  int line() const { return line_; }

 private:
  std::string_view rest_;
  CsvDialect dialect_;
  int line_ = 0;
};

}  // namespace tilescope
