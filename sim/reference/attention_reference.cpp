// Float64 attention from its definition.
#include "sim/reference/attention_reference.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "sim/core/mask.h"
#include "sim/masks/score_change.h"

namespace tilescope {

AttentionReference::AttentionReference(AttentionProblem problem, std::int64_t plane, Masked masked, std::span<const float> k,
                                       std::span<const float> v)
    : problem_(std::move(problem)),
      plane_(plane),
      masked_(masked == Masked::yes && problem_.has_mask()),
      k_(k.size()),
      v_(v.begin(), v.end()) {
  if (k.empty()) return;
  const auto keys = static_cast<std::size_t>(problem_.seq_kv), dim = static_cast<std::size_t>(problem_.head_dim);
  for (std::size_t r = 0; r < keys; ++r)
    for (std::size_t t = 0; t < dim; ++t) k_[t * keys + r] = k[r * dim + t];
}

std::size_t AttentionReference::visible(std::int64_t query, std::int64_t keys) const {
  return static_cast<std::size_t>(std::min(keys, masked_ ? problem_.visible_keys(query, plane_) : problem_.seq_kv));
}

ReferenceRow AttentionReference::row_of_query(std::int64_t query, std::span<const float> q, std::int64_t keys,
                                              const std::vector<bool>* seen) const {
  const auto all = static_cast<std::size_t>(problem_.seq_kv);
  const std::size_t end = visible(query, keys);
  ReferenceRow row;
  row.scores.assign(all, 0.0);
  constexpr std::size_t together = 512;  // scores that stay in the L1 cache during the loop over the head dimension
  for (std::size_t first = 0; first < end; first += together) {
    const std::size_t last = std::min(end, first + together);
    for (std::size_t t = 0; t < q.size(); ++t) {
      const double factor = q[t];
      const float* k = &k_[t * all];
      for (std::size_t j = first; j < last; ++j) row.scores[j] += factor * k[j];
    }
  }
  const double scale = problem_.scale();
  for (double& score : row.scores) score *= scale;
  finish(row, query, end, seen);
  return row;
}

ReferenceRow AttentionReference::row_of_scores(std::int64_t query, std::span<const float> scores, std::int64_t keys,
                                               const std::vector<bool>* seen) const {
  ReferenceRow row;
  row.scores.assign(scores.begin(), scores.end());
  finish(row, query, visible(query, keys), seen);
  return row;
}

ReferenceRow::Read AttentionReference::read_of(const TableRead& read, const ReferenceRow& row, std::int64_t query,
                                               std::size_t visible) const {
  ReferenceRow::Read made{std::vector<std::int64_t>(visible, -1), std::vector<double>(visible, 1.0)};
  if (read.takes_slope) made.factor.assign(row.slopes.begin(), row.slopes.begin() + static_cast<std::ptrdiff_t>(visible));
  std::optional<ExpressionEvaluator<double>> factor;
  if (read.factor) factor.emplace(*read.factor);
  ExpressionEvaluator<double> index(read.index);
  for (std::size_t j = 0; j < visible; ++j) {
    const ExprElement at{plane_ / problem_.heads, plane_ % problem_.heads, query, static_cast<std::int64_t>(j)};
    made.element[j] = index(at).integer;
    if (factor) made.factor[j] = (*factor)(at, row.scores[j]).real;
  }
  return made;
}

void AttentionReference::finish(ReferenceRow& row, std::int64_t query, std::size_t visible, const std::vector<bool>* seen) const {
  if (problem_.score_change) {
    if (problem_.score_change->slope() != nullptr) {
      row.slopes = row.scores;
      problem_.score_change->apply_slope(plane_, query, 0, std::span(row.slopes).first(visible));
    }
    for (const TableRead* read : problem_.score_change->table_reads()) row.reads.push_back(read_of(*read, row, query, visible));
    problem_.score_change->apply(plane_, query, 0, std::span(row.scores).first(visible));
  }
  std::fill(row.scores.begin() + static_cast<std::ptrdiff_t>(visible), row.scores.end(), -HUGE_VAL);
  if (masked_ && problem_.mask)
    for (std::size_t j = 0; j < visible; ++j)
      if (!problem_.mask->visible(plane_, query, static_cast<std::int64_t>(j))) row.scores[j] = -HUGE_VAL;

  if (seen != nullptr)
    for (std::size_t j = 0; j < visible; ++j)
      if (!(*seen)[j]) row.scores[j] = -HUGE_VAL;

  const auto dim = static_cast<std::size_t>(problem_.head_dim);
  row.probabilities.assign(row.scores.size(), 0.0);
  if (!v_.empty()) row.output.assign(dim, 0.0);
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
}

}  // namespace tilescope
