// What the host passes to the launches of a backward kernel: one struct by value. NVRTC compiles this file too.
#pragma once

#include <cstdint>

namespace tilescope::device {

struct GradientArguments {
  const void* q;
  const void* k;
  const void* v;
  const void* o;
  const void* d_o;
  const float* lse;
  float* delta;
  float* dq_acc;
  void* dq;
  void* dk;
  void* dv;
  int seq_q, seq_kv;
  int heads, kv_heads;
  float scale;
  int copies;     // of dQ_acc
  int run_tiles;  // key tiles that one block of the gradient launch handles
};

}  // namespace tilescope::device
