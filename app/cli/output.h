// Writes the results of commands; exit codes.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "app/cli/command_line.h"
#include "sim/core/result.h"

namespace tilescope {

inline constexpr int exit_done = 0, exit_did_not_hold = 1, exit_wrong_request = 2, exit_machine_lacks = 3;
inline constexpr int exit_interrupted = 130;  // 128 + SIGINT, as shells have it

/// Prints everything or fails: a full disk behind a redirection is an error too.
Status print(std::FILE* out, std::string_view text);

/// Writes the text to the file `path`, or to standard output if it is empty or "-".
Status write_or_print(const std::string& path, std::string_view text, std::FILE* out);

/// Checks that every output file can be written, before minutes of work.
Status check_outputs(const CommandLine& line);

/// Returns true if --json goes to standard output, which then carries nothing else.
bool json_to_output(const CommandLine& line);

}  // namespace tilescope
