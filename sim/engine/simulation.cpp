// Checks a request, runs its program launch by launch, and sums up.
#include "sim/engine/simulation.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/refuse.h"
#include "sim/core/text.h"
#include "sim/engine/machine.h"
#include "sim/engine/recorded_trace.h"
#include "sim/engine/run_program.h"
#include "sim/programs/occupancy.h"
#include "sim/programs/tensor_layout.h"

namespace tilescope {

namespace {

constexpr double largest_schedule_bytes = 2e9;  // host memory that the schedules may take

/// Formats decimal units, as HBM capacity is sold: "137.4 GB".
std::string decimal_bytes(double bytes) {
  constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < std::size(units); ++unit) bytes /= 1000;
  return fmt::format("{:.4g} {}", bytes, units[unit]);
}

Sentence list_of(const std::vector<Tensor>& tensors) {
  std::vector<std::string_view> names;
  for (const Tensor tensor : tensors) names.push_back(to_string(tensor));
  return listed(names);
}

/// Returns the tensors that the program has in HBM, in the order of their declaration.
std::vector<Tensor> tensors_of(const TileProgram& program) {
  std::vector<Tensor> found;
  for (Tensor tensor : program.tensors())
    if (program.schema().reads(tensor) || program.schema().writes(tensor)) found.push_back(tensor);
  return found;
}

Status check_gpu(const SimulationRequest& request) {
  const GpuSpec& gpu = request.gpu;
  if (gpu.sm_count < 1 || gpu.sm_clock_hz <= 0)
    return refuse("GPU '{}' has {:g} SMs at {:g} Hz: it needs at least one SM and a clock", gpu.id, gpu.sm_count, gpu.sm_clock_hz);
  if (Status status = check(gpu); !status) return status;
  if (request.focus_sm < 0 || request.focus_sm >= static_cast<int>(gpu.sm_count))
    return refuse("there is no SM {}: {} has SMs 0 to {}", request.focus_sm, gpu.id, static_cast<int>(gpu.sm_count) - 1);
  return Done{};
}

/// Refuses a number of stages for a kernel without a ring of buffers.
Status check_stages(const TileProgram& program, const ProgramInfo& info) {
  const std::int64_t asked = program.tile().stages;
  if (asked == 0 || std::any_of(program.launches().begin(), program.launches().end(),
                                [&](const LaunchSpec& launch) { return launch.needs.stages == asked; }))
    return Done{};
  return refuse("{} is {}, but {} has no ring of buffers: leave {} out", Setting::stages, asked, info.id, Setting::stages);
}

Sentence name_of(Occupancy::Limit limit) {
  switch (limit) {
    case Occupancy::Limit::blocks:
      return "sm.max_blocks";
    case Occupancy::Limit::threads:
      return phrase("threads");
    case Occupancy::Limit::registers:
      return phrase("registers");
    case Occupancy::Limit::shared:
      return phrase("shared memory");
  }
  return "";
}

/// Returns the blocks per SM of each launch. Sets the request's number to the largest of them if it has none.
Result<std::vector<int>> blocks_per_sm(SimulationRequest& request, const TileProgram& program) {
  std::vector<int> fits;
  Occupancy most;
  for (const LaunchSpec& launch : program.launches()) {
    const Result<Occupancy> found = occupancy(program, launch, request.gpu);
    if (!found) return found.error();
    fits.push_back(found->blocks_per_sm);
    if (found->blocks_per_sm > most.blocks_per_sm) most = *found;
  }
  const int asked = request.blocks_per_sm.value_or(most.blocks_per_sm);
  if (asked < 1) return refuse("{} is {}: it must be at least 1", Setting::blocks_per_sm, asked);
  if (asked > most.blocks_per_sm)
    return refuse("{} is {}, but {} of {} with tile {}x{} fit an SM of {} (what runs out is {}): use at most {}, or a smaller tile",
                  Setting::blocks_per_sm, asked,
                  most.blocks_per_sm == 1 ? phrase("1 block") : phrase("{} blocks", most.blocks_per_sm), request.algorithm,
                  program.tile().block_q, program.tile().block_kv, request.gpu.id, name_of(most.limit), most.blocks_per_sm);
  request.blocks_per_sm = asked;
  for (int& fit : fits) fit = std::min(fit, asked);
  return fits;
}

double bytes_in_hbm(const TileProgram& program, const AttentionProblem& problem) {
  double bytes = 0;
  for (Tensor tensor : tensors_of(program))
    bytes += static_cast<double>(memory_layout(problem, program.tile(), tensor).bytes().value);
  return bytes;
}

Status add_memory(Simulation& simulation, const TensorLayouts& layouts) {
  std::vector<Tensor> extra;
  for (Tensor tensor : tensors_of(*simulation.program)) {
    const Bytes bytes = layouts[tensor.index()].bytes();
    simulation.peak_hbm += bytes;
    if (!is_extra(tensor)) continue;
    simulation.extra_hbm += bytes;
    extra.push_back(tensor);
  }
  const SimulationRequest& request = simulation.request;
  const auto needed = static_cast<double>(simulation.peak_hbm.value);
  if (needed <= request.gpu.hbm_capacity_bytes) return Done{};
  const TileProgram& program = *simulation.program;
  const AttentionProblem& problem = program.problem();
  const auto fits = [&](const AttentionProblem& other) { return bytes_in_hbm(program, other) <= request.gpu.hbm_capacity_bytes; };
  if (problem.page_size > 0)
    if (const auto page_size = page_size_that_fits(problem, program.tile(), fits))
      return refuse("{} needs {} of HBM, because pages of {} keys are not filled; {} has {}: use {} {}", request.algorithm,
                    decimal_bytes(needed), problem.page_size, request.gpu.id, decimal_bytes(request.gpu.hbm_capacity_bytes),
                    Setting::page_size, *page_size);
  const Sentence of_it =
      extra.empty() ? Sentence()
                    : phrase(", {} of it for {}", decimal_bytes(static_cast<double>(simulation.extra_hbm.value)), list_of(extra));
  return refuse("{} needs {} of HBM{}; {} has {}: use a smaller {}, {} or {}", request.algorithm, decimal_bytes(needed), of_it,
                request.gpu.id, decimal_bytes(request.gpu.hbm_capacity_bytes), Setting::batch, Setting::heads,
                longer_sequence(problem));
}

Error too_large(const SimulationRequest& request, double operations, double blocks, double bytes) {
  return refuse(
      "{} with tile {}x{} has blocks of {:.3g} operations, {:g} of them at once: the simulation would need {} of memory "
      "and may take {}; use a larger {} and {} or a smaller {}",
      request.algorithm, request.tile->block_q, request.tile->block_kv, operations, blocks, decimal_bytes(bytes),
      decimal_bytes(largest_schedule_bytes), Setting::block_q, Setting::block_kv, longer_sequence(request.problem));
}

/// Refuses programs whose blocks are so long that their schedules would fill the host's memory. A block of flash1, for example,
/// visits all pairs of tiles.
Status check_size(const SimulationRequest& request, const TileProgram& program, const std::vector<int>& per_sm) {
  const AttentionProblem& p = program.problem();
  const double pairs = static_cast<double>(ceil_div(p.seq_q, program.tile().block_q)) *
                       static_cast<double>(ceil_div(p.seq_kv, program.tile().block_kv)) * static_cast<double>(p.query_planes());
  BlockOperations sample;
  for (std::size_t i = 0; i < per_sm.size(); ++i) {
    const std::int64_t blocks = program.launches()[i].blocks();
    if (blocks < 1) continue;
    const double at_once = std::min(static_cast<double>(blocks), per_sm[i] * request.gpu.sm_count);
    // A first estimate, at about twenty operations per pair of tiles, avoids emitting a block that is far too long.
    const double guess = 20 * pairs / static_cast<double>(blocks);
    if (guess * sizeof(Operation) > largest_schedule_bytes) return too_large(request, guess, 1, guess * sizeof(Operation));
    double operations = 0, bytes = 0;
    for (std::int64_t block : {std::int64_t{0}, blocks - 1}) {
      program.emit_block(static_cast<int>(i), block, sample);
      const auto moves = std::count_if(sample.operations.begin(), sample.operations.end(),
                                       [](const Operation& op) { return moves_tile(op.kind); });
      operations = std::max(operations, static_cast<double>(sample.operations.size()));
      bytes =
          std::max(bytes, static_cast<double>(sample.operations.size() * sizeof(ScheduledOp) +
                                              static_cast<std::size_t>(moves) * (sizeof(ScheduledAccess) + 3 * sizeof(double))));
    }
    if (bytes * at_once > largest_schedule_bytes) return too_large(request, operations, at_once, bytes * at_once);
  }
  return Done{};
}

/// Finds how much of the GPU has a block while launches run.
SmUse use_of_sms(const Simulation& simulation) {
  SmUse use{static_cast<int>(simulation.request.gpu.sm_count)};
  double all_cycles = 0, with_block = 0;
  for (const LaunchResult& launch : simulation.launches) {
    use.with_blocks = std::max(use.with_blocks, launch.sms);
    all_cycles += launch.cycles.value * use.all;
    with_block += launch.sm_cycles;
  }
  use.idle = all_cycles > 0 ? std::max(0.0, 1 - with_block / all_cycles) : 0;
  return use;
}

/// `end`: when the last launch ended. What HBM still writes then is no part of the run. `port_cycles`: by launch, of all SMs, in
/// the busier direction.
void find_bound(Simulation& simulation, const std::vector<OpClass>& classes, const MemorySystem& memory, double end,
                const std::vector<double>& port_cycles) {
  const double cycles = simulation.cycles.value;
  if (cycles <= 0) return;
  std::array<double, bound_count>& use = simulation.utilisation;
  const auto of = [&](Bound bound) -> double& { return use[static_cast<std::size_t>(bound)]; };
  for (const OpClass& c : classes) {
    LaunchResult& launch = simulation.launches[c.launch];
    if (launch.sm_cycles <= 0) continue;
    const double share = static_cast<double>(c.count) / launch.sm_cycles;  // the SMs with a block are averaged
    const auto add = [&](Bound bound, double work) { launch.utilisation[static_cast<std::size_t>(bound)] += work * share; };
    const auto work = [&](Pipe pipe) { return c.work[static_cast<std::size_t>(pipe)]; };
    add(Bound::smem, c.bank_cycles);
    add(Bound::tensor, work(Pipe::tensor));
    add(Bound::exp, work(Pipe::exp));
    add(Bound::fp32, work(Pipe::fp32));
  }
  double ports = 0;
  for (std::size_t i = 0; i < simulation.launches.size(); ++i) {
    LaunchResult& launch = simulation.launches[i];
    const double part = launch.cycles.value / cycles;  // of the run
    for (std::size_t bound = 0; bound < bound_count; ++bound) use[bound] += launch.utilisation[bound] * part;
    if (launch.sm_cycles > 0) ports += port_cycles[i] / launch.sm_cycles * part;
    if (launch.cycles.value <= 0) continue;
    launch.utilisation[static_cast<std::size_t>(Bound::l2)] = launch.l2_busy_cycles / launch.cycles.value;
    launch.utilisation[static_cast<std::size_t>(Bound::hbm)] = launch.hbm_busy_cycles / launch.cycles.value;
  }
  const GpuSpec& gpu = simulation.request.gpu;
  const auto read = static_cast<double>(simulation.ledger.total(Link::l2_to_sm).value);
  const double whole = gpu.has_l2() && gpu.l2_bytes_per_cycle > 0 ? read / gpu.l2_bytes_per_cycle : 0;
  simulation.l2 = {Bytes(std::llround(memory.l2_looked_up_bytes())), memory.l2_busy_cycles() / cycles,
                   std::max(whole, memory.l2_write_busy_cycles()) / cycles, ports};
  of(Bound::l2) = std::max(simulation.l2.lookups, simulation.l2.ports);
  of(Bound::hbm) = memory.hbm_use(end).busy_cycles / cycles;
  const auto most = std::max_element(use.begin(), use.end());
  simulation.bound = *most > 0.5 ? static_cast<Bound>(most - use.begin()) : Bound::latency;
}

}  // namespace

std::string_view to_string(Bound bound) {
  return bound_names[static_cast<std::size_t>(bound)];
}

TensorUse use_of(const TileProgram& program) {
  TensorUse use{.tensors = tensors_of(program), .comes_back = false, .pages = page_table_of(program.problem())};
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

Result<std::vector<int>> prepare(SimulationRequest& request, const ProgramInfo& info,
                                 const std::shared_ptr<const TileProgram>& program, Simulation& simulation) {
  if (const Status status = check_gpu(request); !status) return status.error();
  if (const std::string fault = program->schema().fault(); !fault.empty())
    return refuse("{} declares its tensors wrongly: {}", info.id, fault);
  request.tile = program->tile();
  Result<std::vector<int>> per_sm = blocks_per_sm(request, *program);
  if (!per_sm) return per_sm.error();
  simulation.request = request;
  simulation.info = &info;
  simulation.program = program;
  const TensorLayouts layouts = memory_layouts(program->problem(), program->tile(), program->tensors());
  if (const Status status = add_memory(simulation, layouts); !status) return status.error();
  if (const Status status = check_size(request, *program, *per_sm); !status) return status.error();
  return per_sm;
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
  const Cycles gap = to_cycles(Nanoseconds(request.gpu.launch_overhead_ns), request.gpu.clock());
  const Cycles interval = to_cycles(Nanoseconds(request.gpu.launch_interval_ns), request.gpu.clock());
  const double share = 1.0 / static_cast<double>(launches.size());
  std::vector<LaunchTime> times;
  std::vector<double> port_cycles;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    // A kernel starts when the host has launched it and the previous one has ended.
    const double start = i == 0 ? 0 : std::max(times.back().end + gap.value, static_cast<double>(i) * interval.value);
    const HbmUse before = memory.hbm_use(start);
    const double in_before = memory.port_in_busy_cycles(), out_before = memory.port_out_busy_cycles();
    const double read_before = memory.l2_read_busy_cycles(), write_before = memory.l2_write_busy_cycles();
    const Result<double> end =
        machine.run_launch(static_cast<int>(i), (*per_sm)[i], start, progress, share * static_cast<double>(i), share);
    if (!end) return end.error();
    times.push_back({start, *end});
    const HbmUse after = memory.hbm_use(*end);
    const LaunchSpec& launch = launches[i];
    const double slots = (*per_sm)[i] * request.gpu.sm_count;
    const double sm_cycles = machine.sm_cycles();
    port_cycles.push_back(std::max(memory.port_in_busy_cycles() - in_before, memory.port_out_busy_cycles() - out_before));
    const double a_port = sm_cycles > 0 ? port_cycles.back() * (*end - start) / sm_cycles : 0;
    simulation->launches.push_back({.name = std::string(launch.name),
                                    .blocks = launch.blocks(),
                                    .threads = launch.needs.threads,
                                    .shared_bytes = launch.needs.shared_bytes,
                                    .blocks_per_sm = (*per_sm)[i],
                                    .waves = static_cast<double>(launch.blocks()) / slots,
                                    .cycles = Cycles(*end - start),
                                    .hbm_bytes = after.bytes - before.bytes,
                                    .hbm_busy_cycles = after.busy_cycles - before.busy_cycles,
                                    .l2_busy_cycles = std::max({memory.l2_read_busy_cycles() - read_before,
                                                                memory.l2_write_busy_cycles() - write_before, a_port}),
                                    .sms = machine.sms_with_blocks(),
                                    .sm_cycles = sm_cycles});
  }

  // The trace starts with the first block, so it does not show the cost of the first launch.
  const double end = times.back().end;
  simulation->cycles = Cycles(end) + to_cycles(Nanoseconds(request.gpu.launch_first_ns), request.gpu.clock());
  simulation->time = to_nanoseconds(simulation->cycles, request.gpu.clock());
  count_operations(*simulation, builder.classes(), {});
  for (const OpClass& c : builder.classes()) simulation->launches[c.launch].flops += c.count * c.flops;
  simulation->sms = use_of_sms(*simulation);
  find_bound(*simulation, builder.classes(), memory, times.back().end, port_cycles);
  const CacheContents contents = memory.contents();
  simulation->hbm_write_after_flush = simulation->ledger.total(Link::hbm_write);
  for (std::int64_t bytes : contents.dirty) simulation->hbm_write_after_flush += Bytes(bytes);
  const Bytes counted = simulation->ledger.total(Link::hbm_read) + simulation->ledger.total(Link::hbm_write);
  simulation->hbm_write_queued = Bytes(counted.value - std::llround(memory.hbm_use(end).bytes));
  simulation->trace = std::make_unique<RecordedTrace>(recorder.finish(end, std::move(times), simulation->ledger.table(), contents));
  return std::shared_ptr<const Simulation>(std::move(simulation));
}

bool is_extra(Tensor tensor) {
  const bool asked_for = tensor->meaning == Meaning::query || tensor->meaning == Meaning::key ||
                         tensor->meaning == Meaning::value || tensor->meaning == Meaning::output;
  return !asked_for || tensor->type.has_value();  // an fp32 accumulator of a gradient is extra
}

Status settle_program(SimulationRequest& request) {
  const Result<const ProgramInfo*> info = find_program(request.algorithm, request.problem.pass);
  if (!info) return info.error();
  request.algorithm = std::string((*info)->id);
  request.problem.pass = (*info)->pass;
  return Done{};
}

std::optional<ProgramTile> chosen_tile(const SimulationRequest& request) {
  const Result<const ProgramInfo*> info = find_program(request.algorithm, request.problem.pass);
  if (!request.tile && (!info || !check(request.problem))) return std::nullopt;
  ProgramTile tile = request.tile ? *request.tile : ProgramTile((*info)->default_tile(request.problem, request.gpu));
  if (!request.tile && (*info)->pass == Pass::both)
    tile.forward = (*find_program((*info)->forward))->default_tile(request.problem, request.gpu);
  tile.key_order = request.key_order;
  return tile;
}

Result<PlannedRun> plan_run(const SimulationRequest& asked, const Progress& progress) {
  if (const Status status = check(asked.problem); !status) return status.error();
  SimulationRequest request = asked;
  if (const Status status = settle_program(request); !status) return status.error();
  const auto go_on = [&progress] { return !progress || progress(0); };
  if (const Status status = settle_masks(request.masking, request.problem, {.go_on = go_on}); !status) return status.error();
  const Result<const ProgramInfo*> info = find_program(request.algorithm, request.problem.pass);
  if (const Status status = check_gpu(request); !status) return status.error();
  Result<std::unique_ptr<TileProgram>> program = (*info)->make(request.problem, *chosen_tile(request), request.gpu);
  if (!program) return program.error();
  const ProgramInfo& row = row_for(**info, request.problem);
  if (const Status status = check_stages(**program, row); !status) return status.error();
  return PlannedRun{std::move(request), &row, std::move(*program)};
}

Result<std::shared_ptr<const Simulation>> simulate(const SimulationRequest& asked, const Progress& progress) {
  const Result<PlannedRun> plan = plan_run(asked, progress);
  if (!plan) return plan.error();
  return run_program(plan->request, *plan->info, plan->program, progress);
}

}  // namespace tilescope
