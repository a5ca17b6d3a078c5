// Selects the instantiation of a kernel for the problem's element type and head dimension.
#pragma once

#include "kernels/common/tensor_core.cuh"
#include "kernels/planned_launch.h"

namespace tilescope {

/// Calls plan.operator()<T, d>() with the problem's type and head dimension.
template <class Plan>
auto by_shape(const AttentionProblem& problem, Plan plan) {
  const bool small = problem.head_dim == 64;
  if (problem.dtype == DataType::fp16)
    return small ? plan.template operator()<device::half_type, 64>() : plan.template operator()<device::half_type, 128>();
  return small ? plan.template operator()<device::bfloat_type, 64>() : plan.template operator()<device::bfloat_type, 128>();
}

}  // namespace tilescope
