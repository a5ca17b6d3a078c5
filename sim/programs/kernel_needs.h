// What the kernels need on chip, as functions of the tile, and the tiles they use. The compiler's numbers are in kernel_profile.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/programs/tile_program.h"

namespace tilescope {

/// The products S = QKᵀ of one tile pair each; also the tiled and the untiled matrix product.
KernelNeeds scores_needs(const AttentionProblem& problem, const TileShape& tile);
/// A matrix product that holds one row of Q at a time.
KernelNeeds untiled_needs(const AttentionProblem& problem, const TileShape& tile);

/// Rows of S that a block of the softmax launch owns, and whether they stay in shared memory between its two passes.
struct SoftmaxRows {
  std::int64_t rows = 4;
  bool kept = true;
};
SoftmaxRows softmax_rows(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu);
KernelNeeds softmax_needs(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu);
KernelNeeds output_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu);
KernelNeeds flash1_needs(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu);
KernelNeeds flash2_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu);
/// Softmax of rows that pass through registers: softmax_safe or softmax_online.
KernelNeeds row_softmax_needs(std::string_view id, const AttentionProblem& problem);
KernelNeeds fused_softmax_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu);

/// Elements of a row of S or P that a warp of a softmax fetches in one turn: eight a lane.
inline constexpr std::int64_t elements_of_turn = 32 * 8;

/// Tiles of one row that the threads of a block hold in registers at once: each thread fetches 8 neighbouring elements at a time.
std::int64_t tiles_in_registers(const KernelNeeds& needs, const TileShape& tile);
/// Whether a row of so many elements ends inside what a warp moves at once: its lanes then part ways, and meet again one by one.
bool ends_inside_turn(std::int64_t elements);

// Tiles that the kernels are compiled for.
TileShape scores_kernel_tile(const AttentionProblem& problem);
TileShape flash1_kernel_tile(const AttentionProblem& problem);
TileShape flash2_kernel_tile(const AttentionProblem& problem);
TileShape row_kernel_tile(const AttentionProblem& problem);

// Tiles of a request that names none: the kernel's own, halved until it fits the GPU.
TileShape standard_tile(const AttentionProblem& problem, const GpuSpec& gpu);
/// On a GPU without an L2: Bc = ⌈M/4d⌉, Br = min(Bc, d), M elements of shared memory, cut to the sequence.
/// Source  arXiv:2205.14135, Algorithm 1, line 1
TileShape flash1_tile(const AttentionProblem& problem, const GpuSpec& gpu);
TileShape flash2_tile(const AttentionProblem& problem, const GpuSpec& gpu);
TileShape row_softmax_tile(const AttentionProblem& problem, const GpuSpec& gpu);
TileShape fused_softmax_tile(const AttentionProblem& problem, const GpuSpec& gpu);
TileShape tiled_matmul_tile(const AttentionProblem& problem, const GpuSpec& gpu);
TileShape untiled_matmul_tile(const AttentionProblem& problem, const GpuSpec& gpu);

/// Buffers of the program's ring of key tiles: the most that any of its launches has.
int ring_buffers(const TileProgram& program);
/// 32-bit registers that a block takes on an SM: warps are given registers in units of 256.
std::int64_t registers_of_block(const KernelNeeds& needs);
/// Shared memory that a block takes on an SM beyond its own: what an SM has over the largest block, at most 1 KiB.
std::int64_t reserved_shared_bytes(const GpuSpec& gpu);
/// Why a block with these needs fits no SM of this GPU; empty where it fits.
std::string why_block_does_not_fit(const KernelNeeds& needs, const GpuSpec& gpu);

}  // namespace tilescope
