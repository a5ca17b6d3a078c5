// Finds the spills of a compiled kernel by what its text follows from.
#include "sim/programs/flex_spills.h"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "sim/core/mask.h"
#include "sim/masks/expression_mask.h"
#include "sim/masks/kernel_source.h"
#include "sim/masks/score_change.h"
#include "sim/programs/kernel_needs.h"

namespace tilescope {

std::uint64_t flex_kernel_key(const AttentionProblem& problem, const TileShape& tile) {
  const std::optional<Expression> mask = expression_of_mask(problem);
  const Expression* const score = problem.score_change ? &problem.score_change->expression() : nullptr;
  const std::int64_t key_tiles = mask ? mask_block_of(problem, tile).block_kv / tile.block_kv : 1;
  const std::string text =
      fmt::format("{} {} {} {} {}\n{}", to_string(problem.dtype), problem.head_dim, key_tiles, problem.seq_kv % tile.block_kv != 0,
                  problem.page_size, kernel_source(mask ? &*mask : nullptr, score).text());
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

FlexSpills flex_spills_of(const AttentionProblem& problem, const TileShape& tile) {
  const bool has_kernel = problem.dtype != DataType::fp32 && (problem.head_dim == 64 || problem.head_dim == 128) &&
                          tile == flash2_kernel_tile(problem) && (!problem.has_mask() || expression_of_mask(problem));
  if (!has_kernel) return {};
  const std::uint64_t key = flex_kernel_key(problem, tile);
  const auto rows = flex_spills();
  const auto row = std::ranges::lower_bound(rows, key, {}, &FlexSpillsRow::key);
  return row != rows.end() && row->key == key ? row->spills : FlexSpills();
}

}  // namespace tilescope
