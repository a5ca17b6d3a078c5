// Executes operations on a block's on-chip tiles.
#include "sim/numerics/block_machine.h"

#include <algorithm>

#include "sim/core/element.h"

namespace tilescope {

namespace {

constexpr std::size_t most_made_bytes = std::size_t{64} << 20;

std::size_t at(ChipTile chip_tile) {
  return chip_tile.index();
}

/// Returns `rows` rows of a matrix, from `first` on; null if it does not have them.
std::shared_ptr<Matrix> rows_of(const Matrix& of, std::int32_t first, std::int32_t rows) {
  if (first < 0 || first + rows > of.rows) return nullptr;
  auto part = std::make_shared<Matrix>(rows, of.cols);
  std::copy_n(of.values.begin() + std::ptrdiff_t{first} * of.cols, part->values.size(), part->values.begin());
  return part;
}

}  // namespace

Buffer& ChipTileFile::buffer(ChipTile chip_tile, std::int32_t ring) {
  auto& buffers = rings[at(chip_tile)];
  if (buffers.size() <= static_cast<std::size_t>(ring)) buffers.resize(static_cast<std::size_t>(ring) + 1);
  return buffers[static_cast<std::size_t>(ring)];
}

std::int32_t ChipTileFile::choose(ChipTile chip_tile, const Operation& op) const {
  if (chip_tile.has_strips()) return buffer_of(op, chip_tile);
  const std::int32_t ring = op.ring;
  // An operation names one ring buffer for all its operands. An on-chip tile without a ring uses its only buffer.
  const auto& buffers = rings[at(chip_tile)];
  const auto r = static_cast<std::size_t>(ring);
  return ring >= 0 && r < buffers.size() && buffers[r].values != nullptr ? ring : current[at(chip_tile)];
}

MatrixPtr ChipTileFile::value(ChipTile chip_tile) const {
  const auto& buffers = rings[at(chip_tile)];
  const auto r = static_cast<std::size_t>(current[at(chip_tile)]);
  return r < buffers.size() ? buffers[r].values : nullptr;
}

BlockMachine::BlockMachine(const TileProgram& program, const InputSource& inputs)
    : problem_(program.problem()),
      tile_(program.tile()),
      inputs_(inputs),
      tables_(program.tables()),
      pages_(page_table_of(program.problem())),
      forward_(program.problem(), inputs),
      arithmetic_(program.problem()) {
  for (Tensor tensor : program.inputs()) inputs_mask_ |= std::uint64_t{1} << tensor.index();
}

MatrixPtr BlockMachine::input(const TileRef& tile) {
  MatrixPtr& made = made_[{tile.tensor, tile.plane, tile.row, tile.rows, tile.col, tile.cols}];
  if (made != nullptr) return made;
  const auto made_now = [&] {
    if (tables_ && (tile.tensor.means(Meaning::table) || tile.tensor.means(Meaning::bias))) return tables_->tile(tile);
    return ForwardResults::has(tile.tensor) ? forward_.tile(tile) : input_tile(inputs_, problem_, tile);
  };
  MatrixPtr values = std::make_shared<Matrix>(made_now());
  made = values;
  made_bytes_ += bytes_of(*values);
  if (made_bytes_ > most_made_bytes) {
    made_.clear();
    made_bytes_ = 0;
  }
  return values;
}

MatrixPtr BlockMachine::load(const TileRef& tile) {
  if (!pages_ || !PageTable::holds(tile.tensor)) return input(tile);
  if (!pages_->is_parted(tile)) return load_part(tile);
  auto values = std::make_shared<Matrix>(tile.rows, tile.cols);
  bool found = true;
  pages_->for_each_part(tile, [&](const TileRef& part) {
    const MatrixPtr rows = load_part(part);
    found = found && rows != nullptr;
    if (found) std::ranges::copy(rows->values, values->values.begin() + std::ptrdiff_t{part.row - tile.row} * tile.cols);
  });
  return found ? values : nullptr;
}

MatrixPtr BlockMachine::load_part(const TileRef& tile) {
  const auto entry = static_cast<std::int32_t>(tile.row / pages_->page_size()) - first_entry_;
  if (entries_ == nullptr || entry < 0 || entry >= entries_->cols) return nullptr;
  // What a page of the pool holds, its owner put there.
  const PageTable::Owner owner = pages_->owner(static_cast<std::int64_t>(entries_->at(0, entry)));
  TileRef found = tile;
  found.plane = static_cast<std::int32_t>(owner.sequence * problem_.kv_heads + tile.plane % problem_.kv_heads);
  found.row = static_cast<std::int32_t>(owner.logical * pages_->page_size() + tile.row % pages_->page_size());
  return input(found);
}

Sentence BlockMachine::execute(const Operation& op, std::int32_t index, const MatrixPtr& loaded, Effect& effect) {
  effect.read.clear();
  effect.changed.clear();
  effect.written = {};
  if (is_past_the_end(op)) return {};
  if (op.kind == OpKind::load) {
    // Loaded tiles are shared with the inputs and the image. An operation that updates one in place copies it first.
    const std::int32_t into = op.dst.has_strips() ? op.strip : op.ring;
    chip_tiles_.buffer(op.dst, into) = {std::const_pointer_cast<Matrix>(loaded), index};
    chip_tiles_.current[at(op.dst)] = into;
    if (op.tile.tensor->cols == Axis::key_page) entries_ = loaded, first_entry_ = op.tile.col;
    effect.written = {op.dst, into};
    effect.changed.push_back(op.dst);
    return {};
  }

  std::array<std::shared_ptr<Matrix>, 4> held;  // keeps operands alive while dst is replaced
  Operands src{};
  for (std::size_t i = 0; i < op.src.size(); ++i) {
    const ChipTile chip_tile = op.src[i];
    if (chip_tile == ChipTile::none) continue;
    const std::int32_t ring = chip_tiles_.choose(chip_tile, op);
    held[i] = chip_tiles_.buffer(chip_tile, ring).values;
    src[i] = held[i].get();
    effect.read.push_back({chip_tile, ring});
    if (op.source_strip >= 0 && chip_tile.has_strips()) continue;  // those of another group
    if (chip_tiles_.current[at(chip_tile)] != ring) effect.changed.push_back(chip_tile);
    chip_tiles_.current[at(chip_tile)] = ring;
  }
  if (op.source_strip >= 0 && held[0] != nullptr) {
    held[0] = rows_of(*held[0], static_cast<std::int32_t>(op.tile.row - op.q_tile * tile_.block_q), op.rows);
    src[0] = held[0].get();
  }
  const bool writes = op.dst != ChipTile::none && !writes_memory(op.kind) && op.kind != OpKind::barrier && op.kind != OpKind::wait;
  if (!writes) return operand_fault(op, src, nullptr);

  const bool updates = updates_destination(op);
  const std::int32_t ring = chip_tiles_.choose(op.dst, op);
  Buffer& buffer = chip_tiles_.buffer(op.dst, ring);
  if (std::string fault = operand_fault(op, src, buffer.values.get()); !fault.empty()) return fault;
  if (updates) effect.read.push_back({op.dst, ring});
  if (!updates) {
    buffer.values = std::make_shared<Matrix>(op.rows, op.cols);
  } else if (buffer.values.use_count() > 1) {  // the old values are shared
    buffer.values = std::make_shared<Matrix>(*buffer.values);
  }
  buffer.writer = index;
  arithmetic_.apply(op, src, *buffer.values);
  if (!arithmetic_.fault().empty()) return arithmetic_.fault();
  chip_tiles_.current[at(op.dst)] = ring;
  effect.written = {op.dst, ring};
  if (std::find(effect.changed.begin(), effect.changed.end(), op.dst) == effect.changed.end()) effect.changed.push_back(op.dst);
  return {};
}

MatrixPtr BlockMachine::stored(const Operation& op) const {
  const auto& buffers = chip_tiles_.rings[at(op.src[0])];
  const auto r = static_cast<std::size_t>(chip_tiles_.choose(op.src[0], op));
  if (r >= buffers.size() || buffers[r].values == nullptr) return nullptr;
  auto values = std::make_shared<Matrix>(*buffers[r].values);
  round_all(type_of(op.tile.tensor, problem_.dtype), values->values);
  return values;
}

}  // namespace tilescope
