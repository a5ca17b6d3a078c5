// Reads one row's figures out of a block's history, no more often than they change.
#include "app/panels/softmax_figures.h"

#include <algorithm>
#include <limits>

#include "sim/numerics/inputs.h"

namespace tilescope {
namespace {

bool same_inputs(const InputSource& a, const InputSource& b) {
  return a.seed == b.seed && a.spread == b.spread && a.q == b.q && a.k == b.k && a.v == b.v;
}

}  // namespace

SoftmaxParts softmax_parts(const BlockOperations& block) {
  SoftmaxParts parts;
  bool scores = false, weights = false;
  for (const Operation& op : block.operations) {
    if (op.kind == OpKind::barrier) continue;
    scores |= op.dst == Slot::s;
    weights |= op.dst == Slot::p;
    parts.maximum |= op.dst == Slot::m || op.dst == Slot::m_new;
    parts.scale |= op.dst == Slot::alpha;
    parts.old_scale |= op.dst == Slot::beta;
    parts.sum |= op.dst == Slot::l || op.dst == Slot::l_new;
    parts.output |= op.dst == Slot::o;
  }
  parts.bars = scores ? Slot::s : weights ? Slot::p : Slot::none;
  return parts;
}

const SoftmaxFigures& SoftmaxReader::read(const Lane& lane, const InputSource* inputs, int row) {
  if (!lane.operations) {
    *this = SoftmaxReader();
    return figures_;
  }
  const bool same_block = lane.history && history_.lock() == lane.history;
  if (!same_block) {
    const bool same_shape = simulation_.lock() == lane.simulation;
    const SoftmaxParts parts = softmax_parts(*lane.operations);
    history_ = lane.history;
    figures_ = {};
    figures_.parts = parts;
    op_ = -2;
    q_tile_ = -2;
    if (!same_shape) reference_.reset();
    simulation_ = lane.simulation;
    const std::int64_t tile_rows = lane.simulation->program->tile().block_q;
    figures_.rows = static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>(lane.operations->rows, tile_rows)));
  }
  if (!lane.history || lane.rest.op < 0) return figures_;
  row = std::clamp(row, 0, figures_.rows - 1);
  if (same_block && lane.rest.op == op_ && row == row_) return figures_;
  const bool other_row = row != row_;
  op_ = lane.rest.op;
  row_ = row;
  if (other_row) q_tile_ = -2;
  find_reference(lane, inputs);
  read_values(lane);
  return figures_;
}

void SoftmaxReader::find_reference(const Lane& lane, const InputSource* inputs) {
  const AttentionProblem& problem = lane.simulation->program->problem();
  const bool small = problem.seq_kv * problem.head_dim <= most_checked_elements;
  // A matrix that does not fit the problem was left out when the values were made; then there is nothing to hold them against.
  if (!small || inputs == nullptr || !figures_.parts.output || !check(*inputs, problem)) {
    reference_.reset();
    return;
  }
  if (reference_ && plane_ == lane.operations->plane && same_inputs(inputs_, *inputs)) return;
  reference_ = std::make_unique<const ReferencePlane>(*lane.simulation->program, *inputs, lane.operations->plane);
  plane_ = lane.operations->plane;
  inputs_ = *inputs;
}

void SoftmaxReader::read_values(const Lane& lane) {
  const auto& operations = lane.operations->operations;
  figures_.known = true;
  figures_.row = softmax_row(*lane.simulation->program, *lane.history, op_, row_, reference_.get());
  figures_.checked = reference_ != nullptr;
  const Operation& now = operations[static_cast<std::size_t>(op_)];
  if (now.q_tile != q_tile_) {
    q_tile_ = now.q_tile;
    read_bars(lane);
  }
  figures_.output_by = OpKind::barrier;
  for (int op = op_; op >= 0 && operations[static_cast<std::size_t>(op)].iteration == now.iteration; --op) {
    const Operation& done = operations[static_cast<std::size_t>(op)];
    if (done.dst != Slot::o || done.kind == OpKind::load || done.kind == OpKind::fill) continue;
    figures_.output_by = done.kind;
    break;
  }
  const std::int64_t tile_keys = lane.simulation->program->tile().block_kv;
  figures_.current_begin = figures_.current_end = 0;
  figures_.seen = figures_.row.keys_seen;
  if (figures_.row.kv_tile < 0) return;
  figures_.seen = figures_.row.kv_tile * tile_keys;
  for (int op = op_; op >= 0 && operations[static_cast<std::size_t>(op)].iteration == now.iteration; --op) {
    const Operation& made = operations[static_cast<std::size_t>(op)];
    const bool uses = made.dst == figures_.parts.bars || made.src[0] == figures_.parts.bars || made.src[1] == figures_.parts.bars;
    if (!uses || figures_.parts.bars == Slot::none) continue;
    figures_.current_begin = figures_.seen;
    figures_.current_end = figures_.seen + tile_keys;
    break;
  }
}

/// The row of S (or P) over every key tile of the block, from the last operation that wrote each; the whole picture that the bars fill in.
void SoftmaxReader::read_bars(const Lane& lane) {
  figures_.bars.clear();
  const Slot slot = figures_.parts.bars;
  if (slot == Slot::none) return;
  const auto& operations = lane.operations->operations;
  const auto put = [&](std::size_t key, float value) {
    if (figures_.bars.size() <= key) figures_.bars.resize(key + 1, std::numeric_limits<float>::quiet_NaN());
    figures_.bars[key] = value;
  };
  if (!lane.history->keeps_everything()) {  // asking for every tile would run the block again
    for (const RowScore& score : figures_.row.scores) put(static_cast<std::size_t>(score.key), score.value);
    return;
  }
  const std::int64_t tile_keys = lane.simulation->program->tile().block_kv;
  for (std::size_t op = 0; op < operations.size(); ++op) {
    const Operation& made = operations[op];
    const bool writes = made.dst == slot && made.kv_tile >= 0 && made.q_tile == q_tile_;
    const bool again = op + 1 < operations.size() && operations[op + 1].dst == slot;  // a mask follows
    if (!writes || again) continue;
    const auto tile = lane.history->value(slot, static_cast<int>(op));
    if (!tile || row_ >= tile->rows) continue;
    for (int c = 0; c < tile->cols; ++c) put(static_cast<std::size_t>(made.kv_tile * tile_keys + c), tile->at(row_, c));
  }
}

}  // namespace tilescope
