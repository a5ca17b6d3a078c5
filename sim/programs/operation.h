// Operation: one tile operation of one thread block, and the on-chip tiles ("slots") it works on.
//
//   HBM ──load──► slot (shared)  ──matmul / row_max / exp …──► slot (registers) ──store──► HBM
//
// An operation carries everything three readers need: the tile machine (which slots, which arithmetic), the traffic model
// (which rectangle of which tensor, how many bytes) and the timing model (unit, work, what it must wait for).
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
  modify,         // dst = what the problem's score expression makes of dst
  barrier,        // all warps of the block meet
};
inline constexpr int op_kind_count = 20;
std::string_view to_string(OpKind kind);
/// Whether it leaves the SM with a tile.
constexpr bool writes_memory(OpKind kind) {
  return kind == OpKind::store || kind == OpKind::reduce_add;
}
/// Whether it moves a tile between the SM and the memory behind it. Such an operation is over long before or after its turn.
constexpr bool moves_tile(OpKind kind) {
  return kind == OpKind::load || kind == OpKind::store || kind == OpKind::reduce_add;
}

/// Which state of its tensor's tile an on-chip tile holds.
enum class TilePart : std::uint8_t {
  whole,          // the tile itself
  updated,        // its next value, m′
  of_tile,        // what one pair of tiles contributes, m̃
  factor,         // what the value so far is multiplied by, α
  factor_of_tile  // what that contribution is multiplied by, β
};

/// A tile on chip as a program declares it: a piece of one of its tensors, along that tensor's axes.
struct TileSpec {
  std::string_view name;   // "m′"
  Tensor tensor;           // whose rectangle it is and whose colour it wears
  std::uint8_t index = 0;  // among the tiles of its program, 1 to most_slots - 1
  TilePart part = TilePart::whole;
  bool ring = false;  // one buffer a stage of the loop over keys
};

/// On-chip tiles of one program at most, and one for none.
inline constexpr int most_slots = 32;

/// A tile on chip: a handle to its declaration, which must outlive it. A shared one can be a ring of `stages` buffers.
class Slot {
 public:
  static const Slot none;

  constexpr Slot() = default;
  constexpr Slot(const TileSpec& spec) : spec_(&spec) {}  // NOLINT(google-explicit-constructor): a declaration names its tile

  Slot(TileSpec&&) = delete;  // would not outlive the handle

  constexpr explicit operator bool() const { return spec_ != nullptr; }
  constexpr const TileSpec* operator->() const { return spec_; }
  constexpr std::size_t index() const { return spec_ != nullptr ? spec_->index : 0; }
  constexpr Tensor tensor() const { return spec_ != nullptr ? spec_->tensor : Tensor(); }
  /// Whether it holds `part` of the tensor of that meaning.
  constexpr bool is(Meaning meaning, TilePart part = TilePart::whole) const {
    return spec_ != nullptr && spec_->part == part && spec_->tensor.means(meaning);
  }
  constexpr bool is_ring() const { return spec_ != nullptr && spec_->ring; }
  friend constexpr bool operator==(Slot a, Slot b) { return a.spec_ == b.spec_; }
  friend constexpr bool operator<(Slot a, Slot b) { return a.index() < b.index(); }

 private:
  const TileSpec* spec_ = nullptr;
};
inline constexpr Slot Slot::none{};
std::string_view to_string(Slot slot);  // "Q", "m′", "α", …; "none"
/// The tensor whose colour a slot wears; none for Slot::none.
constexpr Tensor tensor_of(Slot slot) {
  return slot.tensor();
}

/// The tensors and on-chip tiles of a program. `inputs` are in HBM before it runs, `outputs` are written there; the rest of
/// `tensors` exists on chip alone.
struct Schema {
  std::vector<Tensor> tensors, inputs, outputs;
  std::vector<Slot> tiles;

  /// The first tensor of that meaning, and the whole tile of it; empty where there is none.
  Tensor tensor(Meaning meaning) const;
  Slot tile(Meaning meaning, TilePart part = TilePart::whole) const;
  bool reads(Tensor tensor) const;
  bool writes(Tensor tensor) const;
  /// Errors  two tensors or two tiles with one index, an index out of range, a tile of a tensor that is not declared. Empty: none.
  std::string fault() const;
};

/// What executes an operation; the lanes of the timeline.
enum class Unit : std::uint8_t { copy, tensor, exp, fp32, store, sync };
inline constexpr int unit_count = 6;
std::string_view to_string(Unit unit);  // "copy", "tensor core", "exp", "scale, sum", "store", "barrier"

struct Operation {
  OpKind kind = OpKind::barrier;
  std::uint8_t line = 0;  // of the listing, counted from 1
  Slot dst = Slot::none;
  std::array<Slot, 4> src = {Slot::none, Slot::none, Slot::none, Slot::none};
  std::int32_t ring = 0;        // buffer of a ring: the one a load fills; else the one the ring operands are read from
  bool transpose = false;       // matmul: src1 is used transposed
  bool transpose_left = false;  // matmul: src0 is used transposed
  bool accumulate = false;      // matmul: adds to dst
  std::int32_t rows = 0, cols = 0,
               inner = 0;  // of dst; inner: summed over by matmul, row_max, row_sum; modify: operations an element
  float value = 0;         // fill's value, matmul's factor
  TileRef tile;            // load and store: what moves. Others: where dst lies in its logical matrix
  std::int64_t bytes = 0;  // load and store: sectors touched x 32
  std::int64_t smem_read_bytes = 0, smem_write_bytes = 0;
  std::int64_t flops = 0, exps = 0;  // flops: fp32 work where it is not a matmul; totals of a program count matmuls only
  // What the kernel does beside the arithmetic, or less than all of it; the numbers come from the compiled kernel.
  std::int16_t instructions = 0;  // of each warp; of these, on the pipes of maxima and of exponentials:
  std::int16_t other_alu = 0, other_exps = 0;
  std::int16_t trips = 0;            // ways to shared memory and back, one after the other; a shuffle is as long
  std::int16_t barriers = 0;         // meetings of all warps of the block
  std::int16_t round_trips = 0;      // to the L2 and back, one after the other, beyond those of the loads
  std::int16_t wavefronts = 0;       // of each warp: shuffles, and reads of what all its lanes want, in the memory pipe
  std::uint8_t sectors_at_once = 0;  // load: that a warp asks for together with other loads; 0: its part of this one
  std::int16_t share = 8;            // eighths of the work that are done on average
  bool ahead = false;                // interleaved with the product that follows, which needs only its first part to begin
  // Which warps of the block execute it, and the tokens by which operations wait for one another (BlockOperations::tokens); -1:
  // none.
  std::uint8_t group = 0;
  std::int16_t wait_token = -1;    // it begins once that token was signalled wait_count times
  std::int16_t signal_token = -1;  // signalled when it is over; by a load, when its bytes have landed
  std::int32_t wait_count = 0;
  std::int32_t signal_count = 0;           // the how-manieth signal of its token, in the order of the listing
  std::int32_t iteration = -1;             // tile iteration it belongs to; -1 before the loop, the last one + 1 after it
  std::int32_t q_tile = -1, kv_tile = -1;  // logical tile coordinates, -1 where there is none
};

Unit unit_of(const Operation& operation);

/// The slice of the problem that a block owns: rows [first, first + count) along an axis, on one plane of that axis.
struct Domain {
  Axis axis = Axis::query;
  std::int32_t plane = 0;  // of the queries, or of the keys where the axis is theirs
  std::int32_t first = 0, count = 0;
  std::int64_t end() const { return std::int64_t{first} + count; }
  bool operator==(const Domain&) const = default;
};

/// The operations of one block, in listing order. The block's warps are in groups, and each group runs its own operations: loads
/// asynchronously, everything else one after the other. Whatever else an operation waits for, it waits for by a token, as kernels
/// do by mbarriers: one operation signals, another waits for the n-th signal. A buffer on chip has two: `full`, signalled by the
/// load that fills it, and `empty`, signalled by whoever read it last.
///
///     producer    load K₀ ─signal full₀─► load K₁ …                       wait empty₀ ─► load K₂
///     consumer                 wait full₀ ─► S = Q Kᵀ ─signal empty₀─────────┘
struct BlockOperations {
  int launch = 0;
  std::int64_t block = 0;
  Domain domain;
  std::int32_t iterations = 0;
  // The kernel works on whole tiles of so many rows and keys, also where a sequence ends inside one; 0: on what is there.
  std::int32_t whole_rows = 0, whole_keys = 0;
  std::vector<Slot> tiles;              // on chip, of the program
  std::span<const std::string> tokens;  // their names, of the program: "full K 0"
  std::uint32_t shared_slots = 0;       // bit per Slot: lies in shared memory in this block
  std::int32_t warps_sharing_keys = 1;  // warps that read the same left operand of a product, each for its own keys
  std::vector<Operation> operations;
  void clear() {
    operations.clear();
    iterations = 0;
  }
};

/// Of each operation, the one whose signal it waits for: signals of a token are counted in the order of the listing. -1 where it
/// waits for none, or for a signal that never comes.
std::vector<std::int32_t> waited_for(const BlockOperations& block);
/// The same of operation `at` alone.
std::int32_t waited_for(const BlockOperations& block, std::size_t at);
/// The same of all into `out`; `signals` becomes the operations that signal each token, in order. Both keep their memory.
void waited_for(const BlockOperations& block, std::vector<std::int32_t>& out, std::vector<std::vector<std::int32_t>>& signals);

/// Shared memory or registers, in this block: S and P are shared where they are loaded from HBM.
bool is_shared(const BlockOperations& block, Slot slot);

}  // namespace tilescope
