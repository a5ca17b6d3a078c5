// The arithmetic of the tile machine: the effect of each kind of operation on the values of its tiles.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "sim/core/attention_problem.h"
#include "sim/core/mask.h"
#include "sim/core/matrix.h"
#include "sim/masks/score_change.h"
#include "sim/programs/operation.h"

namespace tilescope {

using Operands = std::array<const Matrix*, 4>;

/// Returns a sentence if an operand is missing, its shape does not match, or an element lies outside dst; otherwise "". `dst`
/// matters only if it is updated.
std::string operand_fault(const Operation& operation, const Operands& src, const Matrix* dst);

class TileArithmetic {
 public:
  explicit TileArithmetic(const AttentionProblem& problem) : problem_(problem), mask_(mask_of(problem)) {}

  /// Executes one on-chip operation; loads, stores and barriers do nothing.
  /// Shapes  `dst` has the operation's shape, and its old values if the operation updates it
  /// Types   operands of a product are rounded to their tensor's type; everything else, sums included, is fp32
  void apply(const Operation& operation, const Operands& src, Matrix& dst);
  /// Returns a sentence about the first NaN that a score expression produced; "" if there was none.
  const Sentence& fault() const { return fault_; }

 private:
  void multiply(const Operation& operation, const Matrix& a, const Matrix& b, Matrix& dst);
  void mask(const Operation& operation, Matrix& dst) const;
  void modify(const Operation& operation, Matrix& dst);
  void slope(const Operation& operation, const Matrix& of, Matrix& dst);
  void factor(const Operation& operation, const Matrix& of, Matrix& dst);
  void gather(const Operation& operation, const Matrix& of, Matrix& dst);
  Sentence fault_at(const Sentence& what, float value, float score, const Operation& op, int r, std::int64_t key) const;
  /// Returns the values as operands of a product: rounded, in `rounded_`, unless they have their tensor's type already.
  const float* rounded(ChipTile chip_tile, const Matrix& m);

  AttentionProblem problem_;
  std::shared_ptr<const Mask> mask_;
  Sentence fault_;

  // Members only to avoid an allocation for each product.
  std::vector<float> a_panels_, b_panels_;
  Matrix rounded_;
};

}  // namespace tilescope
