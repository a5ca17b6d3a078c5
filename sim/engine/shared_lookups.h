// SharedLookups: which share of a read needs an L2 look-up of its own. Reads of a line within l2.merge_cycles share one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/memory/tile_map.h"

namespace tilescope {

/// Assumes that the reads of a tile arrive at random, at the mean rate of its latest ones.
class SharedLookups {
 public:
  /// The latest reads of a tile.
  struct Readers {
    std::uint64_t key = ~std::uint64_t{0};  // of the tile
    double cycle = 0;                       // its latest read
    double apart = 0, seen = 0;             // mean cycles between two reads, over `seen` reads
  };

  /// `merge_cycles`: 0 if no reads share a look-up. `tensors` are those of the program.
  SharedLookups(double merge_cycles, const TensorLayouts& layouts, std::span<const Tensor> tensors) : merge_cycles_(merge_cycles) {
    for (const Tensor tensor : tensors) {
      if (!are_shared()) break;
      std::vector<std::uint64_t>& keys = plane_keys_[tensor.index()];
      for (std::int64_t plane = 0; plane < layouts[tensor.index()].planes; ++plane)
        keys.push_back(mixed(mixed(1, static_cast<std::int64_t>(tensor.index())), plane));
    }
  }

  bool are_shared() const { return merge_cycles_ > 0; }
  /// Notes a read of `tile` and returns the share of it that needs its own look-up, 0..1.
  double part_looked_up(const TileRef& tile, double cycle) {
    if (!are_shared()) return 1;
    if (latest_ != tile) {
      const std::uint64_t plane = plane_keys_[tile.tensor.index()][static_cast<std::size_t>(tile.plane)];
      latest_ = tile;
      latest_key_ = mixed(mixed(plane, tile.row), tile.col);
    }
    Readers& readers = readers_of_latest();
    if (readers.key != latest_key_) {
      readers = {latest_key_, cycle, 0, 0};
      return 1;
    }
    return part_of(readers, cycle);
  }
  /// Does the same for the tile that `readers` read before.
  double part_of(Readers& readers, double cycle) const {
    readers.seen = std::min(readers.seen + 1, reads_remembered);
    const double differs = cycle - readers.cycle - readers.apart;
    // Multiplying by the reciprocal of a power of two gives the same bits and is faster than a division.
    readers.apart += readers.seen == reads_remembered ? differs * (1 / reads_remembered) : differs / readers.seen;
    readers.cycle = cycle;
    return readers.apart / (readers.apart + merge_cycles_);
  }
  /// Returns the readers of the tile of the latest part_looked_up(). Another tile may take their place later; `key` then changes.
  Readers& readers_of_latest() { return readers_[latest_key_ & (readers_.size() - 1)]; }

 private:
  static constexpr double reads_remembered = 8;  // window of the mean time between reads of a tile; a power of two, see part_of()

  static std::uint64_t mixed(std::uint64_t key, std::int64_t part) {
    key = (key ^ static_cast<std::uint64_t>(part)) * 0x9e3779b97f4a7c15U;
    return key ^ key >> 32;
  }

  double merge_cycles_;
  std::vector<Readers> readers_ = std::vector<Readers>(1 << 12);     // by the lower bits of a tile's key
  std::array<std::vector<std::uint64_t>, most_tensors> plane_keys_;  // hash of tensor and plane, the first part of a key
  TileRef latest_;
  std::uint64_t latest_key_ = 0;
};

}  // namespace tilescope
