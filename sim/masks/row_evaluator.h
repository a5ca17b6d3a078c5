// RowEvaluator: an expression over a run of keys at a time, in loops that the compiler turns into vector instructions.
//
// Parts that do not change with the key are worked out once a row, those that do not change with the query once a run of keys, and
// the rest once a row and key. It takes both operands of && and ?:, so it only suspects a fault: the caller then asks the
// ExpressionEvaluator, which knows which operand counts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/masks/expression.h"

namespace tilescope {

class RowEvaluator {
 public:
  static constexpr std::int64_t most_keys = 128;

  /// `expression` must outlive the evaluator.
  explicit RowEvaluator(const Expression& expression);

  void set_plane(std::int64_t b, std::int64_t h);
  /// Keys [first, first + count) of the next rows; at most most_keys.
  void set_keys(std::int64_t first, std::int64_t count);
  /// Returns the conditions of one query, 0 or 1 a key. Empty where an element may be at fault.
  std::span<const std::int32_t> conditions(std::int64_t q);
  /// Returns the changed scores of one query. Empty where an element may be at fault.
  std::span<const float> scores(std::int64_t q, std::span<const float> scores);

 private:
  enum Stage : std::uint8_t { once, per_keys, per_query, per_element };
  void run(Stage stage, std::size_t count);
  void compute(const ExprNode& node, std::size_t n, std::size_t count);
  void compute_integers(const ExprNode& node, std::int32_t* out, std::size_t count);
  void compute_reals(const ExprNode& node, float* out, std::size_t count);
  void compute_element(const ExprNode& node, std::size_t n, std::size_t count);
  bool row(std::int64_t q);
  std::int32_t* integers(std::size_t n) { return &integers_[n * most_keys]; }
  float* reals(std::size_t n) { return &reals_[n * most_keys]; }
  const std::int32_t* integer_arg(const ExprNode& node, std::size_t i) { return integers(static_cast<std::size_t>(node.args[i])); }
  const float* real_arg(const ExprNode& node, std::size_t i) { return reals(static_cast<std::size_t>(node.args[i])); }

  const Expression* expression_;
  std::vector<std::int32_t> stages_[4];
  std::vector<Stage> stage_of_;
  std::vector<std::int32_t> integers_;
  std::vector<float> reals_;
  std::span<const float> scores_;
  std::int64_t b_ = 0, h_ = 0, q_ = 0, first_ = 0;
  std::size_t count_ = 0;
  bool suspect_ = false, suspect_plane_ = false, suspect_keys_ = false;
};

}  // namespace tilescope
