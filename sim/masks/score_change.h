// ScoreChange: an expression that replaces each score before the mask and the softmax.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "sim/masks/evaluate.h"
#include "sim/masks/expression.h"
#include "sim/masks/mask.h"

namespace tilescope {

/// The work of one score, as the program's counts have it. element_cost() is what a kernel executes for it.
struct ScoreCost {
  int operations = 0;  // fp32 and int32 operations of an element, without those that a row or a column needs once
  int exps = 0;        // of the exponential unit: a tanh takes an exponential and a reciprocal
};

class ScoreChange {
 public:
  /// Checks the indices of every element that `mask` shows; null: every element.
  /// Errors  an index outside a table or a division by zero, with its element
  static Result<std::shared_ptr<const ScoreChange>> make(Expression expression, const Mask* mask);

  const Expression& expression() const { return expression_; }
  ScoreCost cost() const;
  /// Errors  a change that was made for other sizes: both sizes
  Status fits(const AttentionProblem& problem) const;

  /// Replaces the scores of one query and the keys from `first_key` on. Hidden ones come as any number, and leave as any.
  /// Types  float32, as in a kernel, or float64, as in the reference
  void apply(std::int64_t plane, std::int64_t query, std::int64_t first_key, std::span<float> scores) const;
  void apply(std::int64_t plane, std::int64_t query, std::int64_t first_key, std::span<double> scores) const;

 private:
  explicit ScoreChange(Expression expression);

  Expression expression_;
};

}  // namespace tilescope
