// What the builder fills in by itself: waits, and the fp32 work that its header promises.
#include "sim/programs/block_builder.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "tests/sim/attention_schema.h"
#include "tests/sim/programs/last_use.h"

namespace tilescope {
namespace {

enum class AnyLine { only };

/// A block of 32 rows of Q and 16 keys of a problem with head dimension 8.
struct Emitted {
  AttentionProblem problem{.seq_q = 32, .seq_kv = 16, .head_dim = 8};
  BlockPlan plan{problem, TileShape{32, 16}, attention_schema()};
  KernelNeeds needs;
  BlockOperations out;
  BlockBuilder builder{out, plan, needs, 0, 0, BlockPlan::query_rows(0, {0, 32}), 0};

  Emitted() {
    builder.queries(0, {0, 32});
    builder.keys(0, {0, 16});
    builder.iteration(0, 0);
  }
  const Operation& latest() const { return out.operations.back(); }
  /// The load that the latest operation waits for; -1: for none.
  std::int32_t waits_for() const { return waited_for(out, out.operations.size() - 1); }
};

}  // namespace

TEST_CASE("builder: an operation that changes a loaded tile waits for the load") {
  const auto waits = [](ChipTile chip_tile, auto change) {
    Emitted block;
    block.builder.load(AnyLine::only, tiles::q);
    const std::int32_t load = block.builder.load(AnyLine::only, chip_tile);
    change(block.builder);
    return block.waits_for() == load;
  };
  CHECK(waits(tiles::s, [](BlockBuilder& b) { b.mask(AnyLine::only, tiles::s); }));
  CHECK(waits(tiles::s, [](BlockBuilder& b) { b.modify(AnyLine::only, tiles::s, 3, 1); }));
  CHECK(waits(tiles::s, [](BlockBuilder& b) { b.subtract_rows(AnyLine::only, tiles::s, tiles::m); }));
  CHECK(waits(tiles::s, [](BlockBuilder& b) { b.multiply(AnyLine::only, tiles::s, tiles::p); }));
  CHECK(waits(tiles::o, [](BlockBuilder& b) { b.rescale(AnyLine::only, tiles::o, tiles::alpha); }));
  CHECK(waits(tiles::o, [](BlockBuilder& b) { b.divide(AnyLine::only, tiles::o, tiles::l); }));
  CHECK(waits(tiles::o, [](BlockBuilder& b) { b.add(AnyLine::only, tiles::o, tiles::pv); }));
  CHECK(waits(tiles::o, [](BlockBuilder& b) { b.matmul(AnyLine::only, tiles::o, tiles::p, tiles::v, {.accumulate = true}); }));
}

TEST_CASE("builder: an operation that only writes a tile does not wait for an earlier load of it") {
  const auto waits = [](ChipTile chip_tile, auto write) {
    Emitted block;
    block.builder.load(AnyLine::only, chip_tile);
    write(block.builder);
    return block.waits_for() >= 0;
  };
  CHECK_FALSE(waits(tiles::o, [](BlockBuilder& b) { b.fill(AnyLine::only, tiles::o, 0); }));
  CHECK_FALSE(waits(tiles::o, [](BlockBuilder& b) { b.matmul(AnyLine::only, tiles::o, tiles::p, tiles::v, {}); }));
  CHECK_FALSE(waits(tiles::p, [](BlockBuilder& b) { b.exp(AnyLine::only, tiles::p, tiles::s, tiles::m); }));
  CHECK_FALSE(waits(tiles::m, [](BlockBuilder& b) { b.row_max(AnyLine::only, tiles::m, tiles::m_new, tiles::s); }));
  CHECK_FALSE(waits(tiles::l, [](BlockBuilder& b) { b.row_sum(AnyLine::only, tiles::l, tiles::l_new, tiles::p, tiles::alpha); }));
  CHECK_FALSE(waits(tiles::lse, [](BlockBuilder& b) { b.log_sum_exp(AnyLine::only, tiles::lse, tiles::m, tiles::l); }));
}

TEST_CASE("builder: a block of keys begins with the first of the query heads that share them") {
  const AttentionProblem problem{.batch = 2, .heads = 8, .kv_heads = 4, .seq_q = 32, .seq_kv = 16, .head_dim = 8};
  const BlockPlan plan(problem, TileShape{32, 16}, attention_schema());
  const KernelNeeds needs;
  BlockOperations out;
  for (std::int64_t plane = 0; plane < 2 * 4; ++plane) {
    BlockBuilder builder(out, plan, needs, 0, plane, BlockPlan::along(Axis::key, plane, {0, 16}), 0);
    out.clear();
    builder.queries(0, {0, 32});
    builder.load(AnyLine::only, tiles::q);
    builder.load(AnyLine::only, tiles::k);
    CHECK(out.operations[0].tile.plane == 2 * plane);
    CHECK(out.operations[1].tile.plane == plane);
    CHECK(problem.kv_plane_of(out.operations[0].tile.plane) == plane);
  }
}

TEST_CASE("builder: an operation has one fp32 operation for each element, two where it scales twice, and for vectors one a row") {
  Emitted block;
  BlockBuilder& b = block.builder;
  const std::int64_t scores = 32 * 16, output = 32 * 8, rows = 32;
  const auto flops = [&] { return block.latest().flops; };
  b.mask(AnyLine::only, tiles::s);
  CHECK(flops() == scores);
  b.modify(AnyLine::only, tiles::s, 3, 2);
  CHECK(flops() == 3 * scores);
  CHECK(block.latest().exps == 2 * scores);
  b.row_max(AnyLine::only, tiles::m_new, tiles::m, tiles::s);
  CHECK(flops() == scores);
  b.exp(AnyLine::only, tiles::p, tiles::s, tiles::m_new);
  CHECK(flops() == scores);
  CHECK(block.latest().exps == scores);
  b.exp_rows(AnyLine::only, tiles::alpha, tiles::m, tiles::m_new);
  CHECK(flops() == rows);
  CHECK(block.latest().exps == rows);
  b.row_sum(AnyLine::only, tiles::l_new, tiles::l, tiles::p, ChipTile::none);
  CHECK(flops() == scores);
  b.row_sum(AnyLine::only, tiles::l_new, tiles::l, tiles::p, tiles::alpha);
  CHECK(flops() == scores + rows);
  b.rescale(AnyLine::only, tiles::o, tiles::alpha);
  CHECK(flops() == output);
  b.rescale(AnyLine::only, tiles::o, tiles::alpha, tiles::beta);
  CHECK(flops() == 2 * output);
  b.matmul(AnyLine::only, tiles::o, tiles::p, tiles::v, {});
  CHECK(flops() == 2 * output * 16);
  b.divide(AnyLine::only, tiles::o, tiles::l);
  CHECK(flops() == output + rows);
  b.log_sum_exp(AnyLine::only, tiles::lse, tiles::m, tiles::l);
  CHECK(flops() == 2 * rows);
}

TEST_CASE("builder: a load waits until its buffer is free, for what it is told to, and for the operation that paces loads") {
  std::mt19937 random(16);
  const AttentionProblem problem{.seq_q = 32, .seq_kv = 16 * 64, .head_dim = 8};
  const BlockPlan plan(problem, TileShape{32, 16}, attention_schema());
  const KernelNeeds needs;
  int paced = 0, freed = 0, told = 0, at_once = 0;
  for (int round = 0; round < 40; ++round) {
    BlockOperations out;
    BlockBuilder b(out, plan, needs, 0, 0, BlockPlan::query_rows(0, {0, 32}), 0);
    const std::int64_t stages = 1 + static_cast<std::int64_t>(random() % 3);
    std::int32_t pace = -1;
    b.queries(0, {0, 32});
    for (std::int64_t n = 0; n < 24; ++n) {
      b.keys(n, {16 * n, 16});
      b.iteration(n, n % stages);
      for (const ChipTile chip_tile : {ChipTile(tiles::k), ChipTile(tiles::v)}) {
        const std::int32_t after =
            random() % 4 == 0 && b.latest() >= 0 ? static_cast<std::int32_t>(random() % (b.latest() + 1U)) : -1;
        const auto self = static_cast<std::size_t>(b.load(AnyLine::only, chip_tile, after));
        const std::int32_t used = last_use(out, self);
        CAPTURE(self);
        CHECK(waited_for(out, self) == std::max({used, after, pace}));
        CHECK(out.operations[self].paced == (pace > std::max(used, after)));
        ++(out.operations[self].paced ? paced : after > used ? told : used >= 0 ? freed : at_once);
      }
      b.matmul(AnyLine::only, tiles::s, tiles::q, tiles::k, {.transpose = true});
      if (random() % 3 == 0) b.pace_loads(pace = b.latest());
      b.exp(AnyLine::only, tiles::p, tiles::s, tiles::m);
      if (random() % 3 == 0) b.pace_loads(pace = b.latest() - static_cast<std::int32_t>(random() % 2));
      b.matmul(AnyLine::only, tiles::o, tiles::p, tiles::v, {.accumulate = true});
    }
  }
  for (const int count : {paced, freed, told, at_once}) CHECK(count > 20);
}

TEST_CASE("builder: turns of the ring that are copied equal those that are emitted, with what paces loads, and so do later loads") {
  const AttentionProblem problem{.seq_q = 32, .seq_kv = 16 * 40, .head_dim = 16};
  const BlockPlan plan(problem, TileShape{32, 16}, attention_schema());
  const KernelNeeds needs;
  for (const std::int64_t stages : {1, 2, 3})
    for (const std::int64_t apart : {1, 2, -1})
      for (const int pacing : {0, 1, 2}) {
        CAPTURE(stages);
        CAPTURE(apart);
        CAPTURE(pacing);
        std::vector<KeyTile> tiles_visited;
        for (std::int64_t n = 0; n < 19; ++n) tiles_visited.push_back({apart > 0 ? apart * n : 39 + apart * n, false});
        const auto emit = [&](bool is_copied, BlockOperations& out) {
          BlockBuilder b(out, plan, needs, 0, 0, BlockPlan::query_rows(0, {0, 32}), tile_bits(tiles::k, tiles::v));
          b.queries(0, {0, 32});
          b.load(AnyLine::only, tiles::q);
          b.walk_keys(
              tiles_visited, stages, [&](const KeyTile&) { return is_copied; },
              [&](const KeyTile&) {
                b.load(AnyLine::only, tiles::k);
                b.matmul(AnyLine::only, tiles::s, tiles::q, tiles::k, {.transpose = true});
                if (pacing == 1) b.pace_loads(b.latest());
                b.exp(AnyLine::only, tiles::p, tiles::s, tiles::m);
                b.load(AnyLine::only, tiles::v);
                if (pacing == 2) b.pace_loads(b.latest() - 1);
                b.matmul(AnyLine::only, tiles::o, tiles::p, tiles::v, {.accumulate = true});
              });
          b.keys(0, {0, 16});
          for (const ChipTile chip_tile : {ChipTile(tiles::k), ChipTile(tiles::v)}) {
            b.load(AnyLine::only, chip_tile);
            b.load(AnyLine::only, chip_tile);
          }
        };
        BlockOperations copied, emitted;
        emit(true, copied);
        emit(false, emitted);
        REQUIRE(copied.operations.size() == emitted.operations.size());
        for (std::size_t n = 0; n < copied.operations.size(); ++n) {
          CAPTURE(n);
          const Operation &a = copied.operations[n], &b = emitted.operations[n];
          CHECK(a.kind == b.kind);
          CHECK(a.dst == b.dst);
          CHECK(a.src == b.src);
          CHECK(a.tile == b.tile);
          CHECK(a.ring == b.ring);
          CHECK(a.iteration == b.iteration);
          CHECK(a.kv_tile == b.kv_tile);
          CHECK(a.bytes == b.bytes);
          CHECK(a.smem_read_bytes == b.smem_read_bytes);
          CHECK(a.smem_write_bytes == b.smem_write_bytes);
          CHECK(a.paced == b.paced);
          CHECK(waited_for(copied, n) == waited_for(emitted, n));
        }
      }
}

TEST_CASE("builder: a tile of any index can be in shared memory, and its bit is that of its index") {
  static constexpr ChipTileSpec last{.name = "last", .tensor = tensors::q, .index = most_chip_tiles - 1};
  static_assert(tile_bits(tiles::q, last) == (TileSet{1} << tile_index::q | TileSet{1} << 63));
  BlockOperations block;
  block.shared_tiles = tile_bits(last);
  CHECK(is_shared(block, last));
  CHECK_FALSE(is_shared(block, tiles::q));
  block.shared_tiles = ~TileSet{0};
  CHECK(is_shared(block, tiles::q));
  CHECK_FALSE(is_shared(block, ChipTile::none));
}

TEST_CASE("builder: a product reads each factor in shared memory as often as its form says, or as warps share the other one") {
  const AttentionProblem problem{.seq_q = 32, .seq_kv = 16, .head_dim = 8};
  const BlockPlan plan(problem, TileShape{32, 16}, attention_schema());
  for (const int row_warps : {1, 2, 3})
    for (const int key_warps : {1, 4})
      for (const TileSet shared : {TileSet{0}, tile_bits(tiles::q), tile_bits(tiles::k), tile_bits(tiles::q, tiles::k)})
        for (const std::optional<std::int64_t> left :
             {std::optional<std::int64_t>(), std::optional<std::int64_t>(0), std::optional<std::int64_t>(5)})
          for (const std::optional<std::int64_t> right :
               {std::optional<std::int64_t>(), std::optional<std::int64_t>(1), std::optional<std::int64_t>(7)}) {
            KernelNeeds needs;
            needs.warps_sharing_rows = row_warps;
            needs.warps_sharing_keys = key_warps;
            BlockOperations out;
            BlockBuilder b(out, plan, needs, 0, 0, BlockPlan::query_rows(0, {0, 32}), shared);
            b.queries(0, {0, 32});
            b.keys(0, {0, 16});
            b.matmul(AnyLine::only, tiles::s, tiles::q, tiles::k, {.transpose = true, .left_reads = left, .right_reads = right});
            const std::int64_t of_left = left ? *left : key_warps, of_right = right ? *right : row_warps;
            const Operation& product = out.operations.back();
            CHECK(product.left_reads == of_left);
            CHECK(product.right_reads == of_right);
            CHECK(product.smem_read_bytes ==
                  (is_shared(out, tiles::q) ? of_left * 32 * 8 * 2 : 0) + (is_shared(out, tiles::k) ? of_right * 16 * 8 * 2 : 0));
            b.multiply(AnyLine::only, tiles::s, tiles::p);  // not a product: once
            CHECK(out.operations.back().smem_read_bytes == 0);
          }
}

TEST_CASE("builder: an operation in place reads its tile in shared memory once, and one that only writes it reads nothing") {
  const auto read = [](TileSet shared, auto change) {
    Emitted block;
    block.out.shared_tiles = shared;
    change(block.builder);
    CHECK(block.latest().smem_write_bytes == (shared == 0 ? 0 : 32 * 8 * 2));
    return block.latest().smem_read_bytes;
  };
  constexpr std::int64_t tile = 32 * 8 * 2;
  for (const TileSet shared : {TileSet{0}, tile_bits(tiles::q)}) {
    const std::int64_t once = shared == 0 ? 0 : tile;
    const auto reads = [&](auto change) { return read(shared, change); };
    CHECK(reads([](BlockBuilder& b) { b.rescale(AnyLine::only, tiles::q, tiles::alpha); }) == once);
    CHECK(reads([](BlockBuilder& b) { b.divide(AnyLine::only, tiles::q, tiles::l); }) == once);
    CHECK(reads([](BlockBuilder& b) { b.multiply(AnyLine::only, tiles::q, tiles::q); }) == 2 * once);
    CHECK(reads([](BlockBuilder& b) { b.matmul(AnyLine::only, tiles::q, tiles::p, tiles::v, {.accumulate = true}); }) == once);
    CHECK(reads([](BlockBuilder& b) { b.matmul(AnyLine::only, tiles::q, tiles::p, tiles::v, {}); }) == 0);
    CHECK(reads([](BlockBuilder& b) { b.copy(AnyLine::only, tiles::q, tiles::o); }) == 0);
    CHECK(reads([](BlockBuilder& b) { b.fill(AnyLine::only, tiles::q, 0); }) == 0);
  }
}

}  // namespace tilescope
