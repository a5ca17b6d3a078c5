// The programs, with one function per row of the table, and the checks that their factories share.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "sim/programs/tile_program.h"

namespace tilescope {

ProgramInfo standard_program();
ProgramInfo flash1_program();
ProgramInfo flash2_program();
ProgramInfo flex_program();
ProgramInfo hopper_wgmma_program();
ProgramInfo hopper_producer_program();
ProgramInfo hopper_three_groups_program();
ProgramInfo hopper_overlap_program();
ProgramInfo hopper_ping_pong_program();
ProgramInfo hopper_persistent_program();
ProgramInfo hopper_causal_program();
ProgramInfo flash3_program();
ProgramInfo hopper_flex_program();
ProgramInfo standard_backward_program();
ProgramInfo flash1_backward_program();
ProgramInfo flash2_backward_program();
ProgramInfo flash2_backward_two_pass_program();
ProgramInfo flash2_backward_deterministic_program();
ProgramInfo flash3_backward_program();
ProgramInfo flex_backward_program();
ProgramInfo softmax_safe_program();
ProgramInfo softmax_online_program();
ProgramInfo softmax_fused_program();
ProgramInfo matmul_naive_program();
ProgramInfo matmul_tiled_program();

/// Returns the rows of which flash3's is one for each problem (ProgramInfo::row_of), by rung.
std::span<const ProgramInfo> flash3_rows();

/// A program of the ladder to Hopper, and the one that it adds an idea to.
struct LadderStep {
  std::string_view id, over;  // over: empty for the first and for the best of all
};
/// Returns the ladder: flash2, the rungs, and flash3.
std::span<const LadderStep> ladder();

/// Returns a program with the launches of both. The forward results stay in HBM for the backward launches.
std::unique_ptr<TileProgram> both_passes(std::unique_ptr<TileProgram> forward, std::unique_ptr<TileProgram> backward,
                                         int forward_lines);

enum class Masks : std::uint8_t { taken, refused };
enum class ScoreChanges : std::uint8_t { taken, refused };
enum class Pages : std::uint8_t { taken, refused };
/// Checks a request.
/// Errors  those of the problem and of the tile; a pass that is not forward; a mask, a score change or pages that the program
///         does not take, or what was made for other sizes
Status check_request(std::string_view id, const AttentionProblem& problem, const ProgramTile& tile, Masks mask,
                     ScoreChanges scores = ScoreChanges::refused, Pages pages = Pages::refused);

/// Implements ProgramInfo::make for a program that is constructed from problem, tile and GPU.
template <class Program>
Result<std::unique_ptr<TileProgram>> make_program(std::string_view id, Masks mask, const AttentionProblem& problem,
                                                  const ProgramTile& tile, const GpuSpec& gpu) {
  if (Status status = check_request(id, problem, tile, mask); !status) return status.error();
  return std::unique_ptr<TileProgram>(std::make_unique<Program>(problem, tile, gpu));
}

/// Does the same for a backward program. It takes a mask, and `problem.pass` may be forward or backward.
template <class Program>
Result<std::unique_ptr<TileProgram>> make_backward(std::string_view id, AttentionProblem problem, const ProgramTile& tile,
                                                   const GpuSpec& gpu, ScoreChanges scores = ScoreChanges::refused) {
  if (problem.pass == Pass::backward) problem.pass = Pass::forward;
  if (Status status = check_request(id, problem, tile, Masks::taken, scores); !status) return status.error();
  problem.pass = Pass::backward;
  return std::unique_ptr<TileProgram>(std::make_unique<Program>(problem, tile, gpu));
}

}  // namespace tilescope
