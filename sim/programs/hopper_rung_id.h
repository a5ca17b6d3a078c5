// The rungs of the ladder to Hopper, and the ids of their kernels.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tilescope {

enum class HopperRungId : std::uint8_t {
  wgmma,
  producer,
  three_groups,
  overlap,
  ping_pong,
  persistent,
  causal,
  flex,
  wgmma_longest
};

/// Returns the id of the rung's kernel.
constexpr std::string_view to_string(HopperRungId rung) {
  constexpr std::array<std::string_view, 9> ids = {"hopper_wgmma",   "hopper_producer",  "hopper_three_groups",
                                                   "hopper_overlap", "hopper_ping_pong", "hopper_persistent",
                                                   "hopper_causal",  "hopper_flex",      "hopper_wgmma_longest"};
  return ids[static_cast<std::size_t>(rung)];
}

}  // namespace tilescope
