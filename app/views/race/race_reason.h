// Why one of two runs moves fewer bytes than the other: which tensors the difference is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/simulation.h"

namespace tilescope {

/// The tensors that make the difference between L2 and SMs, both directions.
struct RaceReason {
  std::vector<Tensor> tensors;         // at most two, the larger difference first; empty where `second` does not move less
  std::int64_t first = 0, second = 0;  // their bytes in either run
  double share = 0;                    // of all that `first` moves
  bool same_hbm = false;               // the L2 hides the difference from HBM
};
RaceReason race_reason(const Simulation& first, const Simulation& second);

/// The reason as a sentence, the longest form first; empty where there is none.
std::vector<std::string> race_sentences(const Simulation& first, const Simulation& second);

/// "S 2.05 kB, 0 B" a line for every tensor that either of them moves on `up` and `down` together.
std::string race_by_tensor(const Simulation& first, const Simulation& second, Link up, Link down);

}  // namespace tilescope
