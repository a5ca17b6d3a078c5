// The FLOP count that FlashAttention's papers and PyTorch use: what the result needs, whatever a kernel computes for it.
#pragma once

#include "kernels/kernel_table.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// Returns the count for a kernel without a mask matrix: nominal_flops(), and with a causal mask over other lengths than Nq = Nk
/// the visible share.
double useful_flops(const KernelInfo& kernel, const AttentionProblem& problem);
/// Returns the count for what was simulated: 4 B H Nq Nk D, half of it with a causal mask and Nq = Nk, the visible share of it with
/// another mask or other lengths, and 2.5 times as much for a backward pass. Without a kernel of its own, and for both passes
/// together: the products that the program computes. 0 where too many elements would have to be counted.
double useful_flops(const Simulation& simulation);

}  // namespace tilescope
