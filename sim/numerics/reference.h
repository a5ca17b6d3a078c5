// The float64 reference of a tile program: sim/core/reference.h on the program's own inputs.
#pragma once

#include "sim/core/reference.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

/// The rows of one plane.
class ReferencePlane {
 public:
  ReferencePlane(const TileProgram& program, const InputSource& inputs, std::int64_t plane);
  ReferenceRow row(std::int64_t query) const { return row(query, problem_.seq_kv); }
  /// The same over the first `keys` keys only, as if there were no others: what an online algorithm must hold after them.
  ReferenceRow row(std::int64_t query, std::int64_t keys) const { return row(query, keys, nullptr); }
  /// The same over the keys that `seen` marks, one entry a key: for a program that visits its tiles in another order.
  ReferenceRow row(std::int64_t query, const std::vector<bool>& seen) const { return row(query, problem_.seq_kv, &seen); }

 private:
  ReferenceRow row(std::int64_t query, std::int64_t keys, const std::vector<bool>* seen) const;

  AttentionProblem problem_;
  InputSource inputs_;
  std::int32_t plane_;
  bool scores_given_;
  AttentionReference reference_;
};

}  // namespace tilescope
