// Runs whose errors are asked for.
#pragma once

#include "app/model/measurements/time_errors.h"
#include "app/model/requests/assets.h"

namespace tilescope {

inline SimulationRequest request_for(const char* algorithm, const AttentionProblem& problem, const char* gpu = "h100") {
  SimulationRequest request;
  request.algorithm = algorithm;
  request.gpu = *load_gpu(gpu);
  request.problem = problem;
  return request;
}

/// A run that takes as long as most recorded ones.
inline PredictedRun lasting(const SimulationRequest& request, double ns = 1e6) {
  return {request, ns};
}

inline const AttentionProblem long_causal = {
    .seq_q = 4096, .seq_kv = 4096, .head_dim = 128, .dtype = DataType::fp16, .causal = true};

}  // namespace tilescope
