// flash2_longest: flash2 with the last query tile of every head first, to measure what the order of blocks is worth.
#include <cuda_runtime_api.h>

#include "kernels/flash2/flash2_kernel.cuh"
#include "kernels/flash2/flash2_variants.h"
#include "kernels/planned_launch.h"
#include "sim/programs/planes_together.h"

namespace tilescope {

namespace {

template <class Type, int d>
Flash2Variant grouped(bool causal) {
  using namespace device;
  return causal ? flash2_variant<Type, d, true, NoProbe, KeyTileOrder::ascending, QueryTileOrder::grouped>()
                : flash2_variant<Type, d, false, NoProbe, KeyTileOrder::ascending, QueryTileOrder::grouped>();
}

/// Returns how many planes go together: K and V fit half of the L2, where an SM finds most of what it reads.
std::int64_t planes_together(const AttentionProblem& problem) {
  int l2_bytes = 0;
  cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, 0);
  return planes_in_equal_sets(problem, l2_bytes / 2.0);
}

}  // namespace

/// Computes O = softmax(scale * Q K^T + mask) V as flash2 does, but takes the query tiles that see the most keys first.
/// Shapes   q,o [B,Hq,Nq,D]   k,v [B,Hkv,Nk,D]   lse [B,Hq,Nq]
/// Types    q,k,v,o fp16 or bf16; lse and all sums fp32
/// Limits   those of flash2
/// Traffic  that of flash2 between L2 and SMs. HBM traffic grows, because resident blocks belong to more heads
/// Errors   none: supports() rejects other problems before the launch
/// New      over flash2: only the order of the blocks. The short tiles of a causal mask come last and fill the last wave
LaunchPlan plan_flash2_longest(const AttentionProblem& problem, const DeviceTensors& tensors) {
  const bool half = problem.dtype == DataType::fp16, small = problem.head_dim == 64, causal = problem.causal;
  const Flash2Variant variant =
      half ? (small ? grouped<device::half_type, 64>(causal) : grouped<device::half_type, 128>(causal))
           : (small ? grouped<device::bfloat_type, 64>(causal) : grouped<device::bfloat_type, 128>(causal));
  device::Flash2Arguments arguments{};
  arguments.q = tensors.q;
  arguments.k = tensors.k;
  arguments.v = tensors.v;
  arguments.o = tensors.o;
  arguments.lse = tensors.lse;
  set_lengths_and_heads(arguments, problem);
  arguments.scale = static_cast<float>(problem.scale());
  const std::int64_t tiles = (problem.seq_q + variant.block_q - 1) / variant.block_q, together = planes_together(problem);
  return {planned("attention", variant.function, {together, tiles, problem.query_planes() / together}, variant.threads,
                  variant.shared_bytes, arguments)};
}

}  // namespace tilescope
