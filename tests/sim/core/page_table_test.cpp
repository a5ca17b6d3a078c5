// The page table: every page of the pool belongs to one page of one sequence, and a tile's place follows from it.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <random>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "sim/core/page_table.h"
#include "sim/programs/attention_tensors.h"
#include "sim/programs/tensor_layout.h"

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
  p.page_size = 16;
  const auto refusal_of = [&](std::int64_t seq_kv) {
    p.seq_kv = seq_kv;
    const Status large = check_pages(p, {8, 16});
    REQUIRE_FALSE(large);
    return large.error().sentence.text();
  };
  CHECK(refusal_of(1 << 29) == "page_size is 16: a pool of 100663296 pages is too large; use page_size 128");
  CHECK(refusal_of(1 << 30) == "page_size is 16: a pool of 201326592 pages is too large; use a smaller batch or seq_kv");
}

TEST_CASE("page table: a page size that a refusal advises is taken, whatever was asked for") {
  std::mt19937_64 random(5);
  const auto size = [&](std::int64_t most_bits) {  // of any magnitude
    const auto bits = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most_bits)) + 1;
    return static_cast<std::int64_t>(random() % (std::uint64_t{1} << bits)) + 1;
  };
  int advised = 0, none = 0;
  for (int i = 0; i < 20000; ++i) {
    AttentionProblem p = in_pages(std::min<std::int64_t>(size(31), std::numeric_limits<std::int32_t>::max()),
                                  std::min<std::int64_t>(size(31), std::numeric_limits<std::int32_t>::max()), PageOrder::shuffled);
    p.batch = size(26);
    p.heads = p.kv_heads = size(20);
    if (!check(p)) continue;
    const TileShape tile = {16, size(9)};
    const Status refused = check_pages(p, tile);
    if (refused) continue;
    const std::string text = refused.error().sentence;
    CAPTURE(text);
    const std::size_t last = text.rfind(' ');
    if (text.ends_with("use a smaller batch or seq_kv")) {
      ++none;
      AttentionProblem fewer = p, shorter = p;
      fewer.batch = shorter.seq_kv = 1;
      CHECK((page_size_that_fits(fewer, tile) || page_size_that_fits(shorter, tile)));
      continue;
    }
    ++advised;
    p.page_size = std::strtoll(text.c_str() + last, nullptr, 10);
    CHECK(check_pages(p, tile));
  }
  CHECK(advised > 1000);
  CHECK(none > 100);
}

}  // namespace tilescope
