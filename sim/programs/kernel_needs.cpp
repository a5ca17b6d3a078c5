// The threads, registers, shared memory and default tile of every kernel.
#include "sim/programs/kernel_needs.h"

#include <algorithm>

#include "sim/core/refuse.h"
#include "sim/core/units.h"
#include "sim/masks/expression_mask.h"
#include "sim/masks/score_change.h"
#include "sim/masks/split_remainders.h"
#include "sim/programs/kernel_profile.h"
#include "sim/programs/needs_parts.h"

namespace tilescope {

namespace {

/// The most shared memory for rows of S in the softmax launch: what a block may have on sm_80 (kernels/standard/rows_plan.h).
constexpr std::int64_t most_softmax_row_bytes = 163 * 1024;

/// Returns whether the needs fit and stay below the register limit, where the kernel would spill.
bool fits_well(const KernelNeeds& needs, const GpuSpec& gpu) {
  return needs.registers_per_thread < most_registers && fits(needs, gpu);
}

}  // namespace

TileShape scores_kernel_tile(const AttentionProblem&) {
  return {128, 128};
}
TileShape flash1_kernel_tile(const AttentionProblem&) {
  return {64, 64};
}
TileShape flash2_kernel_tile(const AttentionProblem& problem) {
  return problem.head_dim <= 64 ? TileShape{128, 128} : TileShape{128, 64};
}
TileShape hopper_flex_kernel_tile(const AttentionProblem&) {
  return {128, 128};
}
TileShape row_kernel_tile(const AttentionProblem&) {
  return {1, 128};
}

KernelNeeds scores_needs(const AttentionProblem& problem, const TileShape& tile) {
  const KernelProfile& kernel = kernel_profile("matmul_tiled");
  const TileShape own = scores_kernel_tile(problem);
  KernelNeeds needs = compiled_needs(kernel.build("product", problem), kernel.reading("product", problem));
  set_warps(needs, warps_for(tile.block_q, 32, 4), warps_for(tile.block_kv, 64, 2),
            {tile.block_q * tile.block_kv, own.block_q * own.block_kv});
  needs.shared_bytes = (tile.block_q + tile.block_kv) * problem.head_dim * element_bytes(problem.dtype);
  return needs;
}

KernelNeeds untiled_needs(const AttentionProblem& problem, const TileShape& tile) {
  const KernelProfile& kernel = kernel_profile("matmul_naive");
  KernelNeeds needs = compiled_needs(kernel.build("product", problem), kernel.reading("product", problem));
  needs.has_products = false;
  needs.converted_factors = 2;
  // A thread computes the whole sum of one key.
  set_threads(needs, warps_for(tile.block_kv, warp_lanes, 4) * warp_lanes, {tile.block_kv, scores_kernel_tile(problem).block_kv});
  needs.shared_bytes = (1 + tile.block_kv) * problem.head_dim * element_bytes(problem.dtype);
  return needs;
}

KeptRows softmax_rows(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu) {
  return kept_rows(problem, tile, gpu, kernel_profile("standard").build("softmax", problem), 1, most_softmax_row_bytes);
}

KernelNeeds softmax_needs(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu) {
  const KernelProfile& kernel = kernel_profile("standard");
  KernelNeeds needs = compiled_needs(kernel.build("softmax", problem), kernel.reading("softmax", problem));
  needs.has_products = false;
  needs.shared_bytes = kernel.build("softmax", problem).static_shared_bytes + softmax_rows(problem, tile, gpu).bytes;
  return needs;
}

KernelNeeds output_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  const KernelProfile& kernel = kernel_profile("standard");
  KernelNeeds needs = compiled_needs(kernel.build("output", problem), kernel.reading("output", problem));
  set_warps(needs, warps_for(tile.block_q, rows_of_warp, 8), 1,
            {tile.block_q * problem.head_dim, scores_kernel_tile(problem).block_q * compiled_head_dim(problem)});
  set_stages(needs, 0, (tile.block_q + problem.head_dim) * tile.block_kv * element_bytes(problem.dtype), tile, gpu);
  return needs;
}

KernelNeeds flash1_needs(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu) {
  const KernelProfile& kernel = kernel_profile("flash1");
  const TileShape own = flash1_kernel_tile(problem);
  KernelNeeds needs = compiled_needs(kernel.build("attention", problem), kernel.reading("attention", problem));
  // S and PV are in registers; Q, O, K, V, l and m are in shared memory.
  set_warps(needs, warps_for(tile.block_q, rows_of_warp, 4), 1,
            {tile.block_q * (tile.block_kv + problem.head_dim), own.block_q * (own.block_kv + compiled_head_dim(problem))});
  const std::int64_t row_bytes = problem.head_dim * element_bytes(problem.dtype);
  // The paper rounds its tile up, so that four tiles can exceed its fast memory a little. Without an L2, O is therefore left out.
  needs.shared_bytes = gpu.has_l2() ? 2 * (tile.block_q + tile.block_kv) * row_bytes + 2 * tile.block_q * 4
                                    : (tile.block_q + 2 * tile.block_kv) * row_bytes;
  return needs;
}

KernelNeeds flash2_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  constexpr std::int64_t barrier_bytes = 16;  // two mbarriers per stage: full and empty
  const KernelProfile& kernel = kernel_profile("flash2");
  const TileShape own = flash2_kernel_tile(problem);
  const std::int64_t row_bytes = problem.head_dim * element_bytes(problem.dtype);
  KernelNeeds needs = compiled_needs(kernel.build("attention", problem), kernel.reading("attention", problem));
  set_warps(needs, warps_for(tile.block_q, rows_of_warp, tile.block_q >= 256 ? 8 : 4), 1,
            {tile.block_q * (tile.block_kv + problem.head_dim), own.block_q * (own.block_kv + compiled_head_dim(problem))});
  set_stages(needs, tile.block_q * (row_bytes + 4), 2 * tile.block_kv * row_bytes + barrier_bytes, tile, gpu);
  return needs;
}

void set_element_costs(KernelNeeds& needs, const AttentionProblem& problem, const GpuSpec& gpu, bool is_forward) {
  if (problem.score_change) {
    needs.score_cost = element_cost(problem.score_change->expression(), gpu, is_forward);
    if (const Expression* const slope = problem.score_change->slope())
      needs.slope_cost = slope_cost(*slope, problem.score_change->expression(), gpu);
  }
  if (const std::optional<Expression> mask = expression_of_mask(problem)) {
    needs.mask_cost = element_cost(split_remainders(*mask), gpu);
    ++needs.mask_cost.alu;  // the selection of -inf
  }
}

KernelNeeds flex_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  constexpr std::int64_t count_bytes = 16;  // the lengths of the lists; those of a mask and a score come on top
  AttentionProblem of_build = problem;
  of_build.causal = problem.has_mask();  // the profile has a build without lists and one with them
  KernelNeeds needs = flash2_needs(problem, tile, gpu);
  const TileShape own = flash2_kernel_tile(problem);
  if (TileShape(tile) == own)
    needs.registers_per_thread = needs.registers_wanted = kernel_profile("flex").build("attention", of_build).registers;
  needs.shared_bytes += count_bytes;
  set_element_costs(needs, problem, gpu, true);
  return needs;
}

KernelNeeds row_softmax_needs(std::string_view id, const AttentionProblem& problem) {
  const KernelProfile& kernel = kernel_profile(id);
  KernelNeeds needs = compiled_needs(kernel.build("softmax", problem), kernel_profile("common").reading("softmax", problem));
  needs.has_products = false;
  needs.shared_bytes = kernel.build("softmax", problem).static_shared_bytes;
  return needs;
}

KernelNeeds fused_softmax_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  const KernelProfile& kernel = kernel_profile("softmax_fused");
  const TileShape own = row_kernel_tile(problem);
  KernelNeeds needs = compiled_needs(kernel.build("softmax", problem), kernel.reading("softmax", problem));
  needs.has_products = false;
  needs.converted_factors = 1;
  // A thread sums 8 columns of O over every n-th key. At the end the n partial sums of a row are added in shared memory.
  const std::int64_t columns = 8, threads = needs.threads, row_bytes = problem.head_dim * element_bytes(problem.dtype);
  set_threads(needs, threads, {tile.block_q * columns * threads, own.block_q * columns * threads});
  // With more rows, fewer threads share one. There is always one sum per thread and column, and at least one per column of O.
  const auto weights_and_sums = [&](const TileShape& shape, std::int64_t head_dim) {
    return (shape.block_q * shape.block_kv + std::max(threads * columns, shape.block_q * head_dim)) * 4;
  };
  // The compiled kernel also has some scratch memory.
  const std::int64_t fixed = kernel.build("softmax", problem).static_shared_bytes + weights_and_sums(tile, problem.head_dim) -
                             weights_and_sums(own, compiled_head_dim(problem));
  set_stages(needs, fixed, tile.block_kv * row_bytes, tile, gpu);
  return needs;
}

std::int64_t tiles_in_registers(const KernelNeeds& needs, const TileShape& tile) {
  return std::clamp<std::int64_t>(needs.threads / warp_lanes * elements_per_warp_fetch / (tile.block_q * tile.block_kv), 1, 8);
}

bool ends_inside_warp_fetch(std::int64_t elements) {
  return elements % elements_per_warp_fetch != 0;
}

TileShape standard_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  const TileShape wish = is_large(gpu) ? scores_kernel_tile(problem) : TileShape{16, 16};
  return shrink(wish, [&](const TileShape& tile) {
    return fits_well(scores_needs(problem, tile), gpu) && fits_well(softmax_needs(problem, tile, gpu), gpu) &&
           fits_well(output_needs(problem, tile, gpu), gpu);
  });
}

TileShape flash1_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  if (!gpu.has_l2())
    return shrink(paper_tile_of(problem, gpu), [&](const TileShape& tile) { return fits(flash1_needs(problem, tile, gpu), gpu); });
  return shrink(is_large(gpu) ? flash1_kernel_tile(problem) : TileShape{16, 16},
                [&](const TileShape& tile) { return fits_well(flash1_needs(problem, tile, gpu), gpu); });
}

TileShape flash2_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  TileShape wish = {16, 16};
  if (is_large(gpu))
    wish = problem.dtype == DataType::fp32 || problem.head_dim > 128 ? TileShape{64, 64} : flash2_kernel_tile(problem);
  // With these tiles a thread holds at most 192 accumulators, which just fit its registers.
  return shrink(wish, [&](const TileShape& tile) { return fits(flash2_needs(problem, tile, gpu), gpu); });
}

TileShape row_softmax_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  return shrink(is_large(gpu) ? row_kernel_tile(problem) : TileShape{1, 8},
                [&](const TileShape&) { return fits_well(row_softmax_needs("softmax_safe", problem), gpu); });
}

TileShape fused_softmax_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  return shrink(is_large(gpu) ? row_kernel_tile(problem) : TileShape{1, 8},
                [&](const TileShape& tile) { return fits_well(fused_softmax_needs(problem, tile, gpu), gpu); });
}

TileShape tiled_matmul_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  const TileShape wish = is_large(gpu) ? scores_kernel_tile(problem) : TileShape{16, 16};
  return shrink(wish, [&](const TileShape& tile) { return fits_well(scores_needs(problem, tile), gpu); });
}

TileShape untiled_matmul_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  const TileShape wish = is_large(gpu) ? scores_kernel_tile(problem) : TileShape{16, 16};
  return shrink(wish, [&](const TileShape& tile) { return fits_well(untiled_needs(problem, tile), gpu); });
}

int ring_buffers(const TileProgram& program) {
  int most = 0;
  for (const LaunchSpec& launch : program.launches()) most = std::max(most, launch.needs.stages);
  return most;
}

namespace {

/// Returns the rows of a warp group where they are no multiple of what wgmma takes; otherwise 0.
std::int64_t odd_group_rows(const TileProgram& program) {
  const std::int64_t rows = program.tile().block_q;
  for (const LaunchSpec& launch : program.launches()) {
    const std::int64_t groups = launch.needs.computing_groups();
    if (launch.needs.instruction != ProductInstruction::wgmma || launch.axis != Axis::query || groups < 1) continue;
    if (rows % (groups * wgmma_rows) != 0) return ceil_div(rows, groups);
  }
  return 0;
}

/// Returns what a launch sums over that is no multiple of what wgmma takes: keys, or queries of a backward pass; 0: nothing.
std::int64_t odd_product_elements(const TileProgram& program) {
  const ProgramTile& tile = program.tile();
  const bool is_forward = program.problem().pass == Pass::forward;
  for (const LaunchSpec& launch : program.launches()) {
    if (launch.needs.instruction != ProductInstruction::wgmma) continue;
    if (tile.block_kv % product_elements != 0) return tile.block_kv;
    if (!is_forward && tile.block_q % product_elements != 0) return tile.block_q;
  }
  return 0;
}

}  // namespace

std::vector<Sentence> wgmma_faults(const TileProgram& program) {
  std::vector<Sentence> faults;
  if (const std::int64_t rows = odd_group_rows(program); rows > 0)
    faults.push_back(phrase("a warp group has {} rows, and wgmma takes {} at a time", rows, wgmma_rows));
  if (const std::int64_t elements = odd_product_elements(program); elements > 0)
    faults.push_back(phrase("it has {} keys or queries to sum over, and wgmma takes {} at a time", elements, product_elements));
  return faults;
}

int own_ring(const TileProgram& program) {
  for (const LaunchSpec& launch : program.launches())
    if (launch.needs.has_ring) return launch.needs.stages;
  return 0;
}

bool drops_to_one_buffer(const TileProgram& program) {
  return program.tile().stages == 0 && own_ring(program) == 1;
}

}  // namespace tilescope
