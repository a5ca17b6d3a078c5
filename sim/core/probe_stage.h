// What a warp of a probed kernel does between two stamps. Device code includes this file too, and NVRTC: it includes nothing.
#pragma once

namespace tilescope {

/// The stage of a warp. Stages begin and end at issue: a product may still be in the tensor core when the next stage begins, and
/// copies land during later stages. `wait` is therefore only the remaining stall on a copy. `load` is a copy plus its whole wait,
/// in kernels that overlap nothing with it. Those from wait_empty on are of kernels whose warps have roles, where `scores` and
/// `product` are only the issue of a product.
enum class ProbeStage : unsigned char {
  prologue,
  wait,
  scores,
  copy_k,
  softmax,
  copy_v,
  product,
  store,
  load,
  copy,
  wait_empty,  // until a buffer is free
  copy_q,
  wait_q,  // until a copy has landed
  wait_k,
  wait_v,
  wait_turn,     // until the group before has issued its products
  wait_scores,   // until S is in registers
  wait_product,  // until O is
  rescale,       // O times alpha, and P rounded
  wait_groups,   // until all groups have read a tile
  ticket,        // until the next tile is drawn
  row_dots,      // of a backward kernel: D of a query tile
  pairs,         // S, P, dP and dS of a pair of tiles, and their products
  other_half,    // what the other warp's half of P and dS adds to dV and dK
  d_q_part,      // dS K, added to dQ
  convert,       // dQ from its sums
};
inline constexpr int probe_stages = static_cast<int>(ProbeStage::convert) + 1;

}  // namespace tilescope
