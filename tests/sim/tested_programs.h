// The programs that the suite "every program" walks over.
#pragma once

#include <cstdlib>
#include <span>
#include <string>

#include <doctest/doctest.h>

#include "sim/programs/tile_program.h"

namespace tilescope {

/// Returns the rows of program_table(); only that of one program if TILESCOPE_TESTED_PROGRAM names it.
inline std::span<const ProgramInfo> tested_programs() {
  const char* const id = std::getenv("TILESCOPE_TESTED_PROGRAM");
  if (id == nullptr) return program_table();
  const auto row = find_program(id);
  REQUIRE_MESSAGE(row, (row ? std::string() : row.error().sentence.text()));
  return {*row, 1};
}

}  // namespace tilescope
