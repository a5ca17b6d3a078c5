// Writes the translation unit of a request.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "kernels/flex/flex.h"
#include "kernels/flex/flex_arguments.h"
#include "kernels/flex/nvrtc_library.h"
#include "sim/core/refuse.h"
#include "sim/core/units.h"
#include "sim/masks/cuda_source.h"
#include "sim/masks/expression_mask.h"
#include "sim/masks/score_change.h"
#include "sim/programs/backward_needs.h"
#include "sim/programs/kernel_needs.h"

namespace tilescope {

namespace {

constexpr int consumer_groups = 2;  // of hopper_flex
constexpr std::int64_t stages = 2;

/// What differs between the texts.
struct BaseText {
  std::string_view id, header, shape, arguments, function;
  int threads, blocks;               // of a block, and on an SM
  std::string_view probe, recorder;  // the probe's header, and the function's last template argument; empty without
};
BaseText base_text(FlexBase base, const AttentionProblem& problem) {
  switch (base) {
    case FlexBase::flash2:
      break;
    case FlexBase::hopper:
      return {"hopper_flex",
              "kernels/hopper_flex/hopper_flex_kernel.cuh",
              "HopperFlexShape",
              problem.page_size > 0 ? "HopperFlexPagedArguments" : "HopperFlexArguments",
              "hopper_flex_attention",
              128 * (consumer_groups + 1),
              1};
    case FlexBase::two_blocks:
      return {"hopper_flex",
              "kernels/hopper_flex/two_blocks.cuh",
              "TwoBlocksShape",
              "HopperFlexArguments",
              "hopper_flex_two_blocks",
              128 * consumer_groups,
              2};
    case FlexBase::backward:
    case FlexBase::backward_probed: {
      const bool probed = base == FlexBase::backward_probed;
      return {"flex_backward",
              "kernels/flex_backward/flex_backward_kernel.cuh",
              "FlexBackwardShape",
              probed ? "ProbeLaunch<tilescope::device::FlexBackwardArguments>" : "FlexBackwardArguments",
              "flex_backward",
              problem.head_dim == 64 ? 128 : 256,
              problem.head_dim == 64 ? 2 : 1,
              probed ? "kernels/common/pair_probe.cuh" : "",
              probed ? ", tilescope::device::PairProbe" : ""};
    }
  }
  return {"flex",
          "kernels/flex/flex_kernel.cuh",
          "FlexShape",
          problem.page_size > 0 ? "FlexPagedArguments" : "FlexArguments",
          "flex_attention",
          128,
          2};
}

/// Returns the option of ptxas for a text. At D 128 it spills less and runs 3 to 6 % faster (kernels/lab/flex_builds.py). At D 64
/// only the sums of a bias spill less; the others are slower.
std::string_view ptxas_option(FlexBase base, const AttentionProblem& problem, const KernelSource& source) {
  const bool has_bias = problem.score_change != nullptr && !source.shares_reciprocals;
  return base == FlexBase::flash2 && (problem.head_dim == 128 || has_bias) ? "--register-usage-level=0" : "";
}

/// The parameters of the shape behind the type and the head dimension.
std::string shape_parameters(FlexBase base, const FlexText& text, const TileShape& tile, const TileShape& block,
                             std::int64_t page_size) {
  if (is_backward(base))
    return fmt::format("FlexScore, FlexMask, FlexSlope, {}, {}{}", block.block_q / tile.block_q, block.block_kv / tile.block_kv,
                       text.source.table_reads.empty() ? "" : ", FlexReads");
  return fmt::format("FlexScore, FlexMask, {}, {}{}", text.tiles_of_block, text.ragged,
                     page_size > 0 ? fmt::format(", {}", page_size) : "");
}

/// The words in which a block of flex_backward gathers the gradients of tables (kernels/flex_backward/table_gradients.cuh).
std::int64_t gathered_words(const AttentionProblem& problem, const TileShape& tile) {
  const std::int64_t query_warps = tile.block_q / 32, warps = flex_threads(FlexBase::backward, problem) / 32;
  std::int64_t words = 0;
  if (!problem.score_change) return words;
  for (const TableRead* read : problem.score_change->table_reads()) {
    if (read->reach == TableReach::head || read->reach == TableReach::query) words += warps / query_warps * tile.block_q;
    if (read->reach == TableReach::key) words += 2 * query_warps * tile.block_kv;
    if (read->reach == TableReach::distance) words += 2 * query_warps * tile.block_kv * 2;
  }
  return words;
}

}  // namespace

bool is_backward(FlexBase base) {
  return base == FlexBase::backward || base == FlexBase::backward_probed;
}

TileShape flex_kernel_tile(FlexBase base, const AttentionProblem& problem) {
  switch (base) {
    case FlexBase::flash2:
      break;
    case FlexBase::hopper:
    case FlexBase::two_blocks:
      return hopper_flex_kernel_tile(problem);
    case FlexBase::backward:
    case FlexBase::backward_probed:
      return flash2_backward_kernel_tile(problem);
  }
  return flash2_kernel_tile(problem);
}

std::string_view flex_kernel_id(FlexBase base) {
  return base_text(base, {}).id;
}

int flex_threads(FlexBase base, const AttentionProblem& problem) {
  return base_text(base, problem).threads;
}

Result<FlexText> flex_text(FlexBase base, const AttentionProblem& problem) {
  const BaseText of = base_text(base, problem);
  const std::string_view id = of.id;
  const TileShape tile = flex_kernel_tile(base, problem), block = mask_block_of(problem, tile);
  const std::optional<Expression> mask = expression_of_mask(problem);
  if (problem.has_mask() && !mask) return refuse("kernel {} takes masks that are expressions: use {}", id, Setting::mask);
  if (mask && (block.block_q % tile.block_q != 0 || block.block_kv % tile.block_kv != 0))
    return refuse("{} is {}, and the tile of kernel {} is {}x{}: the block must be a multiple of both lengths, such as {}",
                  Setting::mask_block, problem.mask_block, id, tile.block_q, tile.block_kv, std::lcm(tile.block_q, tile.block_kv));
  FlexText text;
  const Expression* const score = problem.score_change ? &problem.score_change->expression() : nullptr;
  const ScoreChange* const change = problem.score_change.get();
  text.source = is_backward(base)
                    ? backward_kernel_source(mask ? &*mask : nullptr, score, change != nullptr ? change->slope() : nullptr,
                                             change != nullptr ? change->table_gradients() : std::span<const TableGradient>())
                    : kernel_source(mask ? &*mask : nullptr, score);
  if (text.source.tables.size() > static_cast<std::size_t>(device::flex_most_tables))
    return refuse("kernel {} reads at most {} tables, not {}: use fewer", id, device::flex_most_tables, text.source.tables.size());
  text.ragged = problem.seq_kv % tile.block_kv != 0;
  text.tiles_of_block = mask ? static_cast<int>(block.block_kv / tile.block_kv) : 1;
  const std::string_view of_ptxas = ptxas_option(base, problem, text.source);
  const std::string option = of_ptxas.empty() ? std::string() : fmt::format("{}{}\n", ptxas_line, of_ptxas);
  text.text = option + fmt::format(
                           "{}{}#include \"{}\"\n"
                           "namespace tilescope::device {{\n{}"
                           "using FlexBuild = {}<{}, {}, {}>;\nstatic_assert(FlexBuild::threads == {});\n}}\n"
                           "extern \"C\" __global__ void __launch_bounds__({}, {}) flex_kernel(const __grid_constant__ "
                           "tilescope::device::{} arguments) "
                           "{{\n"
                           "  tilescope::device::{}<tilescope::device::FlexBuild{}>(arguments);\n}}\n",
                           cuda_prelude(), of.probe.empty() ? "" : fmt::format("#include \"{}\"\n", of.probe), of.header,
                           text.source.text(), of.shape, problem.dtype == DataType::fp16 ? "half_type" : "bfloat_type",
                           problem.head_dim, shape_parameters(base, text, tile, mask ? block : tile, problem.page_size), of.threads,
                           of.threads, of.blocks, of.arguments, of.function, of.recorder);
  return text;
}

std::int64_t flex_shared_bytes(FlexBase base, const AttentionProblem& problem, const KernelSource& source, std::int64_t most_visits,
                               std::int64_t most_pages) {
  const std::int64_t barriers = (base == FlexBase::two_blocks ? 1 + 2 * stages
                                 : base == FlexBase::hopper   ? 2 * consumer_groups + 4 * stages
                                                              : 2 * stages) *
                                8;
  constexpr std::int64_t counts = 4, word_places = 16;
  const TileShape tile = flex_kernel_tile(base, problem);
  const std::int64_t row_bytes = problem.head_dim * 2;
  if (is_backward(base)) {
    // The tiles are those of a block that owns keys, which are more bytes. Then what a block keeps, its ring, and its visits.
    const std::int64_t pairs = problem.head_dim / 64, tiles_bytes = (2 * tile.block_kv + 4 * tile.block_q) * row_bytes +
                                                                    pairs * tile.block_q * tile.block_kv * 2 +
                                                                    4 * tile.block_q * 4 + 14 * 8;
    const std::int64_t of_keys = source.columns * tile.block_kv + stages * source.rows * tile.block_q;
    const std::int64_t of_queries =
        source.rows * tile.block_q + stages * source.columns * tile.block_kv + gathered_words(problem, tile);
    const std::int64_t words =
        ceil_div(counts + source.uniforms, 4) * 4 + std::max(of_keys, of_queries) + ceil_div(most_visits, 4) * 4;
    return ceil_div(tiles_bytes, word_places) * word_places + 4 * words;
  }
  const std::int64_t of_base = (tile.block_q + 2 * stages * tile.block_kv) * row_bytes + tile.block_q * 4 + barriers;
  const std::int64_t words = ceil_div(counts + source.uniforms, 4) * 4 + source.rows * tile.block_q +
                             stages * source.columns * tile.block_kv + ceil_div(most_visits + most_pages, 4) * 4;
  return ceil_div(of_base, word_places) * word_places + 4 * words;
}

}  // namespace tilescope
