// Orders of blocks: permutations all, and what a simulation makes of them.
#include "sim/engine/block_order.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include "sim/engine/simulation.h"
#include "sim/engine/sm_order.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

std::vector<std::int64_t> sequence(BlockOrder order, std::int64_t blocks, std::int64_t planes, std::int64_t group) {
  const BlockSequence made(order, blocks, planes, group);
  std::vector<std::int64_t> out;
  for (std::int64_t turn = 0; turn < blocks; ++turn) out.push_back(made.at(turn));
  return out;
}

using Numbers = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("block order: two planes of three tiles, in each order") {
  CHECK(sequence(BlockOrder::launch, 6, 2, 1) == Numbers{0, 1, 2, 3, 4, 5});
  CHECK(sequence(BlockOrder::heads, 6, 2, 1) == Numbers{0, 3, 1, 4, 2, 5});
  CHECK(sequence(BlockOrder::reversed, 6, 2, 1) == Numbers{2, 1, 0, 5, 4, 3});
  CHECK(sequence(BlockOrder::longest, 6, 2, 1) == Numbers{2, 5, 1, 4, 0, 3});
  CHECK(sequence(BlockOrder::grouped, 6, 2, 1) == Numbers{2, 1, 0, 5, 4, 3});
  CHECK(sequence(BlockOrder::grouped, 6, 3, 2) == Numbers{1, 3, 0, 2, 5, 4});  // the last group is smaller
}

TEST_CASE("block order: every order gives every block one turn, and one that planes do not divide stays as it is") {
  for (const BlockOrderInfo& row : block_orders()) {
    CAPTURE(row.id);
    CHECK(to_string(row.order) == row.id);
    CHECK(block_order_from(row.id) == row.order);
    for (std::int64_t planes : {1, 2, 5, 12})
      for (std::int64_t within : {1, 3, 7})
        for (std::int64_t group : {1, 2, 5, 100}) {
          Numbers numbers = sequence(row.order, planes * within, planes, group), all(numbers.size());
          std::sort(numbers.begin(), numbers.end());
          std::iota(all.begin(), all.end(), std::int64_t{0});
          CHECK(numbers == all);
        }
    CHECK(sequence(row.order, 5, 2, 1) == Numbers{0, 1, 2, 3, 4});
  }
}

TEST_CASE("block order: as many planes as their K and V fit a partition of the L2, and heads that share them stay together") {
  GpuSpec gpu = toy_gpu();
  const AttentionProblem problem = {.heads = 8, .kv_heads = 4, .seq_q = 64, .seq_kv = 64, .head_dim = 16};
  constexpr double keys_and_values = 2 * 64 * 16 * 2;
  gpu.l2_partitions = 2;
  gpu.l2_capacity_bytes = 2 * 3 * keys_and_values;
  CHECK(planes_that_fit(problem, gpu) == 3 * 2);
  gpu.l2_usable_fraction = 0.98;  // of three, what is in use holds two
  CHECK(planes_that_fit(problem, gpu) == 2 * 2);
  gpu.l2_usable_fraction = 1;
  gpu.l2_capacity_bytes = 1024;
  CHECK(planes_that_fit(problem, gpu) == 2);
  gpu.l2_capacity_bytes = 0;
  CHECK(planes_that_fit(problem, gpu) == 2);
}

TEST_CASE("block order: changes who runs when, but no byte between the L2 and the SMs") {
  for (const char* algorithm : {"standard", "flash1", "flash2", "matmul_tiled"}) {
    SimulationRequest request;
    request.algorithm = algorithm;
    request.gpu = toy_gpu();
    request.problem = {.heads = 3, .kv_heads = 3, .seq_q = 100, .seq_kv = 100, .head_dim = 16, .causal = true};
    if (std::string_view(algorithm) == "matmul_tiled") request.problem.causal = false;
    const auto as_launched = simulate(request);
    REQUIRE_MESSAGE(as_launched, (as_launched ? std::string() : as_launched.error().sentence.text()));
    for (const BlockOrderInfo& row : block_orders()) {
      CAPTURE(algorithm);
      CAPTURE(row.id);
      request.block_order = row.order;
      const auto other = simulate(request);
      REQUIRE(other);
      for (Link link : {Link::l2_to_sm, Link::sm_to_l2, Link::smem_read, Link::smem_write})
        CHECK((*other)->ledger.total(link) == (*as_launched)->ledger.total(link));
      std::vector<std::int64_t> ran;
      for (const BlockRun& run : (*other)->trace->runs())
        if (run.launch == 0) ran.push_back(run.block);
      std::sort(ran.begin(), ran.end());
      CHECK(std::adjacent_find(ran.begin(), ran.end()) == ran.end());
      CHECK(static_cast<std::int64_t>(ran.size()) == (*other)->launches.front().blocks);
    }
  }
}

TEST_CASE("block order: with a causal mask the long tiles first end sooner than the long tiles last") {
  SimulationRequest request;
  request.gpu = toy_gpu();
  request.problem = {.heads = 2, .kv_heads = 2, .seq_q = 320, .seq_kv = 320, .head_dim = 16, .causal = true};
  const auto last = simulate(request);
  request.block_order = BlockOrder::longest;
  const auto first = simulate(request);
  REQUIRE(last);
  REQUIRE(first);
  CHECK((*first)->cycles < (*last)->cycles);
}

TEST_CASE("sm order: sides follow the groups; fewer blocks than SMs fill the first group and go round the others") {
  GpuSpec gpu = toy_gpu();
  gpu.sm_count = 8;
  gpu.l2_partitions = 2;
  gpu.sm_groups = {{2, 1}, {3, 0}, {3, 1}};
  CHECK(sm_sides(gpu) == std::vector<int>{1, 1, 0, 0, 0, 1, 1, 1});
  CHECK(sms_of_part(gpu, 1) == std::vector<int>{0});
  CHECK(sms_of_part(gpu, 5) == std::vector<int>{0, 1, 2, 3, 5});
  // Of another number of SMs than the groups have, half are on each side.
  REQUIRE(set_spec_value(gpu, "sm.count=6"));
  CHECK(sm_sides(gpu) == std::vector<int>{0, 0, 0, 1, 1, 1});
  CHECK(sms_of_part(gpu, 4) == std::vector<int>{0, 1, 2, 3});
}
