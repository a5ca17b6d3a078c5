// Chooses by the table of programs.
#include "app/model/racers.h"

#include <utility>

#include "sim/programs/tile_program.h"

namespace tilescope {

std::pair<std::string, std::string> racers(std::string_view algorithm) {
  const Result<const ProgramInfo*> chosen = find_program(algorithm);
  std::string_view first = algorithm, last = algorithm;
  if (chosen) {
    const ProgramInfo *baseline = nullptr, *best = nullptr;
    for (const ProgramInfo& row : program_table()) {
      if (row.family != (*chosen)->family) continue;
      if (baseline == nullptr) baseline = &row;
      // A row behind the buttons does not come before one that has a button. Of the backward passes of one program the first
      // counts.
      const bool better = row.pass == Pass::backward ? best == nullptr || best->forward != row.forward
                                                     : best == nullptr || best->button.empty() || !row.button.empty();
      if (better) best = &row;
    }
    first = baseline->id, last = best->id;
  }
  return {std::string(first), std::string(first == algorithm ? last : algorithm)};
}

SimulationRequest request_of_rival(SimulationRequest request, std::string algorithm) {
  if (algorithm == request.algorithm) return request;
  request.algorithm = std::move(algorithm);
  if (const auto row = find_program(request.algorithm); row && !(*row)->takes_pages) request.problem.page_size = 0;
  return request;
}

bool is_compared(const ProgramInfo& row, const ProgramInfo& chosen) {
  if (row.family != chosen.family) return false;
  return !row.is_rung || chosen.is_rung || chosen.source == row.source;
}

std::string companion_of(std::string_view algorithm) {
  auto [first, second] = racers(algorithm);
  std::string other = first == algorithm ? second : first;
  return other == algorithm ? std::string() : other;
}

}  // namespace tilescope
