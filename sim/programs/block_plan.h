// BlockPlan: what is worked out once a program, so that writing out a block costs additions only.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/programs/tile_grid.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

/// The two tokens of a buffer on chip, by number: `full` and `empty`.
struct BufferToken {
  /// Buffers of a ring that are filled again and again; a ring in which every buffer is filled once may have any number.
  static constexpr std::size_t most_stages = 8;

  static constexpr std::size_t buffer(Slot slot, std::int32_t ring) {
    return slot.index() * most_stages + (slot.is_ring() ? static_cast<std::size_t>(ring) % most_stages : 0);
  }
  static constexpr std::int16_t full(std::size_t buffer) { return static_cast<std::int16_t>(2 * buffer); }
  static constexpr std::int16_t empty(std::size_t buffer) { return static_cast<std::int16_t>(2 * buffer + 1); }
  static constexpr std::size_t count = 2 * most_slots * most_stages;
};

struct BlockPlan {
  TileGrid grid;
  TensorLayouts layouts;
  /// Bytes of a row where every row is whole sectors, 0 elsewhere.
  std::array<std::int64_t, most_tensors> whole_row_bytes{};
  std::int32_t head_dim = 0;
  std::int64_t element = 2;
  float scale = 1;

  std::vector<Slot> tiles;                      // of the program
  std::vector<Slot> along_queries, along_keys;  // tiles that move with the current query tile, and with the current key tile
  std::vector<std::string> tokens;              // names, by BufferToken

  BlockPlan(const AttentionProblem& problem, const ProgramTile& tile, const Schema& schema);

  /// Whether a tile of these tensors moves as many bytes in every plane and from every row.
  template <class... Tensors>
  bool rows_are_whole(const Tensors&... tensors) const {
    return ((whole_row_bytes[Tensor(tensors).index()] != 0) && ...);
  }
  /// Where in a sector the statistics of a row start, 0 to 7: tiles that start alike move as many bytes.
  std::int64_t place_in_sector(std::int64_t plane, std::int64_t row) const {
    return (plane * grid.problem.seq_q + row) % (sector_size / 4);
  }
  /// A place, with the block's rows and `what` else its operations depend on as its shape.
  BlockPlace place(std::int64_t plane, TileRange rows, std::int64_t what) const {
    return {what * (TileShape::most_rows + 1) + rows.count, query_rows(plane, rows)};
  }
  static Domain query_rows(std::int64_t plane, TileRange rows) { return along(Axis::query, plane, rows); }
  static Domain along(Axis axis, std::int64_t plane, TileRange rows) {
    return {axis, static_cast<std::int32_t>(plane), static_cast<std::int32_t>(rows.first), static_cast<std::int32_t>(rows.count)};
  }
};

}  // namespace tilescope
