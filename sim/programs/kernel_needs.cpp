// Threads, registers, shared memory and default tiles of every kernel.
#include "sim/programs/kernel_needs.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/units.h"

namespace tilescope {

namespace {

constexpr std::int64_t warp_threads = 32;
constexpr std::int64_t rows_of_warp = 16;         // what one tensor-core instruction covers
constexpr std::int64_t most_registers = 255;      // of a thread
constexpr std::int64_t other_registers = 40;      // addresses, fragments, row statistics
constexpr double large_shared_bytes = 99 * 1024;  // what every GPU with kernels of ours has
constexpr std::int64_t most_block_threads = 1024;

std::int64_t warps_for(std::int64_t rows, std::int64_t most) {
  return std::clamp(ceil_div(rows, rows_of_warp), std::int64_t{1}, most);
}

/// Threads and registers of a kernel that keeps `accumulators` fp32 numbers of a tile of `rows` rows in registers.
KernelNeeds needs_for(std::int64_t rows, std::int64_t most_warps, std::int64_t accumulators) {
  const std::int64_t warps = warps_for(rows, most_warps);
  const std::int64_t threads = warps * warp_threads;
  const std::int64_t registers = ceil_div(ceil_div(accumulators, threads) + other_registers, 8) * 8;
  KernelNeeds needs;
  needs.threads = static_cast<int>(threads);
  needs.registers_per_thread = static_cast<int>(std::min(registers, most_registers));
  needs.warps_sharing_rows = static_cast<int>(warps);
  return needs;
}

/// Two buffers of `stage_bytes` beside `fixed_bytes` where they fit, else one.
void set_stages(KernelNeeds& needs, std::int64_t fixed_bytes, std::int64_t stage_bytes, const GpuSpec& gpu) {
  const auto both = static_cast<double>(fixed_bytes + 2 * stage_bytes);
  needs.stages = both <= gpu.sm_shared_bytes_per_block ? 2 : 1;
  needs.shared_bytes = fixed_bytes + needs.stages * stage_bytes;
}

bool is_large(const GpuSpec& gpu) {
  return gpu.sm_shared_bytes_per_block >= large_shared_bytes;
}

/// Halves the longer side of `tile` until `fits`; at 1 x 1 it stays, and occupancy() says what is missing.
template <class Fits>
TileShape shrink(TileShape tile, Fits fits) {
  while (!fits(tile) && (tile.block_q > 1 || tile.block_kv > 1)) {
    std::int64_t& longer = tile.block_kv >= tile.block_q ? tile.block_kv : tile.block_q;
    longer = ceil_div(longer, 2);
  }
  return tile;
}

/// A default tile also leaves a thread its registers: at the limit the kernel would spill.
bool fits_well(const KernelNeeds& needs, const GpuSpec& gpu) {
  return needs.registers_per_thread < most_registers && why_block_does_not_fit(needs, gpu).empty();
}

}  // namespace

KernelNeeds scores_needs(const AttentionProblem& problem, const TileShape& tile) {
  KernelNeeds needs = needs_for(tile.block_q, 8, tile.block_q * tile.block_kv);
  needs.shared_bytes = (tile.block_q + tile.block_kv) * problem.head_dim * element_bytes(problem.dtype);
  return needs;
}

KernelNeeds untiled_needs(const AttentionProblem& problem, const TileShape& tile) {
  KernelNeeds needs = needs_for(1, 1, tile.block_kv);
  needs.shared_bytes = (1 + tile.block_kv) * problem.head_dim * element_bytes(problem.dtype);
  return needs;
}

SoftmaxRows softmax_rows(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu) {
  const std::int64_t most = std::min<std::int64_t>(4, tile.block_q);
  const std::int64_t row_bytes = problem.seq_kv * element_bytes(problem.dtype);
  const std::int64_t fit = static_cast<std::int64_t>(gpu.sm_shared_bytes_per_block) / row_bytes;
  if (fit < 1) return {most, false};
  return {std::min(most, fit), true};
}

KernelNeeds softmax_needs(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu) {
  const SoftmaxRows rows = softmax_rows(problem, tile, gpu);
  const std::int64_t element = element_bytes(problem.dtype);
  KernelNeeds needs;
  needs.threads = static_cast<int>(4 * warp_threads);
  needs.registers_per_thread =
      static_cast<int>(std::min(other_registers + ceil_div(rows.rows * tile.block_kv, needs.threads), most_registers));
  if (rows.kept) {
    needs.stages = static_cast<int>(ceil_div(problem.seq_kv, tile.block_kv));
    needs.shared_bytes = rows.rows * problem.seq_kv * element;
  } else {
    set_stages(needs, 0, rows.rows * tile.block_kv * element, gpu);
  }
  return needs;
}

KernelNeeds output_needs(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu) {
  KernelNeeds needs = needs_for(tile.block_q, 8, tile.block_q * problem.head_dim);
  set_stages(needs, 0, (tile.block_q + problem.head_dim) * tile.block_kv * element_bytes(problem.dtype), gpu);
  return needs;
}

KernelNeeds flash1_needs(const AttentionProblem& problem, const TileShape& tile) {
  // O, PV and S are in registers; Q, K and V are shared.
  KernelNeeds needs = needs_for(tile.block_q, 4, tile.block_q * (tile.block_kv + 2 * problem.head_dim));
  needs.shared_bytes = (tile.block_q + 2 * tile.block_kv) * problem.head_dim * element_bytes(problem.dtype);
  return needs;
}

KernelNeeds flash2_needs(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu) {
  const std::int64_t row_bytes = problem.head_dim * element_bytes(problem.dtype);
  KernelNeeds needs = needs_for(tile.block_q, tile.block_q >= 256 ? 8 : 4, tile.block_q * (tile.block_kv + problem.head_dim));
  set_stages(needs, tile.block_q * row_bytes, 2 * tile.block_kv * row_bytes, gpu);
  return needs;
}

KernelNeeds row_softmax_needs(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu, bool with_values) {
  const std::int64_t width = with_values ? problem.head_dim : 0;
  KernelNeeds needs;
  needs.threads = static_cast<int>(4 * warp_threads);
  needs.registers_per_thread =
      static_cast<int>(std::min(other_registers + ceil_div(tile.block_q * (tile.block_kv + width), needs.threads), most_registers));
  set_stages(needs, 0, (tile.block_q + width) * tile.block_kv * element_bytes(problem.dtype), gpu);
  return needs;
}

TileShape standard_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  const TileShape wish = is_large(gpu) ? TileShape{128, 128} : TileShape{16, 16};
  return shrink(wish, [&](const TileShape& tile) {
    return fits_well(scores_needs(problem, tile), gpu) && fits_well(softmax_needs(problem, tile, gpu), gpu) &&
           fits_well(output_needs(problem, tile, gpu), gpu);
  });
}

TileShape flash1_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  const std::int64_t d = problem.head_dim;
  const auto memory = static_cast<std::int64_t>(gpu.sm_shared_bytes_per_block) / element_bytes(problem.dtype);
  if (!gpu.has_l2()) {
    const std::int64_t keys = std::max<std::int64_t>(1, ceil_div(memory, 4 * d));
    const TileShape paper = {std::min({keys, d, problem.seq_q}), std::min({keys, problem.seq_kv, std::int64_t{4096}})};
    return shrink(paper, [&](const TileShape& tile) { return why_block_does_not_fit(flash1_needs(problem, tile), gpu).empty(); });
  }
  const std::int64_t side = is_large(gpu) ? 64 : 16;
  return shrink({side, side}, [&](const TileShape& tile) {
    return 2 * (tile.block_q + tile.block_kv) * d <= memory && fits_well(flash1_needs(problem, tile), gpu);
  });
}

TileShape flash2_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  TileShape wish = {16, 16};
  if (is_large(gpu)) {
    if (problem.dtype == DataType::fp32 || problem.head_dim > 128)
      wish = {64, 64};
    else
      wish = problem.head_dim <= 64 ? TileShape{128, 128} : TileShape{128, 64};
  }
  return shrink(wish, [&](const TileShape& tile) { return fits_well(flash2_needs(problem, tile, gpu), gpu); });
}

TileShape softmax_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  return shrink({1, is_large(gpu) ? 128 : 8},
                [&](const TileShape& tile) { return fits_well(row_softmax_needs(problem, tile, gpu, false), gpu); });
}

TileShape fused_softmax_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  return shrink({1, is_large(gpu) ? 128 : 8},
                [&](const TileShape& tile) { return fits_well(row_softmax_needs(problem, tile, gpu, true), gpu); });
}

TileShape tiled_matmul_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  const TileShape wish = is_large(gpu) ? TileShape{128, 128} : TileShape{16, 16};
  return shrink(wish, [&](const TileShape& tile) { return fits_well(scores_needs(problem, tile), gpu); });
}

TileShape untiled_matmul_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  const TileShape wish = is_large(gpu) ? TileShape{128, 128} : TileShape{16, 16};
  return shrink(wish, [&](const TileShape& tile) { return fits_well(untiled_needs(problem, tile), gpu); });
}

std::int64_t registers_of_block(const KernelNeeds& needs) {
  const std::int64_t warps = ceil_div(needs.threads, warp_threads);
  return warps * ceil_div(needs.registers_per_thread * warp_threads, 256) * 256;
}

std::int64_t reserved_shared_bytes(const GpuSpec& gpu) {
  return static_cast<std::int64_t>(std::clamp(gpu.sm_shared_bytes - gpu.sm_shared_bytes_per_block, 0.0, 1024.0));
}

std::string why_block_does_not_fit(const KernelNeeds& needs, const GpuSpec& gpu) {
  const auto kib = [](double bytes) { return fmt::format("{:.4g} KiB", bytes / 1024); };
  const double shared = std::min(gpu.sm_shared_bytes, gpu.sm_shared_bytes_per_block);
  if (static_cast<double>(needs.shared_bytes) > shared)
    return fmt::format("needs {} of shared memory; {} has {}", kib(static_cast<double>(needs.shared_bytes)), gpu.id, kib(shared));
  const double threads = std::min(gpu.sm_max_threads, static_cast<double>(most_block_threads));
  if (needs.threads > threads) return fmt::format("needs {} threads a block; {} has {:.0f}", needs.threads, gpu.id, threads);
  const std::int64_t registers = registers_of_block(needs);
  if (static_cast<double>(registers) > gpu.sm_registers)
    return fmt::format("needs {} registers; an SM of {} has {:.0f}", registers, gpu.id, gpu.sm_registers);
  return {};
}

}  // namespace tilescope
