// The float64 reference on the host, and the inputs of a check.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/attention_problem.h"

namespace tilescope {

/// Seeded normal numbers, rounded to the problem's type. s exists only for the softmax kernels, the rest only for backward kernels.
struct HostInputs {
  std::vector<std::uint16_t> q, k, v, s, d_o;
  std::vector<std::uint16_t> o, p;  // what the forward pass leaves: see add_forward_results()
  std::vector<float> lse, m, l;
};
enum class WithScores : bool { no, yes };
HostInputs random_inputs(const AttentionProblem& problem, std::uint64_t seed, WithScores with_scores);

/// Every tensor as doubles, plane after plane. Rows that see no key have o = 0, lse = m = -inf, l = 0; masked scores are -inf.
struct HostReference {
  std::vector<double> s, p, o, lse, m, l;
  std::vector<double> d_q, d_k, d_v, d_p, d_s, row_dot;  // of a backward problem; d_k and d_v are sums over the heads of a group
  /// ‖P∘(|dP| + |D|)‖ / ‖dS‖: by how much dP - D cancels. Kernels are given O or P in 16 bits, so that an error of dS is relative
  /// to its terms. 1 for dS = 0.
  double cancellation = 1;
  double row_dot_terms = 0;                   // ‖P∘dP‖, the size of the terms that D sums
  std::vector<std::vector<double>> d_tables;  // gradients of captured tables, and the size of the terms that each sums
  std::vector<double> table_terms;
};
/// Computes the reference from Q, K and V or, with scores, from S and V; of a backward problem also the gradients.
/// Source   arXiv:2205.14135, section 2.2 and appendix B.2
HostReference reference(const AttentionProblem& problem, const HostInputs& inputs, WithScores with_scores);

/// Adds what the forward pass leaves for a backward kernel: O, P, L, m and l of the reference, rounded once.
void add_forward_results(HostInputs& inputs, const AttentionProblem& problem, const HostReference& forward);

}  // namespace tilescope
