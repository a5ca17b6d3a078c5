// Plans the launches of a backward kernel on the tensors of a problem.
#pragma once

#include "kernels/common/gradient_arguments.h"
#include "kernels/common/gradient_variants.h"
#include "kernels/planned_launch.h"

namespace tilescope {

inline device::GradientArguments gradient_arguments(const AttentionProblem& problem, const DeviceTensors& tensors) {
  device::GradientArguments arguments{};
  arguments.q = tensors.q;
  arguments.k = tensors.k;
  arguments.v = tensors.v;
  arguments.o = tensors.o;
  arguments.d_o = tensors.d_o;
  arguments.lse = tensors.lse;
  arguments.delta = tensors.delta;
  arguments.dq_acc = tensors.dq_acc;
  arguments.dq = tensors.dq;
  arguments.dk = tensors.dk;
  arguments.dv = tensors.dv;
  set_lengths_and_heads(arguments, problem);
  arguments.scale = static_cast<float>(problem.scale());
  arguments.copies = arguments.run_tiles = 1;
  return arguments;
}

inline std::int64_t tiles_of(std::int64_t rows, int tile) {
  return (rows + tile - 1) / tile;
}

/// Returns the launches: D and zeros, then the gradients with `blocks` blocks a key head, then dQ. `arguments_of` returns the
/// arguments of a launch.
template <class ArgumentsOf>
LaunchPlan gradient_launches_with(const GradientVariant& variant, const AttentionProblem& problem, std::int64_t blocks,
                                  const ArgumentsOf& arguments_of) {
  const std::array<std::int64_t, 3> rows = {tiles_of(problem.seq_q, variant.block_q), problem.heads, problem.batch};
  LaunchPlan plan = {planned("row dots", variant.row_dots, rows, variant.row_threads, 0, arguments_of(0)),
                     planned("gradients", variant.gradients, {blocks, problem.kv_heads, problem.batch}, variant.threads,
                             variant.shared_bytes, arguments_of(1))};
  if (variant.convert != nullptr)
    plan.push_back(planned("convert dQ", variant.convert, rows, variant.row_threads, 0, arguments_of(2)));
  return plan;
}
inline LaunchPlan gradient_launches(const GradientVariant& variant, const AttentionProblem& problem,
                                    const device::GradientArguments& arguments, std::int64_t blocks) {
  return gradient_launches_with(variant, problem, blocks, [&](std::size_t) { return arguments; });
}

}  // namespace tilescope
