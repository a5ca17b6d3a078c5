// Orders of blocks: permutations all, and what a simulation makes of them.
#include "sim/engine/block_order.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include "sim/engine/launch_order.h"
#include "sim/engine/simulation.h"
#include "sim/engine/sm_order.h"
#include "sim/programs/planes_together.h"
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
  CHECK(sequence(BlockOrder::grouped, 6, 3, 2) == Numbers{1, 3, 0, 2, 5, 4});  // the last set is smaller
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

TEST_CASE("block order: a set has about as many planes as their K and V fit the L2, and heads that share them stay together") {
  const AttentionProblem problem = {.heads = 8, .kv_heads = 4, .seq_q = 64, .seq_kv = 64, .head_dim = 16};
  constexpr double keys_and_values = 2 * 64 * 16 * 2;
  CHECK(planes_together(problem, 3 * keys_and_values) == 8);  // 6 would leave a last set of 2
  CHECK(planes_together(problem, 2 * keys_and_values) == 2 * 2);
  CHECK(planes_together(problem, 1.9 * keys_and_values) == 2);
  CHECK(planes_together(problem, 0) == 2);
}

TEST_CASE("block order: sets of heads are about equally large") {
  const AttentionProblem problem = {.batch = 4, .heads = 9, .kv_heads = 9, .seq_q = 64, .seq_kv = 64, .head_dim = 16};
  constexpr double keys_and_values = 2 * 64 * 16 * 2;
  CHECK(planes_together(problem, 32 * keys_and_values) == 36);  // not 32 and 4
  CHECK(planes_together(problem, 20 * keys_and_values) == 18);
  CHECK(planes_together(problem, 10 * keys_and_values) == 9);
}

TEST_CASE("block order: flash2's sets of heads are of one size, and their K and V fit; heads that share them stay together") {
  AttentionProblem problem = {.heads = 32, .kv_heads = 32, .seq_q = 64, .seq_kv = 64, .head_dim = 16};
  constexpr double keys_and_values = 2 * 64 * 16 * 2;
  CHECK(planes_in_equal_sets(problem, 29.4 * keys_and_values) == 16);  // of which planes_together() takes all 32
  CHECK(planes_together(problem, 29.4 * keys_and_values) == 32);
  CHECK(planes_in_equal_sets(problem, 15 * keys_and_values) == 8);
  CHECK(planes_in_equal_sets(problem, 100 * keys_and_values) == 32);
  CHECK(planes_in_equal_sets(problem, 0) == 1);
  problem.kv_heads = 8;
  CHECK(planes_in_equal_sets(problem, 2 * keys_and_values) == 8);
}

TEST_CASE("block order: a kernel without a mask, or with four tiles a head, takes the heads that share K and V one set at a time") {
  AttentionProblem problem = {.batch = 4, .heads = 8, .kv_heads = 4, .seq_q = 640, .seq_kv = 640, .head_dim = 16};
  CHECK(planes_together_of_kernel(problem, 5, 1e9) == 2);
  problem.causal = true;
  CHECK(planes_together_of_kernel(problem, 5, 1e9) == 32);
  CHECK(planes_together_of_kernel(problem, 4, 1e9) == 2);
}

TEST_CASE("block order: flash3's blocks come in the order of its kernel (grouped_tile() of hopper_attention.cuh)") {
  GpuSpec gpu = toy_gpu();
  gpu.l2_partitions = 2;
  gpu.l2_usable_fraction = 0.9;
  for (const bool causal : {false, true})
    for (const std::int64_t fit : {0, 4, 32}) {
      const AttentionProblem problem = {.batch = 4,
                                        .heads = 9,
                                        .kv_heads = 3,
                                        .seq_q = 800,
                                        .seq_kv = 800,
                                        .head_dim = 64,
                                        .dtype = DataType::fp16,
                                        .causal = causal};
      CAPTURE(causal);
      CAPTURE(fit);
      const auto half_of_l2 = static_cast<double>(fit * 2 * 800 * 64 * 2);
      gpu.l2_capacity_bytes = 2 * half_of_l2;
      const auto program = (*find_program("hopper_causal"))->make(problem, {128, 128}, gpu);
      REQUIRE(program);
      const LaunchSpec& launch = (*program)->launches()[0];
      const std::int64_t tiles = launch.grid_x, planes = problem.query_planes();
      const BlockSequence order = launch_order(launch, problem, gpu, BlockOrder::launch, launch.blocks());
      const std::int64_t together = planes_together_of_kernel(problem, tiles, half_of_l2);
      for (std::int64_t index = 0; index < launch.blocks(); ++index) {
        const std::int64_t set = index / (together * tiles), inside = index - set * together * tiles;
        const std::int64_t of_set = std::min(together, planes - set * together);
        REQUIRE(order.at(index) == (set * together + inside % of_set) * tiles + tiles - 1 - inside / of_set);
        REQUIRE(position_in_sets(order.at(index), tiles, planes, together) == index);
      }
    }
}

TEST_CASE(
    "block order: sets are sized for half of the L2, as the kernels do it, however many partitions it has, and none without an "
    "L2") {
  GpuSpec gpu = toy_gpu();
  gpu.l2_partitions = 2;
  gpu.l2_capacity_bytes = 1000;
  gpu.l2_usable_fraction = 0.98;
  CHECK(half_of_l2(gpu) == 500);
  gpu.l2_partitions = 1;
  CHECK(half_of_l2(gpu) == 500);
  gpu.l2_capacity_bytes = 0;
  CHECK(half_of_l2(gpu) == 0);
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
