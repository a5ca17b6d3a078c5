// The overhead instructions of the tiled product's kernel, which matmul_tiled and the first launch of standard attention share.
#pragma once

#include "sim/programs/kernel_profile.h"

namespace tilescope {

class ScoresOverhead {
 public:
  explicit ScoresOverhead(const AttentionProblem& problem)
      : whole_(of("scores", problem)), pad_(of("pad", problem)), store_(of("store", problem)) {}

  /// Returns the overhead of a product: shared-memory addresses and the first operands; if the keys end in the tile, pad masking.
  Overhead product(bool ends_inside) const { return ends_inside ? whole_ + pad_ : whole_; }
  /// Returns the overhead of its store: the scaling, and the staging through shared memory.
  const Overhead& store() const { return store_; }

 private:
  static Overhead of(std::string_view at, const AttentionProblem& problem) {
    return kernel_profile("matmul_tiled").overhead("product", at, problem);
  }
  Overhead whole_, pad_, store_;
};

}  // namespace tilescope
