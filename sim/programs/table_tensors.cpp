// Declarations of table gradients, kept by name.
#include "sim/programs/table_tensors.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "sim/programs/backward_tensors.h"

namespace tilescope::tables {

namespace {

/// Keeps one declaration for each key. A declaration never moves.
template <class Spec, class Key>
const Spec& kept(const Key& key, const std::string& name, Spec spec) {
  struct Entry {
    std::string name;
    Spec spec;
  };
  static std::mutex mutex;
  static std::map<Key, Entry> all;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = all.try_emplace(key);
  if (is_new) {
    found->second.name = name;
    spec.name = found->second.name;
    found->second.spec = spec;
  }
  return found->second.spec;
}

ChipTile tile(std::size_t index, Tensor tensor, const std::string& name, TilePart part, bool ring = false) {
  const ChipTileSpec spec{.name = {}, .tensor = tensor, .index = static_cast<std::uint8_t>(index), .part = part, .ring = ring};
  return kept(std::tuple(index, tensor, name), name, spec);
}

}  // namespace

Tensor gradient(std::size_t n, std::string_view table) {
  const TensorSpec spec{.name = {},
                        .meaning = Meaning::bias,
                        .index = static_cast<std::uint8_t>(tensor_index::table_gradients + n),
                        .planes = Planes::all,
                        .rows = Axis::table_row,
                        .cols = Axis::table_col,
                        .type = DataType::fp32,
                        .gradient = true,
                        .table = static_cast<std::int8_t>(n)};
  return kept(std::pair(n, std::string(table)), fmt::format("d{}", table), spec);
}

Tensor parts(std::size_t n, std::size_t read, std::string_view table) {
  const TensorSpec spec{.name = {},
                        .meaning = Meaning::bias,
                        .index = static_cast<std::uint8_t>(tensor_index::table_parts + read),
                        .planes = Planes::all,
                        .rows = Axis::table_row,
                        .cols = Axis::table_col,
                        .type = DataType::fp32,
                        .gradient = true,
                        .table = static_cast<std::int8_t>(n),
                        .read = static_cast<std::int8_t>(read)};
  return kept(std::tuple(n, read, std::string(table)), fmt::format("Δ{}", table), spec);
}

ChipTile gathered(std::size_t read, Tensor tensor, bool many) {
  return tile(tile_index::table_sums + read, tensor, std::string(to_string(tensor)), TilePart::of_tile, many);
}

ChipTile factor(std::size_t read, std::string_view table) {
  return tile(tile_index::table_factors + read, tensors::d_s, fmt::format("∂{}", table), TilePart::factor);
}

ChipTile product() {
  return tile(tile_index::table_product, tensors::d_s, "dS∘∂", TilePart::of_tile);
}

ChipTile zeros(std::size_t n, Tensor gradient) {
  return tile(tile_index::table_zeros + n, gradient, std::string(to_string(gradient)), TilePart::whole);
}

std::int64_t sectors_added(const TableRead& read, const TensorLayout& layout, const TileRef& tile) {
  if (read.reach != TableReach::pair) return sectors_touched(layout, tile);
  constexpr std::int32_t at_once = 8;
  std::int64_t sectors = 0;
  for (std::int32_t row = tile.row; row < tile.row + tile.rows; ++row)
    for (std::int32_t col = 0; col < tile.cols; col += at_once)
      sectors += sectors_touched(layout, {tile.tensor, tile.plane, row, 1, tile.col + col, std::min(at_once, tile.cols - col)});
  return sectors;
}

}  // namespace tilescope::tables
