// What-if studies: the same kernel and problem with one change of the GPU or the order. The difference in time is what it costs.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/analysis/outcome.h"

namespace tilescope {

/// What a change of the GPU acts on, so that a table can say why it has no effect.
struct WhatIfPart {
  std::optional<Bound> resource = {};  // whose rate changes
  bool faster = true;                  // that rate; else it is lower
  bool room_on_sm = false;             // more blocks or buffers may fit an SM
};

/// One change. Texts are in English; the window translates them.
struct WhatIf {
  std::string_view id;     // "l2_unlimited"
  std::string_view title;  // "Unlimited L2"
  std::string_view asks;   // the question that the difference answers
  /// Arguments of --set, such as "hbm.bytes_per_second=2.4e12"; empty if the problem or an order changes.
  std::vector<std::string> assignments;
  SimulationRequest request;  // with the change
  WhatIfPart part = {};
};

/// Returns the changes that make a difference on this GPU and problem, each with the tile of `real`. `real` has an unmodified GPU.
std::vector<WhatIf> what_ifs(const SimulationRequest& real);

/// The order of events alone changes a time a little: which of two requests came first, and so on. To see how much, a run is
/// simulated with settings so near that they cannot matter: one latency a cycle longer, and a cycle shorter; HBM a little slower,
/// and as much faster. What the cycle itself costs, one adds and the other saves: it cancels. What a bandwidth costs is at most its
/// own relative change. The rest is noise.
struct Jitter {
  SimulationRequest longer, shorter;
  double most_effect = 0;  // the largest relative change of the time that the setting itself can make; 0: unknown, it cancels
  std::optional<Outcome> longer_outcome = {}, shorter_outcome = {};
};
/// Returns one for each latency of the memory that the GPU has, and two for the bandwidth of HBM, with the tile of `real`.
std::vector<Jitter> jitters(const SimulationRequest& real);
/// Returns the range of the jitters' times, relative to `time_ns`, without what their settings cost: two runs whose difference
/// means nothing can lie at its ends. Jitters that are not simulated are left out.
double noise_of(std::span<const Jitter> jitters, double time_ns);
/// Simulates the jitters of `real`, whose time is `time_ns`, by `run`, and returns their noise_of(), at least least_difference.
/// Errors  those of `run`
Result<double> find_noise(const SimulationRequest& real, double time_ns,
                          const std::function<Result<Outcome>(const SimulationRequest&)>& run);

/// A change and its outcome.
struct WhatIfRow {
  WhatIf what;
  std::optional<Outcome> outcome;
};
struct WhatIfTable {
  SimulationRequest real;
  std::optional<double> clock_hz = {};  // of every row; 0: that of its GPU. absent until it is known
  std::optional<Outcome> base;          // outcome of `real`
  std::vector<WhatIfRow> rows;
  std::vector<Jitter> jitters;  // of `real`
  std::size_t done() const;
  std::size_t total() const { return 1 + rows.size() + 2 * jitters.size(); }
  /// Returns the relative change of time below which a result is noise: noise_of() its jitters or, if larger, the largest slowdown
  /// by a faster unit or speedup by a slower one. 0 until such a run is simulated.
  double noise() const;
};

}  // namespace tilescope
