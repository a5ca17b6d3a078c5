// What instructions cost an SM, alone and beside one another.
#pragma once

#include "sim/core/result.h"

namespace tilescope::microbench {

/// Rates of one SM, from two warps a quarter.
struct ArithmeticRates {
  double mma_flops = 0, mma_flops_bf16 = 0;  // mma.sync 16x8x16 on 16-bit operands in registers, FLOP a cycle
  double mma_latency = 0;                    // cycles of one whose result the next one adds to
  double product_issue_cycles = 0;           // that softmax arithmetic of one warp takes, an instruction, from products of another
  double product_mixed_cycles = 0;           // the same, where it stands between the products of its own warp
  double dependent_cycles = 0;               // of an FFMA whose result the next one needs
  double fp32_flops = 0;                     // FFMA
  double alu_lanes = 0;                      // maximum
  double pack_lanes = 0;                     // two floats into 16-bit ones
  double exps = 0;                           // ex2
  double shared_bytes = 0;                   // by ldmatrix, without conflicts
  double shared_bytes_conflicting = 0;       // by plain loads all of which want the same bank
};
Result<ArithmeticRates> arithmetic_rates();

}  // namespace tilescope::microbench
