// OperationCosts: what a distinct operation of a block costs its SM. A program repeats a handful of them millions of times, so that
// each is an OpClass, whose costs are computed once.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "sim/core/gpu_spec.h"
#include "sim/engine/served_queue.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

struct Instructions;

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
  double smem_cycles = 0;  // of the memory pipe, including the bytes of a load or a store; of a product, its reads
  // Cycles of each pipe, with all sub-partitions counted as one. The tensor cores are not occupied by the issue of an asynchronous
  // product but by their queue.
  std::array<double, pipe_count> work{};
  double duration = 0;        // from its start to the earliest start of the block's next operation
  double shown = 0;           // cycles that its pipe is occupied, which its unit's lane shows
  Pipe awaited = Pipe::none;  // the pipe that it waits for
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
  // Instructions of each warp, and how many cycles of lost issue slots delay nothing. These are the part of `duration` beyond
  // issuing, or of an asynchronous product what the queue holds of its work.
  float issued = 0, slack = 0;
};
static_assert(sizeof(OpTiming) == 64);

/// What an operation and the wgmma products that run beside it cost one another, in SM cycles: of the whole operation in its class,
/// and per cycle of it while it runs.
struct BesideProducts {
  float waits = 0;  // of the operation, if products run all the time
  float takes = 0;  // of the tensor cores' time
};

/// All that OperationCosts reads of an operation and its block: operations with one key cost the same. Its bytes are compared and
/// hashed, so it has no padding.
struct OpKey {
  OpKind kind{};
  std::uint8_t line = 0, launch = 0, group = 0;
  std::uint8_t dst = 0, left = 0, right = 0, tensor = 0;  // indices of the on-chip tiles and of the tensor that moves
  std::uint8_t sectors_at_once = 0, slices = 0;
  WaitOn wait_on{};
  bool asynchronous = false, paced = false, swap_ab = false, transpose_left = false;
  std::uint8_t rounds = 1;
  std::int16_t requests = 0;
  std::int16_t instructions = 0, other_alu = 0, other_exps = 0, barriers = 0;
  std::int16_t shared_round_trips = 0, l2_round_trips = 0, wavefronts = 0, executed_eighths = 0;
  std::int16_t exps_each = 0;
  std::int16_t stall_cycles = 0, staged = 0;
  std::uint16_t left_reads = 0, right_reads = 0;
  std::int32_t rows = 0, cols = 0, inner = 0, tile_rows = 0, tile_cols = 0;
  std::int32_t whole_rows = 0, whole_keys = 0;  // of the block
  TileSet shared_tiles = 0;
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
  using Words = std::array<std::uint64_t, 15>;
  Words words() const { return std::bit_cast<Words>(*this); }
};
static_assert(std::has_unique_object_representations_v<OpKey>);

struct OpClass {
  OpKey key;  // determines all costs below
  OpTiming timing;
  std::array<double, pipe_count> work{};  // as timing.work, but of a wgmma product it has the tensor cores' time as well
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
  double later_rounds = 0;                    // load: rounds after the first; each waits for the latency once more
  std::int32_t tile_rows = 0, tile_cols = 0;  // load, store: size of the tile
  std::int64_t flops = 0, exps = 0;
  bool on_tensor_cores = false;  // a product
  std::int64_t count = 0;        // how often it occurs
  std::uint32_t next = 0;        // the class that followed last time, as a guess for the next look-up
};

OpKey key_of(const Operation& op, const BlockOperations& block);

/// Computes the costs of operations on one GPU, launch by launch.
class OperationCosts {
 public:
  OperationCosts(const GpuSpec& gpu, const AttentionProblem& problem);

  /// Starts a launch; the next operations belong to its kernel.
  void begin_launch(const KernelNeeds& needs);
  /// Returns the class of an operation, without its key and its count.
  OpClass class_of(const Operation& op, const BlockOperations& block) const;

  /// Returns whether the GPU models instruction latencies. On GPUs for teaching it does not: an operation then costs only the work
  /// of its line in the listing.
  bool models_instruction_latency() const { return gpu_.sm_dependent_cycles > 0; }
  /// Returns the cost of a group of warps of a block of this launch before its first operation.
  const OpTiming& setup(std::size_t group) const { return setups_[std::min(group, setups_.size() - 1)]; }
  /// Returns whether the launch's products are wgmma, which other instructions of the SM disturb.
  bool is_disturbed() const {
    return needs_.has_products && needs_.instruction == ProductInstruction::wgmma && models_instruction_latency();
  }
  /// Return the number of warp groups in a block of this launch, and the warps of one.
  std::size_t group_count() const { return group_needs_.size(); }
  double warps_of(std::size_t group) const { return group_needs_[group].threads / 32.0; }
  /// Returns the cycles from the end of an asynchronous product's work to the first use of its result.
  double product_latency() const { return models_instruction_latency() ? gpu_.sm_wgmma_latency_cycles : 0; }
  const GpuSpec& gpu() const { return gpu_; }
  const KernelNeeds& needs() const { return needs_; }

 private:
  /// Sets the work of each pipe, the duration without latencies, and what products beside it cost.
  void set_work(OpClass& c, const Operation& op, const BlockOperations& block) const;
  /// Returns the cycles of an operation from its first instruction to its last, if its busiest pipe works for so many.
  double duration_of(const Operation& op, const Instructions& counts, double busiest_pipe) const;
  /// Returns what an operation without products and the wgmma products of other groups cost one another.
  BesideProducts beside_products(const Operation& op, const Instructions& counts) const;
  /// Returns the mean cycles from an instruction of a warp to its next, where a warp alone on its scheduler takes `alone`.
  double instruction_cycles(const KernelNeeds& needs, double alone) const;
  double instruction_cycles(const KernelNeeds& needs) const { return instruction_cycles(needs, cycles_alone(needs)); }
  /// Returns the mean cycles from an instruction of a warp that is alone on its scheduler to its next.
  double cycles_alone(const KernelNeeds& needs) const;
  /// Returns the cycles of a warp for the overhead instructions of an operation.
  double overhead_cycles(const Operation& op, const KernelNeeds& needs) const;
  OpTiming setup_timing(const KernelNeeds& needs) const;
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

  const GpuSpec& gpu_;
  AttentionProblem problem_;
  double cycles_per_smem_byte_, cycles_per_port_byte_, cycles_per_store_byte_, cycles_per_added_byte_, cycles_per_copied_byte_;
  KernelNeeds needs_;
  std::vector<KernelNeeds> group_needs_ = std::vector<KernelNeeds>(1);  // with the threads of each group
  std::vector<OpTiming> setups_ = std::vector<OpTiming>(1);             // of each group
};

}  // namespace tilescope
