// What backward kernels need on chip. No kernel is recorded yet: every number here is an estimate from the published structure.
//
//   Source  FlashAttention-2's backward for sm_80: 8 warps, Q in two buffers, one each of dO, K and V, P and dS in shared memory:
//           (3·Br·d + 2·Bc·d + 2·Br·Bc)·e bytes; S, dP, dK and dV in registers; tiles 128x128 at d 64, 64x128 at 128, 64x64 beyond.
#pragma once

#include <cstdint>

#include "sim/programs/tile_program.h"

namespace tilescope {

/// D of a tile of queries, or the conversion of a tile of fp32 sums: rows of a head in, rows of a head out.
KernelNeeds row_pass_needs(const AttentionProblem& problem, const TileShape& tile);
/// A block that keeps a key tile, sums its dK and dV, and lets Q and dO pass.
KernelNeeds flash2_backward_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu);
/// The same launch with blocks that keep a query tile, sum its dQ, and let K and V pass.
KernelNeeds two_pass_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu);
/// A block that keeps a head. Without an L2 the tile is the paper's, whose eight pieces the paper counts as Θ(M): K, V and Q are
/// counted here.
KernelNeeds flash1_backward_needs(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu);

/// A product of one pair of tiles that is stored: dP = dO Vᵀ.
KernelNeeds pair_product_needs(const AttentionProblem& problem, const TileShape& tile);
/// A product of a tile of a row or column of dS or P with rows of a head, summed over `kept` rows: dQ by rows, dV and dK by
/// columns.
KernelNeeds sum_product_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu, Axis kept);
/// Rows of P and dP that a block of the dS launch owns, and whether they stay in shared memory between its two passes.
struct GradientRows {
  std::int64_t rows = 4;
  bool kept = true;
};
GradientRows gradient_rows(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu);
KernelNeeds gradient_rows_needs(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu);

TileShape flash2_backward_tile(const AttentionProblem& problem, const GpuSpec& gpu);
TileShape two_pass_tile(const AttentionProblem& problem, const GpuSpec& gpu);
/// On a GPU without an L2: Bc = ⌈M/4d⌉, Br = min(Bc, d), as forward.
/// Source  arXiv:2205.14135, Algorithm 4, line 2
TileShape flash1_backward_tile(const AttentionProblem& problem, const GpuSpec& gpu);
TileShape standard_backward_tile(const AttentionProblem& problem, const GpuSpec& gpu);

}  // namespace tilescope
