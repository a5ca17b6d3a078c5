// Collects a block's key tiles.
#include "app/model/run_data/key_visits.h"

namespace tilescope {

std::vector<std::int32_t> visited_key_tiles(const BlockOperations& block, std::int32_t q_tile) {
  std::vector<std::int32_t> visited;
  std::vector<bool> seen;
  for (const Operation& operation : block.operations) {
    if (operation.kv_tile < 0 || operation.q_tile != q_tile) continue;
    const auto tile = static_cast<std::size_t>(operation.kv_tile);
    if (tile >= seen.size()) seen.resize(tile + 1);
    if (!seen[tile]) visited.push_back(operation.kv_tile);
    seen[tile] = true;
  }
  return visited;
}

}  // namespace tilescope
