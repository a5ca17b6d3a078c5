// Finding blocks by plane and rows: the same as looking at every block of the grid.
#include <doctest/doctest.h>

#include <random>

#include "sim/numerics/producers.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

TEST_CASE("producers: the blocks that own rows of a plane are found without looking at the others, in every program") {
  std::random_device device;
  const auto seed = device();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int i = 0; i < 40; ++i)
    for (const ProgramInfo& info : program_table()) {
      AttentionProblem problem = {.batch = pick(1, 2),
                                  .heads = 2 * pick(1, 3),
                                  .kv_heads = pick(1, 2),
                                  .seq_q = pick(1, 60),
                                  .seq_kv = pick(1, 60),
                                  .head_dim = 8};
      problem.causal = (info.family == "attention" || info.family == "backward") && pick(0, 1) == 1;
      const auto program = info.make(problem, {pick(1, 20), pick(1, 20)}, toy_gpu());
      REQUIRE(program);
      for (int launch = 0; launch < static_cast<int>((*program)->launches().size()); ++launch)
        for (const Axis axis : axes_of((*program)->launches()[static_cast<std::size_t>(launch)])) {
          const bool keys = axis == Axis::key;
          const std::int64_t planes = keys ? problem.batch * problem.kv_heads : problem.query_planes();
          const std::int64_t rows = keys ? problem.seq_kv : problem.seq_q;
          const std::int64_t plane = pick(0, planes - 1), first = pick(0, rows - 1), end = pick(first + 1, rows);
          std::vector<std::int64_t> expected;
          BlockOperations block;
          for (std::int64_t b = 0; b < (*program)->launches()[static_cast<std::size_t>(launch)].blocks(); ++b) {
            (*program)->emit_block(launch, b, block);
            const Domain& own = block.domain;
            if (own.axis == axis && own.plane == plane && own.first < end && own.end() > first) expected.push_back(b);
          }
          CAPTURE(info.id);
          CAPTURE(launch);
          CHECK(blocks_of(**program, launch, {axis, plane, first, end}) == expected);
        }
    }
}

TEST_CASE("producers: a block of the first launch needs none, one of the last needs the tiles that it loads") {
  const AttentionProblem problem = {.heads = 2, .seq_q = 64, .seq_kv = 64, .head_dim = 16, .causal = true};
  const auto program = (*find_program("standard"))->make(problem, {16, 16}, toy_gpu());
  BlockOperations block;
  (*program)->emit_block(0, 3, block);
  CHECK(producers_of(**program, block).empty());
  (*program)->emit_block(2, 6, block);  // plane 1, query tile 2: three key tiles are visible
  REQUIRE(block.domain.plane == 1);
  const auto producers = producers_of(**program, block);
  REQUIRE(producers.size() == 2);
  CHECK(producers[0] == std::vector<std::int64_t>{24, 25, 26});
}
