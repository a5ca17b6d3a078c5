// SweepQuantity: what the Sweep view plots.
#pragma once

#include <cstdint>

namespace tilescope {

/// What is plotted: both directions of HBM, both of the SMs' links to the L2, time, or the most HBM in use at the same time.
enum class SweepQuantity : std::uint8_t { hbm, sm_link, time, memory };

/// Returns whether it counts bytes that move, which the papers and the counters have too.
constexpr bool is_traffic(SweepQuantity quantity) {
  return quantity == SweepQuantity::hbm || quantity == SweepQuantity::sm_link;
}

}  // namespace tilescope
