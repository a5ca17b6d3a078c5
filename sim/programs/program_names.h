// Lists of the programs that a sentence or a help text names, read from the table.
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

}  // namespace tilescope
