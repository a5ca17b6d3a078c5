// The table of commands and flags, read by the parser, the help and the suggestions.
#pragma once

#include <span>
#include <string_view>

namespace tilescope {

enum class CommandKind {
  window,
  simulate,
  render,
  exported,
  sweep,
  search,
  compare,
  run,
  measure,
  validate,
  calibrate,
  lesson,
  print
};

/// A row of the command table. The window has none: it opens without a command.
struct CommandInfo {
  CommandKind kind;
  std::string_view name;
  std::string_view summary;   // one line of the program's help
  std::string_view examples;  // the end of the command's own help
};
std::span<const CommandInfo> command_table();

enum class FlagShape { value, optional_value, repeated, toggle };

/// A row of the flag table.
struct FlagInfo {
  std::string_view name;     // "--seq"
  std::string_view value;    // "N"; what the help calls its value
  std::string_view group;    // heading in the help
  std::string_view meaning;  // one line, with the default
  FlagShape shape;
  unsigned commands;                // bit per CommandKind
  std::string_view alias = {};      // another name for the same
  std::string_view in_run = {};     // the meaning in `run`, where it differs
  std::string_view in_ranges = {};  // the same in `sweep` and `search`

  /// Returns the meaning for a command. In the row, {default}, {buttons}, {masks}, {lists} and {pages} stand for ids of programs.
  std::string meaning_in(CommandKind command) const;
};
std::span<const FlagInfo> flag_table();
/// Returns the flag of a name or an alias; null for none.
const FlagInfo* find_flag(std::string_view name);

constexpr bool takes(const FlagInfo& flag, CommandKind command) {
  return (flag.commands >> static_cast<unsigned>(command) & 1u) != 0;
}

/// Returns "simulate", or "the window".
std::string_view to_string(CommandKind command);

}  // namespace tilescope
