// BlockBuilder: writes the operations of one block, and fills in their bytes, work, waits and buffers.
//
//   A program says only what is done, line by line; where it is done is the builder's state:
//
//     builder.queries(i, rows);  builder.keys(j, cols);  builder.iteration(n, ring);
//     builder.load(4, Slot::k);              // tile, bytes, ring buffer and what frees it: all from that state
//     builder.scores(5);                     // waits for the last load that filled Q or K
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

#include "sim/programs/block_plan.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

/// Bit of a slot in BlockOperations::shared_slots.
constexpr std::uint32_t slot_bit(Slot slot) {
  return std::uint32_t{1} << static_cast<int>(slot);
}
template <class... Slots>
constexpr std::uint32_t slot_bits(Slots... slots) {
  return (std::uint32_t{0} | ... | slot_bit(slots));
}

/// What a kernel does beside the arithmetic of an operation, as the compiled code shows it: instructions of each warp, on its way
/// from one operation to the next; ways to shared memory and to the L2 that cannot overlap; meetings of all warps. Of the
/// instructions, `alu` and `exps` take the pipes of maxima and conversions, and of exponentials; `wavefronts` is what shuffles, and
/// reads of what all lanes of a warp want, take of the memory pipe.
struct Beside {
  int instructions = 0, trips = 0, barriers = 0, round_trips = 0, alu = 0, exps = 0, wavefronts = 0;
};

class BlockBuilder {
 public:
  /// Buffers of a ring that are filled again and again; a ring in which every buffer is filled once may have any number.
  static constexpr std::size_t most_stages = 8;

  /// Clears `out`, which keeps its capacity. `shared` has a bit for each slot in shared memory.
  BlockBuilder(BlockOperations& out, const BlockPlan& plan, const KernelNeeds& needs, int launch, std::int64_t block,
               std::int64_t plane, TileRange rows, std::uint32_t shared = slot_bits(Slot::q, Slot::k, Slot::v));

  // Where the next operations are.
  void queries(std::int64_t q_tile, TileRange rows);
  void keys(std::int64_t kv_tile, TileRange cols);
  /// `ring` is the buffer of K, V, S and P that this iteration loads and reads; Q and row vectors have one buffer.
  void iteration(std::int64_t index, std::int64_t ring);

  /// Loads the tensor whose colour the slot wears. Issued once its buffer is free and operation `after` is over.
  std::int32_t load(int line, Slot dst, std::int32_t after = -1);
  /// The same, but into registers of its own: issued once operation `after` is over.
  std::int32_t load_after(int line, Slot dst, std::int32_t after) { return add_load(line, dst, after); }
  /// Makes `slot` stand for the buffer that load `index` filled.
  void select(Slot slot, std::int32_t index) { filled_by_[static_cast<std::size_t>(slot)] = index; }
  std::int32_t store(int line, Slot src);
  /// Index of the latest operation; -1 where there is none.
  std::int32_t latest() const { return index(); }
  /// What the kernel does beside the arithmetic of the latest operation.
  void beside(const Beside& what) {
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
  void wait_for(std::int32_t index) { out_.operations.back().wait_load = std::max(out_.operations.back().wait_load, index); }
  /// The latest operation is interleaved with the next product.
  void ahead() { out_.operations.back().ahead = true; }

  void fill(int line, Slot dst, float value);
  void scores(int line);                            // S = scale Q K^T
  void weigh(int line, Slot dst, bool accumulate);  // dst (+)= P V
  void mask(int line, Slot dst);
  void row_max(int line, Slot dst, Slot old, Slot of);  // max(old, rowmax of)
  void exp(int line, Slot dst, Slot of, Slot minus);
  void exp_rows(int line, Slot dst, Slot of, Slot minus);
  void row_sum(int line, Slot dst, Slot old, Slot of, Slot scale);  // old * scale + rowsum of
  void rescale(int line, Slot dst, Slot by, Slot and_by = Slot::none);
  void divide(int line, Slot dst, Slot by);
  void add(int line, Slot dst, Slot what);
  void merge(int line, Slot dst, std::array<Slot, 4> of);  // of0 of1 + of2 of3
  void log_sum_exp(int line, Slot dst, Slot max, Slot sum);
  void copy(int line, Slot dst, Slot src);

  /// Walks key tiles [0, tiles) with `emit(j)`, `stages` of them a turn of the ring. Turns that differ only in place are copied,
  /// which is several times faster: the first `alike` tiles must be full, unmasked and emitted alike.
  template <class Emit>
  void walk_keys(std::int64_t tiles, std::int64_t stages, std::int64_t alike, Emit emit);

 private:
  /// Appends copies of the operations from `turn` on, each copy `stages` key tiles after the one before.
  void repeat(std::int32_t loop, std::int32_t turn, std::int64_t times, std::int64_t stages);
  /// Whether a tile of keys moves as many bytes wherever it lies.
  bool tiles_are_alike(std::int64_t stages) const;
  Operation& next(OpKind kind, int line, Slot dst);
  /// Sets operands, what they wait for and their shared-memory traffic; then marks every slot of the operation as used.
  void operands(Operation& op, std::initializer_list<Slot> sources, bool reads_dst);
  void product(int line, Slot dst, Slot left, Slot right, bool transpose, bool accumulate, std::int32_t inner, float factor);
  bool shared(Slot slot) const { return (out_.shared_slots & slot_bit(slot)) != 0; }
  std::int64_t elements(Slot slot) const { return places_[static_cast<std::size_t>(slot)].elements; }
  std::int32_t width(Slot slot) const { return places_[static_cast<std::size_t>(slot)].tile.cols; }
  void put(Slot slot, TileRef tile);
  void put_scores();
  std::int64_t bytes(const TileRef& tile) const;
  std::int32_t add_load(int line, Slot dst, std::int32_t after);
  std::int32_t index() const { return static_cast<std::int32_t>(out_.operations.size()) - 1; }
  std::size_t buffer(Slot slot) const;  // of last_use_

  BlockOperations& out_;
  const BlockPlan& plan_;
  std::int32_t warps_, key_warps_;
  std::int32_t plane_, kv_plane_;
  std::int32_t row_ = 0, rows_ = 0, col_ = 0, cols_ = 0;
  std::int32_t ring_ = 0;
  Operation blank_;  // where the next operation is, and nothing else
  struct Place {
    TileRef tile;
    std::int64_t elements = 0;
  };
  std::array<Place, slot_count> places_;                         // what each slot holds, by the current tiles
  std::array<std::int32_t, slot_count> filled_by_;               // the load whose bytes a slot holds; -1: computed, or nothing
  std::array<std::int32_t, slot_count * most_stages> last_use_;  // by slot and ring buffer; -1: never
};

template <class Emit>
void BlockBuilder::walk_keys(std::int64_t tiles, std::int64_t stages, std::int64_t alike, Emit emit) {
  const std::int32_t loop = index() + 1;
  std::int32_t turn = loop;
  for (std::int64_t j = 0; j < tiles; ++j) {
    if (j == stages) turn = index() + 1;
    // The first turn finds empty buffers; from the second on, all are alike.
    if (j == 2 * stages && alike >= 3 * stages && tiles_are_alike(stages)) {
      const std::int64_t times = alike / stages - 2;
      repeat(loop, turn, times, stages);
      j += times * stages;
      if (j == tiles) break;
    }
    keys(j, plan_.grid.keys(j));
    iteration(j, j % stages);
    emit(j);
  }
  keys(-1, {});
  iteration(tiles, 0);
}

}  // namespace tilescope
