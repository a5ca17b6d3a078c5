// TileMap against a walk over every element and every sector of small tensors.
#include "sim/memory/tile_map.h"

#include <map>
#include <random>
#include <set>
#include <utility>

#include <doctest/doctest.h>

#include "sim/programs/attention_tensors.h"
#include "tests/rounds.h"

namespace tilescope::tile_map_tests {
namespace {

using Slice = std::pair<std::uint64_t, int>;  // key of the tracked tile, and number in it

std::set<Slice> slices_of(const TileMap& map, const TileRef& tile) {
  std::set<Slice> found;
  map.for_each_part(tile, [&](std::uint64_t key, std::uint64_t slices) {
    for (int bit = 0; bit < 64; ++bit)
      if ((slices >> bit & 1U) != 0) CHECK(found.insert({key, bit}).second);
  });
  return found;
}

TileMap map_of(const TensorLayout& layout, TrackedBytes tracked) {
  TensorLayouts layouts{};
  layouts[Tensor(tensors::s).index()] = layout;
  return TileMap(layouts, tracked);
}

std::int64_t tracked_bytes(const TensorLayout& layout, TrackedBytes tracked) {
  return map_of(layout, tracked).tile_bytes(tensors::s);
}

}  // namespace

TEST_CASE("tile map: a rectangle is the slices of its elements, and each sector belongs to the slice of its first byte") {
  std::mt19937_64 random(13);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  int even = 0, uneven = 0;
  for (int round = 0; round < rounds(150); ++round) {
    TensorLayout layout;
    layout.planes = pick(1, 3);
    layout.rows = pick(1, 3) == 1 ? 8 * pick(1, 24) : pick(1, 150);
    layout.cols = pick(1, 2) == 1 ? 8 * pick(1, 6) : pick(1, 50);
    layout.element_bytes = pick(1, 2) * 2;
    const bool padded = pick(1, 3) == 1;
    if (padded) layout.pad = (32 - layout.cols * layout.element_bytes % 32) % 32 / layout.element_bytes;
    layout.tile_rows = pick(1, 3) == 1 ? 16 : pick(1, 40);
    layout.tile_cols = pick(1, 2) == 1 ? layout.cols : pick(1, 30);
    const TrackedBytes tracked = {pick(0, 3) * 700, pick(0, 2) * 900};
    CAPTURE(round);
    const TileMap map = map_of(layout, tracked);
    const auto element = [&](std::int64_t plane, std::int64_t row, std::int64_t col) {
      const TileRef one = {tensors::s, static_cast<std::int32_t>(plane), static_cast<std::int32_t>(row),
                           1,          static_cast<std::int32_t>(col),   1};
      const std::set<Slice> found = slices_of(map, one);
      REQUIRE(found.size() == 1);
      return *found.begin();
    };
    for (int i = 0; i < 4; ++i) {
      TileRef tile = {tensors::s, static_cast<std::int32_t>(pick(0, layout.planes - 1)), 0, 0, 0, 0};
      tile.row = static_cast<std::int32_t>(pick(0, layout.rows - 1)),
      tile.col = static_cast<std::int32_t>(pick(0, layout.cols - 1));
      tile.rows = static_cast<std::int32_t>(pick(1, layout.rows - tile.row));
      tile.cols = static_cast<std::int32_t>(pick(1, layout.cols - tile.col));
      std::set<Slice> expected;
      for (std::int64_t row = tile.row; row < tile.row + tile.rows; ++row)
        for (std::int64_t col = tile.col; col < tile.col + tile.cols; ++col) expected.insert(element(tile.plane, row, col));
      CHECK(slices_of(map, tile) == expected);
    }
    std::map<Slice, std::int64_t> sectors;
    for (std::int64_t byte = 0; byte < layout.bytes().value; byte += sector_size) {
      const std::int64_t row = byte / layout.row_bytes(), col = byte % layout.row_bytes() / layout.element_bytes;
      ++sectors[element(row / layout.rows, row % layout.rows, std::min(col, layout.cols - 1))];
    }
    std::int64_t sum = 0;
    std::set<std::uint64_t> keys;
    for (const auto& [slice, number] : sectors) {
      const TileGeometry tile = map.geometry(slice.first);
      keys.insert(slice.first);
      sum += number;
      REQUIRE(slice.second <= tile.last_slice);
      REQUIRE(tile.last_slice < 64);
      const std::uint64_t bit = std::uint64_t{1} << slice.second;
      CHECK(map.sectors(tile, bit) == number);
      const std::int64_t halves[] = {map.sectors_of_half(tile, bit, 0), map.sectors_of_half(tile, bit, 1)};
      CHECK(halves[0] + halves[1] == number);
      // The odd sector goes to the halves by turns, from slice to slice and from tile to tile.
      const auto turn = static_cast<int>((slice.first + static_cast<std::uint64_t>(slice.second)) & 1U);
      CHECK(halves[turn] == number / 2);
      ++(tile.sectors_each == TileGeometry::uneven ? uneven : even);
    }
    CHECK(sum == ceil_div(layout.bytes().value, sector_size));
    for (const std::uint64_t key : keys) {
      const TileGeometry tile = map.geometry(key);
      const std::uint64_t some = random() & (~std::uint64_t{0} >> (63 - tile.last_slice));
      std::int64_t one_by_one = 0, of_half[2] = {};
      for (int bit = 0; bit <= tile.last_slice; ++bit) {
        if ((some >> bit & 1U) == 0) continue;
        one_by_one += map.sectors(tile, std::uint64_t{1} << bit);
        for (const int half : {0, 1}) of_half[half] += map.sectors_of_half(tile, std::uint64_t{1} << bit, half);
      }
      CHECK(map.sectors(tile, some) == one_by_one);
      for (const int half : {0, 1}) CHECK(map.sectors_of_half(tile, some, half) == of_half[half]);
    }
  }
  CHECK(even > rounds(1000));
  CHECK(uneven > rounds(1000));
}

TEST_CASE("tile map: the sectors of a slice need no counting where rows, or tiles as wide as the tensor, are whole sectors") {
  const auto is_counted = [](const TensorLayout& layout) {
    const TileMap map = map_of(layout, {.least = 0});
    std::set<bool> counted;
    for (const Slice& slice :
         slices_of(map, {tensors::s, 0, 0, static_cast<std::int32_t>(layout.rows), 0, static_cast<std::int32_t>(layout.cols)}))
      counted.insert(map.geometry(slice.first).sectors_each == TileGeometry::uneven);
    REQUIRE(counted.size() == 1);
    return *counted.begin();
  };
  TensorLayout layout = {.planes = 3, .rows = 96, .cols = 64, .element_bytes = 2, .tile_rows = 32, .tile_cols = 64};
  CHECK_FALSE(is_counted(layout));
  layout.rows = 97;  // each row is four sectors
  CHECK_FALSE(is_counted(layout));
  layout.tile_cols = 16;
  CHECK_FALSE(is_counted(layout));
  layout.tile_cols = 24;  // one and a half sectors
  CHECK(is_counted(layout));
  layout.tile_cols = layout.cols = 20;
  CHECK(is_counted(layout));
  layout.rows = 96;  // 40 bytes a row: 32 rows are whole sectors, but a slice of one row is not
  CHECK(is_counted(layout));
  // Sixteen rows are a sector, and so many are a slice. A plane that ends inside a sector moves the ones after it.
  layout = {.planes = 2, .rows = 160, .cols = 1, .element_bytes = 2, .tile_rows = 32, .tile_cols = 1};
  CHECK_FALSE(is_counted(layout));
  layout.rows = 168;
  CHECK(is_counted(layout));
}

TEST_CASE("tile map: tiles are halved down to the wanted size, joined up to it, and never smaller than a sector") {
  TensorLayout layout = {.planes = 1, .rows = 1024, .cols = 64, .tile_rows = 64, .tile_cols = 64};  // 8192 bytes a tile
  CHECK(tracked_bytes(layout, {.least = 2048}) == 8192);
  CHECK(tracked_bytes(layout, {.least = 2048, .most = 8192}) == 8192);
  CHECK(tracked_bytes(layout, {.least = 2048, .most = 8191}) == 4096);
  CHECK(tracked_bytes(layout, {.least = 2048, .most = 4096}) == 4096);
  CHECK(tracked_bytes(layout, {.least = 0, .most = 1}) == 128);  // a row
  CHECK(tracked_bytes(layout, {.least = 2048, .most = 1}) == 2048);
  CHECK(tracked_bytes(layout, {.least = 16384}) == 8192);  // 64 slices of a row each
  layout.tile_rows = 16;
  CHECK(tracked_bytes(layout, {.least = 2047}) == 2048);
  CHECK(tracked_bytes(layout, {.least = 4095}) == 2048);
  CHECK(tracked_bytes(layout, {.least = 4096}) == 4096);
  CHECK(tracked_bytes(layout, {.least = 16384}) == 8192);
  layout.tile_rows = 96;  // halved while it is even
  CHECK(tracked_bytes(layout, {.least = 0, .most = 1}) == 3 * 128);
  layout.tile_rows = 2048;  // no more than there are
  CHECK(tracked_bytes(layout, {.least = 0}) == 1024 * 128);
  layout = {.planes = 1, .rows = 1000, .cols = 1, .element_bytes = 4, .tile_rows = 1, .tile_cols = 1};
  CHECK(tracked_bytes(layout, {.least = 0}) == 32);  // eight rows are a sector
  CHECK(tracked_bytes(layout, {.least = 64}) == 64);
  CHECK(tracked_bytes(layout, {.least = 1 << 20}) == 64 * 32);  // 64 slices of a sector each
  layout.tile_rows = 3;
  CHECK(tracked_bytes(layout, {.least = 0}) == 9 * 4);
  layout = {.planes = 1, .rows = 16, .cols = 64, .element_bytes = 2, .tile_rows = 4, .tile_cols = 5};
  CHECK(tracked_bytes(layout, {.least = 0}) == 4 * 20 * 2);  // four tiles of ten bytes a row are the first to fill a sector
  layout.cols = 12;
  CHECK(tracked_bytes(layout, {.least = 0}) == 4 * 12 * 2);
}

}  // namespace tilescope::tile_map_tests
