// Instruction throughput and latency of an SM, alone and mixed.
#pragma once

#include "sim/core/result.h"

namespace tilescope::microbench {

/// Rates of one SM, measured with two warps on each of its four sub-partitions. Units are per cycle unless the name says cycles.
struct ArithmeticRates {
  double mma_flops = 0, mma_flops_bf16 = 0;  // mma.sync 16x8x16 on 16-bit operands in registers, FLOP a cycle
  double mma_latency = 0;                    // cycles of an mma.sync whose sums the next one needs
  double product_issue_cycles = 0;           // issue cycles a softmax instruction of one warp takes from the products of another
  double product_mixed_cycles = 0;           // the same for softmax instructions between the products of their own warp
  double dependent_cycles = 0;               // latency of an FFMA whose result the next one needs
  double fp32_flops = 0;                     // FFMA
  double alu_lanes = 0;                      // FMNMX
  double pack_lanes = 0;                     // packing two floats into 16-bit ones
  double exps = 0;                           // ex2
  double shared_bytes = 0;                   // ldmatrix without bank conflicts
  double shared_bytes_conflicting = 0;       // plain loads that all hit one bank
};
Result<ArithmeticRates> arithmetic_rates();

}  // namespace tilescope::microbench
