// ProgramShape: which on-chip tiles and which HBM tensors a launch of a program has, and how large they are; what the stage draws
// boxes for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/programs/tile_program.h"

namespace tilescope {

/// One named tile of a block.
struct ChipTileShape {
  ChipTile chip_tile = ChipTile::none;
  int rows = 0, cols = 0;         // of its values, the largest that occurs
  int rings = 1;                  // buffers side by side
  bool shared = false;            // in shared memory; else in registers
  std::int64_t buffer_bytes = 0;  // of one buffer
};

/// One tensor of the problem as the HBM box shows it.
struct TensorShape {
  Tensor tensor;
  TensorLayout layout;
  bool here = true;  // false: a matrix that this program never writes to HBM
  bool input = false, output = false;
};

struct ProgramShape {
  std::string_view family;
  std::vector<ChipTileShape> chip_tiles;  // registers first, in the order they are drawn, then shared memory
  std::vector<TensorShape> tensors;
  std::size_t longest_block = 0;  // operations, of the blocks that were looked at
};

/// Collects the on-chip tiles of `launch` from its first, middle and last block.
ProgramShape program_shape(const ProgramInfo& info, const TileProgram& program, int launch);

/// A number as subscript digits: "₁₂".
std::string subscript(std::int64_t number);
/// "K₂": the tensor and the number of its tile, counted from 0 along the rows (and columns, where there are several).
std::string tile_name(const TensorLayout& layout, const TileRef& tile);

}  // namespace tilescope
