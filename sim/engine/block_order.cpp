// The block orders as arithmetic on block numbers.
#include "sim/engine/block_order.h"

#include <algorithm>
#include <array>

#include "sim/core/tensor.h"

namespace tilescope {

namespace {

constexpr std::array rows = {
    BlockOrderInfo{BlockOrder::launch, "launch", "Launch order"},
    BlockOrderInfo{BlockOrder::heads, "heads", "Interleave heads"},
    BlockOrderInfo{BlockOrder::reversed, "reversed", "Reverse tile order within each head"},
    BlockOrderInfo{BlockOrder::longest, "longest", "Last tiles of all heads first"},
    BlockOrderInfo{BlockOrder::grouped, "grouped", "Last tiles first, by groups of heads that fit the L2"},
};

}  // namespace

std::span<const BlockOrderInfo> block_orders() {
  return rows;
}

std::string_view to_string(BlockOrder order) {
  return rows[static_cast<std::size_t>(order)].id;
}

std::optional<BlockOrder> block_order_from(std::string_view id) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const BlockOrderInfo& row) { return row.id == id; });
  return found == rows.end() ? std::nullopt : std::optional(found->order);
}

BlockSequence::BlockSequence(BlockOrder order, std::int64_t blocks, std::int64_t planes, std::int64_t group)
    : order_(blocks % planes == 0 ? order : BlockOrder::launch),
      planes_(planes),
      within_(std::max<std::int64_t>(1, blocks / planes)),
      group_(std::clamp<std::int64_t>(group, 1, planes)) {}

std::int64_t BlockSequence::at(std::int64_t position) const {
  switch (order_) {
    case BlockOrder::launch:
      break;
    case BlockOrder::heads:
      return position % planes_ * within_ + position / planes_;
    case BlockOrder::reversed:
      return position / within_ * within_ + within_ - 1 - position % within_;
    case BlockOrder::longest:
      return position % planes_ * within_ + within_ - 1 - position / planes_;
    case BlockOrder::grouped: {
      const std::int64_t first = position / (group_ * within_) * group_, rest = position - first * within_;
      const std::int64_t here = std::min(group_, planes_ - first);
      return (first + rest % here) * within_ + within_ - 1 - rest / here;
    }
  }
  return position;
}

}  // namespace tilescope
