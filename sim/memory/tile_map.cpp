// The geometry of tracked tiles, and the sectors of their slices.
#include "sim/memory/tile_map.h"

#include <algorithm>
#include <bit>

namespace tilescope {

namespace {

constexpr std::uint64_t index_bits = (std::uint64_t{1} << 56) - 1;

std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return ceil_div(value, step) * step;
}

std::int64_t tiles_tracked_together(std::int64_t rows, std::int64_t row_bytes, int slice_shift, std::int64_t least_bytes) {
  const std::int64_t wanted = least_bytes / (rows * row_bytes), possible = (std::int64_t{64} << slice_shift) / rows;
  return std::max<std::int64_t>(1, std::min(wanted, possible));
}

/// Counts the sectors whose first byte lies in [first, end).
std::int64_t sectors_starting_in(std::int64_t first, std::int64_t end) {
  return ceil_div(end, sector_size) - ceil_div(first, sector_size);
}

/// Counts the set bits. std::popcount is a function call on baseline x86-64, and most masks are a single slice anyway.
int count_bits(std::uint64_t mask) {
  if ((mask & (mask - 1)) == 0) return mask != 0;
  mask -= mask >> 1 & 0x5555555555555555U;
  mask = (mask & 0x3333333333333333U) + (mask >> 2 & 0x3333333333333333U);
  mask = (mask + (mask >> 4)) & 0x0f0f0f0f0f0f0f0fU;
  return static_cast<int>(mask * 0x0101010101010101U >> 56);
}

/// Returns the mask of the slices whose number differs from `parity` in the lowest bit.
std::uint64_t odd_slices(int parity) {
  return parity != 0 ? 0x5555555555555555U : 0xaaaaaaaaaaaaaaaaU;
}

}  // namespace

TileMap::TileMap(const TensorLayouts& layouts, TrackedBytes tracked) {
  for (std::size_t t = 0; t < layouts.size(); ++t) {
    Grid& grid = grids_[t];
    const TensorLayout& layout = layouts[t];
    grid.layout = layout;
    if (layout.rows <= 0 || layout.cols <= 0) continue;
    const std::int64_t row_bytes = layout.row_bytes();
    std::int64_t rows = std::min(layout.tile_rows, layout.rows);
    std::int64_t cols = std::min(layout.tile_cols, layout.cols);
    while (tracked.most > 0 && rows % 2 == 0 && rows * cols * layout.element_bytes > tracked.most) rows /= 2;
    const bool full_width = cols == layout.cols;
    // A tile thinner than a sector might own no sector at all, so neighbours are joined.
    std::int64_t rows_of_a_sector = 1;
    if (full_width) {
      rows_of_a_sector = ceil_div(sector_size, row_bytes);
      rows = std::max(rows, round_up(rows_of_a_sector, rows));
    } else if (cols * layout.element_bytes < sector_size) {
      cols = std::min(layout.cols, round_up(ceil_div(sector_size, layout.element_bytes), cols));
    }
    const auto slice_rows = static_cast<std::uint64_t>(std::max(ceil_div(rows, 64), rows_of_a_sector));
    grid.slice_shift = std::bit_width(slice_rows - 1);
    rows *= tiles_tracked_together(rows, cols * layout.element_bytes, grid.slice_shift, tracked.least);
    grid.tile_rows = static_cast<std::uint32_t>(rows);
    if (std::has_single_bit(grid.tile_rows)) grid.row_shift = std::countr_zero(grid.tile_rows);
    grid.tile_cols = static_cast<std::uint32_t>(cols);
    grid.down = static_cast<std::uint32_t>(ceil_div(layout.rows, rows));
    grid.across = static_cast<std::uint32_t>(ceil_div(layout.cols, cols));
    const std::int64_t slice_bytes = row_bytes << grid.slice_shift;
    grid.even = full_width ? slice_bytes % sector_size == 0 && rows * row_bytes % sector_size == 0 &&
                                 layout.plane_bytes().value % sector_size == 0
                           : row_bytes % sector_size == 0 && cols * layout.element_bytes % sector_size == 0;
  }
}

TileGeometry TileMap::geometry(std::uint64_t key) const {
  TileGeometry tile;
  tile.key = key;
  tile.tensor = static_cast<std::uint8_t>(key >> 56);
  const Grid& grid = grids_[tile.tensor];
  const std::uint64_t index = key & index_bits;
  const auto across = static_cast<std::int64_t>(index % grid.across);
  const auto down = static_cast<std::int64_t>(index / grid.across % grid.down);
  const std::int64_t rows = std::min<std::int64_t>(grid.tile_rows, grid.layout.rows - down * grid.tile_rows);
  const std::int64_t cols = std::min<std::int64_t>(grid.tile_cols, grid.layout.cols - across * grid.tile_cols);
  tile.last_slice = static_cast<std::uint8_t>((rows - 1) >> grid.slice_shift);
  tile.parity = static_cast<std::uint8_t>(index & 1);
  if (!grid.even) {
    tile.sectors_each = TileGeometry::uneven;
    return tile;
  }
  const std::int64_t slice_rows = std::int64_t{1} << grid.slice_shift;
  const std::int64_t row_bytes = (cols + (across + 1 == grid.across ? grid.layout.pad : 0)) * grid.layout.element_bytes;
  tile.sectors_each = static_cast<std::uint32_t>(slice_rows * row_bytes / sector_size);
  tile.sectors_last = static_cast<std::uint32_t>((rows - tile.last_slice * slice_rows) * row_bytes / sector_size);
  return tile;
}

std::int64_t TileMap::slice_sectors(const TileGeometry& tile, int slice) const {
  const Grid& grid = grids_[tile.tensor];
  const TensorLayout& layout = grid.layout;
  const std::uint64_t index = tile.key & index_bits;
  const auto across = static_cast<std::int64_t>(index % grid.across);
  const auto down = static_cast<std::int64_t>(index / grid.across % grid.down);
  const auto plane = static_cast<std::int64_t>(index / grid.across / grid.down);
  const std::int64_t begin = down * grid.tile_rows + (static_cast<std::int64_t>(slice) << grid.slice_shift);
  const std::int64_t end = std::min(
      {begin + (std::int64_t{1} << grid.slice_shift), (down + 1) * static_cast<std::int64_t>(grid.tile_rows), layout.rows});
  const std::int64_t row_bytes = layout.row_bytes();
  const std::int64_t first = across * grid.tile_cols * layout.element_bytes;
  const std::int64_t last = across + 1 == grid.across ? row_bytes : first + grid.tile_cols * layout.element_bytes;
  const std::int64_t base = plane * layout.rows * row_bytes;
  if (last - first == row_bytes) return sectors_starting_in(base + begin * row_bytes, base + end * row_bytes);
  std::int64_t count = 0;
  for (std::int64_t row = begin; row < end; ++row)
    count += sectors_starting_in(base + row * row_bytes + first, base + row * row_bytes + last);
  return count;
}

std::int64_t TileMap::sectors(const TileGeometry& tile, std::uint64_t slices) const {
  if (tile.sectors_each != TileGeometry::uneven) {
    const std::uint64_t last_bit = std::uint64_t{1} << tile.last_slice;
    const std::int64_t whole = std::int64_t{tile.sectors_each} * count_bits(slices & ~last_bit);
    return whole + ((slices & last_bit) != 0 ? tile.sectors_last : 0);
  }
  std::int64_t count = 0;
  for (std::uint64_t rest = slices; rest != 0; rest &= rest - 1) count += slice_sectors(tile, std::countr_zero(rest));
  return count;
}

std::int64_t TileMap::sectors_of_half(const TileGeometry& tile, std::uint64_t slices, int half) const {
  const std::uint64_t odd = odd_slices(tile.parity ^ half);
  if (tile.sectors_each != TileGeometry::uneven) {
    const std::uint64_t last_bit = std::uint64_t{1} << tile.last_slice;
    const std::uint64_t whole = slices & ~last_bit;
    std::int64_t count = std::int64_t{tile.sectors_each / 2} * count_bits(whole);
    if (tile.sectors_each % 2 != 0) count += count_bits(whole & odd);
    if ((slices & last_bit) != 0) count += tile.sectors_last / 2 + ((odd & last_bit) != 0 ? tile.sectors_last % 2 : 0);
    return count;
  }
  std::int64_t count = 0;
  for (std::uint64_t rest = slices; rest != 0; rest &= rest - 1) {
    const int slice = std::countr_zero(rest);
    const std::int64_t owned = slice_sectors(tile, slice);
    count += owned / 2 + ((odd >> slice & 1) != 0 ? owned % 2 : 0);
  }
  return count;
}

}  // namespace tilescope
