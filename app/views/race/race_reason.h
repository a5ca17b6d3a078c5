// race_reason(): names the tensors that make one run move fewer bytes than the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/simulation.h"

namespace tilescope {

/// The tensors that make the difference in L2↔SM traffic.
struct RaceReason {
  std::vector<Tensor> tensors;         // at most two, larger difference first; empty if `second` does not move less
  std::int64_t first = 0, second = 0;  // their bytes in each run
  double share = 0;                    // of the traffic of `first`
  bool same_hbm = false;               // the L2 hides the difference from HBM
};
RaceReason race_reason(const Simulation& first, const Simulation& second);

/// Returns the reason as sentences, longest first; empty if there is none.
std::vector<std::string> race_sentences(const Simulation& first, const Simulation& second);

/// Returns one line per tensor on `up` plus `down`: "S: 2.05 kB, 0 B".
std::string race_by_tensor(const Simulation& first, const Simulation& second, Link up, Link down);

}  // namespace tilescope
