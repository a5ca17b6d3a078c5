// The listing of each rung of the ladder to Hopper: one table of lines, of which a rung has those that suit it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/programs/attention_tensors.h"
#include "sim/programs/block_builder.h"
#include "sim/programs/hopper_needs.h"

namespace tilescope {

/// The counters of hopper_causal: tickets drawn, and blocks that are done. Both are in one sector.
inline constexpr TensorSpec tickets_spec{.name = "tickets",
                                         .meaning = Meaning::table,
                                         .index = tensor_index::tickets,
                                         .planes = Planes::all,
                                         .rows = Axis::one,
                                         .cols = Axis::one,
                                         .type = DataType::fp32};
inline constexpr Tensor tickets = tickets_spec;

/// Every line that a rung can have.
enum class HopperLine : std::uint8_t {
  load_counts,
  load_lists,
  load_pages,
  producer,
  draw,
  load_q,
  producer_loop,
  load_k,
  load_v,
  hand_back,
  consumer,
  init,
  wait_q,
  key_loop,
  wait_turn,
  wait_k,
  scores,
  wait_v_early,
  weigh_early,
  pass_turn,
  wait_s,
  modify,
  mask,
  row_max,
  exp,
  alpha,
  row_sum,
  wait_o_early,
  rescale,
  wait_v,
  weigh,
  wait_o,
  keep_max,
  wait_groups,
  last_weigh,
  last_wait,
  finish,
  store,
  count
};

/// The listing of a rung, and the number of each of its lines.
class HopperListing {
 public:
  explicit HopperListing(const HopperRung& rung);

  const std::vector<ListingLine>& lines() const { return lines_; }
  /// Returns the line of this rung's listing; the rung must have it.
  LineId operator[](HopperLine line) const {
    enum class Number : int {};
    return static_cast<Number>(number_[static_cast<std::size_t>(line)] - 1);
  }

 private:
  std::vector<ListingLine> lines_;
  std::array<int, static_cast<std::size_t>(HopperLine::count)> number_{};  // from 1; 0: the rung does not have the line
};
const HopperListing& hopper_listing(HopperRungId id);

}  // namespace tilescope
