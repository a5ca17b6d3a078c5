// TileMap cuts every tensor into the tiles that the L2 model tracks, and each tile into at most 64 slices of rows.
//
// A tracked tile is the tile of TensorLayout. A large one is cut into several, small ones are joined vertically (TrackedBytes).
//
//   TileRef (any rectangle) ──for_each_part──► (tile key, mask of slices) …    one part for each tracked tile that it overlaps
//
// A sector belongs to the slice that holds its first byte, so the slices of a tensor add up to its sectors exactly, for every
// alignment. The price: an access to only the second of two slices misses a sector that straddles them.
#pragma once

#include <array>
#include <cstdint>

#include "sim/core/tensor.h"

namespace tilescope {

/// The geometry of a tracked tile, from which the cache computes the size of any set of its slices.
struct TileGeometry {
  static constexpr std::uint32_t uneven = 0xffffffff;

  std::uint64_t key = 0;
  std::uint32_t sectors_each = 0;  // of every slice but the last; `uneven` if slices differ
  std::uint32_t sectors_last = 0;
  std::uint8_t last_slice = 0;
  std::uint8_t parity = 0;  // the half that does not get the odd sector of slice 0; the halves alternate by slice
  std::uint8_t tensor = 0;  // index
};

/// The wanted size of a tracked tile.
struct TrackedBytes {
  std::int64_t least = 2048;  // smaller tiles are joined: bookkeeping costs the same for 64 bytes and for 64 KiB
  std::int64_t most = 0;      // larger tiles are cut by halving their rows, while these are even; 0: no limit
};

class TileMap {
 public:
  explicit TileMap(const TensorLayouts& layouts, TrackedBytes tracked = {});

  /// Calls f(key, slices) for each tracked tile that `tile` overlaps.
  template <class F>
  void for_each_part(const TileRef& tile, F&& f) const;

  TileGeometry geometry(std::uint64_t key) const;
  /// Returns the size of a tracked tile of `tensor`.
  std::int64_t tile_bytes(Tensor tensor) const {
    const Grid& grid = grids_[tensor.index()];
    return std::int64_t{grid.tile_rows} * grid.tile_cols * grid.layout.element_bytes;
  }
  /// Counts the sectors of a set of slices. sectors_of_half() counts those whose home is partition `half`; the halves add up.
  std::int64_t sectors(const TileGeometry& tile, std::uint64_t slices) const;
  std::int64_t sectors_of_half(const TileGeometry& tile, std::uint64_t slices, int half) const;

 private:
  struct Grid {
    TensorLayout layout;
    std::uint32_t tile_rows = 1, tile_cols = 1;  // of a tracked tile: at least a sector
    std::uint32_t down = 0, across = 0;          // tiles in a plane
    int slice_shift = 0;                         // log2 of the rows of a slice
    int row_shift = -1;                          // log2 of tile_rows; -1 if that is no power of two. Avoids a slow division
    bool even = false;                           // every slice starts and ends on a sector boundary
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
