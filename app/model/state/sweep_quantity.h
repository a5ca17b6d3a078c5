// SweepQuantity: what the Sweep view plots.
#pragma once

#include <cstdint>

namespace tilescope {

/// What is plotted: both directions of HBM, both of the SMs' links to the L2, or time.
enum class SweepQuantity : std::uint8_t { hbm, sm_link, time };

}  // namespace tilescope
