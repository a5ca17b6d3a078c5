// BlockSchedule: a block's operations as the timing model needs them, in eight bytes each instead of over a hundred.
//
//   BlockOperations ──ScheduleBuilder──► stream of compute and stores (in order)   entry: class, load that it waits for
//                                        stream of loads              (in order)   entry: class, tile, moment that frees its buffer
//
// A program repeats a handful of distinct operations millions of times. Each distinct one is an OpClass with its duration and its
// bytes. The count of each class then gives all totals.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/core/gpu_spec.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

/// The pipes of an SM that its blocks share. fp32 stands for all other arithmetic and for the issue slots.
enum class Pipe : std::uint8_t { tensor, exp, fp32, none };
inline constexpr int pipe_count = 3;

/// Numbers of the shared-memory port and the pipes. The port is first; no_pipe, the last, is always free.
inline constexpr std::uint8_t smem_port = 0, no_pipe = pipe_count + 1;
constexpr std::uint8_t pipe_of(Pipe pipe) {
  return static_cast<std::uint8_t>(1 + static_cast<int>(pipe));
}
static_assert(pipe_of(Pipe::none) == no_pipe);

/// The timing of an operation class: one host cache line, so that the event loop's working set stays in the L1 cache.
struct alignas(64) OpTiming {
  double smem_cycles = 0;                 // of the memory pipe, including the bytes of a load or a store; of a product, its reads
  std::array<double, pipe_count> work{};  // cycles of each pipe, with all sub-partitions counted as one
  double duration = 0;                    // from its start to the earliest start of the block's next operation
  double shown = 0;                       // cycles that its pipe is occupied, which its unit's lane shows
  Pipe awaited = Pipe::none;              // the pipe that it waits for
  bool store : 1 = false;
  bool product : 1 = false;
  bool copy : 1 = false;    // a load into shared memory
  bool paced : 1 = false;   // see Operation::paced
  bool adds : 1 = false;    // its warps add what they hold to memory, and go on while the last bytes are under way
  std::uint8_t slices = 1;  // see Operation::slices
  // The pipe and the port that it waits for. `pipe` depends on whether slices of an earlier operation still run.
  std::array<std::uint8_t, 2> pipe = {no_pipe, no_pipe};
  std::uint8_t port = no_pipe;
  // Its group goes on after `duration`. A product ends when the tensor cores have done `shown`; a load is one of TMA.
  bool asynchronous = false;
  // Instructions of each warp, and the part of `duration` beyond issuing them, which absorbs lost issue slots. Of an asynchronous
  // product: the cycles of its work that the queue can hold.
  float issued = 0, spare = 0;
};
static_assert(sizeof(OpTiming) == 64);

/// What an operation and the wgmma products that run beside it cost one another, in SM cycles: of the whole operation in its class,
/// and per cycle of it while it runs.
struct BesideProducts {
  float waits = 0;  // of the operation, if products run all the time
  float takes = 0;  // of the tensor cores' time
};

/// What tells the operations of one class from those of another. Its bytes are compared and hashed, so it has no padding.
struct OpKey {
  OpKind kind{};
  std::uint8_t line = 0, launch = 0, group = 0;
  std::uint8_t dst = 0, left = 0, right = 0, tensor = 0;  // indices of the on-chip tiles and of the tensor that moves
  std::uint8_t sectors_at_once = 0, slices = 0;
  WaitOn wait_on{};
  bool asynchronous = false, paced = false;
  std::array<std::uint8_t, 3> unused{};
  std::int16_t instructions = 0, other_alu = 0, other_exps = 0, barriers = 0;
  std::int16_t shared_round_trips = 0, l2_round_trips = 0, wavefronts = 0, executed_eighths = 0;
  std::int32_t rows = 0, cols = 0, inner = 0, tile_rows = 0, tile_cols = 0;
  std::uint32_t shared_tiles = 0;
  std::int64_t smem_read_bytes = 0, smem_write_bytes = 0, bytes = 0, flops = 0, exps = 0;

  bool operator==(const OpKey& other) const {
    // The member functions of std::array call memcmp(), which would dominate the cost of a look-up.
    const Words a = words(), b = other.words();
    std::uint64_t differ = 0;
    for (std::size_t i = 0; i < a.size(); ++i) differ |= a[i] ^ b[i];
    return differ == 0;
  }
  std::size_t hash() const {
    std::uint64_t h = 0;
    for (const std::uint64_t word : words()) h = (h ^ word) * 0x9e3779b97f4a7c15U + (h >> 29);
    return h ^ (h >> 32);
  }

 private:
  using Words = std::array<std::uint64_t, 12>;
  Words words() const { return std::bit_cast<Words>(*this); }
};
static_assert(std::has_unique_object_representations_v<OpKey>);

struct OpClass {
  OpKey key;  // determines everything below
  OpTiming timing;
  BesideProducts beside;
  double busy_cycles = 0;  // occupied time that its lane shows: of its pipe, or of the SM's port
  double bank_cycles = 0;  // of the memory pipe, for reads and writes of shared memory
  Unit unit = Unit::sync;
  OpKind kind = OpKind::barrier;
  // For the ledger and the bins.
  std::uint8_t line = 0, launch = 0;
  Tensor tensor;  // load, store: the tensor that moves
  std::array<Tensor, 2> smem_read_tensor;
  Tensor smem_write_tensor;
  std::array<std::int64_t, 2> smem_read{};
  std::int64_t smem_write = 0;
  std::int64_t bytes = 0;
  bool moves = false;                         // any of these bytes is nonzero, or it is a load or a store
  double hbm_latency = 0;                     // load: latency of its last line from HBM, in cycles
  double hbm_write_wait = 0;                  // load: extra latency while HBM only writes, in cycles
  std::int32_t tile_rows = 0, tile_cols = 0;  // load, store: size of the tile
  std::int64_t flops = 0, exps = 0;
  bool on_tensor_cores = false;  // a product
  std::int64_t count = 0;        // how often it occurs
  std::uint32_t next = 0;        // the class that followed last time, as a guess for the next look-up
};

struct ScheduledOp {
  static constexpr std::uint32_t signal_bit = 0x80000000U;
  std::uint32_t op_class = 0;  // with signal_bit if something waits for its end
  std::int32_t wait = 0;       // the moment that it waits for: a landing, the end of an asynchronous product, or at_once
  std::uint32_t number() const { return op_class & ~signal_bit; }
  bool signals() const { return (op_class & signal_bit) != 0; }
};

/// Where the tiles of a block's accesses to a tensor lie, relative to those of its schedule.
struct TileShift {
  std::int32_t plane = 0, row = 0, col = 0;
};

/// A load or a store of a tile, in coordinates of its tensor.
struct PlacedAccess {
  std::int32_t plane = 0, row = 0, col = 0;
  std::uint32_t op_class = 0;

  bool operator==(const PlacedAccess& other) const {
    const std::int32_t places = (plane ^ other.plane) | (row ^ other.row) | (col ^ other.col);  // one branch, not four
    return (static_cast<std::uint32_t>(places) | (op_class ^ other.op_class)) == 0;
  }
};

/// A load or a store. Its plane is relative to the block's plane; its rows or columns along the domain's axis are relative to the
/// domain's first row. So all blocks of one shape share a schedule.
struct ScheduledAccess {
  std::int32_t plane = 0, row = 0, col = 0;
  std::uint32_t op_class = 0;
  std::int32_t after = 0;  // load: the moment that it waits for

  PlacedAccess placed(const TileShift& shift) const { return {plane + shift.plane, row + shift.row, col + shift.col, op_class}; }
};

/// The origin of a block's accesses, which turns those of a schedule into tiles.
struct BlockOrigin {
  std::int32_t plane = 0, kv_plane = 0;
  Axis axis = Axis::query;
  std::int32_t first = 0;
  std::int32_t mask_plane = 0;  // plane of the mask's block lists
  std::int32_t sequence = 0;
  std::int32_t only = 0;  // plane of a tensor with one plane

  /// Returns the member that has the plane of such tensors.
  static constexpr std::int32_t BlockOrigin::*plane_member(Planes planes) {
    switch (planes) {
      case Planes::key:
        return &BlockOrigin::kv_plane;
      case Planes::mask:
        return &BlockOrigin::mask_plane;
      case Planes::sequence:
        return &BlockOrigin::sequence;
      case Planes::all:
        return &BlockOrigin::only;
      case Planes::query:
        break;
    }
    return &BlockOrigin::plane;
  }
  std::int32_t plane_of(Tensor tensor) const { return this->*plane_member(tensor->planes); }
  std::int32_t row_of(Tensor tensor) const { return tensor->rows == axis ? first : 0; }
  std::int32_t col_of(Tensor tensor) const { return tensor->cols == axis ? first : 0; }
  TileShift shift_of(Tensor tensor) const { return {plane_of(tensor), row_of(tensor), col_of(tensor)}; }
};

/// The tokens of an operation that synchronise groups of warps. A token within one group is a moment of its stream instead.
struct TokenUse {
  std::int16_t wait = -1, signal = -1;
  std::int32_t count = 0;  // the signals that it waits for
  float delay = 0;         // cycles until it notices the last of them
  // Load: the token that frees its buffer, as a number of BlockOperations::tokens. In a persistent kernel the first loads of a
  // block wait for the buffers of the block before. -1: it waits for its own block.
  std::int16_t carry = -1;
};

/// The operations of one group of warps.
///
/// Everything that they wait for is a numbered moment, so that a wait is one look-up in a table of times. Moment 0 is past from the
/// start, then follow the landing of each load and the end of each operation that signals: to a load, or as an asynchronous
/// product.
struct OperationStream {
  static constexpr std::int32_t at_once = 0;
  static constexpr std::int32_t landing(std::size_t load) { return static_cast<std::int32_t>(1 + load); }
  std::int32_t signal(std::size_t n) const { return static_cast<std::int32_t>(1 + loads.size() + n); }
  std::size_t moments() const { return 1 + loads.size() + signals; }
  /// Removes everything and keeps the memory.
  void clear();

  std::vector<ScheduledOp> compute;  // includes stores
  std::vector<ScheduledAccess> loads, stores;
  std::size_t signals = 0;
  // Index in the block's operations of each entry of compute and loads.
  std::vector<std::int32_t> op_of_compute, op_of_load;
  /// The position before an entry. Positions with equal numbers are followed by the same entries (0: unknown). `waited_for` is the
  /// latest moment that the earlier entries waited for.
  struct Position {
    std::uint32_t number = 0;
    std::int32_t waited_for = 0;
  };
  std::vector<Position> positions, load_positions;           // of compute and of loads, and of their ends; empty if not numbered
  std::vector<std::uint32_t> reach;                          // by signals given: one past the last load that waits for any of these
  std::vector<TokenUse> tokens_of_compute, tokens_of_loads;  // parallel to compute and loads; empty if the block has no tokens
};

struct BlockSchedule {
  std::vector<OperationStream> groups;
  std::vector<std::string_view> tokens;  // names of the tokens between groups
  struct TokenTotal {
    std::int16_t number = 0;  // in BlockOperations::tokens
    std::int32_t signals = 0;
  };
  std::vector<TokenTotal> token_totals;  // parallel to tokens
  // How often each class occurs; filled by count_classes().
  std::vector<std::pair<std::uint32_t, std::int64_t>> class_counts;
  void count_classes();
  /// Returns its size in host memory, in bytes.
  std::size_t size() const;
};

class ScheduleBuilder {
 public:
  ScheduleBuilder(const GpuSpec& gpu, const AttentionProblem& problem);

  /// Starts a launch; the next blocks have these needs.
  void begin_launch(const KernelNeeds& needs, bool persistent = false);
  /// Returns whether the GPU models instruction latencies. On GPUs for teaching it does not: an operation then costs only the work
  /// of its line in the listing.
  bool models_instruction_latency() const { return gpu_.sm_dependent_cycles > 0; }
  /// Returns the cost of a block of this launch before its first operation.
  const OpTiming& setup() const { return setup_; }
  /// Returns whether the launch's products are wgmma, which other instructions of the SM disturb.
  bool is_disturbed() const {
    return needs_.has_products && needs_.instruction == ProductInstruction::wgmma && models_instruction_latency();
  }
  /// Return the number of warp groups in a block of this launch, and the warps of one.
  std::size_t group_count() const { return group_needs_.size(); }
  double warps_of(std::size_t group) const { return group_needs_[group].threads / 32.0; }
  /// Builds the schedule of a block and adds the block to the class counts. Reuses the memory of `out`.
  void build(const BlockOperations& block, BlockSchedule& out);
  /// Adds another block with this schedule to the class counts.
  void count_again(const BlockSchedule& schedule);
  BlockOrigin origin(const Domain& domain) const;
  /// Returns the cycles from the end of an asynchronous product's work to the first use of its result.
  double product_latency() const { return models_instruction_latency() ? gpu_.sm_wgmma_latency_cycles : 0; }
  const OpClass& op_class(std::uint32_t index) const { return classes_[index]; }
  const OpTiming* timings() const { return timings_.data(); }
  const std::vector<OpClass>& classes() const { return classes_; }

 private:
  std::uint32_t class_of(const Operation& op, const BlockOperations& block);
  std::uint32_t find_class(const OpKey& key, const Operation& op, const BlockOperations& block);
  OpClass make_class(const Operation& op, const BlockOperations& block) const;
  void set_work(OpClass& c, const Operation& op, const BlockOperations& block) const;
  double instruction_cycles(const KernelNeeds& needs) const;
  double latency_of(const OpClass& c, const Operation& op, const BlockOperations& block) const;
  const KernelNeeds& needs_of(const Operation& op) const {
    return group_needs_[std::min<std::size_t>(op.group, group_needs_.size() - 1)];
  }
  std::int64_t bytes_of_element(Tensor tensor) const { return element_bytes(type_of(tensor, problem_.dtype)); }
  double hbm_latency_of(const Operation& op) const;
  double hbm_write_wait_of(const Operation& op) const;
  double lines_waited_for(const Operation& op) const;
  std::int64_t bytes_through_shared(const Operation& op, const Operation& executed, const BlockOperations& block) const;
  void set_load(OpClass& c, const Operation& op, const BlockOperations& block) const;
  void set_store(OpClass& c, const Operation& op, const BlockOperations& block) const;
  void set_pipes(OpTiming& timing) const;
  void make_asynchronous(OpTiming& timing) const;
  void set_shared_memory(OpClass& c, const Operation& op, const BlockOperations& block) const;

  /// Returns the tokens between groups that an operation waits for and signals. `waited`: as in waited_.
  TokenUse tokens_of(const Operation& op, const BlockOperations& block, std::int32_t waited) const;
  /// Add a load, or an operation of compute, that waits for operation `waited` of its group, and return its entry of ordinal_. What
  /// it waits for stays an entry of ordinal_ until turn_into_moments().
  std::int32_t add_load(const ScheduledAccess& access, std::int32_t waited, OperationStream& stream) const;
  std::int32_t add_compute(std::uint32_t op_class, std::int32_t waited, OperationStream& stream) const;
  void turn_into_moments(OperationStream& stream);
  void add_meeting(const BlockOperations& block, std::size_t token, BlockSchedule& out);
  /// Returns how long after the signal of another group an operation begins.
  float delay_of(const Operation& op, const BlockOperations& block) const;
  /// Fills `waited_` and `meetings_`, and names the tokens between groups.
  void find_tokens(const BlockOperations& block, BlockSchedule& out);

  const GpuSpec& gpu_;
  double cycles_per_smem_byte_, cycles_per_port_byte_, cycles_per_store_byte_, cycles_per_added_byte_, cycles_per_copied_byte_;
  KernelNeeds needs_;
  bool persistent_ = false;
  std::vector<KernelNeeds> group_needs_ = std::vector<KernelNeeds>(1);  // with the threads of each group
  OpTiming setup_;
  AttentionProblem problem_;
  std::vector<OpClass> classes_;
  std::vector<OpTiming> timings_;     // of each class
  std::vector<std::uint32_t> table_;  // open addressing over classes_, a power of two; 0: free, otherwise index + 1
  std::uint32_t previous_ = 0;
  std::vector<std::int32_t> ordinal_;  // by operation: its index in its stream; -1 - n for load n
  std::vector<std::int32_t> waited_;   // by operation: the operation of its own group that it waits for; -1: none
  std::vector<std::vector<std::int32_t>> signals_;
  std::vector<std::int16_t> meetings_;  // by token: its number among the tokens between groups; -1: within one group
};

}  // namespace tilescope
