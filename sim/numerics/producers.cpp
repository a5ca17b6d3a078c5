// Walks back from what a block loads to the blocks that stored it.
#include "sim/numerics/producers.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

namespace tilescope {

namespace {

/// The smallest rectangle around everything that is read of a tensor on one plane.
struct Hull {
  std::int64_t row = std::numeric_limits<std::int64_t>::max(), row_end = 0;
  std::int64_t col = std::numeric_limits<std::int64_t>::max(), col_end = 0;

  bool empty() const { return row >= row_end; }
  void include(const TileRef& tile) {
    row = std::min<std::int64_t>(row, tile.row);
    row_end = std::max<std::int64_t>(row_end, std::int64_t{tile.row} + tile.rows);
    col = std::min<std::int64_t>(col, tile.col);
    col_end = std::max<std::int64_t>(col_end, std::int64_t{tile.col} + tile.cols);
  }
  bool meets(const TileRef& tile) const {
    return tile.row < row_end && tile.row + tile.rows > row && tile.col < col_end && tile.col + tile.cols > col;
  }
};

using Needs = std::array<Hull, tensor_count>;

bool is_among(std::span<const Tensor> tensors, Tensor tensor) {
  return std::find(tensors.begin(), tensors.end(), tensor) != tensors.end();
}

void add_needs(const TileProgram& program, const BlockOperations& block, Needs& needs) {
  for (const Operation& op : block.operations)
    if (op.kind == OpKind::load && !is_among(program.inputs(), op.tile.tensor))
      needs[static_cast<std::size_t>(op.tile.tensor)].include(op.tile);
}

bool stores_into(const BlockOperations& block, const Needs& needs) {
  return std::any_of(block.operations.begin(), block.operations.end(), [&](const Operation& op) {
    return op.kind == OpKind::store && needs[static_cast<std::size_t>(op.tile.tensor)].meets(op.tile);
  });
}

/// Where the blocks of a launch are, and a binary search over them.
class BlockFinder {
 public:
  using Place = std::pair<std::int64_t, std::int64_t>;  // plane, first row

  BlockFinder(const TileProgram& program, int launch) : program_(program), launch_(launch) {}

  Place place(std::int64_t block) const {
    if (const auto known = program_.place_of(launch_, block)) return {known->plane, known->first_row};
    program_.emit_block(launch_, block, probe_);
    return {probe_.plane, probe_.first_row};
  }
  /// The first block of [low, high) whose place fulfils `wanted`, which no block before it does; `high` where there is none.
  template <class Wanted>
  std::int64_t first_where(std::int64_t low, std::int64_t high, Wanted wanted) const {
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (wanted(place(middle))) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

 private:
  const TileProgram& program_;
  int launch_;
  mutable BlockOperations probe_;
};

}  // namespace

std::vector<std::int64_t> blocks_of_rows(const TileProgram& program, int launch, std::int64_t plane, std::int64_t first_row,
                                         std::int64_t end_row) {
  const std::int64_t blocks = program.launches()[static_cast<std::size_t>(launch)].blocks();
  const BlockFinder finder(program, launch);
  using Place = BlockFinder::Place;
  // The last block that starts at or before the row says where the tile that owns the row begins; several blocks may share it.
  const std::int64_t after = finder.first_where(0, blocks, [&](const Place& at) { return at > Place(plane, first_row); });
  const Place owner = after == 0 ? Place(plane, 0) : finder.place(after - 1);
  const Place begin = owner.first == plane ? owner : Place(plane, 0);
  std::vector<std::int64_t> found;
  for (std::int64_t block = finder.first_where(0, after, [&](const Place& at) { return at >= begin; }); block < blocks; ++block) {
    if (finder.place(block) >= Place(plane, end_row)) break;
    found.push_back(block);
  }
  return found;
}

std::vector<std::vector<std::int64_t>> producers_of(const TileProgram& program, const BlockOperations& block) {
  std::vector<std::vector<std::int64_t>> producers(static_cast<std::size_t>(block.launch));
  Needs needs{};
  add_needs(program, block, needs);
  BlockOperations candidate;
  for (int launch = block.launch - 1; launch >= 0; --launch) {
    Hull rows;
    for (const Hull& need : needs)
      if (!need.empty()) rows.row = std::min(rows.row, need.row), rows.row_end = std::max(rows.row_end, need.row_end);
    if (rows.empty()) break;
    auto& chosen = producers[static_cast<std::size_t>(launch)];
    Needs earlier = needs;
    for (std::int64_t number : blocks_of_rows(program, launch, block.plane, rows.row, rows.row_end)) {
      program.emit_block(launch, number, candidate);
      if (!stores_into(candidate, needs)) continue;
      chosen.push_back(number);
      add_needs(program, candidate, earlier);
    }
    needs = earlier;
  }
  return producers;
}

}  // namespace tilescope
