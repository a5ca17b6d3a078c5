// Compares recordings with what was simulated.
#include "app/model/measurements/find_recorded.h"

#include <algorithm>

#include "app/model/requests/assets.h"
#include "kernels/kernel_table.h"
#include "kernels/measure/measure_case.h"
#include "sim/programs/kernel_needs.h"
#include "sim/programs/occupancy.h"

namespace tilescope {

namespace {

/// Whether blocks started in the kernel's order, as many on an SM as fit.
bool starts_as_kernel(const Simulation& simulation) {
  return simulation.request.block_order == BlockOrder::launch && has_as_many_blocks_as_fit(simulation);
}

/// The tile of a run, without a number of buffers where it is the kernel's own.
ProgramTile kernel_tile(const Simulation& simulation) {
  ProgramTile tile = simulation.program->tile();
  if (tile.stages == 0) return tile;
  ProgramTile usual = tile;
  usual.stages = 0;
  const auto program = simulation.info->make(simulation.request.problem, usual, simulation.request.gpu);
  if (program && own_ring(**program) == tile.stages) tile.stages = 0;
  return tile;
}

/// Whether something recorded is of the kernel, problem and tile that were simulated. Another order of the keys is another kernel;
/// a kernel that chooses one of several is the one that it chooses.
template <class Recorded>
bool is_of_kernel(const Recorded& recorded, const Simulation& simulation) {
  const SimulationRequest& asked = simulation.request;
  const Result<const KernelInfo*> kernel = find_kernel(asked.algorithm, asked.key_order);
  ProgramTile tile = recorded.tile;
  tile.key_order = simulation.program->tile().key_order;  // the rungs to Hopper have one of their own
  if (!kernel || !(recorded.problem == asked.problem) || !(tile == kernel_tile(simulation))) return false;
  return recorded.kernel == (*kernel)->id || recorded.kernel == chosen_by(*simulation.info, asked.problem);
}

/// The same, and of the GPU.
template <class Recorded>
bool is_of(const Recorded& recorded, const Simulation& simulation) {
  return spec_id_of(recorded.device) == simulation.request.gpu.id && is_of_kernel(recorded, simulation);
}

/// Returns whether a recording that names a GPU's id holds for this GPU. A file's GPU may have other numbers under that id; what
/// was measured live was measured on it.
template <class Known>
bool is_recorded_on(const Known& known, const GpuSpec& gpu) {
  return known.live || !has_other_numbers(gpu);
}

bool is_of_gpu(const KnownBundle& known, const GpuSpec& gpu) {
  return known.bundle.gpu == gpu.id && is_recorded_on(known, gpu);
}

}  // namespace

bool has_as_many_blocks_as_fit(const Simulation& simulation) {
  const SimulationRequest& asked = simulation.request;
  if (!asked.blocks_per_sm) return true;
  return std::ranges::all_of(simulation.program->launches(), [&](const LaunchSpec& launch) {
    const auto fits = occupancy(*simulation.program, launch, asked.gpu);
    return !fits || *asked.blocks_per_sm >= fits->blocks_per_sm;
  });
}

std::optional<FoundCase> find_case(const Measurements& measurements, const Simulation& simulation) {
  const SimulationRequest& asked = simulation.request;
  if (!unchanged(asked.gpu) || !starts_as_kernel(simulation)) return std::nullopt;
  for (const auto& known : measurements.bundles) {
    if (!is_of_gpu(*known, asked.gpu)) continue;
    const auto& cases = known->bundle.cases;
    for (std::size_t i = 0; i < cases.size(); ++i)
      if (!cases[i].is_changed() && is_of_kernel(cases[i], simulation)) return FoundCase{known, i};
  }
  return std::nullopt;
}

std::optional<FoundCase> find_case(const Measurements& measurements, const SimulationRequest& request) {
  if (!request.masking.empty() || measurements.bundles.empty()) return std::nullopt;
  const Result<PlannedRun> plan = plan_run(request);
  if (!plan) return std::nullopt;
  Simulation planned;
  planned.request = plan->request;
  planned.info = plan->info;
  planned.program = plan->program;
  return find_case(measurements, planned);
}

const MeasuredCase* find_case_in_any_tile(const Measurements& measurements, const GpuSpec& gpu, std::string_view kernel,
                                          const AttentionProblem& problem) {
  if (!unchanged(gpu)) return nullptr;
  const auto find = [&](std::string_view name) -> const MeasuredCase* {
    for (const auto& known : measurements.bundles) {
      if (!is_of_gpu(*known, gpu)) continue;
      for (const MeasuredCase& measured : known->bundle.cases)
        if (!measured.is_changed() && measured.kernel == name && measured.problem == problem) return &measured;
    }
    return nullptr;
  };
  if (const MeasuredCase* const own = find(kernel)) return own;
  const auto row = find_program(kernel);
  return row ? find(chosen_by(**row, problem)) : nullptr;
}

double recorded_lookups(const Measurements& measurements, const SimulationRequest& request) {
  SimulationRequest real = request;
  if (!take_unchanged(real.gpu)) return 0;
  const auto found = find_case(measurements, real);
  if (!found) return 0;
  const auto& counters = found->measured().counters;
  const auto lookups = counters.find("l2_lookup_read_bytes");
  return lookups == counters.end() ? 0 : lookups->second.median;
}

std::vector<std::shared_ptr<const KnownProbe>> find_probes(const Measurements& measurements, const Simulation& simulation) {
  std::vector<std::shared_ptr<const KnownProbe>> found;
  if (!unchanged(simulation.request.gpu) || !starts_as_kernel(simulation)) return found;
  for (const auto& known : measurements.probes)
    if (is_of(known->probe, simulation) && is_recorded_on(*known, simulation.request.gpu)) found.push_back(known);
  return found;
}

std::shared_ptr<const KnownBandwidth> find_bandwidth(const Measurements& measurements, const Simulation& simulation) {
  if (!unchanged(simulation.request.gpu) || !starts_as_kernel(simulation)) return nullptr;
  for (const auto& known : measurements.bandwidths)
    if (is_of(known->record, simulation) && is_recorded_on(*known, simulation.request.gpu)) return known;
  return nullptr;
}

}  // namespace tilescope
