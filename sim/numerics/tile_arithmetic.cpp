// The arithmetic of the tile machine. Products work on packed panels whose sums fit into vector registers.
#include "sim/numerics/tile_arithmetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "sim/core/element.h"
#include "sim/core/refuse.h"
#include "sim/numerics/exact_math.h"

namespace tilescope {

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();
constexpr std::size_t panel_rows = 4, panel_cols = 8;  // 4 x 8 sums fill half of the vector registers of baseline x86-64

std::size_t index(int r, int cols) {
  return static_cast<std::size_t>(r) * static_cast<std::size_t>(cols);
}
const float* row_of(const Matrix& m, int r) {
  return &m.values[index(r, m.cols)];
}
float* row_of(Matrix& m, int r) {
  return &m.values[index(r, m.cols)];
}

/// Adds in eight partial sums, joined in pairs at the end: it vectorises, and rounds less than one long sum.
float sum_of_row(const float* values, int count) {
  std::array<float, 8> sums{};
  int c = 0;
  for (; c + 8 <= count; c += 8)
    for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += values[c + static_cast<int>(lane)];
  for (std::size_t lane = 0; c < count; ++c, ++lane) sums[lane] += values[c];
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

float max_of_row(const float* values, int count) {
  float largest = minus_infinity;
  for (int c = 0; c < count; ++c) largest = values[c] > largest ? values[c] : largest;
  return largest;
}

/// Computes e^(value - maximum). Masked values give 0, even in a row that is masked entirely. NaN stays NaN, as on the GPU, whose
/// maximum passes over it.
void exp_of_row(const float* values, float maximum, int count, float* out) {
  if (maximum == minus_infinity) {
    for (int c = 0; c < count; ++c) out[c] = values[c] == values[c] ? 0.0F : values[c];
    return;
  }
  for (int c = 0; c < count; ++c) out[c] = exact_exp(values[c] - maximum);
}

/// Multiplies a panel of 4 rows with a panel of 8 columns. Each sum runs in order of the inner dimension.
void multiply_panels(const float* a, const float* b, std::size_t inner, float* sums) {
  std::array<float, panel_rows * panel_cols> total{};
  for (std::size_t k = 0; k < inner; ++k, a += panel_rows, b += panel_cols)
    for (std::size_t r = 0; r < panel_rows; ++r)
      for (std::size_t c = 0; c < panel_cols; ++c) total[r * panel_cols + c] += a[r] * b[c];
  std::copy(total.begin(), total.end(), sums);
}

std::string shape(const Matrix& m) {
  return fmt::format("{}x{}", m.rows, m.cols);
}

std::string product_fault(const Operation& op, const Matrix& a, const Matrix& b) {
  const bool fits = (op.transpose_left ? a.cols : a.rows) == op.rows && (op.transpose_left ? a.rows : a.cols) == op.inner &&
                    (op.transpose ? b.cols : b.rows) == op.inner && (op.transpose ? b.rows : b.cols) == op.cols;
  if (fits) return {};
  return fmt::format("{} ({}){} times {} ({}){} does not give {} x {} over {}", to_string(op.src[0]), shape(a),
                     op.transpose_left ? " transposed" : "", to_string(op.src[1]), shape(b), op.transpose ? " transposed" : "",
                     op.rows, op.cols, op.inner);
}

/// Returns a sentence if an operand that must have one number per row has another shape.
std::string column_fault(const Operation& op, const Operands& src, std::initializer_list<std::size_t> which) {
  for (std::size_t i : which)
    if (src[i] != nullptr && (src[i]->rows != op.rows || src[i]->cols != 1))
      return fmt::format("{} is {}, not {} x 1", to_string(op.src[i]), shape(*src[i]), op.rows);
  return {};
}

std::string same_shape_fault(const Operation& op, ChipTile chip_tile, const Matrix& m) {
  if (m.rows == op.rows && m.cols == op.cols) return {};
  return fmt::format("{} is {}, not {} x {}", to_string(chip_tile), shape(m), op.rows, op.cols);
}

/// Returns a sentence if parts that are added to every n-th element do not lie in the row of dst.
std::string parts_fault(const Operation& op, const Matrix& parts) {
  if (parts.rows != 1 || op.rows != 1)
    return fmt::format("{} is {} and {} has {} rows: parts are added row by row", to_string(op.src[0]), shape(parts),
                       to_string(op.dst), op.rows);
  const std::int64_t first = op.inner, last = first + static_cast<std::int64_t>(op.value) * (parts.cols - 1);
  if (std::min(first, last) >= 0 && std::max(first, last) < op.cols) return {};
  return fmt::format("{} is added to elements {} to {} of {}, which has {}", to_string(op.src[0]), first, last, to_string(op.dst),
                     op.cols);
}

}  // namespace

std::string operand_fault(const Operation& op, const Operands& src, const Matrix* dst) {
  for (std::size_t i = 0; i < src.size(); ++i)
    if (src[i] == nullptr && (op.src[i] != ChipTile::none || (traits_of(op.kind).operands >> i & 1U) != 0))
      return fmt::format("operand {} ({}) holds nothing", i, to_string(op.src[i]));
  if (updates_destination(op)) {
    if (dst == nullptr) return fmt::format("{} is updated but holds nothing", to_string(op.dst));
    if (auto fault = same_shape_fault(op, op.dst, *dst); !fault.empty()) return fault;
  }
  switch (op.kind) {
    case OpKind::matmul:
      return product_fault(op, *src[0], *src[1]);
    case OpKind::row_max:
    case OpKind::row_sum:
      if (src[1]->rows != op.rows) return fmt::format("{} has {} rows, not {}", to_string(op.src[1]), src[1]->rows, op.rows);
      return column_fault(op, src, {0, 2});
    case OpKind::exp:
      if (auto fault = same_shape_fault(op, op.src[0], *src[0]); !fault.empty()) return fault;
      return column_fault(op, src, {1});
    case OpKind::add:
    case OpKind::multiply:
    case OpKind::slope:
    case OpKind::factor:
    case OpKind::copy:
      return same_shape_fault(op, op.src[0], *src[0]);
    case OpKind::exp_rows:
    case OpKind::rescale:
    case OpKind::divide:
    case OpKind::subtract_rows:
    case OpKind::merge:
    case OpKind::log_sum_exp:
      return column_fault(op, src, {0, 1, 2, 3});
    case OpKind::store:
    case OpKind::reduce_add:
    case OpKind::gather:
      if (src[0]->rows == op.tile.rows && src[0]->cols == op.tile.cols) return {};
      return fmt::format("{} is {}, the tile {}x{}", to_string(op.src[0]), shape(*src[0]), op.tile.rows, op.tile.cols);
    case OpKind::load:
    case OpKind::fetch_add:
    case OpKind::write:
    case OpKind::fill:
    case OpKind::mask:
    case OpKind::modify:
    case OpKind::barrier:
    case OpKind::wait:
      return {};
    case OpKind::add_parts:
      return parts_fault(op, *src[0]);
  }
  return {};
}

void TileArithmetic::apply(const Operation& op, const Operands& src, Matrix& dst) {
  const auto first = [&](std::size_t i, int r) { return src[i]->values[static_cast<std::size_t>(r)]; };
  const auto each_row = [&](const auto& compute) {
    for (int r = 0; r < op.rows; ++r) compute(r, row_of(dst, r));
  };
  switch (op.kind) {
    case OpKind::load:
    case OpKind::store:
    case OpKind::reduce_add:
    case OpKind::fetch_add:
    case OpKind::write:
    case OpKind::barrier:
    case OpKind::wait:
      return;
    case OpKind::fill:
      std::fill(dst.values.begin(), dst.values.end(), op.value);
      return;
    case OpKind::matmul:
      return multiply(op, *src[0], *src[1], dst);
    case OpKind::mask:
      return mask(op, dst);
    case OpKind::modify:
      return modify(op, dst);
    case OpKind::slope:
      return slope(op, *src[0], dst);
    case OpKind::factor:
      return factor(op, *src[0], dst);
    case OpKind::gather:
      return gather(op, *src[0], dst);
    case OpKind::add_parts:
      for (int i = 0; i < src[0]->cols; ++i) dst.at(0, op.inner + static_cast<int>(op.value) * i) += src[0]->at(0, i);
      return;
    case OpKind::copy:
      dst.values = src[0]->values;
      return;
    case OpKind::add:
      for (std::size_t i = 0; i < dst.values.size(); ++i) dst.values[i] += src[0]->values[i];
      return;
    case OpKind::multiply:
      for (std::size_t i = 0; i < dst.values.size(); ++i) dst.values[i] *= src[0]->values[i];
      return;
    case OpKind::row_max:
      return each_row([&](int r, float* row) {
        const float largest = max_of_row(row_of(*src[1], r), src[1]->cols);
        row[0] = src[0] != nullptr && !(largest > first(0, r)) ? first(0, r) : largest;
      });
    case OpKind::exp:
      return each_row([&](int r, float* row) { exp_of_row(row_of(*src[0], r), first(1, r), op.cols, row); });
    case OpKind::exp_rows:
      return each_row(
          [&](int r, float* row) { row[0] = first(0, r) == minus_infinity ? 0.0F : exact_exp(first(0, r) - first(1, r)); });
    case OpKind::row_sum:
      return each_row([&](int r, float* row) {
        const float sum = sum_of_row(row_of(*src[1], r), src[1]->cols);
        const float old = src[0] == nullptr ? 0.0F : src[2] == nullptr ? first(0, r) : first(0, r) * first(2, r);
        row[0] = old + sum;
      });
    case OpKind::rescale:
      return each_row([&](int r, float* row) {
        const float factor = src[1] == nullptr ? first(0, r) : first(0, r) * first(1, r);
        for (int c = 0; c < op.cols; ++c) row[c] *= factor;
      });
    case OpKind::subtract_rows:
      return each_row([&](int r, float* row) {
        for (int c = 0; c < op.cols; ++c) row[c] -= first(0, r);
      });
    case OpKind::divide:
      return each_row([&](int r, float* row) {
        const float divisor = first(0, r);
        for (int c = 0; c < op.cols; ++c) row[c] = divisor == 0 ? 0.0F : row[c] / divisor;
      });
    case OpKind::merge:
      return each_row([&](int r, float* row) { row[0] = first(0, r) * first(1, r) + first(2, r) * first(3, r); });
    case OpKind::log_sum_exp:
      return each_row([&](int r, float* row) {
        row[0] = first(1, r) == 0 ? minus_infinity : static_cast<float>(static_cast<double>(first(0, r)) + exact_log(first(1, r)));
      });
  }
}

void TileArithmetic::mask(const Operation& op, Matrix& dst) const {
  for (int r = 0; r < op.rows; ++r)
    for (int c = 0; c < op.cols; ++c)
      if (!mask_->visible(op.tile.plane, op.tile.row + r, op.tile.col + c)) dst.at(r, c) = minus_infinity;
}

Sentence TileArithmetic::fault_at(const Sentence& what, float value, float score, const Operation& op, int r,
                                  std::int64_t key) const {
  return phrase("the {} makes {} of {} at b {}, h {}, q {}, kv {}: change the expression, or mask the element", what,
                value == value ? phrase("infinity") : phrase("NaN"), fmt::format("{}", score), op.tile.plane / problem_.heads,
                op.tile.plane % problem_.heads, op.tile.row + r, key);
}

void TileArithmetic::modify(const Operation& op, Matrix& dst) {
  if (!problem_.score_change) return;
  const auto cols = static_cast<std::size_t>(op.cols);
  std::vector<float> before(cols);
  for (int r = 0; r < op.rows; ++r) {
    const std::span<float> row(row_of(dst, r), cols);
    std::copy(row.begin(), row.end(), before.begin());
    problem_.score_change->apply(op.tile.plane, op.tile.row + r, op.tile.col, row);
    for (std::size_t c = 0; c < cols && fault_.empty(); ++c) {
      const std::int64_t key = op.tile.col + static_cast<std::int64_t>(c);
      if (row[c] < -minus_infinity || !std::isfinite(before[c]) || !mask_->visible(op.tile.plane, op.tile.row + r, key)) continue;
      fault_ = fault_at(phrase("score expression"), row[c], before[c], op, r, key);
    }
  }
}

void TileArithmetic::slope(const Operation& op, const Matrix& of, Matrix& dst) {
  const auto cols = static_cast<std::size_t>(op.cols);
  dst.values = of.values;
  if (!problem_.score_change || problem_.score_change->slope() == nullptr) {
    std::fill(dst.values.begin(), dst.values.end(), 1.0F);
    return;
  }
  for (int r = 0; r < op.rows; ++r) {
    const std::span<float> row(row_of(dst, r), cols);
    problem_.score_change->apply_slope(op.tile.plane, op.tile.row + r, op.tile.col, row);
    for (std::size_t c = 0; c < cols; ++c) {
      const std::int64_t key = op.tile.col + static_cast<std::int64_t>(c);
      if (!mask_->visible(op.tile.plane, op.tile.row + r, key))
        row[c] = 0;
      else if (!std::isfinite(row[c]) && fault_.empty())
        fault_ = fault_at(phrase("derivative of the score expression"), row[c], of.at(r, static_cast<int>(c)), op, r, key);
    }
  }
}

void TileArithmetic::factor(const Operation& op, const Matrix& of, Matrix& dst) {
  const TableRead& read = *problem_.score_change->table_reads()[static_cast<std::size_t>(op.read)];
  if (!read.factor) return std::fill(dst.values.begin(), dst.values.end(), 1.0F);
  ExpressionEvaluator<float> evaluator(*read.factor);
  for (int r = 0; r < op.rows; ++r)
    for (int c = 0; c < op.cols; ++c) {
      const ExprElement at{op.tile.plane / problem_.heads, op.tile.plane % problem_.heads, op.tile.row + r, op.tile.col + c};
      const bool visible = mask_->visible(op.tile.plane, at.q, at.kv);
      dst.at(r, c) = visible ? evaluator(at, of.at(r, c)).real : 0;
      if (!std::isfinite(dst.at(r, c)) && fault_.empty())
        fault_ = fault_at(phrase("derivative of the score by a table"), dst.at(r, c), of.at(r, c), op, r, at.kv);
    }
}

void TileArithmetic::gather(const Operation& op, const Matrix& of, Matrix& dst) {
  const TableRead& read = *problem_.score_change->table_reads()[static_cast<std::size_t>(op.read)];
  const TableBox box = read.box(op.tile.plane, {op.tile.row, op.tile.rows}, {op.tile.col, op.tile.cols});
  if (!op.accumulate) std::fill(dst.values.begin(), dst.values.end(), 0.0F);
  if (tensor_of(op.dst)->read >= 0) {  // kept apart, in the order of the tile
    for (int r = 0; r < of.rows; ++r)
      for (int c = 0; c < of.cols; ++c) {
        const int at = read.reach == TableReach::head    ? 0
                       : read.reach == TableReach::query ? r
                       : read.reach == TableReach::key   ? c
                                                         : r - c + of.cols - 1;
        dst.at(0, at) += of.at(r, c);
      }
    return;
  }
  ExpressionEvaluator<float> index(read.index);
  for (int r = 0; r < of.rows; ++r)
    for (int c = 0; c < of.cols; ++c) {
      const ExprElement at{op.tile.plane / problem_.heads, op.tile.plane % problem_.heads, op.tile.row + r, op.tile.col + c};
      const std::int64_t element = index(at).integer;
      if (element < 0) continue;
      const std::int64_t row = element / read.table_cols() - box.row, col = element % read.table_cols() - box.col;
      if (row >= 0 && row < dst.rows && col >= 0 && col < dst.cols)
        dst.at(static_cast<int>(row), static_cast<int>(col)) += of.at(r, c);
    }
}

const float* TileArithmetic::rounded(ChipTile chip_tile, const Matrix& m) {
  // Q, K and V come from HBM in their type: rounding them again would change nothing.
  const bool loaded = chip_tile.is(Meaning::query) || chip_tile.is(Meaning::key) || chip_tile.is(Meaning::value);
  const DataType type = type_of(chip_tile.tensor(), problem_.dtype);
  if (loaded || keeps_every_float(type)) return m.values.data();
  rounded_ = m;
  round_all(type, rounded_.values);
  return rounded_.values.data();
}

void TileArithmetic::multiply(const Operation& op, const Matrix& a, const Matrix& b, Matrix& dst) {
  const auto rows = static_cast<std::size_t>(op.rows), cols = static_cast<std::size_t>(op.cols),
             inner = static_cast<std::size_t>(op.inner);
  const std::size_t row_panels = (rows + panel_rows - 1) / panel_rows, col_panels = (cols + panel_cols - 1) / panel_cols;

  // Panels are padded with zeros; the sums of the padding are computed but not used.
  const float* from = rounded(op.src[0], a);
  a_panels_.assign(row_panels * panel_rows * inner, 0.0F);
  const std::size_t row_step = op.transpose_left ? 1 : inner, inner_step = op.transpose_left ? rows : 1;
  for (std::size_t r = 0; r < rows; ++r) {
    float* out = &a_panels_[(r / panel_rows) * panel_rows * inner + r % panel_rows];
    for (std::size_t k = 0; k < inner; ++k) out[k * panel_rows] = from[r * row_step + k * inner_step];
  }
  from = rounded(op.src[1], b);
  b_panels_.assign(col_panels * panel_cols * inner, 0.0F);
  const std::size_t k_step = op.transpose ? 1 : cols, c_step = op.transpose ? inner : 1;
  for (std::size_t j = 0; j < col_panels; ++j)
    for (std::size_t k = 0; k < inner; ++k) {
      float* out = &b_panels_[(j * inner + k) * panel_cols];
      const std::size_t first = j * panel_cols, count = std::min(panel_cols, cols - first);
      for (std::size_t c = 0; c < count; ++c) out[c] = from[k * k_step + (first + c) * c_step];
    }

  std::array<float, panel_rows * panel_cols> sums{};
  for (std::size_t i = 0; i < row_panels; ++i)
    for (std::size_t j = 0; j < col_panels; ++j) {
      multiply_panels(&a_panels_[i * panel_rows * inner], &b_panels_[j * panel_cols * inner], inner, sums.data());
      for (std::size_t r = i * panel_rows; r < std::min(rows, (i + 1) * panel_rows); ++r)
        for (std::size_t c = j * panel_cols; c < std::min(cols, (j + 1) * panel_cols); ++c) {
          const float product = op.value * sums[(r % panel_rows) * panel_cols + c % panel_cols];
          float& out = dst.values[r * cols + c];
          out = op.accumulate ? out + product : product;
        }
    }
}

}  // namespace tilescope
