// Outcome: the few figures that a study keeps of each of its simulations, and comparisons of requests and GPUs.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "sim/core/tensor.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// The relative change of time below which two runs count as equally quick, even where nothing else is known of the noise.
inline constexpr double least_difference = 0.005;
/// Returns whether a run would take longer if no read of the L2 shared a lookup.
inline bool l2_may_decide(double unshared_ns, double time_ns) {
  return unshared_ns > (1 + least_difference) * time_ns;
}

/// The same run at the clock that its GPU holds under it (app/model/measurements/clock_under_load.h).
struct UnderLoad {
  double clock_hz = 0, time_ns = 0;  // 0: no such clock is known
  double recorded_ns = 0;            // time of the same run on real hardware; 0: not recorded
  bool operator==(const UnderLoad&) const = default;
};

struct Outcome {
  Sentence refusal;  // why it was not simulated; empty if it was
  TileShape tile;
  int blocks_per_sm = 0;                   // of the longest launch
  int buffers = 0;                         // of the tiles that are loaded in every iteration; 0: the program has no such ring
  std::array<double, link_count> bytes{};  // by Link
  double hbm_write_queued_bytes = 0;       // part of hbm_write that HBM writes after the end
  double hbm_write_after_flush_bytes = 0;  // hbm_write plus the bytes still dirty in the L2 at the end
  double cycles = 0, time_ns = 0;
  double balanced_ns = 0;      // a lower bound of the time with perfect balance; 0: unknown
  double unshared_ns = 0;      // a lower bound of the time if no read of the L2 shared a lookup: of the L2 alone
  double live_peak_bytes = 0;  // the most HBM in use at the same time, as memory_over_time() counts it
  double flops = 0;
  double useful_flops = 0;  // those that the result needs; 0: not asked for
  UnderLoad under_load;     // only where it was asked for
  Bound bound = Bound::latency;
  std::array<double, bound_names.size()> utilisation{};  // by Bound, as in Simulation
  SmUse sms;

  bool done() const { return refusal.empty(); }
  bool l2_may_decide() const { return tilescope::l2_may_decide(unshared_ns, time_ns); }
  double on(Link link) const { return bytes[static_cast<std::size_t>(link)]; }
  /// Return both directions together, as the counters have them when the run ends.
  double hbm() const { return on(Link::hbm_read) + on(Link::hbm_write); }
  /// Returns the bytes still dirty in the L2 when the run ends. They cross to HBM later and are no part of hbm().
  double dirty() const { return hbm_write_after_flush_bytes - on(Link::hbm_write); }
  /// Return the bytes that HBM moves before the run ends, and those that it writes after it.
  double hbm_in_time() const { return hbm() - hbm_write_queued_bytes; }
  double hbm_after() const { return dirty() + hbm_write_queued_bytes; }
  double sm_link() const { return on(Link::l2_to_sm) + on(Link::sm_to_l2); }
  /// Returns the time at the clock under load, or at the simulated clock where no other is known.
  double wall_ns() const { return under_load.time_ns > 0 ? under_load.time_ns : time_ns; }
  double flops_per_second() const { return wall_ns() > 0 ? useful_flops / wall_ns() * 1e9 : 0; }
  bool operator==(const Outcome&) const = default;
};

/// Returns the figures of a run, without those under load and without useful_flops.
Outcome outcome_of(const Simulation& simulation);
/// Returns the operations of attention's two products for one score, 4d: so many go with each exponential.
constexpr double flops_per_score(const AttentionProblem& problem) {
  return 4.0 * static_cast<double>(problem.head_dim);
}

/// Returns the operations of the products that the result of attention needs, whatever a program computes of hidden scores. With a
/// mask of its own, it is the least of `computed`: those that programs compute.
double needed_flops(const AttentionProblem& problem, std::span<const double> computed);
/// Returns the outcome of what simulate() gave for a request; of a refusal, one that says why.
/// Errors  cancelled
Result<Outcome> outcome_of(const Result<std::shared_ptr<const Simulation>>& made, const SimulationRequest& request);

/// Return the HBM bytes of a run, of all tensors or of one, both directions together, as the counters have them when it ends.
std::int64_t hbm_bytes(const Simulation& simulation);
std::int64_t hbm_bytes(const Simulation& simulation, Tensor tensor);

/// Return the bytes still dirty in the L2 when the run ends. They cross to HBM later and are no part of hbm_bytes(), but a run that
/// leaves them there has not saved them: whoever shows hbm_bytes() says them too.
std::int64_t dirty_bytes_at_end(const Simulation& simulation);
std::int64_t dirty_bytes_at_end(const Simulation& simulation, Tensor tensor);

/// Simulates a request and keeps its figures. A request that simulate() refuses gives an outcome with its refusal.
/// Errors  cancelled
Result<Outcome> simulate_outcome(const SimulationRequest& request, const Progress& progress = {});

/// Returns whether all numbers of two GPUs are equal; their sources may differ.
bool same_numbers(const GpuSpec& a, const GpuSpec& b);
/// Returns whether two requests ask for the same simulation, apart from the focused SM.
bool same_request(const SimulationRequest& a, const SimulationRequest& b);

}  // namespace tilescope
