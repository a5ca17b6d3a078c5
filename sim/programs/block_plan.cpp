// Computes the layouts, row sizes and token names of a program.
#include "sim/programs/block_plan.h"
#include "sim/programs/tensor_layout.h"

#include <fmt/format.h>

namespace tilescope {

BlockPlan::BlockPlan(const AttentionProblem& problem, const ProgramTile& tile, const Schema& schema)
    : grid(problem, tile),
      layouts(memory_layouts(problem, tile, schema.tensors)),
      pages(page_table_of(problem)),
      head_dim(static_cast<std::int32_t>(problem.head_dim)),
      element(element_bytes(problem.dtype)),
      scale(static_cast<float>(problem.scale())) {
  for (Tensor tensor : schema.tensors) {
    const std::int64_t row_bytes = layouts[tensor.index()].row_bytes();
    whole_row_bytes[tensor.index()] = row_bytes % sector_size == 0 ? row_bytes : 0;
  }
  tiles = schema.tiles;
  for (ChipTile chip_tile : schema.tiles) {
    const Tensor of = chip_tile.tensor();
    if (of->rows == Axis::query || of->cols == Axis::query) along_queries.push_back(chip_tile);
    if (of->rows == Axis::key || of->cols == Axis::key) along_keys.push_back(chip_tile);
  }
  tokens.resize(BufferToken::count);
  for (ChipTile chip_tile : schema.tiles)
    for (std::size_t ring = 0; ring < (chip_tile.is_ring() || chip_tile.has_strips() ? BufferToken::most_stages : 1); ++ring) {
      const std::size_t buffer = BufferToken::buffer(chip_tile, static_cast<std::int32_t>(ring));
      const std::string name = chip_tile.is_ring() || chip_tile.has_strips() ? fmt::format("{} {}", to_string(chip_tile), ring)
                                                                             : std::string(to_string(chip_tile));
      tokens[static_cast<std::size_t>(BufferToken::full(buffer))] = fmt::format("full {}", name);
      tokens[static_cast<std::size_t>(BufferToken::empty(buffer))] = fmt::format("empty {}", name);
    }
}

}  // namespace tilescope
