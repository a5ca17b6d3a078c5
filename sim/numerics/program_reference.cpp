// Feeds the inputs of a tile program to the reference.
#include "sim/numerics/program_reference.h"

#include <algorithm>
#include <cassert>
#include <span>
#include <vector>

#include "sim/numerics/inputs.h"
#include "sim/numerics/program_reference_gradients.h"
#include "sim/programs/attention_tensors.h"
#include "sim/programs/tensor_layout.h"

namespace tilescope {

namespace {

bool has_input(const TileProgram& program, Meaning meaning) {
  const auto inputs = program.inputs();
  return std::any_of(inputs.begin(), inputs.end(), [&](Tensor tensor) { return tensor.means(meaning); });
}

/// Returns K or V as query plane `plane` reads it.
std::vector<float> key_side(const AttentionProblem& problem, const InputSource& inputs, std::int64_t plane, Tensor tensor) {
  return input_tile(inputs, problem,
                    {tensor, static_cast<std::int32_t>(problem.kv_plane_of(plane)), 0, static_cast<std::int32_t>(problem.seq_kv), 0,
                     static_cast<std::int32_t>(problem.head_dim)})
      .values;
}

/// Returns whether the program applies the mask; a plain matrix product does not.
AttentionReference::Masked masked(const TileProgram& program) {
  return has_input(program, Meaning::score) || has_input(program, Meaning::value) ? AttentionReference::Masked::yes
                                                                                  : AttentionReference::Masked::no;
}

/// Returns what a row has of a tensor that forward programs write.
std::span<const double> values_of(const ReferenceRow& row, Meaning meaning) {
  switch (meaning) {
    case Meaning::score:
      return row.scores;
    case Meaning::probability:
      return row.probabilities;
    case Meaning::output:
      return row.output;
    case Meaning::log_sum_exp:
      return {&row.log_sum_exp, 1};
    case Meaning::row_max:
      return {&row.maximum, 1};
    case Meaning::row_sum:
      return {&row.sum, 1};
    default:
      assert(false && "the reference has no values of this tensor");
      return {};
  }
}

}  // namespace

ReferencePlane::ReferencePlane(const TileProgram& program, const InputSource& inputs, std::int64_t plane)
    : problem_(program.problem()),
      inputs_(inputs),
      plane_(static_cast<std::int32_t>(plane)),
      scores_given_(has_input(program, Meaning::score)),
      reference_(problem_, plane, masked(program),
                 scores_given_ ? std::vector<float>() : key_side(problem_, inputs, plane, tensors::k),
                 has_input(program, Meaning::value) ? key_side(problem_, inputs, plane, tensors::v) : std::vector<float>()) {}

ReferencePlane::ReferencePlane(const AttentionProblem& problem, const InputSource& inputs, std::int64_t plane)
    : problem_(problem),
      inputs_(inputs),
      plane_(static_cast<std::int32_t>(plane)),
      scores_given_(false),
      reference_(problem_, plane, AttentionReference::Masked::yes, key_side(problem_, inputs, plane, tensors::k),
                 key_side(problem_, inputs, plane, tensors::v)) {}

ReferenceRow ReferencePlane::row(std::int64_t query, std::int64_t keys, const std::vector<bool>* seen) const {
  const auto at = static_cast<std::int32_t>(query);
  const auto cols = static_cast<std::int32_t>(scores_given_ ? problem_.seq_kv : problem_.head_dim);
  const Matrix given = input_tile(inputs_, problem_, {scores_given_ ? tensors::s : tensors::q, plane_, at, 1, 0, cols});
  return scores_given_ ? reference_.row_of_scores(query, given.values, keys, seen)
                       : reference_.row_of_query(query, given.values, keys, seen);
}

Matrix reference_plane(const TileProgram& program, const InputSource& inputs, std::int64_t plane, Tensor tensor) {
  const AttentionProblem& problem = program.problem();
  if (tensor->gradient || tensor->meaning == Meaning::row_dot) return reference_gradient_plane(problem, inputs, plane, tensor);
  const TensorLayout layout = tensor_layout(problem, program.tile(), tensor);
  const ReferencePlane reference(program, inputs, plane);
  Matrix result(static_cast<int>(layout.rows), static_cast<int>(layout.cols));
  for (int r = 0; r < result.rows; ++r) {
    const ReferenceRow row = reference.row(r);
    const std::span<const double> values = values_of(row, tensor->meaning);
    for (int c = 0; c < std::min(result.cols, static_cast<int>(values.size())); ++c)
      result.at(r, c) = static_cast<float>(values[static_cast<std::size_t>(c)]);
  }
  return result;
}

}  // namespace tilescope
