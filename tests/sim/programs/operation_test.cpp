// Names, colours, places and units of operations and on-chip tiles.
#include "sim/programs/operation.h"
#include "sim/programs/tile_program.h"
#include "tests/sim/attention_schema.h"
#include "tests/sim/test_gpus.h"

#include <set>

#include <doctest/doctest.h>

namespace tilescope {
namespace {

TEST_CASE("operation: names of kinds, chip_tiles and units are there and all different") {
  std::set<std::string_view> kinds, chip_tiles, units;
  for (int n = 0; n < op_kind_count; ++n) kinds.insert(to_string(static_cast<OpKind>(n)));
  for (ChipTile chip_tile : attention_tiles()) chip_tiles.insert(to_string(chip_tile));
  for (int n = 0; n < unit_count; ++n) units.insert(to_string(static_cast<Unit>(n)));
  CHECK(kinds.size() == op_kind_count);
  CHECK(chip_tiles.size() == attention_tiles().size());
  CHECK(units.size() == unit_count);
  for (const auto& names : {kinds, chip_tiles, units}) CHECK_FALSE(names.contains(""));
  CHECK(to_string(OpKind::log_sum_exp) == "log_sum_exp");
  CHECK(to_string(tiles::m_new) == "m′");
  CHECK(to_string(tiles::lse) == "L");
  CHECK(to_string(Unit::sync) == "barrier");
}

TEST_CASE("operation: a chip_tile wears the colour of the tensor that it holds a part of") {
  CHECK(tensor_of(tiles::q) == tensors::q);
  CHECK(tensor_of(tiles::v) == tensors::v);
  CHECK(tensor_of(tiles::pv) == tensors::o);
  CHECK(tensor_of(tiles::m_new) == tensors::m);
  CHECK(tensor_of(tiles::alpha) == tensors::m);
  CHECK(tensor_of(tiles::l_tile) == tensors::l);
  CHECK(tensor_of(tiles::lse) == tensors::lse);
}

TEST_CASE("operation: a block says which tiles lie in shared memory") {
  BlockOperations block;
  CHECK_FALSE(is_shared(block, tiles::q));
  block.shared_tiles = TileSet{1} << ChipTile(tiles::s).index();
  CHECK(is_shared(block, tiles::s));
  CHECK_FALSE(is_shared(block, tiles::p));
}

TEST_CASE("operation: what an earlier key tile left in P and α is left over until this tile's own is there") {
  const AttentionProblem problem = {.seq_q = 8, .seq_kv = 24, .head_dim = 8};
  const auto info = find_program("flash2");
  REQUIRE(info);
  const auto program = (*info)->make(problem, ProgramTile(8, 8), toy_gpu());
  REQUIRE(program);
  BlockOperations block;
  (*program)->emit_block(0, 0, block);
  int left_over = 0;
  for (std::size_t at = 0; at < block.operations.size(); ++at) {
    const Operation& op = block.operations[at];
    if (op.kind == OpKind::load || op.iteration < 0) continue;
    const auto is = [&](ChipTile chip_tile) { return is_left_over(block, static_cast<std::int32_t>(at), chip_tile); };
    CHECK_FALSE(is(tiles::o));
    CHECK_FALSE(is(tiles::m));
    CHECK_FALSE(is(tiles::l));
    if (op.kind == OpKind::matmul && op.dst == tiles::s && op.iteration > 0) {
      CHECK(is(tiles::p));
      CHECK(is(tiles::alpha));
      CHECK_FALSE(is(tiles::s));
      ++left_over;
    }
    if (op.kind == OpKind::matmul) CHECK_FALSE(is(op.src[1]));  // K or V, which this very operation reads
    if (op.kind == OpKind::exp || op.kind == OpKind::exp_rows) CHECK_FALSE(is(op.dst));
    if (op.kind == OpKind::divide) CHECK_FALSE(is(tiles::p));  // the last tile's
  }
  CHECK(left_over == 2);
}

TEST_CASE("operation: every kind has the unit that a GPU runs it on") {
  const auto unit = [](OpKind kind) {
    Operation op;
    op.kind = kind;
    return unit_of(op);
  };
  CHECK(unit(OpKind::load) == Unit::copy);
  CHECK(unit(OpKind::store) == Unit::store);
  CHECK(unit(OpKind::matmul) == Unit::tensor);
  CHECK(unit(OpKind::exp) == Unit::exp);
  CHECK(unit(OpKind::exp_rows) == Unit::exp);
  CHECK(unit(OpKind::barrier) == Unit::sync);
  for (OpKind kind : {OpKind::fill, OpKind::mask, OpKind::row_max, OpKind::row_sum, OpKind::rescale, OpKind::divide, OpKind::add,
                      OpKind::merge, OpKind::log_sum_exp, OpKind::copy})
    CHECK(unit(kind) == Unit::fp32);
}

TEST_CASE("operation: clearing a block keeps its memory") {
  BlockOperations block;
  block.operations.resize(1000);
  block.iterations = 3;
  const auto capacity = block.operations.capacity();
  block.clear();
  CHECK(block.operations.empty());
  CHECK(block.operations.capacity() == capacity);
  CHECK(block.iterations == 0);
}

}  // namespace
}  // namespace tilescope
