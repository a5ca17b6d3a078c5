// What a tile operation is made of: warp instructions by the pipe that executes them.
//
//   An SM has so many quarters, each with a scheduler that starts one instruction a cycle and four pipes behind it:
//     tensor   mma.sync 16 x 8 x 16, wgmma     alu   maxima, comparisons, conversions to 16 bits
//     exp      ex2                              fp32  multiplications and additions, and whatever else only takes its turn
//
// The counts are those of a tensor-core kernel as it has to be written: an accumulator of mma.sync holds two rows in a group of
// four lanes, operands come by ldmatrix, tiles by 16-byte copies. What a kernel does beyond that its program says
// (Operation::instructions).
#pragma once

#include "sim/programs/tile_program.h"

namespace tilescope {

struct Instructions {
  double issued = 0;                 // of all kinds
  double mma = 0, alu = 0, exp = 0;  // of these
  double wgmma_flops = 0;            // of whole instructions of wgmma: 64 rows, a multiple of 8 columns, 16 summed at a time
  double fp32 = 0;                   // likewise: multiply-adds, multiplications and additions
  double widened = 0;                // conversions from fp16, which take the FP32 pipe at the rate of conversions
};

/// The operation as the kernel executes it: on the whole tile where the block has only a part of it. What it moves stays.
Operation as_executed(const Operation& op, const BlockOperations& block, const KernelNeeds& needs);

/// Warp instructions of all warps of the block.
Instructions instructions_of(const Operation& op, const BlockOperations& block, const KernelNeeds& needs, DataType type);

}  // namespace tilescope
