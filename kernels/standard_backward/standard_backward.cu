// standard_backward: the gradients of standard attention in five launches. P comes from the forward pass.
#include "kernels/matmul_tiled/scores_kernel.cuh"
#include "kernels/standard_backward/gradient_rows_kernel.cuh"
#include "kernels/standard_backward/sum_kernel.cuh"

namespace tilescope {

namespace device {

/// dP = dO V^T is the tiled product without its mask: P = 0 hides what the mask would.
template <class Element, int dim>
struct PairProductShape : ScoresShape<Element, dim> {
  static constexpr bool masks = false;
};

}  // namespace device

namespace {

using device::GradientRowsArguments;
using device::SumArguments;

PlannedLaunch plan_pair_product(const AttentionProblem& problem, const DeviceTensors& tensors) {
  DeviceTensors product = tensors;
  product.q = tensors.d_o;
  product.k = tensors.v;
  product.s = tensors.dp;
  device::ScoresArguments arguments = device::scores_arguments(problem, product);
  arguments.scale = 1.f;
  return device::plan_scores_of<device::PairProductShape, device::NoProbe>("dP", problem, arguments, {});
}

PlannedLaunch plan_gradient_rows(const AttentionProblem& problem, const DeviceTensors& tensors) {
  constexpr std::int64_t tile_rows = 128, tile_keys = 128;
  const RowsOfBlock own = gradient_rows_of_block(problem);
  GradientRowsArguments arguments{};
  arguments.p = tensors.p;
  arguments.dp = tensors.dp;
  arguments.ds = tensors.ds;
  arguments.seq_q = static_cast<int>(problem.seq_q);
  arguments.seq_kv = static_cast<int>(problem.seq_kv);
  arguments.pitch = static_cast<int>(row_pitch(problem.seq_kv, problem.dtype));
  arguments.tile_rows = tile_rows;
  arguments.tile_keys = tile_keys;
  arguments.kept = own.kept_bytes > 0;
  arguments.group_rows = static_cast<int>(own.rows);
  arguments.causal = problem.causal;
  const std::int64_t whole_tiles = ceil_div(problem.seq_q, tile_rows) - 1;
  const std::int64_t groups =
      whole_tiles * ceil_div(tile_rows, own.rows) + ceil_div(problem.seq_q - whole_tiles * tile_rows, own.rows);
  const void* const function = problem.dtype == DataType::fp16
                                   ? reinterpret_cast<const void*>(&device::gradient_rows_kernel<device::half_type>)
                                   : reinterpret_cast<const void*>(&device::gradient_rows_kernel<device::bfloat_type>);
  return planned("dS", function, {groups, problem.query_planes(), 1}, 128, own.kept_bytes, arguments);
}

SumArguments sum_arguments(const AttentionProblem& problem, const void* weights, const void* values, void* sum, float scale) {
  SumArguments arguments{};
  arguments.weights = weights;
  arguments.values = values;
  arguments.sum = sum;
  set_lengths_and_heads(arguments, problem);
  arguments.pitch = static_cast<int>(row_pitch(problem.seq_kv, problem.dtype));
  arguments.scale = scale;
  arguments.causal = problem.causal;
  return arguments;
}

PlannedLaunch plan_sum_of_keys(const AttentionProblem& problem, const SumArguments& arguments) {
  return by_shape(problem, [&]<class T, int d>() {
    using Shape = device::SumShape<T, d>;
    return planned("dQ", reinterpret_cast<const void*>(&device::queries_sum_kernel<Shape>),
                   {ceil_div(problem.seq_q, std::int64_t{Shape::side}), problem.query_planes(), 1}, Shape::threads,
                   Shape::shared_bytes, arguments);
  });
}

PlannedLaunch plan_sum_of_queries(std::string_view name, const AttentionProblem& problem, const SumArguments& arguments) {
  return by_shape(problem, [&]<class T, int d>() {
    using Shape = device::SumShape<T, d>;
    return planned(name, reinterpret_cast<const void*>(&device::keys_sum_kernel<Shape>),
                   {ceil_div(problem.seq_kv, std::int64_t{Shape::side}), problem.batch * problem.kv_heads, 1}, Shape::threads,
                   Shape::shared_bytes, arguments);
  });
}

}  // namespace

/// Computes dV = P^T dO, dP = dO V^T, dS = P (dP - D), dQ = scale dS K and dK = scale dS^T Q in five launches.
/// Shapes   q,d_o,dq [B,Hq,Nq,D]   k,v,dk,dv [B,Hkv,Nk,D]   p,dp,ds [B,Hq,Nq,Nk], rows pitch = row_pitch(Nk) elements apart
/// Types    all tensors fp16 or bf16; sums fp32. Storing dP and dS rounds them
/// Limits   D is 64 or 128; Hq % Hkv == 0; 16-byte aligned; sm_80 or later
/// Traffic  l2_to_sm = B Hq (3 ceil(Nk/Bc) Nq D + 2 ceil(Nq/Br) Nk D + 5 Nq pitch) * 2 bytes when nothing is masked;
///          7 Nq pitch instead of 5 when a row of P and dP exceeds shared memory (gradient_rows.h)
///          sm_to_l2 = (B Hq (2 Nq pitch + Nq D) + 2 B Hkv Nk D) * 2 bytes
/// Leaves out  tiles of P, dP and dS above the diagonal: they are neither read nor written
/// Errors   none: supports() rejects other problems before the launch
/// Source   arXiv:2205.14135, Algorithm 3
/// New      over standard: the products run backward, and P is read from where the forward pass kept it
LaunchPlan plan_standard_backward(const AttentionProblem& problem, const DeviceTensors& t) {
  const auto scale = static_cast<float>(problem.scale());
  return {plan_sum_of_queries("dV", problem, sum_arguments(problem, t.p, t.d_o, t.dv, 1.f)), plan_pair_product(problem, t),
          plan_gradient_rows(problem, t), plan_sum_of_keys(problem, sum_arguments(problem, t.ds, t.k, t.dq, scale)),
          plan_sum_of_queries("dK", problem, sum_arguments(problem, t.ds, t.q, t.dk, scale))};
}

}  // namespace tilescope
