// Runs a program launch by launch, and sums up.
#include "sim/engine/run_program.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "sim/engine/busy_shares.h"
#include "sim/engine/machine.h"
#include "sim/engine/recorded_trace.h"
#include "sim/engine/run_checks.h"
#include "sim/programs/tensor_layout.h"

namespace tilescope {

namespace {

/// What the memory has done up to a moment.
struct MemoryWork {
  HbmUse hbm;
  double port_in = 0, port_out = 0, l2_read = 0, l2_write = 0;  // busy cycles; those of the ports are summed over SMs
};

MemoryWork work_of(const MemorySystem& memory, double cycle) {
  return {memory.hbm_use(cycle), memory.port_in_busy_cycles(), memory.port_out_busy_cycles(), memory.l2_read_busy_cycles(),
          memory.l2_write_busy_cycles()};
}

/// Returns the busy cycles of the SMs' ports in the busier direction.
double port_cycles_between(const MemoryWork& before, const MemoryWork& after) {
  return std::max(after.port_in - before.port_in, after.port_out - before.port_out);
}

/// Describes a launch that `machine` has just run, without the work of its operations.
LaunchResult result_of(const LaunchSpec& launch, int blocks_per_sm, const GpuSpec& gpu, const LaunchTime& time,
                       const Machine& machine, const MemoryWork& before, const MemoryWork& after) {
  const double slots = blocks_per_sm * gpu.sm_count, cycles = time.end - time.start, sm_cycles = machine.sm_cycles();
  const double a_port = sm_cycles > 0 ? port_cycles_between(before, after) * cycles / sm_cycles : 0;
  return {.name = std::string(launch.name),
          .blocks = launch.blocks(),
          .threads = launch.needs.threads,
          .shared_bytes = launch.needs.shared_bytes,
          .blocks_per_sm = blocks_per_sm,
          .waves = static_cast<double>(launch.blocks()) / slots,
          .cycles = Cycles(cycles),
          .hbm_bytes = after.hbm.bytes - before.hbm.bytes,
          .hbm_busy_cycles = after.hbm.busy_cycles - before.hbm.busy_cycles,
          .l2_busy_cycles = std::max({after.l2_read - before.l2_read, after.l2_write - before.l2_write, a_port}),
          .sms = machine.sms_with_blocks(),
          .sm_cycles = sm_cycles};
}

}  // namespace

TensorUse use_of(const TileProgram& program) {
  TensorUse use{.tensors = tensors_in_hbm(program), .comes_back = false, .pages = page_table_of(program.problem())};
  std::array<bool, most_tensors> loaded{}, stored{};
  BlockOperations block;
  for (std::size_t n = 0; n < program.launches().size(); ++n) {
    const auto launch = static_cast<int>(n);
    const auto has_operations = [&](std::int64_t number) {
      program.emit_block(launch, number, block);
      for (const Operation& op : block.operations) {
        if (op.kind == OpKind::load) loaded[op.tile.tensor.index()] = true;
        if (writes_memory(op.kind)) stored[op.tile.tensor.index()] = true;
      }
      return !block.operations.empty();
    };
    // A mask can leave the blocks at either end without work.
    const std::int64_t blocks = program.launches()[n].blocks();
    std::int64_t first = 0, last = blocks - 1;
    while (first < blocks && !has_operations(first)) ++first;
    while (last > first && !has_operations(last)) --last;
  }
  for (std::size_t t = 0; t < most_tensors; ++t) use.comes_back = use.comes_back || (loaded[t] && stored[t]);
  return use;
}

void count_operations(Simulation& simulation, const std::vector<OpClass>& classes, DeviceId device) {
  for (const OpClass& c : classes) {
    simulation.flops += c.count * c.flops;
    simulation.exps += c.count * c.exps;
    const auto add = [&](Tensor tensor, Link link, std::int64_t bytes) {
      if (bytes != 0) simulation.ledger.add(c.launch, tensor, link, c.line, c.count * bytes, device);
    };
    if (reads_memory(c.kind)) add(c.tensor, Link::l2_to_sm, c.bytes);
    if (c.unit == Unit::store) add(c.tensor, Link::sm_to_l2, c.bytes);
    if (c.kind == OpKind::reduce_add) simulation.reduced += Bytes(c.count * c.bytes);
    for (std::size_t i = 0; i < 2; ++i) add(c.smem_read_tensor[i], Link::smem_read, c.smem_read[i]);
    add(c.smem_write_tensor, Link::smem_write, c.smem_write);
  }
}

double start_of_next(const std::vector<LaunchTime>& launches, const GpuSpec& gpu) {
  if (launches.empty()) return 0;
  const double gap = to_cycles(Nanoseconds(gpu.launch_overhead_ns), gpu.clock()).value;
  const double interval = to_cycles(Nanoseconds(gpu.launch_interval_ns), gpu.clock()).value;
  return std::max(launches.back().end + gap, static_cast<double>(launches.size()) * interval);
}

void set_time(Simulation& simulation, double end) {
  const GpuSpec& gpu = simulation.request.gpu;
  // The trace starts with the first block, so it does not show the cost of the first launch.
  simulation.cycles = Cycles(end) + to_cycles(Nanoseconds(gpu.launch_first_ns), gpu.clock());
  simulation.time = to_nanoseconds(simulation.cycles, gpu.clock());
}

Result<std::shared_ptr<const Simulation>> run_program(SimulationRequest request, const ProgramInfo& info,
                                                      const std::shared_ptr<const TileProgram>& program, const Progress& progress) {
  auto simulation = std::make_shared<Simulation>();
  const Result<std::vector<int>> per_sm = prepare(request, info, program, *simulation);
  if (!per_sm) return per_sm.error();
  const TensorLayouts layouts = memory_layouts(program->problem(), program->tile(), program->tensors());
  const std::span<const LaunchSpec> launches = program->launches();
  simulation->ledger = Ledger(static_cast<int>(launches.size()), static_cast<int>(info.listing.size()), program->tensors());

  ScheduleBuilder builder(request.gpu, program->problem());
  Recorder recorder(static_cast<int>(request.gpu.sm_count), request.focus_sm, program->tensors(), builder, request.also_in_focus);
  if (!request.keeps_intervals) recorder.keep_no_intervals();
  MemorySystem memory(request.gpu, layouts, use_of(*program), builder, simulation->ledger, recorder);
  Machine machine(*program, request, memory, recorder, builder);
  const double share = 1.0 / static_cast<double>(launches.size());
  std::vector<LaunchTime> times;
  std::vector<double> port_cycles;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const double start = start_of_next(times, request.gpu);
    const MemoryWork before = work_of(memory, start);
    const Result<double> end =
        machine.run_launch(static_cast<int>(i), (*per_sm)[i], start, progress, share * static_cast<double>(i), share);
    if (!end) return end.error();
    times.push_back({start, *end});
    const MemoryWork after = work_of(memory, *end);
    port_cycles.push_back(port_cycles_between(before, after));
    simulation->launches.push_back(result_of(launches[i], (*per_sm)[i], request.gpu, times.back(), machine, before, after));
  }

  const double end = times.back().end;
  set_time(*simulation, end);
  count_operations(*simulation, builder.classes(), {});
  for (const OpClass& c : builder.classes()) simulation->launches[c.launch].flops += c.count * c.flops;
  simulation->sms = use_of_sms(*simulation);
  find_bound(*simulation, builder.classes(), memory, end, port_cycles);
  const CacheContents contents = memory.contents();
  simulation->hbm_write_after_flush = simulation->ledger.total(Link::hbm_write);
  for (std::int64_t bytes : contents.dirty) simulation->hbm_write_after_flush += Bytes(bytes);
  const Bytes counted = simulation->ledger.total(Link::hbm_read) + simulation->ledger.total(Link::hbm_write);
  simulation->hbm_write_queued = Bytes(counted.value - std::llround(memory.hbm_use(end).bytes));
  simulation->trace = std::make_unique<RecordedTrace>(recorder.finish(end, std::move(times), simulation->ledger.table(), contents));
  return std::shared_ptr<const Simulation>(std::move(simulation));
}

}  // namespace tilescope
