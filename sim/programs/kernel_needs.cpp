// Threads, registers, shared memory and default tiles of every kernel.
#include "sim/programs/kernel_needs.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/units.h"

namespace tilescope {

namespace {

constexpr std::int64_t warp_threads = 32;
constexpr std::int64_t rows_of_warp = 16;                           // what one tensor-core instruction covers
constexpr std::int64_t least_registers = 24, most_registers = 255;  // of a thread
constexpr double large_shared_bytes = 99 * 1024;                    // what every GPU with kernels of ours has
constexpr std::int64_t most_block_threads = 1024;
constexpr std::int64_t scratch_bytes = 128;     // of a row kernel: maxima and sums on their way from warp to warp
constexpr double kept_rows_bytes = 163 * 1024;  // of the softmax launch: what the least GPU it is compiled for has, see rows.cu

/// What the compiler made of a kernel at one tile: its registers, and how many fp32 sums a thread keeps there. Another tile takes
/// as many registers more or less as it keeps sums.
struct Compiled {
  std::int64_t registers, sums;
};
struct CompiledPair {
  Compiled small, large;  // head dimensions 64 and 128, 16-bit types, the default tile, sm_90
  const Compiled& of(const AttentionProblem& problem) const { return problem.head_dim <= 64 ? small : large; }
};
constexpr CompiledPair scores_compiled{{119, 64}, {122, 64}};
constexpr CompiledPair output_compiled{{128, 32}, {168, 64}};
constexpr CompiledPair flash1_compiled{{126, 64}, {127, 96}};
constexpr CompiledPair flash2_compiled{{255, 192}, {255, 192}};
constexpr CompiledPair naive_compiled{{48, 1}, {72, 1}};
constexpr CompiledPair fused_compiled{{48, 8}, {64, 8}};
constexpr std::int64_t row_registers = 32;

/// From one row of S or P to the next.
std::int64_t score_row_bytes(const AttentionProblem& problem) {
  return row_pitch(problem.seq_kv, problem.dtype) * element_bytes(problem.dtype);
}

std::int64_t warps_for(std::int64_t rows, std::int64_t rows_a_warp, std::int64_t most) {
  return std::clamp(ceil_div(rows, rows_a_warp), std::int64_t{1}, most);
}

int registers_for(const Compiled& compiled, std::int64_t sums, std::int64_t threads) {
  return static_cast<int>(
      std::clamp(compiled.registers + ceil_div(sums, threads) - compiled.sums, least_registers, most_registers));
}

/// `row_warps` warps that share the keys' side of a product, each for its own rows; `sums` fp32 numbers are kept in registers.
KernelNeeds needs_for(std::int64_t row_warps, std::int64_t key_warps, const Compiled& compiled, std::int64_t sums) {
  KernelNeeds needs;
  needs.threads = static_cast<int>(row_warps * key_warps * warp_threads);
  needs.registers_per_thread = registers_for(compiled, sums, needs.threads);
  needs.warps_sharing_rows = static_cast<int>(row_warps);
  needs.warps_sharing_keys = static_cast<int>(key_warps);
  return needs;
}

/// As many buffers of `stage_bytes` beside `fixed_bytes` as `tile` asks for; where it does not, two if they fit, else one.
void set_stages(KernelNeeds& needs, std::int64_t fixed_bytes, std::int64_t stage_bytes, const ProgramTile& tile,
                const GpuSpec& gpu) {
  const auto both = static_cast<double>(fixed_bytes + 2 * stage_bytes);
  needs.stages = tile.stages > 0 ? static_cast<int>(tile.stages) : both <= gpu.sm_shared_bytes_per_block ? 2 : 1;
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

bool fits(const KernelNeeds& needs, const GpuSpec& gpu) {
  return why_block_does_not_fit(needs, gpu).empty();
}

/// A default tile also leaves a thread its registers: past the limit the kernel would spill.
bool fits_well(const KernelNeeds& needs, const GpuSpec& gpu) {
  return needs.registers_per_thread < most_registers && fits(needs, gpu);
}

}  // namespace

KernelNeeds scores_needs(const AttentionProblem& problem, const TileShape& tile) {
  KernelNeeds needs = needs_for(warps_for(tile.block_q, 32, 4), warps_for(tile.block_kv, 64, 2), scores_compiled.of(problem),
                                tile.block_q * tile.block_kv);
  needs.shared_bytes = (tile.block_q + tile.block_kv) * problem.head_dim * element_bytes(problem.dtype);
  needs.waiting = problem.head_dim <= 64 ? 0.42 : 0.47;
  needs.setup_instructions = problem.head_dim <= 64 ? 190 : 176;
  needs.setup_trips = 6;
  return needs;
}

KernelNeeds untiled_needs(const AttentionProblem& problem, const TileShape& tile) {
  // A thread has one key of the row, and sums all of it.
  const std::int64_t threads = warps_for(tile.block_kv, warp_threads, 4) * warp_threads, element = element_bytes(problem.dtype);
  KernelNeeds needs;
  needs.threads = static_cast<int>(threads);
  needs.registers_per_thread = registers_for(naive_compiled.of(problem), tile.block_kv, threads);
  needs.has_products = false;
  needs.multiply_add_instructions = problem.dtype == DataType::bf16 ? 4.72 : 3.72;  // both factors converted, one of them read
  needs.converted_factors = 2;
  needs.waiting = problem.dtype == DataType::bf16 ? 0.16 : 0.23;
  needs.setup_instructions = 210;
  needs.setup_trips = 6;
  needs.shared_bytes = (1 + tile.block_kv) * problem.head_dim * element;
  return needs;
}

SoftmaxRows softmax_rows(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu) {
  const std::int64_t most = std::min<std::int64_t>(4, tile.block_q);
  const std::int64_t row_bytes = score_row_bytes(problem);
  const double room = std::min(kept_rows_bytes, gpu.sm_shared_bytes_per_block - static_cast<double>(scratch_bytes));
  const std::int64_t fit = static_cast<std::int64_t>(room) / row_bytes;
  if (fit < 1) return {most, false};
  return {std::min(most, fit), true};
}

KernelNeeds softmax_needs(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu) {
  const SoftmaxRows rows = softmax_rows(problem, tile, gpu);
  KernelNeeds needs;
  needs.threads = static_cast<int>(4 * warp_threads);
  needs.registers_per_thread = static_cast<int>(row_registers);
  needs.has_products = false;
  needs.waiting = 0.6;
  needs.setup_instructions = 100;
  needs.shared_bytes = scratch_bytes + (rows.kept ? rows.rows * score_row_bytes(problem) : 0);
  return needs;
}

KernelNeeds output_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  KernelNeeds needs =
      needs_for(warps_for(tile.block_q, rows_of_warp, 8), 1, output_compiled.of(problem), tile.block_q * problem.head_dim);
  set_stages(needs, 0, (tile.block_q + problem.head_dim) * tile.block_kv * element_bytes(problem.dtype), tile, gpu);
  needs.waiting = problem.head_dim <= 64 ? 0.43 : 0.55;
  needs.setup_instructions = 176;
  needs.setup_trips = 6;
  return needs;
}

KernelNeeds flash1_needs(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu) {
  // S and PV are in registers; Q, O, K, V, l and m are shared.
  KernelNeeds needs = needs_for(warps_for(tile.block_q, rows_of_warp, 4), 1, flash1_compiled.of(problem),
                                tile.block_q * (tile.block_kv + problem.head_dim));
  const std::int64_t row_bytes = problem.head_dim * element_bytes(problem.dtype);
  // The paper's tile is rounded up, so that four of them can be a little more than its fast memory: there O is left out.
  needs.shared_bytes = gpu.has_l2() ? 2 * (tile.block_q + tile.block_kv) * row_bytes + 2 * tile.block_q * 4
                                    : (tile.block_q + 2 * tile.block_kv) * row_bytes;
  needs.waiting = problem.head_dim <= 64 ? 0.58 : 0.53;
  needs.setup_instructions = 120;
  needs.setup_trips = 6;
  return needs;
}

KernelNeeds flash2_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  constexpr std::int64_t barrier_bytes = 16;  // of a stage: full and empty
  const std::int64_t row_bytes = problem.head_dim * element_bytes(problem.dtype);
  KernelNeeds needs = needs_for(warps_for(tile.block_q, rows_of_warp, tile.block_q >= 256 ? 8 : 4), 1, flash2_compiled.of(problem),
                                tile.block_q * (tile.block_kv + problem.head_dim));
  set_stages(needs, tile.block_q * (row_bytes + 4), 2 * tile.block_kv * row_bytes + barrier_bytes, tile, gpu);
  needs.waiting = 0.42;
  needs.setup_instructions = 290;
  return needs;
}

KernelNeeds row_softmax_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu, bool with_values) {
  KernelNeeds needs;
  needs.threads = static_cast<int>(4 * warp_threads);
  needs.registers_per_thread = static_cast<int>(row_registers);
  needs.has_products = false;
  needs.shared_bytes = scratch_bytes;
  needs.waiting = 0.6;
  needs.setup_instructions = 40;
  if (!with_values) return needs;
  needs.waiting = problem.head_dim <= 64 ? 0.4 : 0.3;
  needs.setup_instructions = 150;
  needs.setup_trips = 6;
  needs.multiply_add_instructions = problem.dtype == DataType::bf16 ? 2.85 : 2.4;  // V converted and read, eight columns at a time
  needs.converted_factors = 1;
  // A thread sums 8 columns of O over every n-th key; the n partial sums of a row meet in shared memory at the end.
  const std::int64_t sums = tile.block_q * 8 * needs.threads, row_bytes = problem.head_dim * element_bytes(problem.dtype);
  needs.registers_per_thread = registers_for(fused_compiled.of(problem), sums, needs.threads);
  // With more rows fewer threads share one: there is always one sum a thread and column, and at least one a column of O.
  const std::int64_t partial = std::max<std::int64_t>(needs.threads * 8, tile.block_q * problem.head_dim) * 4;
  set_stages(needs, scratch_bytes + tile.block_q * tile.block_kv * 4 + partial, tile.block_kv * row_bytes, tile, gpu);
  return needs;
}

std::int64_t tiles_in_registers(const KernelNeeds& needs, const TileShape& tile) {
  return std::clamp<std::int64_t>(needs.threads / warp_threads * elements_of_turn / (tile.block_q * tile.block_kv), 1, 8);
}

bool ends_inside_turn(std::int64_t elements) {
  return elements % elements_of_turn != 0;
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
    return shrink(paper, [&](const TileShape& tile) { return fits(flash1_needs(problem, tile, gpu), gpu); });
  }
  const std::int64_t side = is_large(gpu) ? 64 : 16;
  return shrink({side, side}, [&](const TileShape& tile) {
    return 2 * (tile.block_q + tile.block_kv) * d <= memory && fits_well(flash1_needs(problem, tile, gpu), gpu);
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
  // At these sizes a thread keeps 192 sums at most, which just fits its registers.
  return shrink(wish, [&](const TileShape& tile) { return fits(flash2_needs(problem, tile, gpu), gpu); });
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

int ring_buffers(const TileProgram& program) {
  int most = 0;
  for (const LaunchSpec& launch : program.launches()) most = std::max(most, launch.needs.stages);
  return most;
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
