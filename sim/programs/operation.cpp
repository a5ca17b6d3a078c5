// The table of operations, their waits, and checks of schemas.
#include "sim/programs/operation.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilescope {

namespace {

using D = Destination;
constexpr std::uint8_t no_operand = 0, operand_0 = 0b0001, operand_1 = 0b0010, operands_0_1 = 0b0011, all_operands = 0b1111;

constexpr std::array<OpTraits, op_kind_count> op_table = {{
    {OpKind::load, "load", Unit::copy, no_operand, D::replaced},
    {OpKind::store, "store", Unit::store, operand_0, D::none},
    {OpKind::fill, "fill", Unit::fp32, no_operand, D::replaced},
    {OpKind::matmul, "matmul", Unit::tensor, operands_0_1, D::accumulated},
    {OpKind::mask, "mask", Unit::fp32, no_operand, D::updated},
    {OpKind::row_max, "row_max", Unit::fp32, operand_1, D::replaced},
    {OpKind::exp, "exp", Unit::exp, operands_0_1, D::replaced},
    {OpKind::exp_rows, "exp_rows", Unit::exp, operands_0_1, D::replaced},
    {OpKind::row_sum, "row_sum", Unit::fp32, operand_1, D::replaced},
    {OpKind::rescale, "rescale", Unit::fp32, operand_0, D::updated},
    {OpKind::divide, "divide", Unit::fp32, operand_0, D::updated},
    {OpKind::add, "add", Unit::fp32, operand_0, D::updated},
    {OpKind::merge, "merge", Unit::fp32, all_operands, D::replaced},
    {OpKind::log_sum_exp, "log_sum_exp", Unit::fp32, operands_0_1, D::replaced},
    {OpKind::copy, "copy", Unit::fp32, operand_0, D::replaced},
    {OpKind::subtract_rows, "subtract_rows", Unit::fp32, operand_0, D::updated},
    {OpKind::multiply, "multiply", Unit::fp32, operand_0, D::updated},
    {OpKind::reduce_add, "reduce_add", Unit::store, operand_0, D::none},
    {OpKind::fetch_add, "fetch_add", Unit::store, no_operand, D::none},
    {OpKind::write, "write", Unit::store, no_operand, D::none},
    {OpKind::modify, "modify", Unit::fp32, no_operand, D::updated},
    {OpKind::slope, "slope", Unit::fp32, operand_0, D::replaced},
    {OpKind::factor, "factor", Unit::fp32, operand_0, D::replaced},
    {OpKind::gather, "gather", Unit::fp32, operand_0, D::accumulated},
    {OpKind::add_parts, "add_parts", Unit::fp32, operand_0, D::updated},
    {OpKind::barrier, "barrier", Unit::sync, no_operand, D::none},
    {OpKind::wait, "wait", Unit::sync, no_operand, D::none},
}};

constexpr bool has_each_row_in_its_place() {
  for (std::size_t i = 0; i < op_table.size(); ++i)
    if (op_table[i].kind != static_cast<OpKind>(i) || op_table[i].name.empty()) return false;
  return true;
}
static_assert(has_each_row_in_its_place(), "every operation has one row, in the order of OpKind");

}  // namespace

const OpTraits& traits_of(OpKind kind) {
  return op_table[static_cast<std::size_t>(kind)];
}

std::string_view to_string(OpKind kind) {
  return traits_of(kind).name;
}

bool updates_destination(const Operation& operation) {
  switch (traits_of(operation.kind).destination) {
    case Destination::none:
    case Destination::replaced:
      return false;
    case Destination::updated:
      return true;
    case Destination::accumulated:
      return operation.accumulate;
  }
  return false;
}

std::string_view to_string(ChipTile chip_tile) {
  return chip_tile == ChipTile::none ? "none" : chip_tile->name;
}

Tensor Schema::tensor(Meaning meaning) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](Tensor tensor) { return tensor.means(meaning); });
  return found != tensors.end() ? *found : Tensor();
}

ChipTile Schema::tile(Meaning meaning, TilePart part) const {
  const auto found = std::find_if(tiles.begin(), tiles.end(), [&](ChipTile chip_tile) { return chip_tile.is(meaning, part); });
  return found != tiles.end() ? *found : ChipTile::none;
}

bool Schema::reads(Tensor tensor) const {
  return std::find(inputs.begin(), inputs.end(), tensor) != inputs.end();
}

bool Schema::writes(Tensor tensor) const {
  return std::find(outputs.begin(), outputs.end(), tensor) != outputs.end();
}

std::string Schema::fault() const {
  std::uint64_t used = 0;
  for (Tensor tensor : tensors) {
    if (!tensor || tensor.index() >= most_tensors)
      return fmt::format("tensor {} has an index beyond {}", to_string(tensor), most_tensors);
    if ((used >> tensor.index() & 1U) != 0) return fmt::format("tensor {} has the index of another one", to_string(tensor));
    used |= std::uint64_t{1} << tensor.index();
  }
  const auto is_declared = [&](Tensor tensor) { return std::find(tensors.begin(), tensors.end(), tensor) != tensors.end(); };
  for (const std::vector<Tensor>* list : {&inputs, &outputs})
    for (Tensor tensor : *list)
      if (!is_declared(tensor)) return fmt::format("tensor {} is read or written but not declared", to_string(tensor));
  used = 0;
  for (ChipTile chip_tile : tiles) {
    if (chip_tile == ChipTile::none || chip_tile.index() < 1 || chip_tile.index() >= most_chip_tiles)
      return fmt::format("tile {} has an index outside 1 to {}", to_string(chip_tile), most_chip_tiles - 1);
    if ((used >> chip_tile.index() & 1U) != 0) return fmt::format("tile {} has the index of another one", to_string(chip_tile));
    used |= std::uint64_t{1} << chip_tile.index();
    if (!is_declared(chip_tile.tensor()))
      return fmt::format("tile {} is a piece of a tensor that is not declared", to_string(chip_tile));
  }
  return {};
}

std::string_view to_string(Unit unit) {
  constexpr std::array<std::string_view, unit_count> names = {"copy", "tensor core", "exp", "scale, sum", "store", "barrier"};
  return names[static_cast<std::size_t>(unit)];
}

bool reads(const Operation& op, ChipTile chip_tile) {
  if (std::find(op.src.begin(), op.src.end(), chip_tile) != op.src.end()) return true;
  return op.dst == chip_tile && updates_destination(op);
}

bool is_left_over(const BlockOperations& block, std::int32_t at, ChipTile chip_tile) {
  const std::vector<Operation>& all = block.operations;
  const auto current = static_cast<std::size_t>(at);
  const std::int32_t iteration = all[current].iteration;
  for (std::size_t i = current + 1; i-- > 0 && all[i].iteration == iteration;)
    if (all[i].dst == chip_tile || reads(all[i], chip_tile)) return false;
  for (std::size_t i = current + 1; i < all.size() && all[i].iteration <= iteration + 1; ++i) {
    if (reads(all[i], chip_tile)) return false;
    if (all[i].dst == chip_tile) return true;
  }
  return false;
}

void waited_for(const BlockOperations& block, std::vector<std::int32_t>& out, std::vector<std::vector<std::int32_t>>& signals) {
  const auto number = [](auto n) { return static_cast<std::size_t>(n); };
  signals.resize(block.tokens.size());
  for (std::vector<std::int32_t>& each : signals) each.clear();
  for (std::size_t i = 0; i < block.operations.size(); ++i)
    if (const std::int16_t token = block.operations[i].signal_token; token >= 0)
      signals[number(token)].push_back(static_cast<std::int32_t>(i));
  out.assign(block.operations.size(), -1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Operation& op = block.operations[i];
    if (op.wait_token < 0 || op.wait_count <= 0) continue;
    const std::vector<std::int32_t>& of = signals[number(op.wait_token)];
    if (number(op.wait_count) <= of.size()) out[i] = of[number(op.wait_count) - 1];
  }
}

std::int32_t waited_for(const BlockOperations& block, std::size_t at) {
  const Operation& op = block.operations[at];
  if (op.wait_token < 0 || op.wait_count <= 0) return -1;
  const auto is_it = [&](const Operation& other) {
    return other.signal_token == op.wait_token && other.signal_count == op.wait_count;
  };
  for (std::size_t i = at; i-- > 0;)  // usually close before it
    if (is_it(block.operations[i])) return static_cast<std::int32_t>(i);
  for (std::size_t i = at; i < block.operations.size(); ++i)
    if (is_it(block.operations[i])) return static_cast<std::int32_t>(i);
  return -1;
}

std::vector<std::int32_t> waited_for(const BlockOperations& block) {
  std::vector<std::int32_t> out;
  std::vector<std::vector<std::int32_t>> signals;
  waited_for(block, out, signals);
  return out;
}

}  // namespace tilescope
