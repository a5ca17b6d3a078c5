// What the compiled kernel of flex stores of its registers in local memory: NVRTC compiles it for each request, and some spill.
//
//   kernels/flex/spills.txt ── cmake/flex_spills.awk, at build time ──► table by kernel ──► flex_spills_of(problem, tile)
//
// The L1 writes local memory through, so each stored word of a warp is 128 bytes from the SM to the L2. Loads hit the L1.
#pragma once

#include <cstdint>
#include <span>

#include "sim/core/attention_problem.h"

namespace tilescope {

/// The 32-bit words that a thread stores, by how often the code does so.
struct FlexSpills {
  int of_block = 0;      // once a block
  int of_tile = 0;       // for each visited key tile
  int of_columns = 0;    // for each tile that a tile of a partial block follows: what the mask of that one needs of each key
  int of_partial = 0;    // for each tile of a partial block, around the mask
  int of_sight = 0;      // for each tile of which the warp sees a key
  int of_rescaling = 0;  // for each tile in which a maximum of the warp's rows moves
  int of_end = 0;        // for a tile behind which there are no keys, where it is not whole
  bool any() const { return of_block + of_tile + of_columns + of_partial + of_sight + of_rescaling + of_end > 0; }
};

/// One compiled kernel. Equal keys are equal texts of NVRTC.
struct FlexSpillsRow {
  std::uint64_t key = 0;
  FlexSpills spills;
};
/// Returns the kernels that were compiled and spill, sorted by key.
/// Source  kernels/lab/flex_spills.py, in the machine code for sm_90a
std::span<const FlexSpillsRow> flex_spills();

/// Returns the key of the kernel that flex compiles for a problem.
/// Limits  the kernel's own tile
std::uint64_t flex_kernel_key(const AttentionProblem& problem, const TileShape& tile);
/// Returns what the kernel of a problem spills; nothing where it is not in the table, or where no kernel has the tile.
FlexSpills flex_spills_of(const AttentionProblem& problem, const TileShape& tile);

}  // namespace tilescope
