// Derivatives and indices of table reads, and the elements that a tile reaches.
#include "sim/masks/table_gradient.h"

#include <algorithm>
#include <utility>

#include "sim/core/refuse.h"
#include "sim/core/text.h"
#include "sim/core/units.h"
#include "sim/masks/derivative.h"
#include "sim/masks/evaluate.h"
#include "sim/masks/interval_analysis.h"

namespace tilescope {

namespace {

/// Builds ints on top of an expression.
class IndexWriter {
 public:
  explicit IndexWriter(const Expression& expression) : out_(expression) {}

  std::int32_t integer(std::int64_t value) {
    ExprNode node;
    node.integer = static_cast<std::int32_t>(value);
    out_.nodes.push_back(node);
    return out_.root();
  }
  std::int32_t put(ExprOp op, ValueType type, std::initializer_list<std::int32_t> args) { return out_.append(op, type, args); }
  /// Returns the node of the index of the first `axes` axes, counted as one.
  std::int32_t flat(const ExprNode& read, std::size_t axes) {
    const CapturedTable& table = *out_.tables[static_cast<std::size_t>(read.integer)];
    if (axes == 0) return integer(0);
    std::int32_t sum = read.args[0];
    for (std::size_t axis = 1; axis < axes; ++axis) {
      const std::int32_t whole = put(ExprOp::multiply, ValueType::integer, {sum, integer(table.shape[axis])});
      sum = put(ExprOp::add, ValueType::integer, {whole, read.args[axis]});
    }
    return sum;
  }
  /// Returns the node of `flat`, or -1 where an axis leaves the table.
  std::int32_t inside(const ExprNode& read, std::int32_t flat) {
    const CapturedTable& table = *out_.tables[static_cast<std::size_t>(read.integer)];
    std::int32_t all = -1;
    for (std::size_t axis = 0; axis < read.operands; ++axis) {
      const std::int32_t low = put(ExprOp::greater_equal, ValueType::boolean, {read.args[axis], integer(0)});
      const std::int32_t high = put(ExprOp::less, ValueType::boolean, {read.args[axis], integer(table.shape[axis])});
      const std::int32_t both = put(ExprOp::logical_and, ValueType::boolean, {low, high});
      all = all < 0 ? both : put(ExprOp::logical_and, ValueType::boolean, {all, both});
    }
    return put(ExprOp::select, ValueType::integer, {all, flat, integer(-1)});
  }
  Expression taken(std::int32_t root) const { return part_of(out_, root); }

  /// Returns what a node is worked out from, and the node itself at the end.
  static Expression part_of(const Expression& expression, std::int32_t root) {
    std::vector<bool> needed(expression.nodes.size());
    needed[static_cast<std::size_t>(root)] = true;
    for (auto n = static_cast<std::size_t>(root) + 1; n-- > 0;)
      for (std::size_t a = 0; needed[n] && a < expression.nodes[n].operands; ++a)
        needed[static_cast<std::size_t>(expression.nodes[n].args[a])] = true;
    Expression part;
    part.tables = expression.tables;
    part.sizes = expression.sizes;
    std::vector<std::int32_t> place(needed.size(), -1);
    for (std::size_t n = 0; n <= static_cast<std::size_t>(root); ++n) {
      if (!needed[n]) continue;
      place[n] = static_cast<std::int32_t>(part.nodes.size());
      part.nodes.push_back(expression.nodes[n]);
      for (std::size_t a = 0; a < part.nodes.back().operands; ++a)
        part.nodes.back().args[a] = place[static_cast<std::size_t>(part.nodes.back().args[a])];
    }
    part.text = to_text(part);
    return part;
  }

 private:
  Expression out_;
};

bool is_always(const Expression& expression, double value) {
  return expression.dependence() == 0 && ExpressionEvaluator<double>(expression)({}).real == value;
}

}  // namespace

class TableGradientMaker {
 public:
  TableGradientMaker(const Expression& score, const TableGradientChoice& wanted) : score_(score), wanted_(wanted) {}

  Result<TableGradient> made() {
    const auto found = std::ranges::find_if(score_.tables, [&](const auto& table) { return table->name == wanted_.name; });
    if (found == score_.tables.end())
      return refuse("{}: there is no table '{}': name one of {}", Setting::table_gradient, printable(wanted_.name, 40),
                    Setting::table);
    TableGradient made{*found, wanted_.in_order, {}};
    const CapturedTable& table = **found;
    if (table.type != ValueType::real)
      return refuse("{}: table {} holds {}, which have no gradient: save it as a .npy file of floats", Setting::table_gradient,
                    table.name, table.type == ValueType::integer ? phrase("ints") : phrase("bools"));
    constexpr std::string_view taken[] = {"Q", "K", "V", "S", "P", "O", "Q_acc"};
    if (std::ranges::find(taken, table.name) != std::end(taken))
      return refuse("{}: d{} is another gradient: give table {} another name", Setting::table_gradient, table.name, table.name);
    const Expression slope = derivative_by_score(score_);
    slope_text_ = is_always(slope, 1) ? "" : IndexWriter::part_of(slope, slope.root()).text;
    const auto number = static_cast<std::int32_t>(found - score_.tables.begin());
    for (std::int32_t n = 0; n < static_cast<std::int32_t>(score_.nodes.size()); ++n) {
      const ExprNode& node = score_.nodes[static_cast<std::size_t>(n)];
      if (node.op != ExprOp::element || node.integer != number) continue;
      const Expression factor = derivative_by_read(score_, n);
      if (is_always(factor, 0)) continue;
      if (made.reads.size() >= most_table_reads)
        return refuse("{}: the score reads {} at more than {} places: sum fewer of them", Setting::table_gradient, table.name,
                      most_table_reads);
      made.reads.push_back(read_of(node, factor));
      if (wanted_.in_order && made.reads.back().reach == TableReach::pair)
        return refuse(
            "{}: in_order needs an index that moves by 1 with q, with kv or with q - kv, or with none of them; column {} "
            "reads {} at another one",
            Setting::table_gradient, node.column, table.name);
    }
    if (made.reads.empty())
      return refuse("{}: no score changes with the numbers of table {}, so it has no gradient", Setting::table_gradient,
                    table.name);
    return made;
  }

 private:
  TableRead read_of(const ExprNode& node, const Expression& factor) {
    const CapturedTable& table = *score_.tables[static_cast<std::size_t>(node.integer)];
    TableRead read;
    read.column = node.column;
    read.takes_slope = !slope_text_.empty() && IndexWriter::part_of(factor, factor.root()).text == slope_text_;
    if (!read.takes_slope && !is_always(factor, 1)) read.factor = factor;
    IndexWriter writer(score_);
    const std::int32_t row = writer.flat(node, node.operands - std::size_t{1}), flat = writer.flat(node, node.operands);
    read.index = writer.taken(writer.inside(node, flat));
    read.cols_ = table.shape.back();
    read.rows_ = table.elements() / read.cols_;
    read.row_ = lines_of(read, writer.taken(row), read.rows_);
    read.col_ = lines_of(read, IndexWriter::part_of(score_, node.args[node.operands - std::size_t{1}]), read.cols_);
    settle_reach(read);
    return read;
  }

  /// Returns the row, or the column, of an index for each plane. `length`: of that axis of the table.
  std::vector<TableRead::Line> lines_of(TableRead& read, const Expression& index, std::int64_t length) const {
    const ExprSizes& sizes = score_.sizes;
    IntervalAnalysis analysis(index, ranges_of(index.tables));
    std::vector<TableRead::Line> lines;
    const bool by_plane = (index.dependence() & (depends_on_b | depends_on_h)) != 0;
    for (std::int64_t plane = 0; plane < (by_plane ? sizes.batch * sizes.heads : 1); ++plane) {
      analysis.set_plane(plane / sizes.heads, plane % sizes.heads);
      analysis({0, sizes.seq_q}, {0, sizes.seq_kv});
      IntervalAnalysis::IntegerRange range = analysis.integer();
      if (!range.linear && range.low == range.high) range = {range.low, range.high, 0, 0, range.low, true};  // read from a table
      read.inside_ = read.inside_ && range.low >= 0 && range.high < length;
      lines.push_back({range.per_query, range.per_key, range.constant, std::clamp<std::int64_t>(range.low, 0, length - 1),
                       std::clamp<std::int64_t>(range.high, 0, length - 1)});
      const TableRead::Line& first = lines.front();
      read.linear_ = read.linear_ && range.linear && range.per_query == first.per_query && range.per_key == first.per_key;
    }
    return lines;
  }

  static void settle_reach(TableRead& read) {
    const TableRead::Line &row = read.row_.front(), &col = read.col_.front();
    const bool one_row = row.per_query == 0 && row.per_key == 0;
    const auto is = [&](std::int64_t query, std::int64_t key) { return col.per_query == query && col.per_key == key; };
    const auto take = [&](TableReach reach) {
      read.reach = reach;
      read.per_query = static_cast<int>(col.per_query);
      read.per_key = static_cast<int>(col.per_key);
    };
    if (read.linear_ && one_row) {
      if (is(0, 0)) take(TableReach::head);
      if (is(1, 0) || is(-1, 0)) take(TableReach::query);
      if (is(0, 1) || is(0, -1)) take(TableReach::key);
      if (is(1, -1) || is(-1, 1)) take(TableReach::distance);
    }
    if (read.reach != TableReach::pair) return;
    // A row of the table for each query, and a column for each key, or the other way round.
    const bool both = row.per_query != 0 ? row.per_key == 0 && is(0, 1) : row.per_key == 1 && is(1, 0);
    read.flipped_ = read.linear_ && both && row.per_query == 0;
    read.exact_ = read.linear_ && both && (row.per_query == 0 || row.per_query == 1) && read.inside_;
  }

  const Expression& score_;
  const TableGradientChoice& wanted_;
  std::string slope_text_;  // empty: it is 1
};

TableBox TableRead::box(std::int64_t plane, TileRange queries, TileRange keys) const {
  const auto range_of = [&](const std::vector<Line>& lines, std::int64_t length) {
    const Line& line = lines[lines.size() == 1 ? 0 : static_cast<std::size_t>(plane)];
    if (!linear_) return std::pair{line.low, line.high + 1};
    const std::int64_t across = line.per_query * (queries.count - 1), along = line.per_key * (keys.count - 1);
    const std::int64_t at = line.constant + line.per_query * queries.first + line.per_key * keys.first;
    const std::int64_t low = at + std::min<std::int64_t>(across, 0) + std::min<std::int64_t>(along, 0);
    const std::int64_t high = at + std::max<std::int64_t>(across, 0) + std::max<std::int64_t>(along, 0);
    return std::pair{std::max<std::int64_t>(low, 0), std::min(high + 1, length)};
  };
  const auto [row, row_end] = range_of(row_, rows_);
  const auto [col, col_end] = range_of(col_, cols_);
  return {row, row_end - row, col, col_end - col};
}

Expression TableRead::unbounded_index() const {
  return IndexWriter::part_of(index, index.nodes.back().args[1]);  // a choice of it or -1
}
Expression TableRead::used_factor() const {
  return IndexWriter::part_of(*factor, factor->root());
}

TableBox table_share(std::int64_t rows, std::int64_t cols, std::int64_t n, std::int64_t blocks) {
  if (rows >= blocks) {
    const std::int64_t each = ceil_div(rows, blocks);
    return {n * each, std::min(each, rows - n * each), 0, cols};
  }
  const std::int64_t across = blocks / rows, each = ceil_div(cols, across), col = n % across * each;
  return {n / across, n / across < rows ? 1 : 0, col, std::min(each, cols - col)};
}

TableRead::Origin TableRead::origin(std::int64_t plane) const {
  const auto of = [&](const std::vector<Line>& lines) {
    return lines[lines.size() == 1 ? 0 : static_cast<std::size_t>(plane)].constant;
  };
  return {of(row_), of(col_)};
}

TableParts::TableParts(const TableRead& read, const AttentionProblem& problem, const TileShape& tile)
    : reach_(read.reach),
      planes_(problem.query_planes()),
      query_tiles_(ceil_div(problem.seq_q, tile.block_q)),
      key_tiles_(ceil_div(problem.seq_kv, tile.block_kv)),
      seq_q_(problem.seq_q),
      seq_kv_(problem.seq_kv),
      window_(tile.block_q + tile.block_kv),
      by_tile_(read.reach == TableReach::key || read.reach == TableReach::distance) {}

std::int64_t TableParts::cols() const {
  switch (reach_) {
    case TableReach::head:
      return query_tiles_;
    case TableReach::query:
      return seq_q_;
    case TableReach::key:
      return seq_kv_;
    case TableReach::distance:
    case TableReach::pair:
      break;
  }
  return key_tiles_ * window_;
}

TableBox TableParts::box(std::int64_t plane, std::int64_t i, TileRange queries, std::int64_t j, TileRange keys) const {
  const std::int64_t row = by_tile_ ? plane * query_tiles_ + i : plane;
  switch (reach_) {
    case TableReach::head:
      return {row, 1, i, 1};
    case TableReach::query:
      return {row, 1, queries.first, queries.count};
    case TableReach::key:
      return {row, 1, keys.first, keys.count};
    case TableReach::distance:
    case TableReach::pair:
      break;
  }
  return {row, 1, j * window_, queries.count + keys.count - 1};
}

Result<TableGradientChoice> parse_table_gradient(std::string_view text) {
  const std::size_t colon = text.find(':');
  TableGradientChoice choice{std::string(text.substr(0, colon))};
  choice.in_order = colon != std::string_view::npos && text.substr(colon + 1) == "in_order";
  if (!choice.name.empty() && (colon == std::string_view::npos || choice.in_order)) return choice;
  return refuse("{} '{}': write NAME or NAME:in_order", Setting::table_gradient, printable(text, 60));
}

Result<std::vector<TableGradient>> table_gradients(const Expression& score, const std::vector<TableGradientChoice>& wanted) {
  std::vector<TableGradient> made;
  std::size_t reads = 0;
  for (const TableGradientChoice& choice : wanted) {
    for (const TableGradient& other : made)
      if (other.table->name == choice.name) return refuse("{} names table {} twice", Setting::table_gradient, choice.name);
    auto one = TableGradientMaker(score, choice).made();
    if (!one) return one.error();
    reads += one->reads.size();
    made.push_back(std::move(*one));
  }
  if (made.size() > most_table_gradients || reads > most_table_reads)
    return refuse("{} takes at most {} tables, read at {} places, not {} at {}: name fewer", Setting::table_gradient,
                  most_table_gradients, most_table_reads, made.size(), reads);
  return made;
}

}  // namespace tilescope
