// Turns a slot's matrix into quads and numbers: one cell a value, or the largest of several where there is no room.
#include "app/stage/cell_picture.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include "app/widgets.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

/// What one drawn cell stands for: of its values the one farthest from zero, so that peaks of P are not averaged away.
struct CellValue {
  float value = 0;
  bool any = false;     // the matrix has values here
  bool masked = false;  // all of them are minus infinity
};

int values_a_cell(int count, int shown) {
  return (count + shown - 1) / std::max(shown, 1);
}

CellValue value_of(const Matrix* matrix, const SlotBox& box, int row, int col) {
  CellValue found;
  if (!matrix) return found;
  const int rows = values_a_cell(box.rows, box.shown_rows), cols = values_a_cell(box.cols, box.shown_cols);
  found.masked = true;
  constexpr float largest_finite = std::numeric_limits<float>::max();
  const int last_row = std::min((row + 1) * rows, matrix->rows), last_col = std::min((col + 1) * cols, matrix->cols);
  float size = 0;
  for (int r = row * rows; r < last_row; ++r) {
    for (int c = col * cols; c < last_col; ++c) {
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

float drain_of(const CellValues& values, const SlotBox& box, int row) {
  float factor = 1;
  for (const Matrix* matrix : {values.drain.get(), values.drain_too.get()}) {
    if (!matrix) continue;
    const CellValue row_factor =
        value_of(matrix, {.rows = box.rows, .cols = 1, .shown_rows = box.shown_rows, .shown_cols = 1}, row, 0);
    factor *= row_factor.value;
  }
  return std::clamp(factor, 0.0F, 1.0F);
}

/// Builds the picture of one slot cell by cell.
struct PictureMaker {
  const SlotBox& box;
  const CellValues& values;
  const Theme& theme;
  const StageMetrics& metrics;
  Tensor tensor = tensor_of(box.slot);
  HeatScale scale = HeatScale(box.slot, values.now.get(), values.before.get());
  QuadBatch quads = {};
  std::vector<CellNumber> numbers = {};
  int digits = 0;  // room for a number, in characters; 0 for none
  ImFont* Theme::*font = &Theme::mono_small;

  void measure() {
    const Rect cell = cell_rect(box, 0, 0);
    const bool each_value = box.shown_rows == box.rows && box.shown_cols == box.cols;
    if (!each_value) return;
    const auto room = [&](float digit) { return static_cast<int>((cell.width() - 3.5F * theme.scale) / std::max(digit, 1.0F)); };
    if (room(metrics.digit) >= 4 && cell.height() >= metrics.small_line) {
      digits = 4;
      font = &Theme::mono_small;
    } else if (room(metrics.tiny_digit) >= 3 && cell.height() >= metrics.tiny_line) {
      digits = std::min(room(metrics.tiny_digit), 4);
      font = &Theme::mono_tiny;
    }
  }

  ImU32 color_of(const CellValue& cell) const { return heat_color(theme, tensor, scale(cell.value)); }

  void add(int row, int col) {
    const Rect rect = cell_rect(box, row, col);
    const CellValue now = value_of(values.now.get(), box, row, col);
    const CellValue before = values.before == values.now ? now : value_of(values.before.get(), box, row, col);
    const float gap = rect.width() >= 7 && rect.height() >= 7 ? 1.0F : 0.0F;
    Quad quad{.min = rect.min, .max = {rect.max.x - gap, rect.max.y - gap}};
    quad.radius = std::min(rect.width(), rect.height()) >= 12 ? 2.0F * theme.scale : 0;
    const ImU32 nothing = with_alpha(theme.text_faint, 0.10F);
    const CellValue& shown = values.blend >= 0.5F ? now : before;
    if (!now.any && !before.any) {
      quad.fill = nothing;
    } else if (shown.any && shown.masked) {
      quad.fill = with_alpha(theme.text_faint, 0.16F);
      quad.hatch = Hatch::diagonal;
      quad.border = with_alpha(theme.text_faint, 0.55F);
      quad.border_width = 0.5F;
    } else {
      const ImU32 from = before.any && !before.masked ? color_of(before) : nothing;
      const ImU32 to = now.any && !now.masked ? color_of(now) : nothing;
      quad.fill = mix(from, to, values.blend);
      if (values.drain) {
        quad.fill = from;
        quad.empty = mix(theme.inset, from, 0.30F);
        quad.fill_from = FillFrom::bottom;
        quad.fill_fraction = 1 + (drain_of(values, box, row) - 1) * values.blend;
      }
    }
    quads.add(quad);
    if (digits > 0 && shown.any) number(rect, shown, quad.fill);
  }

  void number(const Rect& rect, const CellValue& cell, ImU32 fill) {
    const std::string text = cell.masked ? "-\u221e" : format_cell(cell.value, digits);
    CellNumber number;
    std::snprintf(number.text.data(), number.text.size(), "%s", text.c_str());
    const float width = text_width(theme.*font, text);
    number.at = {std::round(rect.center().x - width / 2 - 0.5F), std::round(rect.center().y - (theme.*font)->FontSize / 2)};
    number.color = values.drain ? theme.text : text_on(theme, fill);
    numbers.push_back(number);
  }
};

}  // namespace

HeatScale::HeatScale(Slot slot, const Matrix* now, const Matrix* before) {
  const bool fraction = slot == Slot::alpha || slot == Slot::beta;
  const bool positive = slot == Slot::p || slot == Slot::l || slot == Slot::l_new || slot == Slot::l_tile;
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
  if (largest_ == 0) largest_ = 1;
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

Rect cell_rect(const SlotBox& box, int row, int col) {
  const CellSpan x = cell_span(box.cells.min.x, box.cells.max.x, box.shown_cols, col);
  const CellSpan y = cell_span(box.cells.min.y, box.cells.max.y, box.shown_rows, row);
  return {{x.begin, y.begin}, {x.end, y.end}};
}

Rect row_rect(const SlotBox& box, int row) {
  const int shown = cell_of(row, box.rows, box.shown_rows);
  const CellSpan y = cell_span(box.cells.min.y, box.cells.max.y, box.shown_rows, shown);
  return {{box.cells.min.x, y.begin}, {box.cells.max.x, y.end}};
}

bool cell_at(const SlotBox& box, ImVec2 point, int& row, int& col) {
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

CellPicture make_cell_picture(const SlotBox& box, const CellValues& values, const Theme& theme, const StageMetrics& metrics) {
  PictureMaker maker{box, values, theme, metrics};
  maker.measure();
  maker.quads.reserve(static_cast<std::size_t>(box.shown_rows) * static_cast<std::size_t>(box.shown_cols));
  for (int row = 0; row < box.shown_rows; ++row) {
    for (int col = 0; col < box.shown_cols; ++col) maker.add(row, col);
  }
  return {std::make_shared<const QuadBatch>(std::move(maker.quads)), std::move(maker.numbers), maker.font};
}

void draw_cell_picture(ImDrawList* list, const Theme& theme, const CellPicture& picture) {
  ImFont* const font = theme.*picture.font;
  if (picture.quads) draw_quads(list, picture.quads);
  for (const CellNumber& number : picture.numbers) {
    list->AddText(font, font->FontSize, number.at, number.color, number.text.data());
  }
}

}  // namespace tilescope
