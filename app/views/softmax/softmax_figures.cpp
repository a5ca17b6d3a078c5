// Reads one row's figures from a block's history when they change.
#include "app/views/softmax/softmax_figures.h"

#include <algorithm>
#include <limits>

#include "app/model/run_data/stage_facts.h"
#include "app/model/run_data/timeline_data.h"
#include "sim/numerics/inputs.h"

namespace tilescope {
namespace {

/// Restricts a history to the iteration of `op`. If values are recomputed on demand, older tiles would cost a run of the block.
class ThisIteration final : public BlockValues {
 public:
  ThisIteration(const BlockValues& whole, int op) : whole_(whole), from_(op) {
    const auto& operations = whole.operations().operations;
    const std::int32_t iteration = operations[static_cast<std::size_t>(op)].iteration;
    while (from_ >= 0 && operations[static_cast<std::size_t>(from_)].iteration == iteration) --from_;
  }
  int launch() const override { return whole_.launch(); }
  std::int64_t block() const override { return whole_.block(); }
  const BlockOperations& operations() const override { return whole_.operations(); }
  std::shared_ptr<const Matrix> value(ChipTile chip_tile, int op) const override {
    return op < from_ ? nullptr : whole_.value(chip_tile, op);
  }
  bool keeps_everything() const override { return false; }

 private:
  const BlockValues& whole_;
  int from_;
};

}  // namespace

SoftmaxParts softmax_parts(std::span<const ChipTileShape> chip_tiles) {
  const auto find = [&](Meaning meaning, TilePart part = TilePart::whole) {
    const auto at = std::find_if(chip_tiles.begin(), chip_tiles.end(),
                                 [&](const ChipTileShape& shape) { return shape.chip_tile.is(meaning, part); });
    return at != chip_tiles.end() ? at->chip_tile : ChipTile::none;
  };
  const auto first_of = [](ChipTile a, ChipTile b) { return a ? a : b; };
  SoftmaxParts parts;
  parts.maximum = first_of(find(Meaning::row_max), find(Meaning::row_max, TilePart::updated));
  parts.scale = find(Meaning::row_max, TilePart::factor);
  parts.old_scale = find(Meaning::row_max, TilePart::factor_of_tile);
  parts.sum = first_of(find(Meaning::row_sum), find(Meaning::row_sum, TilePart::updated));
  parts.output = find(Meaning::output);
  const auto gradient_of = [&](Meaning meaning, TilePart part = TilePart::whole) {
    const auto at = std::find_if(chip_tiles.begin(), chip_tiles.end(), [&](const ChipTileShape& shape) {
      const Tensor tensor = tensor_of(shape.chip_tile);
      return tensor->gradient && tensor->meaning == meaning && tensor->cols == Axis::key && shape.chip_tile->part == part;
    });
    return at != chip_tiles.end() ? at->chip_tile : ChipTile::none;
  };
  parts.weights = find(Meaning::probability);
  parts.row_dot = find(Meaning::row_dot);
  parts.d_p = gradient_of(Meaning::probability);
  parts.d_s = gradient_of(Meaning::score);
  parts.slope = gradient_of(Meaning::score, TilePart::factor);
  parts.bars = first_of(find(Meaning::score), find(Meaning::probability));
  return parts;
}

const SoftmaxParts& SoftmaxReader::parts_of(const Lane& lane) {
  const int launch = lane.operations->launch;
  if (launch == parts_launch_ && parts_simulation_.lock() == lane.simulation) return parts_;
  // The on-chip tiles were collected off the frame, when the timeline was laid out; it is not there for a moment after another SM
  // was chosen.
  const StageFacts* facts = lane.timeline ? lane.timeline->stage_facts.get() : nullptr;
  parts_ = softmax_parts(facts != nullptr ? facts->shapes[static_cast<std::size_t>(launch)].chip_tiles
                                          : program_shape(*lane.simulation->info, *lane.simulation->program, launch).chip_tiles);
  parts_launch_ = launch;
  parts_simulation_ = lane.simulation;
  return parts_;
}

ScoreRange shown_keys(const SoftmaxFigures& figures, std::int64_t most) {
  const auto count = static_cast<std::int64_t>(figures.bars.size());
  const std::int64_t begin = std::clamp<std::int64_t>(figures.current_begin - figures.first_key, 0, count);
  const std::int64_t end = std::clamp<std::int64_t>(figures.current_end - figures.first_key, begin, count);
  if (count <= most) return {0, count, true};
  if (begin == end) {  // between tiles: the keys that come next, or at the end the last ones
    const std::int64_t next =
        std::clamp<std::int64_t>(figures.seen - figures.first_key, 0, count - std::max<std::int64_t>(most, 1));
    return {next, next + std::max<std::int64_t>(most, 1), false};
  }
  return {begin, end, false};
}

ScoreSpread score_spread(const SoftmaxFigures& figures, float low, float high, int bins) {
  ScoreSpread spread{std::vector<std::int64_t>(static_cast<std::size_t>(bins)),
                     std::vector<std::int64_t>(static_cast<std::size_t>(bins))};
  for (std::size_t i = 0; i < figures.bars.size(); ++i) {
    const float score = figures.bars[i];
    const std::int64_t key = figures.first_key + static_cast<std::int64_t>(i);
    const bool current = figures.is_current(key);
    if (!std::isfinite(score) || (!current && !figures.is_earlier(key))) continue;
    const auto bin = static_cast<std::size_t>(
        std::clamp(static_cast<int>((score - low) / (high - low) * static_cast<float>(bins)), 0, bins - 1));
    ++spread.seen[bin];
    if (current) ++spread.tile[bin];
  }
  return spread;
}

const SoftmaxFigures& SoftmaxReader::read(const Lane& lane, int row) {
  if (!lane.operations) {
    *this = SoftmaxReader();
    // Before the first step: what the first launch's blocks will have.
    if (lane.timeline && lane.timeline->stage_facts && !lane.timeline->stage_facts->shapes.empty())
      figures_.parts = softmax_parts(lane.timeline->stage_facts->shapes.front().chip_tiles);
    return figures_;
  }
  const bool same_block = lane.history && history_.lock() == lane.history;
  if (!same_block) {
    const SoftmaxParts parts = parts_of(lane);
    history_ = lane.history;
    figures_ = {};
    figures_.parts = parts;
    bars_written_.clear();
    op_ = -2;
    q_tile_ = -2;
    const std::int64_t tile_rows = lane.simulation->program->tile().block_q;
    figures_.rows = static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>(lane.operations->domain.count, tile_rows)));
  }
  if (!lane.history || lane.values_op < 0) return figures_;
  row = std::clamp(row, 0, figures_.rows - 1);
  if (same_block && lane.values_op == op_ && row == row_) return figures_;
  const bool other_row = row != row_;
  op_ = lane.values_op;
  row_ = row;
  if (other_row) q_tile_ = -2;
  read_values(lane);
  return figures_;
}

void SoftmaxReader::read_values(const Lane& lane) {
  const auto& operations = lane.operations->operations;
  figures_.known = true;
  const TileProgram& program = *lane.simulation->program;
  figures_.row = lane.history->keeps_everything()
                     ? softmax_row(program, *lane.history, op_, row_, lane.reference.get())
                     : softmax_row(program, ThisIteration(*lane.history, op_), op_, row_, lane.reference.get());
  figures_.checked = lane.reference != nullptr;
  const Operation& now = operations[static_cast<std::size_t>(op_)];
  if (now.q_tile != q_tile_ || !lane.history->keeps_everything()) {
    q_tile_ = now.q_tile;
    read_bars(lane);
  }
  figures_.moves_maximum = figures_.moves_sum = figures_.moves_output = false;
  // The operations of an iteration are adjacent, with loads of others between them.
  const auto look_at = [&](int i) {
    const Operation& op = operations[static_cast<std::size_t>(i)];
    if (op.kind == OpKind::load) return true;
    if (op.iteration != now.iteration) return false;
    figures_.moves_maximum |= op.kind == OpKind::row_max;
    figures_.moves_sum |= op.kind == OpKind::row_sum || op.kind == OpKind::merge;
    figures_.moves_output |= op.dst.is(Meaning::output);
    return true;
  };
  for (int i = op_; i >= 0 && look_at(i); --i) continue;
  for (int i = op_ + 1; i < static_cast<int>(operations.size()) && look_at(i); ++i) continue;
  figures_.output_by = OpKind::barrier;
  for (int op = op_; op >= 0 && operations[static_cast<std::size_t>(op)].iteration == now.iteration; --op) {
    const Operation& done = operations[static_cast<std::size_t>(op)];
    if (!done.dst.is(Meaning::output) || done.kind == OpKind::load || done.kind == OpKind::fill) continue;
    figures_.output_by = done.kind;
    break;
  }
  read_before_change(lane);
  const std::int64_t tile_keys = lane.simulation->program->tile().block_kv;
  figures_.current_begin = figures_.current_end = 0;
  figures_.seen = figures_.row.keys_seen;
  figures_.tile_keys = tile_keys;
  read_visited(operations, now);
  if (figures_.row.kv_tile < 0) return;
  figures_.seen = figures_.row.kv_tile * tile_keys;
  for (int op = op_; op >= 0 && operations[static_cast<std::size_t>(op)].iteration == now.iteration; --op) {
    const Operation& made = operations[static_cast<std::size_t>(op)];
    const bool uses = made.dst == figures_.parts.bars || made.src[0] == figures_.parts.bars || made.src[1] == figures_.parts.bars;
    if (!uses || figures_.parts.bars == ChipTile::none) continue;
    figures_.current_begin = figures_.seen;
    figures_.current_end = figures_.seen + tile_keys;
    break;
  }
}

void SoftmaxReader::read_visited(const std::vector<Operation>& operations, const Operation& now) {
  figures_.visited.clear();
  for (int op = 0; op <= op_; ++op) {
    const Operation& made = operations[static_cast<std::size_t>(op)];
    if (made.dst != figures_.parts.bars || made.q_tile != now.q_tile || made.kv_tile < 0 || made.kv_tile == now.kv_tile) continue;
    const auto tile = static_cast<std::size_t>(made.kv_tile);
    if (figures_.visited.size() <= tile) figures_.visited.resize(tile + 1);
    figures_.visited[tile] = true;
  }
}

/// The operation before a change of scores left what was changed.
void SoftmaxReader::read_before_change(const Lane& lane) {
  const auto& operations = lane.operations->operations;
  figures_.before_change.clear();
  for (int op = op_;
       op > 0 && operations[static_cast<std::size_t>(op)].iteration == operations[static_cast<std::size_t>(op_)].iteration; --op) {
    const Operation& changed = operations[static_cast<std::size_t>(op)];
    if (changed.kind != OpKind::modify) continue;
    const auto tile = lane.history->value(changed.dst, lane.history->before(op));
    if (!tile || row_ >= tile->rows) return;
    for (int c = 0; c < tile->cols; ++c) figures_.before_change.push_back(tile->at(row_, c));
    return;
  }
}

/// Returns the row of S (or P) over every key tile, from the last operation that wrote each.
void SoftmaxReader::read_bars(const Lane& lane) {
  const ChipTile chip_tile = figures_.parts.bars;
  figures_.bars.clear();
  figures_.first_key = 0;
  if (chip_tile == ChipTile::none) return;
  const TileProgram& program = *lane.simulation->program;
  const std::int64_t tile_keys = program.tile().block_kv;
  std::int64_t keys = program.problem().seq_kv;
  const bool one_tile = !figures_.parts.maximum && chip_tile.is(Meaning::score);
  if (one_tile) {  // a block of a plain product: its tile fills the width
    figures_.first_key = std::max(figures_.row.kv_tile, 0) * tile_keys;
    keys = std::min(tile_keys, keys - figures_.first_key);
  }
  figures_.bars.assign(static_cast<std::size_t>(keys), std::numeric_limits<float>::quiet_NaN());
  const auto put = [&](std::int64_t key, float value) {
    const std::int64_t index = key - figures_.first_key;
    if (index >= 0 && index < keys) figures_.bars[static_cast<std::size_t>(index)] = value;
  };
  if (!lane.history->keeps_everything()) {
    for (const RowScore& score : figures_.row.scores) put(score.key, score.value);
    return;
  }
  const auto& operations = lane.operations->operations;
  if (bars_written_.empty()) {
    for (std::size_t op = 0; op < operations.size(); ++op) {
      const Operation& made = operations[op];
      const bool again = op + 1 < operations.size() && operations[op + 1].dst == chip_tile;  // a mask follows
      if (made.dst == chip_tile && made.kv_tile >= 0 && !again) bars_written_[made.q_tile].push_back(static_cast<int>(op));
    }
  }
  for (const int op : bars_written_[q_tile_]) {
    const auto tile = lane.history->value(chip_tile, op);
    if (!tile || row_ >= tile->rows) continue;
    const std::int64_t first = operations[static_cast<std::size_t>(op)].kv_tile * tile_keys;
    for (int c = 0; c < tile->cols; ++c) put(first + c, tile->at(row_, c));
  }
}

}  // namespace tilescope
