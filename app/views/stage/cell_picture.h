// CellPicture: the values of one slot as a heat map, with numbers where cells are large enough; made once per change of value.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "app/ui/quad_batch.h"
#include "app/ui/theme.h"
#include "app/views/stage/stage_layout.h"
#include "sim/numerics/matrix.h"

namespace tilescope {

/// What the picture of a slot shows.
struct CellValues {
  std::shared_ptr<const Matrix> now, before;  // null: the slot held nothing
  float blend = 1;                            // 0 shows `before`, 1 `now`
  /// Rescaling: each row is drained from full to this factor, so that one sees how much of the old value is left.
  std::shared_ptr<const Matrix> drain, drain_too;
  bool operator==(const CellValues&) const = default;
};

/// A number on a cell.
struct CellNumber {
  ImVec2 at;
  ImU32 color = 0;
  std::array<char, 16> text{};
};

/// Kept between frames, so it names its font instead of pointing to it: another language or text size makes the fonts anew.
struct CellPicture {
  std::shared_ptr<const QuadBatch> quads;
  std::vector<CellNumber> numbers;
  ImFont* Theme::*font = &Theme::mono_small;
};

CellPicture make_cell_picture(const SlotBox& box, const CellValues& values, const Theme& theme, const StageMetrics& metrics);
void draw_cell_picture(ImDrawList* list, const Theme& theme, const CellPicture& picture);

/// Rectangle of the drawn cell at (row, col).
Rect cell_rect(const SlotBox& box, int row, int col);
/// The drawn rows that stand for values [row, row+1), as a rectangle over all columns.
Rect row_rect(const SlotBox& box, int row);
/// Value (row, col) under `point`; false outside the cells.
bool cell_at(const SlotBox& box, ImVec2 point, int& row, int& col);

/// How a slot's values become 0..1: factors as they are, probabilities and sums by their largest, the rest signed about a half.
class HeatScale {
 public:
  HeatScale(Slot slot, const Matrix* now, const Matrix* before);
  float operator()(float value) const;

 private:
  enum class Kind { fraction, positive, signed_value } kind_;
  float largest_ = 1;
};
/// From nearly the background at 0 to the tensor's colour at 1.
ImU32 heat_color(const Theme& theme, Tensor tensor, float heat);

}  // namespace tilescope
