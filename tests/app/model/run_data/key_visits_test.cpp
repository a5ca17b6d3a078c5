// Which key tiles a block visits: all, those that a mask leaves, or the one of a product's block.
#include <doctest/doctest.h>

#include "app/model/run_data/key_visits.h"
#include "tests/app/run_simulation.h"

using namespace tilescope;

namespace {

std::vector<std::int32_t> visited(const char* algorithm, bool causal, std::int64_t block, std::int32_t q_tile) {
  AttentionProblem problem;
  problem.causal = causal;
  const auto simulation = run(algorithm, toy_gpu(), problem);
  BlockOperations operations;
  simulation->program->emit_block(0, block, operations);
  return visited_key_tiles(operations, q_tile);
}

}  // namespace

TEST_CASE("key visits: without a mask a block of flash2 visits every key tile, with a causal one those up to its own") {
  CHECK(visited("flash2", false, 1, 1) == std::vector<std::int32_t>{0, 1, 2, 3});
  CHECK(visited("flash2", true, 1, 1).size() < 4);
}

TEST_CASE("key visits: a block of standard attention's first product works on one key tile") {
  CHECK(visited("standard", false, 0, 0).size() == 1);
}
