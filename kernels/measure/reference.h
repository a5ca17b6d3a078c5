// The float64 reference on the host, and the inputs of a check.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/attention_problem.h"

namespace tilescope {

/// Seeded normal numbers, rounded to the problem's type. s exists only for the softmax kernels.
struct HostInputs {
  std::vector<std::uint16_t> q, k, v, s;
};
enum class WithScores : bool { no, yes };
HostInputs random_inputs(const AttentionProblem& problem, std::uint64_t seed, WithScores with_scores);

/// Every tensor as doubles, plane after plane. Rows that see no key have o = 0, lse = m = -inf, l = 0; masked scores are -inf.
struct HostReference {
  std::vector<double> s, p, o, lse, m, l;
};
/// Computes the reference from Q, K and V or, with scores, from S and V.
/// Source   arXiv:2205.14135, section 2.2
HostReference reference(const AttentionProblem& problem, const HostInputs& inputs, WithScores with_scores);

}  // namespace tilescope
