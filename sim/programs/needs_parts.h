// What the needs of forward and backward kernels have in common.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/core/units.h"
#include "sim/programs/kernel_needs.h"
#include "sim/programs/kernel_profile.h"
#include "sim/programs/occupancy.h"

namespace tilescope {

inline constexpr std::int64_t rows_of_warp = 16;  // rows of one mma.sync
inline constexpr std::int64_t least_registers = 24;

/// Returns whether a block may have the shared memory that our kernels need: every GPU that runs them has at least 99 KiB.
inline bool is_large(const GpuSpec& gpu) {
  return gpu.sm_shared_bytes_per_block >= 99 * 1024;
}

inline bool fits(const KernelNeeds& needs, const GpuSpec& gpu) {
  return why_block_does_not_fit(needs, gpu).empty();
}

inline std::int64_t warps_for(std::int64_t rows, std::int64_t rows_a_warp, std::int64_t most) {
  return std::clamp(ceil_div(rows, rows_a_warp), std::int64_t{1}, most);
}

/// Returns the compiled needs of a launch, without shared memory.
KernelNeeds compiled_needs(const KernelBuild& build, const LaunchReading& reading);

/// The fp32 accumulators of a block: with the requested tile, and with the tile that the kernel was compiled for.
struct BlockSums {
  std::int64_t asked = 0, compiled = 0;
};
/// Sets the threads, and corrects the registers by the change in accumulators per thread.
void set_threads(KernelNeeds& needs, std::int64_t threads, const BlockSums& sums);
/// Sets the warps of a product: `row_warps` along the rows, which share the right operand, and `key_warps` along the keys.
void set_warps(KernelNeeds& needs, std::int64_t row_warps, std::int64_t key_warps, const BlockSums& sums);

/// Returns the rows of a block that shared memory holds, at most 4. `matrices` is how many of S, P and dP the launch `build` reads,
/// and `most_bytes` the most shared memory that the kernel asks for. Rows that do not fit are read twice instead.
KeptRows kept_rows(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu, const KernelBuild& build,
                   std::int64_t matrices, std::int64_t most_bytes);

/// Sets the buffers of `stage_bytes`: as many as `tile` says; if it does not, two if they fit with `fixed_bytes`, otherwise one.
inline void set_stages(KernelNeeds& needs, std::int64_t fixed_bytes, std::int64_t stage_bytes, const ProgramTile& tile,
                       const GpuSpec& gpu) {
  needs.has_ring = true;
  const auto both = static_cast<double>(fixed_bytes + 2 * stage_bytes);
  needs.stages = tile.stages > 0 ? static_cast<int>(tile.stages) : both <= gpu.sm_shared_bytes_per_block ? 2 : 1;
  needs.shared_bytes = fixed_bytes + needs.stages * stage_bytes;
}

/// Returns the tile of FlashAttention-1's paper for a fast memory without an L2: Bc = ⌈M/4d⌉, Br = min(Bc, d).
inline TileShape paper_tile_of(const AttentionProblem& problem, const GpuSpec& gpu) {
  const auto memory = static_cast<std::int64_t>(gpu.sm_shared_bytes_per_block) / element_bytes(problem.dtype);
  const std::int64_t keys = std::max<std::int64_t>(1, ceil_div(memory, 4 * problem.head_dim));
  return {std::min({keys, problem.head_dim, problem.seq_q}), std::min({keys, problem.seq_kv, TileShape::most_rows})};
}

/// Halves the longer edge of a tile until it fits. If even 1 x 1 does not, occupancy() reports why.
template <class Fits>
TileShape shrink(TileShape tile, Fits fits) {
  while (!fits(tile) && (tile.block_q > 1 || tile.block_kv > 1)) {
    std::int64_t& longer = tile.block_kv >= tile.block_q ? tile.block_kv : tile.block_q;
    longer = ceil_div(longer, 2);
  }
  return tile;
}

}  // namespace tilescope
