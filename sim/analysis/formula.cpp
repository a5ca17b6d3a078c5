// formula_with_numbers(): the arithmetic of one operation as a line that a student can check with a calculator.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sim/analysis/format.h"
#include "sim/analysis/softmax_row.h"

namespace tilescope {

namespace {

class FormulaWriter {
 public:
  FormulaWriter(const BlockValues& values, int op, int row, int col)
      : values_(values), operation_(values.operations().operations[static_cast<std::size_t>(op)]), op_(op), row_(row), col_(col) {
    row_ = std::clamp(row, 0, std::max(0, operation_.rows - 1));
    col_ = std::clamp(col, 0, std::max(0, operation_.cols - 1));
  }

  std::string write() const {
    const Operation& o = operation_;
    switch (o.kind) {
      case OpKind::load:
        return fmt::format("{} ← {}: {}", to_string(o.dst), place(), format_bytes(Bytes(o.bytes)));
      case OpKind::reduce_add:
        return added();
      case OpKind::fetch_add:
      case OpKind::write:
        return fmt::format("{} += {}: {}", place(), format_value(o.value), format_bytes(Bytes(o.bytes)));
      case OpKind::store:
        return fmt::format("{} ← {}: {}", place(), to_string(o.src[0]), format_bytes(Bytes(o.bytes)));
      case OpKind::fill:
        return fmt::format("{} = {}", to_string(o.dst), format_value(o.value));
      case OpKind::matmul:
        return product();
      case OpKind::mask:
        return mask();
      case OpKind::modify:
        return fmt::format("{} = f({}) = {}", entry(o.dst), format_value(element(o.dst)), format_value(result()));
      case OpKind::slope:
        return fmt::format("{} = f′({}) = {}", entry(o.dst), format_value(element(o.src[0])), format_value(result()));
      case OpKind::factor:
      case OpKind::gather:
      case OpKind::add_parts:
        return fmt::format("{} = {}", entry(o.dst), format_value(result()));
      case OpKind::row_max:
        return row_max();
      case OpKind::exp:
        return fmt::format("{} = e^({}) = {}", entry(o.dst), difference(element(o.src[0]), number(1)), format_value(result()));
      case OpKind::exp_rows:
        return fmt::format("{} = e^({}) = {}", to_string(o.dst), difference(number(0), number(1)), format_value(result()));
      case OpKind::row_sum:
        return row_sum();
      case OpKind::rescale:
        return fmt::format(
            "{} = {} = {}", entry(o.dst),
            o.src[1] == ChipTile::none ? factors({number(0), element(o.dst)}) : factors({number(0), number(1), element(o.dst)}),
            format_value(result()));
      case OpKind::divide:
        if (number(0) == 0) return fmt::format("{} = 0, as {} = 0", entry(o.dst), to_string(o.src[0]));
        return fmt::format("{} = {} / {} = {}", entry(o.dst), format_value(element(o.dst)), format_value(number(0)),
                           format_value(result()));
      case OpKind::add:
        return fmt::format("{} = {} = {}", entry(o.dst), sum(format_value(element(o.dst)), element(o.src[0])),
                           format_value(result()));
      case OpKind::subtract_rows:
        return fmt::format("{} = {} = {}", entry(o.dst), difference(element(o.dst), number(0)), format_value(result()));
      case OpKind::multiply:
        return multiplied();
      case OpKind::merge:
        return fmt::format("{} = {} + {} = {}", to_string(o.dst), factors({number(0), number(1)}), factors({number(2), number(3)}),
                           format_value(result()));
      case OpKind::log_sum_exp:
        return fmt::format("{} = {} + ln {} = {}", to_string(o.dst), format_value(number(0)), format_value(number(1)),
                           format_value(result()));
      case OpKind::copy:
        return copied();
      case OpKind::barrier:
      case OpKind::wait:
        return {};
    }
    return {};
  }

 private:
  /// Returns the value of an on-chip tile before the operation changes it.
  std::shared_ptr<const Matrix> before(ChipTile chip_tile) const {
    return values_.value(chip_tile, chip_tile == operation_.dst ? values_.before(op_) : op_);
  }

  static float entry_of(const std::shared_ptr<const Matrix>& m, int r, int c) {
    return m == nullptr || r >= m->rows || c >= m->cols ? std::nanf("") : m->at(r, c);
  }
  float number(std::size_t operand) const { return entry_of(before(operation_.src[operand]), row_, 0); }
  float element(ChipTile chip_tile) const { return entry_of(before(chip_tile), row_, col_); }
  float result() const { return entry_of(values_.value(operation_.dst, op_), row_, col_); }

  /// Returns the name of an element, such as "P[3,0]"; only the tile's name if it has one number per row.
  std::string entry(ChipTile chip_tile) const {
    if (operation_.cols == 1 && tensor_of(chip_tile)->cols == Axis::one) return std::string(to_string(chip_tile));
    return fmt::format("{}[{},{}]", to_string(chip_tile), row_, col_);
  }
  std::string place() const {
    const TileRef& t = operation_.tile;
    const bool matrix = t.tensor->cols == Axis::key;
    return fmt::format("{}[{}{}]", to_string(t.tensor), range(t.row, t.rows),
                       matrix ? fmt::format(", {}", range(t.col, t.cols)) : "");
  }
  static std::string range(int first, int count) {
    return count == 1 ? fmt::format("{}", first) : fmt::format("{}…{}", first, first + count - 1);
  }

  static bool is_negative(float value) { return std::signbit(value) && value != 0; }
  static std::string in_product(float value) {
    return is_negative(value) ? fmt::format("({})", format_value(value)) : format_value(value);
  }
  static std::string factors(std::initializer_list<float> values) {
    std::string text;
    for (float value : values) text += (text.empty() ? "" : " · ") + (text.empty() ? format_value(value) : in_product(value));
    return text;
  }
  static std::string sum(std::string first, float second) {
    first += is_negative(second) ? fmt::format(" {} ", minus_sign) : " + ";
    return first + format_value(std::abs(second));
  }
  /// Formats "1.204 − 1.871"; a plus replaces the double sign before a negative number.
  static std::string difference(float from, float what) {
    std::string text = format_value(from);
    text += is_negative(what) ? " + " : fmt::format(" {} ", minus_sign);
    return text + format_value(std::abs(what));
  }

  std::string product() const {
    const Operation& o = operation_;
    const std::string names = fmt::format("{}·{}", to_string(o.src[0]), to_string(o.src[1]));
    const float value = result();
    if (o.accumulate) {
      const float old = element(o.dst);
      return fmt::format("{} = {} = {}", entry(o.dst), sum(format_value(old), value - old), format_value(value));
    }
    if (o.value == 1.0F) return fmt::format("{} = Σ {} = {}", entry(o.dst), names, format_value(value));
    return fmt::format("{} = τ Σ {} = {} = {}", entry(o.dst), names, factors({o.value, value / o.value}), format_value(value));
  }

  /// Returns the sum of one element in memory before and after. Where the sum before is not known, only what is added.
  std::string added() const {
    const Operation& o = operation_;
    const float part = element(o.src[0]);
    if (std::isnan(part)) return fmt::format("{} += {}: {}", place(), to_string(o.src[0]), format_bytes(Bytes(o.bytes)));
    const std::string name = fmt::format("{}[{},{}]", to_string(o.tile.tensor), o.tile.row + row_, o.tile.col + col_);
    const auto sums = values_.sums_found(op_);
    if (sums == nullptr) return fmt::format("{} += {}", name, format_value(part));
    const float old = entry_of(sums, row_, col_);
    return fmt::format("{} = {} = {}", name, sum(format_value(old), part), format_value(old + part));
  }

  const Operation& at(int op) const { return values_.operations().operations[static_cast<std::size_t>(op)]; }

  /// Returns how `tile` came to what it holds after operation `last`: the differences and products of its elements in this tile
  /// iteration, oldest first, beginning with what they change.
  std::vector<int> changes_until(ChipTile tile, int last) const {
    std::vector<int> changes;
    for (int i = last; i >= 0 && at(i).iteration == at(last).iteration; --i) {
      if (at(i).dst != tile || at(i).strip != at(last).strip) continue;
      if (at(i).kind != OpKind::subtract_rows && at(i).kind != OpKind::multiply) break;
      changes.insert(changes.begin(), i);
    }
    return changes;
  }

  /// Returns "P · (dP − D) = 0.0125 · (2.695 − 0.0724)" for such changes.
  std::string change_text(ChipTile tile, const std::vector<int>& changes) const {
    const int before = values_.before(changes.front());
    const bool copied = before >= 0 && at(before).kind == OpKind::copy && at(before).dst == tile;
    std::string names(to_string(copied ? at(before).src[0] : tile));
    const float value = entry_of(values_.value(tile, before), row_, col_);
    std::string numbers = format_value(value);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const Operation& o = at(changes[i]);
      const bool subtracts = o.kind == OpKind::subtract_rows;
      const float by = entry_of(values_.value(o.src[0], changes[i]), row_, subtracts ? 0 : col_);
      const bool again = i + 1 < changes.size();
      const std::string name(to_string(o.src[0]));
      if (subtracts) {
        names = fmt::format("{} {} {}", names, minus_sign, name);
        numbers += is_negative(by) ? " + " : fmt::format(" {} ", minus_sign);
        numbers += format_value(std::abs(by));
        if (again) names = fmt::format("({})", names), numbers = fmt::format("({})", numbers);
      } else {
        names = fmt::format("{} · {}", name, names);
        numbers = fmt::format("{} · {}", format_value(by), i == 0 ? in_product(value) : numbers);
      }
    }
    return names + " = " + numbers;
  }

  std::string multiplied() const {
    const Operation& o = operation_;
    const std::vector<int> changes = changes_until(o.dst, op_);
    if (changes.size() < 2)
      return fmt::format("{} = {} = {}", entry(o.dst), factors({element(o.dst), element(o.src[0])}), format_value(result()));
    // The line names the tile to which the next operation copies the product.
    const auto next = static_cast<std::size_t>(op_) + 1;
    const auto& all = values_.operations().operations;
    const bool named = next < all.size() && all[next].kind == OpKind::copy && all[next].src[0] == o.dst && all[next].line == o.line;
    return fmt::format("{} = {} = {}", entry(named ? all[next].dst : o.dst), change_text(o.dst, changes), format_value(result()));
  }

  std::string copied() const {
    const Operation& o = operation_;
    int written = op_ - 1;
    while (written >= 0 && at(written).iteration == o.iteration && at(written).dst != o.src[0]) --written;
    if (written >= 0 && at(written).kind == OpKind::multiply && at(written).dst == o.src[0])
      if (const std::vector<int> changes = changes_until(o.src[0], written); changes.size() >= 2)
        return fmt::format("{} = {} = {}", entry(o.dst), change_text(o.src[0], changes), format_value(result()));
    return fmt::format("{} = {} = {}", entry(o.dst), to_string(o.src[0]), format_value(result()));
  }

  std::string mask() const {
    const auto value = values_.value(operation_.dst, op_);
    int first = operation_.cols;
    while (first > 0 && std::isinf(entry_of(value, row_, first - 1))) --first;
    const std::string_view name = to_string(operation_.dst);
    if (first == operation_.cols) return fmt::format("{0}[{1},{2}] = {0}[{1},{2}]", name, row_, range(0, operation_.cols));
    return fmt::format("{}[{},{}] = {}", name, row_, range(first, operation_.cols - first), format_value(-HUGE_VAL));
  }

  std::string row_max() const {
    const Operation& o = operation_;
    const auto rows = before(o.src[1]);
    float largest = -HUGE_VALF;
    for (int c = 0; rows != nullptr && c < rows->cols; ++c) largest = std::max(largest, entry_of(rows, row_, c));
    if (o.src[0] == ChipTile::none)
      return fmt::format("{} = max {} = {}", to_string(o.dst), to_string(o.src[1]), format_value(result()));
    return fmt::format("{} = max({}, {}) = {}", to_string(o.dst), format_value(number(0)), format_value(largest),
                       format_value(result()));
  }

  std::string row_sum() const {
    const Operation& o = operation_;
    const auto rows = before(o.src[1]);
    double added = 0;
    for (int c = 0; rows != nullptr && c < rows->cols; ++c) added += entry_of(rows, row_, c);
    if (o.src[0] == ChipTile::none)
      return fmt::format("{} = Σ {} = {}", to_string(o.dst), to_string(o.src[1]), format_value(result()));
    const std::string old = o.src[2] == ChipTile::none ? format_value(number(0)) : factors({number(2), number(0)});
    return fmt::format("{} = {} = {}", to_string(o.dst), sum(old, static_cast<float>(added)), format_value(result()));
  }

  const BlockValues& values_;
  const Operation& operation_;
  int op_, row_, col_;
};

}  // namespace

std::string formula_with_numbers(const BlockValues& values, int op, int row, int col) {
  const auto count = static_cast<int>(values.operations().operations.size());
  if (op < 0 || op >= count) return {};
  return FormulaWriter(values, op, row, col).write();
}

}  // namespace tilescope
