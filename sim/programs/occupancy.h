// Occupancy: how many blocks of a launch an SM holds at once, and what limits them.
#pragma once

#include <cstdint>

#include "sim/programs/tile_program.h"

namespace tilescope {

/// The blocks of one launch that an SM holds at once, and the resource that limits them.
struct Occupancy {
  int blocks_per_sm = 0;
  enum class Limit { blocks, threads, registers, shared } limit = Limit::blocks;
};
/// Computes the occupancy of a launch.
/// Errors  a block that does not fit an SM, with both numbers:
///         "tile 256x128 at head_dim 128 needs 160 KiB of shared memory; toy has 64 KiB: use a smaller block_q or block_kv";
///         for wgmma it names registers too
Result<Occupancy> occupancy(const TileProgram& program, const LaunchSpec& launch, const GpuSpec& gpu);

/// Returns why a block with these needs does not fit an SM; "" if it fits. Where products are mma.sync, a thread that wants too
/// many registers spills some. wgmma writes its sums while the thread goes on, so they cannot leave their registers: such a tile
/// does not fit.
Sentence why_block_does_not_fit(const KernelNeeds& needs, const GpuSpec& gpu);
/// Returns the 32-bit registers that a block takes on an SM; they are allocated to warps in units of 256.
std::int64_t registers_of_block(const KernelNeeds& needs);
/// Returns the shared memory that the system reserves per block: the SM's excess over the largest block, at most 1 KiB.
std::int64_t reserved_shared_bytes(const GpuSpec& gpu);

}  // namespace tilescope
