// Block order: in which order the blocks of a launch are given to the SMs. The kernels here launch them plane by plane (a plane is
// a head of a batch), query tile by query tile; another order changes what blocks in flight share, and when the long ones of a
// causal mask begin.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sim/core/attention_problem.h"
#include "sim/core/gpu_spec.h"

namespace tilescope {

enum class BlockOrder : std::uint8_t {
  launch,    // as the kernel has them
  heads,     // heads fastest: the first tile of every head, then the second of every head
  reversed,  // head by head, the last tile first: with a causal mask the longest
  longest,   // heads fastest and the last tile first: the longest of all heads before any shorter one
  grouped,   // as longest, but only over as many heads at a time as their K and V fit the L2
};

struct BlockOrderInfo {
  BlockOrder order;
  std::string_view id;     // "heads"
  std::string_view title;  // "Interleave heads"
};
std::span<const BlockOrderInfo> block_orders();
std::string_view to_string(BlockOrder order);
std::optional<BlockOrder> block_order_from(std::string_view id);

/// Planes of queries whose K and V together fit what one partition of the L2 can hold; without an L2 those that share one K and V.
/// At least one.
std::int64_t planes_that_fit(const AttentionProblem& problem, const GpuSpec& gpu);

/// The order of one launch: a permutation of its blocks.
class BlockSequence {
 public:
  /// `planes` planes follow each other in launch order, each with as many blocks; where they do not, the order stays that of the
  /// launch.
  BlockSequence(BlockOrder order, std::int64_t blocks, std::int64_t planes, std::int64_t group);
  /// The number, in launch order, of the block that comes `turn`-th.
  std::int64_t at(std::int64_t turn) const;

 private:
  BlockOrder order_;
  std::int64_t planes_, within_, group_;
};

}  // namespace tilescope
