// CellPicture: a heat map of one on-chip tile's values, with numbers if cells are large enough. Rebuilt when a value changes.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "app/ui/quad_batch.h"
#include "app/ui/theme.h"
#include "app/views/stage/stage_layout.h"
#include "sim/core/matrix.h"

namespace tilescope {

/// The values that a picture shows.
struct CellValues {
  std::shared_ptr<const Matrix> now, before;  // null: the on-chip tile held nothing
  float blend = 1;                            // 0 shows `before`, 1 `now`
  /// Rescaling: each row drains from full to this factor.
  std::shared_ptr<const Matrix> drain, drain_too;
  Tensor tensor = {};  // of which they are, which gives the colour
  bool operator==(const CellValues&) const = default;
};

/// A number on a cell.
struct CellNumber {
  ImVec2 at;
  ImU32 color = 0;
  std::array<char, 16> text{};
};

/// Cached between frames, so it names its font: a new language or text size rebuilds the fonts.
struct CellPicture {
  std::shared_ptr<const QuadBatch> quads;
  std::vector<CellNumber> numbers;
  ImFont* Theme::*font = &Theme::mono_small;
  float size = 0;  // of its characters, in pixels
};

/// `most_digits`: of a number, so that statistics of a row that stand side by side, such as m and m′, can be compared.
CellPicture make_cell_picture(const ChipTileBox& box, const CellValues& values, const Theme& theme, const StageMetrics& metrics,
                              int most_digits = 4);
/// Returns how many characters a number in a cell has room for; 0 where there is none.
int digits_of_cell(const ChipTileBox& box, const Theme& theme, const StageMetrics& metrics);
void draw_cell_picture(ImDrawList* list, const Theme& theme, const CellPicture& picture);

/// Returns the rectangle of the drawn cell at (row, col).
Rect cell_rect(const ChipTileBox& box, int row, int col);
/// Returns the rectangle of value row `row` over all columns.
Rect row_rect(const ChipTileBox& box, int row);
/// Finds the value (row, col) under `point`; false outside the cells.
bool cell_at(const ChipTileBox& box, ImVec2 point, int& row, int& col);

/// Maps values to 0..1: factors unchanged, probabilities and sums by their maximum, the rest signed around 0.5.
class HeatScale {
 public:
  HeatScale(ChipTile chip_tile, const Matrix* now, const Matrix* before);
  float operator()(float value) const;

 private:
  enum class Kind { fraction, positive, signed_value } kind_;
  float largest_ = 1;
};
/// Blends from near the background (0) to the tensor's colour (1).
ImU32 heat_color(const Theme& theme, Tensor tensor, float heat);

}  // namespace tilescope
