// The page table: every page of the pool belongs to one page of one sequence, and a tile's place follows from it.
#include <set>

#include <doctest/doctest.h>

#include "sim/core/page_table.h"
#include "sim/programs/attention_tensors.h"

namespace tilescope {

namespace {

AttentionProblem in_pages(std::int64_t seq_kv, std::int64_t page_size, PageOrder order) {
  AttentionProblem p = {.batch = 3, .heads = 4, .kv_heads = 2, .seq_q = 8, .seq_kv = seq_kv, .head_dim = 16};
  p.page_size = page_size;
  p.page_order = order;
  return p;
}

}  // namespace

TEST_CASE("page table: each page of the pool has one owner, in either order, and a shuffled pool is the same each time") {
  for (const PageOrder order : {PageOrder::contiguous, PageOrder::shuffled}) {
    const AttentionProblem p = in_pages(70, 16, order);
    const PageTable table(p), again(p);
    REQUIRE(table.pages_each() == 5);
    std::set<std::int64_t> seen;
    bool in_order = true;
    for (std::int64_t b = 0; b < p.batch; ++b)
      for (std::int64_t logical = 0; logical < 5; ++logical) {
        const std::int64_t page = table.page(b, logical);
        CHECK(page == again.page(b, logical));
        CHECK(table.owner(page).sequence == b);
        CHECK(table.owner(page).logical == logical);
        in_order = in_order && page == b * 5 + logical;
        seen.insert(page);
      }
    CHECK(seen.size() == 15);
    CHECK(*seen.rbegin() == 14);
    CHECK(in_order == (order == PageOrder::contiguous));
  }
}

TEST_CASE(
    "page table: a tile of K lies in the page of its sequence, in the plane of its key head; other tensors lie where they are") {
  const AttentionProblem p = in_pages(70, 16, PageOrder::shuffled);
  const PageTable table(p);
  const TileRef tile = {tensors::k, 2 * 2 + 1, 40, 8, 0, 16};  // sequence 2, key head 1, keys 40 to 47: the second half of page 2
  const TileRef at = table.place(tile);
  CHECK(at.plane == 1);
  CHECK(at.row == table.page(2, 2) * 16 + 8);
  CHECK(at.rows == 8);
  const TileRef q = {tensors::q, 5, 0, 8, 0, 16};
  CHECK(table.place(q) == q);
  const std::array<Tensor, 3> all = {tensors::q, tensors::k, tensors::v};
  const TensorLayouts layouts = memory_layouts(p, {8, 8}, all);
  CHECK(layouts[tensors::q.index()].planes == 12);
  for (const Tensor tensor : {tensors::k, tensors::v}) {
    CHECK(layouts[tensor.index()].planes == 2);
    CHECK(layouts[tensor.index()].rows == 3 * 5 * 16);  // the last page of each sequence holds 6 keys, and takes 16
  }
  CHECK(page_table_of({}) == nullptr);
}

TEST_CASE("page table: a tile of several pages has a part in each of them, and other tiles have one") {
  const AttentionProblem p = in_pages(70, 16, PageOrder::shuffled);
  const PageTable table(p);
  const auto parts_of = [&](const TileRef& tile) {
    std::vector<std::pair<std::int32_t, std::int32_t>> parts;  // first row, rows
    table.for_each_part(tile, [&](const TileRef& part) {
      parts.emplace_back(part.row, part.rows);
      CHECK(part.plane == tile.plane);
      CHECK_FALSE(table.is_parted(part));
    });
    return parts;
  };
  using Parts = std::vector<std::pair<std::int32_t, std::int32_t>>;
  CHECK(parts_of({tensors::v, 3, 32, 38, 0, 16}) == Parts{{32, 16}, {48, 16}, {64, 6}});
  CHECK(parts_of({tensors::k, 3, 40, 8, 0, 16}) == Parts{{40, 8}});
  CHECK(parts_of({tensors::q, 3, 0, 64, 0, 16}) == Parts{{0, 64}});
  CHECK(table.is_parted({tensors::k, 0, 40, 9, 0, 16}));
}

TEST_CASE(
    "page table: a page and a key tile of which neither divides the other, and too large a pool, are refused with both numbers") {
  AttentionProblem p = in_pages(70, 24, PageOrder::shuffled);
  CHECK(check_pages(p, {8, 8}));
  const Status odd = check_pages(p, {8, 16});
  REQUIRE_FALSE(odd);
  CHECK(odd.error().sentence.text() == "page_size is 24, and the key tile is 16: one must be a multiple of the other, such as 32");
  p.page_size = 8;
  CHECK(check_pages(p, {8, 16}));
  p.seq_kv = 1 << 30;
  p.page_size = 16;
  const Status large = check_pages(p, {8, 16});
  REQUIRE_FALSE(large);
  CHECK(large.error().sentence.text().find("a pool of 201326592 pages is too large") != std::string::npos);
}

}  // namespace tilescope
