// What a backward kernel records of one key of the followed row. Device code includes this file too, and NVRTC: it includes
// nothing.
#pragma once

namespace tilescope {

/// In the order of the records. The product of dO and V starts from -D, so the registers hold dP - D.
enum class PairNumber { score, probability, d_p_minus_d, d_s, minus_d };
inline constexpr int probe_pair_numbers = 5;

}  // namespace tilescope
