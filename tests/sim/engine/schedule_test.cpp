// Schedules against the operations that they are made of.
#include "sim/engine/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include "sim/engine/instructions.h"
#include "sim/masks/expression.h"
#include "sim/masks/score_change.h"
#include "sim/programs/attention_tensors.h"
#include "sim/programs/programs.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

/// An H200 with a price on what an H200 has for nothing, and without the rates that fall back to another one.
GpuSpec gpu_with_other_rates() {
  GpuSpec gpu = h200_gpu();
  gpu.id = "other rates";
  gpu.sm_store_bytes_per_cycle = gpu.sm_reduce_bytes_per_cycle = gpu.sm_copy_bytes_per_cycle = gpu.sm_box_bytes_per_cycle = 0;
  gpu.sm_sub_partitions = 16;  // more than some blocks have warps
  gpu.sm_dependent_cycles = 9;
  gpu.sm_reduce_queue_bytes = 700;
  gpu.hbm_write_wait_cycles = 300;
  gpu.l2_latency_cycles = 500;  // the near partition is the farther one
  return gpu;
}

double per(double rate) {
  return rate > 0 ? 1 / rate : 0;
}

/// What docs/model.md says that an operation costs, for one operation after another: nothing is shared, sorted or looked up.
struct Cost {
  const GpuSpec& gpu;
  const AttentionProblem& problem;
  const BlockOperations& block;
  const Operation& op;
  KernelNeeds needs;  // with the threads of the operation's group

  bool waits() const { return gpu.sm_dependent_cycles > 0; }
  double warps() const { return needs.threads / 32.0; }
  Operation executed() const { return waits() ? as_executed(op, block) : op; }
  Instructions counts() const { return instructions_of(executed(), block, needs, problem.dtype); }
  bool multiplies() const { return counts().mma > 0 || counts().wgmma_flops > 0; }
  bool is_mma_launch() const {
    return needs.has_products && needs.instruction == ProductInstruction::mma_sync && problem.dtype != DataType::fp32;
  }
  bool is_shared_load() const { return op.kind == OpKind::load && is_shared(block, op.dst); }
  /// Whether its warps add what they hold, and go on while the rest is in the SM's queue.
  bool queues() const {
    return op.kind == OpKind::reduce_add && waits() && gpu.sm_reduce_queue_bytes > 0 && !is_bulk_addition(op, block, needs);
  }
  bool is_async_product() const { return op.asynchronous && multiplies(); }

  /// Tensor-core cycles that its other instructions take from products by mma.sync on the same sub-partition.
  double taken() const {
    if (!is_mma_launch()) return 0;
    const bool between_products = counts().mma > 0 || op.slices > 1;
    const double each = between_products ? gpu.sm_product_mixed_cycles : gpu.sm_product_issue_cycles;
    return (counts().issued - counts().mma) * each / gpu.sm_sub_partitions;
  }
  double products() const {
    return counts().mma * 4096 * per(gpu.sm_mma_flops_per_cycle) + counts().wgmma_flops * per(gpu.sm_wgmma_flops_per_cycle) +
           (counts().mma > 0 ? taken() : 0);
  }
  double exps() const { return 32 * counts().exp * per(gpu.sm_exps_per_cycle); }
  double others() const {
    const double issues = counts().issued * per(gpu.sm_issues_per_cycle), alu = 32 * counts().alu * per(gpu.sm_alu_lanes_per_cycle);
    const double fma = 64 * counts().fp32 * per(gpu.sm_fp32_flops_per_cycle);
    return std::max(issues, std::max(alu, fma + 32 * counts().widened * per(gpu.sm_alu_lanes_per_cycle)));
  }
  std::array<double, pipe_count> work() const { return {multiplies() ? products() : taken(), exps(), others()}; }

  double slot() const { return gpu.sm_sub_partitions / gpu.sm_issues_per_cycle; }
  /// Mean cycles from an instruction of a warp to its next one.
  double instruction() const {
    return waits() ? instruction(slot() + needs.dependent_share * std::max(0.0, gpu.sm_dependent_cycles - slot())) : 0;
  }
  /// The same where a warp takes `alone` if it has its scheduler to itself.
  double instruction(double alone) const {
    const double slot = this->slot();
    const double beside = std::max(0.0, warps() / gpu.sm_sub_partitions - 1);
    return std::max(slot * (beside + 1), alone / 2 + std::sqrt(alone * alone / 4 + beside * slot * slot));
  }
  /// Cycles of a warp for the overhead instructions: those that the compiler encoded, where they are known.
  double overhead() const {
    if (!waits()) return 0;
    return op.instructions * (op.stall_cycles > 0 ? instruction(op.stall_cycles * 1.0 / op.instructions) : instruction());
  }
  /// Bytes through shared memory: with the staging of sums that are stored, and with shuffles.
  double shared_bytes() const {
    auto bytes = static_cast<double>(executed().smem_read_bytes + op.smem_write_bytes);
    if (!waits()) return bytes;
    if (op.kind == OpKind::store && op.tile.cols > 1 && !op.staged && !is_shared(block, op.src[0]) && needs.has_products)
      bytes += 2.0 * op.tile.rows * op.tile.cols * static_cast<double>(element_bytes(problem.dtype));
    return bytes + 128 * executed().wavefronts * warps();
  }
  double banks() const { return shared_bytes() * per(gpu.sm_shared_bytes_per_cycle); }
  /// From its first instruction to its last, or to the last byte that it takes from shared memory.
  double issue() const {
    const double idle = std::max(1.0, gpu.sm_sub_partitions / warps());  // sub-partitions without a warp
    const double pipes = std::max({multiplies() ? products() : 0, exps(), others()}) * idle;
    const double calls = waits() ? counts().in_calls / warps() : 0;
    const double arithmetic = counts().issued / warps() * instruction() - op.instructions * instruction();
    return std::max(banks(), std::max(pipes - overhead(), std::max(calls, arithmetic)) + overhead());
  }
  double latency() const {
    double cycles = op.barriers * gpu.sm_barrier_cycles;
    const double shared = gpu.sm_shared_latency_cycles, far = std::max(gpu.l2_latency_cycles, gpu.l2_far_latency_cycles);
    if (waits()) cycles += op.shared_round_trips * shared + op.barriers * 2 * shared + op.l2_round_trips * far;
    if (op.kind == OpKind::wait && op.wait_on == WaitOn::mbarrier) cycles += gpu.sm_mbarrier_wait_cycles;
    if (op.requests > 1) cycles += (op.requests - 1) * gpu.sm_box_issue_cycles;  // the first leaves at once
    if (op.kind == OpKind::barrier) cycles += std::max(gpu.sm_barrier_cycles, shared);
    if (multiplies()) cycles += gpu.sm_product_latency_cycles + (is_shared(block, op.src[1]) ? shared : 0);
    if (op.kind == OpKind::row_max && executed().rows >= 8 && gpu.sm_product_latency_cycles > 0) cycles += 2 * shared;
    return cycles;
  }
  /// Cycles that a byte which leaves or enters the SM occupies its port.
  double byte() const {
    const double port = per(gpu.sm_l2_bytes_per_cycle), shared = per(gpu.sm_shared_bytes_per_cycle);
    const double stored = gpu.sm_store_bytes_per_cycle > 0 ? per(gpu.sm_store_bytes_per_cycle) : port;
    if (op.kind == OpKind::store || op.kind == OpKind::write) return stored;
    if (adds_to_memory(op.kind)) return gpu.sm_reduce_bytes_per_cycle > 0 ? per(gpu.sm_reduce_bytes_per_cycle) : stored;
    return is_shared_load() && gpu.sm_copy_bytes_per_cycle > 0 ? per(gpu.sm_copy_bytes_per_cycle) : shared;
  }
  double port_cycles() const {
    const auto bytes = static_cast<double>(op.bytes);
    if (!waits() || !moves_tile(op.kind)) return banks();
    if (needs.uses_tma && is_shared_load()) return bytes * per(gpu.sm_shared_bytes_per_cycle);
    if (is_bulk_addition(op, block, needs)) return banks();
    if (queues()) return banks() + bytes * per(gpu.sm_shared_bytes_per_cycle);
    return op.kind == OpKind::load ? std::max(banks(), bytes * byte()) : banks() + bytes * byte();
  }
  double lines() const {
    if (op.sectors_at_once > 0) return std::max(1.0, op.sectors_at_once / 4.0);
    return std::max(1.0, static_cast<double>(op.bytes) / op.rounds / 128 / (needs.has_products ? 1 : warps()));
  }
};

/// Compares what a class says with the operation's own cost.
void check_class(const OpClass& c, const Cost& cost, ProductInstruction instruction, bool launch_has_products) {
  const GpuSpec& gpu = cost.gpu;
  const Operation& op = cost.op;
  const auto near = [](double value) { return doctest::Approx(value).epsilon(1e-6); };
  const OpTiming& t = c.timing;
  const bool loads_boxes = cost.needs.uses_tma && cost.is_shared_load(), adds_tile = is_bulk_addition(op, cost.block, cost.needs);
  CHECK(c.kind == op.kind);
  CHECK(c.line == op.line);
  CHECK(c.bytes == op.bytes);
  CHECK(c.exps == op.exps);
  CHECK(c.flops == (op.kind == OpKind::matmul ? op.flops : 0));
  CHECK(c.on_tensor_cores == cost.multiplies());
  CHECK(c.unit == (op.kind == OpKind::matmul && !cost.multiplies() ? Unit::fp32 : unit_of(op)));
  CHECK(t.store == writes_memory(op.kind));
  CHECK(t.product == cost.multiplies());
  CHECK(t.copy == cost.is_shared_load());
  CHECK(t.slices == op.slices);
  CHECK(t.adds == cost.queues());
  CHECK(t.paced == op.paced);
  CHECK(t.asynchronous == (loads_boxes || adds_tile || cost.is_async_product()));
  CHECK(t.awaited == (cost.multiplies()      ? Pipe::tensor
                      : c.unit == Unit::exp  ? Pipe::exp
                      : c.unit == Unit::fp32 ? Pipe::fp32
                                             : Pipe::none));
  for (std::size_t i = 0; i < c.work.size(); ++i) {
    CHECK(c.work[i] == near(cost.work()[i]));
    const bool is_queued = t.asynchronous && i == static_cast<std::size_t>(Pipe::tensor);
    CHECK(t.work[i] == (is_queued ? 0 : c.work[i]));
  }
  CHECK(c.bank_cycles == near(cost.banks()));
  CHECK(t.smem_cycles == near(cost.port_cycles()));
  const double issued = cost.waits() ? cost.counts().issued / cost.warps() : 0;
  CHECK(t.issued == near(issued));

  const double alone = cost.issue() + cost.latency();
  const double pipe = t.awaited == Pipe::none ? alone : cost.work()[static_cast<std::size_t>(t.awaited)];
  if (cost.is_async_product()) {
    // The warps go on once it is issued. The queue holds so many instructions' work.
    const double instructions = std::max(1.0, issued), work = std::max(pipe, cost.port_cycles());
    CHECK(t.shown == near(work));
    CHECK(t.duration == near(cost.waits() ? instructions * gpu.sm_wgmma_issue_cycles : 0));
    CHECK(t.slack == near(work / instructions * gpu.sm_wgmma_queue));
  } else {
    CHECK(t.shown == near(pipe));
    CHECK(t.duration == near(adds_tile ? gpu.sm_box_issue_cycles : loads_boxes ? boxes_of(op) * gpu.sm_box_issue_cycles : alone));
    CHECK(t.slack == near(cost.issue() - issued * cost.instruction() + op.instructions * cost.instruction() - cost.overhead())
                         .scale(1 + cost.issue()));
  }
  if (loads_boxes)
    CHECK(c.busy_cycles == near(static_cast<double>(op.bytes) /
                                (gpu.sm_box_bytes_per_cycle > 0 ? gpu.sm_box_bytes_per_cycle : gpu.sm_l2_bytes_per_cycle)));
  else if (op.kind == OpKind::load)
    CHECK(c.busy_cycles == near(static_cast<double>(op.bytes) / gpu.sm_l2_bytes_per_cycle));
  else if (t.store)
    CHECK(c.busy_cycles == near(static_cast<double>(op.bytes) * cost.byte()));

  // What must be free before it begins.
  const std::uint8_t own = pipe_of(t.awaited);
  if (cost.is_async_product())
    CHECK(t.pipe == std::array{no_pipe, no_pipe});
  else if (t.store)
    CHECK(t.pipe[0] == (cost.others() > 0 ? pipe_of(Pipe::fp32) : no_pipe));
  else
    CHECK(t.pipe == std::array{own, t.product || !cost.waits() ? own : no_pipe});
  const bool needs_no_port = cost.is_async_product() || (t.store && t.asynchronous);
  CHECK(t.port == (cost.port_cycles() > 0 && !needs_no_port ? smem_port : no_pipe));

  if (op.kind == OpKind::load) {
    const double spread = std::max(0.0, gpu.hbm_tile_latency_cycles - gpu.hbm_latency_cycles);
    CHECK(c.hbm_latency == near(gpu.hbm_latency_cycles + spread * std::min(1.0, std::log2(cost.lines()) / 7)));
    CHECK(c.later_rounds == (cost.waits() ? op.rounds - 1 : 0));
    CHECK(c.hbm_write_wait == near(gpu.hbm_write_wait_cycles * std::max(0.0, (std::log2(cost.lines()) - 1) / 3)));
  }
  // Beside wgmma, other instructions wait for the register file, and products for them.
  const bool disturbed = launch_has_products && instruction == ProductInstruction::wgmma && cost.waits() && !cost.multiplies();
  const bool between_exps = op.kind == OpKind::exp || op.kind == OpKind::row_sum;
  const Instructions n = cost.counts();
  CHECK(c.beside.waits * gpu.sm_sub_partitions ==
        near(disturbed ? n.alu * gpu.sm_beside_wgmma_alu_cycles + n.exp * gpu.sm_beside_wgmma_exp_cycles : 0));
  CHECK(c.beside.takes * gpu.sm_sub_partitions ==
        near(disturbed
                 ? n.alu * gpu.sm_wgmma_alu_cycles + n.fp32 * (between_exps ? gpu.sm_wgmma_mixed_cycles : gpu.sm_wgmma_fp32_cycles)
                 : 0));

  // Whose bytes cross shared memory.
  CHECK(c.smem_write == op.smem_write_bytes);
  CHECK(c.smem_read[0] + c.smem_read[1] == op.smem_read_bytes);
  if (op.smem_write_bytes > 0) CHECK(c.smem_write_tensor == (op.kind == OpKind::load ? op.tile.tensor : tensor_of(op.dst)));
  const bool first = is_shared(cost.block, op.src[0]), second = is_shared(cost.block, op.src[1]);
  const std::int64_t left = op.kind == OpKind::matmul
                                ? std::int64_t{op.rows} * op.inner * element_bytes(cost.problem.dtype) * op.left_reads
                                : op.smem_read_bytes / 2;
  if (first && second) {
    CHECK(c.smem_read[0] == std::min(left, op.smem_read_bytes));
    CHECK(c.smem_read_tensor[0] == tensor_of(op.src[0]));
    CHECK(c.smem_read_tensor[1] == tensor_of(op.src[1]));
  } else if (op.smem_read_bytes > 0) {
    CHECK(c.smem_read[1] == 0);
    CHECK(c.smem_read_tensor[0] == (writes_memory(op.kind) ? op.tile.tensor : tensor_of(second ? op.src[1] : op.src[0])));
  }
  CHECK(c.moves == (moves_tile(op.kind) || op.smem_read_bytes > 0 || op.smem_write_bytes > 0));
}

/// Small problems whose sequences end inside a tile, with the kernel's tile and with a small one.
template <class Check>
void for_each_launch(const GpuSpec& gpu, DataType type, Check check) {
  for (const ProgramInfo& info : program_table())
    for (const bool is_small : {false, true}) {
      AttentionProblem problem = {
          .batch = 1, .heads = 2, .kv_heads = 1, .seq_q = 144, .seq_kv = 144, .head_dim = 64, .dtype = type};
      problem.pass = info.pass;
      problem.causal = info.family == "attention" || info.family == "backward";
      const ProgramTile tile = is_small ? ProgramTile(16, 32) : ProgramTile(info.default_tile(problem, gpu));
      const auto program = info.make(problem, tile, gpu);
      if (!program) continue;  // a rung of the ladder takes only its own tiles and types
      CAPTURE(gpu.id);
      CAPTURE(to_string(type));
      CAPTURE(info.id);
      CAPTURE(is_small);
      for (std::size_t launch = 0; launch < (*program)->launches().size(); ++launch) check(**program, static_cast<int>(launch));
    }
}

}  // namespace

TEST_CASE("schedule: every operation of every program costs what its instructions, bytes and latencies say") {
  int compared = 0;
  for (const GpuSpec& gpu : {toy_gpu(), h200_gpu(), gpu_with_other_rates()})
    for (const DataType type : {DataType::fp16, DataType::bf16, DataType::fp32})
      for_each_launch(gpu, type, [&](const TileProgram& program, int number) {
        const LaunchSpec& launch = program.launches()[static_cast<std::size_t>(number)];
        ScheduleBuilder builder(gpu, program.problem());
        builder.begin_launch(launch.needs, launch.persistent);
        BlockOperations block;
        BlockSchedule schedule;
        program.emit_block(number, launch.blocks() - 1, block);
        builder.build(block, schedule);
        std::vector<std::int64_t> counts(builder.classes().size());
        const auto check = [&](std::uint32_t op_class, std::int32_t at) {
          const Operation& op = block.operations[static_cast<std::size_t>(at)];
          KernelNeeds needs = launch.needs;
          if (!needs.groups.empty()) needs.threads = 32 * needs.groups[op.group].warps;
          const Cost cost{gpu, program.problem(), block, op, needs};
          CAPTURE(at);
          CAPTURE(to_string(op.kind));
          if (counts[op_class]++ < 3) check_class(builder.op_class(op_class), cost, needs.instruction, needs.has_products);
          ++compared;
        };
        for (const OperationStream& stream : schedule.groups) {
          for (std::size_t i = 0; i < stream.compute.size(); ++i) check(stream.compute[i].number(), stream.op_of_compute[i]);
          for (std::size_t i = 0; i < stream.loads.size(); ++i) check(stream.loads[i].op_class, stream.op_of_load[i]);
        }
        for (std::size_t c = 0; c < counts.size(); ++c) CHECK(builder.classes()[c].count == counts[c]);
      });
  CHECK(compared > 1000);
}

TEST_CASE("schedule: operations that differ in anything that their costs read are of different classes") {
  const AttentionProblem problem = {.seq_q = 128, .seq_kv = 128, .head_dim = 64};
  const GpuSpec gpu = h200_gpu();
  const auto program = (**find_program("flash2")).make(problem, TileShape{64, 64}, gpu);
  REQUIRE(program);
  BlockOperations block;
  (*program)->emit_block(0, 0, block);
  const Operation op = *std::ranges::find(block.operations, OpKind::matmul, &Operation::kind);
  using Change = void (*)(Operation&, BlockOperations&);
  const Change changes[] = {
      [](Operation& o, BlockOperations&) { o.swap_ab = !o.swap_ab; },
      [](Operation& o, BlockOperations&) { o.transpose_left = !o.transpose_left; },
      [](Operation& o, BlockOperations&) { ++o.exps_each; },
      [](Operation& o, BlockOperations&) { ++o.left_reads; },
      [](Operation& o, BlockOperations&) { ++o.right_reads; },
      [](Operation& o, BlockOperations&) { o.executed_eighths = 5; },
      [](Operation& o, BlockOperations&) { ++o.instructions; },
      [](Operation& o, BlockOperations&) { ++o.stall_cycles; },
      [](Operation& o, BlockOperations&) { ++o.other_alu; },
      [](Operation& o, BlockOperations&) { ++o.other_exps; },
      [](Operation& o, BlockOperations&) { ++o.shared_round_trips; },
      [](Operation& o, BlockOperations&) { ++o.l2_round_trips; },
      [](Operation& o, BlockOperations&) { ++o.barriers; },
      [](Operation& o, BlockOperations&) { ++o.wavefronts; },
      [](Operation& o, BlockOperations&) { o.staged = !o.staged; },
      [](Operation& o, BlockOperations&) { o.asynchronous = !o.asynchronous; },
      [](Operation& o, BlockOperations&) { o.paced = !o.paced; },
      [](Operation& o, BlockOperations&) { o.wait_on = WaitOn::mbarrier; },
      [](Operation& o, BlockOperations&) { ++o.requests; },
      [](Operation& o, BlockOperations&) { ++o.rounds; },
      [](Operation& o, BlockOperations&) { ++o.slices; },
      [](Operation& o, BlockOperations&) { ++o.sectors_at_once; },
      [](Operation& o, BlockOperations&) { ++o.group; },
      [](Operation& o, BlockOperations&) { ++o.line; },
      [](Operation& o, BlockOperations&) { o.kind = OpKind::copy; },
      [](Operation& o, BlockOperations&) { o.dst = ChipTile::none; },
      [](Operation& o, BlockOperations&) { o.src[0] = ChipTile::none; },
      [](Operation& o, BlockOperations&) { o.src[1] = ChipTile::none; },
      [](Operation& o, BlockOperations&) { ++o.rows; },
      [](Operation& o, BlockOperations&) { ++o.cols; },
      [](Operation& o, BlockOperations&) { ++o.tile.rows; },
      [](Operation& o, BlockOperations&) { ++o.tile.cols; },
      [](Operation& o, BlockOperations&) { ++o.bytes; },
      [](Operation& o, BlockOperations&) { ++o.flops; },
      [](Operation& o, BlockOperations&) { ++o.exps; },
      [](Operation& o, BlockOperations&) { ++o.smem_read_bytes; },
      [](Operation& o, BlockOperations&) { ++o.smem_write_bytes; },
      [](Operation&, BlockOperations& b) { ++b.launch; },
      [](Operation&, BlockOperations& b) { b.shared_tiles = ~b.shared_tiles; },
      [](Operation& o, BlockOperations&) { ++o.inner; },
      [](Operation&, BlockOperations& b) { ++b.whole_rows; },
      [](Operation&, BlockOperations& b) { ++b.whole_keys; },
  };
  for (std::size_t n = 0; n < std::size(changes); ++n) {
    CAPTURE(n);
    Operation other = op;
    BlockOperations of_other = block;
    changes[n](other, of_other);
    CHECK_FALSE(key_of(op, block) == key_of(other, of_other));
  }
}

TEST_CASE(
    "schedule: a warp is in the calls of its scores, however few instructions they have; a GPU for teaching has no such wait") {
  for (const GpuSpec& gpu : {h200_gpu(), toy_gpu()}) {
    AttentionProblem problem = {.seq_q = 128, .seq_kv = 128, .head_dim = 64};
    problem.score_change = *ScoreChange::make(*parse_score_expression("score + cos(score)", sizes_of(problem), {}), nullptr);
    const ProgramInfo& info = **find_program("flex");
    const auto program = info.make(problem, info.default_tile(problem, gpu), gpu);
    REQUIRE(program);
    const LaunchSpec& launch = (*program)->launches().front();
    ScheduleBuilder builder(gpu, problem);
    builder.begin_launch(launch.needs);
    BlockOperations block;
    BlockSchedule schedule;
    (*program)->emit_block(0, 0, block);
    builder.build(block, schedule);
    const auto change = std::find_if(block.operations.begin(), block.operations.end(),
                                     [](const Operation& op) { return op.kind == OpKind::modify; });
    const auto changes =
        std::find_if(builder.classes().begin(), builder.classes().end(), [](const OpClass& c) { return c.kind == OpKind::modify; });
    REQUIRE(change != block.operations.end());
    REQUIRE(changes != builder.classes().end());
    check_class(*changes, {gpu, problem, block, *change, launch.needs}, launch.needs.instruction, true);
    CAPTURE(gpu.id);
    const double scores = static_cast<double>(change->rows) * change->cols / launch.needs.threads;  // of a lane
    CHECK(launch.needs.score_cost.in_calls > 2 * launch.needs.score_cost.all());
    CHECK((changes->timing.duration >= scores * launch.needs.score_cost.in_calls) == (gpu.id == "h200"));
  }
}

TEST_CASE(
    "schedule: an operation waits for the landing or the product that its token names, and a load also for other operations") {
  int landings = 0, products = 0, buffers = 0;
  const GpuSpec gpu = h200_gpu();
  for_each_launch(gpu, DataType::fp16, [&](const TileProgram& program, int number) {
    const LaunchSpec& launch = program.launches()[static_cast<std::size_t>(number)];
    if (launch.persistent) return;
    ScheduleBuilder builder(gpu, program.problem());
    builder.begin_launch(launch.needs);
    BlockOperations block;
    BlockSchedule schedule;
    program.emit_block(number, launch.blocks() - 1, block);
    builder.build(block, schedule);
    const std::vector<std::int32_t> waited = waited_for(block);
    for (const OperationStream& stream : schedule.groups) {
      std::size_t signals = 0;
      std::vector<std::int32_t> moments(block.operations.size(), -1);
      for (std::size_t i = 0; i < stream.loads.size(); ++i)
        moments[static_cast<std::size_t>(stream.op_of_load[i])] = OperationStream::landing(i);
      for (std::size_t i = 0; i < stream.compute.size(); ++i)
        if (stream.compute[i].signals()) moments[static_cast<std::size_t>(stream.op_of_compute[i])] = stream.signal(signals++);
      CHECK(stream.signals == signals);
      const auto check = [&](std::int32_t at, std::int32_t moment, bool is_load, bool waits_for_token) {
        const std::int32_t on = waited[static_cast<std::size_t>(at)];
        CAPTURE(at);
        if (waits_for_token || on < 0) {  // of another group
          CHECK(moment == OperationStream::at_once);
          return;
        }
        const Operation& awaited = block.operations[static_cast<std::size_t>(on)];
        // Operations of a group are in order, except those that it does not wait for: loads, products and additions by TMA.
        const bool matters =
            is_load || awaited.kind == OpKind::load || awaited.asynchronous || is_bulk_addition(awaited, block, launch.needs);
        CHECK(moment == (matters ? moments[static_cast<std::size_t>(on)] : OperationStream::at_once));
        ++(!matters ? landings : is_load ? buffers : awaited.kind == OpKind::load ? landings : products);
      };
      for (std::size_t i = 0; i < stream.compute.size(); ++i)
        check(stream.op_of_compute[i], stream.compute[i].wait, false,
              !stream.tokens_of_compute.empty() && stream.tokens_of_compute[i].wait >= 0);
      for (std::size_t i = 0; i < stream.loads.size(); ++i)
        check(stream.op_of_load[i], stream.loads[i].after, true,
              !stream.tokens_of_loads.empty() && stream.tokens_of_loads[i].wait >= 0);
    }
  });
  CHECK(landings > 100);
  CHECK(products > 10);
  CHECK(buffers > 10);
}

TEST_CASE("schedule: a block's loads and stores are its tiles, wherever the block lies") {
  const GpuSpec gpu = h200_gpu();
  for (const ProgramInfo& info : program_table()) {
    CAPTURE(info.id);
    AttentionProblem problem = {.batch = 2, .heads = 4, .kv_heads = 2, .seq_q = 80, .seq_kv = 112, .head_dim = 16};
    for (const bool causal : {false, true}) {
      problem.causal = causal;
      if (causal) problem.seq_kv = problem.seq_q;
      const auto program = info.make(problem, {16, 32}, gpu);
      if (!program) continue;
      for (const LaunchSpec& launch : (*program)->launches()) {
        const auto number = static_cast<int>(&launch - (*program)->launches().data());
        ScheduleBuilder builder(gpu, problem);
        builder.begin_launch(launch.needs, launch.persistent);
        BlockOperations block;
        BlockSchedule schedule;
        for (std::int64_t b = 0; b < launch.blocks(); ++b) {
          (*program)->emit_block(number, b, block);
          builder.build(block, schedule);
          const BlockOrigin from = builder.origin(block.domain);
          const auto is_tile = [&](const ScheduledAccess& access, const Operation& op) {
            const TileRef& tile = op.tile;
            return access.plane + from.plane_of(tile.tensor) == tile.plane && access.row + from.row_of(tile.tensor) == tile.row &&
                   access.col + from.col_of(tile.tensor) == tile.col;
          };
          std::size_t moved = 0, in_streams = 0;
          bool right = true;
          for (const OperationStream& stream : schedule.groups) {
            for (std::size_t i = 0; i < stream.loads.size(); ++i)
              right = right && is_tile(stream.loads[i], block.operations[static_cast<std::size_t>(stream.op_of_load[i])]);
            std::size_t stored = 0;
            for (const std::int32_t each : stream.op_of_compute) {
              const Operation& op = block.operations[static_cast<std::size_t>(each)];
              if (writes_memory(op.kind)) right = right && is_tile(stream.stores[stored++], op);
            }
            CHECK(stored == stream.stores.size());
            in_streams += stream.loads.size() + stored;
          }
          for (const Operation& op : block.operations) moved += moves_tile(op.kind) ? 1 : 0;
          CHECK(moved == in_streams);
          CHECK(right);
        }
      }
    }
  }
}
