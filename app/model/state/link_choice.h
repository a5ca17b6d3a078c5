// LinkChoice: of which link the Traffic panel shows the bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tilescope {

/// `shared` is reads and writes of shared memory together.
enum class LinkChoice : std::uint8_t { l2_to_sm, sm_to_l2, hbm_read, hbm_write, shared };
inline constexpr std::array link_choices = {LinkChoice::l2_to_sm, LinkChoice::sm_to_l2, LinkChoice::hbm_read, LinkChoice::hbm_write,
                                            LinkChoice::shared};

}  // namespace tilescope
