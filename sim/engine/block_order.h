// BlockOrder: the order in which a launch hands its blocks to the SMs.
//
// Most kernels go plane by plane (a plane is one head of one batch), query tile by query tile; the last Hopper kernels take the
// last tiles of a set of planes first. Another order changes which data resident blocks share, and when the long blocks of a causal
// mask start.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sim/core/attention_problem.h"
#include "sim/core/gpu_spec.h"

namespace tilescope {

enum class BlockOrder : std::uint8_t {
  launch,    // kernel default
  heads,     // interleave heads: the first tile of every head, then the second of every head
  reversed,  // head by head, last tile first; a causal mask makes the last tile the longest
  longest,   // interleave heads, last tile first: the longest tiles of all heads come before any shorter one
  grouped,   // longest, within sets of heads whose K and V fit a partition of the L2 (planes_together.h)
};

struct BlockOrderInfo {
  BlockOrder order;
  std::string_view id;     // "heads"
  std::string_view title;  // "Interleave heads"
};
std::span<const BlockOrderInfo> block_orders();
std::string_view to_string(BlockOrder order);
std::optional<BlockOrder> block_order_from(std::string_view id);

/// The order of one launch: a permutation of its blocks.
class BlockSequence {
 public:
  /// In launch order, `planes` planes follow one another with equally many blocks each. If `planes` does not divide `blocks`, the
  /// sequence is the launch order.
  BlockSequence(BlockOrder order, std::int64_t blocks, std::int64_t planes, std::int64_t group);
  /// Returns the launch-order number of the block that comes `position`-th in this order.
  std::int64_t at(std::int64_t position) const;

 private:
  BlockOrder order_;
  std::int64_t planes_, within_, group_;
};

}  // namespace tilescope
