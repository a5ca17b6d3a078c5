// Follows the lists of a mask, and sums what they cost.
#include "sim/programs/flex_lists.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "sim/core/refuse.h"
#include "sim/core/units.h"

namespace tilescope {

namespace {

/// The lists as a kernel reads them.
class ListValues final : public TableValues {
 public:
  ListValues(std::shared_ptr<const BlockMask> mask, std::shared_ptr<const BlockMask> transposed)
      : mask_(std::move(mask)), transposed_(std::move(transposed)) {}

  Matrix tile(const TileRef& tile) const override {
    const BlockMask& of = tile.tensor->rows == Axis::key_block ? *transposed_ : *mask_;
    const bool partial = std::ranges::find(partial_tensors, tile.tensor) != std::end(partial_tensors);
    const std::span<const std::int32_t> list = (partial ? of.partial : of.full).row(tile.plane, tile.row);
    Matrix values(tile.rows, tile.cols);
    if (tile.tensor->cols == Axis::one)
      values.values[0] = static_cast<float>(list.size());
    else
      for (std::size_t i = 0; i < values.values.size() && i < list.size(); ++i) values.values[i] = static_cast<float>(list[i]);
    return values;
  }

 private:
  static constexpr Tensor partial_tensors[] = {lists::partial_count, lists::partial, lists::query_partial_count,
                                               lists::query_partial};
  std::shared_ptr<const BlockMask> mask_, transposed_;
};

class PageValues final : public TableValues {
 public:
  PageValues(std::shared_ptr<const PageTable> pages, std::shared_ptr<const TableValues> others)
      : pages_(std::move(pages)), others_(std::move(others)) {}

  Matrix tile(const TileRef& tile) const override {
    if (tile.tensor != paged::table) return others_->tile(tile);
    Matrix values(tile.rows, tile.cols);
    for (std::int32_t i = 0; i < tile.cols; ++i) values.at(0, i) = static_cast<float>(pages_->page(tile.plane, tile.col + i));
    return values;
  }

 private:
  std::shared_ptr<const PageTable> pages_;
  std::shared_ptr<const TableValues> others_;
};

/// Returns the tiles of the listed blocks, of which there are `count` in all.
std::vector<KeyTile> tiles_of(const FlexLists::OfTile& own, std::int64_t tiles_of_block, std::int64_t count, KeyOrder order) {
  std::vector<KeyTile> visits;
  for (const bool partial : {true, false}) {
    const auto first = static_cast<std::ptrdiff_t>(visits.size());
    for (const std::int32_t block : partial ? own.partial : own.full)
      for (std::int64_t j = block * tiles_of_block; j < std::min((block + 1) * tiles_of_block, count); ++j)
        visits.push_back({j, partial});
    if (order == KeyOrder::descending) std::reverse(visits.begin() + first, visits.end());
  }
  return visits;
}

}  // namespace

void add_lists(Schema& schema, ListsBy by) {
  const auto add = [&](Tensor list, ChipTile tile) {
    schema.tensors.push_back(list);
    schema.inputs.push_back(list);
    schema.tiles.push_back(tile);
  };
  add(lists::partial_count, lists::partial_count_tile);
  add(lists::partial, lists::partial_tile);
  add(lists::full_count, lists::full_count_tile);
  add(lists::full, lists::full_tile);
  if (by == ListsBy::row) return;
  add(lists::query_partial_count, lists::query_partial_count_tile);
  add(lists::query_partial, lists::query_partial_tile);
  add(lists::query_full_count, lists::query_full_count_tile);
  add(lists::query_full, lists::query_full_tile);
}

void add_page_table(Schema& schema) {
  schema.tensors.push_back(paged::table);
  schema.inputs.push_back(paged::table);
  schema.tiles.push_back(paged::entries);
}

TileRange pages_of_visits(const BlockPlan& plan, std::span<const KeyTile> visits) {
  const std::int64_t page_size = plan.pages->page_size();
  const auto [lowest, highest] = std::ranges::minmax(visits, {}, &KeyTile::index);
  const std::int64_t first = plan.grid.keys(lowest.index).first / page_size;
  return {first, ceil_div(plan.grid.keys(highest.index).end(), page_size) - first};
}

std::shared_ptr<const TableValues> page_values(std::shared_ptr<const PageTable> pages, std::shared_ptr<const TableValues> others) {
  return std::make_shared<const PageValues>(std::move(pages), std::move(others));
}

std::int32_t load_lists(BlockBuilder& b, const ListLoads& loads, const FlexLists::OfTile& own) {
  b.mask_list(own.plane, own.row, 1);
  b.load(loads.counts, loads.partial_count);
  std::int32_t latest = b.load(loads.counts, loads.full_count);
  const std::int32_t counted = latest;
  const auto load_entries = [&](ChipTile list, std::int64_t entries) {
    if (entries == 0) return;
    b.mask_list(own.plane, own.row, entries);
    latest = b.load_after(loads.lists, list, counted);
  };
  load_entries(loads.partial, std::ssize(own.partial));
  load_entries(loads.full, std::ssize(own.full));
  return latest;
}

ListedVisits load_visits(BlockBuilder& b, const ListLines& lines, const std::optional<FlexLists>& lists, const TileGrid& grid,
                         std::int64_t plane, std::int64_t i) {
  if (!lists) return {grid.visits(plane, i)};
  const FlexLists::OfTile own = lists->of(grid, plane, i);
  const ListLoads loads{lines.counts,        lines.entries,          lists::partial_count_tile,
                        lists::partial_tile, lists::full_count_tile, lists::full_tile};
  return {lists->visits(grid, own), load_lists(b, loads, own)};
}

FlexLists::FlexLists(const TileGrid& grid, const ProgramTile& tile, ListsBy by)
    : mask_(std::make_shared<const BlockMask>(block_mask_of(*grid.mask, grid.problem, mask_block_of(grid.problem, tile)))) {
  if (by == ListsBy::row) return;
  BlockMask transposed_mask = *mask_;
  transposed_mask.partial = transposed(mask_->partial, mask_->cols);
  transposed_mask.full = transposed(mask_->full, mask_->cols);
  std::swap(transposed_mask.rows, transposed_mask.cols);
  transposed_ = std::make_shared<const BlockMask>(std::move(transposed_mask));
}

FlexLists::OfTile FlexLists::of(const TileGrid& grid, std::int64_t plane, std::int64_t i) const {
  const std::int64_t list_plane = mask_->list_plane(plane), row = i * grid.tile.block_q / mask_->block.block_q;
  return {list_plane, row, mask_->partial.row(list_plane, row), mask_->full.row(list_plane, row)};
}

FlexLists::OfTile FlexLists::of_keys(const TileGrid& grid, std::int64_t plane, std::int64_t j) const {
  const std::int64_t list_plane = mask_->list_plane(plane), row = j * grid.tile.block_kv / mask_->block.block_kv;
  return {list_plane, row, transposed_->partial.row(list_plane, row), transposed_->full.row(list_plane, row)};
}

std::vector<KeyTile> FlexLists::visits(const TileGrid& grid, const OfTile& own) const {
  return tiles_of(own, mask_->block.block_kv / grid.tile.block_kv, grid.key_tiles, grid.key_order);
}

std::vector<KeyTile> FlexLists::query_visits(const TileGrid& grid, const OfTile& own) const {
  return tiles_of(own, mask_->block.block_q / grid.tile.block_q, grid.query_tiles, grid.key_order);
}

std::shared_ptr<const TableValues> FlexLists::values() const {
  return std::make_shared<const ListValues>(mask_, transposed_);
}

namespace {

TileRange cut(std::int64_t first, std::int64_t size, std::int64_t length) {
  return {first, std::min(size, length - first)};
}

std::int64_t in_boxes(std::int64_t rows, std::int64_t box) {
  return ceil_div(rows, box) * box;
}

/// Returns the bytes of entries [first, end) of a list of 4-byte numbers, in whole sectors.
std::int64_t entry_bytes(std::int64_t first, std::int64_t end) {
  return end > first ? (ceil_div(end * 4, sector_size) - first * 4 / sector_size) * sector_size : 0;
}

/// What a row of mask blocks shows.
struct SeenInRow {
  std::int64_t keys = 0, box_keys = 0, tiles = 0;
  std::int64_t full = 0, partial = 0;  // blocks
  std::int64_t first_key = -1, end_key = 0;
};
SeenInRow seen_in_row(const AttentionProblem& p, const TileShape& tile, const Mask& mask, std::int64_t plane,
                      const TileRange& queries, std::int64_t block_kv, std::int64_t key_box) {
  SeenInRow row;
  for (std::int64_t first = 0; first < p.seq_kv; first += block_kv) {
    const TileRange of = cut(first, block_kv, p.seq_kv);
    const TileVisibility seen = mask.tile(plane, queries, of);
    if (seen == TileVisibility::empty) continue;
    row.keys += of.count;
    if (row.first_key < 0) row.first_key = of.first;
    row.end_key = of.end();
    row.box_keys += in_boxes(of.count, key_box);
    row.tiles += ceil_div(of.count, tile.block_kv);
    ++(seen == TileVisibility::full ? row.full : row.partial);
  }
  return row;
}

}  // namespace

FlexSums flex_sums(const AttentionProblem& p, const TileShape& tile, const Mask& mask, std::int64_t query_box,
                   std::int64_t key_box) {
  const TileShape block = p.has_mask() ? mask_block_of(p, tile) : tile;
  const std::int64_t cols = ceil_div(p.seq_kv, block.block_kv);
  const MaskPlanes by = mask.planes();
  const std::int64_t batches = by.by_batch ? p.batch : 1, heads = by.by_head ? p.heads : 1;
  FlexSums sums;
  // A plane's statistics start at one of eight positions in a sector. Counts the planes by list and position.
  constexpr std::int64_t places = sector_size / 4;
  std::vector<std::array<std::int64_t, places>> planes_at(static_cast<std::size_t>(batches * heads));
  for (std::int64_t plane = 0; plane < p.query_planes(); ++plane) {
    const std::int64_t list = (by.by_batch ? plane / p.heads * heads : 0) + (by.by_head ? plane % p.heads : 0);
    ++planes_at[static_cast<std::size_t>(list)][static_cast<std::size_t>(plane * p.seq_q % places)];
  }
  std::int64_t pair_statistics = 0, own_statistics = 0;
  for (std::int64_t list = 0; list < batches * heads; ++list)
    for (std::int64_t row = 0; row * block.block_q < p.seq_q; ++row) {
      const std::int64_t plane = list / heads * p.heads + list % heads;
      const TileRange queries = cut(row * block.block_q, block.block_q, p.seq_q);
      const SeenInRow seen = seen_in_row(p, tile, mask, plane, queries, block.block_kv, key_box);
      const std::int64_t query_tiles = ceil_div(queries.count, tile.block_q);
      sums.count_bytes += query_tiles * sector_size;
      const std::int64_t first_entry = (list * ceil_div(p.seq_q, block.block_q) + row) * cols;
      sums.full_bytes += query_tiles * entry_bytes(first_entry, first_entry + seen.full);
      sums.partial_bytes += query_tiles * entry_bytes(first_entry, first_entry + seen.partial);
      if (seen.keys == 0) continue;
      if (p.page_size > 0)
        sums.page_bytes += query_tiles * entry_bytes(seen.first_key / p.page_size, ceil_div(seen.end_key, p.page_size));
      sums.rows += queries.count;
      for (std::int64_t first = 0; first < queries.count; first += tile.block_q) {
        const std::int64_t own = std::min(tile.block_q, queries.count - first), start = queries.first + first;
        sums.box_rows += in_boxes(own, query_box);
        for (std::int64_t place = 0; place < places; ++place) {
          const std::int64_t sectors = ceil_div(place + start + own, places) - (place + start) / places;
          const std::int64_t bytes =
              planes_at[static_cast<std::size_t>(list)][static_cast<std::size_t>(place)] * sectors * sector_size;
          pair_statistics += bytes * seen.tiles;
          own_statistics += bytes;
        }
      }
      sums.keys += query_tiles * seen.box_keys;
      sums.rows_keys += queries.count * seen.keys;
      sums.rows_tiles += queries.count * seen.tiles;
    }
  const std::int64_t copies = p.query_planes() / (batches * heads);
  for (std::int64_t* sum : {&sums.rows, &sums.box_rows, &sums.keys, &sums.rows_keys, &sums.rows_tiles, &sums.partial_bytes,
                            &sums.full_bytes, &sums.count_bytes, &sums.page_bytes})
    *sum *= copies;
  sums.pair_statistic_bytes = pair_statistics;
  sums.own_statistic_bytes = own_statistics;
  return sums;
}

void add_page_term(ClosedForm& form, const AttentionProblem& problem, const FlexSums& sums) {
  form.terms.push_back({paged::table, Link::l2_to_sm, Bytes(sums.page_bytes),
                        formula_for(problem, "B·Hq·⌈Nq/Br⌉·4·⌈Nk/P⌉, in sectors", "B·Hq·Σᵢ 4·pages of tile i, in sectors")});
}

void add_list_terms(ClosedForm& form, const FlexSums& sums) {
  for (const Tensor tensor : {lists::partial_count, lists::full_count})
    form.terms.push_back({tensor, Link::l2_to_sm, Bytes(sums.count_bytes), "B·Hq·⌈Nq/Br⌉·32"});
  form.terms.push_back({lists::partial, Link::l2_to_sm, Bytes(sums.partial_bytes), "B·Hq·Σᵢ 4·partial blocks, in sectors"});
  form.terms.push_back({lists::full, Link::l2_to_sm, Bytes(sums.full_bytes), "B·Hq·Σᵢ 4·full blocks, in sectors"});
}

FlexKeySums flex_key_sums(const AttentionProblem& p, const TileShape& tile, const Mask& mask) {
  const TileShape block = p.has_mask() ? mask_block_of(p, tile) : tile;
  const std::int64_t rows = ceil_div(p.seq_q, block.block_q), cols = ceil_div(p.seq_kv, block.block_kv);
  const MaskPlanes by = mask.planes();
  const std::int64_t mask_heads = by.by_head ? p.heads : 1;
  FlexKeySums sums;
  for (std::int64_t kv_plane = 0; kv_plane < p.kv_planes(); ++kv_plane)
    for (std::int64_t col = 0; col < cols; ++col) {
      const TileRange keys{col * block.block_kv, std::min(block.block_kv, p.seq_kv - col * block.block_kv)};
      const std::int64_t key_tiles = ceil_div(keys.count, tile.block_kv);
      bool seen = false;
      for (std::int64_t member = 0; member < p.heads_of_kv_head(); ++member) {
        const std::int64_t plane = p.first_query_plane_of(kv_plane) + member;
        const std::int64_t list = (by.by_batch ? plane / p.heads * mask_heads : 0) + (by.by_head ? plane % p.heads : 0);
        std::int64_t entries[2] = {};  // full blocks, partial ones
        for (std::int64_t row = 0; row < rows; ++row) {
          const TileRange queries{row * block.block_q, std::min(block.block_q, p.seq_q - row * block.block_q)};
          const TileVisibility sees = mask.tile(plane, queries, keys);
          if (sees != TileVisibility::empty) ++entries[sees == TileVisibility::full ? 0 : 1];
        }
        const auto list_bytes = [&](std::int64_t count) {
          const std::int64_t first = (list * cols + col) * rows * 4, end = first + count * 4;
          return count == 0 ? 0 : key_tiles * (ceil_div(end, sector_size) - first / sector_size) * sector_size;
        };
        sums.count_bytes += key_tiles * sector_size;
        sums.full_bytes += list_bytes(entries[0]);
        sums.partial_bytes += list_bytes(entries[1]);
        seen = seen || entries[0] + entries[1] > 0;
      }
      if (seen) sums.seen_keys += keys.count;
    }
  return sums;
}

void add_list_terms(ClosedForm& form, const FlexKeySums& sums) {
  for (const Tensor tensor : {lists::query_partial_count, lists::query_full_count})
    form.terms.push_back({tensor, Link::l2_to_sm, Bytes(sums.count_bytes), "B·Hq·⌈Nk/Bc⌉·32"});
  form.terms.push_back({lists::query_partial, Link::l2_to_sm, Bytes(sums.partial_bytes), "B·Hq·Σⱼ 4·partial blocks, in sectors"});
  form.terms.push_back({lists::query_full, Link::l2_to_sm, Bytes(sums.full_bytes), "B·Hq·Σⱼ 4·full blocks, in sectors"});
}

Status check_mask_block(const AttentionProblem& problem, const ProgramTile& tile) {
  if (const Status status = check(tile); !status) return status;
  const TileShape block = mask_block_of(problem, tile);
  if (problem.has_mask() && (block.block_q % tile.block_q != 0 || block.block_kv % tile.block_kv != 0))
    return refuse("{} is {}, and the tile is {}x{}: the block must be a multiple of both lengths, such as {}", Setting::mask_block,
                  problem.mask_block, tile.block_q, tile.block_kv, std::lcm(tile.block_q, tile.block_kv));
  return Done{};
}

}  // namespace tilescope
