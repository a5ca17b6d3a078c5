// Follows the lists of a mask, and sums what they cost.
#include "sim/programs/flex_lists.h"

#include <algorithm>

#include "sim/core/refuse.h"
#include "sim/core/units.h"

namespace tilescope {

namespace {

/// The lists as a kernel reads them.
class ListValues final : public TableValues {
 public:
  explicit ListValues(std::shared_ptr<const BlockMask> mask) : mask_(std::move(mask)) {}

  Matrix tile(const TileRef& tile) const override {
    const bool partial = tile.tensor == lists::partial || tile.tensor == lists::partial_count;
    const std::span<const std::int32_t> list = (partial ? mask_->partial : mask_->full).row(tile.plane, tile.row);
    Matrix values(tile.rows, tile.cols);
    if (tile.tensor == lists::partial_count || tile.tensor == lists::full_count)
      values.values[0] = static_cast<float>(list.size());
    else
      for (std::size_t i = 0; i < values.values.size() && i < list.size(); ++i) values.values[i] = static_cast<float>(list[i]);
    return values;
  }

 private:
  std::shared_ptr<const BlockMask> mask_;
};

}  // namespace

void add_lists(Schema& schema) {
  for (const Tensor list : {lists::partial_count, lists::partial, lists::full_count, lists::full}) {
    schema.tensors.push_back(list);
    schema.inputs.push_back(list);
  }
  for (const Slot tile : {lists::partial_count_tile, lists::partial_tile, lists::full_count_tile, lists::full_tile})
    schema.tiles.push_back(tile);
}

FlexLists::FlexLists(const TileGrid& grid, const ProgramTile& tile)
    : mask_(std::make_shared<const BlockMask>(block_mask_of(*grid.mask, grid.problem, mask_block_of(grid.problem, tile)))) {}

FlexLists::OfTile FlexLists::of(const TileGrid& grid, std::int64_t plane, std::int64_t i) const {
  const std::int64_t list_plane = mask_->list_plane(plane), row = i * grid.tile.block_q / mask_->block.block_q;
  return {list_plane, row, mask_->partial.row(list_plane, row), mask_->full.row(list_plane, row)};
}

std::vector<KeyTile> FlexLists::visits(const TileGrid& grid, const OfTile& own) const {
  std::vector<KeyTile> visits;
  const std::int64_t tiles_of_block = mask_->block.block_kv / grid.tile.block_kv;
  for (const bool partial : {true, false}) {
    const auto first = static_cast<std::ptrdiff_t>(visits.size());
    for (const std::int32_t block : partial ? own.partial : own.full)
      for (std::int64_t j = block * tiles_of_block; j < std::min((block + 1) * tiles_of_block, grid.key_tiles); ++j)
        visits.push_back({j, partial});
    if (grid.key_order == KeyOrder::descending) std::reverse(visits.begin() + first, visits.end());
  }
  return visits;
}

std::shared_ptr<const TableValues> FlexLists::values() const {
  return std::make_shared<const ListValues>(mask_);
}

FlexSums flex_sums(const AttentionProblem& p, const TileShape& tile, const Mask& mask, std::int64_t query_box,
                   std::int64_t key_box) {
  const TileShape block = p.has_mask() ? mask_block_of(p, tile) : tile;
  const std::int64_t cols = ceil_div(p.seq_kv, block.block_kv);
  const auto cut = [](std::int64_t first, std::int64_t size, std::int64_t length) {
    return TileRange{first, std::min(size, length - first)};
  };
  const auto in_boxes = [](std::int64_t rows, std::int64_t box) { return ceil_div(rows, box) * box; };
  const MaskPlanes by = mask.planes();
  const std::int64_t batches = by.by_batch ? p.batch : 1, heads = by.by_head ? p.heads : 1;
  FlexSums sums;
  for (std::int64_t list = 0; list < batches * heads; ++list)
    for (std::int64_t row = 0; row * block.block_q < p.seq_q; ++row) {
      const std::int64_t plane = list / heads * p.heads + list % heads;
      const TileRange queries = cut(row * block.block_q, block.block_q, p.seq_q);
      std::int64_t keys = 0, box_keys = 0, tiles = 0, entries[2] = {};  // of full blocks, of partial ones
      for (std::int64_t col = 0; col < cols; ++col) {
        const TileRange of = cut(col * block.block_kv, block.block_kv, p.seq_kv);
        const TileVisibility seen = mask.tile(plane, queries, of);
        if (seen == TileVisibility::empty) continue;
        keys += of.count;
        box_keys += in_boxes(of.count, key_box);
        tiles += ceil_div(of.count, tile.block_kv);
        ++entries[seen == TileVisibility::full ? 0 : 1];
      }
      const std::int64_t query_tiles = ceil_div(queries.count, tile.block_q);
      sums.count_bytes += query_tiles * sector_size;
      const auto list_bytes = [&](std::int64_t count) {
        const std::int64_t first = (list * ceil_div(p.seq_q, block.block_q) + row) * cols * 4, end = first + count * 4;
        return count == 0 ? 0 : query_tiles * (ceil_div(end, sector_size) - first / sector_size) * sector_size;
      };
      sums.full_bytes += list_bytes(entries[0]);
      sums.partial_bytes += list_bytes(entries[1]);
      if (keys == 0) continue;
      sums.rows += queries.count;
      for (std::int64_t first = 0; first < queries.count; first += tile.block_q)
        sums.box_rows += in_boxes(std::min(tile.block_q, queries.count - first), query_box);
      sums.keys += query_tiles * box_keys;
      sums.rows_keys += queries.count * keys;
      sums.rows_tiles += queries.count * tiles;
    }
  const std::int64_t copies = p.query_planes() / (batches * heads);
  for (std::int64_t* sum : {&sums.rows, &sums.box_rows, &sums.keys, &sums.rows_keys, &sums.rows_tiles, &sums.partial_bytes,
                            &sums.full_bytes, &sums.count_bytes})
    *sum *= copies;
  return sums;
}

void add_list_terms(ClosedForm& form, const FlexSums& sums) {
  for (const Tensor tensor : {lists::partial_count, lists::full_count})
    form.terms.push_back({tensor, Link::l2_to_sm, Bytes(sums.count_bytes), "B·Hq·⌈Nq/Br⌉·32"});
  form.terms.push_back({lists::partial, Link::l2_to_sm, Bytes(sums.partial_bytes), "B·Hq·Σᵢ 4·partial blocks, in sectors"});
  form.terms.push_back({lists::full, Link::l2_to_sm, Bytes(sums.full_bytes), "B·Hq·Σᵢ 4·full blocks, in sectors"});
}

Status check_mask_block(const AttentionProblem& problem, const ProgramTile& tile) {
  const TileShape block = mask_block_of(problem, tile);
  if (problem.has_mask() && (block.block_q % tile.block_q != 0 || block.block_kv % tile.block_kv != 0))
    return refuse("{} is {}, and the tile is {}x{}: the block must be a multiple of both lengths", Setting::mask_block,
                  problem.mask_block, tile.block_q, tile.block_kv);
  return Done{};
}

}  // namespace tilescope
