// The checks of a block's operations, written from the contract in operation.h and not from the builder.
#include "tests/sim/programs/block_checker.h"
#include "sim/core/mask.h"
#include "sim/masks/score_change.h"
#include "sim/programs/attention_tensors.h"
#include "sim/programs/block_plan.h"
#include "sim/programs/tensor_layout.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilescope {

namespace {

/// Whether dst's old value is an operand.
bool reads_dst(const Operation& op) {
  switch (op.kind) {
    case OpKind::mask:
    case OpKind::modify:
    case OpKind::rescale:
    case OpKind::divide:
    case OpKind::add:
    case OpKind::subtract_rows:
    case OpKind::multiply:
    case OpKind::add_parts:
      return true;
    case OpKind::matmul:
    case OpKind::gather:
      return op.accumulate;
    default:
      return false;
  }
}

}  // namespace

std::int64_t count_sectors(const TensorLayout& layout, const TileRef& tile) {
  std::int64_t sectors = 0, latest = -1;  // addresses rise from element to element
  for (std::int64_t r = 0; r < tile.rows; ++r)
    for (std::int64_t c = 0; c < tile.cols; ++c) {
      const std::int64_t element = (tile.plane * layout.rows + tile.row + r) * (layout.cols + layout.pad) + tile.col + c;
      for (std::int64_t b = 0; b < layout.element_bytes; ++b) {
        const std::int64_t sector = (element * layout.element_bytes + b) / sector_size;
        sectors += sector != latest;
        latest = sector;
      }
    }
  return sectors;
}

std::int64_t BlockChecker::count_sectors_of_pages(const TileRef& tile) const {
  std::int64_t sectors = 0;
  TileRef part = tile;
  part.rows = 0;
  for (std::int32_t row = tile.row; row < tile.row + tile.rows; ++row) {
    ++part.rows;
    if ((row + 1) % pages_->page_size() != 0 && row + 1 < tile.row + tile.rows) continue;
    sectors += count_sectors(memory_[index(tile.tensor)], pages_->place(part));
    part.row = row + 1;
    part.rows = 0;
  }
  return sectors;
}

BlockChecker::BlockChecker(const TileProgram& program, std::int64_t warp_tile)
    : program_(program),
      warp_tile_(warp_tile),
      mask_(mask_of(program.problem())),
      memory_(memory_layouts(program.problem(), program.tile(), program.tensors())),
      pages_(page_table_of(program.problem())) {
  for (Tensor tensor : program.tensors()) {
    TensorLayout& layout = layouts_[index(tensor)];
    layout = tensor_layout(program.problem(), program.tile(), tensor);
    stores_[index(tensor)].assign(static_cast<std::size_t>(layout.planes * layout.rows * layout.cols), 0);
    additions_[index(tensor)] = stores_[index(tensor)];
  }
  const AttentionProblem& p = program.problem();
  scores_.assign(static_cast<std::size_t>(p.query_planes() * p.seq_q * p.seq_kv), 0);
}

std::int64_t BlockChecker::cell(const TileRef& tile, std::int64_t row, std::int64_t col) const {
  const TensorLayout& layout = layouts_[index(tile.tensor)];
  return (tile.plane * layout.rows + tile.row + row) * layout.cols + tile.col + col;
}

int BlockChecker::stored(Tensor tensor, std::int64_t plane, std::int64_t row, std::int64_t col) const {
  const TensorLayout& layout = layouts_[index(tensor)];
  return stores_[index(tensor)][static_cast<std::size_t>((plane * layout.rows + row) * layout.cols + col)];
}

int BlockChecker::added(Tensor tensor, std::int64_t plane, std::int64_t row, std::int64_t col) const {
  const TensorLayout& layout = layouts_[index(tensor)];
  return additions_[index(tensor)][static_cast<std::size_t>((plane * layout.rows + row) * layout.cols + col)];
}

int BlockChecker::scored(std::int64_t plane, std::int64_t row, std::int64_t key) const {
  const AttentionProblem& p = program_.problem();
  return scores_[static_cast<std::size_t>((plane * p.seq_q + row) * p.seq_kv + key)];
}

BlockChecker::Buffer& BlockChecker::buffer(ChipTile chip_tile, const Operation& op) {
  const int strip = op.source_strip >= 0 && chip_tile != op.dst ? op.source_strip : op.strip;
  return buffers_[{chip_tile, chip_tile.has_strips() ? strip : chip_tile.is_ring() ? op.ring : 0}];
}

std::vector<ChipTile> BlockChecker::reads(const Operation& op) const {
  std::vector<ChipTile> chip_tiles;
  for (ChipTile chip_tile : op.src)
    if (chip_tile != ChipTile::none) chip_tiles.push_back(chip_tile);
  if (reads_dst(op)) chip_tiles.push_back(op.dst);
  return chip_tiles;
}

std::string BlockChecker::check_block(const BlockOperations& block) {
  block_ = &block;
  waits_ = waited_for(block);
  signals_.assign(block.tokens.size(), 0);
  seen_.assign(256, {});
  buffers_.clear();
  const LaunchSpec& launch = program_.launches()[static_cast<std::size_t>(block.launch)];
  std::int32_t iteration = -1;
  for (std::size_t n = 0; n < block.operations.size(); ++n) {
    const Operation& op = block.operations[n];
    const auto self = static_cast<std::int32_t>(n);
    std::string wrong = check_tokens(op, self);
    seen_[op.group].insert(waits_[n]);
    if (wrong.empty() && op.group >= std::max<std::size_t>(1, launch.needs.groups.size()))
      wrong = fmt::format("group {} of {}", op.group, launch.needs.groups.size());
    const bool exists = !is_past_the_end(op);
    if (wrong.empty()) wrong = exists ? check_place(op) : check_past_the_end(op, self);
    if (wrong.empty() && (op.line < launch.first_line || op.line > launch.last_line)) wrong = "its line is not of its launch";
    if (wrong.empty() && (op.iteration < iteration || op.iteration > block.iterations))
      wrong = "its iteration goes back, or too far";
    if (wrong.empty() && exists) wrong = op.kind == OpKind::load ? check_load(op, self) : check_reads(op, self);
    if (wrong.empty() && op.kind == OpKind::wait)
      wrong = op.dst || op.src[0] ? "a wait has operands" : "";
    else if (wrong.empty() && exists)
      wrong = op.kind == OpKind::fetch_add || op.kind == OpKind::write ? check_counter(op)
              : writes_memory(op.kind)                                 ? check_store(op)
              : op.kind == OpKind::load                                ? ""
                                                                       : check_compute(op);
    if (!wrong.empty())
      return fmt::format("launch {} block {} operation {} ({}, line {}): {}", block.launch, block.block, n, to_string(op.kind),
                         op.line, wrong);
    iteration = op.iteration;
    lines.insert(op.line);
  }
  return {};
}

std::string BlockChecker::check_tokens(const Operation& op, std::int32_t self) {
  const auto known = [&](std::int16_t token) { return token >= -1 && token < static_cast<std::int16_t>(block_->tokens.size()); };
  if (!known(op.wait_token) || !known(op.signal_token)) return "it has to do with a token that is not there";
  for (std::int16_t token : {op.wait_token, op.signal_token})
    if (token >= 0 && block_->tokens[static_cast<std::size_t>(token)].empty()) return "a token of it has no name";
  if (op.signal_token >= 0 && op.signal_count != ++signals_[static_cast<std::size_t>(op.signal_token)])
    return fmt::format("it is signal {} of its token, but counts as {}", signals_[static_cast<std::size_t>(op.signal_token)],
                       op.signal_count);
  const std::int32_t waited = waits_[static_cast<std::size_t>(self)];
  if (op.wait_token >= 0 && waited < 0) return "it waits for a signal that never comes";
  if (waited >= self) return "it waits for itself, or for what comes later";
  if (waited != waited_for(*block_, static_cast<std::size_t>(self))) return "the two ways to find what it waits for differ";
  return {};
}

/// Such a group computes too, but nothing of it counts, and it touches no memory outside the SM.
std::string BlockChecker::check_past_the_end(const Operation& op, std::int32_t self) {
  const TileRef& t = op.tile;
  const Domain& own = block_->domain;
  if (moves_tile(op.kind)) return "it moves an empty tile";
  if (op.kind == OpKind::matmul && op.rows > 0 && op.cols > 0 && own.axis == Axis::query) return "its keys are there";
  const std::int64_t end_of_tile = std::min(program_.problem().seq_q, (op.q_tile + 1) * program_.tile().block_q);
  const std::int64_t end_of_rows = t.tensor->rows == Axis::key || own.axis == Axis::query ? own.end() : end_of_tile;
  if (op.rows == 0 && (t.rows != 0 || t.row < end_of_rows)) return "its group has rows";
  if (op.rows > 0 && op.cols == 0 && (t.tensor->cols != Axis::key || own.axis != Axis::key || t.col < own.end()))
    return "its group has keys";
  if (op.flops != 0 || op.exps != 0 || op.bytes != 0 || op.smem_write_bytes != 0) return "it is past the end, and its work counts";
  // A sum that gains nothing is complete only after this product, too.
  if (op.asynchronous && reads_dst(op)) buffer(op.dst, op).product = self;
  return {};
}

std::string BlockChecker::check_place(const Operation& op) const {
  const TensorLayout& layout = layouts_[index(op.tile.tensor)];
  const TileRef& t = op.tile;
  if (op.rows < 1 || op.cols < 1) return "it is empty";
  if (t.plane < 0 || t.row < 0 || t.col < 0 || t.plane >= layout.planes || t.row + t.rows > layout.rows ||
      t.col + t.cols > layout.cols)
    return fmt::format("its tile of {} [{}+{}, {}+{}] of plane {} is outside the tensor", to_string(t.tensor), t.row, t.rows, t.col,
                       t.cols, t.plane);
  if (op.kind == OpKind::gather) return check_gather(op);
  if (t.rows != op.rows || t.cols != op.cols) return "its tile and its size differ";
  if (t.tensor->planes == Planes::all) return t.plane == 0 ? "" : "a table has one plane";
  if (t.tensor->cols == Axis::key_page)
    return t.plane == block_->domain.plane / program_.problem().heads ? "" : "its pages are of another sequence";
  if (t.tensor.means(Meaning::table)) {
    // A list of the mask: one row of blocks, of a plane that the block's own reads, and the row that holds its queries or its keys.
    const AttentionProblem& p = program_.problem();
    const Domain& own = block_->domain;
    const std::int64_t group = own.axis == Axis::key ? p.heads_of_kv_head() : 1;
    const std::int64_t first = own.axis == Axis::key ? p.first_query_plane_of(own.plane) : own.plane;
    bool reads_plane = false;
    for (std::int64_t plane = first; plane < first + group; ++plane)
      reads_plane = reads_plane || t.plane == mask_plane_of(p, plane);
    if (!reads_plane) return "its list is of another plane";
    if (t.tensor->rows != (own.axis == Axis::key ? Axis::key_block : Axis::query_block)) return "its list is of the other axis";
    const TileShape edge = mask_block_of(p, program_.tile());
    if (t.rows != 1 || t.row != own.first / (own.axis == Axis::key ? edge.block_kv : edge.block_q))
      return "its list is of other rows";
    return {};
  }
  const bool keys_side = t.tensor->rows == Axis::key;
  const Domain& own = block_->domain;
  if (own.axis == Axis::query || keys_side) {
    const std::int64_t plane = own.axis == Axis::query && keys_side ? program_.problem().kv_plane_of(own.plane) : own.plane;
    if (t.plane != plane) return fmt::format("its tile is in plane {}, not {}", t.plane, plane);
  } else if (program_.problem().kv_plane_of(t.plane) != own.plane) {
    return fmt::format("its tile is in plane {}, which does not read key plane {}", t.plane, own.plane);
  }
  if (t.tensor->rows == own.axis && (t.row < own.first || t.row + t.rows > own.end())) return "its rows are not the block's";
  if (t.tensor->cols == own.axis && (t.col < own.first || t.col + t.cols > own.end())) return "its columns are not the block's";
  if (op.q_tile >= 0 && t.row / program_.tile().block_q != op.q_tile && !keys_side) return "its query tile is another";
  if (op.kv_tile >= 0 && keys_side && t.row / program_.tile().block_kv != op.kv_tile) return "its key tile is another";
  if (op.iteration < -1) return "an index is below -1";
  return {};
}

/// The elements of a table that the tile's scores read, one by one. They must be among those that the block gathers.
std::string BlockChecker::check_gather(const Operation& op) const {
  const TableRead& read = *program_.problem().score_change->table_reads()[static_cast<std::size_t>(op.read)];
  const TileRef& t = op.tile;
  if (t.tensor->rows != Axis::query || t.tensor->cols != Axis::key || t.plane != block_->domain.plane)
    return "it gathers no scores";
  if (tensor_of(op.dst)->read >= 0) return {};  // kept apart in the tile's own order
  const TableBox box = read.box(t.plane, {t.row, t.rows}, {t.col, t.cols});
  if (op.rows != box.rows || op.cols != box.cols) return "it gathers another part of the table";
  ExpressionEvaluator<float> index(read.index);
  std::set<std::int64_t> met;
  for (std::int64_t q = t.row; q < t.row + t.rows; ++q)
    for (std::int64_t kv = t.col; kv < t.col + t.cols; ++kv) {
      const std::int64_t heads = program_.problem().heads, at = index({t.plane / heads, t.plane % heads, q, kv}).integer;
      if (at < 0) continue;
      met.insert(at);
      const std::int64_t row = at / read.table_cols() - box.row, col = at % read.table_cols() - box.col;
      if (row < 0 || row >= box.rows || col < 0 || col >= box.cols) return "a score reads an element that it does not gather";
    }
  if (read.is_exact() && static_cast<std::int64_t>(met.size()) != box.rows * box.cols)
    return "it gathers elements that no score reads";
  return {};
}

/// TMA moves whole boxes: those of Q have the rows of a group that computes, those of K and V the rows of a key tile, or of a
/// page if it is smaller. Where groups share a key tile, each has a box, and all of it is fetched, whether its keys exist or not.
std::int64_t BlockChecker::bytes_of_boxes(const Operation& op) const {
  const TensorLayout& layout = layouts_[index(op.tile.tensor)];
  const KernelNeeds& needs = program_.launches()[static_cast<std::size_t>(block_->launch)].needs;
  const std::int64_t groups = needs.groups.empty() ? needs.warps_sharing_rows : needs.computing_groups();
  const TileShape& tile = program_.tile();
  const bool keeps_keys = block_->domain.axis == Axis::key;  // then all groups read the same Q
  const std::int64_t key_box = pages_ ? std::min(pages_->page_size(), tile.block_kv) : tile.block_kv;
  const std::int64_t box = op.tile.tensor->rows == Axis::key ? key_box
                           : keeps_keys                      ? tile.block_q
                                                             : (tile.block_q + groups - 1) / groups;
  std::int64_t rows = 0;
  while (rows < op.rows) rows += box;
  if (op.tile.tensor->rows == Axis::key && op.dst.has_strips()) {
    const std::int64_t first = op.tile.row % box, part = (box + groups - 1) / groups;
    const bool is_last = op.tile.row + op.rows == layout.rows || first + op.rows == box;
    rows = is_last ? box - first : part;
  }
  TileRef whole = op.tile;
  whole.rows = static_cast<std::int32_t>(rows);
  const bool in_pages = pages_ && PageTable::holds(op.tile.tensor);
  return (in_pages ? count_sectors_of_pages(whole) : count_sectors(layout, whole)) * sector_size;
}

std::string BlockChecker::check_load(const Operation& op, std::int32_t self) {
  const std::int32_t issued_after = waits_[static_cast<std::size_t>(self)];
  if (op.tile.tensor != tensor_of(op.dst)) return "its tensor is not its chip_tile's";
  const KernelNeeds& needs = program_.launches()[static_cast<std::size_t>(block_->launch)].needs;
  const int stages = needs.stages;
  // Registers are no ring, and neither is shared memory that is filled once and kept.
  const bool reused = is_shared(*block_, op.dst) && buffer(op.dst, op).last_use >= 0;
  if (op.ring < 0 || (op.ring > 0 && !op.dst.is_ring()) || (reused && op.ring >= stages))
    return fmt::format("ring {} of {} buffers", op.ring, stages);
  if (op.ring >= stages && (op.ring + 1) * op.smem_write_bytes > needs.shared_bytes)
    return fmt::format("{} buffers need more than {} bytes", op.ring + 1, needs.shared_bytes);
  Buffer& target = buffer(op.dst, op);
  if (issued_after < target.last_use) return fmt::format("its buffer is in use until {}", target.last_use);
  const bool shared = is_shared(*block_, op.dst);
  const bool boxes = needs.uses_tma;
  std::int64_t sectors = pages_ && PageTable::holds(op.tile.tensor) ? count_sectors_of_pages(op.tile)
                                                                    : count_sectors(memory_[index(op.tile.tensor)], op.tile);
  if (boxes && !shared && op.tile.cols == 1) {  // a warp beside the one that copies boxes asks for 32 numbers at once
    sectors = 0;
    for (TileRef part = op.tile; part.row < op.tile.row + op.tile.rows; part.row += 32) {
      part.rows = std::min(32, op.tile.row + op.tile.rows - part.row);
      sectors += count_sectors(memory_[index(op.tile.tensor)], part);
    }
  }
  if (boxes && shared) {
    const std::int64_t bytes = bytes_of_boxes(op);
    if (op.bytes != bytes) return fmt::format("{} bytes, but boxes of {}", op.bytes, bytes);
  } else if (op.bytes != sectors * sector_size) {
    return fmt::format("{} bytes, but {} sectors", op.bytes, sectors);
  }
  if (op.smem_write_bytes != (shared ? element(op.tile.tensor) * op.rows * op.cols : 0)) return "its shared-memory bytes are wrong";

  const auto outputs = program_.outputs();
  if (std::find(outputs.begin(), outputs.end(), op.tile.tensor) != outputs.end())
    for (std::int64_t r = 0; r < op.rows; ++r)
      for (std::int64_t c = 0; c < op.cols; ++c)
        if (stores_[index(op.tile.tensor)][static_cast<std::size_t>(cell(op.tile, r, c))] == 0)
          return fmt::format("it reads row {}, column {} of {}, which nothing has written", op.tile.row + r, op.tile.col + c,
                             to_string(op.tile.tensor));
  // What a later load of the same elements reads must have been stored by an operation that is over when the load is issued.
  for (std::int32_t n = self - 1; n > issued_after; --n) {
    const Operation& earlier = block_->operations[static_cast<std::size_t>(n)];
    const bool same = writes_memory(earlier.kind) && earlier.tile.tensor == op.tile.tensor && earlier.tile.plane == op.tile.plane &&
                      earlier.tile.row == op.tile.row;
    if (same) return fmt::format("it may be issued before store {} of the same tile", n);
  }
  target = {true, self, -1, self, op.rows, op.cols, op.tile, false};
  bytes_[index(op.tile.tensor)][static_cast<std::size_t>(Link::l2_to_sm)] += op.bytes;
  return {};
}

std::int64_t BlockChecker::times_read(const Operation& op, ChipTile chip_tile) const {
  const LaunchSpec& launch = program_.launches()[static_cast<std::size_t>(block_->launch)];
  const bool is_right = chip_tile == op.src[1];
  if (warp_tile_ == 0 || launch.name != "gradients")
    return is_right ? launch.needs.warps_sharing_rows : launch.needs.warps_sharing_keys;
  const auto parts = [&](std::int64_t length) { return (length + warp_tile_ - 1) / warp_tile_; };
  const TileShape& tile = program_.tile();
  if (op.tile.tensor->cols == Axis::key) return is_right ? parts(tile.block_q) : parts(tile.block_kv);                  // S, dP
  if (op.tile.tensor->rows == Axis::query) return is_right ? parts(tile.block_q) : parts(program_.problem().head_dim);  // dQ
  // dV, dK: a warp has its own P and dS in registers, and reads those of another that shares its keys.
  return is_right ? parts(tile.block_kv) : launch.needs.warps_sharing_rows - 1;
}

std::string BlockChecker::check_reads(const Operation& op, std::int32_t self) {
  std::int32_t wait = -1;
  std::int64_t smem_read = 0;
  for (ChipTile chip_tile : reads(op)) {
    Buffer& source = buffer(chip_tile, op);
    if (!source.full) return fmt::format("it reads {}, which holds nothing", to_string(chip_tile));
    // The tensor cores add up in the order of a group's products.
    const bool adds_up = op.kind == OpKind::matmul && chip_tile == op.dst && source.product >= 0 &&
                         block_->operations[static_cast<std::size_t>(source.product)].group == op.group;
    if (source.product >= 0 && !adds_up && !seen_[op.group].contains(source.product))
      return fmt::format("it reads {}, but its group has not waited for product {}", to_string(chip_tile), source.product);
    if (!seen_[op.group].contains(source.load)) wait = std::max(wait, source.load);
    source.last_use = self;
    const std::int64_t times = op.kind == OpKind::matmul && chip_tile != op.dst ? times_read(op, chip_tile) : 1;
    const std::int64_t rows = op.source_strip >= 0 && chip_tile == op.src[0] ? op.rows : source.rows;
    if (is_shared(*block_, chip_tile)) smem_read += element(chip_tile.tensor()) * rows * source.cols * times;
  }
  // A kernel may wait for more than it reads here, but for no load that comes later.
  const std::int32_t waited = waits_[static_cast<std::size_t>(self)];
  if (waited < wait) return fmt::format("it waits for load {}, but reads the bytes of load {}", waited, wait);
  if (op.kind != OpKind::wait && waited >= 0 && block_->operations[static_cast<std::size_t>(waited)].kind != OpKind::load)
    return "it waits for what is no load";
  if (wait >= self) return "it waits for a later load";
  if (op.smem_read_bytes != smem_read)
    return fmt::format("{} bytes read from shared memory, not {}", op.smem_read_bytes, smem_read);
  return {};
}

std::string BlockChecker::check_counter(const Operation& op) {
  if (op.dst || op.src[0]) return "a counter has no chip_tile";
  if (op.rows != 1 || op.cols != 1 || element(op.tile.tensor) != 4) return "it counts in what is no single number";
  if (op.bytes != sector_size) return fmt::format("{} bytes, but a sector", op.bytes);
  for (Link link : {Link::sm_to_l2, Link::l2_to_sm})
    if (link == Link::sm_to_l2 || op.kind == OpKind::fetch_add)
      bytes_[index(op.tile.tensor)][static_cast<std::size_t>(link)] += op.bytes;
  return {};
}

bool BlockChecker::sees_all(const TileRef& scores) const {
  return mask_->tile(scores.plane, {scores.row, scores.rows}, {scores.col, scores.cols}) == TileVisibility::full;
}

std::string BlockChecker::check_store(const Operation& op) {
  const Buffer& source = buffer(op.src[0], op);
  if (source.rows != op.rows || source.cols != op.cols) return "it stores more or less than its chip_tile holds";
  if (source.tile.row != op.tile.row || source.tile.col != op.tile.col) return "its chip_tile holds another tile";
  if (tensor_of(op.src[0]) != op.tile.tensor) return "its tensor is not its chip_tile's";
  if (op.tile.tensor == tensors::s && program_.problem().causal && !source.masked && !sees_all(op.tile))
    return "it stores scores that are not masked";
  const std::int64_t sectors = count_sectors(layouts_[index(op.tile.tensor)], op.tile);
  // Single additions to a table are a sector a score where it is met in any order, and more where eight neighbours lie across
  // sectors.
  bool at_random = false;
  if (op.tile.tensor->planes == Planes::all && op.kind == OpKind::reduce_add) {
    const TileShape& tile = program_.tile();
    for (const TableRead& read :
         program_.problem().score_change->table_gradients()[static_cast<std::size_t>(op.tile.tensor->table)].reads)
      at_random =
          at_random || (!read.is_exact() && op.bytes <= tile.block_q * tile.block_kv * sector_size) ||
          (read.reach == TableReach::pair && op.bytes > sectors * sector_size && op.bytes <= 2 * (sectors + op.rows) * sector_size);
  }
  if (op.bytes != sectors * sector_size && !at_random) return fmt::format("{} bytes, but {} sectors", op.bytes, sectors);
  const bool adds = op.kind == OpKind::reduce_add;
  if (adds && element(op.tile.tensor) != 4) return "it adds to what is no fp32 tensor";
  std::vector<int>& counts = (adds ? additions_ : stores_)[index(op.tile.tensor)];
  for (std::int64_t r = 0; r < op.rows; ++r)
    for (std::int64_t c = 0; c < op.cols; ++c) {
      const auto at = static_cast<std::size_t>(cell(op.tile, r, c));
      if (adds && stores_[index(op.tile.tensor)][at] == 0) return "it adds to what nothing has written";
      ++counts[at];
    }
  if (adds) reduced_bytes += op.bytes;
  bytes_[index(op.tile.tensor)][static_cast<std::size_t>(Link::sm_to_l2)] += op.bytes;
  return {};
}

/// Returns whether a buffer has the rows of a tile.
bool BlockChecker::holds_rows(const Buffer& buffer, const TileRef& tile) {
  return buffer.tile.row <= tile.row && tile.row + tile.rows <= buffer.tile.row + buffer.tile.rows;
}

std::string BlockChecker::check_compute(const Operation& op) {
  if (op.bytes != 0) return "it moves bytes";
  if (op.smem_write_bytes != (is_shared(*block_, op.dst) ? element(op.dst.tensor()) * op.rows * op.cols : 0))
    return "its result's shared-memory bytes are wrong";
  if (std::string wrong = check_shapes(op); !wrong.empty()) return wrong;
  if (std::string wrong = check_scores(op); !wrong.empty()) return wrong;
  const bool masked = op.kind == OpKind::mask || (op.kind == OpKind::modify && buffer(op.dst, op).masked);
  Buffer& target = buffer(op.dst, op);
  const auto self = static_cast<std::int32_t>(&op - block_->operations.data());
  target = {true, -1, op.asynchronous ? self : -1, self, op.rows, op.cols, op.tile, masked};
  if (op.kind == OpKind::gather && tensor_of(op.dst)->read >= 0) {
    const TableRead& read = *program_.problem().score_change->table_reads()[static_cast<std::size_t>(op.read)];
    const TileShape& tile = program_.tile();
    target.tile = tile_of(tensor_of(op.dst), TableParts(read, program_.problem(), tile)
                                                 .box(op.tile.plane, op.tile.row / tile.block_q, {op.tile.row, op.tile.rows},
                                                      op.tile.col / tile.block_kv, {op.tile.col, op.tile.cols}));
  } else if (op.kind == OpKind::gather)
    target.tile = tile_of(tensor_of(op.dst), program_.problem().score_change->table_reads()[static_cast<std::size_t>(op.read)]->box(
                                                 op.tile.plane, {op.tile.row, op.tile.rows}, {op.tile.col, op.tile.cols}));
  if (op.kind == OpKind::matmul) matmul_flops += op.flops;
  exps += op.exps;
  return {};
}

std::string BlockChecker::check_shapes(const Operation& op) {
  const auto is = [&](ChipTile chip_tile, std::int32_t rows, std::int32_t cols) {
    const Buffer& held = buffer(chip_tile, op);
    return chip_tile == ChipTile::none || (held.rows == rows && held.cols == cols);
  };
  const auto elements = [&](ChipTile chip_tile) { return std::int64_t{buffer(chip_tile, op).rows} * buffer(chip_tile, op).cols; };
  bool fits = true;
  std::int64_t flops = std::int64_t{op.rows} * op.cols, ex = 0;
  switch (op.kind) {
    case OpKind::matmul:
      fits = (op.transpose_left ? is(op.src[0], op.inner, op.rows)
              : op.source_strip >= 0
                  ? holds_rows(buffer(op.src[0], op), op.tile) && is(op.src[0], buffer(op.src[0], op).rows, op.inner)
                  : is(op.src[0], op.rows, op.inner)) &&
             (op.transpose ? is(op.src[1], op.cols, op.inner) : is(op.src[1], op.inner, op.cols));
      flops *= 2 * op.inner;
      break;
    case OpKind::row_max:
    case OpKind::row_sum:
      fits = op.cols == 1 && is(op.src[0], op.rows, 1) && is(op.src[1], op.rows, op.inner) && is(op.src[2], op.rows, 1);
      flops = elements(op.src[1]) + (op.src[2] == ChipTile::none ? 0 : op.rows);
      break;
    case OpKind::exp:
      fits = is(op.src[0], op.rows, op.cols) && is(op.src[1], op.rows, 1);
      ex = flops;
      break;
    case OpKind::exp_rows:
      fits = op.cols == 1 && is(op.src[0], op.rows, 1) && is(op.src[1], op.rows, 1);
      ex = flops;
      break;
    case OpKind::rescale:
      fits = is(op.dst, op.rows, op.cols) && is(op.src[0], op.rows, 1) && is(op.src[1], op.rows, 1);
      flops *= op.src[1] == ChipTile::none ? 1 : 2;
      break;
    case OpKind::divide:
      fits = is(op.dst, op.rows, op.cols) && is(op.src[0], op.rows, 1);
      flops += op.rows;
      break;
    case OpKind::modify:
      fits = is(op.dst, op.rows, op.cols);
      ex = flops * program_.problem().score_change->cost().exps;
      flops *= program_.problem().score_change->cost().operations;
      break;
    case OpKind::slope:
      fits = is(op.src[0], op.rows, op.cols);
      ex = flops * program_.problem().score_change->slope_cost().exps;
      flops *= program_.problem().score_change->slope_cost().operations;
      break;
    case OpKind::factor: {
      const ScoreChange& change = *program_.problem().score_change;
      const ScoreCost cost = change.factor_cost(*change.table_reads()[static_cast<std::size_t>(op.read)]);
      fits = is(op.src[0], op.rows, op.cols);
      ex = flops * cost.exps;
      flops *= cost.operations;
      break;
    }
    case OpKind::add_parts: {
      const std::int32_t count = buffer(op.src[0], op).cols, last = op.inner + static_cast<std::int32_t>(op.value) * (count - 1);
      fits = buffer(op.src[0], op).rows == 1 && is(op.dst, 1, op.cols) && op.inner >= 0 && op.inner < op.cols && last >= 0 &&
             last < op.cols;
      flops = count;
      break;
    }
    case OpKind::gather:
      fits = is(op.src[0], op.tile.rows, op.tile.cols);
      flops = elements(op.src[0]);
      break;
    case OpKind::mask:
      fits = is(op.dst, op.rows, op.cols);
      break;
    case OpKind::subtract_rows:
      fits = is(op.dst, op.rows, op.cols) && is(op.src[0], op.rows, 1);
      break;
    case OpKind::add:
    case OpKind::multiply:
      fits = is(op.dst, op.rows, op.cols) && is(op.src[0], op.rows, op.cols);
      break;
    case OpKind::merge:
      fits =
          op.cols == 1 && std::all_of(op.src.begin(), op.src.end(), [&](ChipTile chip_tile) { return is(chip_tile, op.rows, 1); });
      flops *= 3;
      break;
    case OpKind::log_sum_exp:
      fits = op.cols == 1 && is(op.src[0], op.rows, 1) && is(op.src[1], op.rows, 1);
      flops *= 2;
      break;
    case OpKind::copy:
      fits = is(op.src[0], op.rows, op.cols), flops = 0;
      break;
    case OpKind::fill:
    case OpKind::barrier:
    case OpKind::wait:
      flops = 0;
      break;
    case OpKind::load:
    case OpKind::store:
    case OpKind::reduce_add:
    case OpKind::fetch_add:
    case OpKind::write:
      return "it is no computation";
  }
  if (!fits) return "its operands do not have the sizes it needs";
  if (op.flops != flops) return fmt::format("{} flops, not {}", op.flops, flops);
  if (op.exps != ex) return fmt::format("{} exponentials, not {}", op.exps, ex);
  return {};
}

std::string BlockChecker::check_scores(const Operation& op) {
  const AttentionProblem& p = program_.problem();
  if (op.kind == OpKind::matmul && op.transpose) {
    const TileRef &q = buffer(op.src[0], op).tile, &k = buffer(op.src[1], op).tile;
    if (q.row != op.tile.row || k.row != op.tile.col || q.plane != op.tile.plane)
      return "it multiplies other tiles than those of its place";
    for (std::int64_t r = 0; r < op.rows; ++r)
      for (std::int64_t c = 0; c < op.cols && op.dst.is(Meaning::score); ++c)
        ++scores_[static_cast<std::size_t>(cell(op.tile, r, c))];
  }
  if (op.kind == OpKind::matmul && !op.transpose) {
    const TileRef &weights = buffer(op.src[0], op).tile, &v = buffer(op.src[1], op).tile;
    const bool by_columns = op.transpose_left;  // of the weights, as dV = Pᵀ dO
    if ((by_columns ? weights.row : weights.col) != v.row || (by_columns ? weights.col : weights.row) > op.tile.row ||
        (op.source_strip < 0 && (by_columns ? weights.col : weights.row) != op.tile.row))
      return "it weighs other rows than those of its weights";
    const bool other_heads = by_columns ? weights.plane != v.plane : weights.plane != op.tile.plane;
    if (other_heads) return "its weights are those of another head";
  }
  const bool looks =
      op.kind == OpKind::row_max ? op.src[1].is(Meaning::score) : op.kind == OpKind::exp && op.src[0].is(Meaning::score);
  const bool first_look = looks && !is_shared(*block_, op.src[op.kind == OpKind::row_max ? 1 : 0]);
  if (first_look && p.has_mask()) {
    const Buffer& s = buffer(op.src[op.kind == OpKind::row_max ? 1 : 0], op);
    // Where lists say which blocks are partial, a group masks its part of such a block even if it sees all of it.
    const bool has_lists = std::any_of(program_.tensors().begin(), program_.tensors().end(), [](Tensor tensor) {
      return tensor->planes == Planes::mask && tensor.means(Meaning::table);
    });
    TileRef looked_at = s.tile;
    if (has_lists) {
      const TileShape edge = mask_block_of(p, program_.tile());
      const auto widen = [](std::int32_t& first, std::int32_t& count, std::int64_t size, std::int64_t length) {
        first = static_cast<std::int32_t>(first / size * size);
        count = static_cast<std::int32_t>(std::min(size, length - first));
      };
      widen(looked_at.row, looked_at.rows, edge.block_q, p.seq_q);
      widen(looked_at.col, looked_at.cols, edge.block_kv, p.seq_kv);
    }
    if (s.masked == sees_all(looked_at)) return s.masked ? "its scores are masked without need" : "its scores are not masked";
  }
  return {};
}

}  // namespace tilescope
