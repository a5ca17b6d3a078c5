// The float64 reference of a tile program: sim/reference/attention_reference.h on the program's inputs.
#pragma once

#include "sim/numerics/tile_machine.h"
#include "sim/reference/attention_reference.h"

namespace tilescope {

/// Computes reference rows of one plane.
class ReferencePlane {
 public:
  ReferencePlane(const TileProgram& program, const InputSource& inputs, std::int64_t plane);
  /// The reference of attention, with Q, K and V as inputs.
  ReferencePlane(const AttentionProblem& problem, const InputSource& inputs, std::int64_t plane);
  ReferenceRow row(std::int64_t query) const { return row(query, problem_.seq_kv); }
  /// Returns the row over the first `keys` keys only: an online algorithm must hold these values after as many keys.
  ReferenceRow row(std::int64_t query, std::int64_t keys) const { return row(query, keys, nullptr); }
  /// Returns the row over the keys that `seen` marks (one entry a key), for programs that visit tiles in another order.
  ReferenceRow row(std::int64_t query, const std::vector<bool>& seen) const { return row(query, problem_.seq_kv, &seen); }

 private:
  ReferenceRow row(std::int64_t query, std::int64_t keys, const std::vector<bool>* seen) const;

  AttentionProblem problem_;
  InputSource inputs_;
  std::int32_t plane_;
  bool scores_given_;
  AttentionReference reference_;
};

/// Returns the plane that run_plane() makes, from the float64 reference, rounded once.
/// Limits  O, P, S, L, m, l, D and all gradients
/// Source  arXiv:2205.14135, section 2.2
Matrix reference_plane(const TileProgram& program, const InputSource& inputs, std::int64_t plane, Tensor tensor);

}  // namespace tilescope
