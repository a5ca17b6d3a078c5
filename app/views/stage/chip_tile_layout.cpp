// Places the focused SM's on-chip tiles: registers in one band with aligned rows, shared memory below.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/views/stage/chip_tile_box.h"

namespace tilescope {

int condensed(int count, float length, float smallest_cell) {
  const int most = std::max(static_cast<int>(length / smallest_cell), 1);
  if (count <= most) return std::max(count, 1);
  const int values = (count + most - 1) / most;  // per cell
  return (count + values - 1) / values;
}

ChipTileBox box_of(const ChipTileShape& shape, int ring) {
  ChipTileBox box;
  box.chip_tile = shape.chip_tile;
  box.ring = ring;
  box.rings = shape.rings;
  box.shared = shape.shared;
  box.rows = shape.rows;
  box.cols = shape.cols;
  box.bytes = shape.buffer_bytes;
  return box;
}

namespace {

bool is_column(const ChipTileShape& shape) {
  return shape.cols <= 1;
}

/// Returns an on-chip tile's width weight; scores and probabilities get most.
float weight_of(const ChipTileShape& shape) {
  const float cols = static_cast<float>(std::clamp(shape.cols, 3, 96));
  return shape.chip_tile.tensor()->cols == Axis::key ? cols : 0.5F * cols;
}

/// Places on-chip tiles side by side with equal row height.
void place_aligned(StageLayout& layout, const std::vector<ChipTileShape>& registers, const StageMetrics& metrics) {
  const float scale = metrics.scale;
  const Rect& area = layout.registers;
  const float gap = (metrics.presented ? 4 : area.width() < 400 * scale ? 6 : 9) * scale;
  int most_rows = 1, columns = 0;
  float weights = 0;
  for (const ChipTileShape& shape : registers) {
    most_rows = std::max(most_rows, shape.rows);
    if (is_column(shape))
      ++columns;
    else
      weights += weight_of(shape);
  }
  const float gaps = gap * static_cast<float>(registers.size() - 1);
  const float number = 4 * metrics.tiny_digit + 6 * scale;  // a cell with four characters
  const float large = 4 * metrics.large_digit + 2.5F * scale, small = 4 * metrics.digit + 3.2F * scale,
              large_column = metrics.presented ? 4 * metrics.digit + 4 * scale : number;
  // Presented, the matrices come first; in much room the columns have four digits as well.
  const float for_columns = !metrics.presented ? 0.36F : area.width() >= 580 * scale ? 0.31F : 0.29F;
  float column_width =
      columns == 0 ? 0 : std::clamp((for_columns * area.width() - gaps) / static_cast<float>(columns), 12 * scale, large_column);
  // Each matrix first gets room for numbers of four or three characters, if possible, else only scores and probabilities do;
  // weights divide the rest.
  const float three = 3 * metrics.tiny_digit + 4.5F * scale, heat = 5.5F * scale;
  float key_cell = 0, other_cell = 0, taken = 0;
  const auto takes = [&](float key, float other, float room) {
    float needs = 0;
    for (const ChipTileShape& shape : registers)
      if (!is_column(shape)) needs += static_cast<float>(shape.cols) * (shape.chip_tile.tensor()->cols == Axis::key ? key : other);
    if (needs > room) return false;
    key_cell = key;
    other_cell = other;
    taken = needs;
    return true;
  };
  // A class reads m and α as it reads S: their columns have digits first. Whole pixels, so that none is lost by rounding.
  const float four_tiny = std::ceil(4 * metrics.tiny_digit + 3 * scale), three_tiny = std::ceil(3 * metrics.tiny_digit + 3 * scale);
  const std::array<std::array<float, 3>, 6> presented = {{{large, large, std::ceil(large)},
                                                          {small, small, std::ceil(4 * metrics.digit + 3 * scale)},
                                                          {four_tiny, four_tiny, four_tiny},
                                                          {four_tiny, three_tiny, four_tiny},
                                                          {three_tiny, three_tiny, three_tiny},
                                                          {three_tiny, heat, three_tiny}}};
  bool chosen = false;
  for (const auto& [key, other, column] : presented) {
    if (chosen || columns == 0 || !metrics.presented) break;
    chosen = takes(key, other, area.width() - gaps - column * static_cast<float>(columns));
    if (chosen) column_width = column;
  }
  const float for_matrices = area.width() - gaps - column_width * static_cast<float>(columns);
  for (const auto& [key, other] : {std::pair{large, large}, {small, small}, {number, number}, {three, three}, {three, heat}})
    if (chosen || takes(key, other, for_matrices)) break;
  const auto width_of = [&](const ChipTileShape& shape) {
    const float cell = shape.chip_tile.tensor()->cols == Axis::key ? key_cell : other_cell;
    return std::min(static_cast<float>(shape.cols) * cell + (for_matrices - taken) * weight_of(shape) / weights,
                    62 * scale * static_cast<float>(shape.cols));
  };

  const float top = area.min.y + metrics.small_line + 2 * scale;
  // Rows without numbers can be low; rather all of them than several in one.
  constexpr float least_row = 2.5F, least_condensed_row = 4;
  const bool all = most_rows == condensed(most_rows, area.max.y - top, least_row * scale);
  const int shown_rows = condensed(most_rows, area.max.y - top, (all ? least_row : least_condensed_row) * scale);
  const float row_height = std::min((area.max.y - top) / static_cast<float>(shown_rows), 44 * scale);
  float x = area.min.x;
  for (const ChipTileShape& shape : registers) {
    ChipTileBox box = box_of(shape, 0);
    const int values = (most_rows + shown_rows - 1) / shown_rows;
    box.shown_rows = (std::max(shape.rows, 1) + values - 1) / values;
    const float width = is_column(shape) ? column_width : width_of(shape);
    box.shown_cols = condensed(shape.cols, width, 4 * scale);
    const float bottom = top + row_height * static_cast<float>(box.shown_rows);
    box.box = {{std::round(x), area.min.y}, {std::round(x + width), std::round(bottom)}};
    box.label = {box.box.min, {box.box.max.x, top - 2 * scale}};
    box.cells = {{box.box.min.x, std::round(top)}, box.box.max};
    layout.chip_tiles.push_back(box);
    x += width + gap;
  }
}

/// Places on-chip tiles of one row: strips below each other, single numbers side by side at the end.
void place_stacked(StageLayout& layout, const std::vector<ChipTileShape>& registers, const StageMetrics& metrics) {
  const float scale = metrics.scale, gap = 6 * scale;
  const Rect& area = layout.registers;
  int strips = 0, scalars = 0;
  for (const ChipTileShape& shape : registers) ++(is_column(shape) ? scalars : strips);
  const int lines = strips + (scalars > 0 ? 1 : 0);
  const float height = std::min((area.height() - gap * static_cast<float>(lines - 1)) / static_cast<float>(lines), 84 * scale);
  const float scalar_width =
      scalars > 0 ? std::min((area.width() - gap * static_cast<float>(scalars - 1)) / static_cast<float>(scalars), 150 * scale) : 0;
  float y = area.min.y, x = area.min.x;
  for (const ChipTileShape& shape : registers) {
    ChipTileBox box = box_of(shape, 0);
    box.shown_rows = 1;
    const float label = 30 * scale;
    if (is_column(shape)) {
      const float top = area.min.y + static_cast<float>(strips) * (height + gap);
      box.shown_cols = 1;
      box.box = {{std::round(x), std::round(top)}, {std::round(x + scalar_width), std::round(top + height)}};
      x += scalar_width + gap;
    } else {
      box.box = {{area.min.x, std::round(y)}, {area.max.x, std::round(y + height)}};
      y += height + gap;
    }
    box.label = {box.box.min, {box.box.min.x + label, box.box.max.y}};
    box.cells = {{box.label.max.x, box.box.min.y}, box.box.max};
    if (!is_column(shape)) {
      box.shown_cols = condensed(shape.cols, box.cells.width(), 4 * scale);
      box.cells.max.x = std::min(box.cells.max.x, std::round(box.cells.min.x + 62 * scale * static_cast<float>(box.shown_cols)));
    }
    layout.chip_tiles.push_back(box);
  }
}

/// Returns an on-chip tile's buffer boxes: one each, or one for all if there are too many.
constexpr int most_rings = 4;
int boxes_of(const ChipTileShape& shape) {
  return shape.rings <= most_rings ? shape.rings : 2;
}

ChipTileBox shared_box(const ChipTileShape& shape, int ring, const Rect& rect, const StageMetrics& metrics) {
  const float scale = metrics.scale, pad = 6 * scale;
  ChipTileBox box = box_of(shape, ring);
  box.folded = shape.rings > most_rings;
  box.box = rect;
  box.label = {{rect.min.x + pad, rect.min.y + 3 * scale}, {rect.max.x - pad, rect.min.y + 3 * scale + metrics.line}};
  box.cells = {{box.label.min.x, box.label.max.y + 2 * scale}, {box.label.max.x, rect.max.y - pad}};
  box.shown_rows = box.folded ? 1 : condensed(shape.rows, box.cells.height(), 3 * scale);
  box.shown_cols = condensed(box.folded ? shape.rings : shape.cols, box.cells.width(), 4 * scale);
  return box;
}

void place_shared(StageLayout& layout, const std::vector<ChipTileShape>& shared, const StageMetrics& metrics) {
  int boxes = 0, index = 0;
  for (const ChipTileShape& shape : shared) boxes += boxes_of(shape);
  const Rect& area = layout.shared;
  const float top = std::round(layout.shared_label.max.y + 4 * metrics.scale);
  for (const ChipTileShape& shape : shared) {
    const int step = shape.rings <= most_rings ? 1 : boxes_of(shape);
    for (int ring = 0; ring < boxes_of(shape); ring += step, index += step) {
      const CellSpan first = cell_span(area.min.x, area.max.x + metrics.gap, boxes, index);
      const CellSpan last = cell_span(area.min.x, area.max.x + metrics.gap, boxes, index + step - 1);
      layout.chip_tiles.push_back(shared_box(shape, ring, {{first.begin, top}, {last.end - metrics.gap, area.max.y}}, metrics));
    }
  }
}

}  // namespace

void layout_chip_tiles(StageLayout& layout, const ProgramShape& shape, const StageMetrics& metrics) {
  std::vector<ChipTileShape> registers, shared;
  int most_rows = 1;
  for (const ChipTileShape& chip_tile : shape.chip_tiles) {
    (chip_tile.shared ? shared : registers).push_back(chip_tile);
    if (!chip_tile.shared) most_rows = std::max(most_rows, chip_tile.rows);
  }
  const Rect& box = layout.focus;
  const float pad = metrics.padding, scale = metrics.scale;
  const float left = box.min.x + pad, right = box.max.x - pad, bottom = box.max.y - pad;
  const float top = layout.operation_line.max.y + 4 * scale;

  const float usual_buffer = std::clamp(0.2F * box.height(), 44 * scale, 84 * scale);
  const float buffer_height = shared.empty() ? 0 : metrics.tight ? 40 * scale : usual_buffer;
  const float shared_height = metrics.small_line + 4 * scale + buffer_height;
  layout.shared = {{left, std::round(bottom - shared_height)}, {right, bottom}};
  layout.shared_label = {layout.shared.min, {std::round(left + 0.64F * (right - left)), layout.shared.min.y + metrics.small_line}};
  layout.occupancy = {{layout.shared_label.max.x + pad, layout.shared.min.y}, {right, layout.shared_label.max.y}};
  // Arrows run in the space between.
  layout.registers = {{left, top}, {right, layout.shared.min.y - (metrics.tight ? 10 : 15) * scale}};

  layout.stacked = most_rows == 1;
  if (!registers.empty()) layout.stacked ? place_stacked(layout, registers, metrics) : place_aligned(layout, registers, metrics);
  if (!shared.empty()) place_shared(layout, shared, metrics);
}

}  // namespace tilescope
