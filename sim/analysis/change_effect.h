// ChangeEffect: what a changed GPU does to a run, and whether that is more than noise.
#pragma once

#include <cmath>

#include "sim/analysis/outcome.h"

namespace tilescope {

struct ChangeEffect {
  Outcome unchanged;  // the same run on the GPU as its file has it
  double change = 0;  // of the time by the change: -0.1 is 10 % shorter
  double noise = 0;   // relative change that the order of events alone makes: noise_of() the jitters, at least least_difference
  bool is_noise() const { return std::abs(change) <= noise; }
};

/// Simulates a run again on `unchanged`, with the same tile, and its jitters there.
/// Errors  those of simulate() on that GPU; cancelled
Result<ChangeEffect> effect_of_change(const Simulation& changed, const GpuSpec& unchanged, const Progress& progress = {});

}  // namespace tilescope
