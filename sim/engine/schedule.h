// BlockSchedule: what the timing model needs of a block's operations, eight bytes an operation instead of over a hundred.
//
//   BlockOperations ──ScheduleBuilder──► stream of compute and stores (in order)   each entry: class, load it waits for
//                                        stream of loads              (in order)   each entry: class, where, what frees its buffer
//
// A program repeats a handful of operations with the same sizes millions of times. Each distinct one is an OpClass, which holds
// its duration and its bytes; counting the classes gives totals without looking at an operation twice.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/core/gpu_spec.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

/// The pipes of an SM that its blocks share. fp32 stands for all other arithmetic, and starts every instruction.
enum class Server : std::uint8_t { tensor, exp, fp32, none };
inline constexpr int server_count = 3;

/// The pipes and the shared-memory port by number, the port first; the last is always free.
inline constexpr std::uint8_t smem_port = 0, no_pipe = server_count + 1;
constexpr std::uint8_t pipe_of(Server server) {
  return static_cast<std::uint8_t>(1 + static_cast<int>(server));
}
static_assert(pipe_of(Server::none) == no_pipe);

/// What the event loop needs of an operation, and no more, so that all of it stays in the nearest cache: one line of it each.
struct alignas(64) OpTiming {
  double smem_cycles = 0;                   // of the shared-memory port, what a load or a store sends through it included
  std::array<double, server_count> work{};  // cycles that each pipe is taken for, as if the SM were one
  double duration = 0;                      // from its start to when the next of its block can begin, where nothing is in its way
  double shown = 0;                         // of its duration, what its unit's lane shows: the time that its pipe is taken
  Server server = Server::none;             // which it waits for
  bool store = false;
  bool ahead = false;  // the product that follows may begin after its first part
  bool product = false;
  // Which must be free for it, by number: `pipe` in turn, and while an operation ahead of the next product is under way.
  std::array<std::uint8_t, 2> pipe = {no_pipe, no_pipe};
  std::uint8_t port = no_pipe;
  // Instructions of each of its warps, and by how much something else than their turns one after another decides how long it takes.
  float issued = 0, spare = 0;
};
static_assert(sizeof(OpTiming) == 64);

struct OpClass {
  using Key = std::array<std::int64_t, 9>;
  Key key{};  // everything below follows from it
  OpTiming timing;
  double busy_cycles = 0;  // that its lane shows: its duration, or the time in the SM's port
  double bank_cycles = 0;  // of the shared-memory port, for what is read and written in shared memory itself
  Unit unit = Unit::sync;
  OpKind kind = OpKind::barrier;
  // For the ledger and the bins.
  std::uint8_t line = 0, launch = 0;
  Tensor tensor;  // load, store: what moves
  std::array<Tensor, 2> smem_read_tensor;
  Tensor smem_write_tensor;
  std::array<std::int64_t, 2> smem_read{};
  std::int64_t smem_write = 0;
  std::int64_t bytes = 0;
  bool moves = false;                         // any of these
  double hbm_latency = 0;                     // load: of the latest of its lines, where they come from HBM; cycles
  double hbm_write_wait = 0;                  // the same: beyond it where HBM does nothing but write; cycles
  std::int32_t tile_rows = 0, tile_cols = 0;  // load, store: of the rectangle
  std::int64_t flops = 0, exps = 0;
  bool on_tensor_cores = false;  // a product
  // How often it occurs, and which class came after it last time: the first guess for the next one.
  std::int64_t count = 0;
  std::uint32_t next = 0;
};

struct ScheduledOp {
  static constexpr std::uint32_t signal_bit = 0x80000000U;
  std::uint32_t op_class = 0;  // with signal_bit: some load waits for its end
  std::int32_t wait = 0;       // moment that it waits for: the landing of a load
  std::uint32_t number() const { return op_class & ~signal_bit; }
  bool signals() const { return (op_class & signal_bit) != 0; }
};

/// A load or a store. Its plane counts from the block's own on that side; rows and columns along the domain's axis count from the
/// domain's first. So blocks of one shape share a schedule.
struct ScheduledAccess {
  std::int32_t plane = 0, row = 0, col = 0;
  std::int32_t after = 0;  // load: moment before which it is not issued
  std::uint32_t op_class = 0;
};

/// Where the accesses of a schedule start from.
struct BlockOrigin {
  std::int32_t plane = 0, kv_plane = 0;
  Axis axis = Axis::query;
  std::int32_t first = 0;
  std::int32_t mask_plane = 0;  // whose lists it walks

  std::int32_t plane_of(Tensor tensor) const {
    return tensor->planes == Planes::key ? kv_plane : tensor->planes == Planes::mask ? mask_plane : plane;
  }
  std::int32_t row_of(Tensor tensor) const { return tensor->rows == axis ? first : 0; }
  std::int32_t col_of(Tensor tensor) const { return tensor->cols == axis ? first : 0; }
};

/// What an operation has to do with tokens by which groups meet: a token that is signalled and waited for within one group is a
/// moment of its stream.
struct TokenUse {
  std::int16_t wait = -1, signal = -1;
  std::int32_t count = 0;  // of signals waited for
};

/// What one group of warps does.
///
/// What its operations wait for is numbered, so that a wait is one look into a table of times: moment 0 is over from the start,
/// then comes the landing of each load, then the end of each operation that signals.
struct OperationStream {
  static constexpr std::int32_t at_once = 0;
  static constexpr std::int32_t landing(std::size_t load) { return static_cast<std::int32_t>(1 + load); }
  std::int32_t signal(std::size_t n) const { return static_cast<std::int32_t>(1 + loads.size() + n); }
  std::size_t moments() const { return 1 + loads.size() + signals; }

  std::vector<ScheduledOp> compute;  // stores among them
  std::vector<ScheduledAccess> loads, stores;
  std::size_t signals = 0;
  // Which operation each entry of compute and loads is.
  std::vector<std::int32_t> op_of_compute, op_of_load;
  /// Where the block is before an entry: positions with one number are followed by the same (0: not known), and `waited_for` is the
  /// moment that the entries before waited for last.
  struct Position {
    std::uint32_t number = 0;
    std::int32_t waited_for = 0;
  };
  std::vector<Position> positions, load_positions;  // of compute and of loads, and beyond them; empty where they were not numbered
  // As many as there are of those; empty where the block has no tokens.
  std::vector<TokenUse> tokens_of_compute, tokens_of_loads;
};

struct BlockSchedule {
  std::vector<OperationStream> groups;
  std::vector<std::string_view> tokens;  // by which its groups meet
  // How often each class occurs; filled by count_classes().
  std::vector<std::pair<std::uint32_t, std::int64_t>> class_counts;
  void count_classes();
  /// Bytes of host memory that it takes.
  std::size_t size() const;
};

class ScheduleBuilder {
 public:
  ScheduleBuilder(const GpuSpec& gpu, const AttentionProblem& problem);

  /// The blocks that follow are of a launch with these needs.
  void begin_launch(const KernelNeeds& needs);
  /// Whether the GPU's instructions wait for one another at all. Where they do not (a GPU for teaching) an operation is its work,
  /// in the order of the listing.
  bool instructions_wait() const { return gpu_.sm_dependent_cycles > 0; }
  /// What a block of this launch does before its first operation.
  const OpTiming& setup() const { return setup_; }
  /// Groups of warps of a block of this launch, and the warps of one.
  std::size_t group_count() const { return group_needs_.size(); }
  double warps_of(std::size_t group) const { return group_needs_[group].threads / 32.0; }
  /// Replaces `out`, which keeps its memory. Adds the block to the counts.
  void build(const BlockOperations& block, BlockSchedule& out);
  /// Adds another block with this schedule to the counts.
  void count_again(const BlockSchedule& schedule);
  BlockOrigin origin(const Domain& domain) const;
  const OpClass& op_class(std::uint32_t index) const { return classes_[index]; }
  const OpTiming* timings() const { return timings_.data(); }
  const std::vector<OpClass>& classes() const { return classes_; }

 private:
  std::uint32_t class_of(const Operation& op, const BlockOperations& block);
  std::uint32_t find_class(const OpClass::Key& key, const Operation& op, const BlockOperations& block);
  OpClass make_class(const Operation& op, const BlockOperations& block) const;
  void set_work(OpClass& c, const Operation& op, const BlockOperations& block) const;
  double instruction_cycles(const KernelNeeds& needs) const;
  double latency_of(const OpClass& c, const Operation& op, const BlockOperations& block) const;
  const KernelNeeds& needs_of(const Operation& op) const {
    return group_needs_[std::min<std::size_t>(op.group, group_needs_.size() - 1)];
  }
  double hbm_latency_of(const Operation& op) const;
  double hbm_write_wait_of(const Operation& op) const;
  double lines_waited_for(const Operation& op) const;
  void set_pipes(OpTiming& timing) const;
  void set_shared_memory(OpClass& c, const Operation& op, const BlockOperations& block) const;

  const GpuSpec& gpu_;
  double cycles_per_smem_byte_, cycles_per_port_byte_, cycles_per_store_byte_, cycles_per_copied_byte_;
  KernelNeeds needs_;
  std::vector<KernelNeeds> group_needs_ = std::vector<KernelNeeds>(1);  // with the threads of each group
  OpTiming setup_;
  AttentionProblem problem_;
  std::vector<OpClass> classes_;
  std::vector<OpTiming> timings_;     // of each class
  std::vector<std::uint32_t> table_;  // open addressing over classes_, a power of two; 0 is free, else index + 1
  std::uint32_t previous_ = 0;
  /// Sets `waited_` and `meetings_`, and names the tokens of the latter.
  void find_tokens(const BlockOperations& block, BlockSchedule& out);

  std::vector<std::int32_t> ordinal_;  // of each operation in its stream, -1 - n where it is load n
  std::vector<std::int32_t> waited_;   // of each operation: the one of its own group whose signal it waits for; -1: none
  std::vector<std::vector<std::int32_t>> signals_;
  std::vector<std::int16_t> meetings_;  // of each token: its number among those by which groups meet; -1: it is none
};

}  // namespace tilescope
