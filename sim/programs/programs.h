// The programs, one function a row of the table, and what their makers share.
#pragma once

#include <memory>
#include <string_view>

#include "sim/programs/tile_program.h"

namespace tilescope {

ProgramInfo standard_program();
ProgramInfo flash1_program();
ProgramInfo flash2_program();
ProgramInfo flex_program();
ProgramInfo softmax_safe_program();
ProgramInfo softmax_online_program();
ProgramInfo softmax_fused_program();
ProgramInfo matmul_naive_program();
ProgramInfo matmul_tiled_program();

enum class CausalMask : std::uint8_t { taken, refused };
enum class ScoreChanges : std::uint8_t { taken, refused };
/// Errors  those of the problem and of the tile; a pass that is not forward; a mask or a change of scores where none is taken, or
///         one that was made for other sizes.
Status check_request(std::string_view id, const AttentionProblem& problem, const ProgramTile& tile, CausalMask mask,
                     ScoreChanges scores = ScoreChanges::refused);

/// make() of a row of the table for a program that is built from problem, tile and GPU.
template <class Program>
Result<std::unique_ptr<TileProgram>> make_program(std::string_view id, CausalMask mask, const AttentionProblem& problem,
                                                  const ProgramTile& tile, const GpuSpec& gpu) {
  if (Status status = check_request(id, problem, tile, mask); !status) return status.error();
  return std::unique_ptr<TileProgram>(std::make_unique<Program>(problem, tile, gpu));
}

}  // namespace tilescope
