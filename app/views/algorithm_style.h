// What an algorithm is called in every view, and its colour and marker.
#pragma once

#include <string>
#include <string_view>

#include "app/ui/plot.h"
#include "app/ui/theme.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

ImU32 algorithm_color(const Theme& theme, std::string_view algorithm);
Marker algorithm_marker(std::string_view algorithm);
/// Returns "FlashAttention-2".
std::string algorithm_title(std::string_view algorithm);
/// The same of the program that runs the pass: both passes of an algorithm are a program of their own.
std::string algorithm_title(std::string_view algorithm, Pass pass);
/// Returns what is new in a program; of one that launches another program's kernel, which one for this problem.
std::string program_summary(const ProgramInfo& info, const AttentionProblem& problem);

}  // namespace tilescope
