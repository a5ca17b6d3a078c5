// The words of the language of masks and score changes: functions, names and operators.
#include "sim/masks/expression.h"

#include <algorithm>
#include <span>
#include <vector>

#include "sim/core/refuse.h"
#include "sim/core/text.h"
#include "sim/masks/expression_operators.h"
#include "sim/masks/expression_tokens.h"

namespace tilescope {

namespace {

constexpr ExprFunction functions[] = {
    {"abs", 1, ExprOp::absolute, "distance from 0"},
    {"min", 2, ExprOp::minimum, "the smaller one"},
    {"max", 2, ExprOp::maximum, "the larger one"},
    {"clamp", 3, ExprOp::minimum, "clamp(x, low, high): x, not below low and not above high"},
    {"where", 3, ExprOp::select, "where(c, a, b): a where c holds, else b; the same as c ? a : b"},
    {"floor", 1, ExprOp::floor, "the next whole number below, as a float"},
    {"exp", 1, ExprOp::exp, "e to the power of x"},
    {"exp2", 1, ExprOp::exp2, "2 to the power of x"},
    {"log", 1, ExprOp::log, "natural logarithm"},
    {"tanh", 1, ExprOp::tanh, "hyperbolic tangent"},
    {"sqrt", 1, ExprOp::sqrt, "square root"},
    {"sigmoid", 1, ExprOp::sigmoid, "1 / (1 + exp(-x))"},
    {"sin", 1, ExprOp::sin, "sine of x in radians"},
    {"cos", 1, ExprOp::cos, "cosine of x in radians"},
    {"int", 1, ExprOp::to_integer, "the whole part, as an int"},
    {"float", 1, ExprOp::to_real, "the same number, as a float"},
};

constexpr ExprNameInfo names[] = {
    {"score", "q·k times scale, before the mask; only in a score change"},
    {"b", "batch element"},
    {"h", "query head"},
    {"q", "query, counted from 0"},
    {"kv", "key, counted from 0"},
    {"B", "batch size"},
    {"H", "query heads"},
    {"HKV", "key and value heads"},
    {"N", "queries"},
    {"NK", "keys"},
    {"D", "head dimension"},
    {"scale", "1 / sqrt(D)"},
    {"inf", "infinity"},
};
static_assert(std::size(names) == expr_name_count);

constexpr BinaryOperator operators[] = {{"||", 1, ExprOp::logical_or},    {"or", 1, ExprOp::logical_or},
                                        {"&&", 2, ExprOp::logical_and},   {"and", 2, ExprOp::logical_and},
                                        {"|", 3, ExprOp::bit_or},         {"^", 4, ExprOp::bit_xor},
                                        {"&", 5, ExprOp::bit_and},        {"==", 6, ExprOp::equal},
                                        {"!=", 6, ExprOp::not_equal},     {"<", 7, ExprOp::less},
                                        {"<=", 7, ExprOp::less_equal},    {">", 7, ExprOp::greater},
                                        {">=", 7, ExprOp::greater_equal}, {"<<", 8, ExprOp::shift_left},
                                        {">>", 8, ExprOp::shift_right},   {"+", 9, ExprOp::add},
                                        {"-", 9, ExprOp::subtract},       {"*", 10, ExprOp::multiply},
                                        {"/", 10, ExprOp::divide},        {"//", 10, ExprOp::floor_divide},
                                        {"%", 10, ExprOp::modulo}};
}  // namespace

std::string_view to_string(ExprName name) {
  return names[static_cast<std::size_t>(name)].name;
}

ExprSizes sizes_of(const AttentionProblem& p) {
  return {p.batch, p.heads, p.kv_heads, p.seq_q, p.seq_kv, p.head_dim};
}

std::span<const ExprFunction> expression_functions() {
  return functions;
}
std::span<const ExprNameInfo> expression_names() {
  return names;
}

Sentence table_name_fault(std::string_view name) {
  const std::string shown = printable(name, 40);
  const std::vector<Token> tokens = readable_tokens(name);
  if (tokens.size() != 1 || tokens.front().kind != TokenKind::name || tokens.front().text != name)
    return phrase("'{}' is not a name: use letters, digits and _", shown);
  for (const ExprNameInfo& row : names)
    if (row.name == name) return phrase("'{}' already means {}", shown, Sentence(row.meaning, {}));
  for (const ExprFunction& row : functions)
    if (row.name == name) return phrase("'{}' is a function of the language", shown);
  if (is_language_word(name)) return phrase("'{}' is a word of the language", shown);
  return {};
}

std::span<const BinaryOperator> binary_operators() {
  return operators;
}

bool Expression::reads_table(std::size_t number) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const ExprNode& node) {
    return node.op == ExprOp::element && node.integer == static_cast<std::int32_t>(number);
  });
}

}  // namespace tilescope
