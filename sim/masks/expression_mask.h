// ExpressionMask: a mask from an expression. Analysis decides whole blocks; what it leaves open is halved, and elements come last.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/mask.h"
#include "sim/masks/expression.h"
#include "sim/masks/interval_analysis.h"

namespace tilescope {

/// One condition that holds where all of them do. Columns count in the text of all, which " && " joins.
/// Limits  at least one; all parsed for the same sizes and tables
Expression all_of(const std::vector<Expression>& conditions);

class ExpressionMask final : public Mask {
 public:
  /// Looks at every block once, so that no element is at fault later.
  /// Errors  an index outside a table or a division by zero, with its element; a mask of which so many elements would have to be
  ///         looked at that it takes minutes; cancelled
  static Result<std::shared_ptr<const ExpressionMask>> make(Expression expression, const MaskScope& scope = {});
  ~ExpressionMask() override;

  const Expression& expression() const { return expression_; }

  bool visible(std::int64_t plane, std::int64_t query, std::int64_t key) const override;
  TileVisibility tile(std::int64_t plane, TileRange queries, TileRange keys) const override;
  std::int64_t row_class(std::int64_t plane, std::int64_t query_tile) const override;
  MaskPlanes planes() const override;
  Status fits(const AttentionProblem& problem) const override;
  void walk(const AttentionProblem& problem, std::int64_t plane, const TileShape& tile,
            const std::function<void(const TileBox&)>& found) const override;
  std::int64_t count_visible(std::int64_t plane, TileRange queries, TileRange keys) const override;

 private:
  struct Worker;  // what one thread needs to look at elements
  class Lease;
  explicit ExpressionMask(Expression expression);

  Expression expression_;
  TableRangesList ranges_;
  // Simulations of a sweep share the mask between threads.
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Worker>> idle_;
};

/// The causal mask in the language of expressions.
inline constexpr std::string_view causal_condition = "kv <= q + NK - N";

/// Returns the mask of a problem as an expression, also a causal one; nullopt: no mask, or one that is no expression.
std::optional<Expression> expression_of_mask(const AttentionProblem& problem);

/// Why the sizes that something was made for are not those of the problem; empty where they are.
Sentence size_fault(const Sentence& what, const ExprSizes& made_for, const AttentionProblem& problem);

}  // namespace tilescope
