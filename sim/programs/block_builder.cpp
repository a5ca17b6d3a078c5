// Writes operations: their tiles, bytes, work, waits and buffers follow from the slots they name.
#include "sim/programs/block_builder.h"

#include <algorithm>

namespace tilescope {

namespace {

constexpr std::size_t at(Slot slot) {
  return static_cast<std::size_t>(slot);
}

constexpr std::uint32_t ring_slots = slot_bits(Slot::k, Slot::v, Slot::s, Slot::p);

}  // namespace

BlockBuilder::BlockBuilder(BlockOperations& out, const BlockPlan& plan, const KernelNeeds& needs, int launch, std::int64_t block,
                           std::int64_t plane, TileRange rows, std::uint32_t shared)
    : out_(out),
      plan_(plan),
      warps_(needs.warps_sharing_rows),
      key_warps_(needs.warps_sharing_keys),
      plane_(static_cast<std::int32_t>(plane)),
      kv_plane_(static_cast<std::int32_t>(plan.grid.problem.kv_plane_of(plane))) {
  out.clear();
  out.launch = launch;
  out.block = block;
  out.plane = plane_;
  out.first_row = static_cast<std::int32_t>(rows.first);
  out.rows = static_cast<std::int32_t>(rows.count);
  out.shared_slots = shared;
  out.warps_sharing_keys = key_warps_;
  // Tensor-core kernels have the tile compiled in: rows and keys beyond the end are zeros, and are multiplied like all others.
  out.whole_rows = needs.has_products ? static_cast<std::int32_t>(plan.grid.tile.block_q) : 0;
  out.whole_keys = needs.has_products ? static_cast<std::int32_t>(plan.grid.tile.block_kv) : 0;
  filled_by_.fill(-1);
  last_use_.fill(-1);
  queries(-1, rows);
  keys(-1, {});
}

void BlockBuilder::put(Slot slot, TileRef tile) {
  places_[at(slot)] = {tile, std::int64_t{tile.rows} * tile.cols};
}

void BlockBuilder::queries(std::int64_t q_tile, TileRange rows) {
  blank_.q_tile = static_cast<std::int32_t>(q_tile);
  row_ = static_cast<std::int32_t>(rows.first);
  rows_ = static_cast<std::int32_t>(rows.count);
  blank_.rows = rows_;
  put(Slot::q, {Tensor::q, plane_, row_, rows_, 0, plan_.head_dim});
  for (Slot slot : {Slot::o, Slot::pv}) put(slot, {Tensor::o, plane_, row_, rows_, 0, plan_.head_dim});
  for (Slot slot : {Slot::m, Slot::m_new, Slot::m_tile, Slot::alpha, Slot::beta}) put(slot, {Tensor::m, plane_, row_, rows_, 0, 1});
  for (Slot slot : {Slot::l, Slot::l_new, Slot::l_tile}) put(slot, {Tensor::l, plane_, row_, rows_, 0, 1});
  put(Slot::lse, {Tensor::lse, plane_, row_, rows_, 0, 1});
  put_scores();
}

void BlockBuilder::keys(std::int64_t kv_tile, TileRange cols) {
  blank_.kv_tile = static_cast<std::int32_t>(kv_tile);
  col_ = static_cast<std::int32_t>(cols.first);
  cols_ = static_cast<std::int32_t>(cols.count);
  put(Slot::k, {Tensor::k, kv_plane_, col_, cols_, 0, plan_.head_dim});
  put(Slot::v, {Tensor::v, kv_plane_, col_, cols_, 0, plan_.head_dim});
  put_scores();
}

void BlockBuilder::put_scores() {
  put(Slot::s, {Tensor::s, plane_, row_, rows_, col_, cols_});
  put(Slot::p, {Tensor::p, plane_, row_, rows_, col_, cols_});
}

void BlockBuilder::iteration(std::int64_t index, std::int64_t ring) {
  blank_.iteration = static_cast<std::int32_t>(index);
  blank_.ring = ring_ = static_cast<std::int32_t>(ring);
}

std::size_t BlockBuilder::buffer(Slot slot) const {
  const bool ring = (ring_slots & slot_bit(slot)) != 0;
  return at(slot) * most_stages + (ring ? static_cast<std::size_t>(ring_) % most_stages : 0);
}

std::int64_t BlockBuilder::bytes(const TileRef& tile) const {
  const auto t = static_cast<std::size_t>(tile.tensor);
  const std::int64_t row_bytes = plan_.whole_row_bytes[t];
  if (row_bytes != 0 && tile.cols == plan_.layouts[t].cols) return tile.rows * row_bytes;
  return sectors_touched(plan_.layouts[t], tile) * sector_size;
}

Operation& BlockBuilder::next(OpKind kind, int line, Slot dst) {
  // Copying a blank one is several times faster than constructing it, and 21 million of them are made in a large simulation.
  out_.operations.push_back(blank_);
  Operation& op = out_.operations.back();
  op.kind = kind;
  op.line = static_cast<std::uint8_t>(line);
  op.dst = dst;
  op.tile = places_[at(dst)].tile;
  op.cols = op.tile.cols;
  return op;
}

void BlockBuilder::operands(Operation& op, std::initializer_list<Slot> sources, bool reads_dst) {
  const std::int32_t self = index();
  std::size_t n = 0;
  std::int32_t wait = reads_dst ? filled_by_[at(op.dst)] : -1;
  for (Slot source : sources) {
    op.src[n++] = source;
    if (source == Slot::none) continue;
    wait = std::max(wait, filled_by_[at(source)]);
    last_use_[buffer(source)] = self;
    if (shared(source)) op.smem_read_bytes += elements(source) * plan_.element;
  }
  op.wait_load = wait;
  last_use_[buffer(op.dst)] = self;
  if (op.dst != Slot::none) filled_by_[at(op.dst)] = -1;
  if (shared(op.dst)) op.smem_write_bytes += elements(op.dst) * plan_.element;
}

std::int32_t BlockBuilder::add_load(int line, Slot dst, std::int32_t after) {
  const bool ring = (ring_slots & slot_bit(dst)) != 0;
  Operation& op = next(OpKind::load, line, dst);
  if (!ring) op.ring = 0;
  op.rows = op.tile.rows;
  op.bytes = bytes(op.tile);
  if (shared(dst)) op.smem_write_bytes = elements(dst) * plan_.element;
  op.issue_after = after;
  const std::int32_t self = index();
  filled_by_[at(dst)] = self;
  last_use_[buffer(dst)] = self;
  return self;
}

std::int32_t BlockBuilder::load(int line, Slot dst, std::int32_t after) {
  return add_load(line, dst, std::max(after, last_use_[buffer(dst)]));
}

std::int32_t BlockBuilder::store(int line, Slot src) {
  Operation& op = next(OpKind::store, line, Slot::none);
  op.tile = places_[at(src)].tile;
  op.cols = op.tile.cols;
  op.bytes = bytes(op.tile);
  operands(op, {src}, false);
  return index();
}

void BlockBuilder::fill(int line, Slot dst, float value) {
  Operation& op = next(OpKind::fill, line, dst);
  op.value = value;
  operands(op, {}, false);
}

void BlockBuilder::product(int line, Slot dst, Slot left, Slot right, bool transpose, bool accumulate, std::int32_t inner,
                           float factor) {
  Operation& op = next(OpKind::matmul, line, dst);
  op.transpose = transpose;
  op.accumulate = accumulate;
  op.inner = inner;
  op.value = factor;
  op.flops = std::int64_t{2} * op.rows * op.cols * inner;
  operands(op, {left, right}, accumulate);
  if (shared(right)) op.smem_read_bytes += (warps_ - 1) * elements(right) * plan_.element;
  if (shared(left)) op.smem_read_bytes += (key_warps_ - 1) * elements(left) * plan_.element;
}

void BlockBuilder::scores(int line) {
  product(line, Slot::s, Slot::q, Slot::k, true, false, plan_.head_dim, plan_.scale);
}

void BlockBuilder::weigh(int line, Slot dst, bool accumulate) {
  product(line, dst, Slot::p, Slot::v, false, accumulate, cols_, 1.0F);
}

void BlockBuilder::mask(int line, Slot dst) {
  Operation& op = next(OpKind::mask, line, dst);
  op.flops = elements(dst);
  operands(op, {}, true);
}

void BlockBuilder::row_max(int line, Slot dst, Slot old, Slot of) {
  Operation& op = next(OpKind::row_max, line, dst);
  op.inner = width(of);
  op.flops = elements(of);
  operands(op, {old, of}, false);
}

void BlockBuilder::exp(int line, Slot dst, Slot of, Slot minus) {
  Operation& op = next(OpKind::exp, line, dst);
  op.flops = elements(dst);
  op.exps = elements(dst);
  operands(op, {of, minus}, false);
}

void BlockBuilder::exp_rows(int line, Slot dst, Slot of, Slot minus) {
  Operation& op = next(OpKind::exp_rows, line, dst);
  op.flops = rows_;
  op.exps = rows_;
  operands(op, {of, minus}, false);
}

void BlockBuilder::row_sum(int line, Slot dst, Slot old, Slot of, Slot scale) {
  Operation& op = next(OpKind::row_sum, line, dst);
  op.inner = width(of);
  op.flops = elements(of) + (scale == Slot::none ? 0 : rows_);
  operands(op, {old, of, scale}, false);
}

void BlockBuilder::rescale(int line, Slot dst, Slot by, Slot and_by) {
  Operation& op = next(OpKind::rescale, line, dst);
  op.flops = elements(dst) * (and_by == Slot::none ? 1 : 2);
  operands(op, {by, and_by}, true);
}

void BlockBuilder::divide(int line, Slot dst, Slot by) {
  Operation& op = next(OpKind::divide, line, dst);
  op.flops = elements(dst) + rows_;
  operands(op, {by}, true);
}

void BlockBuilder::add(int line, Slot dst, Slot what) {
  Operation& op = next(OpKind::add, line, dst);
  op.flops = elements(dst);
  operands(op, {what}, true);
}

void BlockBuilder::merge(int line, Slot dst, std::array<Slot, 4> of) {
  Operation& op = next(OpKind::merge, line, dst);
  op.flops = std::int64_t{3} * rows_;
  operands(op, {of[0], of[1], of[2], of[3]}, false);
}

void BlockBuilder::log_sum_exp(int line, Slot dst, Slot max, Slot sum) {
  Operation& op = next(OpKind::log_sum_exp, line, dst);
  op.flops = std::int64_t{2} * rows_;
  operands(op, {max, sum}, false);
}

void BlockBuilder::copy(int line, Slot dst, Slot src) {
  Operation& op = next(OpKind::copy, line, dst);
  operands(op, {src}, false);
}

bool BlockBuilder::tiles_are_alike(std::int64_t stages) const {
  const auto whole = [&](Tensor tensor) { return plan_.whole_row_bytes[static_cast<std::size_t>(tensor)] != 0; };
  if (!shared(Slot::p)) return whole(Tensor::k);
  return whole(Tensor::v) && whole(Tensor::p) && stages * plan_.grid.tile.block_kv * plan_.element % sector_size == 0;
}

void BlockBuilder::repeat(std::int32_t loop, std::int32_t turn, std::int64_t times, std::int64_t stages) {
  std::vector<Operation>& operations = out_.operations;
  const std::int32_t period = index() + 1 - turn;
  operations.reserve(operations.size() + static_cast<std::size_t>(period * times));
  for (std::int64_t t = 1; t <= times; ++t) {
    const auto later = static_cast<std::int32_t>(t) * period;
    const auto tiles = static_cast<std::int32_t>(t * stages);
    const auto keys_on = static_cast<std::int32_t>(t * stages * plan_.grid.tile.block_kv);
    for (std::int32_t n = turn; n < turn + period; ++n) {
      operations.push_back(operations[static_cast<std::size_t>(n)]);
      Operation& op = operations.back();
      op.iteration += tiles;
      op.kv_tile += tiles;
      if (op.wait_load >= loop) op.wait_load += later;
      if (op.issue_after >= loop) op.issue_after += later;
      const Tensor tensor = op.tile.tensor;
      if (tensor == Tensor::k || tensor == Tensor::v) op.tile.row += keys_on;
      if (tensor == Tensor::s || tensor == Tensor::p) op.tile.col += keys_on;
    }
  }
  const auto later = static_cast<std::int32_t>(times) * period;
  for (std::int32_t& load : filled_by_) load += load >= turn ? later : 0;
  for (std::int32_t& use : last_use_) use += use >= turn ? later : 0;
}

}  // namespace tilescope
