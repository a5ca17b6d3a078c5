// Checks a request against its GPU: SMs, stages, occupancy, HBM and the host's memory.
#include "sim/engine/run_checks.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "sim/core/page_table.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"
#include "sim/engine/schedule.h"
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
  names.reserve(tensors.size());
  for (const Tensor tensor : tensors) names.push_back(to_string(tensor));
  return listed(names);
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
  for (Tensor tensor : tensors_in_hbm(program))
    bytes += static_cast<double>(memory_layout(problem, program.tile(), tensor).bytes().value);
  return bytes;
}

Status add_memory(Simulation& simulation, const TensorLayouts& layouts) {
  std::vector<Tensor> intermediates;
  for (Tensor tensor : tensors_in_hbm(*simulation.program)) {
    const Bytes bytes = layouts[tensor.index()].bytes();
    simulation.peak_hbm += bytes;
    if (!is_intermediate(tensor)) continue;
    simulation.extra_hbm += bytes;
    intermediates.push_back(tensor);
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
      intermediates.empty()
          ? Sentence()
          : phrase(", {} of it for {}", decimal_bytes(static_cast<double>(simulation.extra_hbm.value)), list_of(intermediates));
  if (request.gpu.set_by_user("hbm.capacity_bytes"))
    return refuse("{} needs {} of HBM{}; {} has {}, as set: use a larger hbm.capacity_bytes", request.algorithm,
                  decimal_bytes(needed), of_it, request.gpu.id, decimal_bytes(request.gpu.hbm_capacity_bytes));
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

}  // namespace

std::vector<Tensor> tensors_in_hbm(const TileProgram& program) {
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

Status check_stages(const TileProgram& program, const ProgramInfo& info) {
  const std::int64_t asked = program.tile().stages;
  if (asked == 0 || std::any_of(program.launches().begin(), program.launches().end(),
                                [&](const LaunchSpec& launch) { return launch.needs.stages == asked; }))
    return Done{};
  return refuse("{} is {}, but {} has no ring of buffers: leave {} out", Setting::stages, asked, info.id, Setting::stages);
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

}  // namespace tilescope
