// Titles of programs and of the rungs that they launch.
#include "sim/programs/program_names.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/programs/hopper_needs.h"

namespace tilescope {

std::string_view program_title(std::string_view id) {
  if (const auto info = find_program(id)) return (*info)->title;
  const auto rung = std::ranges::find(hopper_rungs(), id, &HopperRung::id);
  return rung == hopper_rungs().end() ? id : rung->title;
}

std::string launched_rung(const ProgramInfo& info, const AttentionProblem& problem) {
  const std::string_view rung = chosen_by(info, problem);
  return rung == info.id ? std::string() : fmt::format("{} ({})", program_title(rung), rung);
}

}  // namespace tilescope
