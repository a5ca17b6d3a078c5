// SoftmaxFigures: the row of the softmax panel, cached until the step or the row changes.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/model/run_data/program_shape.h"
#include "app/views/view.h"
#include "sim/analysis/softmax_row.h"

namespace tilescope {

/// The on-chip tiles of a launch's blocks, so that rows keep their position before values arrive.
struct SoftmaxParts {
  ChipTile bars;  // drawn as bars: S, or P if there is no S, or none
  ChipTile maximum, scale, old_scale, sum, output;
  ChipTile weights, d_p, row_dot, slope, d_s;  // of dS = P ∘ (dP − D)
  bool has_gradient() const { return weights && d_p && row_dot && d_s; }
};
SoftmaxParts softmax_parts(std::span<const ChipTileShape> chip_tiles);

struct SoftmaxFigures {
  SoftmaxParts parts;
  bool known = false;  // values are available
  int rows = 1;        // of the tile, for the row picker
  SoftmaxRow row;
  std::int64_t first_key = 0;  // of `bars`: 0, or the first key of a block's only tile
  std::vector<float> bars;     // the final row of S (or P) over all keys; NaN for skipped keys
  std::int64_t seen = 0;       // keys before this tile
  std::int64_t current_begin = 0, current_end = 0;
  std::vector<bool>
      visited;  // by key tile: whether the block came to it before this tile, in whatever order; empty: in their order
  std::int64_t tile_keys = 1;
  bool is_current(std::int64_t key) const { return key >= current_begin && key < current_end; }
  bool is_earlier(std::int64_t key) const {
    const auto tile = static_cast<std::size_t>(key / tile_keys);
    return visited.empty() ? key < seen : tile < visited.size() && visited[tile];
  }
  std::vector<float> before_change;  // the current tile's scores before the change of scores; empty without one
  /// True if this iteration changes them.
  bool moves_maximum = false, moves_sum = false, moves_output = false;
  OpKind output_by = OpKind::barrier;  // last operation of this iteration that changed O; barrier: none yet
  bool checked = false;                // compared with float64
};

/// A range of SoftmaxFigures::bars.
struct ScoreRange {
  std::int64_t begin = 0, end = 0;
  bool whole = true;
};
/// Returns which of the row's keys have a bar where there is room for `most`: all of them, or this tile's, or as many as fit where
/// there is no tile.
ScoreRange shown_keys(const SoftmaxFigures& figures, std::int64_t most);

/// How many keys have a score in each of equal bins: of those seen so far, this tile included, and of this tile.
struct ScoreSpread {
  std::vector<std::int64_t> seen, tile;
};
/// Limits  masked and skipped keys count nowhere; low < high
ScoreSpread score_spread(const SoftmaxFigures& figures, float low, float high, int bins);

/// Caches what stays equal between steps of one block.
class SoftmaxReader {
 public:
  /// Returns the figures of `lane` at its step; cheap if nothing changed.
  const SoftmaxFigures& read(const Lane& lane, int row);

 private:
  void read_values(const Lane& lane);
  void read_bars(const Lane& lane);
  void read_visited(const std::vector<Operation>& operations, const Operation& now);
  void read_before_change(const Lane& lane);
  const SoftmaxParts& parts_of(const Lane& lane);

  std::weak_ptr<const Simulation> parts_simulation_;
  int parts_launch_ = -1;
  SoftmaxParts parts_;
  std::weak_ptr<const BlockValues> history_;
  int op_ = -2, row_ = -1, q_tile_ = -2;
  std::map<std::int32_t, std::vector<int>> bars_written_;  // by query tile: the operations whose results the bars show
  SoftmaxFigures figures_;
};

}  // namespace tilescope
