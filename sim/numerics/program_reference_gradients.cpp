// Float64 gradients of the seeded or given inputs.
#include "sim/numerics/program_reference_gradients.h"

#include "sim/numerics/inputs.h"
#include "sim/numerics/program_reference.h"
#include "sim/programs/backward_tensors.h"
#include "sim/programs/tensor_layout.h"

namespace tilescope {

ReferenceGradients reference_gradients(const AttentionProblem& p, const InputSource& inputs, std::int64_t plane) {
  const auto rows = static_cast<std::int32_t>(p.seq_q), keys = static_cast<std::int32_t>(p.seq_kv),
             dim = static_cast<std::int32_t>(p.head_dim);
  const auto q_plane = static_cast<std::int32_t>(plane), kv_plane = static_cast<std::int32_t>(p.kv_plane_of(plane));
  const Matrix q = input_tile(inputs, p, {tensors::q, q_plane, 0, rows, 0, dim});
  const Matrix k = input_tile(inputs, p, {tensors::k, kv_plane, 0, keys, 0, dim});
  const Matrix v = input_tile(inputs, p, {tensors::v, kv_plane, 0, keys, 0, dim});
  const Matrix d_o = input_tile(inputs, p, {tensors::d_o, q_plane, 0, rows, 0, dim});
  const ReferencePlane forward(p, inputs, plane);
  return reference_gradients(p, q.values, k.values, v.values, d_o.values, [&](std::int64_t query) { return forward.row(query); });
}

const ReferenceGradients& ReferenceGradientPlanes::of_head(std::int64_t head) {
  auto found = kept_.find(head);
  if (found == kept_.end()) found = kept_.emplace(head, reference_gradients(problem_, inputs_, head)).first;
  return found->second;
}

Matrix ReferenceGradientPlanes::plane(std::int64_t plane, Tensor tensor) {
  const AttentionProblem& p = problem_;
  const bool by_key = tensor->planes == Planes::key, by_all = tensor->planes == Planes::all;
  // dK and dV are sums over all query heads that read the key head, a table's gradient over all heads.
  const std::int64_t first = by_key ? p.first_query_plane_of(plane) : plane;
  const auto of = [&](const ReferenceGradients& all) -> const std::vector<double>& {
    if (by_all) return all.d_tables[static_cast<std::size_t>(tensor->table)];
    if (!tensor->gradient) return all.row_dot;
    switch (tensor->meaning) {
      case Meaning::key:
        return all.d_k;
      case Meaning::value:
        return all.d_v;
      case Meaning::score:
        return all.d_s;
      case Meaning::probability:
        return all.d_p;
      default:
        return all.d_q;
    }
  };
  std::vector<double> sum;
  for (std::int64_t head = first; head < first + (by_all ? p.query_planes() : by_key ? p.heads_of_kv_head() : 1); ++head) {
    const std::vector<double>& part = of(of_head(head));
    if (sum.empty()) sum.assign(part.size(), 0);
    for (std::size_t i = 0; i < part.size(); ++i) sum[i] += part[i];
  }
  const TensorLayout layout = tensor_layout(p, TileShape{}, tensor);
  Matrix result(static_cast<int>(layout.rows), static_cast<int>(layout.cols));
  for (std::size_t i = 0; i < sum.size(); ++i) result.values[i] = static_cast<float>(sum[i]);
  return result;
}

Matrix reference_gradient_plane(const AttentionProblem& p, const InputSource& inputs, std::int64_t plane, Tensor tensor) {
  return ReferenceGradientPlanes(p, inputs).plane(plane, tensor);
}

}  // namespace tilescope
