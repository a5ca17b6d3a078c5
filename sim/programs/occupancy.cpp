// What a block takes of an SM, and how many fit.
#include "sim/programs/occupancy.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "sim/core/refuse.h"
#include "sim/core/units.h"

namespace tilescope {

namespace {

constexpr std::int64_t most_block_threads = 1024;

}  // namespace

std::int64_t registers_of_block(const KernelNeeds& needs) {
  const std::int64_t warps = ceil_div(needs.threads, warp_lanes);
  return warps * ceil_div(needs.registers_per_thread * warp_lanes, 256) * 256;
}

std::int64_t reserved_shared_bytes(const GpuSpec& gpu) {
  return static_cast<std::int64_t>(std::clamp(gpu.sm_shared_bytes - gpu.sm_shared_bytes_per_block, 0.0, 1024.0));
}

Sentence why_block_does_not_fit(const KernelNeeds& needs, const GpuSpec& gpu) {
  const auto kib = [](double bytes) { return fmt::format("{:.4g} KiB", bytes / 1024); };
  const double shared = std::min(gpu.sm_shared_bytes, gpu.sm_shared_bytes_per_block);
  const bool is_too_large = static_cast<double>(needs.shared_bytes) > shared;
  if (needs.instruction == ProductInstruction::wgmma && (is_too_large || needs.spills()))
    return phrase("needs {} registers a thread and {} of shared memory; the limits on {} are {} registers and {}",
                  std::max(needs.registers_wanted, needs.registers_per_thread), kib(static_cast<double>(needs.shared_bytes)),
                  gpu.id, needs.registers_limit, kib(shared));
  if (is_too_large)
    return phrase("needs {} of shared memory; {} has {}", kib(static_cast<double>(needs.shared_bytes)), gpu.id, kib(shared));
  const double threads = std::min(gpu.sm_max_threads, static_cast<double>(most_block_threads));
  if (needs.threads > threads) return phrase("needs {} threads a block; {} has {:.0f}", needs.threads, gpu.id, threads);
  const std::int64_t registers = registers_of_block(needs);
  if (static_cast<double>(registers) > gpu.sm_registers)
    return phrase("needs {} registers; an SM of {} has {:.0f}", registers, gpu.id, gpu.sm_registers);
  return {};
}

Result<Occupancy> occupancy(const TileProgram& program, const LaunchSpec& launch, const GpuSpec& gpu) {
  const KernelNeeds& needs = launch.needs;
  // A rate of 0 of mma.sync is a resource that takes no time; of wgmma it is one that is not there.
  if (needs.has_products && needs.instruction == ProductInstruction::wgmma && gpu.product_flops_per_cycle(needs.instruction) <= 0)
    return refuse(
        "the products of {} use wgmma (sm_90), which {} does not have: use a GPU whose sm.wgmma_flops_per_cycle is above 0, as of "
        "h100",
        launch.name, gpu.id);
  const ProgramTile& tile = program.tile();
  if (const Sentence why = why_block_does_not_fit(needs, gpu); !why.empty()) {
    if (tile.stages > 1)
      return refuse("tile {}x{} with {} buffers at head_dim {} {}: use fewer {}, or a smaller {} or {}", tile.block_q,
                    tile.block_kv, tile.stages, program.problem().head_dim, why, Setting::stages, Setting::block_q,
                    Setting::block_kv);
    return refuse("tile {}x{} at head_dim {} {}: use a smaller {} or {}", tile.block_q, tile.block_kv, program.problem().head_dim,
                  why, Setting::block_q, Setting::block_kv);
  }

  const auto fits = [](double available, std::int64_t each) {
    return each > 0 ? static_cast<std::int64_t>(available) / each : std::int64_t{1} << 30;
  };
  using Limit = Occupancy::Limit;
  // A block that fits alone fits once, whatever is reserved beside it.
  const std::int64_t shared = std::max<std::int64_t>(1, fits(gpu.sm_shared_bytes, needs.shared_bytes + reserved_shared_bytes(gpu)));
  const std::array<std::pair<std::int64_t, Limit>, 4> limits = {
      std::pair{static_cast<std::int64_t>(gpu.sm_max_blocks), Limit::blocks},
      std::pair{fits(gpu.sm_max_threads, needs.threads), Limit::threads},
      std::pair{fits(gpu.sm_registers, registers_of_block(needs)), Limit::registers}, std::pair{shared, Limit::shared}};
  const auto least = std::min_element(limits.begin(), limits.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (least->first < 1)
    return refuse("an SM of {} holds {:.0f} blocks: set sm.max_blocks to at least 1", gpu.id, gpu.sm_max_blocks);
  return Occupancy{static_cast<int>(least->first), least->second};
}

}  // namespace tilescope
