// Instruction counts of each kind of operation.
#include "sim/engine/instructions.h"

#include <algorithm>
#include <cmath>

namespace tilescope {

namespace {

constexpr double lanes = warp_lanes;
constexpr double wide_bytes = 16 * lanes;  // bytes of a warp's 16-byte copy, and of ldmatrix.x4
constexpr double with_address = 2;         // the instruction and one for its address
constexpr double copy_cost = 3;            // the copy and two for its address, which is 64 bits wide and guarded

/// Returns the warp instructions for one value per row: in a tensor-core tile each covers eight rows. A row kernel has fewer rows
/// and counts 0.
double row_groups(const Operation& op) {
  return op.rows >= 8 ? op.rows / 8.0 : 0;
}

void add(Instructions& to, double issued, double alu = 0, double exp = 0) {
  to.issued += issued;
  to.alu += alu;
  to.exp += exp;
}

void count_product(Instructions& counts, const Operation& op, const KernelNeeds& needs, DataType type) {
  const auto flops = static_cast<double>(op.flops);
  if (type == DataType::fp32 || needs.multiply_add_instructions > 0) {
    add(counts, flops / 2 / lanes * std::max(1.0, needs.multiply_add_instructions));
    counts.fp32 = flops / 2 / lanes;
    if (type == DataType::fp16) counts.widened = counts.fp32 * needs.converted_factors;
    return;
  }
  if (needs.instruction == ProductInstruction::wgmma) {
    // wgmma reads shared memory itself, so it needs no ldmatrix.
    const auto whole = [](std::int32_t n, std::int32_t of) { return static_cast<double>(ceil_div(n, of)); };
    constexpr std::int32_t rows = 64, widest = 256, columns = 8, depth = 16;
    constexpr double warps = 4;
    const std::int32_t m = op.swap_ab ? op.cols : op.rows, n = op.swap_ab ? op.rows : op.cols;
    counts.wgmma_flops = 2 * whole(m, rows) * rows * whole(n, columns) * columns * whole(op.inner, depth) * depth;
    return add(counts, warps * whole(m, rows) * whole(n, widest) * whole(op.inner, depth));
  }
  counts.mma = flops / mma_flops;
  add(counts, counts.mma + with_address * static_cast<double>(op.smem_read_bytes) / wide_bytes);
}

/// One thread requests a tile's boxes from TMA. Copies into shared memory bypass the registers. Elements loaded into registers are
/// converted to fp32 one by one.
void count_load(Instructions& counts, const Operation& op, const BlockOperations& block, const KernelNeeds& needs, DataType type) {
  if (needs.uses_tma && is_shared(block, op.dst)) return add(counts, with_address * boxes_of(op));
  add(counts, copy_cost * static_cast<double>(op.bytes) / wide_bytes);
  if (is_shared(block, op.dst) || type == DataType::fp32) return;
  const double elements = static_cast<double>(op.rows) * op.cols / lanes;
  if (type == DataType::fp16)
    add(counts, elements), counts.widened = elements;
  else
    add(counts, 1.5 * elements, elements);  // bf16: a shift for each element, after an extraction for every other one
}

/// An fp32 tile is packed to 16 bits and staged through shared memory, so that its rows leave in whole sectors.
void count_store(Instructions& counts, const Operation& op, const BlockOperations& block, const KernelNeeds& needs, DataType type) {
  if (is_bulk_addition(op, block, needs)) return add(counts, with_address * needs.threads / lanes);  // one lane of each warp asks
  add(counts, copy_cost * static_cast<double>(op.bytes) / wide_bytes);
  const double pairs = static_cast<double>(op.tile.rows) * op.tile.cols / 2 / lanes;
  if (op.tile.cols > 1 && !op.staged && type_of(op.tile.tensor, type) != DataType::fp32) add(counts, with_address * pairs, pairs);
}

void count_arithmetic(Instructions& counts, const Operation& op, const KernelNeeds& needs) {
  const auto add_each = [&](double elements, const ElementCost& cost) {
    add(counts, elements * cost.all(), elements * cost.alu, elements * cost.special);
    counts.in_calls += elements * cost.in_calls;
  };
  const double elements = static_cast<double>(op.rows) * op.cols / lanes;
  const double summed = static_cast<double>(op.rows) * op.inner / lanes;
  const double groups = row_groups(op);
  switch (op.kind) {
    case OpKind::mask:
      return add_each(elements, needs.mask_cost);
    case OpKind::modify:
      return add_each(elements, needs.score_cost);
    case OpKind::slope:
      return add_each(elements, needs.slope_cost);
    case OpKind::factor:
      return add(counts, elements * op.inner);
    case OpKind::add_parts:
      return add(counts, static_cast<double>(op.flops) / lanes);
    case OpKind::gather:
      return add(counts, static_cast<double>(op.tile.rows) * op.tile.cols / lanes * op.inner);
    case OpKind::row_max:
      return add(counts, summed + 6 * groups, summed + 3 * groups);  // two shuffles with maxima, the old maximum, the scale
    case OpKind::exp:
      return add(counts, elements * 1.5 + static_cast<double>(op.exps) / lanes, 0.5 * elements,
                 static_cast<double>(op.exps) / lanes);  // one multiply-add, half a pack, one ex2
    case OpKind::exp_rows:
      return add(counts, 2 * groups, 0, groups);
    case OpKind::row_sum:
      return add(counts, summed + groups);
    case OpKind::fill:
      return add(counts, elements / 2);  // one instruction clears two registers
    case OpKind::rescale:
    case OpKind::divide:
    case OpKind::add:
    case OpKind::subtract_rows:
    case OpKind::multiply:
      return add(counts, elements);
    case OpKind::merge:
      return add(counts, 3 * groups);
    case OpKind::log_sum_exp:
      return add(counts, 6 * groups, 0, groups);
    case OpKind::copy:  // between registers: a renaming of the compiler
    case OpKind::load:
    case OpKind::store:
    case OpKind::reduce_add:
    case OpKind::fetch_add:
    case OpKind::write:
    case OpKind::matmul:
    case OpKind::barrier:
    case OpKind::wait:
      return;  // no arithmetic; what moves and multiplies is counted elsewhere
  }
}

/// Returns whether the columns of a tile are keys, as in S and P.
bool has_keys(ChipTile chip_tile) {
  return chip_tile != ChipTile::none && chip_tile.tensor()->cols == Axis::key;
}
/// Returns whether the rows of a tile are keys, as in K, V and their gradients.
bool has_key_rows(ChipTile chip_tile) {
  return chip_tile != ChipTile::none && chip_tile.tensor()->rows == Axis::key;
}
/// Returns whether the rows of a tile, along axis `rows`, are head vectors, as in Q, K, V and O.
bool has_head_rows(ChipTile chip_tile, Axis rows) {
  return chip_tile != ChipTile::none && chip_tile.tensor()->rows == rows && chip_tile.tensor()->cols == Axis::head;
}

/// Returns whether a tile holds elements of a captured table.
bool has_table(ChipTile chip_tile) {
  return chip_tile != ChipTile::none && chip_tile.tensor()->rows == Axis::table_row;
}

}  // namespace

bool is_bulk_addition(const Operation& op, const BlockOperations& block, const KernelNeeds& needs) {
  return op.kind == OpKind::reduce_add && needs.uses_tma && is_shared(block, op.src[0]);
}

double boxes_of(const Operation& op) {
  return static_cast<double>(ceil_div(std::int64_t{op.rows}, most_box_rows));
}

double boxes_of_pages(const Operation& op, std::int64_t page_rows) {
  const std::int64_t bytes_a_row = op.smem_write_bytes / std::max(1, op.rows);
  return static_cast<double>(ceil_div(std::int64_t{op.rows}, std::min(page_rows, most_box_rows)) *
                             ceil_div(bytes_a_row, swizzle_bytes));
}

Operation as_executed(const Operation& op, const BlockOperations& block) {
  if (block.whole_rows == 0 || (op.rows < 1 && !is_past_the_end(op))) return op;
  if (op.kind == OpKind::gather || has_table(op.dst) || (writes_memory(op.kind) && has_table(op.src[0]))) return op;
  const auto rows = std::max(op.rows, block.whole_rows), keys = block.whole_keys;
  Operation whole = op;
  if (op.kind == OpKind::load) {
    // The kernel computes addresses and guards for every row, but fetches only rows that exist.
    if (has_head_rows(op.dst, Axis::query)) whole.rows = rows;
    if (has_head_rows(op.dst, Axis::key)) whole.rows = std::max(op.rows, keys);
    whole.bytes = op.bytes * whole.rows / op.rows;
    return whole;
  }
  whole.rows = has_key_rows(writes_memory(op.kind) ? op.src[0] : op.dst) ? std::max(op.rows, keys) : rows;
  if (writes_memory(op.kind)) {
    whole.tile.rows = whole.rows;
    if (has_keys(op.src[0])) whole.tile.cols = std::max(op.tile.cols, keys);
    return whole;
  }
  if (has_keys(op.dst)) whole.cols = std::max(op.cols, keys);
  const bool sums_keys = op.kind == OpKind::matmul ? has_keys(op.src[0]) : has_keys(op.src[1]);
  if (op.transpose_left)
    whole.inner = std::max(op.inner, block.whole_rows);
  else if (sums_keys && (op.inner > 0 || op.kind == OpKind::matmul))
    whole.inner = std::max(op.inner, keys);
  const std::int64_t elements = std::int64_t{whole.rows} * whole.cols;
  whole.exps = elements * op.exps_each;
  if (op.kind == OpKind::matmul) {
    whole.flops = std::int64_t{2} * elements * whole.inner;
    // The product reads both whole factors.
    const auto read = [&](const Operation& o) {
      const std::int64_t left = is_shared(block, o.src[0]) ? std::int64_t{o.rows} * o.inner * o.left_reads : 0;
      const std::int64_t right = is_shared(block, o.src[1]) ? std::int64_t{o.cols} * o.inner * o.right_reads : 0;
      return left + right;
    };
    if (const std::int64_t part = read(op); part > 0) whole.smem_read_bytes = op.smem_read_bytes * read(whole) / part;
  }
  return whole;
}

Instructions instructions_of(const Operation& op, const BlockOperations& block, const KernelNeeds& needs, DataType type) {
  Instructions counts;
  if (op.kind == OpKind::matmul)
    count_product(counts, op, needs, type);
  else if (op.kind == OpKind::load)
    count_load(counts, op, block, needs, type);
  else if (writes_memory(op.kind))
    count_store(counts, op, block, needs, type);
  else
    count_arithmetic(counts, op, needs), counts.fp32 = counts.issued - counts.alu - counts.exp;
  const double share = op.executed_eighths / 8.0;
  counts.issued *= share;
  counts.alu *= share;
  counts.exp *= share;
  counts.fp32 *= share;
  counts.widened *= share;
  counts.in_calls *= share;
  const double warps = needs.threads / lanes;
  add(counts, op.instructions * warps, op.other_alu * warps, op.other_exps * warps);
  return counts;
}

}  // namespace tilescope
