// Every cell but the last stands for the same number of tiles.
#include "app/model/run_data/tile_span.h"

#include <algorithm>

namespace tilescope {

int cell_of(int index, int count, int shown) {
  const int tiles = (count + shown - 1) / std::max(shown, 1);  // that one cell stands for
  return std::clamp(index / std::max(tiles, 1), 0, std::max(shown - 1, 0));
}

TileSpan tiles_of(int cell, int count, int shown) {
  const int tiles = std::max((count + shown - 1) / std::max(shown, 1), 1);
  return {std::min(cell * tiles, count), cell + 1 >= shown ? count : std::min((cell + 1) * tiles, count)};
}

}  // namespace tilescope
