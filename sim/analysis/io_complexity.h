// Access counts of attention between slow and fast memory: closed forms, their orders with the constants, and the bounds.
//
//   The theory has one fast memory of M elements. Here that is the shared memory of a block; the traffic it speaks of is
//   then L2 ↔ SM, and on a machine without an L2 (`textbook`) it is HBM ↔ SM as in the paper.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/attention_problem.h"
#include "sim/core/gpu_spec.h"
#include "sim/core/tensor.h"

namespace tilescope {

/// One tensor's part of a count, all planes together.
struct AccessTerm {
  Tensor tensor;
  bool store = false;
  std::string formula;  // of one plane: "⌈Nk/Bc⌉·Nq·d"
  double elements = 0;
  int element_bytes = 2;
  double bytes() const { return elements * element_bytes; }
};

/// What an algorithm moves between slow and fast memory.
struct AccessCount {
  std::string_view algorithm;    // id of the program
  std::string_view order;        // "Θ(N²d²/M)"
  std::string_view leading;      // the part that grows with N²: "N²" or "N²d²/M"
  double leading_constant = 0;   // what multiplies it with this tile
  std::string constant_formula;  // "3M/(Bc·d)"
  std::vector<AccessTerm> terms;
  double elements = 0;
  double bytes = 0;
  double intensity = 0;  // floating-point operations of the two products a byte
};

struct IoComplexity {
  double fast_memory_elements = 0;  // M
  std::vector<AccessCount> counts;  // standard, flash1, flash2, all with the tile that was asked for
  double flops = 0;
  double compulsory_elements = 0;   // Q, K, V read once and O written once: no algorithm moves less
  double lower_bound_elements = 0;  // N²d²/M: no exact algorithm beats this order over all M of the range
  bool bound_applies = false;       // d <= M <= Nk·d
  /// Fraction of the pairs of a query and a key tile that are worked on; the s of Θ(Nd + N²d²s/M). 1 without a mask.
  double kept_fraction = 1;
  /// Fast memory, in elements, from which on flash1 with the paper's tile moves no more bytes than standard; absent where no M
  /// does.
  std::optional<double> crossover_elements;
  double crossover_leading = 0;  // the same from the leading terms alone, 12 N²d²/M = 4 N²: 3d²
};

/// Shapes  every count is of the whole problem, all planes
/// Source  arXiv:2205.14135, theorem 2, propositions 3 and 4; arXiv:2307.08691, section 3
IoComplexity io_complexity(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu);

/// Whether an algorithm has a count: standard attention and FlashAttention do.
bool has_access_count(std::string_view algorithm);
/// Returns the count of an algorithm that has one.
AccessCount count_accesses(std::string_view algorithm, const AttentionProblem& problem, const TileShape& tile,
                           double fast_memory_elements);

/// The tile of the paper for a fast memory of M elements: Bc = ⌈M/4d⌉, Br = min(Bc, d), neither longer than its sequence.
TileShape paper_tile(const AttentionProblem& problem, double fast_memory_elements);

}  // namespace tilescope
