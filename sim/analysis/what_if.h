// What if: the same kernel and problem on a machine that is changed in one way, so that the difference says what that one thing
// costs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/analysis/outcome.h"

namespace tilescope {

/// One change. Texts are in English; the window translates them.
struct WhatIf {
  std::string_view id;     // "l2_unlimited"
  std::string_view title;  // "Unlimited L2"
  std::string_view asks;   // what the difference answers, one sentence
  std::vector<std::string>
      assignments;  // "hbm.bytes_per_second=2.4e12": what --set would be given; empty where the problem or the order changes
  SimulationRequest request;  // the changed one
};

/// The changes that mean something on this GPU and problem, each with the tile of the real one; `real` has the GPU as its file has
/// it.
std::vector<WhatIf> what_ifs(const SimulationRequest& real);

/// A change and what came of it.
struct WhatIfRow {
  WhatIf what;
  std::optional<Outcome> outcome;
};
struct WhatIfTable {
  SimulationRequest real;
  std::optional<Outcome> base;  // of `real`
  std::vector<WhatIfRow> rows;
  std::size_t done() const;
  /// Returns the fraction of the run's time below which a change says nothing: the least that another block order changes it, or
  /// what a faster unit costs or a slower one gains, where that is more. 0 until such a row is simulated.
  double noise() const;
};

}  // namespace tilescope
