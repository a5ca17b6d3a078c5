// say() and add_line(): sentences with values put in, and tooltips that grow line by line.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "app/ui/language.h"

namespace tilescope {

/// Puts `values` into a sentence that came from tr(), whose text is known only while running.
template <class... Values>
std::string say(const char* sentence, const Values&... values) {
  return fmt::format(fmt::runtime(sentence), values...);
}

/// A text of the program table (a title, a summary, a line's why) in the language in use, where its file has it.
inline std::string translated(std::string_view english) {
  return tr(std::string(english).c_str());
}

/// "2026-11-21", of an ISO 8601 date with or without a time.
inline std::string day_of(std::string_view date) {
  return std::string(date.substr(0, date.find_first_of("T ")));
}

/// "recorded on NVIDIA H200, 2026-11-21"; a file's figures are never passed off as live.
inline std::string where_from(bool live, std::string_view device, std::string_view date) {
  return say(live ? tr("live on {}, {}") : tr("recorded on {}, {}"), device, day_of(date));
}

/// Appends `line`, on a line of its own.
inline void add_line(std::string& text, std::string_view line) {
  if (!text.empty()) text += '\n';
  text += line;
}

}  // namespace tilescope
