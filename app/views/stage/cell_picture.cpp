// Turns an on-chip tile's matrix into quads and numbers: one cell per value, or the largest of several if room is short.
#include "app/views/stage/cell_picture.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include "app/ui/text_record.h"
#include "app/ui/widgets.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

/// A drawn cell shows its value farthest from zero, so that peaks of P are not averaged away.
struct CellValue {
  float value = 0;
  bool any = false;     // the matrix has values here
  bool masked = false;  // all values are minus infinity
};

int values_a_cell(int count, int shown) {
  return (count + shown - 1) / std::max(shown, 1);
}

/// Returns the value of the cell at (first_row, first_col) with `rows` by `cols` values.
CellValue value_of(const Matrix* matrix, int first_row, int rows, int first_col, int cols) {
  CellValue found;
  if (!matrix) return found;
  found.masked = true;
  constexpr float largest_finite = std::numeric_limits<float>::max();
  const int last_row = std::min(first_row + rows, matrix->rows), last_col = std::min(first_col + cols, matrix->cols);
  float size = 0;
  for (int r = first_row; r < last_row; ++r) {
    for (int c = first_col; c < last_col; ++c) {
      found.any = true;
      const float value = matrix->at(r, c), of_value = std::abs(value);
      if (!(of_value <= largest_finite)) continue;
      found.masked = false;
      if (of_value <= size) continue;
      size = of_value;
      found.value = value;
    }
  }
  found.masked = found.masked && found.any;
  return found;
}

/// How numbers stand in the cells of an on-chip tile: with so many characters, 0 for none.
struct CellText {
  int digits = 0;
  ImFont* Theme::*font = &Theme::mono_small;
  float part = 1;  // of the font's size
};

CellText cell_text(const ChipTileBox& box, const Theme& theme, const StageMetrics& metrics) {
  if (box.shown_rows != box.rows || box.shown_cols != box.cols) return {};
  const Rect cell = cell_rect(box, 0, 0);
  const auto room = [&](float digit, float around = 3) {
    return static_cast<int>((cell.width() - around * theme.scale) / std::max(digit, 1.0F));
  };
  if (room(metrics.large_digit, 2) >= 4 && cell.height() >= metrics.large_line) return {4, &Theme::mono};
  if (room(metrics.digit) >= 4 && cell.height() >= metrics.small_line) return {4, &Theme::mono_small};
  const float part = digits_size(cell.height(), metrics);
  if (const int digits = room(part * metrics.tiny_digit); part > 0 && digits >= 3)
    return {std::min(digits, 4), &Theme::mono_tiny, part};
  return {};
}

/// Builds the picture of one on-chip tile cell by cell.
struct PictureMaker {
  const ChipTileBox& box;
  const CellValues& values;
  const Theme& theme;
  const StageMetrics& metrics;
  Tensor tensor = values.tensor ? values.tensor : tensor_of(box.chip_tile);
  HeatScale scale = HeatScale(box.chip_tile, values.now.get(), values.before.get());
  int rows_a_cell = values_a_cell(box.rows, box.shown_rows), cols_a_cell = values_a_cell(box.cols, box.shown_cols);
  ImU32 nothing = with_alpha(theme.text_faint, 0.10F);
  std::array<ImU32, 512> colors =
      {};  // by heat, once mixed: finer than the screen's own steps, and much quicker than mixing each cell's
  std::vector<CellSpan> columns = {};
  QuadBatch quads = {};
  std::vector<CellNumber> numbers = {};
  CellText text = {};

  CellValue value_at(const Matrix* matrix, int row, int col) const {
    return value_of(matrix, row * rows_a_cell, rows_a_cell, col * cols_a_cell, cols_a_cell);
  }

  float drain_of(int row) const {
    float factor = 1;
    for (const Matrix* matrix : {values.drain.get(), values.drain_too.get()})
      if (matrix) factor *= value_of(matrix, row * rows_a_cell, rows_a_cell, 0, 1).value;
    return std::clamp(factor, 0.0F, 1.0F);
  }

  ImU32 color_of(const CellValue& cell) {
    if (!cell.any || cell.masked) return nothing;
    const auto heat = static_cast<std::size_t>(scale(cell.value) * static_cast<float>(colors.size() - 1) + 0.5F);
    if (colors[heat] == 0)
      colors[heat] = heat_color(theme, tensor, static_cast<float>(heat) / static_cast<float>(colors.size() - 1));
    return colors[heat];
  }

  void add_row(int row) {
    const CellSpan y = cell_span(box.cells.min.y, box.cells.max.y, box.shown_rows, row);
    const float drained = values.drain ? 1 + (drain_of(row) - 1) * values.blend : 1;
    for (int col = 0; col < box.shown_cols; ++col)
      add({{columns[static_cast<std::size_t>(col)].begin, y.begin}, {columns[static_cast<std::size_t>(col)].end, y.end}}, row, col,
          drained);
  }

  void add(const Rect& rect, int row, int col, float drained) {
    const CellValue now = value_at(values.now.get(), row, col);
    // At rest the value before is only looked at where there is none now.
    const bool same = values.before == values.now || (values.blend >= 1 && now.any && !values.drain);
    const CellValue before = same ? now : value_at(values.before.get(), row, col);
    const float gap = rect.width() >= 7 && rect.height() >= 7 ? 1.0F : 0.0F;
    Quad quad{.min = rect.min, .max = {rect.max.x - gap, rect.max.y - gap}};
    quad.radius = std::min(rect.width(), rect.height()) >= 12 ? 2.0F * theme.scale : 0;
    const CellValue& shown = values.blend >= 0.5F ? now : before;
    if (!now.any && !before.any) {
      quad.fill = nothing;
    } else if (shown.any && shown.masked) {
      quad.fill = with_alpha(theme.text_faint, 0.16F);
      quad.hatch = Hatch::diagonal;
      quad.border = with_alpha(theme.text_faint, 0.55F);
      quad.border_width = 0.5F;
    } else {
      const ImU32 from = color_of(before), to = same ? from : color_of(now);
      quad.fill = same ? to : mix(from, to, values.blend);
      if (values.drain) {
        quad.fill = from;
        quad.empty = mix(theme.inset, from, 0.30F);
        quad.fill_from = FillFrom::bottom;
        quad.fill_fraction = drained;
      }
    }
    quads.add(quad);
    if (text.digits > 0 && shown.any) number(rect, shown, quad.fill);
  }

  void number(const Rect& rect, const CellValue& cell, ImU32 fill) {
    const std::string shown = cell.masked ? "-\u221e" : format_cell(cell.value, text.digits);
    CellNumber number;
    std::snprintf(number.text.data(), number.text.size(), "%s", shown.c_str());
    const float width = text.part * text_width(theme.*text.font, shown), height = text.part * (theme.*text.font)->FontSize;
    number.at = {std::round(rect.center().x - width / 2 - 0.5F), std::round(rect.center().y - height / 2)};
    number.color = values.drain ? theme.text : text_on(theme, fill);
    numbers.push_back(number);
  }
};

}  // namespace

HeatScale::HeatScale(ChipTile chip_tile, const Matrix* now, const Matrix* before) {
  const bool fraction =
      chip_tile != ChipTile::none && (chip_tile->part == TilePart::factor || chip_tile->part == TilePart::factor_of_tile);
  const bool positive = chip_tile.tensor().means(Meaning::probability) || chip_tile.tensor().means(Meaning::row_sum);
  kind_ = fraction ? Kind::fraction : positive ? Kind::positive : Kind::signed_value;
  largest_ = 0;
  constexpr float largest_finite = std::numeric_limits<float>::max();
  for (const Matrix* matrix : {now, before == now ? nullptr : before}) {
    if (!matrix) continue;
    for (float value : matrix->values) {
      const float size = std::abs(value);
      largest_ = size > largest_ && size <= largest_finite ? size : largest_;
    }
  }
  if (largest_ == 0) {  // nothing is there yet: dark, not the middle between negative and positive
    kind_ = Kind::positive;
    largest_ = 1;
  }
}

float HeatScale::operator()(float value) const {
  if (!std::isfinite(value)) return 0;
  switch (kind_) {
    case Kind::fraction:
      return std::clamp(value, 0.0F, 1.0F);
    case Kind::positive:
      return std::clamp(value / largest_, 0.0F, 1.0F);
    case Kind::signed_value:
      break;
  }
  return std::clamp(0.5F + 0.5F * value / largest_, 0.0F, 1.0F);
}

ImU32 heat_color(const Theme& theme, Tensor tensor, float heat) {
  return mix(theme.inset, theme.color(tensor), 0.14F + 0.82F * heat);
}

Rect cell_rect(const ChipTileBox& box, int row, int col) {
  const CellSpan x = cell_span(box.cells.min.x, box.cells.max.x, box.shown_cols, col);
  const CellSpan y = cell_span(box.cells.min.y, box.cells.max.y, box.shown_rows, row);
  return {{x.begin, y.begin}, {x.end, y.end}};
}

Rect row_rect(const ChipTileBox& box, int row) {
  const int shown = cell_of(row, box.rows, box.shown_rows);
  const CellSpan y = cell_span(box.cells.min.y, box.cells.max.y, box.shown_rows, shown);
  return {{box.cells.min.x, y.begin}, {box.cells.max.x, y.end}};
}

bool cell_at(const ChipTileBox& box, ImVec2 point, int& row, int& col) {
  if (!box.cells.contains(point) || box.folded) return false;
  const float x = (point.x - box.cells.min.x) / box.cells.width(), y = (point.y - box.cells.min.y) / box.cells.height();
  // In a cell that stands for several values, the place inside it chooses one of them.
  const auto along = [](float place, int count, int shown) {
    const int cell_values = values_a_cell(count, shown);
    return std::clamp(static_cast<int>(place * static_cast<float>(shown * cell_values)), 0, count - 1);
  };
  row = along(y, box.rows, box.shown_rows);
  col = along(x, box.cols, box.shown_cols);
  return true;
}

CellPicture make_cell_picture(const ChipTileBox& box, const CellValues& values, const Theme& theme, const StageMetrics& metrics,
                              int most_digits) {
  PictureMaker maker{box, values, theme, metrics};
  maker.text = cell_text(box, theme, metrics);
  maker.text.digits = std::min(maker.text.digits, most_digits);
  maker.quads.reserve(static_cast<std::size_t>(box.shown_rows) * static_cast<std::size_t>(box.shown_cols));
  for (int col = 0; col < box.shown_cols; ++col)
    maker.columns.push_back(cell_span(box.cells.min.x, box.cells.max.x, box.shown_cols, col));
  for (int row = 0; row < box.shown_rows; ++row) maker.add_row(row);
  return {std::make_shared<const QuadBatch>(std::move(maker.quads)), std::move(maker.numbers), maker.text.font,
          maker.text.part * (theme.*maker.text.font)->FontSize};
}

int digits_of_cell(const ChipTileBox& box, const Theme& theme, const StageMetrics& metrics) {
  return cell_text(box, theme, metrics).digits;
}

void draw_cell_picture(ImDrawList* list, const Theme& theme, const CellPicture& picture) {
  ImFont* const font = theme.*picture.font;
  if (picture.quads) draw_quads(list, picture.quads);
  for (const CellNumber& number : picture.numbers) {
    record_text(number.at, font, picture.size, number.text.data());
    list->AddText(font, picture.size, number.at, number.color, number.text.data());
  }
}

}  // namespace tilescope
