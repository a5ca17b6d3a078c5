// Emits blocks until one has the row.
#include "app/model/measurements/block_of_row.h"

#include <algorithm>
#include <utility>

namespace tilescope {

namespace {

bool has_row(const BlockOperations& block, std::int64_t plane, std::int64_t query) {
  return block.domain.plane == plane && query >= block.domain.first && query < block.domain.end();
}

}  // namespace

std::optional<std::int64_t> block_of_row(const TileProgram& program, int launch, std::int64_t plane, std::int64_t query) {
  const std::int64_t blocks = program.launches()[static_cast<std::size_t>(launch)].blocks();
  const std::int64_t a_plane = std::max<std::int64_t>(1, blocks / program.problem().query_planes());
  BlockOperations operations;
  // Blocks of a plane stand together; where they do not, all are looked at.
  for (const auto& [from, to] :
       {std::pair{plane * a_plane, (plane + 1) * a_plane}, std::pair<std::int64_t, std::int64_t>{0, blocks}})
    for (std::int64_t block = from; block < std::min(to, blocks); ++block) {
      program.emit_block(launch, block, operations);
      if (has_row(operations, plane, query)) return block;
    }
  return std::nullopt;
}

std::int64_t query_plane(const BlockOperations& block, int op) {
  if (block.domain.axis == Axis::query || op < 0) return block.domain.plane;
  const std::int32_t iteration = block.operations[static_cast<std::size_t>(op)].iteration;
  const auto plane_in = [&](const Operation& other) -> std::optional<std::int64_t> {
    const bool is_of_queries = other.tile.tensor && other.tile.tensor->planes == Planes::query && other.tile.rows > 0;
    return other.iteration == iteration && is_of_queries ? std::optional<std::int64_t>(other.tile.plane) : std::nullopt;
  };
  for (const Operation& other : block.operations)
    if (const auto plane = plane_in(other)) return *plane;
  return block.domain.plane;
}

}  // namespace tilescope
