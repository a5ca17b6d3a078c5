// Arguments of the kernels that compute S = scale Q K^T: matmul_naive and the tiled scores kernel.
#pragma once

#include "kernels/planned_launch.h"

namespace tilescope::device {

struct ScoresArguments {
  const void* q;
  const void* k;
  void* s;
  int seq_q, seq_kv, pitch;
  int heads, kv_heads;
  float scale;
  bool causal;
};

inline ScoresArguments scores_arguments(const AttentionProblem& problem, const DeviceTensors& tensors) {
  ScoresArguments arguments{};
  arguments.q = tensors.q;
  arguments.k = tensors.k;
  arguments.s = tensors.s;
  set_lengths_and_heads(arguments, problem);
  arguments.pitch = static_cast<int>(row_pitch(problem.seq_kv, problem.dtype));
  arguments.scale = static_cast<float>(problem.scale());
  arguments.causal = problem.causal;
  return arguments;
}

}  // namespace tilescope::device
