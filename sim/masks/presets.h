// The masks and score changes that have a name: each a text in the language, with parameters. One table, and nothing else knows
// them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/core/result.h"

namespace tilescope {

struct Preset {
  std::string_view name;
  std::string_view parameters;  // "window=1024,dilation=2": names and values where none is given
  std::string_view tables;      // that --table must bring: "doc"
  std::string_view mask;        // empty: none
  std::string_view score;       // empty: none
  std::string_view meaning;     // one line
};
std::span<const Preset> presets();

struct PresetText {
  std::string mask, score;  // with the parameters as `let` names; empty: none
};
/// Returns the texts of "name" or "name:key=value,key=value".
/// Errors  an unknown preset or parameter (with the nearest), a value that is not a number, a parameter given twice
Result<PresetText> preset_text(std::string_view request);

}  // namespace tilescope
