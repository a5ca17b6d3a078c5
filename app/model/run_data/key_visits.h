// Key visits: which key tiles a block works on, in its order. A masked block leaves some out.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/programs/operation.h"

namespace tilescope {

/// The key tiles that the block's operations on query tile `q_tile` name, each once, in order of its first visit.
std::vector<std::int32_t> visited_key_tiles(const BlockOperations& block, std::int32_t q_tile);

}  // namespace tilescope
