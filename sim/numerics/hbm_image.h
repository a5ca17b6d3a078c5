// HbmImage: the contents of HBM as the list of stored tiles. A load may have any shape.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>

#include "sim/core/matrix.h"
#include "sim/core/tensor.h"

namespace tilescope {

using MatrixPtr = std::shared_ptr<const Matrix>;

class HbmImage {
 public:
  /// Stores a tile; later stores win where tiles overlap. `stamp` identifies the store in `Found`.
  void store(const TileRef& tile, MatrixPtr values, std::int32_t stamp);

  /// Adds to what lies there and stores the sums. Returns what lay there; nullptr if an element of it was never stored.
  MatrixPtr add(const TileRef& tile, const Matrix& values, std::int32_t stamp);

  /// Sets the stamp of all tiles to -1, which marks them as older than every later store.
  void settle();

  struct Found {
    MatrixPtr values;               // 0 for elements that were never stored
    std::int64_t missing = 0;       // number of elements that were never stored
    std::int32_t oldest_stamp = 0;  // the oldest stamp among the values' stores
  };
  Found load(const TileRef& tile) const;

 private:
  // Columns come before rows, so that load() can skip from one column of tiles to the next.
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
