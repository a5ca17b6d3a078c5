// GatheredRead: a read of a captured table whose gradient flex_backward gathers, tile by tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/masks/score_change.h"
#include "sim/programs/operation.h"
#include "sim/programs/tile_grid.h"

namespace tilescope {

inline constexpr std::int64_t table_chunk = 32;  // elements of the table in a block of the last launch, which adds up parts

/// A read of a table with a gradient, as the program has it.
struct GatheredRead {
  const TableRead* read = nullptr;
  std::size_t number = 0;  // in ScoreChange::table_reads()
  Tensor gradient;
  ChipTile gathered, factor;
  ScoreCost cost;
  std::optional<TableParts> parts;  // in order
  /// Returns whether the block keeps the sums until its end.
  bool is_kept() const { return read->reach == TableReach::head || read->reach == TableReach::query; }
  /// Returns the elements that a pair of tiles gathers.
  TableBox box(std::int64_t plane, std::int64_t i, TileRange queries, std::int64_t j, TileRange keys) const {
    return parts ? parts->box(plane, i, queries, j, keys) : read->box(plane, queries, keys);
  }
};
/// Returns the reads of all tables that get a gradient, in the order of ScoreChange::table_reads().
std::vector<GatheredRead> gathered_reads(const AttentionProblem& problem, const TileShape& tile);

/// Returns the instructions that sum a tile, per element: additions and shuffles; for a pair also its index and the addition to
/// memory. They are estimates.
std::int64_t gather_operations(TableReach reach);

/// Returns the bytes that blocks of queries leave of a read, worked out from the mask; nullopt where they depend on which numbers a
/// tile meets.
std::optional<Bytes> gathered_bytes(const AttentionProblem& p, const TileGrid& grid, const GatheredRead& read);

/// Returns the bytes that the last launch loads of a read's parts: for each chunk of the table, what lies in it of each place.
Bytes summed_bytes(const AttentionProblem& p, const TileGrid& grid, const GatheredRead& read, const TensorLayout& table);

}  // namespace tilescope
