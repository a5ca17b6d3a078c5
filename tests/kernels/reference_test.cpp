// The float64 reference that kernels are compared with.
#include "kernels/measure/reference.h"

#include <doctest/doctest.h>

#include <cmath>

#include "sim/core/element.h"

using namespace tilescope;

namespace {

AttentionProblem problem_of(std::int64_t seq_q, std::int64_t seq_kv, bool causal) {
  AttentionProblem p;
  p.batch = 2;
  p.heads = 4;
  p.kv_heads = 2;
  p.seq_q = seq_q;
  p.seq_kv = seq_kv;
  p.head_dim = 64;
  p.causal = causal;
  return p;
}

}  // namespace

TEST_CASE("reference: rows of P sum to 1, and masked keys have none of it") {
  const AttentionProblem p = problem_of(9, 13, true);
  const HostReference r = reference(p, random_inputs(p, 7, WithScores::no), WithScores::no);
  for (std::int64_t plane = 0; plane < p.query_planes(); ++plane)
    for (std::int64_t row = 0; row < p.seq_q; ++row) {
      double sum = 0;
      for (std::int64_t j = 0; j < p.seq_kv; ++j) {
        const double weight = r.p[static_cast<std::size_t>((plane * p.seq_q + row) * p.seq_kv + j)];
        if (j >= p.visible_keys(row)) CHECK(weight == 0);
        sum += weight;
      }
      CHECK(sum == doctest::Approx(1.0).epsilon(1e-12));
    }
}

TEST_CASE("reference: a query that sees one key gets that key's value") {
  const AttentionProblem p = problem_of(5, 5, true);
  const HostInputs inputs = random_inputs(p, 3, WithScores::no);
  const HostReference r = reference(p, inputs, WithScores::no);
  for (std::int64_t plane = 0; plane < p.query_planes(); ++plane)
    for (std::int64_t c = 0; c < p.head_dim; ++c) {
      const float value = from_bits(p.dtype, inputs.v[static_cast<std::size_t>(p.kv_plane_of(plane) * p.seq_kv * p.head_dim + c)]);
      CHECK(r.o[static_cast<std::size_t>(plane * p.seq_q * p.head_dim + c)] == doctest::Approx(value).epsilon(1e-12));
    }
}

TEST_CASE("reference: a query that sees no key has output 0, sum 0 and maximum -inf") {
  const AttentionProblem p = problem_of(4, 2, true);
  const HostReference r = reference(p, random_inputs(p, 5, WithScores::no), WithScores::no);
  CHECK(p.visible_keys(0) == 0);
  CHECK(r.o[0] == 0);
  CHECK(r.l[0] == 0);
  CHECK(std::isinf(r.m[0]));
  CHECK(std::isinf(r.lse[0]));
}

TEST_CASE("reference: lse is m plus the logarithm of l") {
  const AttentionProblem p = problem_of(6, 8, false);
  const HostReference r = reference(p, random_inputs(p, 11, WithScores::no), WithScores::no);
  for (std::size_t i = 0; i < r.lse.size(); ++i) CHECK(r.lse[i] == doctest::Approx(r.m[i] + std::log(r.l[i])).epsilon(1e-12));
}

TEST_CASE("reference: the same seed gives the same inputs, another seed others") {
  const AttentionProblem p = problem_of(4, 4, false);
  CHECK(random_inputs(p, 1, WithScores::yes).q == random_inputs(p, 1, WithScores::yes).q);
  CHECK(random_inputs(p, 1, WithScores::yes).q != random_inputs(p, 2, WithScores::yes).q);
  CHECK(random_inputs(p, 1, WithScores::no).s.empty());
}

TEST_CASE("reference: gradients move the loss as finite differences do, over all heads of a group") {
  AttentionProblem p = problem_of(5, 7, true);
  p.pass = Pass::backward;
  HostInputs inputs = random_inputs(p, 13, WithScores::no);
  const HostReference r = reference(p, inputs, WithScores::no);
  REQUIRE(inputs.d_o.size() == inputs.q.size());
  AttentionProblem forward = p;
  forward.pass = Pass::forward;
  const auto loss = [&] {
    const HostReference at = reference(forward, inputs, WithScores::no);
    double sum = 0;
    for (std::size_t i = 0; i < at.o.size(); ++i) sum += at.o[i] * from_bits(p.dtype, inputs.d_o[i]);
    return sum;
  };
  const struct {
    std::vector<std::uint16_t>* input;
    const std::vector<double>* gradient;
  } pairs[] = {{&inputs.q, &r.d_q}, {&inputs.k, &r.d_k}, {&inputs.v, &r.d_v}};
  for (const auto& [input, gradient] : pairs)
    for (const std::size_t i : {std::size_t{3}, input->size() / 2, input->size() - 5}) {
      const std::uint16_t kept = (*input)[i];
      const float value = from_bits(p.dtype, kept), step = 0.03125F;
      (*input)[i] = to_bits(p.dtype, value + step);
      const double above = loss(), up = from_bits(p.dtype, (*input)[i]);
      (*input)[i] = to_bits(p.dtype, value - step);
      const double below = loss(), down = from_bits(p.dtype, (*input)[i]);
      (*input)[i] = kept;
      CHECK((*gradient)[i] == doctest::Approx((above - below) / (up - down)).epsilon(0.01).scale(1));
    }
  CHECK(r.cancellation >= 1);
  CHECK(r.row_dot_terms > 0);
}

TEST_CASE("reference: a backward kernel is given the forward results rounded once") {
  AttentionProblem p = problem_of(3, 5, false);
  p.pass = Pass::backward;
  HostInputs inputs = random_inputs(p, 17, WithScores::no);
  const HostReference r = reference(p, inputs, WithScores::no);
  add_forward_results(inputs, p, r);
  REQUIRE(inputs.o.size() == r.o.size());
  for (std::size_t i = 0; i < r.o.size(); ++i) CHECK(from_bits(p.dtype, inputs.o[i]) == doctest::Approx(r.o[i]).epsilon(1e-3));
  CHECK(inputs.p.size() == r.p.size());
  for (std::size_t i = 0; i < r.l.size(); ++i) CHECK(inputs.l[i] == static_cast<float>(r.l[i]));
}
