// MemoryOverTime: which tensors are in HBM during each launch of a run, and how much memory the most of them take.
//
//   bytes    standard: P stays for the backward pass        FlashAttention: L alone stays
//     ▲         ┌──┐┌────┐
//     │   ┌─────┘  └┘    └──┐
//     │───┘ forward │ backward└──                           ─────────────────────
//     └──────────────────────────► launches
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/engine/simulation.h"

namespace tilescope {

/// A tensor in HBM during the launches [first, last].
struct TensorLife {
  Tensor tensor;
  Bytes bytes;
  int first = 0, last = 0;
};

/// What the backward pass of a run of both passes finds of the forward pass, and what it costs to make it again instead.
struct Checkpointing {
  Bytes kept;                   // in HBM from the forward to the backward pass, besides Q, K, V, O and their gradients
  std::vector<Tensor> tensors;  // of it
  Bytes hbm;                    // HBM traffic of the forward pass
  Nanoseconds time;             // of the forward pass
};

struct MemoryOverTime {
  std::vector<TensorLife> lives;  // in the order of the program's tensors
  std::vector<Bytes> live;        // by launch
  std::size_t peak_launch = 0;
  std::string peak_formula;  // "3·B·H·N²·e + 8·B·H·N·d·e"; without the pad of rows that are no whole sectors
  bool quadratic = false;    // a tensor with a row of all keys for each query is live at the peak
  std::optional<Checkpointing> checkpointing;

  Bytes peak() const { return live.empty() ? Bytes() : live[peak_launch]; }
};

/// Q, K, V, O and their gradients are in HBM during the whole run. Each other tensor is allocated for the launch that first writes
/// it and freed after the launch that last uses it; if the run finds it in HBM, it is there from the beginning.
MemoryOverTime memory_over_time(const Simulation& simulation);

}  // namespace tilescope
