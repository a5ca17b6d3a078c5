// say() and add_line(): put sentences into the window's words and language, and build tooltips line by line.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "app/ui/language.h"
#include "sim/core/gpu_spec.h"
#include "sim/core/sentence.h"

namespace tilescope {

/// Chooses the Korean particle of each pair such as 은(는), 을(를), 이(가), 과(와), (으)로 by the sound that it follows. The pair
/// stays where that cannot be known: after a Latin word, for example.
std::string with_particles(std::string text);

/// Formats `values` into a translated sentence.
template <class... Values>
std::string say(const char* sentence, const Values&... values) {
  return with_particles(fmt::format(fmt::runtime(sentence), values...));
}

/// The name of a setting in the window: "Br".
const char* control_name(Setting setting);

/// Puts a refusal of the model into the window's words and language.
std::string say(const Sentence& sentence);

/// Whether the blank at `blank` stands between a number and its unit.
bool joins_unit(std::string_view text, std::size_t blank);
/// Replaces the blank between a number and its unit by U+00A0, so that no line breaks there.
std::string with_units_kept(std::string_view sentence);

/// Translates a text of the program table: a title, a summary, a line's why.
inline std::string translated(std::string_view english) {
  return tr(std::string(english).c_str());
}

/// Returns the name of a GPU's number: what its meaning says before the unit, "Peak bandwidth of HBM".
std::string spec_key_name(const SpecKey& key);

/// "2026-11-21", of an ISO 8601 date with or without a time.
inline std::string day_of(std::string_view date) {
  return std::string(date.substr(0, date.find_first_of("T ")));
}

/// Returns "recorded on NVIDIA H200, 2026-11-21", or "live on …".
inline std::string where_from(bool live, std::string_view device, std::string_view date) {
  return say(live ? tr("live on {}, {}") : tr("recorded on {}, {}"), device, day_of(date));
}

/// Appends `line` on a new line; nothing where it is empty.
inline void add_line(std::string& text, std::string_view line) {
  if (line.empty()) return;
  if (!text.empty()) text += '\n';
  text += line;
}

}  // namespace tilescope
