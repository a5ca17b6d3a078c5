// `tilescope lesson`: lists the lessons and checks them.
#pragma once

#include <cstdio>

#include "app/cli/command_line.h"
#include "sim/core/result.h"

namespace tilescope {

/// Prints number, title and minutes of every lesson.
Status run_lesson_list(const CommandLine& line, std::FILE* out);

/// Runs every page of one lesson or of all; prints what does not hold. Returns 1 where something does not.
Result<int> run_lesson_check(const CommandLine& line, std::FILE* out, std::FILE* err);

}  // namespace tilescope
