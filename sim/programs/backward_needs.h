// The on-chip needs of backward kernels as functions of the tile, and their default tiles. kernel_profile.h has the compiler's
// numbers.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/programs/kernel_needs.h"

namespace tilescope {

/// Needs of the row-wise launches of a kernel: D of a query tile, and the conversion of a tile of fp32 sums.
KernelNeeds row_dot_needs(std::string_view id, const AttentionProblem& problem, const TileShape& tile);
KernelNeeds convert_needs(std::string_view id, const AttentionProblem& problem, const TileShape& tile);
/// Needs of a block that keeps a key tile, accumulates its dK and dV, and streams Q and dO.
KernelNeeds flash2_backward_needs(std::string_view id, const AttentionProblem& problem, const ProgramTile& tile,
                                  const GpuSpec& gpu);
/// Needs of flash3_backward's launch of such blocks: a producer, and groups of four warps that compute, each with its part of the
/// keys.
inline constexpr int flash3_backward_groups = 2;
KernelNeeds flash3_backward_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu);
/// Needs of a mixed launch: such blocks, and blocks that keep a query tile, accumulate its dQ, and stream K and V.
KernelNeeds two_pass_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu);
/// Returns the same of flex_backward: with the lengths of lists, and the cost of its expressions.
KernelNeeds flex_backward_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu);
/// Needs of a block that handles a head. Without an L2 the tile is the paper's. Its eight pieces are Θ(M) in the paper; here only
/// K, V and Q count.
KernelNeeds flash1_backward_needs(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu);

/// Needs of a product of one tile pair whose result is stored: dP = dO Vᵀ.
KernelNeeds pair_product_needs(const AttentionProblem& problem, const TileShape& tile);
/// Needs of a product that streams tiles of dS or P and accumulates the rows along `kept`: query rows for dQ, key rows for dV, dK.
KernelNeeds sum_product_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu, Axis kept);
/// Returns the rows of P and dP of a block of the dS launch.
KeptRows gradient_rows(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu);
KernelNeeds gradient_rows_needs(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu);

/// Return the tiles that the kernels of flash2's backward pass, and that flash3_backward, are compiled for.
TileShape flash2_backward_kernel_tile(const AttentionProblem& problem);
TileShape flash3_backward_kernel_tile(const AttentionProblem& problem);
inline constexpr std::int64_t most_gradient_sums = 4;
/// Returns the copies of dQ's sums in flash2_backward_deterministic: as many runs of key tiles as give every SM a block, at most
/// most_gradient_sums.
std::int64_t gradient_sum_copies(const AttentionProblem& problem, const TileShape& tile, double sm_count);

TileShape flash2_backward_tile(const AttentionProblem& problem, const GpuSpec& gpu);
TileShape flash3_backward_tile(const AttentionProblem& problem, const GpuSpec& gpu);
TileShape two_pass_tile(const AttentionProblem& problem, const GpuSpec& gpu);
TileShape flex_backward_tile(const AttentionProblem& problem, const GpuSpec& gpu);
/// Returns the default tile. On a GPU without an L2 it is the paper's: Bc = ⌈M/4d⌉, Br = min(Bc, d), as in the forward pass.
/// Source  arXiv:2205.14135, Algorithm 4, line 2
TileShape flash1_backward_tile(const AttentionProblem& problem, const GpuSpec& gpu);
TileShape standard_backward_tile(const AttentionProblem& problem, const GpuSpec& gpu);

}  // namespace tilescope
