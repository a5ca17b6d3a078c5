// Sorts a block's operations into streams, and computes the cost of each distinct operation once.
#include "sim/engine/schedule.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "sim/core/mask.h"
#include "sim/core/page_table.h"
#include "sim/engine/instructions.h"
#include "sim/programs/block_plan.h"

namespace tilescope {

namespace {

/// The delay of the slowest warp at a barrier, in latencies of shared memory.
/// Source  stall counters of the kernels: a warp waits 35 to 125 cycles at a barrier, four times as long as at one that all warps
///         reach together (docs/model-limits.md, row 9)
constexpr double barrier_skew_round_trips = 2;
/// The shuffles by which the four lanes that share a row of an mma.sync tile find its maximum. Each takes a round trip to shared
/// memory.
constexpr double row_max_shuffles = 2;
/// The lines of the tile for which hbm.tile_latency_cycles is measured: 16 KiB.
constexpr double tile_latency_lines = 16 * 1024 / 128.0;
/// The lines of the loads for which hbm.write_wait_cycles is measured, 2 KiB, and those at which the wait begins to grow.
/// Source  loads of 512 bytes, 2 KiB and 8 KiB: the notes of hbm.write_wait_cycles in assets/gpus/
constexpr double write_wait_lines = 2 * 1024 / 128.0, write_wait_begins = 2;
constexpr std::int64_t wavefront_bytes = 128;  // one word per lane

/// Marks an operation that waits for nothing.
constexpr std::int32_t no_ordinal = std::numeric_limits<std::int32_t>::min();

/// Returns the cycles per unit of work; 0 for a rate of 0, which means that the resource is not modelled.
double per(double rate) {
  return rate > 0 ? 1 / rate : 0;
}

OpKey key_of(const Operation& op, const BlockOperations& block) {
  OpKey key;
  key.kind = op.kind;
  key.line = op.line;
  key.launch = static_cast<std::uint8_t>(block.launch);
  key.group = op.group;
  key.dst = static_cast<std::uint8_t>(op.dst.index());
  key.left = static_cast<std::uint8_t>(op.src[0].index());
  key.right = static_cast<std::uint8_t>(op.src[1].index());
  key.tensor = static_cast<std::uint8_t>(op.tile.tensor.index());
  key.sectors_at_once = op.sectors_at_once;
  key.slices = op.slices;
  key.wait_on = op.wait_on;
  key.asynchronous = op.asynchronous;
  key.paced = op.paced;
  key.instructions = op.instructions;
  key.other_alu = op.other_alu;
  key.other_exps = op.other_exps;
  key.barriers = op.barriers;
  key.shared_round_trips = op.shared_round_trips;
  key.l2_round_trips = op.l2_round_trips;
  key.wavefronts = op.wavefronts;
  key.executed_eighths = op.executed_eighths;
  key.rows = op.rows;
  key.cols = op.cols;
  key.inner = op.inner;
  key.tile_rows = op.tile.rows;
  key.tile_cols = op.tile.cols;
  key.shared_tiles = block.shared_tiles;
  key.smem_read_bytes = op.smem_read_bytes;
  key.smem_write_bytes = op.smem_write_bytes;
  key.bytes = op.bytes;
  key.flops = op.flops;
  key.exps = op.exps;
  return key;
}

/// Returns the landing moment of a load, from its entry -1 - n in ordinal_.
std::int32_t landing(std::int32_t ordinal) {
  return OperationStream::landing(static_cast<std::size_t>(-1 - ordinal));
}

/// Returns the pipe that an operation waits for: that of its unit, except that fp32 products do not use the tensor core.
Pipe awaited_pipe_of(const OpClass& c) {
  switch (c.unit) {
    case Unit::tensor:
      return c.on_tensor_cores ? Pipe::tensor : Pipe::fp32;
    case Unit::exp:
      return Pipe::exp;
    case Unit::fp32:
      return Pipe::fp32;
    case Unit::copy:
    case Unit::store:
    case Unit::sync:
      break;
  }
  return Pipe::none;
}

}  // namespace

ScheduleBuilder::ScheduleBuilder(const GpuSpec& gpu, const AttentionProblem& problem)
    : gpu_(gpu),
      cycles_per_smem_byte_(per(gpu.sm_shared_bytes_per_cycle)),
      cycles_per_port_byte_(per(gpu.sm_l2_bytes_per_cycle)),
      cycles_per_store_byte_(per(gpu.sm_store_bytes_per_cycle > 0 ? gpu.sm_store_bytes_per_cycle : gpu.sm_l2_bytes_per_cycle)),
      cycles_per_added_byte_(gpu.sm_reduce_bytes_per_cycle > 0 ? per(gpu.sm_reduce_bytes_per_cycle) : cycles_per_store_byte_),
      cycles_per_copied_byte_(gpu.sm_copy_bytes_per_cycle > 0 ? per(gpu.sm_copy_bytes_per_cycle) : cycles_per_smem_byte_),
      problem_(problem),
      table_(64, 0) {
  classes_.reserve(64);
  classes_.emplace_back();  // a class that no operation matches, so that the first guess exists
  classes_.front().key.rows = -1;
  timings_.emplace_back();
}

void ScheduleBuilder::set_work(OpClass& c, const Operation& op, const BlockOperations& block) const {
  const KernelNeeds& needs = needs_of(op);
  const Instructions counts = instructions_of(op, block, needs, problem_.dtype);
  constexpr double lanes = warp_lanes;
  const double mma_rate = gpu_.product_flops_per_cycle(), wgmma_rate = gpu_.product_flops_per_cycle(ProductInstruction::wgmma);
  const double others = counts.issued - counts.mma;
  std::array<double, pipe_count>& work = c.timing.work;
  const auto of = [&](Pipe pipe) -> double& { return work[static_cast<std::size_t>(pipe)]; };
  const bool on_tensor_cores = counts.mma > 0 || counts.wgmma_flops > 0;
  c.on_tensor_cores = on_tensor_cores;
  of(Pipe::tensor) = counts.mma * mma_flops * per(mma_rate) + counts.wgmma_flops * per(wgmma_rate);
  of(Pipe::exp) = counts.exp * lanes * per(gpu_.sm_exps_per_cycle);
  of(Pipe::fp32) = std::max(
      {counts.issued * per(gpu_.sm_issues_per_cycle), counts.alu * lanes * per(gpu_.sm_alu_lanes_per_cycle),
       counts.fp32 * 2 * lanes * per(gpu_.sm_fp32_flops_per_cycle) + counts.widened * lanes * per(gpu_.sm_alu_lanes_per_cycle)});
  // With mma.sync every other instruction delays the tensor core of its sub-partition. The cost depends on whether the instruction
  // stands between products of its own warp (mixed) or belongs to another warp.
  const bool mixed = counts.mma > 0 || op.slices > 1;
  const double issue_cycles = mixed ? gpu_.sm_product_mixed_cycles : gpu_.sm_product_issue_cycles;
  // fp32 products do not use the tensor cores.
  const bool in_the_way =
      needs.has_products && needs.instruction == ProductInstruction::mma_sync && problem_.dtype != DataType::fp32;
  const double taken = in_the_way ? others * issue_cycles / gpu_.sm_sub_partitions : 0;
  if (counts.mma > 0) of(Pipe::tensor) += taken;
  // A block with fewer warps than sub-partitions leaves some idle, and a warp cannot issue one instruction every cycle. Overhead
  // instructions delay a warp's next operation even when the pipes are idle, so they are added on top.
  const double warps = needs.threads / lanes, spread = gpu_.sm_sub_partitions / std::min(gpu_.sm_sub_partitions, warps);
  const double beside = op.instructions * instruction_cycles(needs),
               in_calls = models_instruction_latency() ? counts.in_calls / warps : 0,
               own = std::max(counts.issued / warps * instruction_cycles(needs) - beside, in_calls);
  c.timing.duration = std::max(*std::max_element(work.begin(), work.end()) * spread - beside, own) + beside;
  if (!on_tensor_cores) of(Pipe::tensor) = taken;
  if (is_disturbed() && !on_tensor_cores) {
    // An fp32 instruction takes a place in the register file from the products. Between exponentials it mostly finds a free one: a
    // compiler also puts the additions of the row sum there.
    const bool spread_out = op.kind == OpKind::exp || op.kind == OpKind::row_sum;
    const double fp32_takes = spread_out ? gpu_.sm_wgmma_mixed_cycles : gpu_.sm_wgmma_fp32_cycles;
    c.beside.waits = static_cast<float>(
        (counts.alu * gpu_.sm_beside_wgmma_alu_cycles + counts.exp * gpu_.sm_beside_wgmma_exp_cycles) / gpu_.sm_sub_partitions);
    c.beside.takes =
        static_cast<float>((counts.alu * gpu_.sm_wgmma_alu_cycles + counts.fp32 * fp32_takes) / gpu_.sm_sub_partitions);
  }
  if (models_instruction_latency()) c.timing.issued = static_cast<float>(counts.issued / warps);
}

/// Returns the mean cycles from an instruction of a warp to its next: its issue slot, the wait for the previous result, and the
/// issue slots that the block's other warps on its sub-partition take meanwhile.
double ScheduleBuilder::instruction_cycles(const KernelNeeds& needs) const {
  if (!models_instruction_latency() || gpu_.sm_issues_per_cycle <= 0) return 0;
  const double issue = gpu_.sm_sub_partitions / gpu_.sm_issues_per_cycle;  // of a scheduler
  const double alone = issue + needs.dependent_share * std::max(0.0, gpu_.sm_dependent_cycles - issue);
  const double others = std::max(0.0, static_cast<double>(needs.threads) / warp_lanes / gpu_.sm_sub_partitions - 1);
  return std::max((others + 1) * issue, (alone + std::sqrt(alone * alone + 4 * others * issue * issue)) / 2);
}

void ScheduleBuilder::begin_launch(const KernelNeeds& needs, bool persistent) {
  needs_ = needs;
  persistent_ = persistent;
  group_needs_.assign(std::max<std::size_t>(1, needs.groups.size()), needs);
  for (std::size_t g = 0; g < needs.groups.size(); ++g) group_needs_[g].threads = warp_lanes * needs.groups[g].warps;
  setup_ = {};
  const double warps = static_cast<double>(needs.threads) / warp_lanes;
  if (!models_instruction_latency() || gpu_.sm_issues_per_cycle <= 0) return;
  setup_.work[static_cast<std::size_t>(Pipe::fp32)] = needs.setup_instructions * warps / gpu_.sm_issues_per_cycle;
  if (needs.has_products && needs.instruction == ProductInstruction::mma_sync && problem_.dtype != DataType::fp32)
    setup_.work[static_cast<std::size_t>(Pipe::tensor)] =
        needs.setup_instructions * warps * gpu_.sm_product_issue_cycles / gpu_.sm_sub_partitions;
  setup_.issued = static_cast<float>(needs.setup_instructions);
  setup_.duration = needs.setup_instructions * instruction_cycles(needs) + needs.setup_round_trips * gpu_.sm_shared_latency_cycles;
}

/// Returns the latency from the last instruction of an operation to the first that can use its result.
double ScheduleBuilder::latency_of(const OpClass& c, const Operation& op, const BlockOperations& block) const {
  const double farthest = std::max(gpu_.l2_latency_cycles, gpu_.l2_far_latency_cycles);  // one round trip asks for many lines
  double cycles = op.barriers * gpu_.sm_barrier_cycles;
  if (models_instruction_latency())
    cycles += op.l2_round_trips * farthest +
              (op.shared_round_trips + barrier_skew_round_trips * op.barriers) * gpu_.sm_shared_latency_cycles;
  if (op.kind == OpKind::wait && op.wait_on == WaitOn::mbarrier) cycles += gpu_.sm_mbarrier_wait_cycles;
  if (op.kind == OpKind::barrier) cycles += std::max(gpu_.sm_barrier_cycles, gpu_.sm_shared_latency_cycles);
  if (c.timing.product) {
    cycles += gpu_.sm_product_latency_cycles;
    if (is_shared(block, op.src[1])) cycles += gpu_.sm_shared_latency_cycles;
  }
  if (op.kind == OpKind::row_max && op.rows >= 8 && gpu_.sm_product_latency_cycles > 0)
    cycles += row_max_shuffles * gpu_.sm_shared_latency_cycles;
  return cycles;
}

void ScheduleBuilder::set_shared_memory(OpClass& c, const Operation& op, const BlockOperations& block) const {
  c.smem_write = op.smem_write_bytes;
  c.smem_write_tensor = op.kind == OpKind::load ? op.tile.tensor : tensor_of(op.dst);
  c.smem_read[0] = op.smem_read_bytes;
  c.smem_read_tensor[0] = writes_memory(op.kind) ? op.tile.tensor : tensor_of(op.src[0]);
  const bool first = is_shared(block, op.src[0]), second = is_shared(block, op.src[1]);
  if (!first && second) c.smem_read_tensor[0] = tensor_of(op.src[1]);
  if (first && second) {
    // A warp reads only its own rows of the first operand. The rest are reads of the second operand, repeated by every warp.
    const std::int64_t own = op.kind == OpKind::matmul
                                 ? std::int64_t{op.rows} * op.inner * bytes_of_element(tensor_of(op.src[0])) * op.left_reads
                                 : op.smem_read_bytes / 2;
    c.smem_read[0] = std::min(op.smem_read_bytes, own);
    c.smem_read[1] = op.smem_read_bytes - c.smem_read[0];
    c.smem_read_tensor[1] = tensor_of(op.src[1]);
  }
}

/// Sets the pipe and the port that must be free before an operation can begin.
void ScheduleBuilder::set_pipes(OpTiming& timing) const {
  if (timing.smem_cycles > 0) timing.port = smem_port;
  if (timing.store) {  // its instructions need issue slots, which belong to fp32
    timing.pipe.fill(timing.work[static_cast<std::size_t>(Pipe::fp32)] > 0 ? pipe_of(Pipe::fp32) : no_pipe);
    return;
  }
  timing.pipe.fill(pipe_of(timing.awaited));
  // Work between an interleaved operation and its product runs while the interleaved operation still holds the pipe.
  if (!timing.product && models_instruction_latency()) timing.pipe[1] = no_pipe;
}

/// Returns how many lines a load waits for at a time. In a kernel without products each warp waits only for its own lines.
double ScheduleBuilder::lines_waited_for(const Operation& op) const {
  if (op.sectors_at_once > 0) return std::max(1.0, op.sectors_at_once * sector_size / gpu_.l2_line_bytes);
  const double waiting = needs_.has_products ? 1 : static_cast<double>(needs_of(op).threads) / warp_lanes;
  return std::max(1.0, static_cast<double>(op.bytes) / gpu_.l2_line_bytes / waiting);
}

/// Returns the latency of the last line of a load from HBM. It grows with the number of lines: measured for one line and for a
/// 16 KiB tile, and interpolated by the logarithm of the number.
double ScheduleBuilder::hbm_latency_of(const Operation& op) const {
  const double spread = std::max(0.0, gpu_.hbm_tile_latency_cycles - gpu_.hbm_latency_cycles);
  return gpu_.hbm_latency_cycles + spread * std::min(1.0, std::log(lines_waited_for(op)) / std::log(tile_latency_lines));
}

/// Returns the extra latency of a load while HBM only writes. It grows with the logarithm of the lines.
double ScheduleBuilder::hbm_write_wait_of(const Operation& op) const {
  return gpu_.hbm_write_wait_cycles *
         std::max(0.0, std::log2(lines_waited_for(op) / write_wait_begins) / std::log2(write_wait_lines / write_wait_begins));
}

/// Returns the bytes of an operation that pass through the memory pipe of its SM, on their way to or from shared memory.
std::int64_t ScheduleBuilder::bytes_through_shared(const Operation& op, const Operation& executed,
                                                   const BlockOperations& block) const {
  const KernelNeeds& needs = needs_of(op);
  std::int64_t bytes = executed.smem_read_bytes + op.smem_write_bytes;
  if (!models_instruction_latency()) return bytes;
  // A tile of sums is staged through shared memory. That costs time but is not traffic of the algorithm. Additions are not staged:
  // a lane adds what it holds.
  if (op.kind == OpKind::store && op.tile.cols > 1 && !is_shared(block, op.src[0]) && needs.has_products)
    bytes += 2 * std::int64_t{op.tile.rows} * op.tile.cols * bytes_of_element(op.tile.tensor);
  return bytes + static_cast<std::int64_t>(executed.wavefronts) * needs.threads / warp_lanes * wavefront_bytes;
}

OpClass ScheduleBuilder::make_class(const Operation& op, const BlockOperations& block) const {
  OpClass c;
  // A GPU for teaching computes only the part of a tile that exists.
  const Operation executed = models_instruction_latency() ? as_executed(op, block) : op;
  c.kind = op.kind;
  c.unit = unit_of(op);
  c.line = op.line;
  c.launch = static_cast<std::uint8_t>(block.launch);
  c.tensor = op.tile.tensor;
  c.bytes = op.bytes;
  c.tile_rows = op.tile.rows;
  c.tile_cols = op.tile.cols;
  c.exps = op.exps;
  if (op.kind == OpKind::matmul) c.flops = op.flops;
  c.timing.store = writes_memory(op.kind);
  c.timing.copy = op.kind == OpKind::load && is_shared(block, op.dst);
  c.timing.paced = op.paced;
  c.timing.slices = op.slices;
  set_work(c, executed, block);
  c.timing.awaited = awaited_pipe_of(c);
  c.timing.product = c.timing.awaited == Pipe::tensor;
  if (op.kind == OpKind::matmul && !c.timing.product) c.unit = Unit::fp32;
  set_shared_memory(c, op, block);
  c.bank_cycles = static_cast<double>(bytes_through_shared(op, executed, block)) * cycles_per_smem_byte_;
  c.timing.smem_cycles = c.bank_cycles;
  c.timing.duration = std::max(c.timing.duration, c.bank_cycles);
  c.timing.spare = static_cast<float>(c.timing.duration - c.timing.issued * instruction_cycles(needs_of(op)));
  c.timing.duration += latency_of(c, executed, block);
  c.timing.shown = c.timing.awaited == Pipe::none ? c.timing.duration : c.timing.work[static_cast<std::size_t>(c.timing.awaited)];
  c.busy_cycles = c.timing.shown;
  c.moves = moves_tile(op.kind) || c.smem_read[0] != 0 || c.smem_read[1] != 0 || c.smem_write != 0;
  if (op.kind == OpKind::load)
    set_load(c, op, block);
  else if (c.timing.store)
    set_store(c, op, block);
  else
    set_pipes(c.timing);
  if (op.asynchronous && c.timing.product) make_asynchronous(c.timing);
  return c;
}

/// Sets what a load costs its SM and the way to it. One pipe of an SM carries both shared-memory and L2 traffic.
void ScheduleBuilder::set_load(OpClass& c, const Operation& op, const BlockOperations& block) const {
  const auto bytes = static_cast<double>(op.bytes);
  c.hbm_latency = hbm_latency_of(op);
  c.hbm_write_wait = hbm_write_wait_of(op);
  c.busy_cycles = bytes * cycles_per_port_byte_;
  const bool into_shared = is_shared(block, op.dst);
  if (into_shared && needs_of(op).uses_tma) {
    c.timing.asynchronous = true;
    if (gpu_.sm_box_bytes_per_cycle > 0) c.busy_cycles = bytes / gpu_.sm_box_bytes_per_cycle;
    const bool in_pages = problem_.page_size > 0 && PageTable::holds(op.tile.tensor);
    c.timing.duration =
        boxes_of(op, in_pages ? std::min(problem_.page_size, most_box_rows) : most_box_rows) * gpu_.sm_box_issue_cycles;
    if (models_instruction_latency()) c.timing.smem_cycles = bytes * cycles_per_smem_byte_;
  } else if (models_instruction_latency()) {
    c.timing.smem_cycles = std::max(c.bank_cycles, bytes * (into_shared ? cycles_per_copied_byte_ : cycles_per_smem_byte_));
  }
  set_pipes(c.timing);
}

/// Sets what a store or an addition costs its SM. It uses the memory pipe twice: for its staging and to leave the SM.
void ScheduleBuilder::set_store(OpClass& c, const Operation& op, const BlockOperations& block) const {
  const auto bytes = static_cast<double>(op.bytes);
  const double sent = bytes * (adds_to_memory(op.kind) ? cycles_per_added_byte_ : cycles_per_store_byte_);
  c.busy_cycles = sent;
  if (is_bulk_addition(op, block, needs_of(op))) {  // the copy engine reads the tile
    c.timing.asynchronous = true;
    c.timing.duration = gpu_.sm_box_issue_cycles;
  } else if (models_instruction_latency()) {
    c.timing.adds = op.kind == OpKind::reduce_add && gpu_.sm_reduce_queue_bytes > 0;
    // What limits additions lies behind the memory pipe (docs/findings/additions.md).
    c.timing.smem_cycles = c.bank_cycles + (c.timing.adds ? bytes * cycles_per_smem_byte_ : sent);
  }
  set_pipes(c.timing);
  if (c.timing.asynchronous) c.timing.port = no_pipe;
}

/// Lets a product occupy the warps only until it is issued. It is then in the queue of the tensor cores, and reads shared memory
/// meanwhile.
void ScheduleBuilder::make_asynchronous(OpTiming& timing) const {
  timing.asynchronous = true;
  timing.shown = std::max(timing.shown, timing.smem_cycles);
  const double instructions = std::max(1.0F, timing.issued);  // wgmma of each warp
  timing.duration = (models_instruction_latency() ? instructions : 0) * gpu_.sm_wgmma_issue_cycles;
  timing.spare = static_cast<float>(timing.shown / instructions * gpu_.sm_wgmma_queue);
  timing.pipe.fill(no_pipe);
  timing.port = no_pipe;
}

std::uint32_t ScheduleBuilder::find_class(const OpKey& key, const Operation& op, const BlockOperations& block) {
  if (classes_.size() * 2 > table_.size()) {
    table_.assign(table_.size() * 2, 0);
    for (std::uint32_t i = 1; i < classes_.size(); ++i) {
      std::size_t at = classes_[i].key.hash() & (table_.size() - 1);
      while (table_[at] != 0) at = (at + 1) & (table_.size() - 1);
      table_[at] = i + 1;
    }
  }
  std::size_t at = key.hash() & (table_.size() - 1);
  for (; table_[at] != 0; at = (at + 1) & (table_.size() - 1))
    if (classes_[table_[at] - 1].key == key) return table_[at] - 1;
  classes_.push_back(make_class(op, block));
  classes_.back().key = key;
  timings_.push_back(classes_.back().timing);
  // The queue of products, not the issue, occupies the tensor cores.
  if (timings_.back().asynchronous) timings_.back().work[static_cast<std::size_t>(Pipe::tensor)] = 0;
  table_[at] = static_cast<std::uint32_t>(classes_.size());
  return static_cast<std::uint32_t>(classes_.size()) - 1;
}

std::uint32_t ScheduleBuilder::class_of(const Operation& op, const BlockOperations& block) {
  const OpKey key = key_of(op, block);
  std::uint32_t found = classes_[previous_].next;
  if (!(classes_[found].key == key)) {
    found = find_class(key, op, block);
    classes_[previous_].next = found;
  }
  ++classes_[found].count;
  previous_ = found;
  return found;
}

BlockOrigin ScheduleBuilder::origin(const Domain& domain) const {
  if (domain.axis != Axis::key)
    return {domain.plane,
            static_cast<std::int32_t>(problem_.kv_plane_of(domain.plane)),
            domain.axis,
            domain.first,
            static_cast<std::int32_t>(mask_plane_of(problem_, domain.plane)),
            static_cast<std::int32_t>(domain.plane / problem_.heads)};
  const std::int64_t plane = problem_.first_query_plane_of(domain.plane);
  return {static_cast<std::int32_t>(plane),
          domain.plane,
          domain.axis,
          domain.first,
          static_cast<std::int32_t>(mask_plane_of(problem_, plane)),
          static_cast<std::int32_t>(plane / problem_.heads)};
}

float ScheduleBuilder::delay_of(const Operation& op, const BlockOperations& block) const {
  const std::vector<std::int32_t>& by = signals_[static_cast<std::size_t>(op.wait_token)];
  // The latency of a load is measured to the end of the wait for it.
  if (by.empty() || block.operations[static_cast<std::size_t>(by.front())].kind == OpKind::load) return 0;
  if (op.wait_on == WaitOn::named_barrier) return static_cast<float>(gpu_.sm_named_barrier_cycles);
  const double own = op.kind == OpKind::wait ? gpu_.sm_mbarrier_wait_cycles : 0;  // part of the operation
  return static_cast<float>(std::max(0.0, gpu_.sm_mbarrier_cycles - own));
}

void ScheduleBuilder::find_tokens(const BlockOperations& block, BlockSchedule& out) {
  waited_for(block, waited_, signals_);
  meetings_.assign(block.tokens.size(), -1);
  out.tokens.clear();
  out.token_totals.clear();
  // Once a token, not once a wait: blocks of flash1 wait hundreds of thousands of times for a few tokens.
  constexpr int nobody = -1, several = -2;
  std::vector<int> signallers(block.tokens.size(), nobody);
  for (std::size_t token = 0; token < signallers.size() && token < signals_.size(); ++token)
    for (const std::int32_t each : signals_[token]) {
      const int group = block.operations[static_cast<std::size_t>(each)].group;
      signallers[token] = signallers[token] == nobody || signallers[token] == group ? group : several;
    }
  for (std::size_t i = 0; i < waited_.size(); ++i) {
    const Operation& op = block.operations[i];
    if (op.wait_token < 0 || op.wait_count <= 0) continue;
    const auto token = static_cast<std::size_t>(op.wait_token);
    const std::int32_t on = waited_[i];
    // If one group gives all signals, their order is that of the listing, and the wait is a moment of the stream. Signals of
    // several groups can come in any order, so the token is counted at run time.
    if (on >= 0 && on < static_cast<std::int32_t>(i) && (signallers[token] == nobody || signallers[token] == op.group)) continue;
    waited_[i] = -1;
    if (meetings_[token] < 0) add_meeting(block, token, out);
  }
  // The next block of a persistent kernel waits for buffers that nobody of this block waits for any more.
  for (std::size_t token = 0; token < signallers.size() && persistent_; ++token)
    if (meetings_[token] < 0 && signallers[token] != nobody && BufferToken::is_empty(token)) add_meeting(block, token, out);
}

void ScheduleBuilder::add_meeting(const BlockOperations& block, std::size_t token, BlockSchedule& out) {
  meetings_[token] = static_cast<std::int16_t>(out.tokens.size());
  out.tokens.push_back(block.tokens[token]);
  out.token_totals.push_back({static_cast<std::int16_t>(token), static_cast<std::int32_t>(signals_[token].size())});
}

void OperationStream::clear() {
  compute.clear();
  loads.clear();
  stores.clear();
  signals = 0;
  op_of_compute.clear();
  op_of_load.clear();
  positions.clear();
  load_positions.clear();
  reach.clear();
  tokens_of_compute.clear();
  tokens_of_loads.clear();
}

TokenUse ScheduleBuilder::tokens_of(const Operation& op, const BlockOperations& block, std::int32_t waited) const {
  TokenUse use;
  if (op.signal_token >= 0) use.signal = meetings_[static_cast<std::size_t>(op.signal_token)];
  if (waited < 0 && op.wait_token >= 0) {
    use.wait = meetings_[static_cast<std::size_t>(op.wait_token)];
    use.count = op.wait_count;
    use.delay = delay_of(op, block);
  }
  if (persistent_ && op.kind == OpKind::load && op.signal_token >= 0 && op.wait_count <= 0)
    use.carry = BufferToken::empty_of(op.signal_token);
  return use;
}

std::int32_t ScheduleBuilder::add_load(const ScheduledAccess& access, std::int32_t waited, OperationStream& stream) const {
  ScheduledAccess load = access;
  load.after = no_ordinal;
  if (waited >= 0) {
    load.after = ordinal_[static_cast<std::size_t>(waited)];
    if (load.after >= 0) stream.compute[static_cast<std::size_t>(load.after)].op_class |= ScheduledOp::signal_bit;
  }
  stream.loads.push_back(load);
  return -static_cast<std::int32_t>(stream.loads.size());
}

std::int32_t ScheduleBuilder::add_compute(std::uint32_t op_class, std::int32_t waited, OperationStream& stream) const {
  std::int32_t wait = no_ordinal;
  if (waited >= 0) {
    // Compute is in order, so an operation of its own group is over anyway unless it is a load or an asynchronous product.
    const std::int32_t ordinal = ordinal_[static_cast<std::size_t>(waited)];
    if (ordinal < 0) {
      wait = ordinal;
    } else if (ScheduledOp& product = stream.compute[static_cast<std::size_t>(ordinal)]; timings_[product.number()].asynchronous) {
      product.op_class |= ScheduledOp::signal_bit;
      wait = ordinal;
    }
  }
  stream.compute.push_back({op_class, wait});
  return static_cast<std::int32_t>(stream.compute.size()) - 1;
}

/// Signals are numbered after the loads, whose count is known only when all operations are in their streams. From here on ordinal_
/// has the moment of each operation of the stream that signals, by its index there.
void ScheduleBuilder::turn_into_moments(OperationStream& stream) {
  for (std::size_t i = 0; i < stream.compute.size(); ++i)
    if (stream.compute[i].signals()) ordinal_[i] = stream.signal(stream.signals++);
  const auto moment = [&](std::int32_t waited) {
    return waited == no_ordinal ? OperationStream::at_once
           : waited < 0         ? landing(waited)
                                : ordinal_[static_cast<std::size_t>(waited)];
  };
  for (ScheduledAccess& load : stream.loads) load.after = moment(load.after);
  for (ScheduledOp& op : stream.compute) op.wait = moment(op.wait);
}

void ScheduleBuilder::build(const BlockOperations& block, BlockSchedule& out) {
  out.groups.resize(group_count());
  for (OperationStream& stream : out.groups) stream.clear();
  find_tokens(block, out);
  const bool has_tokens =
      !out.tokens.empty() || needs_.uses_tma ||
      std::any_of(block.operations.begin(), block.operations.end(), [](const Operation& op) { return op.asynchronous; });
  ordinal_.resize(block.operations.size());
  const BlockOrigin from = origin(block.domain);
  for (std::size_t i = 0; i < block.operations.size(); ++i) {
    const Operation& op = block.operations[i];
    OperationStream& stream = out.groups[std::min<std::size_t>(op.group, out.groups.size() - 1)];
    ScheduledAccess access;
    access.op_class = class_of(op, block);
    if (moves_tile(op.kind)) {
      access.plane = op.tile.plane - from.plane_of(op.tile.tensor);
      access.row = op.tile.row - from.row_of(op.tile.tensor);
      access.col = op.tile.col - from.col_of(op.tile.tensor);
    }
    const bool is_load = op.kind == OpKind::load;
    ordinal_[i] = is_load ? add_load(access, waited_[i], stream) : add_compute(access.op_class, waited_[i], stream);
    if (writes_memory(op.kind)) stream.stores.push_back(access);
    (is_load ? stream.op_of_load : stream.op_of_compute).push_back(static_cast<std::int32_t>(i));
    if (has_tokens) (is_load ? stream.tokens_of_loads : stream.tokens_of_compute).push_back(tokens_of(op, block, waited_[i]));
  }
  for (OperationStream& stream : out.groups) turn_into_moments(stream);
}

void ScheduleBuilder::count_again(const BlockSchedule& schedule) {
  for (const auto& [op_class, count] : schedule.class_counts) classes_[op_class].count += count;
}

void BlockSchedule::count_classes() {
  std::vector<std::uint32_t> all;
  for (const OperationStream& stream : groups) {
    for (const ScheduledOp& op : stream.compute) all.push_back(op.number());
    for (const ScheduledAccess& load : stream.loads) all.push_back(load.op_class);
  }
  std::sort(all.begin(), all.end());
  class_counts.clear();
  for (std::uint32_t op_class : all) {
    if (class_counts.empty() || class_counts.back().first != op_class) class_counts.emplace_back(op_class, 0);
    ++class_counts.back().second;
  }
}

std::size_t BlockSchedule::size() const {
  std::size_t bytes = 0;
  for (const OperationStream& stream : groups)
    bytes += stream.compute.size() * (sizeof(ScheduledOp) + 4) + stream.loads.size() * (sizeof(ScheduledAccess) + 4) +
             stream.stores.size() * sizeof(ScheduledAccess);
  return bytes;
}

}  // namespace tilescope
