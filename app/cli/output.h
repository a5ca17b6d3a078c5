// What the commands write: standard output, files that appear together at the end, and exit codes.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/command_line.h"
#include "app/model/measurements/measurements.h"
#include "app/platform/files.h"
#include "sim/core/result.h"

namespace tilescope {

inline constexpr int exit_done = 0, exit_did_not_hold = 1, exit_wrong_request = 2, exit_machine_lacks = 3;
inline constexpr int exit_interrupted = 130;  // 128 + SIGINT, as shells have it

/// Prints everything or fails: a full disk behind a redirection is an error too.
Status print(std::FILE* out, std::string_view text);

/// Says which recorded file could not be read, where there is one: without it times have another clock and other errors.
void say_unread(const Measurements& known, std::FILE* err);

/// Writes the text to the file `path`, or to standard output if it is empty or "-".
Status write_or_print(const std::string& path, std::string_view text, std::FILE* out);

/// Everything one command writes: all of it at the end, or nothing.
class Outputs {
 public:
  explicit Outputs(std::FILE* out) : out_(out) {}

  /// A file, or standard output where `path` is empty or "-". Errors  the file cannot be written beside its target.
  Status add(const std::string& path, std::string_view text);
  /// Prints what goes to standard output, then puts the files in place. Errors  those of both; no file has changed then.
  Status finish();

 private:
  std::FILE* out_;
  std::string printed_;
  FileBatch files_;
};

/// Whether every file that the command is to write can be written, before it works for minutes.
/// Errors  a target that cannot be written; one that is an input of the command, or another target, under whatever name.
Status check_outputs(const CommandLine& line);

/// Errors  an output of the command is `input`, a file that it found by itself.
Status check_outputs_spare(const CommandLine& line, const std::string& input);

/// Whether `path`, the value of an output's flag, is standard output. Nothing at all ("") is so for --json alone.
bool is_standard_output(std::string_view path);

/// Whether an output asks for standard output, which then carries nothing else.
bool standard_output_taken(const CommandLine& line);

/// Whether --json asks for standard output.
bool json_to_output(const CommandLine& line);

}  // namespace tilescope
