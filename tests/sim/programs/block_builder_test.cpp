// What the builder fills in by itself: waits, and the fp32 work that its header promises.
#include "sim/programs/block_builder.h"

#include <cstdint>

#include <doctest/doctest.h>

#include "tests/sim/attention_schema.h"

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
  const auto waits = [](Slot slot, auto change) {
    Emitted block;
    block.builder.load(AnyLine::only, tiles::q);
    const std::int32_t load = block.builder.load(AnyLine::only, slot);
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
  const auto waits = [](Slot slot, auto write) {
    Emitted block;
    block.builder.load(AnyLine::only, slot);
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
  b.row_sum(AnyLine::only, tiles::l_new, tiles::l, tiles::p, Slot::none);
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

}  // namespace tilescope
