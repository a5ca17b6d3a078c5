// Computes the float64 reference for every row of a problem.
#include "kernels/measure/reference.h"

#include <cmath>
#include <random>
#include <span>

#include "sim/core/element.h"
#include "sim/reference/reference_gradients.h"

namespace tilescope {

namespace {

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

std::vector<float> values(DataType type, const std::vector<std::uint16_t>& bits) {
  std::vector<float> result(bits.size());
  for (std::size_t i = 0; i < bits.size(); ++i) result[i] = from_bits(type, bits[i]);
  return result;
}

std::vector<std::uint16_t> rounded(DataType type, const std::vector<double>& values) {
  std::vector<std::uint16_t> bits(values.size());
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = to_bits(type, static_cast<float>(values[i]));
  return bits;
}

void append(std::vector<double>& to, const std::vector<double>& from) {
  to.insert(to.end(), from.begin(), from.end());
}
void add(std::vector<double>& to, std::size_t first, const std::vector<double>& from) {
  for (std::size_t i = 0; i < from.size(); ++i) to[first + i] += from[i];
}

/// Sets the sizes of the terms in D and dS.
void measure_terms(const AttentionProblem& problem, HostReference& out) {
  const std::size_t keys = index(problem.seq_kv);
  double of_d = 0, of_d_s = 0, d_s = 0;
  for (std::size_t i = 0; i < out.d_s.size(); ++i) {
    const double terms = out.p[i] * (std::fabs(out.d_p[i]) + std::fabs(out.row_dot[i / keys]));
    of_d += out.p[i] * out.p[i] * out.d_p[i] * out.d_p[i];
    of_d_s += terms * terms;
    d_s += out.d_s[i] * out.d_s[i];
  }
  out.row_dot_terms = std::sqrt(of_d);
  if (d_s > 0) out.cancellation = std::sqrt(of_d_s / d_s);
}

}  // namespace

HostInputs random_inputs(const AttentionProblem& problem, std::uint64_t seed, WithScores with_scores) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<float> normal;
  auto make = [&](std::int64_t count) {
    std::vector<std::uint16_t> bits(index(count));
    for (std::uint16_t& b : bits) b = to_bits(problem.dtype, normal(engine));
    return bits;
  };
  const std::int64_t q = problem.query_planes() * problem.seq_q, k = problem.batch * problem.kv_heads * problem.seq_kv;
  HostInputs inputs;
  inputs.q = make(q * problem.head_dim);
  inputs.k = make(k * problem.head_dim);
  inputs.v = make(k * problem.head_dim);
  if (with_scores == WithScores::yes) inputs.s = make(q * problem.seq_kv);
  if (problem.pass == Pass::backward) inputs.d_o = make(q * problem.head_dim);
  return inputs;
}

HostReference reference(const AttentionProblem& problem, const HostInputs& inputs, WithScores with_scores) {
  const std::int64_t rows = problem.seq_q, keys = problem.seq_kv, d = problem.head_dim;
  const std::vector<float> q = values(problem.dtype, inputs.q), k = values(problem.dtype, inputs.k),
                           v = values(problem.dtype, inputs.v), s = values(problem.dtype, inputs.s),
                           d_o = values(problem.dtype, inputs.d_o);
  const auto part = [](const std::vector<float>& all, std::int64_t number, std::int64_t size) {
    return std::span<const float>(all).subspan(index(number * size), index(size));
  };
  HostReference out;
  if (problem.pass == Pass::backward)
    for (std::vector<double>* sum : {&out.d_k, &out.d_v}) sum->assign(k.size(), 0);
  for (std::int64_t plane = 0; plane < problem.query_planes(); ++plane) {
    const std::int64_t kv_plane = problem.kv_plane_of(plane);
    const AttentionReference of_plane(problem, plane, AttentionReference::Masked::yes, part(k, kv_plane, keys * d),
                                      part(v, kv_plane, keys * d));
    const auto forward_row = [&](std::int64_t query) {
      const std::int64_t at = plane * rows + query;
      ReferenceRow row = with_scores == WithScores::yes ? of_plane.row_of_scores(query, part(s, at, keys), keys)
                                                        : of_plane.row_of_query(query, part(q, at, d), keys);
      append(out.s, row.scores), append(out.p, row.probabilities), append(out.o, row.output);
      out.lse.push_back(row.log_sum_exp), out.m.push_back(row.maximum), out.l.push_back(row.sum);
      return row;
    };
    if (problem.pass != Pass::backward) {
      for (std::int64_t query = 0; query < rows; ++query) forward_row(query);
      continue;
    }
    const ReferenceGradients gradients = reference_gradients(problem, part(q, plane, rows * d), part(k, kv_plane, keys * d),
                                                             part(v, kv_plane, keys * d), part(d_o, plane, rows * d), forward_row);
    append(out.d_q, gradients.d_q), append(out.d_p, gradients.d_p), append(out.d_s, gradients.d_s);
    append(out.row_dot, gradients.row_dot);
    add(out.d_k, index(kv_plane * keys * d), gradients.d_k);
    add(out.d_v, index(kv_plane * keys * d), gradients.d_v);
    out.d_tables.resize(gradients.d_tables.size());
    out.table_terms.resize(gradients.d_tables.size());
    for (std::size_t n = 0; n < gradients.d_tables.size(); ++n) {
      out.d_tables[n].resize(gradients.d_tables[n].size());
      add(out.d_tables[n], 0, gradients.d_tables[n]);
      out.table_terms[n] += gradients.table_terms[n];
    }
  }
  for (double& terms : out.table_terms) terms = std::sqrt(terms);
  if (problem.pass == Pass::backward) measure_terms(problem, out);
  return out;
}

void add_forward_results(HostInputs& inputs, const AttentionProblem& problem, const HostReference& forward) {
  inputs.o = rounded(problem.dtype, forward.o);
  inputs.p = rounded(problem.dtype, forward.p);
  inputs.lse.assign(forward.lse.begin(), forward.lse.end());
  inputs.m.assign(forward.m.begin(), forward.m.end());
  inputs.l.assign(forward.l.begin(), forward.l.end());
}

}  // namespace tilescope
