// Collects the values of one row of a block.
#include "sim/analysis/softmax_row.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilescope {

namespace {

/// The operations of one tile iteration, first to last.
struct IterationRange {
  int first = 0, last = -1;
};

/// Returns whether an operation reads or writes the tile of scores.
bool touches_scores(const Operation& o) {
  return o.dst.is(Meaning::score) || o.src[0].is(Meaning::score) || o.src[1].is(Meaning::score);
}

class SoftmaxRowReader {
 public:
  SoftmaxRowReader(const TileProgram& program, const BlockValues& values, int op, int row)
      : program_(program),
        values_(values),
        operations_(values.operations().operations),
        op_(op),
        row_(row),
        range_(range_around(op)) {
    find_queries();
    find_walk();
  }

  SoftmaxRow read(const ReferencePlane* exact) {
    SoftmaxRow result;
    result.op = op_;
    result.row = row_;
    result.query = first_query_ + row_;
    if (op_ < 0 || operations_.empty()) return result;
    result.iteration = operations_[at(op_)].iteration;
    result.kv_tile = key_tile();
    read_statistics(result);
    read_output(result);
    read_scores(result, exact);
    read_gradient(result);
    if (exact != nullptr) compare(result, *exact);
    return result;
  }

 private:
  static std::size_t at(int op) { return static_cast<std::size_t>(op); }
  const Operation& operation(int i) const { return operations_[at(i)]; }

  /// Returns whether operation `i` works on the same rows: those of the block, or of one of its strips.
  bool is_ours(int i) const { return op_ >= 0 && operation(i).strip == operation(op_).strip; }

  /// Returns the key tile of the iteration: that of its scores. Other products can belong to the tile before.
  std::int32_t key_tile() const {
    std::int32_t tile = -1;
    for (int i = range_.first; i <= range_.last; ++i)
      if (is_ours(i) && touches_scores(operation(i)) && operation(i).kv_tile >= 0) return operation(i).kv_tile;
    for (int i = range_.first; i <= range_.last; ++i)
      if (is_ours(i)) tile = std::max(tile, operation(i).kv_tile);
    return tile;
  }

  IterationRange range_around(int op) const {
    IterationRange range = {op, op};
    if (op < 0) return {0, -1};
    const std::int32_t iteration = operation(op).iteration;
    while (range.first > 0 && operation(range.first - 1).iteration == iteration) --range.first;
    while (at(range.last) + 1 < operations_.size() && operation(range.last + 1).iteration == iteration) ++range.last;
    return range;
  }

  /// Finds the query rows of this iteration.
  void find_queries() {
    const Domain& own = values_.operations().domain;
    // A block that owns keys has no query rows before its first query tile.
    first_query_ = own.axis == Axis::query ? own.first : 0;
    std::int64_t rows = own.axis == Axis::query ? own.count : std::min(program_.tile().block_q, program_.problem().seq_q);
    for (int i = range_.first; i <= range_.last; ++i) {
      const TileRef& tile = operation(i).tile;
      if (!is_ours(i)) continue;
      if (operation(i).kind == OpKind::barrier || !tile.tensor || tile.tensor->rows != Axis::query || tile.rows <= 0) continue;
      first_query_ = tile.row;
      rows = tile.rows;
      plane_ = tile.plane;
      break;
    }
    row_ = std::clamp(row_, 0, static_cast<int>(std::max<std::int64_t>(0, rows - 1)));
  }

  /// Returns whether operation `i` writes S of these queries.
  bool writes_scores(int i, std::int32_t q_tile) const {
    const Operation& o = operation(i);
    return o.kv_tile >= 0 && o.q_tile == q_tile && o.dst.is(Meaning::score) && (plane_ < 0 || o.tile.plane == plane_);
  }

  /// Finds where the walk over the keys begins: a program that computes the scores of a key tile again begins another walk.
  void find_walk() {
    if (op_ < 0) return;
    const std::int32_t q_tile = operation(range_.last).q_tile;
    std::map<std::int32_t, std::int32_t> iteration_of;  // by key tile
    for (int i = 0; i <= range_.last; ++i) {
      if (!writes_scores(i, q_tile)) continue;
      const std::int32_t iteration = operation(i).iteration;
      const auto [found, is_new] = iteration_of.try_emplace(operation(i).kv_tile, iteration);
      if (is_new || found->second == iteration) continue;
      iteration_of = {{operation(i).kv_tile, iteration}};
      walk_ = range_around(i).first;
    }
  }

  /// Returns the row's entry of a row vector after operation `op`.
  std::optional<float> number(ChipTile chip_tile, int op) const {
    if (chip_tile == ChipTile::none) return std::nullopt;
    const auto value = values_.value(chip_tile, op);
    if (value == nullptr || value->rows == 0) return std::nullopt;
    return value->at(std::min(row_, value->rows - 1), 0);
  }
  std::vector<float> whole_row(ChipTile chip_tile, int op) const {
    const auto value = values_.value(chip_tile, op);
    if (value == nullptr || value->rows == 0) return {};
    const auto first = value->values.begin() + static_cast<std::ptrdiff_t>(std::min(row_, value->rows - 1)) * value->cols;
    return {first, first + value->cols};
  }
  /// Returns the last operation of the iteration, up to `op_`, that satisfies `wanted`; -1 if there is none.
  template <class Wanted>
  int last_of(Wanted wanted) const {
    for (int i = op_; i >= range_.first; --i)
      if (is_ours(i) && wanted(operation(i))) return i;
    return -1;
  }
  int last_write(ChipTile chip_tile) const {
    if (chip_tile == ChipTile::none) return -1;
    return last_of([chip_tile](const Operation& o) { return o.dst == chip_tile; });
  }
  /// Returns the operation after which the on-chip tile holds the iteration's initial value: its load if the iteration has one (-2
  /// if that is still to come), otherwise the last operation before the iteration.
  int starting_point(ChipTile chip_tile) const {
    for (int i = range_.first; i <= range_.last; ++i)
      if (is_ours(i) && operation(i).kind == OpKind::load && operation(i).dst == chip_tile) return i <= op_ ? i : -2;
    int before = range_.first - 1;
    while (before >= 0 && !is_ours(before)) --before;
    return before;
  }
  std::optional<float> starting_number(ChipTile chip_tile) const {
    const int from = starting_point(chip_tile);
    return from == -2 ? std::nullopt : number(chip_tile, from);
  }

  void read_statistics(SoftmaxRow& result) const {
    result.m_old = starting_number(tile(Meaning::row_max));
    result.l_old = starting_number(tile(Meaning::row_sum));
    for (int i = range_.first; i <= op_; ++i) {
      const Operation& o = operation(i);
      if (!is_ours(i)) continue;
      if (o.kind == OpKind::row_max) (o.dst->part == TilePart::of_tile ? result.m_tile : result.m_new) = number(o.dst, i);
      if (o.kind == OpKind::exp_rows) (o.dst->part == TilePart::factor_of_tile ? result.beta : result.alpha) = number(o.dst, i);
      if (o.kind == OpKind::log_sum_exp) result.lse = number(o.dst, i);
      if (o.kind == OpKind::merge) result.l_new = number(o.dst, i);
      if (o.kind == OpKind::row_sum) {
        (o.dst->part == TilePart::of_tile ? result.l_tile : result.l_new) = number(o.dst, i);
        double sum = 0;
        for (float weight : whole_row(o.src[1], i)) sum += weight;
        result.tile_sum = sum;
      }
    }
  }

  void read_output(SoftmaxRow& result) const {
    const ChipTile output = tile(Meaning::output);
    if (output == ChipTile::none) return;
    const int from = starting_point(output);
    if (from != -2) result.o_before = whole_row(output, from);
    // Where the product of the tile before comes first, O is rescaled with it.
    const int rescaled = last_of([&](const Operation& o) { return o.dst == output && o.kind == OpKind::rescale; });
    for (int i = rescaled - 1; i >= range_.first; --i)
      if (is_ours(i) && operation(i).dst == output && operation(i).kind == OpKind::matmul) {
        result.o_before = whole_row(output, i);
        break;
      }
    const int write = last_of([&](const Operation& o) { return o.dst == output && o.kind != OpKind::load; });
    if (write >= 0) result.o_after = whole_row(output, op_);
  }

  /// Returns the last operation before `end` in the iteration that writes `chip_tile`; -1 if there is none.
  int write_before(ChipTile chip_tile, int end) const {
    for (int i = end - 1; i >= range_.first; --i)
      if (is_ours(i) && operation(i).dst == chip_tile) return i;
    return -1;
  }
  /// Returns the row of `chip_tile` as operation `user` finds it, once it is written.
  std::vector<float> row_for(ChipTile chip_tile, int user) const {
    const int written = write_before(chip_tile, user);
    return written > op_ ? std::vector<float>{} : whole_row(chip_tile, written >= 0 ? written : std::min(op_, user));
  }

  /// Finds dS by its operations: a row statistic is subtracted from a gradient, which is then multiplied by P.
  void read_gradient(SoftmaxRow& result) const {
    const auto find = [&](int from, OpKind kind, auto wanted) {
      for (int i = from; i <= range_.last; ++i)
        if (is_ours(i) && operation(i).kind == kind && wanted(operation(i))) return i;
      return -1;
    };
    const int subtracts = find(range_.first, OpKind::subtract_rows, [](const Operation& o) { return o.dst.tensor()->gradient; });
    if (subtracts < 0) return;
    const ChipTile changed = operation(subtracts).dst;
    const int weights = find(subtracts, OpKind::multiply,
                             [&](const Operation& o) { return o.dst == changed && o.src[0].is(Meaning::probability); });
    if (weights < 0) return;
    const int slopes = find(weights + 1, OpKind::multiply, [&](const Operation& o) { return o.dst == changed; });
    const int last = std::max(weights, slopes);
    const int copies = find(last, OpKind::copy, [&](const Operation& o) { return o.src[0] == changed; });
    const int before = write_before(changed, subtracts);
    RowGradient gradient;
    gradient.first_key = operation(subtracts).tile.col;
    gradient.d_p = before >= 0 && operation(before).kind == OpKind::copy ? operation(before).src[0] : changed;
    gradient.p = operation(weights).src[0];
    gradient.row_dot = operation(subtracts).src[0];
    gradient.d_s = copies >= 0 ? operation(copies).dst : changed;
    gradient.d_p_row = row_for(changed, subtracts);
    gradient.p_row = row_for(gradient.p, weights);
    if (const int written = write_before(gradient.row_dot, subtracts); written <= op_) {
      gradient.d = number(gradient.row_dot, written >= 0 ? written : std::min(op_, subtracts));
    }
    if (slopes >= 0) {
      gradient.slope = operation(slopes).src[0];
      gradient.slope_row = row_for(gradient.slope, slopes);
    }
    if (last <= op_) gradient.d_s_row = whole_row(changed, last);
    result.gradient = std::move(gradient);
  }

  void read_scores(SoftmaxRow& result, const ReferencePlane* exact) {
    if (result.kv_tile < 0) {
      result.keys_seen = range_.first > 0 && operation(range_.first - 1).kv_tile >= 0 ? visible(result.query) : 0;
      return;
    }
    const std::int64_t tile_keys = program_.tile().block_kv;
    const int scored = last_of([](const Operation& o) { return o.dst.is(Meaning::score) && o.tile.cols > 0; });
    // The scores of a group that has part of the keys begin there.
    const std::int64_t first_key = scored >= 0 ? operation(scored).tile.col : result.kv_tile * tile_keys;
    const bool arrived = last_of(touches_scores) >= 0;
    result.keys_seen = std::min(visible(result.query), first_key);
    find_other_order(result);
    if (!seen_.empty()) result.keys_seen = std::count(seen_.begin(), seen_.end(), true);
    if (!has_scores()) {  // the last launch of standard attention has only P
      if (last_write(tile(Meaning::output)) >= 0) result.keys_seen = std::min(visible(result.query), first_key + tile_keys);
      return;
    }
    const std::vector<float> scores = arrived ? whole_row(tile(Meaning::score), op_) : std::vector<float>{};
    const std::int64_t keys = std::min(visible(result.query), first_key + static_cast<std::int64_t>(scores.size()));
    add_earlier_scores(result, exact, keys);
    if (!arrived) return;
    for (std::size_t c = 0; c < scores.size() && !seen_.empty(); ++c) seen_[static_cast<std::size_t>(first_key) + c] = true;
    const std::vector<float> weights =
        last_write(tile(Meaning::probability)) >= 0 ? whole_row(tile(Meaning::probability), op_) : std::vector<float>{};
    for (std::size_t c = 0; c < scores.size(); ++c) {
      RowScore score = {first_key + static_cast<std::int64_t>(c), scores[c], std::isinf(scores[c]) && scores[c] < 0, true,
                        std::nullopt};
      if (c < weights.size()) score.weight = weights[c];
      result.scores.push_back(score);
    }
    result.keys_seen = seen_.empty() ? keys : std::count(seen_.begin(), seen_.end(), true);
  }

  /// Marks the keys of the walk's earlier tiles in `seen_`, unless these are exactly the tiles below this one. With block lists or
  /// a descending order they are not.
  void find_other_order(const SoftmaxRow& result) {
    std::vector<bool> visited(static_cast<std::size_t>(result.kv_tile) + 1, false);
    const std::int32_t q_tile = operation(range_.last).q_tile;
    bool beyond = false;
    for (int i = walk_; i < range_.first; ++i) {
      if (!writes_scores(i, q_tile)) continue;
      const std::int32_t kv_tile = operation(i).kv_tile;
      if (kv_tile > result.kv_tile) beyond = true;
      if (kv_tile < result.kv_tile) visited[static_cast<std::size_t>(kv_tile)] = true;
    }
    const bool all = std::all_of(visited.begin(), visited.end() - 1, [](bool seen) { return seen; });
    if (!has_scores() || tile(Meaning::row_max) == ChipTile::none || (all && !beyond)) return;
    const std::int64_t tile_keys = program_.tile().block_kv, keys = program_.problem().seq_kv;
    seen_.assign(static_cast<std::size_t>(keys), false);
    for (int i = walk_; i < range_.first; ++i) {
      if (!writes_scores(i, q_tile)) continue;
      const std::int64_t first = operation(i).kv_tile * tile_keys;
      for (std::int64_t key = first; key < std::min(keys, first + tile_keys); ++key) seen_[static_cast<std::size_t>(key)] = true;
    }
  }

  /// Returns a reference row, cached: it costs about a millisecond, and scores and output need the same one.
  const ReferenceRow& exact_row(const ReferencePlane& exact, std::int64_t query, std::int64_t keys) {
    if (exact_keys_ != keys) exact_row_ = exact.row(query, keys);
    exact_keys_ = keys;
    return exact_row_;
  }

  /// Adds the scores of earlier key tiles for the same queries. `keys` counts the keys seen once this tile's scores are computed.
  void add_earlier_scores(SoftmaxRow& result, const ReferencePlane* exact, std::int64_t keys) {
    const std::int64_t tile_keys = program_.tile().block_kv;
    const auto add = [&](std::int64_t key, float value) {
      result.scores.push_back({key, value, std::isinf(value) && value < 0, false, std::nullopt});
    };
    if (!values_.keeps_everything()) {
      if (exact == nullptr) return;
      const ReferenceRow& row = exact_row(*exact, result.query, keys);
      const std::int64_t end = seen_.empty() ? result.kv_tile * tile_keys : static_cast<std::int64_t>(seen_.size());
      for (std::int64_t key = 0; key < end; ++key)
        if (seen_.empty() || seen_[static_cast<std::size_t>(key)])
          add(key, static_cast<float>(row.scores[static_cast<std::size_t>(key)]));
      return;
    }
    // The last operation on S in each earlier tile of the walk.
    std::map<std::int32_t, int> last_on;
    const std::int32_t q_tile = operation(range_.last).q_tile;
    for (int i = walk_; i < range_.first; ++i) {
      const Operation& o = operation(i);
      const bool same_queries = o.q_tile == q_tile && o.tile.plane == plane_ && is_ours(i);
      const bool earlier = o.kv_tile >= 0 && (o.kv_tile < result.kv_tile || !seen_.empty());
      if (earlier && same_queries && touches_scores(o)) last_on[o.kv_tile] = i;
    }
    for (const auto& [kv_tile, i] : last_on) {
      std::int64_t key = kv_tile * tile_keys;
      for (float value : whole_row(tile(Meaning::score), i)) add(key++, value);
    }
  }

  void compare(SoftmaxRow& result, const ReferencePlane& exact) {
    const std::vector<float>& output = result.o_after.empty() ? result.o_before : result.o_after;
    if (output.empty() || result.iteration < 0 || updates_output_later() || output_lags(result)) return;
    const Division division = division_of_output();
    const bool divided = last_of([](const Operation& o) { return o.kind == OpKind::divide && o.dst.is(Meaning::output); }) >= 0;
    // P is normalised over all keys, or O will be divided by the sum over all of them.
    if ((division == Division::none || !sums_in_walk()) && result.keys_seen < visible(result.query)) return;
    double divisor = 1;
    if (division == Division::at_end && result.kv_tile >= 0 && !divided) {
      const std::optional<float> sum = number(tile(Meaning::row_sum), op_);
      if (!sum) return;
      divisor = *sum;
    }
    result.exact_so_far = !seen_.empty() && result.kv_tile >= 0 ? exact.row(result.query, seen_).output
                                                                : exact_row(exact, result.query, result.keys_seen).output;
    if (result.exact_so_far.empty()) return;
    double difference = 0, size = 0;
    for (std::size_t t = 0; t < output.size(); ++t) {
      const double made = divisor == 0 ? 0 : output[t] / divisor;
      difference += (made - result.exact_so_far[t]) * (made - result.exact_so_far[t]);
      size += result.exact_so_far[t] * result.exact_so_far[t];
    }
    result.output_error = difference == 0 ? 0 : std::sqrt(difference / size);
  }

  enum class Division : std::uint8_t { none, every_tile, at_end };
  /// Returns when the program divides O by l. The last division decides: a program that divides in every tile does so in the last.
  Division division_of_output() const {
    for (auto o = operations_.rbegin(); o != operations_.rend(); ++o)
      if (o->kind == OpKind::divide && o->dst.is(Meaning::output)) return o->kv_tile >= 0 ? Division::every_tile : Division::at_end;
    return Division::none;
  }
  /// Returns whether the walk adds to l, so that l belongs to the keys seen so far.
  bool sums_in_walk() const {
    const auto adds = [](const Operation& o) {
      return (o.kind == OpKind::row_sum || o.kind == OpKind::merge) && o.dst.tensor().means(Meaning::row_sum);
    };
    return std::any_of(operations_.begin() + walk_, operations_.begin() + range_.last + 1, adds);
  }
  /// Returns whether O has fewer key tiles than l: its latest product belongs to the tile before, or is still to come.
  bool output_lags(const SoftmaxRow& result) const {
    const auto is_product = [&](int i) {
      return is_ours(i) && operation(i).kind == OpKind::matmul && operation(i).dst.is(Meaning::output);
    };
    for (int i = op_; i >= 0; --i)
      if (is_product(i)) return result.kv_tile >= 0 && operation(i).kv_tile >= 0 && operation(i).kv_tile != result.kv_tile;
    for (int i = op_ + 1; at(i) < operations_.size(); ++i)
      if (is_product(i)) return true;
    return false;
  }
  bool updates_output_later() const {
    for (int i = op_ + 1; i <= range_.last; ++i)
      if (is_ours(i) && operation(i).dst.is(Meaning::output)) return true;
    return false;
  }
  bool has_scores() const {
    return std::any_of(operations_.begin(), operations_.end(), [](const Operation& o) { return o.dst.is(Meaning::score); });
  }
  std::int64_t visible(std::int64_t query) const {
    const Domain& own = values_.operations().domain;
    return program_.problem().visible_keys(query, own.axis == Axis::query ? own.plane : 0);
  }

  /// Returns the program's on-chip tile with that meaning.
  ChipTile tile(Meaning meaning) const { return program_.schema().tile(meaning); }

  const TileProgram& program_;
  const BlockValues& values_;
  const std::vector<Operation>& operations_;
  int op_, row_;
  IterationRange range_;
  int walk_ = 0;  // first operation of this walk over the keys
  std::int64_t first_query_ = 0;
  std::vector<bool> seen_;   // keys of the tiles so far; empty if these are the first tiles
  std::int32_t plane_ = -1;  // plane of the queries
  std::int64_t exact_keys_ = -1;
  ReferenceRow exact_row_;
};

}  // namespace

SoftmaxRow softmax_row(const TileProgram& program, const BlockValues& values, int op, int row, const ReferencePlane* exact) {
  const int last = static_cast<int>(values.operations().operations.size()) - 1;
  return SoftmaxRowReader(program, values, std::clamp(op, -1, last), row).read(exact);
}

}  // namespace tilescope
