// BlockQueue: the blocks of a launch that no SM has taken yet, in the order in which the GPU hands them out.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/engine/block_order.h"

namespace tilescope {

class BlockQueue {
 public:
  /// Starts with blocks [first, first + count). `stride`: of a persistent launch that does not draw, positions from a place's block
  /// to its next one; otherwise 0.
  void begin(const BlockSequence& order, std::int64_t first, std::int64_t count, std::int64_t stride, double start) {
    order_ = order;
    first_ = first;
    count_ = count;
    stride_ = stride;
    next_ = 0;
    next_start_ = start;
  }
  std::int64_t count() const { return count_; }
  std::int64_t left() const { return count_ - next_; }
  /// Returns the number of the block at a position.
  std::int64_t number(std::int64_t position) const { return first_ + order_.at(position); }
  /// Takes the next block; returns its position.
  std::int64_t take() { return next_++; }
  /// Takes the block that a persistent block goes on with after the one at `position`; -1 if there is none.
  std::int64_t take_after(std::int64_t position) {
    const std::int64_t found = stride_ > 0 ? position + stride_ : next_;
    if (found >= count_) return -1;
    if (stride_ == 0) ++next_;
    return found;
  }
  /// Returns when a block that has a place from `time` on starts. The GPU launches one every `cycles`, whatever SM it goes to.
  double start_after(double time, double cycles) {
    time = std::max(time, next_start_);
    next_start_ = time + cycles;
    return time;
  }

 private:
  BlockSequence order_{BlockOrder::launch, 1, 1, 1};
  std::int64_t first_ = 0, count_ = 0, next_ = 0, stride_ = 0;
  double next_start_ = 0;  // earliest start of the next block
};

}  // namespace tilescope
