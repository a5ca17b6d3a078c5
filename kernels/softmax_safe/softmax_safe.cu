// softmax_safe: three passes over a row of S: maximum, sum, result.
#include "kernels/common/softmax_rows.cuh"

namespace tilescope {

namespace device {

/// Runs three passes: maximum, sum, result.
template <class T>
__global__ __launch_bounds__(ladder_threads) void softmax_safe_kernel(const LadderArguments arguments) {
  __shared__ float scratch[32];  // 8 are used; shared memory is allocated in units of 128 bytes
  const LadderRow<T> row(arguments);
  MaxSum maximum, sum;
  row.pass([&](float x) { maximum.max = fmaxf(maximum.max, x); });
  maximum = merged(maximum, scratch, threadIdx.x / 32, 0, 4);
  sum.max = maximum.max;
  const float most = sum.max == minus_infinity() ? 0.f : sum.max;
  row.pass([&](float x) { sum.sum += exp2_fast(x - most); });
  row.write(merged(sum, scratch, threadIdx.x / 32, 0, 4));
}

}  // namespace device

/// Computes P = softmax(S) row by row, in three passes: maximum, sum, result.
/// Shapes   s,p [B,Hq,Nq,Nk], rows pitch = row_pitch(Nk) elements apart
/// Types    s,p fp16 or bf16; sums fp32
/// Limits   16-byte aligned; the padding of S is -inf; sm_80 or later
/// Traffic  l2_to_sm = 3 B Hq Nq pitch * 2 bytes     sm_to_l2 = B Hq Nq pitch * 2 bytes
/// Errors   none: supports() rejects other problems before the launch
/// Source   arXiv:1805.02867, Algorithm 2
/// New      the first rung of the softmaxes: subtracting the maximum keeps exp() from overflowing
LaunchPlan plan_softmax_safe(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {device::plan_row_softmax(problem, tensors,
                                   problem.dtype == DataType::fp16
                                       ? reinterpret_cast<const void*>(&device::softmax_safe_kernel<device::half_type>)
                                       : reinterpret_cast<const void*>(&device::softmax_safe_kernel<device::bfloat_type>),
                                   0)};
}

}  // namespace tilescope
