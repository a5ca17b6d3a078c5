// HbmImage: what stores have left in HBM, as the tiles that were stored; loads are answered from them, whatever their shape.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>

#include "sim/core/tensor.h"
#include "sim/numerics/matrix.h"

namespace tilescope {

using MatrixPtr = std::shared_ptr<const Matrix>;

class HbmImage {
 public:
  /// Later stores win where tiles overlap. `stamp` says who stored, for `Found`.
  void store(const TileRef& tile, MatrixPtr values, std::int32_t stamp);

  /// Gives every tile stored so far the stamp -1: from here on they are what was there before.
  void settle();

  struct Found {
    MatrixPtr values;               // what was never stored is 0
    std::int64_t missing = 0;       // elements of the tile that were never stored
    std::int32_t oldest_stamp = 0;  // of the stores that the values come from
  };
  Found load(const TileRef& tile) const;

 private:
  // Columns before rows: a load of a row of tiles, the common case, then finds what it needs side by side.
  struct Key {
    std::int32_t plane, col, row, rows, cols;
    auto operator<=>(const Key&) const = default;  // NOLINT(modernize-use-nullptr): sees a 0 in what the compiler writes
  };
  struct Entry {
    MatrixPtr values;
    std::int64_t order = 0;
    std::int32_t stamp = 0;
  };
  struct Stored {
    std::map<Key, Entry> tiles;
    std::int32_t largest_rows = 0, largest_cols = 0;
  };
  std::array<Stored, most_tensors> tensors_;
  std::int64_t stores_ = 0;
};

}  // namespace tilescope
