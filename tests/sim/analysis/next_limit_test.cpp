// The next limit: a resource that is lifted holds nothing up any more.
#include "sim/analysis/next_limit.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "sim/analysis/what_if.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

TEST_CASE("next limit: without any one resource nothing is spent on it, and the run is no longer") {
  for (const char* algorithm : {"standard", "flash1", "flash2"}) {
    SimulationRequest request;
    request.algorithm = algorithm;
    request.gpu = toy_gpu();
    request.problem = {.heads = 4, .kv_heads = 4, .seq_q = 128, .seq_kv = 128, .head_dim = 32};
    const auto real = simulate(request);
    REQUIRE(real);
    for (Bound bound : {Bound::tensor, Bound::exp, Bound::fp32, Bound::l2, Bound::hbm, Bound::smem, Bound::latency}) {
      CAPTURE(algorithm);
      CAPTURE(to_string(bound));
      SimulationRequest lifted = (*real)->request;
      lifted.gpu = without_limit(lifted.gpu, bound);
      const auto without = simulate(lifted);
      REQUIRE(without);
      CHECK((*without)->utilisation[static_cast<std::size_t>(bound)] == 0);
      // First come, first served: that one thing is quicker can let another be late, though not by much.
      CHECK((*without)->cycles.value <= 1.02 * (*real)->cycles.value);
      CHECK((*without)->ledger.total(Link::l2_to_sm) == (*real)->ledger.total(Link::l2_to_sm));
    }
  }
}

TEST_CASE("next limit: of a run that HBM holds up it is the run without HBM's time, on the same tile") {
  SimulationRequest request;
  request.gpu = toy_gpu();
  request.gpu.hbm_bytes_per_second = 2e9;
  request.problem = {.heads = 4, .kv_heads = 4, .seq_q = 128, .seq_kv = 128, .head_dim = 32};
  const auto real = simulate(request);
  REQUIRE(real);
  REQUIRE((*real)->bound == Bound::hbm);
  const auto next = next_limit(**real);
  REQUIRE(next);
  CHECK(next->without == Bound::hbm);
  CHECK(next->before_ns == (*real)->time.value);
  CHECK(next->outcome.bound != Bound::hbm);
  CHECK(next->outcome.tile == (*real)->program->tile());
  CHECK(next->change() < -0.5);
  CHECK(next->decides());
  NextLimit little = *next;
  little.outcome.time_ns = 0.981 * little.before_ns;
  CHECK_FALSE(little.decides());
  CHECK(next->change() == doctest::Approx(next->outcome.time_ns / (*real)->time.value - 1));
}

TEST_CASE("next limit: without the limit of the tensor cores a kernel that uses wgmma is faster") {
  SimulationRequest request;
  request.algorithm = "hopper_three_groups";
  request.gpu = h200_gpu();
  request.problem = {.heads = 64, .kv_heads = 64, .seq_q = 4096, .seq_kv = 4096, .head_dim = 128};
  const auto real = simulate(request);
  REQUIRE(real);
  REQUIRE((*real)->bound == Bound::tensor);
  const auto next = next_limit(**real);
  REQUIRE(next);
  CHECK(next->change() < -0.1);
  CHECK(next->outcome.bound != Bound::tensor);
  // What-if doubles the rate of the instruction that the kernel uses.
  const auto variants = what_ifs((*real)->request);
  const auto twice = std::find_if(variants.begin(), variants.end(), [](const WhatIf& what) { return what.id == "tensor_double"; });
  REQUIRE(twice != variants.end());
  CHECK(twice->request.gpu.sm_wgmma_flops_per_cycle == 2 * request.gpu.sm_wgmma_flops_per_cycle);
  const auto faster = simulate(twice->request);
  REQUIRE(faster);
  CHECK((*faster)->cycles.value < (*real)->cycles.value);
  // A rate that a spec does not have stays away.
  SimulationRequest small;
  small.gpu = toy_gpu();
  small.gpu.sm_mma_flops_per_cycle = small.gpu.sm_wgmma_flops_per_cycle = 0;
  for (const WhatIf& what : what_ifs(small)) {
    CAPTURE(what.id);
    CHECK(what.request.gpu.sm_mma_flops_per_cycle == 0);
    CHECK(what.request.gpu.sm_wgmma_flops_per_cycle == 0);
  }
}

TEST_CASE("next limit: what an eighth of the heads is bound by is a guess, and none where there are too few of them") {
  SimulationRequest request;
  request.gpu = toy_gpu();
  request.gpu.hbm_bytes_per_second = 2e9;
  request.problem = {.batch = 2, .heads = 8, .kv_heads = 4, .seq_q = 128, .seq_kv = 128, .head_dim = 32};
  CHECK(likely_bound(request) == Bound::hbm);
  request.problem.batch = 1;
  CHECK(likely_bound(request) == Bound::hbm);  // one head of eight
  request.problem.heads = 4;
  CHECK(likely_bound(request) == std::nullopt);
}

TEST_CASE("next limit: without latency nothing is left of what launches and their blocks cost") {
  GpuSpec gpu = toy_gpu();
  gpu.launch_fetch_cycles = gpu.launch_map_cycles = gpu.launch_block_cycles = gpu.sm_register_move_cycles = 7;
  gpu = without_limit(gpu, Bound::latency);
  for (const double left : {gpu.launch_fetch_cycles, gpu.launch_map_cycles, gpu.launch_block_cycles, gpu.sm_register_move_cycles,
                            gpu.launch_first_ns, gpu.launch_overhead_ns, gpu.launch_interval_ns, gpu.sm_block_start_cycles})
    CHECK(left == 0);
}
