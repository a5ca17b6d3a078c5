// How often flex rescales O: a warp skips it unless the maximum of one of its rows grows. A score expression that changes with the
// key decides in which tiles it does: with `score + (q - kv)` only in the first, with `score + (kv - q)` in each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "sim/programs/tile_grid.h"

namespace tilescope {

class MovedMaxima {
 public:
  explicit MovedMaxima(const TileGrid& grid);

  /// Returns the share of the tiles that query tile `i` visits in which a maximum of a warp grows, averaged over heads. Blocks of
  /// one shape have one share: without a mask it is also an average over the query tiles, with one the first tile of a row class
  /// stands for all.
  /// Limits  scores as normally distributed Q and K give them, plus what the expression makes of a score of 0
  double share(const TileGrid& grid, std::int64_t plane, std::int64_t i, std::span<const KeyTile> visits) const;

 private:
  struct QueryTile {
    std::int64_t plane = 0, i = 0;
  };
  std::optional<double> of_all_;                      // without a mask
  std::map<std::int64_t, QueryTile> first_of_class_;  // with one
};

}  // namespace tilescope
