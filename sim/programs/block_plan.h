// BlockPlan: everything that is computed once per program, so that emitting a block needs only additions.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/page_table.h"
#include "sim/masks/table_gradient.h"
#include "sim/programs/tile_grid.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

/// Returns elements of a captured table as a tile of `tensor`.
inline TileRef tile_of(Tensor tensor, const TableBox& box) {
  const auto number = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  return {tensor, 0, number(box.row), number(box.rows), number(box.col), number(box.cols)};
}

/// The numbers of the two tokens of an on-chip buffer, `full` and `empty`.
struct BufferToken {
  /// The most buffers of a ring whose buffers are refilled. A ring that fills each buffer once may have any number.
  static constexpr std::size_t most_stages = 8;

  /// `ring` is the stage of a ring, or the strip of a tile that has strips.
  static constexpr std::size_t buffer(ChipTile chip_tile, std::int32_t ring) {
    return chip_tile.index() * most_stages +
           (chip_tile.is_ring() || chip_tile.has_strips() ? static_cast<std::size_t>(ring) % most_stages : 0);
  }
  static constexpr std::int16_t full(std::size_t buffer) { return static_cast<std::int16_t>(2 * buffer); }
  static constexpr std::int16_t empty(std::size_t buffer) { return static_cast<std::int16_t>(2 * buffer + 1); }
  static constexpr std::int16_t full(ChipTile chip_tile, std::int64_t ring) {
    return full(buffer(chip_tile, static_cast<std::int32_t>(ring)));
  }
  static constexpr std::int16_t empty(ChipTile chip_tile, std::int64_t ring) {
    return empty(buffer(chip_tile, static_cast<std::int32_t>(ring)));
  }
  static constexpr bool is_empty(std::size_t token) { return token % 2 == 1; }
  /// Returns the `empty` of the buffer whose `full` is given.
  static constexpr std::int16_t empty_of(std::int16_t full) { return static_cast<std::int16_t>(full + 1); }
  static constexpr std::size_t count = 2 * most_chip_tiles * most_stages;
  /// Tokens that belong to no buffer, for example the turns of two groups.
  static constexpr std::int16_t other(int n) { return static_cast<std::int16_t>(n); }  // those of ChipTile::none
};

struct BlockPlan {
  static constexpr std::int64_t statistics_of_sector = sector_size / 4;  // fp32

  TileGrid grid;
  TensorLayouts layouts;                   // as they lie in HBM
  std::shared_ptr<const PageTable> pages;  // of K and V; null if they have none
  /// Bytes of a tensor's row if rows are whole sectors, otherwise 0.
  std::array<std::int64_t, most_tensors> whole_row_bytes{};
  std::int32_t head_dim = 0;
  std::int64_t element = 2;
  float scale = 1;

  std::vector<ChipTile> tiles;                      // all of the program
  std::vector<ChipTile> along_queries, along_keys;  // those that depend on the current query tile, and on the current key tile
  std::vector<std::string> tokens;                  // names, by BufferToken

  BlockPlan(const AttentionProblem& problem, const ProgramTile& tile, const Schema& schema);

  /// Returns whether tiles of these tensors move the same number of bytes at every plane and row.
  template <class... Tensors>
  bool rows_are_whole(const Tensors&... tensors) const {
    return ((whole_row_bytes[Tensor(tensors).index()] != 0) && ...);
  }
  /// Returns the position of a row's fp32 statistic in its sector, 0 to 7. Tiles that start at equal positions move equal bytes.
  std::int64_t place_in_sector(std::int64_t plane, std::int64_t row) const {
    return (plane * grid.problem.seq_q + row) % statistics_of_sector;
  }
  /// Returns a block's place. Its shape encodes the number of rows and `what`, which holds everything else that matters.
  BlockPlace place(std::int64_t plane, TileRange rows, std::int64_t what) const {
    return {what * (TileShape::most_rows + 1) + rows.count, query_rows(plane, rows)};
  }
  /// Returns the place of a block that also moves a statistic of its rows: where they begin in a sector decides the bytes.
  BlockPlace place_with_statistic(std::int64_t plane, TileRange rows, std::int64_t what) const {
    return place(plane, rows, with_statistic(what, plane, rows.first));
  }
  /// Returns `what` for a block's shape, with the position in a sector of the statistic of `row`.
  std::int64_t with_statistic(std::int64_t what, std::int64_t plane, std::int64_t row) const {
    return what * statistics_of_sector + place_in_sector(plane, row);
  }
  static Domain query_rows(std::int64_t plane, TileRange rows) { return along(Axis::query, plane, rows); }
  static Domain along(Axis axis, std::int64_t plane, TileRange rows) {
    return {axis, static_cast<std::int32_t>(plane), static_cast<std::int32_t>(rows.first), static_cast<std::int32_t>(rows.count)};
  }
};

}  // namespace tilescope
