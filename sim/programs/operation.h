// Operation: one tile operation of one thread block, and the on-chip tiles that it works on.
//
//   HBM ──load──► on-chip tile (shared)  ──matmul / row_max / exp …──► on-chip tile (registers) ──store──► HBM
//
// Three models read it: the tile machine (on-chip tiles and arithmetic), the traffic model (tile and bytes) and the timing model
// (unit, work and waits).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/tensor.h"

namespace tilescope {

enum class OpKind : std::uint8_t {
  load,           // dst <- tile                                     asynchronous
  store,          // tile <- src0                                    asynchronous
  fill,           // dst = value, as dst's rows x cols
  matmul,         // dst (+)= value * src0 * src1, either of them transposed
  mask,           // dst[r,c] = -inf where the key is not visible to the query
  row_max,        // dst = max(src0, rowmax(src1)); src0 may be none
  exp,            // dst = exp(src0 - rows(src1)); masked entries give 0
  exp_rows,       // dst = exp(src0 - src1), both row vectors; exp(-inf - -inf) is 0
  row_sum,        // dst = src0 * src2 + rowsum(src1); src0 (old sum) and src2 (alpha) may be none
  rescale,        // dst = diag(src0) diag(src1) dst; src1 may be none
  divide,         // dst = diag(1/src0) dst; a row whose src0 is 0 becomes 0
  add,            // dst = dst + src0
  merge,          // dst = src0 * src1 + src2 * src3, row vectors
  log_sum_exp,    // dst = src0 + log(src1), row vectors; an empty row gives -inf
  copy,           // dst = src0
  subtract_rows,  // dst = dst - rows(src0)
  multiply,       // dst = dst * src0, element by element
  reduce_add,     // tile <- tile + src0, in HBM, through the L2    asynchronous
  fetch_add,      // tile <- tile + value; the old value comes back asynchronous
  write,          // tile <- value                                   asynchronous
  modify,         // dst = the problem's score change, applied to dst
  slope,          // dst = the derivative of the score change at src0; 0 where the key is not visible to the query
  factor,         // dst = the derivative of the score change by a read of a table, at src0; 0 where the key is not visible
  gather,         // dst (+)= the sums of src0 over the elements at which a read meets one element of its table
  add_parts,      // dst[inner + value * i] += src0[i], rows of one
  barrier,        // __syncthreads() of the block
  wait,           // waits for its token, then signals the other: an mbarrier, a named barrier, the end of a product
};
inline constexpr int op_kind_count = static_cast<int>(OpKind::wait) + 1;
std::string_view to_string(OpKind kind);
/// Returns whether the operation moves a tile out of the SM.
constexpr bool writes_memory(OpKind kind) {
  return kind == OpKind::store || kind == OpKind::reduce_add || kind == OpKind::fetch_add || kind == OpKind::write;
}
/// Returns whether bytes of memory come to the SM.
constexpr bool reads_memory(OpKind kind) {
  return kind == OpKind::load || kind == OpKind::fetch_add;
}
/// Returns whether the operation adds to what lies in memory.
constexpr bool adds_to_memory(OpKind kind) {
  return kind == OpKind::reduce_add || kind == OpKind::fetch_add;
}
/// Returns whether the operation moves a tile between the SM and memory. Such an operation is asynchronous.
constexpr bool moves_tile(OpKind kind) {
  return kind == OpKind::load || writes_memory(kind);
}

/// The most slices in which a product can consume the result of the operation before it.
inline constexpr int most_slices = 15;

/// What an on-chip tile holds of its tensor.
enum class TilePart : std::uint8_t {
  whole,          // the tile itself
  updated,        // its next value, m′
  of_tile,        // the contribution of one tile pair, m̃
  factor,         // rescale factor of the value so far, α
  factor_of_tile  // rescale factor of the contribution, β
};

/// A program's declaration of an on-chip tile: a piece of one of its tensors, along that tensor's axes.
struct ChipTileSpec {
  std::string_view name;  // "m′"
  Tensor tensor;          // gives the tile its coordinates and its colour
  /// Unique among the tiles of a program: 1 to most_chip_tiles - 1.
  std::uint8_t index = 0;
  TilePart part = TilePart::whole;
  bool ring = false;    // has one buffer per stage of the key loop
  bool strips = false;  // has one buffer per strip of the block's rows: each warp group keeps its own

  /// Returns the same tile with a strip for each warp group.
  constexpr ChipTileSpec in_strips() const {
    ChipTileSpec spec = *this;
    spec.ring = false;
    spec.strips = true;
    return spec;
  }
};

/// The most on-chip tiles of a program, plus one for ChipTile::none.
inline constexpr int most_chip_tiles = 64;
/// A set of on-chip tiles: a bit per index.
using TileSet = std::uint64_t;

/// A handle to the declaration of an on-chip tile, which must outlive it. A tile in shared memory can be a ring of buffers.
class ChipTile {
 public:
  static const ChipTile none;

  constexpr ChipTile() = default;
  constexpr ChipTile(const ChipTileSpec& spec) : spec_(&spec) {}
  ChipTile(ChipTileSpec&&) = delete;  // would not outlive the handle

  constexpr explicit operator bool() const { return spec_ != nullptr; }
  constexpr const ChipTileSpec* operator->() const { return spec_; }
  constexpr std::size_t index() const { return spec_ != nullptr ? spec_->index : 0; }
  constexpr Tensor tensor() const { return spec_ != nullptr ? spec_->tensor : Tensor(); }
  /// Returns whether it holds `part` of a tensor with that meaning.
  constexpr bool is(Meaning meaning, TilePart part = TilePart::whole) const {
    return spec_ != nullptr && spec_->part == part && spec_->tensor.means(meaning);
  }
  constexpr bool is_ring() const { return spec_ != nullptr && spec_->ring; }
  constexpr bool has_strips() const { return spec_ != nullptr && spec_->strips; }
  friend constexpr bool operator==(ChipTile a, ChipTile b) { return a.spec_ == b.spec_; }
  friend constexpr bool operator<(ChipTile a, ChipTile b) { return a.index() < b.index(); }

 private:
  const ChipTileSpec* spec_ = nullptr;
};
inline constexpr ChipTile ChipTile::none{};
std::string_view to_string(ChipTile chip_tile);  // "Q", "m′", "α", …; "none"
/// Returns the tensor of a tile; none for ChipTile::none.
constexpr Tensor tensor_of(ChipTile chip_tile) {
  return chip_tile.tensor();
}

/// The tensors and on-chip tiles of a program. `inputs` are in HBM before it runs, and it writes `outputs` there; all other
/// `tensors` exist only on chip.
struct Schema {
  std::vector<Tensor> tensors, inputs, outputs;
  std::vector<ChipTile> tiles;

  /// Return the first tensor with a meaning, and its on-chip tile; empty if there is none.
  Tensor tensor(Meaning meaning) const;
  ChipTile tile(Meaning meaning, TilePart part = TilePart::whole) const;
  bool reads(Tensor tensor) const;
  bool writes(Tensor tensor) const;
  /// Returns a sentence if the schema is wrong, otherwise "".
  /// Errors  two tensors or two tiles with one index, an index out of range, an undeclared tensor
  std::string fault() const;
};

/// The unit that executes an operation; the timeline has a lane for each.
enum class Unit : std::uint8_t { copy, tensor, exp, fp32, store, sync };
inline constexpr int unit_count = 6;
std::string_view to_string(Unit unit);  // "copy", "tensor core", "exp", "scale, sum", "store", "barrier"

/// What a wait waits for: its own group's products, or one of the barriers of the hardware.
enum class WaitOn : std::uint8_t { product, mbarrier, named_barrier };

struct Operation {
  OpKind kind = OpKind::barrier;
  std::uint8_t line = 0;  // line of the listing, counted from 1
  ChipTile dst = ChipTile::none;
  std::array<ChipTile, 4> src = {ChipTile::none, ChipTile::none, ChipTile::none, ChipTile::none};
  std::int32_t ring = 0;        // ring buffer that a load fills, or that the other operations read and write
  bool transpose = false;       // matmul: src1 is used transposed
  bool transpose_left = false;  // matmul: src0 is used transposed
  bool swap_ab = false;         // matmul: the columns of dst are the rows of the instruction
  bool accumulate = false;      // matmul, gather: adds to dst
  bool asynchronous = false;    // matmul: its group goes on once it is issued, and its token is signalled when it ends
  // Size of dst. `inner`: the dimension that matmul, row_max and row_sum reduce; for modify and slope, the operations per element.
  // factor and gather: operations per element; add_parts: the first element of dst.
  std::int32_t rows = 0, cols = 0, inner = 0;
  float value = 0;  // fill, fetch_add, write: the value; matmul: the scale factor; add_parts: the step
  // load and store: the tile that moves; gather: the position of src0 in its logical matrix; others: that of dst
  TileRef tile;
  std::int64_t bytes = 0;  // load and store: 32 times the sectors touched
  std::int64_t smem_read_bytes = 0, smem_write_bytes = 0;
  std::int64_t flops = 0, exps = 0;  // flops: of a product, or fp32 work of other kinds; a program's total counts only products
  // Overhead of the compiled kernel (see Overhead), and how much of the operation it executes.
  std::int16_t instructions = 0;               // per warp
  std::int16_t other_alu = 0, other_exps = 0;  // part of them: on the ALU pipe, on the exponential pipe
  std::int16_t shared_round_trips = 0;         // dependent round trips to shared memory; a shuffle takes as long
  std::int16_t barriers = 0;                   // barriers of all warps of the block
  std::int16_t l2_round_trips = 0;             // dependent round trips to the L2, besides the loads
  std::int16_t wavefronts = 0;                 // per warp: shuffles and broadcast reads, in the memory pipe
  std::int16_t stall_cycles = 0;               // of `instructions`, added up; 0: they stall as the launch's others do
  bool staged = false;                         // store: an operation before has packed the tile and put it into shared memory
  std::uint8_t sectors_at_once = 0;   // load: sectors that a warp requests together with other loads; 0: its share of this load
  std::uint8_t rounds = 1;            // load: parts of equal size, each asked for when the one before has arrived
  std::uint8_t requests = 0;          // wait: boxes that a thread of its group has asked TMA for just before it
  std::int16_t executed_eighths = 8;  // of its instructions, how many the kernel executes on average
  std::int16_t exps_each = 0;         // exponentials of an element of dst
  // The next product consumes its result in this many slices: the product may start after the first slice, and its own last slice
  // comes after the last one. 1: the product waits for the whole result. At most most_slices.
  std::uint8_t slices = 1;
  // matmul: how often the block's warps together read each factor, if it is in shared memory
  std::uint16_t left_reads = 0, right_reads = 0;
  std::int8_t read = -1;  // factor and gather: the place among the reads of ScoreChange::table_reads()
  // The warp group that executes it, and the tokens by which operations wait (indices of BlockOperations::tokens; -1: none).
  std::uint8_t group = 0;
  std::uint8_t strip = 0;         // the buffer of tiles that have strips
  bool paced = false;             // load: the kernel asks for it after the operation that it waits for, be its buffer free before
  std::int8_t source_strip = -1;  // matmul: that of its factors; of the left one it reads only the rows of dst. -1: `strip`
  WaitOn wait_on = WaitOn::product;  // wait: what its token is
  std::int16_t wait_token = -1;      // it waits until this token has wait_count signals
  std::int16_t signal_token = -1;    // the token that it signals when it ends; a load, when its bytes have landed
  std::int32_t wait_count = 0;
  std::int32_t signal_count = 0;           // ordinal of its signal of the token, in listing order
  std::int32_t iteration = -1;             // tile iteration; -1 before the loop, the last one + 1 after it
  std::int32_t q_tile = -1, kv_tile = -1;  // tile coordinates; -1: none
};

/// What becomes of an operation's destination.
enum class Destination : std::uint8_t {
  none,        // the operation writes no on-chip tile
  replaced,    // its old value is lost
  updated,     // its old value is an operand
  accumulated  // updated if Operation::accumulate, otherwise replaced
};

/// One row of the table of operations: everything about an operation that does not depend on its tiles. The arithmetic of each
/// is TileArithmetic::apply() (sim/numerics).
struct OpTraits {
  OpKind kind;
  std::string_view name;
  Unit unit;
  std::uint8_t operands;  // bit per element of Operation::src that must name a tile with a value
  Destination destination;
};
const OpTraits& traits_of(OpKind kind);

inline Unit unit_of(const Operation& operation) {
  return traits_of(operation.kind).unit;
}
/// Returns whether an operation updates dst in place instead of replacing it.
bool updates_destination(const Operation& operation);

/// Returns whether an operation is one of a warp group whose rows, or keys, all lie past the last one. Such a group computes like
/// the others, on what lies in shared memory. It loads and stores nothing, and its operations have no values.
constexpr bool is_past_the_end(const Operation& operation) {
  if (operation.kind != OpKind::wait && !operation.dst.has_strips()) return false;
  return operation.rows == 0 || operation.cols == 0 || (operation.kind == OpKind::matmul && operation.inner == 0);
}

/// Returns whether an operation reads `chip_tile`, be it only to change it.
bool reads(const Operation& operation, ChipTile chip_tile);

/// Returns the number of the buffer of `chip_tile` that an operation uses.
constexpr std::int32_t buffer_of(const Operation& operation, ChipTile chip_tile) {
  if (chip_tile.has_strips())
    return operation.source_strip >= 0 && chip_tile != operation.dst ? std::int32_t{operation.source_strip} : operation.strip;
  return chip_tile.is_ring() ? operation.ring : 0;
}

/// The slice of the problem that a block owns: rows [first, first + count) along an axis, on one plane of that axis.
struct Domain {
  Axis axis = Axis::query;
  std::int32_t plane = 0;  // a query plane, or a key plane if the axis is that of the keys
  std::int32_t first = 0, count = 0;
  std::int64_t end() const { return std::int64_t{first} + count; }
  bool operator==(const Domain&) const = default;
};

/// The operations of one block, in listing order. The block's warps form groups, and each group runs its own operations: loads and
/// asynchronous products only begin in order, all others run in order. Other waits use tokens, as kernels use mbarriers: one
/// operation signals, another waits for the n-th signal. An on-chip buffer has two tokens: the load that fills it signals `full`,
/// its last reader signals `empty`.
///
///     producer    load K₀ ─signal full₀─► load K₁ …                       wait empty₀ ─► load K₂
///     consumer                 wait full₀ ─► S = Q Kᵀ ─signal empty₀─────────┘
struct BlockOperations {
  int launch = 0;
  std::int64_t block = 0;
  Domain domain;
  std::int32_t iterations = 0;
  // Tile size that the kernel computes even where a sequence ends inside a tile; 0: it computes only existing elements.
  std::int32_t whole_rows = 0, whole_keys = 0;
  std::vector<ChipTile> tiles;          // on-chip tiles of the program
  std::span<const std::string> tokens;  // token names of the program: "full K 0"
  TileSet shared_tiles = 0;             // the on-chip tiles that are in shared memory in this block
  std::vector<Operation> operations;
  void clear() {
    operations.clear();
    iterations = 0;
  }
};

/// Returns whether, after operation `at`, `chip_tile` holds a value of an earlier tile iteration that has no part in this one:
/// nothing of this iteration has read it, and the next operation to use the on-chip tile overwrites it. For a block of one group.
bool is_left_over(const BlockOperations& block, std::int32_t at, ChipTile chip_tile);

/// Returns for each operation the one whose signal it waits for, with signals counted in listing order. -1 if it waits for none, or
/// for a signal that never comes.
std::vector<std::int32_t> waited_for(const BlockOperations& block);
/// Returns the same for operation `at` alone.
std::int32_t waited_for(const BlockOperations& block, std::size_t at);
/// Does the same for all into `out`, and lists in `signals` the operations that signal each token. Reuses the memory of both.
void waited_for(const BlockOperations& block, std::vector<std::int32_t>& out, std::vector<std::vector<std::int32_t>>& signals);

/// Returns whether an on-chip tile is in shared memory in this block; otherwise it is in registers. S and P are shared if loaded
/// from HBM.
inline bool is_shared(const BlockOperations& block, ChipTile chip_tile) {
  return chip_tile && (block.shared_tiles >> chip_tile.index() & 1U) != 0;
}

}  // namespace tilescope
