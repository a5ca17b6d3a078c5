// program_of(): a program that a test of the model needs, on the toy GPU.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>

#include "sim/programs/tile_program.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {

inline std::unique_ptr<TileProgram> program_of(std::string_view id, const AttentionProblem& problem, const ProgramTile& tile,
                                               const GpuSpec& gpu = toy_gpu()) {
  auto program = (*find_program(id))->make(problem, tile, gpu);
  REQUIRE_MESSAGE(program, (program ? "" : program.error().sentence));
  return std::move(*program);
}

}  // namespace tilescope
