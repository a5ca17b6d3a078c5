// Computes the float64 reference for every row of a problem.
#include "kernels/measure/reference.h"

#include <random>
#include <span>

#include "sim/core/element.h"
#include "sim/core/reference.h"

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
  const std::int64_t rows = problem.seq_q, keys = problem.seq_kv, d = problem.head_dim;
  const std::vector<float> q = values(problem.dtype, inputs.q), k = values(problem.dtype, inputs.k),
                           v = values(problem.dtype, inputs.v), s = values(problem.dtype, inputs.s);
  const auto part = [](const std::vector<float>& all, std::int64_t number, std::int64_t size) {
    return std::span<const float>(all).subspan(index(number * size), index(size));
  };
  const auto append = [](std::vector<double>& to, const std::vector<double>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  HostReference out;
  for (std::int64_t plane = 0; plane < problem.query_planes(); ++plane) {
    const std::int64_t kv_plane = problem.kv_plane_of(plane);
    const AttentionReference of_plane(problem, plane, AttentionReference::Masked::yes, part(k, kv_plane, keys * d),
                                      part(v, kv_plane, keys * d));
    for (std::int64_t query = 0; query < rows; ++query) {
      const std::int64_t at = plane * rows + query;
      const ReferenceRow row = with_scores == WithScores::yes ? of_plane.row_of_scores(query, part(s, at, keys), keys)
                                                              : of_plane.row_of_query(query, part(q, at, d), keys);
      append(out.s, row.scores), append(out.p, row.probabilities), append(out.o, row.output);
      out.lse.push_back(row.log_sum_exp), out.m.push_back(row.maximum), out.l.push_back(row.sum);
    }
  }
  return out;
}

}  // namespace tilescope
