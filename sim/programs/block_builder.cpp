// Emits operations. Their tiles, bytes, work, waits and buffers follow from their on-chip tiles.
#include "sim/programs/block_builder.h"

#include <algorithm>
#include <utility>

namespace tilescope {

BlockBuilder::BlockBuilder(BlockOperations& out, const BlockPlan& plan, const KernelNeeds& needs, int launch, std::int64_t block,
                           const Domain& domain, TileSet shared)
    : out_(out), plan_(plan), warps_(needs.warps_sharing_rows), key_warps_(needs.warps_sharing_keys) {
  out.clear();
  out.launch = launch;
  out.block = block;
  out.domain = domain;
  out.tiles = plan.tiles;
  out.tokens = plan.tokens;
  out.shared_tiles = shared;
  // Tensor-core kernels are compiled for a tile size: they multiply the zeros beyond the end of a sequence like other elements.
  out.whole_rows = needs.has_products ? static_cast<std::int32_t>(plan.grid.tile.block_q) : 0;
  out.whole_keys = needs.has_products ? static_cast<std::int32_t>(plan.grid.tile.block_kv) : 0;
  filled_by_.fill(-1);
  last_use_.fill(-1);
  const AttentionProblem& problem = plan.grid.problem;
  const TileRange own{domain.first, domain.count};
  if (domain.axis == Axis::key) {
    kv_plane_ = domain.plane;
    query_plane(problem.first_query_plane_of(domain.plane));
    queries(-1, {});
    keys(-1, own);
  } else {
    query_plane(domain.plane);
    kv_plane_ = static_cast<std::int32_t>(problem.kv_plane_of(domain.plane));
    queries(-1, own);
    keys(-1, {});
  }
}

std::int32_t BlockBuilder::plane_of(Planes planes) const {
  switch (planes) {
    case Planes::key:
      return kv_plane_;
    case Planes::mask:
      return mask_plane_;
    case Planes::sequence:
      return static_cast<std::int32_t>(plane_ / plan_.grid.problem.heads);
    case Planes::all:
      return 0;
    case Planes::query:
      break;
  }
  return plane_;
}

TileRef BlockBuilder::rectangle(Tensor tensor) const {
  // A list is a row of blocks; its entries are blocks of the other axis.
  const auto range = [&](Axis axis, bool of_row) -> std::pair<std::int32_t, std::int32_t> {
    switch (axis) {
      case Axis::query:
        return {row_, rows_};
      case Axis::key:
        return {col_, cols_};
      case Axis::head:
        return {0, plan_.head_dim};
      case Axis::query_block:
      case Axis::key_block:
        return of_row ? std::pair{mask_row_, 1} : std::pair{0, mask_entries_};
      case Axis::key_page:
        return {page_, pages_};
      case Axis::table_row:
      case Axis::table_col:  // see table_box()
      case Axis::one:
        break;
    }
    return {0, 1};
  };
  const auto [row, rows] = range(tensor->rows, true);
  const auto [col, cols] = range(tensor->cols, false);
  return {tensor, plane_of(tensor->planes), row, rows, col, cols};
}

void BlockBuilder::put(ChipTile chip_tile) {
  const TileRef tile = rectangle(chip_tile.tensor());
  held_[chip_tile.index()] = {tile, std::int64_t{tile.rows} * tile.cols};
}

void BlockBuilder::query_plane(std::int64_t plane) {
  plane_ = static_cast<std::int32_t>(plane);
}

void BlockBuilder::mask_list(std::int64_t plane, std::int64_t row, std::int64_t count) {
  mask_plane_ = static_cast<std::int32_t>(plane);
  mask_row_ = static_cast<std::int32_t>(row);
  mask_entries_ = static_cast<std::int32_t>(count);
  for (ChipTile chip_tile : plan_.tiles)
    if (chip_tile.tensor()->rows == Axis::query_block || chip_tile.tensor()->rows == Axis::key_block) put(chip_tile);
}

void BlockBuilder::pages(std::int64_t first, std::int64_t count) {
  page_ = static_cast<std::int32_t>(first);
  pages_ = static_cast<std::int32_t>(count);
  for (ChipTile chip_tile : plan_.tiles)
    if (chip_tile.tensor()->cols == Axis::key_page) put(chip_tile);
}

void BlockBuilder::table_box(ChipTile chip_tile, const TableBox& box) {
  held_[chip_tile.index()] = {tile_of(chip_tile.tensor(), box), box.rows * box.cols};
}

void BlockBuilder::queries(std::int64_t q_tile, TileRange rows) {
  blank_.q_tile = static_cast<std::int32_t>(q_tile);
  row_ = static_cast<std::int32_t>(rows.first);
  rows_ = static_cast<std::int32_t>(rows.count);
  for (ChipTile chip_tile : plan_.along_queries) put(chip_tile);
}

void BlockBuilder::keys(std::int64_t kv_tile, TileRange cols) {
  blank_.kv_tile = static_cast<std::int32_t>(kv_tile);
  col_ = static_cast<std::int32_t>(cols.first);
  cols_ = static_cast<std::int32_t>(cols.count);
  for (ChipTile chip_tile : plan_.along_keys) put(chip_tile);
}

void BlockBuilder::iteration(std::int64_t index, std::int64_t ring) {
  blank_.iteration = static_cast<std::int32_t>(index);
  blank_.ring = ring_ = static_cast<std::int32_t>(ring);
}

std::int64_t BlockBuilder::bytes(const TileRef& tile) const {
  const auto t = tile.tensor.index();
  const std::int64_t row_bytes = plan_.whole_row_bytes[t];
  if (row_bytes != 0 && tile.cols == plan_.layouts[t].cols) return tile.rows * row_bytes;
  if (!plan_.pages) return sectors_touched(plan_.layouts[t], tile) * sector_size;
  std::int64_t sectors = 0;
  plan_.pages->for_each_part(tile,
                             [&](const TileRef& part) { sectors += sectors_touched(plan_.layouts[t], plan_.pages->place(part)); });
  return sectors * sector_size;
}

Operation& BlockBuilder::next(OpKind kind, LineId line, ChipTile dst) {
  // Copying a blank operation is several times faster than constructing one. A large simulation makes 21 million of them.
  out_.operations.push_back(blank_);
  Operation& op = out_.operations.back();
  op.kind = kind;
  op.line = static_cast<std::uint8_t>(line.number);
  op.dst = dst;
  op.tile = held_[dst.index()].tile;
  op.rows = op.tile.rows;
  op.cols = op.tile.cols;
  return op;
}

void BlockBuilder::signal(std::int32_t index, std::int16_t token) {
  Operation& op = out_.operations[static_cast<std::size_t>(index)];
  if (op.signal_token >= 0) return;
  op.signal_token = token;
  op.signal_count = ++signalled_[static_cast<std::size_t>(token)];
}

void BlockBuilder::await_signal_of(Operation& op, std::int32_t index) {
  waited_for_ = index;
  if (index < 0) return;
  const Operation& earlier = out_.operations[static_cast<std::size_t>(index)];
  op.wait_token = earlier.signal_token;
  op.wait_count = earlier.signal_count;
}

void BlockBuilder::operands(Operation& op, std::initializer_list<ChipTile> sources, bool reads_dst) {
  const std::int32_t self = index();
  std::size_t n = 0;
  std::int32_t wait = reads_dst ? filled_by_[op.dst.index()] : -1;
  for (ChipTile source : sources) {
    op.src[n++] = source;
    if (source == ChipTile::none) continue;
    wait = std::max(wait, filled_by_[source.index()]);
    last_use_[buffer(source)] = self;
    if (shared(source)) op.smem_read_bytes += bytes_on_chip(source);
  }
  if (!by_hand_) await_signal_of(op, wait);
  last_use_[buffer(op.dst)] = self;
  if (op.dst != ChipTile::none) filled_by_[op.dst.index()] = -1;
  if (!shared(op.dst)) return;
  op.smem_write_bytes += bytes_on_chip(op.dst);
  if (reads_dst) op.smem_read_bytes += bytes_on_chip(op.dst);
}

void BlockBuilder::exps_each(Operation& op, std::int64_t exps) {
  op.exps_each = static_cast<std::int16_t>(exps);
  op.exps = elements(op.dst) * exps;
}

std::int32_t BlockBuilder::add_load(LineId line, ChipTile dst, std::int32_t after) {
  Operation& op = next(OpKind::load, line, dst);
  if (!dst.is_ring()) op.ring = 0;
  op.rows = op.tile.rows;
  op.bytes = bytes(op.tile);
  if (shared(dst)) op.smem_write_bytes = bytes_on_chip(dst);
  const std::int32_t self = index();
  const std::size_t into = buffer(dst);
  if (!by_hand_) {
    if (after >= 0) signal(after, BufferToken::empty(into));
    await_signal_of(op, after);
    signal(self, BufferToken::full(into));
  }
  filled_by_[dst.index()] = self;
  last_use_[into] = self;
  return self;
}

std::int32_t BlockBuilder::load(LineId line, ChipTile dst, std::int32_t after) {
  const std::int32_t freed = std::max(after, last_use_[buffer(dst)]), self = add_load(line, dst, std::max(freed, paced_by_));
  out_.operations.back().paced = paced_by_ > freed;
  return self;
}

std::int32_t BlockBuilder::load_boxes(LineId line, ChipTile dst, std::int64_t box_rows) {
  const std::int32_t self = load(line, dst);
  Operation& op = out_.operations[static_cast<std::size_t>(self)];
  TileRef whole = op.tile;
  whole.rows = static_cast<std::int32_t>(ceil_div(std::int64_t{op.tile.rows}, box_rows) * box_rows);
  op.bytes = bytes(whole);
  return self;
}

std::int32_t BlockBuilder::load_by_warps(LineId line, ChipTile dst) {
  const std::int32_t self = load_after(line, dst, -1);
  Operation& op = out_.operations[static_cast<std::size_t>(self)];
  op.bytes = 0;
  for (std::int32_t row = 0; row < op.tile.rows; row += warp_lanes) {
    TileRef part = op.tile;
    part.row += row;
    part.rows = std::min(warp_lanes, op.tile.rows - row);
    op.bytes += bytes(part);
  }
  return self;
}

std::int32_t BlockBuilder::store(LineId line, ChipTile src) {
  Operation& op = next(OpKind::store, line, ChipTile::none);
  op.tile = held_[src.index()].tile;
  op.rows = op.tile.rows;
  op.cols = op.tile.cols;
  op.bytes = bytes(op.tile);
  operands(op, {src}, false);
  return index();
}

std::int32_t BlockBuilder::reduce_add(LineId line, ChipTile src) {
  store(line, src);
  out_.operations.back().kind = OpKind::reduce_add;
  return index();
}

std::int32_t BlockBuilder::fetch_add(LineId line, Tensor counter, float value) {
  Operation& op = next(OpKind::fetch_add, line, ChipTile::none);
  op.tile = rectangle(counter);
  op.rows = op.tile.rows;
  op.cols = op.tile.cols;
  op.bytes = bytes(op.tile);
  op.value = value;
  return index();
}

std::int32_t BlockBuilder::write(LineId line, Tensor counter, float value) {
  fetch_add(line, counter, value);
  out_.operations.back().kind = OpKind::write;
  return index();
}

void BlockBuilder::emit_wait(LineId line, ChipTile about, WaitOn on) {
  Operation& op = next(OpKind::wait, line, ChipTile::none);
  op.wait_on = on;
  op.tile = held_[about.index()].tile;
  op.rows = op.tile.rows;
  op.cols = op.tile.cols;
}

void BlockBuilder::fill(LineId line, ChipTile dst, float value) {
  Operation& op = next(OpKind::fill, line, dst);
  op.value = value;
  operands(op, {}, false);
}

void BlockBuilder::matmul(LineId line, ChipTile dst, ChipTile left, ChipTile right, const ProductForm& form) {
  Operation& op = next(OpKind::matmul, line, dst);
  const TileRef& factor = held_[right.index()].tile;
  op.transpose = form.transpose;
  op.transpose_left = form.transpose_left;
  op.swap_ab = form.swap_ab;
  op.accumulate = form.accumulate;
  op.inner = form.transpose ? factor.cols : factor.rows;
  op.value = form.factor;
  op.flops = std::int64_t{2} * op.rows * op.cols * op.inner;
  operands(op, {left, right}, form.accumulate);
  op.left_reads = static_cast<std::uint16_t>(form.left_reads.value_or(key_warps_));
  op.right_reads = static_cast<std::uint16_t>(form.right_reads.value_or(warps_));
  if (shared(right)) op.smem_read_bytes += (op.right_reads - 1) * bytes_on_chip(right);
  if (shared(left)) op.smem_read_bytes += (op.left_reads - 1) * bytes_on_chip(left);
}

void BlockBuilder::mask(LineId line, ChipTile dst) {
  Operation& op = next(OpKind::mask, line, dst);
  op.flops = elements(dst);
  operands(op, {}, true);
}

void BlockBuilder::modify(LineId line, ChipTile dst, std::int64_t operations, std::int64_t exps) {
  Operation& op = next(OpKind::modify, line, dst);
  op.inner = static_cast<std::int32_t>(operations);
  op.flops = elements(dst) * operations;
  exps_each(op, exps);
  operands(op, {}, true);
}

void BlockBuilder::slope(LineId line, ChipTile dst, ChipTile of, std::int64_t operations, std::int64_t exps) {
  Operation& op = next(OpKind::slope, line, dst);
  op.inner = static_cast<std::int32_t>(operations);
  op.flops = elements(dst) * operations;
  exps_each(op, exps);
  operands(op, {of}, false);
}

void BlockBuilder::factor(LineId line, ChipTile dst, ChipTile of, std::size_t read, std::int64_t operations, std::int64_t exps) {
  slope(line, dst, of, operations, exps);
  Operation& op = out_.operations.back();
  op.kind = OpKind::factor;
  op.read = static_cast<std::int8_t>(read);
}

void BlockBuilder::gather(LineId line, ChipTile dst, ChipTile of, std::size_t read, std::int64_t operations, bool accumulate) {
  Operation& op = next(OpKind::gather, line, dst);
  op.tile = held_[of.index()].tile;
  op.inner = static_cast<std::int32_t>(operations);
  op.flops = elements(of);
  op.read = static_cast<std::int8_t>(read);
  op.accumulate = accumulate;
  operands(op, {of}, accumulate);
}

void BlockBuilder::add_parts(LineId line, ChipTile dst, ChipTile of, std::int64_t first, int step) {
  Operation& op = next(OpKind::add_parts, line, dst);
  op.inner = static_cast<std::int32_t>(first);
  op.value = static_cast<float>(step);
  op.flops = elements(of);
  operands(op, {of}, true);
}

void BlockBuilder::row_max(LineId line, ChipTile dst, ChipTile old, ChipTile of) {
  Operation& op = next(OpKind::row_max, line, dst);
  op.inner = width(of);
  op.flops = elements(of);
  operands(op, {old, of}, false);
}

void BlockBuilder::exp(LineId line, ChipTile dst, ChipTile of, ChipTile minus) {
  Operation& op = next(OpKind::exp, line, dst);
  op.flops = elements(dst);
  exps_each(op, 1);
  operands(op, {of, minus}, false);
}

void BlockBuilder::exp_rows(LineId line, ChipTile dst, ChipTile of, ChipTile minus) {
  Operation& op = next(OpKind::exp_rows, line, dst);
  op.flops = op.rows;
  exps_each(op, 1);
  operands(op, {of, minus}, false);
}

void BlockBuilder::row_sum(LineId line, ChipTile dst, ChipTile old, ChipTile of, ChipTile scale) {
  Operation& op = next(OpKind::row_sum, line, dst);
  op.inner = width(of);
  op.flops = elements(of) + (scale == ChipTile::none ? 0 : op.rows);
  operands(op, {old, of, scale}, false);
}

void BlockBuilder::rescale(LineId line, ChipTile dst, ChipTile by, ChipTile and_by) {
  Operation& op = next(OpKind::rescale, line, dst);
  op.flops = elements(dst) * (and_by == ChipTile::none ? 1 : 2);
  operands(op, {by, and_by}, true);
}

void BlockBuilder::divide(LineId line, ChipTile dst, ChipTile by) {
  Operation& op = next(OpKind::divide, line, dst);
  op.flops = elements(dst) + op.rows;
  operands(op, {by}, true);
}

void BlockBuilder::add(LineId line, ChipTile dst, ChipTile what) {
  Operation& op = next(OpKind::add, line, dst);
  op.flops = elements(dst);
  operands(op, {what}, true);
}

void BlockBuilder::subtract_rows(LineId line, ChipTile dst, ChipTile rows) {
  Operation& op = next(OpKind::subtract_rows, line, dst);
  op.flops = elements(dst);
  operands(op, {rows}, true);
}

void BlockBuilder::multiply(LineId line, ChipTile dst, ChipTile by) {
  Operation& op = next(OpKind::multiply, line, dst);
  op.flops = elements(dst);
  operands(op, {by}, true);
}

void BlockBuilder::merge(LineId line, ChipTile dst, std::array<ChipTile, 4> of) {
  Operation& op = next(OpKind::merge, line, dst);
  op.flops = std::int64_t{3} * op.rows;
  operands(op, {of[0], of[1], of[2], of[3]}, false);
}

void BlockBuilder::log_sum_exp(LineId line, ChipTile dst, ChipTile max, ChipTile sum) {
  Operation& op = next(OpKind::log_sum_exp, line, dst);
  op.flops = std::int64_t{2} * op.rows;
  operands(op, {max, sum}, false);
}

void BlockBuilder::copy(LineId line, ChipTile dst, ChipTile src) {
  Operation& op = next(OpKind::copy, line, dst);
  operands(op, {src}, false);
}

bool BlockBuilder::tiles_are_alike(std::int64_t stages) const {
  return std::all_of(plan_.along_keys.begin(), plan_.along_keys.end(), [&](ChipTile chip_tile) {
    if (!shared(chip_tile)) return true;
    if (plan_.whole_row_bytes[chip_tile.tensor().index()] == 0) return false;
    return chip_tile.tensor()->cols != Axis::key || stages * plan_.grid.tile.block_kv * plan_.element % sector_size == 0;
  });
}

void BlockBuilder::repeat(std::int32_t first, std::int64_t times, std::int64_t stages, std::int64_t step) {
  std::vector<Operation>& operations = out_.operations;
  const std::int32_t period = index() + 1 - first;
  const auto op_at = [&](std::int32_t n) -> Operation& { return operations[static_cast<std::size_t>(n)]; };
  // An operation that frees a buffer signals only once a later load needs the buffer. The latest pass has no successor yet, so take
  // its signals from the pass before. Then count the signals of each token in a pass.
  for (std::int32_t n = first; n <= index() && !by_hand_; ++n)
    if (op_at(n - period).signal_token >= 0) signal(n, op_at(n - period).signal_token);
  std::array<std::int32_t, BufferToken::count> signals{};
  for (std::int32_t n = first; n <= index(); ++n)
    if (op_at(n).signal_token >= 0) ++signals[static_cast<std::size_t>(op_at(n).signal_token)];
  operations.reserve(operations.size() + static_cast<std::size_t>(period * times));
  for (std::int64_t t = 1; t <= times; ++t) {
    const auto signals_later = [&](std::int16_t token) {
      return static_cast<std::int32_t>(t) * signals[static_cast<std::size_t>(token)];
    };
    const auto tiles = static_cast<std::int32_t>(t * stages);
    const auto tiles_on = static_cast<std::int32_t>(t * stages * step);
    const auto keys_on = static_cast<std::int32_t>(t * stages * step * plan_.grid.tile.block_kv);
    for (std::int32_t n = first; n < first + period; ++n) {
      operations.push_back(operations[static_cast<std::size_t>(n)]);
      Operation& op = operations.back();
      op.iteration += tiles;
      op.kv_tile += tiles_on;
      if (op.signal_token >= 0) op.signal_count += signals_later(op.signal_token);
      if (op.wait_token >= 0) op.wait_count += signals_later(op.wait_token);
      if (const Tensor tensor = op.tile.tensor) {
        if (tensor->rows == Axis::key) op.tile.row += keys_on;
        if (tensor->cols == Axis::key) op.tile.col += keys_on;
      }
    }
  }
  for (std::size_t token = 0; token < signals.size(); ++token)
    signalled_[token] += static_cast<std::int32_t>(times) * signals[token];
  const auto later = static_cast<std::int32_t>(times) * period;
  for (std::int32_t& load : filled_by_) load += load >= first ? later : 0;
  for (std::int32_t& use : last_use_) use += use >= first ? later : 0;
  paced_by_ += paced_by_ >= first ? later : 0;
}

}  // namespace tilescope
