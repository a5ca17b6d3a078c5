// Collects what a launch keeps on chip and in HBM from the operations of a few of its blocks.
#include "app/model/program_shape.h"

#include <algorithm>
#include <array>

namespace tilescope {

namespace {

// S, P, the row statistics in the order they are made, then the output: the order of the listing, left to right.
constexpr std::array<Slot, slot_count - 1> draw_order = {Slot::s,    Slot::p, Slot::m,      Slot::m_tile, Slot::m_new, Slot::alpha,
                                                         Slot::beta, Slot::l, Slot::l_tile, Slot::l_new,  Slot::pv,    Slot::o,
                                                         Slot::lse,  Slot::q, Slot::k,      Slot::v};

void widen(std::array<SlotShape, slot_count>& found, Slot slot, int rows, int cols, int ring) {
  SlotShape& shape = found[static_cast<std::size_t>(slot)];
  shape.slot = slot;
  shape.rows = std::max(shape.rows, rows);
  shape.cols = std::max(shape.cols, cols);
  shape.rings = std::max(shape.rings, ring + 1);
}

void collect(const BlockOperations& block, std::array<SlotShape, slot_count>& found) {
  for (const Operation& operation : block.operations) {
    if (operation.dst == Slot::none) continue;
    widen(found, operation.dst, operation.rows, operation.cols, operation.kind == OpKind::load ? operation.ring : 0);
    found[static_cast<std::size_t>(operation.dst)].shared |= is_shared(block, operation.dst);
  }
}

bool contains(std::span<const Tensor> tensors, Tensor tensor) {
  return std::find(tensors.begin(), tensors.end(), tensor) != tensors.end();
}

std::vector<TensorShape> collect_tensors(const ProgramInfo& info, const TileProgram& program) {
  std::vector<TensorShape> shapes;
  for (Tensor tensor : all_tensors) {
    TensorShape shape;
    shape.tensor = tensor;
    shape.input = contains(program.inputs(), tensor);
    shape.output = contains(program.outputs(), tensor);
    shape.here = shape.input || shape.output;
    // Attention without S and P in HBM is the point of FlashAttention, so their empty places are shown.
    const bool telling = info.family == "attention" && (tensor == Tensor::s || tensor == Tensor::p);
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
  std::array<SlotShape, slot_count> found{};
  BlockOperations operations;
  for (std::int64_t block : {std::int64_t{0}, blocks / 2, blocks - 1}) {
    operations.clear();
    program.emit_block(launch, block, operations);
    collect(operations, found);
    shape.longest_block = std::max(shape.longest_block, operations.operations.size());
  }
  const std::int64_t element = element_bytes(program.problem().dtype);
  for (int pass = 0; pass < 2; ++pass) {
    for (Slot slot : draw_order) {
      SlotShape& slot_shape = found[static_cast<std::size_t>(slot)];
      if (slot_shape.slot == Slot::none || slot_shape.shared != (pass == 1)) continue;
      slot_shape.buffer_bytes = std::int64_t{slot_shape.rows} * slot_shape.cols * (slot_shape.shared ? element : 4);
      shape.slots.push_back(slot_shape);
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
