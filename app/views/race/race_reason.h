// race_reason(): says why one run of a race is slower, from what bounds it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/analysis/next_limit.h"
#include "sim/analysis/outcome.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// What bounds the slower run, and the tensors whose bytes account for it.
struct RaceReason {
  bool any = false;  // false where both take the same time
  bool first_is_slower = true;
  Bound bound = Bound::latency;  // of the slower run
  double busy = 0;               // fraction of the run in which that resource works; 0 for latency
  double hbm_busy = 0;           // the same for HBM
  /// Bytes are credited only where HBM or the L2 bounds the slower run: at most two tensors, larger difference first. Empty
  /// where the faster run does not move less.
  std::vector<Tensor> tensors;
  std::int64_t slower = 0, faster = 0;  // their bytes on the link that bounds
  double share = 0;                     // of the slower run's traffic on that link
  bool same_hbm = false;                // until the run ends; what is dirty in the L2 then may differ
};
RaceReason race_reason(const Simulation& first, const Simulation& second);

/// Returns the reason as sentences, longest first; empty if there is none.
std::vector<std::string> race_sentences(const Simulation& first, const Simulation& second);

/// Says what the slower of two runs has more of, from what bounds it: bytes of a link, work of a unit, SMs without a block or
/// waiting. `slow_name` and `fast_name` stand before their figures. Empty where `slow` is not slower.
std::string slower_reason(const Outcome& slow, const Outcome& fast, const std::string& slow_name, const std::string& fast_name);

/// Says what bounds a run and the same run without its mask, and what the slower of them moves more of. `limit`: of the masked run;
/// null while it is unknown.
std::string mask_reason(const Simulation& masked, const Simulation& dense, const NextLimit* limit);

/// Returns what the L2 writes back after each run, or "".
std::string race_written_after(const Simulation& first, const Simulation& second);
/// Returns one line per tensor on `up` plus `down` by the end of the runs: "S: 2.05 kB, 0 B".
std::string race_by_tensor(const Simulation& first, const Simulation& second, Link up, Link down);

}  // namespace tilescope
