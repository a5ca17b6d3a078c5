// What each kind of operation does to the values of its tiles: the arithmetic of the tile machine, without its memory.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "sim/core/attention_problem.h"
#include "sim/masks/mask.h"
#include "sim/masks/score_change.h"
#include "sim/numerics/matrix.h"
#include "sim/programs/operation.h"

namespace tilescope {

using Operands = std::array<const Matrix*, 4>;

/// True where the operation changes dst rather than replacing it.
bool updates_destination(const Operation& operation);

/// What is wrong with the operands of an operation: a missing one, or shapes that do not match; empty when nothing is.
/// `dst` is looked at only where the operation updates it.
std::string operand_fault(const Operation& operation, const Operands& src, const Matrix* dst);

class TileArithmetic {
 public:
  explicit TileArithmetic(const AttentionProblem& problem) : problem_(problem), mask_(mask_of(problem)) {}

  /// Carries out one operation on chip (not a load, store or barrier).
  /// Shapes  `dst` has the operation's shape, and its old values where it is updated
  /// Types   operands of a product are rounded to the problem's type; everything else, sums included, is fp32
  void apply(const Operation& operation, const Operands& src, Matrix& dst);
  /// What a value that no softmax can take came from; empty where there was none.
  const std::string& fault() const { return fault_; }

 private:
  void multiply(const Operation& operation, const Matrix& a, const Matrix& b, Matrix& dst);
  void mask(const Operation& operation, Matrix& dst) const;
  void modify(const Operation& operation, Matrix& dst);
  /// The values as a product takes them, in `rounded_` where they had to be rounded.
  const float* rounded(Slot slot, const Matrix& m);

  AttentionProblem problem_;
  std::shared_ptr<const Mask> mask_;
  std::string fault_;

  // Kept between products only to save allocations.
  std::vector<float> a_panels_, b_panels_;
  Matrix rounded_;
};

}  // namespace tilescope
