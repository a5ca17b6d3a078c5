// What the kernel of the tiled product does beside its arithmetic: the product alone, and the first launch of standard attention.
#pragma once

#include "sim/programs/kernel_profile.h"

namespace tilescope {

class ScoresOverhead {
 public:
  explicit ScoresOverhead(const AttentionProblem& problem)
      : whole_(of("scores", problem)), pad_(of("pad", problem)), store_(of("store", problem)) {}

  /// Places in shared memory, and the first operands from there. Where keys end inside the tile, the pad is masked beside them.
  Overhead product(bool ends_inside) const { return ends_inside ? whole_ + pad_ : whole_; }
  /// Scale, and the way through shared memory.
  const Overhead& store() const { return store_; }

 private:
  static Overhead of(std::string_view at, const AttentionProblem& problem) {
    return kernel_profile("matmul_tiled").overhead("product", at, problem);
  }
  Overhead whole_, pad_, store_;
};

}  // namespace tilescope
