// Float64 gradients of attention, one query row at a time.
#include "sim/reference/reference_gradients.h"

#include <cmath>

#include "sim/masks/score_change.h"

namespace tilescope {

ReferenceGradients reference_gradients(const AttentionProblem& p, std::span<const float> q, std::span<const float> k,
                                       std::span<const float> v, std::span<const float> d_o,
                                       const std::function<ReferenceRow(std::int64_t query)>& forward_row) {
  const auto rows = static_cast<std::size_t>(p.seq_q), keys = static_cast<std::size_t>(p.seq_kv),
             dim = static_cast<std::size_t>(p.head_dim);
  const double scale = p.scale();
  ReferenceGradients made;
  made.d_q.assign(rows * dim, 0);
  made.d_k.assign(keys * dim, 0);
  made.d_v.assign(keys * dim, 0);
  made.d_p.assign(rows * keys, 0);
  made.d_s.assign(rows * keys, 0);
  made.row_dot.assign(rows, 0);
  std::vector<std::size_t> table_of_read;
  if (p.score_change)
    for (const TableGradient& gradient : p.score_change->table_gradients()) {
      table_of_read.insert(table_of_read.end(), gradient.reads.size(), made.d_tables.size());
      made.d_tables.emplace_back(static_cast<std::size_t>(gradient.table->elements()), 0.0);
    }
  made.table_terms.assign(made.d_tables.size(), 0);
  for (std::size_t r = 0; r < rows; ++r) {
    const ReferenceRow row = forward_row(static_cast<std::int64_t>(r));
    double& row_dot = made.row_dot[r];
    for (std::size_t c = 0; c < keys; ++c) {
      if (row.scores[c] == -HUGE_VAL) continue;
      const double weight = row.probabilities[c];
      double d_p = 0;
      for (std::size_t t = 0; t < dim; ++t) {
        made.d_v[c * dim + t] += weight * d_o[r * dim + t];
        d_p += static_cast<double>(d_o[r * dim + t]) * v[c * dim + t];
      }
      made.d_p[r * keys + c] = d_p;
      row_dot += weight * d_p;
    }
    std::vector<double> terms(made.d_tables.size());
    for (std::size_t c = 0; c < keys; ++c) {
      const double weight = row.probabilities[c];
      if (weight == 0) continue;
      const double d_changed = weight * (made.d_p[r * keys + c] - row_dot);
      for (std::size_t n = 0; n < row.reads.size(); ++n)
        if (const std::int64_t element = row.reads[n].element[c]; element >= 0) {
          const double factor = row.reads[n].factor[c];
          made.d_tables[table_of_read[n]][static_cast<std::size_t>(element)] += d_changed * factor;
          terms[table_of_read[n]] += weight * (std::abs(made.d_p[r * keys + c]) + std::abs(row_dot)) * std::abs(factor);
        }
      const double d_s = d_changed * (row.slopes.empty() ? 1.0 : row.slopes[c]);
      made.d_s[r * keys + c] = d_s;
      for (std::size_t t = 0; t < dim; ++t) {
        made.d_q[r * dim + t] += scale * d_s * k[c * dim + t];
        made.d_k[c * dim + t] += scale * d_s * q[r * dim + t];
      }
    }
    for (std::size_t n = 0; n < terms.size(); ++n) made.table_terms[n] += terms[n] * terms[n];
  }
  return made;
}

}  // namespace tilescope
