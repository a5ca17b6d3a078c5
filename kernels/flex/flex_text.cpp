// Writes the translation unit of a request.
#include <fmt/format.h>

#include "kernels/flex/flex.h"
#include "kernels/flex/flex_arguments.h"
#include "sim/core/refuse.h"
#include "sim/core/units.h"
#include "sim/masks/cuda_source.h"
#include "sim/masks/expression_mask.h"
#include "sim/masks/score_change.h"
#include "sim/programs/kernel_needs.h"

namespace tilescope {

Result<FlexText> flex_text(const AttentionProblem& problem) {
  const TileShape tile = flash2_kernel_tile(problem), block = mask_block_of(problem, tile);
  const std::optional<Expression> mask = expression_of_mask(problem);
  if (problem.has_mask() && !mask) return refuse("kernel flex takes masks that are expressions: use {}", Setting::mask);
  if (mask && (block.block_q % tile.block_q != 0 || block.block_kv % tile.block_kv != 0))
    return refuse("{} is {}, and the tile of kernel flex is {}x{}: the block must be a multiple of both lengths",
                  Setting::mask_block, problem.mask_block, tile.block_q, tile.block_kv);
  FlexText text;
  text.source = kernel_source(mask ? &*mask : nullptr, problem.score_change ? &problem.score_change->expression() : nullptr);
  if (text.source.tables.size() > static_cast<std::size_t>(device::flex_most_tables))
    return Error{
        fmt::format("kernel flex reads at most {} tables, not {}: use fewer", device::flex_most_tables, text.source.tables.size())};
  text.ragged = problem.seq_kv % tile.block_kv != 0;
  text.tiles_of_block = mask ? static_cast<int>(block.block_kv / tile.block_kv) : 1;
  text.text = fmt::format(
      "{}#include \"kernels/flex/flex_kernel.cuh\"\n"
      "namespace tilescope::device {{\n{}"
      "using FlexBuild = FlexShape<{}, {}, FlexScore, FlexMask, {}, {}>;\n}}\n"
      "extern \"C\" __global__ void __launch_bounds__(128, 2) flex_kernel(const __grid_constant__ tilescope::device::FlexArguments "
      "arguments) {{\n  tilescope::device::flex_attention<tilescope::device::FlexBuild>(arguments);\n}}\n",
      cuda_prelude(), text.source.text(), problem.dtype == DataType::fp16 ? "half_type" : "bfloat_type", problem.head_dim,
      text.tiles_of_block, text.ragged);
  return text;
}

std::int64_t flex_shared_bytes(const AttentionProblem& problem, const KernelSource& source, std::int64_t most_visits) {
  constexpr std::int64_t stages = 2, counts = 4, barriers = 2 * stages * 8;
  const TileShape tile = flash2_kernel_tile(problem);
  const std::int64_t row_bytes = problem.head_dim * 2;
  const std::int64_t of_flash2 = (tile.block_q + 2 * stages * tile.block_kv) * row_bytes + tile.block_q * 4 + barriers;
  const std::int64_t words = ceil_div(counts + source.uniforms, 4) * 4 + source.rows * tile.block_q +
                             stages * source.columns * tile.block_kv + ceil_div(most_visits, 4) * 4;
  return of_flash2 + 4 * words;
}

}  // namespace tilescope
