// SoftmaxFigures: one row of the tile as the softmax microscope shows it, kept between frames and read anew when the step or the
// row changes.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/model/program_shape.h"
#include "app/views/view.h"
#include "sim/analysis/softmax_row.h"

namespace tilescope {

/// What a launch's blocks have, so that the panel's rows stay in place before values are there.
struct SoftmaxParts {
  Slot bars;  // whose row is drawn as bars: S; P where there is no S; none
  Slot maximum, scale, old_scale, sum, output;
};
SoftmaxParts softmax_parts(std::span<const SlotShape> slots);

struct SoftmaxFigures {
  SoftmaxParts parts;
  bool known = false;  // the values are there
  int rows = 1;        // of the tile, for the row picker
  SoftmaxRow row;
  std::int64_t first_key = 0;  // of `bars`: 0, but where a block has one tile of scores only, that tile's
  std::vector<float> bars;  // the row of S (or P) over all keys, as the block will have it at its end; NaN where it never sees one
  std::int64_t seen = 0;    // keys before this tile
  std::int64_t current_begin = 0, current_end = 0;
  /// Whether this iteration changes them at all.
  bool moves_maximum = false, moves_sum = false, moves_output = false;
  OpKind output_by = OpKind::barrier;  // the last operation of this iteration that changed O; barrier: none yet
  bool checked = false;                // held against float64
};

/// Keeps what is the same from step to step of one block.
class SoftmaxReader {
 public:
  /// The figures of `lane` at its step; cheap when nothing changed since the last call.
  const SoftmaxFigures& read(const Lane& lane, int row);

 private:
  void read_values(const Lane& lane);
  void read_bars(const Lane& lane);
  const SoftmaxParts& parts_of(const Lane& lane);

  std::weak_ptr<const Simulation> parts_simulation_;
  int parts_launch_ = -1;
  SoftmaxParts parts_;
  std::weak_ptr<const BlockHistory> history_;
  int op_ = -2, row_ = -1, q_tile_ = -2;
  std::map<std::int32_t, std::vector<int>>
      bars_written_;  // by query tile: the operations of this block that leave what the bars show
  SoftmaxFigures figures_;
};

/// The column of a tile that formulas are shown for, shared by the listing and the microscope.
struct ChosenColumn {
  int column = 0;
};

}  // namespace tilescope
