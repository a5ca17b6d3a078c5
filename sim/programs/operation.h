// Operation: one tile operation of one thread block, and the on-chip tiles ("slots") it works on.
//
//   HBM ──load──► slot (shared)  ──matmul / row_max / exp …──► slot (registers) ──store──► HBM
//
// An operation carries everything three readers need: the tile machine (which slots, which arithmetic), the traffic model
// (which rectangle of which tensor, how many bytes) and the timing model (unit, work, what it must wait for).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/core/tensor.h"

namespace tilescope {

enum class OpKind : std::uint8_t {
  load,         // dst <- tile                                     asynchronous
  store,        // tile <- src0                                    asynchronous
  fill,         // dst = value, as dst's rows x cols
  matmul,       // dst (+)= value * src0 * src1  or  src0 * src1^T
  mask,         // dst[r,c] = -inf where the key is not visible to the query
  row_max,      // dst = max(src0, rowmax(src1)); src0 may be none
  exp,          // dst = exp(src0 - rows(src1)); masked entries give 0
  exp_rows,     // dst = exp(src0 - src1), both row vectors; exp(-inf - -inf) is 0
  row_sum,      // dst = src0 * src2 + rowsum(src1); src0 (old sum) and src2 (alpha) may be none
  rescale,      // dst = diag(src0) diag(src1) dst; src1 may be none
  divide,       // dst = diag(1/src0) dst; a row whose src0 is 0 becomes 0
  add,          // dst = dst + src0
  merge,        // dst = src0 * src1 + src2 * src3, row vectors
  log_sum_exp,  // dst = src0 + log(src1), row vectors; an empty row gives -inf
  copy,         // dst = src0
  barrier,      // all warps of the block meet
};
inline constexpr int op_kind_count = 16;
std::string_view to_string(OpKind kind);
/// Whether it moves a tile between the SM and the memory behind it. Such an operation is over long before or after its turn.
constexpr bool moves_tile(OpKind kind) {
  return kind == OpKind::load || kind == OpKind::store;
}

/// A named tile on chip. A shared slot can be a ring of `stages` buffers.
enum class Slot : std::uint8_t { none, q, k, v, s, p, m, m_new, m_tile, l, l_new, l_tile, alpha, beta, o, pv, lse };
inline constexpr int slot_count = 17;
std::string_view to_string(Slot slot);  // "Q", "K", …, "m", "m′", "α", …
/// The tensor whose colour a slot wears.
Tensor tensor_of(Slot slot);
/// Shared memory or registers, in most programs: Q, K and V are shared. See the other one for a given block.
bool is_shared(Slot slot);

/// What executes an operation; the lanes of the timeline.
enum class Unit : std::uint8_t { copy, tensor, exp, fp32, store, sync };
inline constexpr int unit_count = 6;
std::string_view to_string(Unit unit);  // "copy", "tensor core", "exp", "scale, sum", "store", "barrier"

struct Operation {
  OpKind kind = OpKind::barrier;
  std::uint8_t line = 0;  // of the listing, counted from 1
  Slot dst = Slot::none;
  std::array<Slot, 4> src = {Slot::none, Slot::none, Slot::none, Slot::none};
  std::int32_t ring = 0;    // buffer of a ring: the one a load fills; else the one the ring operands are read from
  bool transpose = false;   // matmul: src1 is used transposed
  bool accumulate = false;  // matmul: adds to dst
  std::int32_t rows = 0, cols = 0, inner = 0;  // of dst; inner: summed over by matmul, row_max, row_sum
  float value = 0;                             // fill's value, matmul's factor
  TileRef tile;                                // load and store: what moves. Others: where dst lies in its logical matrix
  std::int64_t bytes = 0;                      // load and store: sectors touched x 32
  std::int64_t smem_read_bytes = 0, smem_write_bytes = 0;
  std::int64_t flops = 0, exps = 0;  // flops: fp32 work where it is not a matmul; totals of a program count matmuls only
  // What the kernel does beside the arithmetic, or less than all of it; the numbers come from the compiled kernel.
  std::int16_t instructions = 0;  // of each warp; of these, on the pipes of maxima and of exponentials:
  std::int16_t other_alu = 0, other_exps = 0;
  std::int16_t trips = 0;                  // ways to shared memory and back, one after the other; a shuffle is as long
  std::int16_t barriers = 0;               // meetings of all warps of the block
  std::int16_t round_trips = 0;            // to the L2 and back, one after the other, beyond those of the loads
  std::int16_t wavefronts = 0;             // of each warp: shuffles, and reads of what all its lanes want, in the memory pipe
  std::uint8_t sectors_at_once = 0;        // load: that a warp asks for together with other loads; 0: its part of this one
  std::int16_t share = 8;                  // eighths of the work that are done on average
  bool ahead = false;                      // interleaved with the product that follows, which needs only its first part to begin
  std::int32_t wait_load = -1;             // index of the latest load whose bytes this operation reads; -1 for none
  std::int32_t issue_after = -1;           // load: index of the operation that frees its buffer; -1 for at once
  std::int32_t iteration = -1;             // tile iteration it belongs to; -1 before the loop, the last one + 1 after it
  std::int32_t q_tile = -1, kv_tile = -1;  // logical tile coordinates, -1 where there is none
};

Unit unit_of(const Operation& operation);

/// The operations of one block, in listing order. Loads are asynchronous: they are issued in their order, as early as
/// `issue_after` allows; everything else runs in order and waits for `wait_load`.
struct BlockOperations {
  int launch = 0;
  std::int64_t block = 0;
  std::int32_t plane = 0;                // batch x head on the query side
  std::int32_t first_row = 0, rows = 0;  // query rows the block owns
  std::int32_t iterations = 0;
  // The kernel works on whole tiles of so many rows and keys, also where a sequence ends inside one; 0: on what is there.
  std::int32_t whole_rows = 0, whole_keys = 0;
  std::uint32_t shared_slots = 0;       // bit per Slot: lies in shared memory in this block
  std::int32_t warps_sharing_keys = 1;  // warps that read the same left operand of a product, each for its own keys
  std::vector<Operation> operations;
  void clear() {
    operations.clear();
    iterations = 0;
  }
};

/// Shared memory or registers, in this block: S and P are shared where they are loaded from HBM.
bool is_shared(const BlockOperations& block, Slot slot);

}  // namespace tilescope
