// csv_field(): quotes a field of a CSV.
#pragma once

#include <string>
#include <string_view>

namespace tilescope {

/// Quotes text with commas or quotes, such as a sentence; a line break becomes a blank.
inline std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (char c : text) {
    if (c == '"') out += '"';
    out += c == '\n' ? ' ' : c;
  }
  return out + '"';
}

}  // namespace tilescope
