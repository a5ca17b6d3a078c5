// Problems that are recorded on an H100, and runs of them.
#pragma once

#include <memory>

#include <doctest/doctest.h>

#include "app/model/requests/assets.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// Simulates a program on a shipped GPU.
inline std::shared_ptr<const Simulation> simulated(const char* algorithm, const char* gpu, const AttentionProblem& problem) {
  SimulationRequest request;
  request.algorithm = algorithm;
  request.gpu = *load_gpu(gpu);
  request.problem = problem;
  const auto made = simulate(request);
  REQUIRE(made);
  return *made;
}

/// Problems that a bundle of the H100 has a case of.
inline const AttentionProblem recorded_flash3 = {
    .batch = 2, .heads = 8, .kv_heads = 2, .seq_q = 325, .seq_kv = 325, .head_dim = 128, .dtype = DataType::fp16};
inline const AttentionProblem recorded_flash2 = {
    .batch = 16, .heads = 16, .kv_heads = 16, .seq_q = 1024, .seq_kv = 1024, .head_dim = 64, .dtype = DataType::fp16};
inline const AttentionProblem recorded_rung = {.batch = 4,
                                               .heads = 16,
                                               .kv_heads = 16,
                                               .seq_q = 4096,
                                               .seq_kv = 4096,
                                               .head_dim = 128,
                                               .dtype = DataType::fp16,
                                               .causal = true};

}  // namespace tilescope
