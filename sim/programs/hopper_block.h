// The operations of a block of the ladder to Hopper: what its producer and its groups do, and how they meet.
//
//   producer     load Q₀ Q₁   load K₀ ─full─►  load V₀ ─full─►          … wait empty, load K₂ …
//   consumer g   wait Q   wait K₀, issue S   wait S ─empty K₀─►  softmax   wait V₀, issue O += P V   wait O ─empty V₀─►
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/masks/score_change.h"
#include "sim/programs/attention_tensors.h"
#include "sim/programs/block_builder.h"
#include "sim/programs/flex_lists.h"
#include "sim/programs/hopper_lines.h"
#include "sim/programs/hopper_needs.h"

namespace tilescope {

// On-chip tiles: those of the other attention programs, but each group has its own strip of every tile of query rows.
namespace hopper_strips {
namespace declared {
inline constexpr ChipTileSpec q = tiles::declared::q.in_strips(), s = tiles::declared::s.in_strips(),
                              p = tiles::declared::p.in_strips(), m = tiles::declared::m.in_strips(),
                              m_new = tiles::declared::m_new.in_strips(), l = tiles::declared::l.in_strips(),
                              alpha = tiles::declared::alpha.in_strips(), lse = tiles::declared::lse.in_strips();
inline constexpr ChipTileSpec o = ChipTileSpec{.name = "O", .tensor = tensors::o, .index = tile_index::o_strips}.in_strips();
}  // namespace declared
inline constexpr ChipTile q = declared::q, s = declared::s, p = declared::p, m = declared::m, m_new = declared::m_new,
                          l = declared::l, alpha = declared::alpha, o = declared::o, lse = declared::lse;
}  // namespace hopper_strips

/// What the blocks of a rung share.
struct HopperCommon {
  const HopperRung& rung;
  const HopperListing& lines;
  BlockPlan plan;
  std::optional<FlexLists> lists;
  ScoreCost cost;
  Overhead of_tile, of_request, of_store;     // of_request: without a producer
  std::int64_t strip_rows = 1, box_rows = 1;  // box_rows: of Q, those of one group also where one thread loads for all
  std::int64_t key_box = 1;                   // rows of a box of K and V: those of a page if a tile fills several
  std::int64_t blocks = 0;                    // of the launch
  std::int64_t staying = 0;                   // blocks that draw tickets; those of the last ones end
};

/// The part of a block.
struct HopperBlock {
  std::int64_t query_tile = 0, plane = 0;
  std::int64_t ticket = -1;  // in the kernel's own order; -1 where blocks draw none
  std::vector<KeyTile> visits;
  std::vector<TileRange> strips;  // the rows of each group
  FlexLists::OfTile lists;        // of the query tile, if there are lists
};

/// Emits a block whose ring has `stages` buffers.
void emit_hopper_block(BlockBuilder& b, const HopperCommon& common, const HopperBlock& block, std::int64_t stages);

/// Of hopper_causal: tickets drawn, and blocks that are done.
inline constexpr int ticket_counters = 2;

}  // namespace tilescope
