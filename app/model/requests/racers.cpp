// Chooses by the families of programs.
#include "app/model/requests/racers.h"

#include <utility>

#include "sim/programs/tile_program.h"

namespace tilescope {

std::pair<std::string, std::string> racers(std::string_view algorithm, std::string_view with) {
  const Result<const ProgramInfo*> chosen = find_program(algorithm);
  std::string_view first = algorithm, last = algorithm;
  if (chosen)
    for (const ProgramFamily& family : program_families())
      if (family.id == (*chosen)->family) first = family.baseline, last = family.best;
  for (const ProgramInfo* partner : partners_of(algorithm))
    if (partner->id == with) (first == algorithm ? last : first) = with;
  return {std::string(first), std::string(first == algorithm ? last : algorithm)};
}

std::vector<const ProgramInfo*> partners_of(std::string_view algorithm) {
  std::vector<const ProgramInfo*> partners;
  const Result<const ProgramInfo*> chosen = find_program(algorithm);
  if (!chosen) return partners;
  for (const ProgramInfo& row : program_table())
    if (row.id != algorithm && is_compared(row, **chosen)) partners.push_back(&row);
  return partners;
}

SimulationRequest request_of_rival(SimulationRequest request, std::string algorithm) {
  if (algorithm == request.algorithm) return request;
  request.algorithm = std::move(algorithm);
  if (const auto row = find_program(request.algorithm); row && !(*row)->takes_pages) request.problem.page_size = 0;
  return request;
}

bool is_compared(const ProgramInfo& row, const ProgramInfo& chosen) {
  if (row.family != chosen.family) return false;
  return !row.compared_apart || chosen.compared_apart || chosen.source == row.source;
}

std::string companion_of(std::string_view algorithm) {
  auto [first, second] = racers(algorithm);
  std::string other = first == algorithm ? second : first;
  return other == algorithm ? std::string() : other;
}

}  // namespace tilescope
