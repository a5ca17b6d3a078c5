// Places the HBM tensors as tile grids side by side, each below its link to the L2.
#include <algorithm>
#include <cmath>

#include "app/views/stage/stage_layout.h"

namespace tilescope {

namespace {

int condensed(std::int64_t count, float length, float smallest_cell) {
  const std::int64_t most = std::max<std::int64_t>(static_cast<std::int64_t>(length / smallest_cell), 1);
  const std::int64_t tiles = (count + most - 1) / most;  // per cell
  return static_cast<int>((count + tiles - 1) / std::max<std::int64_t>(tiles, 1));
}

bool is_vector(const TensorShape& shape) {
  return shape.layout.cols <= 1;
}

}  // namespace

void layout_tensors(StageLayout& layout, const GpuSpec& gpu, const ProgramShape& shape, const StageMetrics& metrics) {
  const float scale = metrics.scale, gap = std::min(10 * scale, 0.025F * layout.hbm.width());
  const Rect area = {{layout.hbm_label.max.x + metrics.padding, layout.hbm.min.y + metrics.padding * 0.7F},
                     {layout.hbm.max.x - metrics.padding, layout.hbm.max.y - metrics.padding * 0.8F}};
  float vectors = 0, matrices = 0;
  for (const TensorShape& tensor : shape.tensors) (is_vector(tensor) ? vectors : matrices) += 1;
  if (vectors + matrices == 0) return;
  const float vector_width = std::min(58 * scale, 0.7F * area.width() / (vectors + matrices));
  const float gaps = gap * (vectors + matrices - 1);
  const float width = matrices > 0 ? std::min((area.width() - gaps - vectors * vector_width) / matrices, 260 * scale) : 0;
  const float lane_width = link_width(gpu.hbm_rate().value, metrics);

  // Names go left of the cells if there is no line above them.
  const bool low = area.height() < metrics.small_line + 12 * scale;
  const float name = std::min(15 * scale, 0.4F * vector_width);
  float x = area.min.x;
  for (const TensorShape& tensor : shape.tensors) {
    TensorBox box;
    box.tensor = tensor.tensor;
    box.here = tensor.here;
    const float w = is_vector(tensor) ? vector_width : width;
    box.box = {{std::round(x), std::round(area.min.y)}, {std::round(x + w), std::round(area.max.y)}};
    box.label = {box.box.min,
                 {low ? box.box.min.x + name : box.box.max.x, low ? box.box.max.y : box.box.min.y + metrics.small_line}};
    box.cells = {low ? ImVec2(box.label.max.x, box.box.min.y) : ImVec2(box.box.min.x, box.label.max.y + 3 * scale), box.box.max};
    if (is_vector(tensor)) box.cells.max.x = std::round(box.cells.min.x + 0.5F * w);
    const auto grid_rows = std::max<std::int64_t>(ceil_div(tensor.layout.rows, tensor.layout.tile_rows), 1);
    const auto grid_cols = std::max<std::int64_t>(ceil_div(tensor.layout.cols, tensor.layout.tile_cols), 1);
    box.grid_rows = static_cast<int>(grid_rows);
    box.grid_cols = static_cast<int>(grid_cols);
    box.shown_rows = condensed(grid_rows, box.cells.height(), 4 * scale);
    box.shown_cols = condensed(grid_cols, box.cells.width(), 5 * scale);
    if (box.here && layout.has_l2) {
      const float left = box.box.min.x + 2 * scale;
      box.lane = {{std::round(left), layout.l2.max.y}, {std::round(left + std::min(lane_width, 0.4F * w)), layout.hbm.min.y}};
      box.lane_note = {{box.lane.max.x + 5 * scale, box.lane.min.y + 2}, {box.box.max.x + gap - 3 * scale, box.lane.max.y - 2}};
    }
    layout.tensors.push_back(box);
    x += w + gap;
  }
}

}  // namespace tilescope
