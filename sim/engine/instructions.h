// Instructions: the warp instructions of a tile operation, by the pipe that executes them.
//
//   An SM has sub-partitions (sm.sub_partitions), each with a scheduler that issues one instruction a cycle to four pipes:
//     tensor   mma.sync 16 x 8 x 16, wgmma     alu   maxima, comparisons, conversions to 16 bits
//     exp      ex2                              fp32  multiplications, additions, and everything that needs only an issue slot
//
// The counts follow from how a tensor-core kernel must be written: a group of four lanes holds two rows of an mma.sync accumulator,
// operands come by ldmatrix, tiles by 16-byte copies. A program adds its kernel's further instructions (Operation::instructions).
#pragma once

#include "sim/programs/tile_program.h"

namespace tilescope {

inline constexpr double mma_flops = 2 * 16 * 8 * 16;  // of an mma.sync 16 x 8 x 16

struct Instructions {
  double issued = 0;                 // all kinds together
  double mma = 0, alu = 0, exp = 0;  // part of `issued`
  double wgmma_flops = 0;            // FLOP of whole wgmma instructions: 64 rows, a multiple of 8 columns, depth 16
  double fp32 = 0;                   // part of `issued`: multiply-adds, multiplications and additions
  double widened = 0;                // conversions from fp16; they occupy the FP32 pipe at the ALU rate
  double in_calls = 0;               // cycles of warps in calls, see ElementCost
};

/// Returns the operation that the kernel executes: the whole tile, even where the block has only a part of it. It is for counting
/// instructions; the bytes that move are those of `op`.
Operation as_executed(const Operation& op, const BlockOperations& block);

/// Counts the warp instructions of `op`, all warps of the block together.
Instructions instructions_of(const Operation& op, const BlockOperations& block, const KernelNeeds& needs, DataType type);

/// Returns whether the copy engine adds a tile from shared memory, and the warps go on.
bool is_bulk_addition(const Operation& op, const BlockOperations& block, const KernelNeeds& needs);

inline constexpr std::int64_t most_box_rows = 256;
inline constexpr std::int64_t swizzle_bytes = 128;  // the span of the swizzle: a panel of a tile has so many bytes of each row
/// Counts the boxes in which TMA fetches a tile. A box has at most most_box_rows rows, and all their panels.
double boxes_of(const Operation& op);
/// Counts the boxes of a tile that lies in pages of so many rows: each has one panel, and no rows of another page.
double boxes_of_pages(const Operation& op, std::int64_t page_rows);

}  // namespace tilescope
