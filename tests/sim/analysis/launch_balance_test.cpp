// Waves of launches, and the bound of perfect balance.
#include "sim/analysis/launch_balance.h"

#include <doctest/doctest.h>

#include "tests/sim/test_gpus.h"

namespace tilescope {
namespace {

std::shared_ptr<const Simulation> simulated(const char* algorithm, std::int64_t heads, BlockOrder order = BlockOrder::launch,
                                            bool causal = true) {
  SimulationRequest request;
  request.algorithm = algorithm;
  request.gpu = h200_gpu();
  request.problem = {
      .heads = heads, .kv_heads = heads, .seq_q = 2048, .seq_kv = 2048, .head_dim = 64, .dtype = DataType::fp16, .causal = causal};
  request.block_order = order;
  const auto made = simulate(request);
  REQUIRE(made);
  return *made;
}

}  // namespace

TEST_CASE("launch balance: a persistent launch is one wave, whose blocks take several tiles") {
  const auto persistent = simulated("hopper_persistent", 48);
  const LaunchWaves waves = waves_of(*persistent, 0);
  CHECK(waves.blocks == 132);
  CHECK(waves.waves == 1);
  CHECK(waves.tiles_per_block == doctest::Approx(static_cast<double>(persistent->launches[0].blocks) / 132));
  const auto plain = simulated("flash2", 48);
  CHECK(waves_of(*plain, 0).tiles_per_block == 0);
  CHECK(waves_of(*plain, 0).waves == plain->launches[0].waves);
  CHECK(waves_of(*plain, 0).blocks == plain->launches[0].blocks);
  // With fewer tiles than blocks fit, there is nothing to come back for.
  const auto few = simulated("hopper_persistent", 2);
  CHECK(waves_of(*few, 0).tiles_per_block == 0);
}

TEST_CASE("launch balance: no order of the blocks is faster than the bound, and a better one comes nearer") {
  const auto plain = simulated("flash2", 32), longest = simulated("flash2", 32, BlockOrder::longest);
  const double bound = balanced_ns(*plain);
  CHECK(bound > 0);
  CHECK(bound < 0.97 * plain->time.value);
  CHECK(longest->time.value < plain->time.value);
  CHECK(longest->time.value >= bound);
  CHECK(balanced_ns(*longest) / longest->time.value > bound / plain->time.value);
}

TEST_CASE("launch balance: the bound of one block an SM is the time in which SMs have a block") {
  const auto run = simulated("hopper_persistent", 48);
  REQUIRE(run->launches.size() == 1);
  REQUIRE(run->launches[0].blocks_per_sm == 1);
  const double saved = run->sms.idle * run->launches[0].cycles.value / run->cycles.value;
  CHECK(saved > 0.01);
  CHECK(balanced_ns(*run) == doctest::Approx((1 - saved) * run->time.value));
}

TEST_CASE("launch balance: one block on each SM is balanced, though more would fit") {
  SimulationRequest request;
  request.gpu = toy_gpu();
  request.problem = {.heads = 1, .kv_heads = 1, .seq_q = 64, .seq_kv = 64, .head_dim = 16, .dtype = DataType::fp32};
  request.algorithm = "flash2";
  const auto run = simulate(request);
  REQUIRE(run);
  REQUIRE((*run)->launches[0].waves < 1);
  CHECK(balanced_ns(**run) > 0.95 * (*run)->time.value);
}

}  // namespace tilescope
