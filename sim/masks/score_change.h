// ScoreChange: an expression that replaces each score before the mask and the softmax.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/core/mask.h"
#include "sim/masks/evaluate.h"
#include "sim/masks/expression.h"
#include "sim/masks/table_gradient.h"

namespace tilescope {

/// The work of one score, as the program's counts have it. element_cost() is what a kernel executes for it.
struct ScoreCost {
  int operations = 0;  // fp32 and int32 operations of an element, without those that a row or a column needs once
  int exps = 0;        // of the exponential unit: a tanh takes an exponential and a reciprocal
};

class ScoreChange {
 public:
  /// Checks the indices of every element that `mask` shows; null: every element. `gradients`: of tables, for a backward pass.
  /// Errors  an index outside a table or a division by zero, with its element
  static Result<std::shared_ptr<const ScoreChange>> make(Expression expression, const Mask* mask,
                                                         std::vector<TableGradient> gradients = {});

  const Expression& expression() const { return expression_; }
  ScoreCost cost() const;
  /// Returns the derivative by the score; null where it is 1 for every score, so that a backward pass has nothing to multiply.
  const Expression* slope() const { return slope_ ? &*slope_ : nullptr; }
  /// Returns the further work of the derivative, whose common parts with the change itself are computed once.
  ScoreCost slope_cost() const;
  std::span<const TableGradient> table_gradients() const { return gradients_; }
  /// Returns the reads of all of these tables, one table after the other.
  std::span<const TableRead* const> table_reads() const { return reads_; }
  /// Returns the further work of a read's factor.
  ScoreCost factor_cost(const TableRead& read) const;
  /// Errors  a change that was made for other sizes: both sizes
  Status fits(const AttentionProblem& problem) const;

  /// Replaces the scores of one query and the keys from `first_key` on. Hidden ones come as any number, and leave as any.
  /// Types  float32, as in a kernel, or float64, as in the reference
  void apply(std::int64_t plane, std::int64_t query, std::int64_t first_key, std::span<float> scores) const;
  void apply(std::int64_t plane, std::int64_t query, std::int64_t first_key, std::span<double> scores) const;
  /// Replaces the scores by the derivative at each. Needs slope().
  void apply_slope(std::int64_t plane, std::int64_t query, std::int64_t first_key, std::span<float> scores) const;
  void apply_slope(std::int64_t plane, std::int64_t query, std::int64_t first_key, std::span<double> scores) const;

 private:
  ScoreChange(Expression expression, std::vector<TableGradient> gradients);
  ScoreChange(const ScoreChange&) = delete;
  ScoreChange& operator=(const ScoreChange&) = delete;

  Expression expression_;
  std::optional<Expression> slope_;
  std::vector<TableGradient> gradients_;
  std::vector<const TableRead*> reads_;
};

}  // namespace tilescope
