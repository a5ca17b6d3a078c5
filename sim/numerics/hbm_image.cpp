// Stored tiles ordered by position. A load that matches no stored tile is assembled from the tiles that it overlaps.
#include "sim/numerics/hbm_image.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace tilescope {

void HbmImage::store(const TileRef& tile, MatrixPtr values, std::int32_t stamp) {
  Stored& stored = tensors_[tile.tensor.index()];
  stored.largest_rows = std::max(stored.largest_rows, tile.rows);
  stored.largest_cols = std::max(stored.largest_cols, tile.cols);
  stored.tiles.insert_or_assign({tile.plane, tile.col, tile.row, tile.rows, tile.cols}, Entry{std::move(values), stores_++, stamp});
}

MatrixPtr HbmImage::add(const TileRef& tile, const Matrix& values, std::int32_t stamp) {
  Found found = load(tile);
  auto sum = std::make_shared<Matrix>(*found.values);
  for (std::size_t i = 0; i < sum->values.size(); ++i) sum->values[i] += values.values[i];
  store(tile, std::move(sum), stamp);
  return found.missing == 0 ? std::move(found.values) : nullptr;
}

void HbmImage::settle() {
  for (Stored& stored : tensors_)
    for (auto& [key, entry] : stored.tiles) entry.stamp = -1;
}

HbmImage::Found HbmImage::load(const TileRef& tile) const {
  const Stored& stored = tensors_[tile.tensor.index()];
  struct Piece {
    const Key* key;
    const Entry* entry;
  };
  std::vector<Piece> pieces;
  // A stored tile that overlaps this one starts at most one largest tile before it.
  const std::int32_t col_end = tile.col + tile.cols, row_end = tile.row + tile.rows;
  const std::int32_t first_row = tile.row - stored.largest_rows + 1;
  auto at = stored.tiles.lower_bound({tile.plane, tile.col - stored.largest_cols + 1, first_row, 0, 0});
  while (at != stored.tiles.end() && at->first.plane == tile.plane && at->first.col < col_end) {
    const Key& key = at->first;
    if (key.row < first_row) {
      at = stored.tiles.lower_bound({key.plane, key.col, first_row, 0, 0});
    } else if (key.row >= row_end) {
      at = stored.tiles.lower_bound({key.plane, key.col + 1, std::numeric_limits<std::int32_t>::min(), 0, 0});
    } else {
      if (key.row + key.rows > tile.row && key.col + key.cols > tile.col) pieces.push_back({&key, &at->second});
      ++at;
    }
  }

  Found found;
  if (pieces.size() == 1 && *pieces[0].key == Key{tile.plane, tile.col, tile.row, tile.rows, tile.cols}) {
    found.values = pieces[0].entry->values;
    found.oldest_stamp = pieces[0].entry->stamp;
    return found;
  }
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.entry->order < b.entry->order; });
  auto values = std::make_shared<Matrix>(tile.rows, tile.cols);
  std::vector<bool> covered(values->values.size(), false);
  found.oldest_stamp = pieces.empty() ? 0 : std::numeric_limits<std::int32_t>::max();
  for (const auto& [key, entry] : pieces) {
    found.oldest_stamp = std::min(found.oldest_stamp, entry->stamp);
    const std::int32_t from_col = std::max(tile.col, key->col), to_col = std::min(col_end, key->col + key->cols);
    for (std::int32_t r = std::max(tile.row, key->row); r < std::min(row_end, key->row + key->rows); ++r)
      for (std::int32_t c = from_col; c < to_col; ++c) {
        values->at(r - tile.row, c - tile.col) = entry->values->at(r - key->row, c - key->col);
        covered[static_cast<std::size_t>(r - tile.row) * static_cast<std::size_t>(tile.cols) +
                static_cast<std::size_t>(c - tile.col)] = true;
      }
  }
  found.missing = std::count(covered.begin(), covered.end(), false);
  found.values = std::move(values);
  return found;
}

}  // namespace tilescope
