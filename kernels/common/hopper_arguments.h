// The arguments of every Hopper kernel.
#pragma once

#include <cuda.h>

namespace tilescope::device {

struct HopperArguments {
  CUtensorMap q, k, v, o;
  float* lse;
  unsigned* tickets;  // of kernels that draw their tiles: the next tile, and the number of blocks that are done
  int seq_q, seq_kv;
  int heads, kv_heads;
  int planes, planes_together;  // planes (batch x heads) whose K and V fit the L2 together
  float scale;
};

}  // namespace tilescope::device
