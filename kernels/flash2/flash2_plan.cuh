// Plans the launch of a compiled flash2 kernel on the tensors of a problem.
#pragma once

#include "kernels/flash2/flash2_kernel.cuh"
#include "kernels/flash2/flash2_variants.h"
#include "kernels/planned_launch.h"

namespace tilescope {

template <class Recorder>
PlannedLaunch flash2_launch(const Flash2Variant& variant, const AttentionProblem& problem, const DeviceTensors& tensors,
                            const typename Recorder::Arguments& probe) {
  device::Flash2Arguments arguments{};
  arguments.q = tensors.q;
  arguments.k = tensors.k;
  arguments.v = tensors.v;
  arguments.o = tensors.o;
  arguments.lse = tensors.lse;
  set_lengths_and_heads(arguments, problem);
  arguments.scale = static_cast<float>(problem.scale());
  const std::int64_t tiles = (problem.seq_q + variant.block_q - 1) / variant.block_q;
  return planned("attention", variant.function, {tiles, problem.heads, problem.batch}, variant.threads, variant.shared_bytes,
                 Recorder::launch(arguments, probe));
}

}  // namespace tilescope
