// ExpressionEvaluator: the value of an expression at one element, node by node: the reference that the other readers agree with.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/masks/expression.h"

namespace tilescope {

/// One element of the score matrices: batch, query head, query, key.
struct ExprElement {
  std::int64_t b = 0, h = 0, q = 0, kv = 0;
};

/// A value and whether it has none: an index outside its table, or a division by zero, in a part that counts.
template <class Real>
struct ExprValue {
  std::int32_t integer = 0;  // also 0 or 1 of a condition
  Real real = 0;
  bool fault = false;
};

/// What a node's value comes from beside its operands.
template <class Real>
struct ExprInputs {
  const ExprSizes* sizes = nullptr;
  const TableList* tables = nullptr;
  ExprElement element;
  Real score = 0;
};

/// Works out one node. `values` has those of the nodes before it.
/// Types   ints wrap at 32 bits; floats are rounded to Real after each operation, functions once
template <class Real>
ExprValue<Real> evaluate_node(const ExprNode& node, std::span<const ExprValue<Real>> values, const ExprInputs<Real>& inputs);

template <class Real>
class ExpressionEvaluator {
 public:
  /// `expression` must outlive the evaluator.
  explicit ExpressionEvaluator(const Expression& expression);

  const ExprValue<Real>& operator()(const ExprElement& element, Real score = 0);
  /// Says why the last element has no value: column, value and element.
  Sentence fault(const ExprElement& element) const;

 private:
  const Expression* expression_;
  std::vector<ExprValue<Real>> values_;
  std::vector<std::int32_t> once_, varying_;  // nodes: by the plane alone, and by the element
  std::int64_t b_ = -1, h_ = -1;              // the plane of the values
};

extern template class ExpressionEvaluator<float>;
extern template class ExpressionEvaluator<double>;

/// Applies a function of the language in float32: computed in float64 and rounded once, so that every machine gives the same
/// digits.
float apply_function(ExprOp op, float x);
double apply_function(ExprOp op, double x);

}  // namespace tilescope
