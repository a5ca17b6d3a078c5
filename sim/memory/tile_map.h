// TileMap: cuts every tensor into the tiles that the L2 model tracks, each tile into at most 64 slices of rows.
//
// A tracked tile is TensorLayout's, or a part of its rows where that is large, or where it is small several of them, one below the
// other (TrackedBytes); each has slices of its own.
//
//   TileRef (any rectangle) ──for_each_part──► (tile key, mask of slices) …    one part for each tracked tile it meets
//
// A sector belongs to the one slice that holds its first byte, so that the slices of a tensor add up to its sectors exactly,
// whatever the alignment; a sector that straddles two slices is not asked for by the second.
#pragma once

#include <array>
#include <cstdint>

#include "sim/core/tensor.h"

namespace tilescope {

/// What the cache needs to know of one tracked tile in order to size any set of its slices.
struct TileGeometry {
  static constexpr std::uint32_t uneven = 0xffffffff;

  std::uint64_t key = 0;
  std::uint32_t sectors_each = 0;  // of every slice but the last; `uneven` when slices differ
  std::uint32_t sectors_last = 0;
  std::uint8_t last_slice = 0;
  std::uint8_t parity = 0;  // which half takes the odd sector of slice 0
  std::uint8_t tensor = 0;  // its index
};

/// Of a tracked tile.
struct TrackedBytes {
  std::int64_t least = 2048;  // smaller ones are tracked together: book-keeping costs as much for a tile of 64 bytes as for 64 KiB
  std::int64_t most = 0;      // larger ones are cut, as far as halving their rows goes; 0: none is
};

class TileMap {
 public:
  explicit TileMap(const TensorLayouts& layouts, TrackedBytes tracked = {});

  /// Calls f(key, slices) for each tracked tile that `tile` meets.
  template <class F>
  void for_each_part(const TileRef& tile, F&& f) const;

  TileGeometry geometry(std::uint64_t key) const;
  /// Of one tracked tile.
  std::int64_t tile_bytes(Tensor tensor) const {
    const Grid& grid = grids_[tensor.index()];
    return std::int64_t{grid.tile_rows} * grid.tile_cols * grid.layout.element_bytes;
  }
  /// Sectors owned by a set of slices; with `half` 0 or 1, the part of them homed in that partition. The halves add up.
  std::int64_t sectors(const TileGeometry& tile, std::uint64_t slices) const;
  std::int64_t sectors_of_half(const TileGeometry& tile, std::uint64_t slices, int half) const;

 private:
  struct Grid {
    TensorLayout layout;
    std::uint32_t tile_rows = 1, tile_cols = 1;  // as tracked: at least a sector
    std::uint32_t down = 0, across = 0;          // tiles in a plane
    int slice_shift = 0;                         // rows of a slice, as a power of two
    int row_shift = -1;                          // of tile_rows where that is a power of two: dividing is slow
    bool even = false;                           // every slice starts and ends on a sector
  };
  std::int64_t slice_sectors(const TileGeometry& tile, int slice) const;
  static std::uint64_t slice_mask(int first, int last) { return (~std::uint64_t{0} >> (63 - last)) & (~std::uint64_t{0} << first); }

  std::array<Grid, most_tensors> grids_;
};

template <class F>
void TileMap::for_each_part(const TileRef& tile, F&& f) const {
  if (tile.rows <= 0 || tile.cols <= 0) return;
  const Grid& grid = grids_[tile.tensor.index()];
  const auto first_row = static_cast<std::uint32_t>(tile.row), end_row = first_row + static_cast<std::uint32_t>(tile.rows);
  const auto first_col = static_cast<std::uint32_t>(tile.col), end_col = first_col + static_cast<std::uint32_t>(tile.cols);
  const std::uint32_t first_across = grid.across == 1 ? 0 : first_col / grid.tile_cols;
  const std::uint32_t last_across = grid.across == 1 ? 0 : (end_col - 1) / grid.tile_cols;
  const std::uint64_t tag = static_cast<std::uint64_t>(tile.tensor.index()) << 56;
  const std::uint32_t first_down = grid.row_shift >= 0 ? first_row >> grid.row_shift : first_row / grid.tile_rows;
  for (std::uint32_t r = first_down; r * static_cast<std::uint64_t>(grid.tile_rows) < end_row; ++r) {
    const std::uint32_t top = r * grid.tile_rows;
    const std::uint32_t begin = first_row > top ? first_row - top : 0;
    const std::uint32_t end = end_row - top < grid.tile_rows ? end_row - top : grid.tile_rows;
    const std::uint64_t slices =
        slice_mask(static_cast<int>(begin >> grid.slice_shift), static_cast<int>((end - 1) >> grid.slice_shift));
    const std::uint64_t row_key = tag | ((static_cast<std::uint64_t>(tile.plane) * grid.down + r) * grid.across);
    for (std::uint32_t c = first_across; c <= last_across; ++c) f(row_key + c, slices);
  }
}

}  // namespace tilescope
