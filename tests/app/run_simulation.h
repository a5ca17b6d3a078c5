// run(): a simulation that a test of the window needs.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "sim/engine/simulation.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {

inline std::shared_ptr<const Simulation> run(std::string_view algorithm, const GpuSpec& gpu = toy_gpu(),
                                             const AttentionProblem& problem = {}) {
  SimulationRequest request;
  request.algorithm = algorithm;
  request.problem = problem;
  request.gpu = gpu;
  const auto simulation = simulate(request);
  REQUIRE_MESSAGE(simulation, (simulation ? std::string() : simulation.error().sentence.text()));
  return *simulation;
}

}  // namespace tilescope
