// Threads, registers, shared memory and tiles of backward kernels.
#include "sim/programs/backward_needs.h"

#include <algorithm>

#include "sim/core/tensor.h"
#include "sim/core/units.h"
#include "sim/masks/expression_mask.h"
#include "sim/programs/kernel_needs.h"
#include "sim/programs/kernel_profile.h"
#include "sim/programs/needs_parts.h"

namespace tilescope {

namespace {

/// The most shared memory for rows of P and dP in the dS launch (kernels/standard_backward/gradient_rows.h).
constexpr std::int64_t most_gradient_row_bytes = 162 * 1024;

/// The ALU instructions by which flex_backward checks, for each score of a partial tile, whether its query and its key exist: 5/4
/// comparisons, a selection and a quarter of an addition. Without a mask a partial tile costs only this.
/// Source  the SASS of flex_backward for sm_90
constexpr double bounds_check_alu = 1.25 + 1 + 0.25;

/// Returns the compiled needs of a launch with its warps along the rows and columns of its result, without shared memory.
KernelNeeds launch_needs(std::string_view id, std::string_view launch, const AttentionProblem& problem, std::int64_t row_warps,
                         std::int64_t key_warps, const BlockSums& sums) {
  const KernelProfile& kernel = kernel_profile(id);
  KernelNeeds needs = compiled_needs(kernel.build(launch, problem), kernel.reading(launch, problem));
  set_warps(needs, row_warps, key_warps, sums);
  return needs;
}

std::int64_t row_bytes(const AttentionProblem& problem) {
  return problem.head_dim * element_bytes(problem.dtype);
}
std::int64_t pair_bytes(const AttentionProblem& problem, const TileShape& tile) {
  return tile.block_q * tile.block_kv * element_bytes(problem.dtype);
}

TileShape wished_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  if (!is_large(gpu)) return {16, 16};
  if (problem.dtype == DataType::fp32 || problem.head_dim > 128) return {64, 64};
  return flash2_backward_kernel_tile(problem);
}

/// Returns the needs of a row-wise launch: a block of `threads` handles the rows of a query tile.
KernelNeeds row_needs(std::string_view id, std::string_view launch, const AttentionProblem& problem, const TileShape& tile) {
  KernelNeeds needs = launch_needs(id, launch, problem, 4, 1, {});
  needs.warps_sharing_rows = 1;
  needs.has_products = false;
  // D of each row, where the launch computes it.
  const bool keeps_dots = kernel_profile(id).build(launch, problem).static_shared_bytes > 0;
  needs.shared_bytes = keeps_dots ? tile.block_q * std::int64_t{sizeof(float)} : 0;
  return needs;
}

/// Returns the needs of a block that keeps a key tile. A warp owns 32 keys and half of the columns of dK and dV beyond 64.
KernelNeeds key_block_needs(std::string_view id, const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  const TileShape own = flash2_backward_kernel_tile(problem);
  const std::int64_t row = row_bytes(problem), splits = problem.head_dim <= 64 ? 1 : 2;
  const auto sums = [](const TileShape& shape, std::int64_t d) {
    return 2 * shape.block_kv * d + 2 * shape.block_q * shape.block_kv;
  };
  const std::int64_t key_warps = warps_for(tile.block_kv, 2 * rows_of_warp, 4);
  KernelNeeds needs = launch_needs(id, "gradients", problem, splits, key_warps,
                                   {sums(tile, problem.head_dim), sums(own, compiled_head_dim(problem))});
  // K and V, dS and with two splits P, and mbarriers; a stage has Q, dO, L, D and two mbarriers. The deterministic form also has a
  // counter.
  constexpr std::int64_t barrier_bytes = 8;
  const std::int64_t fixed = kernel_profile(id).build("gradients", problem).static_shared_bytes + 2 * tile.block_kv * row +
                             splits * pair_bytes(problem, tile) + (2 + 2 * key_warps) * barrier_bytes;
  set_stages(needs, fixed, 2 * tile.block_q * (row + std::int64_t{sizeof(float)}) + 2 * barrier_bytes, tile, gpu);
  return needs;
}

}  // namespace

KernelNeeds row_dot_needs(std::string_view id, const AttentionProblem& problem, const TileShape& tile) {
  return row_needs(id, "row dots", problem, tile);
}
KernelNeeds convert_needs(std::string_view id, const AttentionProblem& problem, const TileShape& tile) {
  return row_needs(id, "convert dQ", problem, tile);
}

KernelNeeds flash2_backward_needs(std::string_view id, const AttentionProblem& problem, const ProgramTile& tile,
                                  const GpuSpec& gpu) {
  return key_block_needs(id, problem, tile, gpu);
}

KernelNeeds flash3_backward_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  const KernelProfile& kernel = kernel_profile("flash3_backward");
  const KernelBuild& build = kernel.build("gradients", problem);
  constexpr int group_warps = 4, groups = flash3_backward_groups;
  KernelNeeds needs = compiled_needs(build, kernel.reading("gradients", problem));
  needs.instruction = ProductInstruction::wgmma;
  needs.uses_tma = true;
  needs.threads = (1 + groups) * group_warps * warp_lanes;
  needs.groups = {{"producer", group_warps, build.setmaxnreg_dec, false}};
  constexpr std::string_view names[groups] = {"consumer 0", "consumer 1"};
  for (const std::string_view name : names) needs.groups.push_back({name, group_warps, build.setmaxnreg_inc});
  // K and V, dQ of a tile in fp32, and their barriers; a stage has Q, dO and dS, L and D with 16 floats more, and four barriers.
  constexpr std::int64_t barrier_bytes = 8, statistic_padding = 16;
  const std::int64_t row = row_bytes(problem);
  const std::int64_t fixed =
      2 * tile.block_kv * row + tile.block_q * problem.head_dim * std::int64_t{sizeof(float)} + 2 * barrier_bytes;
  set_stages(needs, fixed,
             2 * tile.block_q * row + pair_bytes(problem, tile) +
                 2 * (tile.block_q + statistic_padding) * std::int64_t{sizeof(float)} + 4 * barrier_bytes,
             tile, gpu);
  return needs;
}

namespace {

KernelNeeds both_kinds_needs(std::string_view id, const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  KernelNeeds needs = key_block_needs(id, problem, tile, gpu);
  // A block that owns queries keeps Q and dO and streams K and V; its dS stays in registers.
  const std::int64_t row = row_bytes(problem);
  const auto of_queries = [&](std::int64_t stages) {
    return 2 * tile.block_q * (row + std::int64_t{sizeof(float)}) + stages * (2 * tile.block_kv * row + 16);
  };
  ProgramTile one_stage = tile;
  one_stage.stages = 1;
  if (tile.stages == 0 && static_cast<double>(of_queries(needs.stages)) > gpu.sm_shared_bytes_per_block && needs.stages == 2)
    needs = key_block_needs(id, problem, one_stage, gpu);
  needs.shared_bytes = std::max(needs.shared_bytes, of_queries(needs.stages));
  return needs;
}

}  // namespace

KernelNeeds two_pass_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  return both_kinds_needs("flash2_backward_two_pass", problem, tile, gpu);
}

KernelNeeds flex_backward_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  constexpr std::int64_t count_bytes = 16;  // the lengths of the lists; lists and expressions come on top
  AttentionProblem of_build = problem;
  of_build.causal = problem.has_mask();  // the profile has a build without lists and one with them
  KernelNeeds needs = both_kinds_needs("flex_backward", of_build, tile, gpu);
  needs.shared_bytes += count_bytes;
  set_element_costs(needs, problem, gpu, false);
  needs.mask_cost.alu = (expression_of_mask(problem) ? needs.mask_cost.alu : 0) + bounds_check_alu;
  return needs;
}

KernelNeeds flash1_backward_needs(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu) {
  const std::int64_t row = row_bytes(problem), dim = compiled_head_dim(problem);
  const TileShape own = flash1_kernel_tile(problem);
  // In registers: S and dP, dK and dV, and the part of dQ.
  const auto sums = [](const TileShape& shape, std::int64_t d) {
    return 2 * shape.block_q * shape.block_kv + (2 * shape.block_kv + shape.block_q) * d;
  };
  KernelNeeds needs = launch_needs("flash1_backward", "gradients", problem, warps_for(tile.block_q, rows_of_warp, 4),
                                   warps_for(tile.block_kv, 2 * rows_of_warp, 2), {sums(tile, problem.head_dim), sums(own, dim)});
  // In shared memory: Q, dO, dQ, K and V, P and dS, and l, m and D.
  needs.shared_bytes = gpu.has_l2() ? (3 * tile.block_q + 2 * tile.block_kv) * row + 2 * pair_bytes(problem, tile) +
                                          3 * tile.block_q * std::int64_t{sizeof(float)}
                                    : (tile.block_q + 2 * tile.block_kv) * row;
  return needs;
}

KernelNeeds pair_product_needs(const AttentionProblem& problem, const TileShape& tile) {
  const TileShape own = scores_kernel_tile(problem);
  KernelNeeds needs =
      launch_needs("standard_backward", "dP", problem, warps_for(tile.block_q, 2 * rows_of_warp, 4),
                   warps_for(tile.block_kv, 4 * rows_of_warp, 2), {tile.block_q * tile.block_kv, own.block_q * own.block_kv});
  needs.shared_bytes = (tile.block_q + tile.block_kv) * row_bytes(problem);
  return needs;
}

KernelNeeds sum_product_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu, Axis kept) {
  const TileShape own = scores_kernel_tile(problem);
  const std::int64_t rows = kept == Axis::key ? tile.block_kv : tile.block_q;
  const std::int64_t passing = kept == Axis::key ? tile.block_q : tile.block_kv;
  KernelNeeds needs = launch_needs("standard_backward", kept == Axis::key ? "dV" : "dQ", problem, warps_for(rows, rows_of_warp, 8),
                                   1, {rows * problem.head_dim, own.block_q * compiled_head_dim(problem)});
  set_stages(needs, 0, pair_bytes(problem, tile) + passing * row_bytes(problem), tile, gpu);
  return needs;
}

KeptRows gradient_rows(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu) {
  return kept_rows(problem, tile, gpu, kernel_profile("standard_backward").build("dS", problem), 2, most_gradient_row_bytes);
}

KernelNeeds gradient_rows_needs(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu) {
  KernelNeeds needs = launch_needs("standard_backward", "dS", problem, 1, 4, {});
  needs.warps_sharing_keys = 1;
  needs.has_products = false;
  needs.shared_bytes =
      kernel_profile("standard_backward").build("dS", problem).static_shared_bytes + gradient_rows(problem, tile, gpu).bytes;
  return needs;
}

TileShape flash2_backward_kernel_tile(const AttentionProblem&) {
  return {64, 128};
}

TileShape flash3_backward_kernel_tile(const AttentionProblem& problem) {
  return {compiled_head_dim(problem) == 64 ? 128 : 64, 128};
}

std::int64_t gradient_sum_copies(const AttentionProblem& problem, const TileShape& tile, double sm_count) {
  const std::int64_t key_tiles = ceil_div(problem.seq_kv, tile.block_kv), key_planes = problem.kv_planes();
  const std::int64_t wanted =
      std::clamp(ceil_div(static_cast<std::int64_t>(sm_count), key_planes), std::int64_t{1}, most_gradient_sums);
  return ceil_div(key_tiles, ceil_div(key_tiles, wanted));
}

TileShape flash2_backward_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  return shrink(wished_tile(problem, gpu),
                [&](const TileShape& tile) { return fits(flash2_backward_needs("flash2_backward", problem, tile, gpu), gpu); });
}

TileShape flash3_backward_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  const bool own = is_large(gpu) && problem.dtype != DataType::fp32 && problem.head_dim <= 128;
  return shrink(own ? flash3_backward_kernel_tile(problem) : wished_tile(problem, gpu),
                [&](const TileShape& tile) { return fits(flash3_backward_needs(problem, tile, gpu), gpu); });
}

TileShape two_pass_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  return shrink(wished_tile(problem, gpu), [&](const TileShape& tile) { return fits(two_pass_needs(problem, tile, gpu), gpu); });
}

TileShape flex_backward_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  return shrink(wished_tile(problem, gpu),
                [&](const TileShape& tile) { return fits(flex_backward_needs(problem, tile, gpu), gpu); });
}

TileShape flash1_backward_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  if (!gpu.has_l2())
    return shrink(paper_tile_of(problem, gpu),
                  [&](const TileShape& tile) { return fits(flash1_backward_needs(problem, tile, gpu), gpu); });
  return shrink(is_large(gpu) ? flash1_kernel_tile(problem) : TileShape{16, 16},
                [&](const TileShape& tile) { return fits(flash1_backward_needs(problem, tile, gpu), gpu); });
}

TileShape standard_backward_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  const TileShape wish = is_large(gpu) ? scores_kernel_tile(problem) : TileShape{16, 16};
  return shrink(wish, [&](const TileShape& tile) {
    return fits(pair_product_needs(problem, tile), gpu) && fits(sum_product_needs(problem, tile, gpu, Axis::key), gpu) &&
           fits(sum_product_needs(problem, tile, gpu, Axis::query), gpu) && fits(gradient_rows_needs(problem, tile, gpu), gpu);
  });
}

}  // namespace tilescope
