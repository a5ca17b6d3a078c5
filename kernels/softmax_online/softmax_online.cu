// softmax_online: two passes over a row of S: maximum and sum together, then the result.
#include "kernels/common/softmax_rows.cuh"

namespace tilescope {

namespace device {

/// Runs two passes: maximum and sum, rescaling the sum whenever the maximum changes, then the result.
template <class T>
__global__ __launch_bounds__(ladder_threads) void softmax_online_kernel(const LadderArguments arguments) {
  __shared__ float scratch[32];  // 8 are used; shared memory is allocated in units of 128 bytes
  const LadderRow<T> row(arguments);
  MaxSum mine;
  row.pass([&](float x) { mine.add(x); });
  row.write(merged(mine, scratch, threadIdx.x / 32, 0, 4));
}

}  // namespace device

/// Computes P = softmax(S) row by row, in two passes: maximum and sum together, then the result.
/// Shapes   s,p [B,Hq,Nq,Nk], rows pitch = row_pitch(Nk) elements apart
/// Types    s,p fp16 or bf16; sums fp32
/// Limits   16-byte aligned; the padding of S is -inf; sm_80 or later
/// Traffic  l2_to_sm = 2 B Hq Nq pitch * 2 bytes     sm_to_l2 = B Hq Nq pitch * 2 bytes
/// Errors   none: supports() rejects other problems before the launch
/// Source   arXiv:1805.02867, Algorithm 3
/// New      over softmax_safe: rescales the sum when the maximum changes, which saves one pass
LaunchPlan plan_softmax_online(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {device::plan_row_softmax(problem, tensors,
                                   problem.dtype == DataType::fp16
                                       ? reinterpret_cast<const void*>(&device::softmax_online_kernel<device::half_type>)
                                       : reinterpret_cast<const void*>(&device::softmax_online_kernel<device::bfloat_type>),
                                   0)};
}

}  // namespace tilescope
