// Collects what a launch keeps on chip and in HBM from the operations of a few of its blocks.
#include "app/model/run_data/program_shape.h"
#include "sim/programs/tensor_layout.h"

#include <algorithm>
#include <array>

namespace tilescope {

namespace {

/// Scores, probabilities, the row statistics in the order they are made, then the output: the order of the listing, left to right.
/// Of one tensor: the value, what a tile contributes, the next value, the factors; a matrix after what is added to it.
std::pair<int, int> draw_rank(ChipTile chip_tile) {
  constexpr std::array<Meaning, meaning_count> order = {
      Meaning::score,       Meaning::probability, Meaning::row_max, Meaning::row_sum, Meaning::row_dot, Meaning::output,
      Meaning::log_sum_exp, Meaning::query,       Meaning::key,     Meaning::value,   Meaning::bias,    Meaning::table};
  constexpr std::array<int, 5> rank_of_part = {0, 2, 1, 3, 4};
  const Tensor of = chip_tile.tensor();
  const auto place = static_cast<int>(std::find(order.begin(), order.end(), of->meaning) - order.begin());
  const bool added = of->cols != Axis::one && chip_tile->part == TilePart::of_tile;
  return {place + (of->gradient ? meaning_count : 0), added ? -1 : rank_of_part[static_cast<std::size_t>(chip_tile->part)]};
}

void widen(std::array<ChipTileShape, most_chip_tiles>& found, ChipTile chip_tile, int rows, int cols, int ring) {
  ChipTileShape& shape = found[chip_tile.index()];
  shape.chip_tile = chip_tile;
  shape.rows = std::max(shape.rows, rows);
  shape.cols = std::max(shape.cols, cols);
  shape.rings = std::max(shape.rings, ring + 1);
}

void collect(const BlockOperations& block, std::array<ChipTileShape, most_chip_tiles>& found) {
  for (const Operation& operation : block.operations) {
    if (operation.dst == ChipTile::none) continue;
    // Each warp group has a buffer of its own for its strip of a tile.
    const bool has_strips = operation.dst.has_strips() && is_shared(block, operation.dst);
    widen(found, operation.dst, operation.rows, operation.cols,
          operation.kind != OpKind::load ? 0
          : has_strips                   ? operation.strip
                                         : operation.ring);
    found[operation.dst.index()].shared |= is_shared(block, operation.dst);
  }
}

bool contains(std::span<const Tensor> tensors, Tensor tensor) {
  return std::find(tensors.begin(), tensors.end(), tensor) != tensors.end();
}

std::vector<TensorShape> collect_tensors(const ProgramInfo& info, const TileProgram& program) {
  std::vector<TensorShape> shapes;
  for (Tensor tensor : program.tensors()) {
    TensorShape shape;
    shape.tensor = tensor;
    shape.input = contains(program.inputs(), tensor);
    shape.output = contains(program.outputs(), tensor);
    shape.here = shape.input || shape.output;
    // Attention without S and P in HBM is the point of FlashAttention, so their empty places are shown.
    const bool telling = family_of(info)->computes_attention && tensor->rows == Axis::query && tensor->cols == Axis::key;
    if (!shape.here && !telling) continue;
    shape.layout = tensor_layout(program.problem(), program.tile(), tensor);
    shapes.push_back(shape);
  }
  // What is never here stands last; what is, stands in the order the algorithm meets it.
  std::stable_partition(shapes.begin(), shapes.end(), [](const TensorShape& shape) { return shape.here; });
  return shapes;
}

}  // namespace

ProgramShape program_shape(const ProgramInfo& info, const TileProgram& program, int launch) {
  ProgramShape shape;
  shape.family = info.family;
  shape.tensors = collect_tensors(info, program);

  const std::int64_t blocks = program.launches()[static_cast<std::size_t>(launch)].blocks();
  std::array<ChipTileShape, most_chip_tiles> found{};
  BlockOperations operations;
  for (std::int64_t block : {std::int64_t{0}, blocks / 2, blocks - 1}) {
    operations.clear();
    program.emit_block(launch, block, operations);
    collect(operations, found);
    shape.longest_block = std::max(shape.longest_block, operations.operations.size());
  }
  const std::int64_t element = element_bytes(program.problem().dtype);
  std::vector<ChipTile> drawn = program.schema().tiles;
  std::stable_sort(drawn.begin(), drawn.end(), [](ChipTile a, ChipTile b) { return draw_rank(a) < draw_rank(b); });
  for (int pass = 0; pass < 2; ++pass) {
    for (ChipTile chip_tile : drawn) {
      ChipTileShape& chip_tile_shape = found[chip_tile.index()];
      if (chip_tile_shape.chip_tile == ChipTile::none || chip_tile_shape.shared != (pass == 1)) continue;
      chip_tile_shape.buffer_bytes =
          std::int64_t{chip_tile_shape.rows} * chip_tile_shape.cols * (chip_tile_shape.shared ? element : 4);
      shape.chip_tiles.push_back(chip_tile_shape);
    }
  }
  return shape;
}

std::string subscript(std::int64_t number) {
  std::string text;
  for (char digit : std::to_string(number)) {
    if (digit == '-') continue;
    text += "\u2080";
    text.back() = static_cast<char>(text.back() + (digit - '0'));  // U+2080 … U+2089 differ in the last byte alone
  }
  return text;
}

std::string tile_name(const TensorLayout& layout, const TileRef& tile) {
  std::string name(to_string(tile.tensor));
  const bool rows = layout.rows > layout.tile_rows, cols = layout.cols > layout.tile_cols;
  if (rows) name += subscript(tile.row / std::max<std::int64_t>(layout.tile_rows, 1));
  if (cols) name.append(rows ? "," : "").append(subscript(tile.col / std::max<std::int64_t>(layout.tile_cols, 1)));
  return name;
}

}  // namespace tilescope
