// The FLOPs of a run, as papers count them, and how hard they work the tensor cores.
#pragma once

#include "app/model/measurements/borrowed_clock.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// Returns the FLOP count that FlashAttention's papers and PyTorch use for what was simulated: 4 B H Nq Nk D, half of it with a
/// causal mask and Nq = Nk, the visible share of it with another mask or other lengths, and 2.5 times as much for a backward pass
/// (nominal_flops()). Without a kernel of its own, and for both passes together: the products that the program computes. 0 where
/// too many elements would have to be counted.
double useful_flops(const Simulation& simulation);
/// Returns how hard a run works the tensor cores.
TensorLoad load_of(const Simulation& simulation);

}  // namespace tilescope
