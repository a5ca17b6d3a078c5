// Tiles of a tensor as drawn cells, of which each stands for one tile or for several.
#pragma once

#include "sim/core/tensor.h"

namespace tilescope {

/// The tiles of a plane of one tensor, and the cells that they are drawn as.
struct TileCells {
  Tensor tensor;
  int grid_rows = 1, grid_cols = 1;    // tiles of a plane
  int shown_rows = 1, shown_cols = 1;  // drawn cells; fewer where a cell stands for several tiles
};

/// The cell of an axis of `count` tiles drawn as `shown` cells in which tile `index` lies.
int cell_of(int index, int count, int shown);
/// Tiles [begin, end) that cell `cell` stands for.
struct TileSpan {
  int begin = 0, end = 0;
};
TileSpan tiles_of(int cell, int count, int shown);

}  // namespace tilescope
