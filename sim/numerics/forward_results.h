// ForwardResults provides the results of the forward pass to a backward program that runs alone: O, L, m, l and P of the float64
// reference, rounded once.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "sim/numerics/program_reference.h"

namespace tilescope {

class ForwardResults {
 public:
  ForwardResults(const AttentionProblem& problem, const InputSource& inputs) : problem_(problem), inputs_(inputs) {}

  static bool has(Tensor tensor) {
    return tensor.means(Meaning::output) || tensor.means(Meaning::log_sum_exp) || tensor.means(Meaning::row_max) ||
           tensor.means(Meaning::row_sum) || tensor.means(Meaning::probability);
  }
  /// Returns a tile of a tensor for which has() is true.
  /// Types  O and P are rounded to the problem's type; statistics are fp32
  Matrix tile(const TileRef& tile);

 private:
  struct Row {
    float log_sum_exp = 0, maximum = 0, sum = 0;
    std::vector<float> output, probabilities;  // probabilities only if requested
    bool known = false;
  };
  struct Plane {
    ReferencePlane reference;
    std::vector<Row> rows;
  };
  const Row& row(std::int32_t plane, std::int32_t query, bool with_probabilities);

  AttentionProblem problem_;
  InputSource inputs_;
  std::map<std::int32_t, Plane> planes_;
  std::size_t kept_bytes_ = 0;
};

}  // namespace tilescope
