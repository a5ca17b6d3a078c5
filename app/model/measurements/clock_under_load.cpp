// Chooses a clock from recordings, and simulates at it.
#include "app/model/measurements/clock_under_load.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "app/model/background/parallel.h"
#include "app/model/requests/assets.h"
#include "kernels/kernel_table.h"
#include "kernels/measure/timing.h"
#include "sim/analysis/format.h"
#include "sim/analysis/roofline.h"
#include "sim/core/refuse.h"
#include "sim/masks/block_mask.h"
#include "sim/programs/kernel_needs.h"

namespace tilescope {

namespace {

bool is_users(const GpuSpec& gpu, std::string_view key) {
  const auto from = gpu.provenance.find(std::string(key));
  return from != gpu.provenance.end() && from->second.source == Source::user;
}
bool clock_is_users(const GpuSpec& gpu) {
  return is_users(gpu, "sm.clock_hz");
}

/// How a GPU stands to the shipped one whose id it has, but for values that the user set: a file of one's own may have other
/// numbers. `same_chip`: as many SMs and the same highest clock.
enum class Namesake : std::uint8_t { same, same_chip, other };
Namesake namesake_of(const GpuSpec& gpu) {
  const Result<GpuSpec> named = is_gpu_file(gpu.id) ? Result<GpuSpec>(Error{}) : load_gpu(gpu.id);
  if (!named) return Namesake::same;  // there is no other
  const auto is_same = [&](const SpecKey& key) { return gpu.*key.member == (*named).*key.member || is_users(gpu, key.key); };
  if (std::ranges::all_of(spec_keys(), is_same)) return Namesake::same;
  return gpu.sm_count == named->sm_count && gpu.sm_clock_hz == named->sm_clock_hz ? Namesake::same_chip : Namesake::other;
}

}  // namespace

/// In partial blocks; an evaluation takes about 3 ns.
constexpr std::int64_t most_elements_evaluated = std::int64_t{1} << 27;

double useful_flops(const Simulation& simulation) {
  const AttentionProblem& problem = simulation.request.problem;
  const auto kernel = find_kernel(simulation.info->id);
  if (!kernel || problem.pass == Pass::both) return static_cast<double>(simulation.flops);
  if (!problem.mask) return useful_flops(**kernel, problem);
  AttentionProblem dense = problem;
  dense.mask = nullptr;
  dense.causal = false;
  const BlockMask blocks = block_mask_of(*problem.mask, problem, mask_block_of(problem, simulation.program->tile()));
  const std::int64_t evaluated = blocks.partial_blocks * blocks.block.block_q * blocks.block.block_kv;
  if (evaluated > most_elements_evaluated) return 0;
  const double elements = static_cast<double>(problem.query_planes()) * static_cast<double>(problem.seq_q * problem.seq_kv);
  return nominal_flops(**kernel, dense) * static_cast<double>(visible_elements(*problem.mask, blocks, problem)) / elements;
}

TensorLoad load_of(const Simulation& simulation) {
  // Under a mask the tensor cores compute the visited tiles, whatever is visible in them.
  const bool masked = simulation.request.problem.mask != nullptr;
  return {product_instruction(simulation), masked ? static_cast<double>(simulation.flops) : useful_flops(simulation),
          simulation.cycles.value};
}

std::string_view to_string(ClockUnderLoad::From from) {
  constexpr std::array<std::string_view, 4> names = {"this_case", "like_runs", "calibration", "set"};
  return names[static_cast<std::size_t>(from)];
}

std::string origin_text(const ClockUnderLoad& clock) {
  const std::string where = fmt::format("{}{}", clock.of_own_tile ? " with the kernel's own tile and orders" : "",
                                        clock.of_unchanged ? " on the unchanged GPU" : "");
  switch (clock.from) {
    case ClockUnderLoad::From::this_case:
      return fmt::format("as recorded for this run{}", where);
    case ClockUnderLoad::From::like_runs:
      return clock.runs == 1 ? fmt::format("that of the recorded run nearest in load{}", where)
                             : fmt::format("the mean of {} recorded runs around its load{}", clock.runs, where);
    case ClockUnderLoad::From::calibration:
      return "as calibrated under products of mma.sync and exponentials";
    case ClockUnderLoad::From::set:
      return "as set";
  }
  return "";
}

Recordings recordings_of(const Measurements& known, const GpuSpec& gpu) {
  switch (namesake_of(gpu)) {
    case Namesake::same:
      return {known, recorded_runs(known, gpu)};
    case Namesake::same_chip:
      return {{}, recorded_runs(known, gpu)};
    case Namesake::other:
      return {};
  }
  return {};
}

Recordings load_recordings(const GpuSpec& gpu) {
  return recordings_of(load_measurements_of(gpu.id), gpu);
}

Sentence clock_of_file(std::string_view source, const GpuSpec& gpu, const Recordings& recordings) {
  if (!is_gpu_file(source)) return {};
  if (!recordings.known.bundles.empty())
    return phrase("This file has the numbers of {}, so its times have the clocks and the errors of recorded runs of {}.", gpu.id,
                  gpu.id);
  if (!recordings.runs.empty())
    return phrase(
        "This file is of an {} with other numbers. Recorded runs lend it their clocks; the errors of its times are unknown.",
        gpu.id);
  if (gpu.slows_under_load())
    return phrase("No run is recorded on the GPU of this file, so its times are at {}, its sm.clock_under_load_hz.",
                  format_clock(gpu.sm_clock_under_load_hz));
  return phrase(
      "No clock under load is known of the GPU of this file, so its times are at {}, the highest. Give it sm.clock_under_load_hz.",
      format_clock(gpu.sm_clock_hz));
}

namespace {

bool is_cancelled(const Progress& progress) {
  return progress && !progress(1);
}
Error cancelled() {
  return {phrase("the simulation was cancelled"), Error::Kind::cancelled};
}

/// The clock that is known before anything is simulated: the user's, or that of a recording of this very run.
std::optional<ClockUnderLoad> known_clock(const GpuSpec& gpu, const std::optional<FoundCase>& found) {
  if (is_users(gpu, "sm.clock_under_load_hz")) return ClockUnderLoad{gpu.sm_clock_under_load_hz, ClockUnderLoad::From::set};
  if (found && found->measured().sm_clock_hz > 0)
    return ClockUnderLoad{found->measured().sm_clock_hz, ClockUnderLoad::From::this_case, 1};
  return std::nullopt;
}

/// The run that a changed one is a variant of: the kernel as it stands, on its GPU without changed values.
struct AsItStands {
  SimulationRequest request;
  bool other_gpu = false, other_tile = false;  // what the variant has changed
  bool is_changed() const { return other_gpu || other_tile; }
};

/// Whether a tile is another one than `own`, the kernel's.
bool is_other_tile(const ProgramTile& tile, const ProgramTile& own, const SimulationRequest& kernel) {
  if (!(TileShape(tile) == TileShape(own))) return true;
  if (tile.stages == 0) return false;
  const auto info = find_program(kernel.algorithm, kernel.problem.pass);
  if (!info) return true;
  const auto program = (*info)->make(kernel.problem, own, kernel.gpu);
  return !program || own_ring(**program) != tile.stages;
}

AsItStands as_it_stands(const SimulationRequest& variant) {
  AsItStands kernel{variant, !unchanged(variant.gpu), false};
  if (kernel.other_gpu) {
    if (auto gpu = load_gpu(variant.gpu.id))
      kernel.request.gpu = std::move(*gpu);
    else
      kernel.other_gpu = false;
  }
  kernel.request.tile.reset();
  kernel.request.block_order = BlockOrder::launch;
  if (!find_kernel(variant.algorithm, variant.key_order)) kernel.request.key_order = KeyOrder::ascending;
  kernel.request.keeps_intervals = false;
  kernel.request.give_up_after_cycles = 0;
  const auto own = chosen_tile(kernel.request), tile = chosen_tile(variant);
  kernel.other_tile = (own && tile && is_other_tile(*tile, *own, kernel.request)) ||
                      variant.block_order != kernel.request.block_order || variant.key_order != kernel.request.key_order;
  return kernel;
}

/// The clock of the kernel as it stands; nullopt where it cannot be simulated or has none.
std::optional<ClockUnderLoad> clock_of(const AsItStands& kernel, const Recordings& recordings, const Progress& progress) {
  const auto made = simulate(kernel.request, progress);
  auto clock = made ? clock_under_load(recordings, **made) : std::nullopt;
  if (clock) clock->of_unchanged = kernel.other_gpu;
  if (clock) clock->of_own_tile = kernel.other_tile;
  return clock;
}

}  // namespace

std::optional<ClockUnderLoad> clock_under_load(const Recordings& recordings, const Simulation& simulation,
                                               const Progress& progress) {
  const GpuSpec& gpu = simulation.request.gpu;
  if (clock_is_users(gpu)) return std::nullopt;
  if (const auto clock = known_clock(gpu, find_case(recordings.known, simulation))) return clock;
  if (!recordings.runs.empty()) {
    AsItStands kernel = as_it_stands(simulation.request);
    const bool has_all_blocks = has_as_many_blocks_as_fit(simulation);
    if (kernel.is_changed() || !has_all_blocks) kernel.request.blocks_per_sm.reset();
    kernel.other_tile = kernel.other_tile || !has_all_blocks;
    if (kernel.is_changed()) {
      if (const auto clock = clock_of(kernel, recordings, progress)) return clock;
      if (is_cancelled(progress)) return std::nullopt;
    }
  }
  // Products in fp32 run on other units, and nothing is recorded of them.
  if (simulation.request.problem.dtype != DataType::fp32)
    if (const auto clock = borrowed_clock(recordings.runs, load_of(simulation)))
      return ClockUnderLoad{clock->hz, ClockUnderLoad::From::like_runs, clock->runs};
  if (gpu.slows_under_load()) return ClockUnderLoad{gpu.sm_clock_under_load_hz, ClockUnderLoad::From::calibration};
  return std::nullopt;
}

bool may_slow(const Recordings& recordings, const GpuSpec& gpu) {
  return !clock_is_users(gpu) && (!recordings.known.bundles.empty() || !recordings.runs.empty() || gpu.sm_clock_under_load_hz > 0);
}

double recorded_lookups(const Recordings& recordings, const SimulationRequest& request) {
  SimulationRequest real = request;
  if (!unchanged(real.gpu)) {
    auto gpu = load_gpu(real.gpu.id);
    if (!gpu) return 0;
    real.gpu = std::move(*gpu);
  }
  const auto found = find_case(recordings.known, real);
  if (!found) return 0;
  const auto& counters = found->measured().counters;
  const auto lookups = counters.find("l2_lookup_read_bytes");
  return lookups == counters.end() ? 0 : lookups->second.median;
}

PredictionErrors prediction_errors(const Recordings& recordings, const Simulation& run,
                                   const std::optional<ClockUnderLoad>& clock) {
  const PredictedRun asked = predicted(run);
  PredictionErrors errors{time_errors_of(recordings.known, asked),
                          {},
                          byte_errors_of(recordings.known, asked, Link::hbm_read),
                          byte_errors_of(recordings.known, asked, Link::hbm_write)};
  if (errors.time && clock && clock->from == ClockUnderLoad::From::like_runs)
    errors.clock = borrowed_clock_errors(recordings.runs, errors.time->kernel);
  return errors;
}

std::optional<RunUnderLoad> run_at(const ClockUnderLoad& clock, const Recordings& recordings, const Simulation& simulation,
                                   const Progress& progress) {
  SimulationRequest request = simulation.request;
  request.gpu.sm_clock_hz = clock.hz;
  request.keeps_intervals = false;
  auto made = simulate(request, progress);
  if (!made) return std::nullopt;
  PredictionErrors errors = prediction_errors(recordings, **made, clock);
  return RunUnderLoad{std::move(*made), clock, find_case(recordings.known, simulation), std::move(errors),
                      probe_time(recordings.known, simulation, progress)};
}

std::optional<RunUnderLoad> run_under_load(const Recordings& recordings, const Simulation& simulation, const Progress& progress) {
  const auto clock = clock_under_load(recordings, simulation, progress);
  return clock ? run_at(*clock, recordings, simulation, progress) : std::nullopt;
}

SimulationRequest at_clock(SimulationRequest request, double clock_hz) {
  if (clock_hz > 0 && !clock_is_users(request.gpu)) request.gpu.sm_clock_hz = clock_hz;
  return request;
}

Result<double> clock_of_comparison(const SimulationRequest& first, const Recordings& recordings, const Progress& progress) {
  SimulationRequest request = first;
  request.keeps_intervals = false;
  request.give_up_after_cycles = 0;
  const auto made = simulate(request, progress);
  if (!made && made.error().kind == Error::Kind::cancelled) return made.error();
  const auto clock = made ? clock_under_load(recordings, **made, progress) : std::nullopt;
  if (!clock && is_cancelled(progress)) return cancelled();
  return clock ? clock->hz : 0;
}

Result<Outcome> simulate_outcome_at(double clock_hz, const SimulationRequest& request, const Recordings& recordings,
                                    const Progress& progress) {
  SimulationRequest totals = at_clock(request, clock_hz);
  totals.keeps_intervals = false;
  const auto simulation = simulate(totals, progress);
  auto outcome = outcome_of(simulation, request);
  if (!simulation) return outcome;
  outcome->useful_flops = useful_flops(**simulation);
  if (const auto found = find_case(recordings.known, **simulation))
    outcome->under_load.recorded_ns = found->measured().time_cold_ns.median;
  return outcome;
}

Result<RankingClock> clock_of_ranking(std::span<const SimulationRequest> requests, const Recordings& recordings, int threads,
                                      const Progress& progress) {
  std::vector<std::shared_ptr<const Simulation>> runs(requests.size());
  std::vector<std::size_t> order(requests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const bool whole = on_cores(order, threads, [&](std::size_t i) {
    SimulationRequest request = requests[i];
    request.keeps_intervals = false;
    request.give_up_after_cycles = 0;
    const auto made = simulate(request, progress);
    if (made) runs[i] = *made;
    return made || made.error().kind != Error::Kind::cancelled;
  });
  if (!whole) return cancelled();
  const Simulation* fastest = nullptr;
  for (const auto& run : runs)
    if (run != nullptr && (fastest == nullptr || run->cycles.value <= fastest->cycles.value)) fastest = run.get();
  if (fastest == nullptr) return RankingClock{};
  const auto clock = clock_under_load(recordings, *fastest, progress);
  if (!clock && is_cancelled(progress)) return cancelled();
  return clock ? RankingClock{clock->hz, fastest->request.algorithm} : RankingClock{};
}

Result<PairUnderLoad> pair_under_load(const Measurements& known, const std::shared_ptr<const Simulation>& first,
                                      const std::shared_ptr<const Simulation>& second, const Progress& progress) {
  const auto own_clock = [&](const Simulation& run) {
    const auto clock = clock_under_load(recordings_of(known, run.request.gpu), run, progress);
    return clock ? clock->hz : 0;
  };
  const auto again = [&](const std::shared_ptr<const Simulation>& run, double hz) -> Result<std::shared_ptr<const Simulation>> {
    SimulationRequest request = at_clock(run->request, hz);
    if (request.gpu.sm_clock_hz == run->request.gpu.sm_clock_hz) return run;
    return simulate(request, progress);
  };
  const bool one_clock = first->request.gpu.id == second->request.gpu.id && !clock_is_users(first->request.gpu);
  const double of_first_hz = own_clock(*first);
  if (of_first_hz <= 0 && is_cancelled(progress)) return cancelled();
  auto of_first = again(first, of_first_hz);
  if (!of_first) return of_first.error();
  auto of_second = again(second, one_clock ? of_first_hz : own_clock(*second));
  if (!of_second) return of_second.error();
  return PairUnderLoad{std::move(*of_first), std::move(*of_second)};
}

Result<Outcome> simulate_outcome_under_load(const SimulationRequest& request, const Recordings& recordings,
                                            const Progress& progress, std::optional<double> common_hz) {
  std::optional<double> hz = common_hz;
  if (clock_is_users(request.gpu)) hz = 0;
  if (!hz)
    if (const auto clock = known_clock(request.gpu, find_case(recordings.known, request))) hz = clock->hz;
  std::shared_ptr<const Simulation> at_highest;
  // The clock of a variant is that of its kernel, whatever the variant takes at the highest one.
  if (AsItStands kernel = as_it_stands(request); !hz && !recordings.runs.empty() && kernel.is_changed()) {
    kernel.request.blocks_per_sm.reset();
    if (const auto clock = clock_of(kernel, recordings, progress)) hz = clock->hz;
    if (is_cancelled(progress)) return cancelled();
  }
  if (!hz) {
    SimulationRequest totals = request;
    totals.keeps_intervals = false;
    const auto made = simulate(totals, progress);
    if (!made) return outcome_of(made, request);
    at_highest = *made;
    const auto clock = clock_under_load(recordings, **made, progress);
    if (is_cancelled(progress)) return cancelled();
    hz = clock ? clock->hz : 0;
  }
  auto outcome = at_highest != nullptr && *hz <= 0 ? Result<Outcome>(outcome_of(*at_highest))
                                                   : simulate_outcome_at(*hz, request, recordings, progress);
  if (!outcome || !outcome->done()) return outcome;
  if (at_highest != nullptr && *hz <= 0) outcome->useful_flops = useful_flops(*at_highest);
  if (*hz > 0) {
    outcome->under_load.clock_hz = at_clock(request, *hz).gpu.sm_clock_hz;
    outcome->under_load.time_ns = outcome->time_ns;
  }
  return outcome;
}

}  // namespace tilescope
