// IO complexity of attention: closed-form access counts between slow and fast memory, their orders, constants and bounds.
//
//   The theory has one fast memory of M elements. Here that is the shared memory of a block, so its traffic is L2 ↔ SM. On a GPU
//   without an L2 (`textbook`) it is HBM ↔ SM, as in the paper.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/attention_problem.h"
#include "sim/core/gpu_spec.h"
#include "sim/core/sentence.h"
#include "sim/core/tensor.h"

namespace tilescope {

/// The accesses to one tensor, over all planes.
struct AccessTerm {
  Tensor tensor;
  bool store = false;
  std::string formula;  // for one plane: "⌈Nk/Bc⌉·Nq·d"
  double elements = 0;
  int element_bytes = 2;
  double bytes() const { return elements * element_bytes; }
};

/// The traffic of an algorithm between slow and fast memory.
struct AccessCount {
  std::string_view algorithm;    // id of the program
  std::string_view order;        // "Θ(N²d²/M)"
  std::string_view leading;      // the term that grows with N²: "N²" or "N²d²/M"
  double leading_constant = 0;   // its constant with this tile
  std::string constant_formula;  // "3M/(Bc·d)"
  std::vector<AccessTerm> terms;
  double elements = 0;
  double bytes = 0;
  double intensity = 0;  // FLOP of the two products per byte
};

struct IoComplexity {
  double fast_memory_elements = 0;  // M
  std::vector<AccessCount> counts;  // standard, flash1, flash2, all with the given tile
  double flops = 0;
  double compulsory_elements = 0;   // Q, K, V read once and O written once: no algorithm moves less
  double lower_bound_elements = 0;  // N²d²/M: no exact algorithm beats this order for all M in the range
  bool bound_applies = false;       // order_holds() of an order with M
  /// Share of the pairs of query and key tiles that are visited, the s of Θ(Nd + N²d²s/M). 1 without a mask.
  double kept_fraction = 1;
  /// The smallest M, in elements, for which flash1 with the paper's tile moves no more bytes than standard; absent if none does.
  std::optional<double> crossover_elements;
  double crossover_leading = 0;  // the same from the leading terms alone: 12 N²d²/M = 4 N² gives M = 3d²
};

/// Counts the accesses of the paper's algorithms.
/// Shapes  every count covers the whole problem, all planes
/// Source  arXiv:2205.14135, theorem 2, propositions 3 and 4; arXiv:2307.08691, section 3
IoComplexity io_complexity(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu);

/// Returns whether an algorithm has a count: standard, flash1 and flash2 do.
bool has_access_count(std::string_view algorithm);
/// Returns the count of an algorithm that has one.
AccessCount count_accesses(std::string_view algorithm, const AttentionProblem& problem, const TileShape& tile,
                           double fast_memory_elements);

/// Returns M: the elements of shared memory that a block may have.
double fast_memory_elements(const AttentionProblem& problem, const GpuSpec& gpu);
/// Returns whether an order says something of this problem: one with M is of d <= M <= Nk·d.
bool order_holds(std::string_view order, const AttentionProblem& problem, const GpuSpec& gpu);
/// Returns an order as it reads beside a run: the theory is of dense attention, and knows no mask.
Sentence order_text(std::string_view order, const AttentionProblem& problem);

/// Returns the paper's tile for a fast memory of M elements.
/// Equation  Bc = ⌈M/4d⌉, Br = min(Bc, d), each at most its sequence length
TileShape paper_tile(const AttentionProblem& problem, double fast_memory_elements);

}  // namespace tilescope
