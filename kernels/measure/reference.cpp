// Attention in float64, straight from the definition.
#include "kernels/measure/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/measure/element.h"

namespace tilescope {

namespace {

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

std::vector<double> values(DataType type, const std::vector<std::uint16_t>& bits) {
  std::vector<double> result(bits.size());
  for (std::size_t i = 0; i < bits.size(); ++i) result[i] = static_cast<double>(from_bits(type, bits[i]));
  return result;
}

/// Softmax of one row of S and its product with V; `s` and `p` are the row's places.
void finish_row(const AttentionProblem& problem, std::int64_t row, std::int64_t plane, const std::vector<double>& v,
                HostReference& out) {
  const std::int64_t keys = problem.seq_kv, d = problem.head_dim, at = plane * problem.seq_q + row;
  const std::int64_t visible = problem.visible_keys(row);
  const double* const s = &out.s[index(at * keys)];
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::int64_t j = 0; j < visible; ++j) most = std::max(most, s[j]);
  for (std::int64_t j = 0; j < visible; ++j) sum += std::exp(s[j] - most);
  out.m[index(at)] = most;
  out.l[index(at)] = visible > 0 ? sum : 0;
  out.lse[index(at)] = visible > 0 ? most + std::log(sum) : -std::numeric_limits<double>::infinity();
  const std::int64_t kv_first = problem.kv_plane_of(plane) * keys * d;
  for (std::int64_t j = 0; j < visible; ++j) {
    const double p = std::exp(s[j] - most) / sum;
    out.p[index(at * keys + j)] = p;
    for (std::int64_t c = 0; c < d; ++c) out.o[index(at * d + c)] += p * v[index(kv_first + j * d + c)];
  }
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
  HostInputs inputs{make(q * problem.head_dim), make(k * problem.head_dim), make(k * problem.head_dim), {}};
  if (with_scores == WithScores::yes) inputs.s = make(q * problem.seq_kv);
  return inputs;
}

HostReference reference(const AttentionProblem& problem, const HostInputs& inputs, WithScores with_scores) {
  const std::int64_t planes = problem.query_planes(), rows = problem.seq_q, keys = problem.seq_kv, d = problem.head_dim;
  HostReference out;
  out.s.resize(index(planes * rows * keys));
  out.p.resize(out.s.size());
  out.o.resize(index(planes * rows * d));
  for (std::vector<double>* statistic : {&out.lse, &out.m, &out.l}) statistic->resize(index(planes * rows));
  const std::vector<double> q = values(problem.dtype, inputs.q), k = values(problem.dtype, inputs.k),
                            v = values(problem.dtype, inputs.v);
  if (with_scores == WithScores::yes) out.s = values(problem.dtype, inputs.s);
  for (std::int64_t plane = 0; plane < planes; ++plane)
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t at = plane * rows + row, kv_first = problem.kv_plane_of(plane) * keys * d;
      if (with_scores == WithScores::no)
        for (std::int64_t j = 0; j < keys; ++j) {
          double sum = 0;
          for (std::int64_t c = 0; c < d; ++c) sum += q[index(at * d + c)] * k[index(kv_first + j * d + c)];
          out.s[index(at * keys + j)] = sum * problem.scale();
        }
      finish_row(problem, row, plane, v, out);
    }
  return out;
}

}  // namespace tilescope
