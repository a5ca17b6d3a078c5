// The work of each pipe, the latency and the bytes of an operation, from its instructions.
#include "sim/engine/operation_costs.h"

#include <algorithm>
#include <cmath>

#include "sim/core/page_table.h"
#include "sim/engine/instructions.h"

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
  key.rounds = op.rounds;
  key.requests = op.requests;
  key.wait_on = op.wait_on;
  key.asynchronous = op.asynchronous;
  key.paced = op.paced;
  key.swap_ab = op.swap_ab;
  key.transpose_left = op.transpose_left;
  key.instructions = op.instructions;
  key.other_alu = op.other_alu;
  key.other_exps = op.other_exps;
  key.barriers = op.barriers;
  key.shared_round_trips = op.shared_round_trips;
  key.l2_round_trips = op.l2_round_trips;
  key.wavefronts = op.wavefronts;
  key.stall_cycles = op.stall_cycles;
  key.staged = op.staged ? 1 : 0;
  key.executed_eighths = op.executed_eighths;
  key.exps_each = op.exps_each;
  key.left_reads = op.left_reads;
  key.right_reads = op.right_reads;
  key.rows = op.rows;
  key.cols = op.cols;
  key.inner = op.inner;
  key.tile_rows = op.tile.rows;
  key.tile_cols = op.tile.cols;
  key.whole_rows = block.whole_rows;
  key.whole_keys = block.whole_keys;
  key.shared_tiles = block.shared_tiles;
  key.smem_read_bytes = op.smem_read_bytes;
  key.smem_write_bytes = op.smem_write_bytes;
  key.bytes = op.bytes;
  key.flops = op.flops;
  key.exps = op.exps;
  return key;
}

OperationCosts::OperationCosts(const GpuSpec& gpu, const AttentionProblem& problem)
    : gpu_(gpu),
      problem_(problem),
      cycles_per_smem_byte_(cycles_per(gpu.sm_shared_bytes_per_cycle)),
      cycles_per_port_byte_(cycles_per(gpu.sm_l2_bytes_per_cycle)),
      cycles_per_store_byte_(
          cycles_per(gpu.sm_store_bytes_per_cycle > 0 ? gpu.sm_store_bytes_per_cycle : gpu.sm_l2_bytes_per_cycle)),
      cycles_per_added_byte_(gpu.sm_reduce_bytes_per_cycle > 0 ? cycles_per(gpu.sm_reduce_bytes_per_cycle)
                                                               : cycles_per_store_byte_),
      cycles_per_copied_byte_(gpu.sm_copy_bytes_per_cycle > 0 ? cycles_per(gpu.sm_copy_bytes_per_cycle) : cycles_per_smem_byte_) {}

void OperationCosts::set_work(OpClass& c, const Operation& op, const BlockOperations& block) const {
  const KernelNeeds& needs = needs_of(op);
  const Instructions counts = instructions_of(op, block, needs, problem_.dtype);
  constexpr double lanes = warp_lanes;
  const double mma_rate = gpu_.product_flops_per_cycle(), wgmma_rate = gpu_.product_flops_per_cycle(ProductInstruction::wgmma);
  const double others = counts.issued - counts.mma;
  std::array<double, pipe_count>& work = c.timing.work;
  const auto of = [&](Pipe pipe) -> double& { return work[static_cast<std::size_t>(pipe)]; };
  const bool on_tensor_cores = counts.mma > 0 || counts.wgmma_flops > 0;
  c.on_tensor_cores = on_tensor_cores;
  of(Pipe::tensor) = counts.mma * mma_flops * cycles_per(mma_rate) + counts.wgmma_flops * cycles_per(wgmma_rate);
  of(Pipe::exp) = counts.exp * lanes * cycles_per(gpu_.sm_exps_per_cycle);
  of(Pipe::fp32) =
      std::max({counts.issued * cycles_per(gpu_.sm_issues_per_cycle), counts.alu * lanes * cycles_per(gpu_.sm_alu_lanes_per_cycle),
                counts.fp32 * 2 * lanes * cycles_per(gpu_.sm_fp32_flops_per_cycle) +
                    counts.widened * lanes * cycles_per(gpu_.sm_alu_lanes_per_cycle)});
  // With mma.sync every other instruction delays the tensor core of its sub-partition. The cost depends on whether the instruction
  // stands between products of its own warp (mixed) or belongs to another warp.
  const bool mixed = counts.mma > 0 || op.slices > 1;
  const double issue_cycles = mixed ? gpu_.sm_product_mixed_cycles : gpu_.sm_product_issue_cycles;
  // fp32 products do not use the tensor cores.
  const bool in_the_way =
      needs.has_products && needs.instruction == ProductInstruction::mma_sync && problem_.dtype != DataType::fp32;
  const double taken = in_the_way ? others * issue_cycles / gpu_.sm_sub_partitions : 0;
  if (counts.mma > 0) of(Pipe::tensor) += taken;
  c.timing.duration = duration_of(op, counts, *std::max_element(work.begin(), work.end()));
  if (!on_tensor_cores) of(Pipe::tensor) = taken;
  if (is_disturbed() && !on_tensor_cores) c.beside = beside_products(op, counts);
  if (models_instruction_latency()) c.timing.issued = static_cast<float>(counts.issued / (needs.threads / lanes));
}

double OperationCosts::duration_of(const Operation& op, const Instructions& counts, double busiest_pipe) const {
  const KernelNeeds& needs = needs_of(op);
  // A block with fewer warps than sub-partitions leaves some idle, and a warp cannot issue one instruction every cycle. Overhead
  // instructions delay a warp's next operation even when the pipes are idle, so they are added on top.
  const double warps = static_cast<double>(needs.threads) / warp_lanes;
  const double spread = gpu_.sm_sub_partitions / std::min(gpu_.sm_sub_partitions, warps);
  const double each = instruction_cycles(needs), overhead = overhead_cycles(op, needs);
  const double in_calls = models_instruction_latency() ? counts.in_calls / warps : 0;
  const double own = std::max(counts.issued / warps * each - op.instructions * each, in_calls);
  return std::max(busiest_pipe * spread - overhead, own) + overhead;
}

BesideProducts OperationCosts::beside_products(const Operation& op, const Instructions& counts) const {
  // An fp32 instruction takes a place in the register file from the products. Between exponentials it mostly finds a free one: a
  // compiler also puts the additions of the row sum there.
  const bool spread_out = op.kind == OpKind::exp || op.kind == OpKind::row_sum;
  const double fp32_takes = spread_out ? gpu_.sm_wgmma_mixed_cycles : gpu_.sm_wgmma_fp32_cycles;
  const double waits = counts.alu * gpu_.sm_beside_wgmma_alu_cycles + counts.exp * gpu_.sm_beside_wgmma_exp_cycles;
  const double takes = counts.alu * gpu_.sm_wgmma_alu_cycles + counts.fp32 * fp32_takes;
  return {static_cast<float>(waits / gpu_.sm_sub_partitions), static_cast<float>(takes / gpu_.sm_sub_partitions)};
}

double OperationCosts::cycles_alone(const KernelNeeds& needs) const {
  if (gpu_.sm_issues_per_cycle <= 0) return 0;
  const double issue = gpu_.sm_sub_partitions / gpu_.sm_issues_per_cycle;  // the slot; then it waits for the previous result
  return issue + needs.dependent_share * std::max(0.0, gpu_.sm_dependent_cycles - issue);
}

/// Each of the n other warps of the block on the scheduler occupies it for a share issue / x of the time, and then costs one slot.
/// So x = alone + n issue² / x, solved for x. It is at least the slots of all warps.
double OperationCosts::instruction_cycles(const KernelNeeds& needs, double alone) const {
  if (!models_instruction_latency() || gpu_.sm_issues_per_cycle <= 0) return 0;
  const double issue = gpu_.sm_sub_partitions / gpu_.sm_issues_per_cycle;  // of a scheduler
  const double others = std::max(0.0, static_cast<double>(needs.threads) / warp_lanes / gpu_.sm_sub_partitions - 1);
  return std::max((others + 1) * issue, (alone + std::sqrt(alone * alone + 4 * others * issue * issue)) / 2);
}

double OperationCosts::overhead_cycles(const Operation& op, const KernelNeeds& needs) const {
  const double alone = op.stall_cycles > 0 ? static_cast<double>(op.stall_cycles) / op.instructions : cycles_alone(needs);
  return op.instructions * instruction_cycles(needs, alone);
}

void OperationCosts::begin_launch(const KernelNeeds& needs) {
  needs_ = needs;
  group_needs_.assign(std::max<std::size_t>(1, needs.groups.size()), needs);
  for (std::size_t g = 0; g < needs.groups.size(); ++g) group_needs_[g].threads = warp_lanes * needs.groups[g].warps;
  setups_.assign(group_needs_.size(), {});
  if (!models_instruction_latency() || gpu_.sm_issues_per_cycle <= 0) return;
  std::ranges::transform(group_needs_, setups_.begin(), [&](const KernelNeeds& each) { return setup_timing(each); });
  for (std::size_t g = 0; g < needs.groups.size(); ++g)
    if (needs.groups[g].registers > 0) setups_[g].duration += gpu_.sm_register_move_cycles;
}

OpTiming OperationCosts::setup_timing(const KernelNeeds& needs) const {
  OpTiming setup;
  const double warps = static_cast<double>(needs.threads) / warp_lanes;
  setup.work[static_cast<std::size_t>(Pipe::fp32)] = needs.setup_instructions * warps / gpu_.sm_issues_per_cycle;
  if (needs.has_products && needs.instruction == ProductInstruction::mma_sync && problem_.dtype != DataType::fp32)
    setup.work[static_cast<std::size_t>(Pipe::tensor)] =
        needs.setup_instructions * warps * gpu_.sm_product_issue_cycles / gpu_.sm_sub_partitions;
  setup.issued = static_cast<float>(needs.setup_instructions);
  setup.duration = needs.setup_instructions * instruction_cycles(needs) + needs.setup_round_trips * gpu_.sm_shared_latency_cycles;
  return setup;
}

/// Returns the latency from the last instruction of an operation to the first that can use its result.
double OperationCosts::latency_of(const OpClass& c, const Operation& op, const BlockOperations& block) const {
  const double farthest = std::max(gpu_.l2_latency_cycles, gpu_.l2_far_latency_cycles);  // one round trip asks for many lines
  double cycles = op.barriers * gpu_.sm_barrier_cycles;
  if (models_instruction_latency())
    cycles += op.l2_round_trips * farthest +
              (op.shared_round_trips + barrier_skew_round_trips * op.barriers) * gpu_.sm_shared_latency_cycles;
  if (op.kind == OpKind::wait && op.wait_on == WaitOn::mbarrier) cycles += gpu_.sm_mbarrier_wait_cycles;
  // The first request leaves at once (kernels/lab/measured/h200-box-requests-2026-11-29.txt).
  cycles += std::max(0, op.requests - 1) * gpu_.sm_box_issue_cycles;
  if (op.kind == OpKind::barrier) cycles += std::max(gpu_.sm_barrier_cycles, gpu_.sm_shared_latency_cycles);
  if (c.timing.product) {
    cycles += gpu_.sm_product_latency_cycles;
    if (is_shared(block, op.src[1])) cycles += gpu_.sm_shared_latency_cycles;
  }
  if (op.kind == OpKind::row_max && op.rows >= 8 && gpu_.sm_product_latency_cycles > 0)
    cycles += row_max_shuffles * gpu_.sm_shared_latency_cycles;
  return cycles;
}

void OperationCosts::set_shared_memory(OpClass& c, const Operation& op, const BlockOperations& block) const {
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
void OperationCosts::set_pipes(OpTiming& timing) const {
  if (timing.smem_cycles > 0) timing.port = smem_port;
  if (timing.store) {  // its instructions need issue slots, which belong to fp32
    timing.pipe.fill(timing.work[static_cast<std::size_t>(Pipe::fp32)] > 0 ? pipe_of(Pipe::fp32) : no_pipe);
    return;
  }
  timing.pipe.fill(pipe_of(timing.awaited));
  // Work between an interleaved operation and its product runs while the interleaved operation still holds the pipe.
  if (!timing.product && models_instruction_latency()) timing.pipe[1] = no_pipe;
}

/// Returns how many lines a round of a load waits for. In a kernel without products each warp waits only for its own lines.
double OperationCosts::lines_waited_for(const Operation& op) const {
  if (op.sectors_at_once > 0) return std::max(1.0, op.sectors_at_once * sector_size / gpu_.l2_line_bytes);
  const double waiting = needs_.has_products ? 1 : static_cast<double>(needs_of(op).threads) / warp_lanes;
  return std::max(1.0, static_cast<double>(op.bytes) / op.rounds / gpu_.l2_line_bytes / waiting);
}

/// Returns the latency of the last line of a load from HBM. It grows with the number of lines: measured for one line and for a
/// 16 KiB tile, and interpolated by the logarithm of the number.
double OperationCosts::hbm_latency_of(const Operation& op) const {
  const double spread = std::max(0.0, gpu_.hbm_tile_latency_cycles - gpu_.hbm_latency_cycles);
  return gpu_.hbm_latency_cycles + spread * std::min(1.0, std::log(lines_waited_for(op)) / std::log(tile_latency_lines));
}

/// Returns the extra latency of a load while HBM only writes. It grows with the logarithm of the lines.
double OperationCosts::hbm_write_wait_of(const Operation& op) const {
  return gpu_.hbm_write_wait_cycles *
         std::max(0.0, std::log2(lines_waited_for(op) / write_wait_begins) / std::log2(write_wait_lines / write_wait_begins));
}

/// Returns the bytes of an operation that pass through the memory pipe of its SM, on their way to or from shared memory.
std::int64_t OperationCosts::bytes_through_shared(const Operation& op, const Operation& executed,
                                                  const BlockOperations& block) const {
  const KernelNeeds& needs = needs_of(op);
  std::int64_t bytes = executed.smem_read_bytes + op.smem_write_bytes;
  if (!models_instruction_latency()) return bytes;
  // A tile of sums is staged through shared memory. That costs time but is not traffic of the algorithm. Additions are not staged:
  // a lane adds what it holds.
  if (op.kind == OpKind::store && op.tile.cols > 1 && !op.staged && !is_shared(block, op.src[0]) && needs.has_products)
    bytes += 2 * std::int64_t{op.tile.rows} * op.tile.cols * bytes_of_element(op.tile.tensor);
  return bytes + static_cast<std::int64_t>(executed.wavefronts) * needs.threads / warp_lanes * wavefront_bytes;
}

OpClass OperationCosts::class_of(const Operation& op, const BlockOperations& block) const {
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
  // The overhead instructions may take another time than the others.
  const KernelNeeds& needs = needs_of(op);
  const double each = instruction_cycles(needs), differs = overhead_cycles(op, needs) - op.instructions * each;
  c.timing.slack = static_cast<float>(c.timing.duration - c.timing.issued * each - differs);
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
  c.work = c.timing.work;
  // The queue of products, not the issue, occupies the tensor cores.
  if (c.timing.asynchronous) c.timing.work[static_cast<std::size_t>(Pipe::tensor)] = 0;
  return c;
}

/// Sets what a load costs its SM and the way to it. One pipe of an SM carries both shared-memory and L2 traffic.
void OperationCosts::set_load(OpClass& c, const Operation& op, const BlockOperations& block) const {
  const auto bytes = static_cast<double>(op.bytes);
  c.hbm_latency = hbm_latency_of(op);
  c.hbm_write_wait = hbm_write_wait_of(op);
  if (models_instruction_latency()) c.later_rounds = op.rounds - 1;
  c.busy_cycles = bytes * cycles_per_port_byte_;
  const bool into_shared = is_shared(block, op.dst);
  if (into_shared && needs_of(op).uses_tma) {
    c.timing.asynchronous = true;
    if (gpu_.sm_box_bytes_per_cycle > 0) c.busy_cycles = bytes / gpu_.sm_box_bytes_per_cycle;
    const bool in_pages = problem_.page_size > 0 && PageTable::holds(op.tile.tensor);
    c.timing.duration = (in_pages ? boxes_of_pages(op, problem_.page_size) : boxes_of(op)) * gpu_.sm_box_issue_cycles;
    if (models_instruction_latency()) c.timing.smem_cycles = bytes * cycles_per_smem_byte_;
  } else if (models_instruction_latency()) {
    c.timing.smem_cycles = std::max(c.bank_cycles, bytes * (into_shared ? cycles_per_copied_byte_ : cycles_per_smem_byte_));
  }
  set_pipes(c.timing);
}

/// Sets what a store or an addition costs its SM. It uses the memory pipe twice: for its staging and to leave the SM.
void OperationCosts::set_store(OpClass& c, const Operation& op, const BlockOperations& block) const {
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
void OperationCosts::make_asynchronous(OpTiming& timing) const {
  timing.asynchronous = true;
  timing.shown = std::max(timing.shown, timing.smem_cycles);
  const double instructions = std::max(1.0F, timing.issued);  // wgmma of each warp
  timing.duration = (models_instruction_latency() ? instructions : 0) * gpu_.sm_wgmma_issue_cycles;
  timing.slack = static_cast<float>(timing.shown / instructions * gpu_.sm_wgmma_queue);
  timing.pipe.fill(no_pipe);
  timing.port = no_pipe;
}

}  // namespace tilescope
