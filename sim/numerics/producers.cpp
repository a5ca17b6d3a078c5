// Walks back from the tiles that a block loads to the blocks that stored them.
#include "sim/numerics/producers.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

namespace tilescope {

namespace {

/// The bounding box of all tiles that are read of a tensor.
struct Hull {
  static constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
  std::int64_t plane = far, plane_end = 0, row = far, row_end = 0, col = far, col_end = 0;

  bool empty() const { return row >= row_end; }
  void include(const TileRef& tile) {
    plane = std::min<std::int64_t>(plane, tile.plane);
    plane_end = std::max<std::int64_t>(plane_end, tile.plane + 1);
    row = std::min<std::int64_t>(row, tile.row);
    row_end = std::max<std::int64_t>(row_end, std::int64_t{tile.row} + tile.rows);
    col = std::min<std::int64_t>(col, tile.col);
    col_end = std::max<std::int64_t>(col_end, std::int64_t{tile.col} + tile.cols);
  }
  bool meets(const TileRef& tile) const {
    return tile.plane < plane_end && tile.plane + 1 > plane && tile.row < row_end && tile.row + tile.rows > row &&
           tile.col < col_end && tile.col + tile.cols > col;
  }
};

using Needs = std::array<Hull, most_tensors>;

bool is_among(std::span<const Tensor> tensors, Tensor tensor) {
  return std::find(tensors.begin(), tensors.end(), tensor) != tensors.end();
}

void add_needs(const TileProgram& program, const BlockOperations& block, Needs& needs) {
  for (const Operation& op : block.operations)
    if (op.kind == OpKind::load && !is_among(program.inputs(), op.tile.tensor)) needs[op.tile.tensor.index()].include(op.tile);
}

bool stores_into(const BlockOperations& block, const Needs& needs) {
  return std::any_of(block.operations.begin(), block.operations.end(),
                     [&](const Operation& op) { return writes_memory(op.kind) && needs[op.tile.tensor.index()].meets(op.tile); });
}

/// Returns one slice along `axis` for each plane that may hold needed data.
std::vector<Slice> slices_of(const TileProgram& program, const Needs& needs, Axis axis) {
  const AttentionProblem& p = program.problem();
  const std::int64_t group = p.heads_of_kv_head();
  std::int64_t plane = Hull::far, plane_end = 0, first = Hull::far, end = 0;
  for (Tensor tensor : program.tensors()) {
    const Hull& need = needs[tensor.index()];
    if (need.empty()) continue;
    // If the tensor's planes are not those of the axis, convert between query and key planes of the same heads.
    std::int64_t from = need.plane, to = need.plane_end;
    if (axis == Axis::query && tensor->planes == Planes::key) from *= group, to *= group;
    if (axis == Axis::key && tensor->planes == Planes::query) from = from / group, to = (to - 1) / group + 1;
    if (tensor->planes == Planes::all) from = 0, to = axis == Axis::key ? p.kv_planes() : p.query_planes();
    plane = std::min(plane, from);
    plane_end = std::max(plane_end, to);
    const bool by_rows = tensor->rows == axis, by_cols = tensor->cols == axis;
    first = std::min(first, by_rows ? need.row : by_cols ? need.col : 0);
    end = std::max(end, by_rows ? need.row_end : by_cols ? need.col_end : axis == Axis::key ? p.seq_kv : p.seq_q);
  }
  std::vector<Slice> slices;
  for (; plane < plane_end; ++plane) slices.push_back({axis, plane, first, end});
  return slices;
}

/// Locates the blocks of a launch by binary search, in the order of their planes and rows.
class BlockFinder {
 public:
  using Place = std::pair<std::int64_t, std::int64_t>;  // plane, first row

  BlockFinder(const TileProgram& program, int launch) : program_(program), launch_(launch) {}

  /// Converts a position in that order to the block's number in the launch, and back.
  std::int64_t number_of(std::int64_t position) const {
    return program_.launches()[static_cast<std::size_t>(launch_)].in_order_of_rows(position);
  }
  Place place(std::int64_t position) const {
    const std::int64_t block = number_of(position);
    if (const auto known = program_.place_of(launch_, block)) return {known->domain.plane, known->domain.first};
    program_.emit_block(launch_, block, probe_);
    return {probe_.domain.plane, probe_.domain.first};
  }
  /// Returns the first block of [low, high) whose place satisfies the monotone predicate `wanted`; `high` if none does.
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

std::vector<Axis> axes_of(const LaunchSpec& launch) {
  return launch.mixed ? std::vector<Axis>{Axis::query, Axis::key} : std::vector<Axis>{launch.axis};
}

std::vector<std::int64_t> blocks_of(const TileProgram& program, int launch, const Slice& slice) {
  const LaunchSpec& spec = program.launches()[static_cast<std::size_t>(launch)];
  const std::int64_t blocks = spec.blocks();
  std::vector<std::int64_t> found;
  if (spec.mixed) {
    BlockOperations block;
    for (std::int64_t number = 0; number < blocks; ++number) {
      program.emit_block(launch, number, block);
      const Domain& own = block.domain;
      if (own.axis == slice.axis && own.plane == slice.plane && own.first < slice.end && own.end() > slice.first)
        found.push_back(number);
    }
    return found;
  }
  const BlockFinder finder(program, launch);
  using Place = BlockFinder::Place;
  // The last block that starts at or before the slice owns its first row. Blocks that start with it may share these rows, so the
  // search goes back to the first of them.
  const std::int64_t after = finder.first_where(0, blocks, [&](const Place& at) { return at > Place(slice.plane, slice.first); });
  const Place owner = after == 0 ? Place(slice.plane, 0) : finder.place(after - 1);
  const Place begin = owner.first == slice.plane ? owner : Place(slice.plane, 0);
  for (std::int64_t block = finder.first_where(0, after, [&](const Place& at) { return at >= begin; }); block < blocks; ++block) {
    if (finder.place(block) >= Place(slice.plane, slice.end)) break;
    found.push_back(finder.number_of(block));
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::int64_t> adders_before(const TileProgram& program, const BlockOperations& block) {
  Needs sums{};
  for (const Operation& op : block.operations)
    if (op.kind == OpKind::reduce_add) sums[op.tile.tensor.index()].include(op.tile);
  std::vector<std::int64_t> adders;
  BlockOperations candidate;
  for (const Axis axis : axes_of(program.launches()[static_cast<std::size_t>(block.launch)]))
    for (const Slice& slice : slices_of(program, sums, axis))
      for (const std::int64_t number : blocks_of(program, block.launch, slice)) {
        if (number >= block.block) continue;
        program.emit_block(block.launch, number, candidate);
        if (stores_into(candidate, sums)) adders.push_back(number);
      }
  std::sort(adders.begin(), adders.end());
  adders.erase(std::unique(adders.begin(), adders.end()), adders.end());
  return adders;
}

std::vector<std::vector<std::int64_t>> producers_of(const TileProgram& program, const BlockOperations& block,
                                                    const std::vector<std::int64_t>& adders) {
  std::vector<std::vector<std::int64_t>> producers(static_cast<std::size_t>(block.launch));
  Needs needs{};
  add_needs(program, block, needs);
  BlockOperations candidate;
  for (const std::int64_t number : adders) {
    program.emit_block(block.launch, number, candidate);
    add_needs(program, candidate, needs);
  }
  for (int launch = block.launch - 1; launch >= 0; --launch) {
    auto& chosen = producers[static_cast<std::size_t>(launch)];
    Needs earlier = needs;
    for (const Axis axis : axes_of(program.launches()[static_cast<std::size_t>(launch)]))
      for (const Slice& slice : slices_of(program, needs, axis))
        for (std::int64_t number : blocks_of(program, launch, slice)) {
          program.emit_block(launch, number, candidate);
          if (!stores_into(candidate, needs)) continue;
          chosen.push_back(number);
          add_needs(program, candidate, earlier);
        }
    std::sort(chosen.begin(), chosen.end());
    needs = earlier;
  }
  if (!adders.empty()) producers.push_back(adders);
  return producers;
}

}  // namespace tilescope
