// PairProbe: the recorder of a backward kernel. Beside the blocks and stages of Probe it records S, P, dP - D and dS of one row.
#pragma once

#include "kernels/common/probe.cuh"
#include "kernels/common/probe_numbers.h"

namespace tilescope::device {

class PairProbe : public Probe {
 public:
  using Probe::Probe;

  /// The recorder of one pair of tiles.
  class Tile {
   public:
    __device__ __forceinline__ Tile(const PairProbe& probe, int followed, int first_key, int keys)
        : probe_(probe), followed_(followed), first_key_(first_key), keys_(keys) {}
    __device__ __forceinline__ void tick(int iteration, int event) const { probe_.tick(iteration, event); }
    /// Records a number of the followed row. `x` is a lane's part of 32 keys x 32 queries, as mma leaves it; its first element is
    /// of the tile's key `key` and query `query`.
    __device__ __forceinline__ void record(PairNumber what, const float (&x)[2][4][4], int key, int query) const {
      const int column = followed_ - query;
      if (column < 0 || column >= 32) return;
#pragma unroll
      for (int mt = 0; mt < 2; ++mt)
#pragma unroll
        for (int t = 0; t < 4; ++t)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            if (column == t * 8 + (i & 1)) write(what, x[mt][t][i], key + mt * 16 + (i / 2) * 8);
    }
    /// Records a number of one key and one query of the tile.
    __device__ __forceinline__ void record(PairNumber what, float x, int key, int query) const {
      if (query == followed_) write(what, x, key);
    }

   private:
    __device__ __forceinline__ void write(PairNumber what, float x, int key) const {
      if (key < keys_) probe_.arguments_.row[(first_key_ + key) * probe_pair_numbers + static_cast<int>(what)] = x;
    }
    const PairProbe& probe_;
    int followed_, first_key_, keys_;
  };

  /// Returns the recorder of `keys` keys from `first_key` on, and of the query tile that has `rows` rows from `row` of all rows on.
  /// What a ragged tile has behind its rows is not the next head's: that head's own tile records it.
  __device__ __forceinline__ Tile of_tile(long long row, int rows, int first_key, int keys) const {
    const long long followed = arguments_.followed_row - row;
    constexpr int none = -1;
    return {*this, followed >= 0 && followed < rows ? static_cast<int>(followed) : none, first_key, keys};
  }
};

}  // namespace tilescope::device
