// BlockBuilder: writes the operations of one block, and fills in their bytes, work, waits and buffers.
//
//   A program says only what is done, line by line; where it is done is the builder's state:
//
//     builder.queries(i, rows);  builder.keys(j, cols);  builder.iteration(n, ring);
//     builder.load(4, tiles::k);              // tile, bytes, ring buffer and what frees it: all from that state
//     builder.scores(Line::scores);                    // waits for the last load that filled Q or K
//
// Shared memory, counted here and nowhere else:
//   load into a shared slot    writes every element of the tile once
//   matmul                     reads src0 once for each warp that has the same rows (KernelNeeds::warps_sharing_keys) and src1
//                              once for each warp that has the same keys (warps_sharing_rows), where they are shared
//   anything else              reads each shared operand once
// fp32 work of an operation: one a matrix element it reads or writes, two where it scales twice; rows for row vectors.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <vector>

#include "sim/programs/block_plan.h"
#include "sim/programs/kernel_profile.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

/// Bit of a slot in BlockOperations::shared_slots.
constexpr std::uint32_t slot_bit(Slot slot) {
  return std::uint32_t{1} << slot.index();
}
template <class... Slots>
constexpr std::uint32_t slot_bits(const Slots&... slots) {
  return (std::uint32_t{0} | ... | slot_bit(slots));
}

/// A line of the listing, counted from 1. It comes from the program's own enumeration of its lines, so a line that does not exist
/// does not compile.
struct LineId {
  int number = 0;
  template <class Line>
  requires std::is_enum_v<Line>
  constexpr LineId(Line line) : number(1 + static_cast<int>(line)) {}  // NOLINT(google-explicit-constructor): that is its purpose
};

/// How a product uses its factors.
struct ProductForm {
  bool transpose = false, accumulate = false;  // the right factor; dst is added to
  float factor = 1;
  bool transpose_left = false;
};

class BlockBuilder {
 public:
  /// Clears `out`, which keeps its capacity. `shared` has a bit for each slot in shared memory.
  BlockBuilder(BlockOperations& out, const BlockPlan& plan, const KernelNeeds& needs, int launch, std::int64_t block,
               const Domain& domain, std::uint32_t shared);

  // Where the next operations are.
  /// Q and what belongs to it come from this plane; at first those of the block's domain.
  void query_plane(std::int64_t plane);
  void queries(std::int64_t q_tile, TileRange rows);
  void keys(std::int64_t kv_tile, TileRange cols);
  /// `ring` is the buffer of K, V, S and P that this iteration loads and reads; Q and row vectors have one buffer.
  void iteration(std::int64_t index, std::int64_t ring);

  /// Lists of the mask come from this plane and row of blocks, and their first `count` entries.
  void mask_list(std::int64_t plane, std::int64_t row, std::int64_t count);

  /// Loads the tensor whose colour the slot wears. Issued once its buffer is free and operation `after` is over.
  std::int32_t load(LineId line, Slot dst, std::int32_t after = -1);
  /// The same, but into registers of its own: issued once operation `after` is over.
  std::int32_t load_after(LineId line, Slot dst, std::int32_t after) { return add_load(line, dst, after); }
  /// Makes `slot` stand for the buffer that load `index` filled.
  void select(Slot slot, std::int32_t index) { filled_by_[slot.index()] = index; }
  std::int32_t store(LineId line, Slot src);
  /// Adds the tile to what HBM holds, through the L2; needs fp32.
  std::int32_t reduce_add(LineId line, Slot src);
  /// Index of the latest operation; -1 where there is none.
  std::int32_t latest() const { return index(); }
  /// What the kernel does beside the arithmetic of the latest operation.
  void overhead(const Overhead& what) {
    Operation& op = out_.operations.back();
    op.instructions = static_cast<std::int16_t>(what.instructions);
    op.trips = static_cast<std::int16_t>(what.trips);
    op.barriers = static_cast<std::int16_t>(what.barriers);
    op.round_trips = static_cast<std::int16_t>(what.round_trips);
    op.other_alu = static_cast<std::int16_t>(what.alu);
    op.other_exps = static_cast<std::int16_t>(what.exps);
    op.wavefronts = static_cast<std::int16_t>(what.wavefronts);
  }
  /// Of the latest load and those beside it each warp asks for so many elements at once.
  void asked_at_once(std::int64_t elements) {
    Operation& op = out_.operations.back();
    op.sectors_at_once = static_cast<std::uint8_t>(std::min<std::int64_t>(ceil_div(elements * plan_.element, sector_size), 255));
  }
  /// The latest operation is done in so many eighths of all cases.
  void share(int eighths) { out_.operations.back().share = static_cast<std::int16_t>(eighths * blank_.share / 8); }
  /// From now on lanes that have nothing to do make every operation take so many eighths of its instructions.
  void idle_lanes(int eighths) { blank_.share = static_cast<std::int16_t>(eighths); }
  /// The latest operation also waits for load `index`, which the kernel waits for there, needed or not.
  void wait_for(std::int32_t index) { wait(out_.operations.back(), std::max(waited_for_, index)); }
  /// The latest operation is interleaved with the next product.
  void ahead() { out_.operations.back().ahead = true; }

  void fill(LineId line, Slot dst, float value);
  /// dst (+)= factor * left * right, either of them transposed; sums over `inner`.
  void matmul(LineId line, Slot dst, Slot left, Slot right, const ProductForm& form);
  void mask(LineId line, Slot dst);
  /// The change of scores; so many operations and exponentials an element.
  void modify(LineId line, Slot dst, std::int64_t operations, std::int64_t exps);
  void row_max(LineId line, Slot dst, Slot old, Slot of);  // max(old, rowmax of)
  void exp(LineId line, Slot dst, Slot of, Slot minus);
  void exp_rows(LineId line, Slot dst, Slot of, Slot minus);
  void row_sum(LineId line, Slot dst, Slot old, Slot of, Slot scale);  // old * scale + rowsum of
  void rescale(LineId line, Slot dst, Slot by, Slot and_by = Slot::none);
  void divide(LineId line, Slot dst, Slot by);
  void add(LineId line, Slot dst, Slot what);
  void subtract_rows(LineId line, Slot dst, Slot rows);       // dst - rows, one number a row
  void multiply(LineId line, Slot dst, Slot by);              // element by element
  void merge(LineId line, Slot dst, std::array<Slot, 4> of);  // of0 of1 + of2 of3
  void log_sum_exp(LineId line, Slot dst, Slot max, Slot sum);
  void copy(LineId line, Slot dst, Slot src);

  /// Visits key tiles with `emit(tile)`, `stages` of them a turn of the ring. Turns that differ only in place are copied, which is
  /// several times faster: runs of neighbouring tiles for which `alike` holds must be emitted alike.
  template <class Alike, class Emit>
  void walk_keys(std::span<const KeyTile> tiles, std::int64_t stages, Alike alike, Emit emit);

 private:
  /// Appends copies of the latest turn of a ring, whose first operation is `turn` and which does what the turn before did, each
  /// copy `stages` tiles of the walk after the one before. `step` is the distance between two of these tiles.
  void repeat(std::int32_t turn, std::int64_t times, std::int64_t stages, std::int64_t step);
  /// Whether a tile of keys moves as many bytes wherever it lies.
  bool tiles_are_alike(std::int64_t stages) const;
  Operation& next(OpKind kind, LineId line, Slot dst);
  /// Sets operands, what they wait for and their shared-memory traffic; then marks every slot of the operation as used.
  void operands(Operation& op, std::initializer_list<Slot> sources, bool reads_dst);
  bool shared(Slot slot) const { return (out_.shared_slots & slot_bit(slot)) != 0; }
  std::int64_t elements(Slot slot) const { return held_[slot.index()].elements; }
  std::int32_t width(Slot slot) const { return held_[slot.index()].tile.cols; }
  /// What of a tensor lies at the current queries and keys.
  TileRef rectangle(Tensor tensor) const;
  void put(Slot slot);
  std::int64_t bytes_on_chip(Slot slot) const { return elements(slot) * plan_.layouts[slot.tensor().index()].element_bytes; }
  std::int64_t bytes(const TileRef& tile) const;
  std::int32_t add_load(LineId line, Slot dst, std::int32_t after);
  std::int32_t index() const { return static_cast<std::int32_t>(out_.operations.size()) - 1; }
  std::size_t buffer(Slot slot) const { return BufferToken::buffer(slot, ring_); }
  /// Makes `op` wait for the signal of operation `index`, which has one; -1: for nothing.
  void wait(Operation& op, std::int32_t index);
  /// Makes operation `index` signal a token, where it signals none yet.
  void signal(std::int32_t index, std::int16_t token);

  BlockOperations& out_;
  const BlockPlan& plan_;
  std::int32_t warps_, key_warps_;
  std::int32_t plane_ = 0, kv_plane_ = 0;
  std::int32_t row_ = 0, rows_ = 0, col_ = 0, cols_ = 0;
  std::int32_t mask_plane_ = 0, mask_row_ = 0, mask_entries_ = 0;
  std::int32_t ring_ = 0;
  Operation blank_;  // where the next operation is, and nothing else
  struct Held {
    TileRef tile;
    std::int64_t elements = 0;
  };
  std::array<Held, most_slots> held_;               // what each slot holds, by the current tiles
  std::array<std::int32_t, most_slots> filled_by_;  // the load whose bytes a slot holds; -1: computed, or nothing
  std::array<std::int32_t, most_slots * BufferToken::most_stages> last_use_;  // by buffer; -1: never
  std::array<std::int32_t, BufferToken::count> signalled_{};                  // of each token, how often so far
  std::int32_t waited_for_ = -1;                                              // by the latest operation
};

template <class Alike, class Emit>
void BlockBuilder::walk_keys(std::span<const KeyTile> tiles, std::int64_t stages, Alike alike, Emit emit) {
  const auto count = static_cast<std::int64_t>(tiles.size());
  const auto tile = [&](std::int64_t n) -> const KeyTile& { return tiles[static_cast<std::size_t>(n)]; };
  const bool can_repeat = tiles_are_alike(stages);
  std::vector<std::int32_t> first_op(tiles.size());  // of each tile that was emitted
  std::int64_t run = 0;                              // where the run of tiles alike begins; its distance from one to the next:
  std::int64_t step = 0;
  for (std::int64_t n = 0; n < count; ++n) {
    const std::int64_t apart = n > 0 ? tile(n).index - tile(n - 1).index : 0;
    if (!alike(tile(n)))
      run = n + 1;
    else if (n == run || apart != step) {
      // Two tiles make a step; one that is apart from its neighbour by something else begins another run, with that neighbour.
      step = n + 1 < count ? tile(n + 1).index - tile(n).index : 0;
      run = n;
    }
    // The first turn of a run may find other buffers than the next ones do; from the second on, all are alike.
    if (can_repeat && n == run + 2 * stages) {
      std::int64_t end = n;
      while (end < count && alike(tile(end)) && tile(end).index - tile(end - 1).index == step) ++end;
      if (const std::int64_t times = (end - n) / stages; times > 0) {
        const auto op_of = [&](std::int64_t at) { return first_op[static_cast<std::size_t>(at)]; };
        repeat(op_of(n - stages), times, stages, step);
        n += times * stages;
        run = n;
        if (n == count) break;
      }
    }
    first_op[static_cast<std::size_t>(n)] = index() + 1;
    keys(tile(n).index, plan_.grid.keys(tile(n).index));
    iteration(n, n % stages);
    emit(tile(n));
  }
  keys(-1, {});
  iteration(count, 0);
}

}  // namespace tilescope
