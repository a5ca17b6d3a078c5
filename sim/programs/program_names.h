// The programs that a sentence or a help text names, read from the table.
#pragma once

#include <string>

#include "sim/programs/tile_program.h"

namespace tilescope {

/// Ids for a sentence "… flex and hopper_flex": all but the last with commas between, and the last.
struct ListedPrograms {
  std::string first, last;

  void add(std::string_view id) {
    if (!last.empty()) first += (first.empty() ? "" : ", ") + last;
    last = id;
  }
  /// Returns "flex, hopper_flex".
  std::string all() const { return first.empty() ? last : first + ", " + last; }
};

/// Lists the rows for which `test` holds.
template <class Test>
ListedPrograms programs_where(Test test) {
  ListedPrograms listed;
  for (const ProgramInfo& info : program_table())
    if (test(info)) listed.add(info.id);
  return listed;
}

/// Returns the first forward program that follows the lists of a mask, and takes a score change and pages: where a request needs
/// one and names none.
inline std::string_view program_with_lists() {
  for (const ProgramInfo& info : program_table())
    if (info.has_lists && info.pass == Pass::forward) return info.id;
  return {};
}

/// Returns the title of a program, or of a rung that is a program only as what another one launches: "Hopper 7: longest first".
/// Another id is its own title.
std::string_view program_title(std::string_view id);

/// Returns the rung that a program launches for a problem, "Hopper 7: longest first (hopper_causal)"; empty where the program
/// launches its own kernel.
std::string launched_rung(const ProgramInfo& info, const AttentionProblem& problem);

}  // namespace tilescope
