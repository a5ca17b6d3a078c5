// Chooses a clock from recordings, and simulates at it.
#include "app/model/measurements/clock_under_load.h"

#include <array>

#include <fmt/format.h>

#include "app/model/measurements/find_recorded.h"
#include "app/model/requests/assets.h"
#include "app/model/requests/own_tile.h"
#include "kernels/kernel_table.h"
#include "sim/analysis/format.h"
#include "sim/core/refuse.h"
#include "sim/programs/kernel_needs.h"

namespace tilescope {

bool clock_is_users(const GpuSpec& gpu) {
  return gpu.set_by_user("sm.clock_hz");
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

namespace {

/// The clock that is known before anything is simulated: the user's, or that of a recording of this very run.
std::optional<ClockUnderLoad> known_clock(const GpuSpec& gpu, const std::optional<FoundCase>& found) {
  if (gpu.set_by_user("sm.clock_under_load_hz")) return ClockUnderLoad{gpu.sm_clock_under_load_hz, ClockUnderLoad::From::set};
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
  AsItStands kernel{variant};
  kernel.other_gpu = !unchanged(variant.gpu) && take_unchanged(kernel.request.gpu);
  take_own_tile(kernel.request);
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

Result<std::optional<ClockUnderLoad>> clock_before_simulating(const SimulationRequest& request, const Recordings& recordings,
                                                              const Progress& progress) {
  if (clock_is_users(request.gpu)) return std::optional<ClockUnderLoad>();
  if (auto clock = known_clock(request.gpu, find_case(recordings.known, request))) return clock;
  AsItStands kernel = as_it_stands(request);
  if (recordings.runs.empty() || !kernel.is_changed()) return std::optional<ClockUnderLoad>();
  // The clock of a variant is that of its kernel, whatever the variant takes at the highest one.
  kernel.request.blocks_per_sm.reset();
  auto clock = clock_of(kernel, recordings, progress);
  if (is_cancelled(progress)) return simulation_cancelled();
  return clock;
}

bool may_slow(const Recordings& recordings, const GpuSpec& gpu) {
  return !clock_is_users(gpu) && (!recordings.known.bundles.empty() || !recordings.runs.empty() || gpu.sm_clock_under_load_hz > 0);
}

Sentence clock_of_file_sentence(std::string_view source, const GpuSpec& gpu, const Recordings& recordings) {
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

}  // namespace tilescope
