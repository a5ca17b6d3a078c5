// Settings: what the window remembers between runs; a small TOML file under XDG_CONFIG_HOME/tilescope.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/ui/layout.h"
#include "app/ui/theme.h"
#include "sim/core/result.h"

namespace tilescope {

struct Settings {
  LayoutShares shares;
  ThemeKind theme = ThemeKind::dark;
  std::string language = "en";
  bool by_sm = false;                     // lanes of the timeline
  int width = 1600, height = 900;         // of the window, in points
  float text_scale = 1;                   // times the display's own
  std::vector<std::string> lessons_done;  // ids, sorted
  struct Right {
    int right = 0, questions = 0;
    bool operator==(const Right&) const = default;
  };
  std::map<std::string, Right> lessons_right;  // by id, of the best attempt
  bool lessons_offered = false;                // the first lesson was opened or declined
  bool operator==(const Settings&) const = default;
};

/// What of `toml_text` makes sense; the rest, and everything when it is not TOML, is as by default.
Settings parse_settings(std::string_view toml_text);
std::string format_settings(const Settings& settings);

/// Returns what to remember of `now`: what is as it `began`, by an option for this run alone, stays as it was `saved`.
Settings to_remember(const Settings& saved, const Settings& began, Settings now);

/// XDG_CONFIG_HOME/tilescope/settings.toml, else HOME/.config/…; nullopt where neither is set.
std::optional<std::filesystem::path> settings_path();
/// Settings, and what is wrong with their file; the defaults where there is none.
struct LoadedSettings {
  Settings settings;
  Sentence problem;  // with the file and, where it is no TOML, the line; empty: nothing is wrong
};
LoadedSettings load_settings();
/// Best effort: a place that cannot be written costs nothing but the memory.
bool save_settings(const Settings& settings);

}  // namespace tilescope
