// The state file: what the window shows, saved while it runs, so that it can go on there after a crash.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "app/model/state/deck.h"
#include "app/model/state/window_state.h"

namespace tilescope {

struct StateFile {
  std::string link;
  bool closed = false;       // the window was closed; false while it runs, and after a crash
  std::int64_t process = 0;  // that wrote it
  bool operator==(const StateFile&) const = default;
};

/// Reads what format_state_file() wrote.
/// Errors  no TOML, a file of a newer program, no link: names `origin` and the line.
Result<StateFile> parse_state_file(std::string_view text, std::string_view origin);
std::string format_state_file(const StateFile& file);

/// XDG_STATE_HOME/tilescope/window.toml, else HOME/.local/state/…; nullopt where neither is set.
std::optional<std::filesystem::path> state_file_path();

/// Keeps one window's state file.
class StateKeeper {
 public:
  /// Reads what the last window left. Another window that still runs keeps its file, and this one writes none. A file that cannot
  /// be read is kept under another name.
  static StateKeeper open(std::optional<std::filesystem::path> path, std::int64_t process);

  /// Returns the state of a window that was not closed; absent where there is none, or none that can be read.
  const std::optional<WindowState>& left_over() const { return left_over_; }
  /// Says that a file could not be read and where it is kept; empty: nothing to say.
  const Sentence& notice() const { return notice_; }
  /// Writes the state where it differs from what is written. Best effort, as for settings.
  void save(const WindowState& state, bool closed);

 private:
  std::optional<std::filesystem::path> path_;
  std::int64_t process_ = 0;
  std::optional<WindowState> left_over_;
  Sentence notice_;
  std::optional<StateFile> written_;
};

/// Reads what `--open` takes: a link, or the name of a file with a link, of a state file or of a deck, whose first scene it is.
/// `find_lesson` is that of parse_deck(). Errors  those of the link; of a file, with its name and line.
Result<WindowState> state_from(const std::string& link_or_file, const FindLesson& find_lesson = {});

}  // namespace tilescope
