// Works out derivatives node by node, from the score on.
#include "sim/masks/derivative.h"

#include <cmath>
#include <utility>
#include <vector>

namespace tilescope {

namespace {

constexpr std::int32_t zero = -1;  // of a node that does not change with what is varied

class Derivative {
 public:
  /// `varied`: the nodes by which the derivative is taken.
  Derivative(const Expression& expression, const std::vector<bool>& varied)
      : out_(expression), of_(expression.nodes.size(), zero), changes_(varied), varied_(varied) {
    for (std::size_t n = 0; n < changes_.size(); ++n)
      for (std::size_t a = 0; a < out_.nodes[n].operands; ++a)
        changes_[n] = changes_[n] || changes_[static_cast<std::size_t>(out_.nodes[n].args[a])];
  }

  Expression made() {
    const std::size_t count = of_.size();
    for (std::size_t n = 0; n < count; ++n) {
      const ExprNode node = out_.nodes[n];
      if (changes_[n]) of_[n] = rule(node, static_cast<std::int32_t>(n));
    }
    const std::int32_t root = of_.back() == zero ? constant(0) : of_.back();
    // The root stands last.
    if (root != out_.root()) multiply(root, constant(1));
    out_.text = to_text(out_);
    return std::move(out_);
  }

 private:
  std::int32_t add(ExprOp op, ValueType type, std::initializer_list<std::int32_t> args) {
    return out_.append(op, type, args, type == ValueType::boolean ? ValueType::real : ValueType::integer);
  }
  std::int32_t real(ExprOp op, std::initializer_list<std::int32_t> args) { return add(op, ValueType::real, args); }
  std::int32_t constant(double value) {
    ExprNode node;
    node.type = ValueType::real;
    node.real = value;
    out_.nodes.push_back(node);
    return out_.root();
  }
  std::int32_t multiply(std::int32_t a, std::int32_t b) { return real(ExprOp::multiply, {a, b}); }
  std::int32_t negated(std::int32_t a) { return a == zero ? zero : real(ExprOp::negate, {a}); }
  std::int32_t sum(std::int32_t a, std::int32_t b) {
    if (a == zero || b == zero) return a == zero ? b : a;
    return real(ExprOp::add, {a, b});
  }
  std::int32_t chosen(std::int32_t condition, std::int32_t yes, std::int32_t no) {
    if (yes == zero && no == zero) return zero;
    const std::int32_t a = yes == zero ? constant(0) : yes, b = no == zero ? constant(0) : no;
    return real(ExprOp::select, {condition, a, b});
  }

  /// Whether min or max gives its left operand: also where the right one is NaN.
  std::int32_t is_given(ExprOp comparison, std::int32_t a, std::int32_t b) {
    const std::int32_t better = add(comparison, ValueType::boolean, {a, b});
    return add(ExprOp::logical_or, ValueType::boolean, {better, add(ExprOp::not_equal, ValueType::boolean, {b, b})});
  }

  /// The derivative of min or max: that of the operand which it gives, and half of each where they are equal, as PyTorch has it.
  std::int32_t of_extreme(ExprOp comparison, std::int32_t a, std::int32_t b, std::int32_t da, std::int32_t db) {
    if (da == zero && db == zero) return zero;
    const std::int32_t one = chosen(is_given(comparison, a, b), da, db);
    return chosen(add(ExprOp::equal, ValueType::boolean, {a, b}), multiply(sum(da, db), constant(0.5)), one);
  }

  /// The derivative of node `self`, whose operands' derivatives are known.
  std::int32_t rule(const ExprNode& node, std::int32_t self) {
    if (node.type != ValueType::real) return zero;
    if (varied_[static_cast<std::size_t>(self)]) return constant(1);
    const std::int32_t a = node.args[0], b = node.args[1];
    const std::int32_t da = of_[static_cast<std::size_t>(a)], db = node.operands > 1 ? of_[static_cast<std::size_t>(b)] : zero;
    switch (node.op) {
      case ExprOp::add:
        return sum(da, db);
      case ExprOp::subtract:
        return sum(da, negated(db));
      case ExprOp::multiply:
        return sum(da == zero ? zero : multiply(da, b), db == zero ? zero : multiply(a, db));
      case ExprOp::divide:
        return sum(da == zero ? zero : real(ExprOp::divide, {da, b}),
                   db == zero ? zero : negated(real(ExprOp::divide, {multiply(a, db), multiply(b, b)})));
      case ExprOp::minimum:
        return of_extreme(ExprOp::less, a, b, da, db);
      case ExprOp::maximum:
        return of_extreme(ExprOp::greater, a, b, da, db);
      case ExprOp::select:
        return chosen(a, db, of_[static_cast<std::size_t>(node.args[2])]);
      default:
        break;
    }
    if (da == zero) return zero;
    switch (node.op) {
      case ExprOp::negate:
        return negated(da);
      case ExprOp::absolute:
        return chosen(add(ExprOp::equal, ValueType::boolean, {a, constant(0)}), zero,
                      chosen(add(ExprOp::less, ValueType::boolean, {a, constant(0)}), negated(da), da));
      case ExprOp::exp:
        return multiply(da, self);
      case ExprOp::exp2:
        return multiply(da, multiply(self, constant(std::log(2.0))));
      case ExprOp::log:
        return real(ExprOp::divide, {da, a});
      case ExprOp::tanh:
        return multiply(da, real(ExprOp::subtract, {constant(1), multiply(self, self)}));
      case ExprOp::sqrt:
        // Where the operand stays at 0, so does the root: 0, and not 0 / 0.
        return chosen(add(ExprOp::equal, ValueType::boolean, {da, constant(0)}), zero,
                      real(ExprOp::divide, {da, multiply(constant(2), self)}));
      case ExprOp::sigmoid:
        return multiply(da, multiply(self, real(ExprOp::subtract, {constant(1), self})));
      case ExprOp::sin:
        return multiply(da, real(ExprOp::cos, {a}));
      case ExprOp::cos:
        return negated(multiply(da, real(ExprOp::sin, {a})));
      default:
        return zero;  // floor
    }
  }

  Expression out_;
  std::vector<std::int32_t> of_;
  std::vector<bool> changes_, varied_;
};

}  // namespace

Expression derivative_by_score(const Expression& expression) {
  std::vector<bool> score(expression.nodes.size());
  for (std::size_t n = 0; n < score.size(); ++n)
    score[n] = expression.nodes[n].op == ExprOp::name && expression.nodes[n].name == ExprName::score;
  return Derivative(expression, score).made();
}

Expression derivative_by_read(const Expression& expression, std::int32_t read) {
  std::vector<bool> varied(expression.nodes.size());
  varied[static_cast<std::size_t>(read)] = true;
  return Derivative(expression, varied).made();
}

}  // namespace tilescope
