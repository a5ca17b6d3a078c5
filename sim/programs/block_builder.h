// BlockBuilder emits the operations of one block, and fills in their bytes, work, waits and buffers.
//
//   A program states the operations line by line. The builder keeps the current tile coordinates:
//
//     builder.queries(i, rows);  builder.keys(j, cols);  builder.iteration(n, ring);
//     builder.load(Line::load_k, tiles::k);            // tile, bytes, buffer and the wait for it follow from the coordinates
//     builder.matmul(Line::scores, tiles::s, tiles::q, tiles::k, {.transpose = true});     // waits for the loads of Q and K
//
// Shared-memory traffic is counted only here:
//   load into a shared on-chip tile    writes every element of the tile once
//   matmul                             reads a factor in shared memory as often as its form says; else src0 once per warp that has
//                                      the same rows (KernelNeeds::warps_sharing_keys), src1 once per warp that has the same keys
//                                      (warps_sharing_rows)
//   other operations                   read each shared operand once
//   every operation                    writes a shared result once; in place or adding to it, reads it once too
// fp32 work of an operation: 1 per matrix element that it reads or writes, 2 if it scales twice; for row vectors, 1 per row.
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

/// Returns the set of these on-chip tiles. A tile whose index is out of range does not compile.
template <class... ChipTiles>
consteval TileSet tile_bits(const ChipTiles&... chip_tiles) {
  return (TileSet{0} | ... | (TileSet{1} << ChipTile(chip_tiles)->index));
}

/// A line of the listing, counted from 1. It converts from the program's enumeration of its lines, so that a line that does not
/// exist does not compile.
struct LineId {
  int number = 0;
  template <class Line>
  requires std::is_enum_v<Line>
  constexpr LineId(Line line) : number(1 + static_cast<int>(line)) {}
};

/// The form of a product: which operands are transposed, and whether it adds to dst.
struct ProductForm {
  bool transpose = false, accumulate = false;  // transpose the right operand; add to dst
  float factor = 1;
  bool transpose_left = false;
  bool swap_ab = false;  // the kernel computes the transposed product: the columns are the rows of its instruction
  // How often the warps together read each factor, where the layout of the block does not say it.
  std::optional<std::int64_t> left_reads = {}, right_reads = {};
};

class BlockBuilder {
 public:
  /// Clears `out` and keeps its capacity. `shared` has a bit for each on-chip tile in shared memory.
  BlockBuilder(BlockOperations& out, const BlockPlan& plan, const KernelNeeds& needs, int launch, std::int64_t block,
               const Domain& domain, TileSet shared);

  // These set the current tile coordinates.
  /// Sets the plane of Q and the other query-side tensors; initially that of the block's domain.
  void query_plane(std::int64_t plane);
  void queries(std::int64_t q_tile, TileRange rows);
  void keys(std::int64_t kv_tile, TileRange cols);
  /// Sets the iteration and its ring buffer, which on-chip tiles with a ring load and read. Other on-chip tiles have one buffer.
  void iteration(std::int64_t index, std::int64_t ring);

  /// Sets the plane and the row of blocks of the mask's lists, and the number of entries to read.
  void mask_list(std::int64_t plane, std::int64_t row, std::int64_t count);

  /// Sets the entries of the sequence's page table to read.
  void pages(std::int64_t first, std::int64_t count);

  /// Sets the elements of a table that an on-chip tile holds.
  void table_box(ChipTile chip_tile, const TableBox& box);

  /// Loads a tile of the on-chip tile's tensor. The load waits until its buffer is free and operation `after` is over.
  std::int32_t load(LineId line, ChipTile dst, std::int32_t after = -1);
  /// Loads as TMA does, in boxes of `box_rows` rows. A box that ends past the last row moves zeros for the rest.
  std::int32_t load_boxes(LineId line, ChipTile dst, std::int64_t box_rows);
  /// Loads into registers, which are always free: the load waits only for operation `after`.
  std::int32_t load_after(LineId line, ChipTile dst, std::int32_t after) { return add_load(line, dst, after); }
  /// Loads one fp32 number a row, as many rows at once as a warp has lanes.
  std::int32_t load_by_warps(LineId line, ChipTile dst);
  /// Makes the latest operation wait for operation `index`.
  void after_operation(std::int32_t index) { await_signal_of(out_.operations.back(), index); }
  /// Makes `chip_tile` refer to the buffer that load `index` filled.
  void select(ChipTile chip_tile, std::int32_t index) { filled_by_[chip_tile.index()] = index; }
  std::int32_t store(LineId line, ChipTile src);
  /// Adds the tile to HBM through the L2; fp32 only.
  std::int32_t reduce_add(LineId line, ChipTile src);
  /// Adds `value` to a tensor of one number, and fetches what was there: an atomic.
  std::int32_t fetch_add(LineId line, Tensor counter, float value);
  /// Writes `value` to a tensor of one number.
  std::int32_t write(LineId line, Tensor counter, float value);
  /// Returns the index of the latest operation; -1 if there is none.
  std::int32_t latest() const { return index(); }
  /// Lets the loads from here on begin only after operation `index`: the kernel's warps ask for them then.
  void pace_loads(std::int32_t index) { paced_by_ = index; }
  /// Sets the kernel's overhead instructions of the latest operation.
  void overhead(const Overhead& what) {
    Operation& op = out_.operations.back();
    op.instructions = static_cast<std::int16_t>(what.instructions);
    op.shared_round_trips = static_cast<std::int16_t>(what.shared_round_trips);
    op.barriers = static_cast<std::int16_t>(what.barriers);
    op.l2_round_trips = static_cast<std::int16_t>(what.l2_round_trips);
    op.other_alu = static_cast<std::int16_t>(what.alu);
    op.other_exps = static_cast<std::int16_t>(what.exps);
    op.wavefronts = static_cast<std::int16_t>(what.wavefronts);
    op.stall_cycles = static_cast<std::int16_t>(what.stall_cycles);
  }
  /// Says of the latest store that an operation before it has packed the tile and put it into shared memory.
  void staged() { out_.operations.back().staged = true; }
  /// Sets how many elements each warp requests at once by the latest load and the loads issued with it.
  void asked_at_once(std::int64_t elements) {
    Operation& op = out_.operations.back();
    op.sectors_at_once = static_cast<std::uint8_t>(std::min<std::int64_t>(ceil_div(elements * plan_.element, sector_size), 255));
  }
  /// Lets the warps ask for the latest load in `rounds` parts, each once the one before has arrived.
  void in_rounds(std::int64_t rounds) {
    out_.operations.back().rounds = static_cast<std::uint8_t>(std::clamp<std::int64_t>(rounds, 1, 255));
  }
  /// Sets the share of cases, in eighths, in which the kernel executes the latest operation.
  void executes(int eighths) {
    out_.operations.back().executed_eighths = static_cast<std::int16_t>(eighths * blank_.executed_eighths / 8);
  }
  /// Scales the instructions of all following operations by `eighths` / 8, because idle lanes execute too.
  void idle_lanes(int eighths) { blank_.executed_eighths = static_cast<std::int16_t>(eighths); }
  /// Makes the latest operation also wait for load `index`, as the kernel does whether it needs the data or not.
  void after_load(std::int32_t index) { await_signal_of(out_.operations.back(), std::max(waited_for_, index)); }
  /// Lets the next product consume the result of the latest operation in `slices` slices.
  void in_slices(int slices) { out_.operations.back().slices = static_cast<std::uint8_t>(std::min(slices, most_slices)); }

  // Warp groups with tokens by hand. The builder then adds no tokens of its own.
  void tokens_by_hand() { by_hand_ = true; }
  /// A thread of its group has asked TMA for so many boxes before the latest operation, a wait.
  void after_requests(int boxes) { out_.operations.back().requests = static_cast<std::uint8_t>(boxes); }
  /// Makes `group` execute the following operations.
  void group(std::size_t group) { blank_.group = static_cast<std::uint8_t>(group); }
  /// Makes the following operations work on a strip of the rows of query tile `q_tile`.
  void strip(std::size_t strip, std::int64_t q_tile, TileRange rows) {
    blank_.strip = static_cast<std::uint8_t>(strip);
    queries(q_tile, rows);
  }
  /// Makes the latest product read `strip` of its factors, and of the left one only the rows that it needs.
  void reads_strip(std::size_t strip) { out_.operations.back().source_strip = static_cast<std::int8_t>(strip); }
  /// Makes the latest operation wait for the `count`-th signal of a token; 0: it need not wait.
  void await_token(std::int16_t token, std::int64_t count) {
    if (count <= 0) return;
    out_.operations.back().wait_token = token;
    out_.operations.back().wait_count = static_cast<std::int32_t>(count);
  }
  /// Makes the latest operation signal a token when it ends.
  void signals(std::int16_t token) { signal(index(), token); }
  /// Makes the latest product asynchronous.
  void asynchronous() { out_.operations.back().asynchronous = true; }
  /// Emits a wait for what happens to `about`. await_token() and signals() say which token it waits for and which it signals.
  void emit_wait(LineId line, ChipTile about, WaitOn on);
  /// Returns the current iteration.
  std::int64_t iteration() const { return blank_.iteration; }

  void fill(LineId line, ChipTile dst, float value);
  /// Emits dst (+)= factor * left * right; `form` says which operands are transposed.
  void matmul(LineId line, ChipTile dst, ChipTile left, ChipTile right, const ProductForm& form);
  void mask(LineId line, ChipTile dst);
  /// Emits the score change, with its operations and exponentials per element.
  void modify(LineId line, ChipTile dst, std::int64_t operations, std::int64_t exps);
  /// Emits the derivative of the score change at the scores `of`, in the same way.
  void slope(LineId line, ChipTile dst, ChipTile of, std::int64_t operations, std::int64_t exps);
  /// Emits the factor of the n-th read of tables at the scores `of`, in the same way.
  void factor(LineId line, ChipTile dst, ChipTile of, std::size_t read, std::int64_t operations, std::int64_t exps);
  /// Emits the sums of `of` over the elements that meet at one element of the table, for the n-th read.
  void gather(LineId line, ChipTile dst, ChipTile of, std::size_t read, std::int64_t operations, bool accumulate);
  /// Emits the addition of a row of parts to a row of a table: from element `first` on, upwards, downwards, or all to it.
  void add_parts(LineId line, ChipTile dst, ChipTile of, std::int64_t first, int step);
  void row_max(LineId line, ChipTile dst, ChipTile old, ChipTile of);  // max(old, rowmax of)
  void exp(LineId line, ChipTile dst, ChipTile of, ChipTile minus);
  void exp_rows(LineId line, ChipTile dst, ChipTile of, ChipTile minus);
  void row_sum(LineId line, ChipTile dst, ChipTile old, ChipTile of, ChipTile scale);  // old * scale + rowsum of
  void rescale(LineId line, ChipTile dst, ChipTile by, ChipTile and_by = ChipTile::none);
  void divide(LineId line, ChipTile dst, ChipTile by);
  void add(LineId line, ChipTile dst, ChipTile what);
  void subtract_rows(LineId line, ChipTile dst, ChipTile rows);       // dst - rows, one number per row
  void multiply(LineId line, ChipTile dst, ChipTile by);              // element by element
  void merge(LineId line, ChipTile dst, std::array<ChipTile, 4> of);  // of0 of1 + of2 of3
  void log_sum_exp(LineId line, ChipTile dst, ChipTile max, ChipTile sum);
  void copy(LineId line, ChipTile dst, ChipTile src);

  /// Emits all key tiles with `emit(tile)`; `stages` tiles are one pass over the ring. Passes that differ only in their coordinates
  /// are copied, which is several times faster. `alike` must hold only for tiles that `emit` treats alike.
  template <class Alike, class Emit>
  void walk_keys(std::span<const KeyTile> tiles, std::int64_t stages, Alike alike, Emit emit);

 private:
  /// Appends `times` copies of the latest pass over the ring, which begins with operation `first` and equals the pass before it. A
  /// pass has `stages` tiles, `step` tile indices apart.
  void repeat(std::int32_t first, std::int64_t times, std::int64_t stages, std::int64_t step);
  /// Returns whether all whole key tiles move the same number of bytes.
  bool tiles_are_alike(std::int64_t stages) const;
  Operation& next(OpKind kind, LineId line, ChipTile dst);
  /// Sets the operands, their waits and their shared-memory traffic, and marks every on-chip tile of the operation as used.
  void operands(Operation& op, std::initializer_list<ChipTile> sources, bool reads_dst);
  /// Sets the exponentials of each element of dst.
  void exps_each(Operation& op, std::int64_t exps);
  bool shared(ChipTile chip_tile) const { return is_shared(out_, chip_tile); }
  std::int64_t elements(ChipTile chip_tile) const { return held_[chip_tile.index()].elements; }
  std::int32_t width(ChipTile chip_tile) const { return held_[chip_tile.index()].tile.cols; }
  /// Returns the tile of a tensor at the current coordinates.
  TileRef rectangle(Tensor tensor) const;
  std::int32_t plane_of(Planes planes) const;
  void put(ChipTile chip_tile);
  std::int64_t bytes_on_chip(ChipTile chip_tile) const {
    return elements(chip_tile) * plan_.layouts[chip_tile.tensor().index()].element_bytes;
  }
  std::int64_t bytes(const TileRef& tile) const;
  std::int32_t add_load(LineId line, ChipTile dst, std::int32_t after);
  std::int32_t index() const { return static_cast<std::int32_t>(out_.operations.size()) - 1; }
  std::size_t buffer(ChipTile chip_tile) const {
    return BufferToken::buffer(chip_tile, chip_tile.has_strips() ? blank_.strip : ring_);
  }
  /// Makes `op` wait for the signal of operation `index`; -1: for nothing.
  void await_signal_of(Operation& op, std::int32_t index);
  /// Makes operation `index` signal `token`, unless it already signals one.
  void signal(std::int32_t index, std::int16_t token);

  BlockOperations& out_;
  const BlockPlan& plan_;
  std::int32_t warps_, key_warps_;
  std::int32_t plane_ = 0, kv_plane_ = 0;
  std::int32_t row_ = 0, rows_ = 0, col_ = 0, cols_ = 0;
  std::int32_t mask_plane_ = 0, mask_row_ = 0, mask_entries_ = 0;
  std::int32_t page_ = 0, pages_ = 0;
  std::int32_t ring_ = 0;
  Operation blank_;  // holds only the current coordinates
  struct Held {
    TileRef tile;
    std::int64_t elements = 0;
  };
  std::array<Held, most_chip_tiles> held_;               // by on-chip tile: its tile at the current coordinates
  std::array<std::int32_t, most_chip_tiles> filled_by_;  // by on-chip tile: the load that filled it; -1: computed or empty
  std::array<std::int32_t, most_chip_tiles * BufferToken::most_stages> last_use_;  // by buffer: its last operation; -1: none
  std::array<std::int32_t, BufferToken::count> signalled_{};                       // by token: its signals so far
  std::int32_t paced_by_ = -1;                                                     // loads wait for it; -1: there is none
  std::int32_t waited_for_ = -1;                                                   // the operation that the latest one waits for
  bool by_hand_ = false;                                                           // tokens
};

template <class Alike, class Emit>
void BlockBuilder::walk_keys(std::span<const KeyTile> tiles, std::int64_t stages, Alike alike, Emit emit) {
  const auto count = static_cast<std::int64_t>(tiles.size());
  const auto tile = [&](std::int64_t n) -> const KeyTile& { return tiles[static_cast<std::size_t>(n)]; };
  const bool can_repeat = tiles_are_alike(stages);
  std::vector<std::int32_t> first_op(tiles.size());  // first operation of each emitted tile
  std::int64_t run = 0;                              // first tile of the current run of equal tiles
  std::int64_t step = 0;                             // distance between its tiles
  for (std::int64_t n = 0; n < count; ++n) {
    const std::int64_t apart = n > 0 ? tile(n).index - tile(n - 1).index : 0;
    if (!alike(tile(n)))
      run = n + 1;
    else if (n == run || apart != step) {
      // The next tile defines the step of a new run.
      step = n + 1 < count ? tile(n + 1).index - tile(n).index : 0;
      run = n;
    }
    // The first pass of a run may wait for other operations than later ones; from the second on all passes are equal.
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
