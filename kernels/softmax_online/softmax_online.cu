// softmax_online: two passes over a row: maximum and sum together, then the result.
#include "kernels/common/softmax_rows.cuh"

namespace tilescope {

namespace device {

/// Two passes: maximum and sum together, the sum rescaled whenever the maximum moves; the result.
template <class T>
__global__ __launch_bounds__(ladder_threads) void softmax_online_kernel(const LadderArguments arguments) {
  __shared__ float scratch[32];  // 8 are used; shared memory comes in units of 128 bytes
  const LadderRow<T> row(arguments);
  MaxSum mine;
  row.pass([&](float x) { mine.add(x); });
  row.write(merged(mine, scratch, threadIdx.x / 32, 0, 4));
}

}  // namespace device

/// P = softmax(S) by rows, two passes: maximum and sum together, result.
/// Shapes   s,p [B,Hq,Nq,Nk], rows pitch = row_pitch(Nk) elements apart, the pad of S -inf
/// Types    fp16 or bf16; sums fp32
/// Traffic  l2_to_sm = 2 B Hq Nq pitch * 2 bytes     sm_to_l2 = B Hq Nq pitch * 2 bytes
/// Source   arXiv:1805.02867, Algorithm 3. New over softmax_safe: the sum is rescaled whenever the maximum moves
LaunchPlan plan_softmax_online(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {device::plan_row_softmax(problem, tensors,
                                   problem.dtype == DataType::fp16
                                       ? reinterpret_cast<const void*>(&device::softmax_online_kernel<device::half_type>)
                                       : reinterpret_cast<const void*>(&device::softmax_online_kernel<device::bfloat_type>),
                                   0)};
}

}  // namespace tilescope
