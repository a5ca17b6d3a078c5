// An outcome in words: its bottleneck, what lifting it saves, how much faster it is, and the bytes written back after it.
#pragma once

#include <string>
#include <string_view>

#include "sim/analysis/next_limit.h"
#include "sim/analysis/outcome.h"

namespace tilescope {

/// Names a bound, as a label: "tensor cores", "HBM bandwidth".
const char* bound_name(Bound bound);
/// Names a bound and, where many SMs never get a block, the others: "tensor cores on 4 of 132 SMs".
std::string bound_text(Bound bound, const SmUse& sms);

/// What bounds a run, for the sentences that say it.
struct RunBound {
  Bound bound = Bound::latency;  // its busiest resource
  SmUse sms = {};
  double busy = 1;                   // share of that resource, as in Simulation
  const NextLimit* limit = nullptr;  // the run without it; null: not simulated

  /// Whether SMs without a block cost more than the busiest resource does: without that, the run would be shorter by less than the
  /// share of the SM time that has no block. Until the run without it is known, it is taken to save all the time that it is busy.
  /// All SMs share L2 and HBM, so SMs without a block do not add to those.
  bool idle_decides() const;
};
RunBound bound_of(const Simulation& run, const NextLimit* limit = nullptr);
RunBound bound_of(const Outcome& run, const NextLimit* limit = nullptr);
/// Whether two runs have the same bottleneck. Where SMs without a block decide both, their busiest resources may differ.
bool same_bottleneck(const RunBound& a, const RunBound& b);

/// Names SMs without a block as what bounds a run: "SMs without a block (73.2 % of the SM time)".
std::string idle_bound_text(const SmUse& sms);
/// Says how many SMs idle, after bound_text(): "; the others have no block". Empty if few do, or if the sentence before says it.
std::string idle_text(const RunBound& run);
/// Returns a share in whole per cents: "78 %".
std::string whole_percent(double share);
/// Says how busy a resource is: "78 % busy" of the run where all SMs share it, else "busy 94 % of the SM time with a block".
std::string busy_text(Bound bound, std::string_view percent);
/// Says what HBM bytes leave out: "2.30 kB more are written back after the run."; empty where the L2 ends clean.
std::string written_after_text(double dirty_bytes);
/// The same of two runs side by side.
std::string written_after_text(double first, double second);
/// Compares two times: "4.9× faster", "1.20× slower", "same time".
std::string speed_text(double now, double before);
/// Returns "At least 1.52 ms if no read shares an L2 lookup. …" of a run on a changed GPU.
std::string unshared_text(const Outcome& outcome);
/// Returns "Without this limit: 20× faster, then limited by the FP32 units", of a run whose limit is known.
std::string next_limit_text(const RunBound& run);
/// Returns "Bottleneck: HBM bandwidth", or what is only the busiest where lifting it saves little.
std::string bottleneck_text(const RunBound& run);

}  // namespace tilescope
