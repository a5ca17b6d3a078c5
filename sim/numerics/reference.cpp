// Float64 attention from the definition.
#include "sim/numerics/reference.h"

#include <algorithm>
#include <cmath>

#include "sim/masks/mask.h"
#include "sim/numerics/inputs.h"
#include "sim/numerics/reference_gradients.h"
#include "sim/programs/attention_tensors.h"

namespace tilescope {

namespace {

bool has_input(const TileProgram& program, Meaning meaning) {
  const auto inputs = program.inputs();
  return std::any_of(inputs.begin(), inputs.end(), [&](Tensor tensor) { return tensor.means(meaning); });
}

}  // namespace

ReferencePlane::ReferencePlane(const TileProgram& program, const InputSource& inputs, std::int64_t plane)
    : problem_(program.problem()),
      inputs_(inputs),
      plane_(static_cast<std::int32_t>(plane)),
      scores_given_(has_input(program, Meaning::score)),
      has_values_(has_input(program, Meaning::value)),
      masked_(problem_.has_mask() && (scores_given_ || has_values_)) {  // a plain matrix product has no mask
  take_keys_and_values();
}

ReferencePlane::ReferencePlane(const AttentionProblem& problem, const InputSource& inputs, std::int64_t plane)
    : problem_(problem),
      inputs_(inputs),
      plane_(static_cast<std::int32_t>(plane)),
      scores_given_(false),
      has_values_(true),
      masked_(problem.has_mask()) {
  take_keys_and_values();
}

void ReferencePlane::take_keys_and_values() {
  const auto keys = static_cast<std::int32_t>(problem_.seq_kv), dim = static_cast<std::int32_t>(problem_.head_dim);
  const auto kv_plane = static_cast<std::int32_t>(problem_.kv_plane_of(plane_));
  if (!scores_given_) {
    const Matrix k = input_tile(inputs_, problem_, {tensors::k, kv_plane, 0, keys, 0, dim});
    k_.resize(k.values.size());
    for (int r = 0; r < keys; ++r)
      for (int t = 0; t < dim; ++t)
        k_[static_cast<std::size_t>(t) * static_cast<std::size_t>(keys) + static_cast<std::size_t>(r)] = k.at(r, t);
  }
  if (has_values_) {
    const Matrix v = input_tile(inputs_, problem_, {tensors::v, kv_plane, 0, keys, 0, dim});
    v_.assign(v.values.begin(), v.values.end());
  }
}

ReferenceRow ReferencePlane::row(std::int64_t query, std::int64_t first_keys) const {
  const auto keys = static_cast<std::size_t>(problem_.seq_kv), dim = static_cast<std::size_t>(problem_.head_dim);
  const auto at = static_cast<std::int32_t>(query);
  const auto visible =
      static_cast<std::size_t>(std::min(first_keys, masked_ ? problem_.visible_keys(query, plane_) : problem_.seq_kv));
  ReferenceRow row;
  if (scores_given_) {
    const Matrix scores = input_tile(inputs_, problem_, {tensors::s, plane_, at, 1, 0, static_cast<std::int32_t>(keys)});
    row.scores.assign(scores.values.begin(), scores.values.end());
  } else {
    const Matrix q = input_tile(inputs_, problem_, {tensors::q, plane_, at, 1, 0, static_cast<std::int32_t>(dim)});
    row.scores.assign(keys, 0.0);
    constexpr std::size_t together = 512;  // scores that stay in the nearest cache while all of the dimension goes over them
    for (std::size_t first = 0; first < visible; first += together) {
      const std::size_t last = std::min(visible, first + together);
      for (std::size_t t = 0; t < dim; ++t) {
        const double factor = q.values[t];
        const float* k = &k_[t * keys];
        for (std::size_t j = first; j < last; ++j) row.scores[j] += factor * k[j];
      }
    }
    for (double& score : row.scores) score *= problem_.scale();
  }
  std::fill(row.scores.begin() + static_cast<std::ptrdiff_t>(visible), row.scores.end(), -HUGE_VAL);
  if (masked_ && problem_.mask)
    for (std::size_t j = 0; j < visible; ++j)
      if (!problem_.mask->visible(plane_, query, static_cast<std::int64_t>(j))) row.scores[j] = -HUGE_VAL;

  row.probabilities.assign(keys, 0.0);
  if (has_values_) row.output.assign(dim, 0.0);
  row.maximum = *std::max_element(row.scores.begin(), row.scores.end());
  for (std::size_t j = 0; j < visible; ++j) {
    row.probabilities[j] = row.maximum == -HUGE_VAL ? 0 : std::exp(row.scores[j] - row.maximum);
    row.sum += row.probabilities[j];
  }
  row.log_sum_exp = row.sum == 0 ? -HUGE_VAL : row.maximum + std::log(row.sum);
  for (std::size_t j = 0; j < visible; ++j) {
    row.probabilities[j] = row.sum == 0 ? 0 : row.probabilities[j] / row.sum;
    for (std::size_t t = 0; t < row.output.size(); ++t) row.output[t] += row.probabilities[j] * v_[j * dim + t];
  }
  return row;
}

Matrix reference_plane(const TileProgram& program, const InputSource& inputs, std::int64_t plane, Tensor tensor) {
  const AttentionProblem& problem = program.problem();
  if (tensor->gradient || tensor->meaning == Meaning::row_dot) return reference_gradient_plane(problem, inputs, plane, tensor);
  const TensorLayout layout = tensor_layout(problem, program.tile(), tensor);
  const ReferencePlane reference(program, inputs, plane);
  Matrix result(static_cast<int>(layout.rows), static_cast<int>(layout.cols));
  for (int r = 0; r < result.rows; ++r) {
    const ReferenceRow row = reference.row(r);
    const std::vector<double> one = {row.log_sum_exp};
    const std::vector<double>& values = tensor.means(Meaning::score)         ? row.scores
                                        : tensor.means(Meaning::probability) ? row.probabilities
                                        : tensor.means(Meaning::log_sum_exp) ? one
                                                                             : row.output;
    for (int c = 0; c < std::min(result.cols, static_cast<int>(values.size())); ++c)
      result.at(r, c) = static_cast<float>(values[static_cast<std::size_t>(c)]);
  }
  return result;
}

}  // namespace tilescope
