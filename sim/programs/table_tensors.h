// The tensors and on-chip tiles of the gradients of captured tables. They are named as the person named the table, so their
// declarations are made at run time, once for each name, and stay until the program ends.
#pragma once

#include <cstddef>
#include <string_view>

#include "sim/masks/table_gradient.h"
#include "sim/programs/operation.h"

namespace tilescope::tables {

/// Returns the gradient of the n-th table with one: "dbias".
Tensor gradient(std::size_t n, std::string_view table);
/// Returns the parts of the n-th table's gradient that come from a read, kept apart to be added in order.
Tensor parts(std::size_t n, std::size_t read, std::string_view table);
/// Returns the sums that a block gathers of a read, as a piece of such a gradient or of its parts. `many`: several are loaded at
/// once.
ChipTile gathered(std::size_t read, Tensor tensor, bool many);
/// Return the factor of the n-th read at the scores of a tile pair, and the product of dS with it.
ChipTile factor(std::size_t read, std::string_view table);
ChipTile product();
/// Return the zeros of the n-th table, and the sums of its parts.
ChipTile zeros(std::size_t n, Tensor gradient);

/// Counts the sectors that the additions of elements of a table touch. Sums go up along a row of the table, so each sector once. A
/// pair adds eight elements at once, counted from the tile's first: a row that begins inside a sector touches most sectors twice.
/// Limits  a read that is exact
std::int64_t sectors_added(const TableRead& read, const TensorLayout& layout, const TileRef& tile);

}  // namespace tilescope::tables
