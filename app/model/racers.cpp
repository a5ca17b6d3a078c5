// Chooses by the table of programs.
#include "app/model/racers.h"

#include "sim/programs/tile_program.h"

namespace tilescope {

std::pair<std::string, std::string> racers(std::string_view algorithm) {
  const Result<const ProgramInfo*> chosen = find_program(algorithm);
  std::string_view first = algorithm, last = algorithm;
  if (chosen) {
    first = {};
    for (const ProgramInfo& row : program_table()) {
      if (row.family != (*chosen)->family) continue;
      if (first.empty()) first = row.id;
      last = row.id;
    }
    if ((*chosen)->family == "attention") last = "flash2";
    if ((*chosen)->family == "backward") last = "flash2_backward";
  }
  return {std::string(first), std::string(first == algorithm ? last : algorithm)};
}

std::string companion_of(std::string_view algorithm) {
  auto [first, second] = racers(algorithm);
  std::string other = first == algorithm ? second : first;
  return other == algorithm ? std::string() : other;
}

}  // namespace tilescope
