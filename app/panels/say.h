// say() and add_line(): sentences with values put in, and tooltips that grow line by line.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace tilescope {

/// Puts `values` into a sentence that came from tr(), whose text is known only while running.
template <class... Values>
std::string say(const char* sentence, const Values&... values) {
  return fmt::format(fmt::runtime(sentence), values...);
}

/// Appends `line`, on a line of its own.
inline void add_line(std::string& text, std::string_view line) {
  if (!text.empty()) text += '\n';
  text += line;
}

}  // namespace tilescope
