// Writes CUDA functions from expressions.
#include "sim/masks/cuda_source.h"

#include <cmath>

#include <fmt/format.h>

namespace tilescope {

namespace {

constexpr std::string_view prelude = R"(struct ExprSizes { int B, H, HKV, N, NK, D; };
#define EXPR_INF __int_as_float(0x7f800000)
static __device__ __forceinline__ int expr_negate(int a) { return (int)(0u - (unsigned)a); }
static __device__ __forceinline__ int expr_add(int a, int b) { return (int)((unsigned)a + (unsigned)b); }
static __device__ __forceinline__ int expr_subtract(int a, int b) { return (int)((unsigned)a - (unsigned)b); }
static __device__ __forceinline__ int expr_multiply(int a, int b) { return (int)((unsigned)a * (unsigned)b); }
static __device__ __forceinline__ int expr_divide(int a, int b) {
  if (b == 0) return 0;
  if (b == -1) return expr_negate(a);
  const int q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
static __device__ __forceinline__ int expr_modulo(int a, int b) {
  if (b == 0 || b == -1) return 0;
  const int r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static __device__ __forceinline__ int expr_left(int a, int n) { return (unsigned)n > 31u ? 0 : (int)((unsigned)a << n); }
static __device__ __forceinline__ int expr_right(int a, int n) { return a >> ((unsigned)n > 31u ? 31 : n); }
static __device__ __forceinline__ int expr_int(float a) {
  if (a != a) return 0;
  if (a >= 2147483648.0f) return 2147483647;
  return a <= -2147483648.0f ? -2147483647 - 1 : (int)a;
}
static __device__ __forceinline__ int expr_clamp(int a, int last) { return a < 0 ? 0 : a > last ? last : a; }
static __device__ __forceinline__ float expr_min(float a, float b) { return a < b || b != b ? a : b; }
static __device__ __forceinline__ float expr_max(float a, float b) { return a > b || b != b ? a : b; }
)";

std::string_view type_name(ValueType type) {
  return type == ValueType::boolean ? "bool" : type == ValueType::integer ? "int" : "float";
}

std::string real_text(double value) {
  if (value != value) return "(EXPR_INF - EXPR_INF)";
  if (std::isinf(static_cast<float>(value))) return value < 0 ? "(-EXPR_INF)" : "EXPR_INF";
  std::string text = fmt::format("{}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

std::string integer_text(std::int32_t value) {
  return value < -2147483647 ? "(-2147483647 - 1)" : fmt::format("{}", value);
}

/// The operation between two operands, or the function around them; `{0}` and `{1}` are those.
std::string_view form_of(const ExprNode& node) {
  const bool real = node.type == ValueType::real;
  switch (node.op) {
    case ExprOp::to_real:
      return "(float){0}";
    case ExprOp::to_integer:
      return "expr_int({0})";
    case ExprOp::negate:
      return real ? "-{0}" : "expr_negate({0})";
    case ExprOp::bit_not:
      return "~{0}";
    case ExprOp::logical_not:
      return "!{0}";
    case ExprOp::add:
      return real ? "{0} + {1}" : "expr_add({0}, {1})";
    case ExprOp::subtract:
      return real ? "{0} - {1}" : "expr_subtract({0}, {1})";
    case ExprOp::multiply:
      return real ? "{0} * {1}" : "expr_multiply({0}, {1})";
    case ExprOp::divide:
      return "{0} / {1}";
    case ExprOp::floor_divide:
      return "expr_divide({0}, {1})";
    case ExprOp::modulo:
      return "expr_modulo({0}, {1})";
    case ExprOp::bit_and:
      return "{0} & {1}";
    case ExprOp::bit_or:
      return "{0} | {1}";
    case ExprOp::bit_xor:
      return "{0} ^ {1}";
    case ExprOp::shift_left:
      return "expr_left({0}, {1})";
    case ExprOp::shift_right:
      return "expr_right({0}, {1})";
    case ExprOp::equal:
      return "{0} == {1}";
    case ExprOp::not_equal:
      return "{0} != {1}";
    case ExprOp::less:
      return "{0} < {1}";
    case ExprOp::less_equal:
      return "{0} <= {1}";
    case ExprOp::greater:
      return "{0} > {1}";
    case ExprOp::greater_equal:
      return "{0} >= {1}";
    case ExprOp::logical_and:
      return "{0} && {1}";
    case ExprOp::logical_or:
      return "{0} || {1}";
    case ExprOp::select:
      return "{0} ? {1} : {2}";
    case ExprOp::absolute:
      return real ? "fabsf({0})" : "{0} < 0 ? expr_negate({0}) : {0}";
    case ExprOp::minimum:
      return real ? "expr_min({0}, {1})" : "{0} < {1} ? {0} : {1}";
    case ExprOp::maximum:
      return real ? "expr_max({0}, {1})" : "{0} > {1} ? {0} : {1}";
    case ExprOp::floor:
      return "floorf({0})";
    case ExprOp::exp:
      return "expf({0})";
    case ExprOp::exp2:
      return "exp2f({0})";
    case ExprOp::log:
      return "logf({0})";
    case ExprOp::tanh:
      return "tanhf({0})";
    case ExprOp::sqrt:
      return "sqrtf({0})";
    case ExprOp::sigmoid:
      return "1.0f / (1.0f + expf(-{0}))";
    case ExprOp::sin:
      return "sinf({0})";
    case ExprOp::cos:
      return "cosf({0})";
    case ExprOp::constant:
    case ExprOp::name:
    case ExprOp::element:
      break;
  }
  return "";
}

std::string name_text(ExprName name) {
  switch (name) {
    case ExprName::inf:
      return "EXPR_INF";
    case ExprName::scale:
      return "(float)(1.0 / sqrt((double)sizes.D))";  // rounded once, as in the evaluator
    case ExprName::score:
    case ExprName::b:
    case ExprName::h:
    case ExprName::q:
    case ExprName::kv:
      return std::string(to_string(name));
    default:
      return fmt::format("sizes.{}", to_string(name));
  }
}

std::string element_text(const Expression& expression, const ExprNode& node) {
  const CapturedTable& table = *expression.tables[static_cast<std::size_t>(node.integer)];
  std::string index;
  for (std::size_t axis = 0; axis < node.operands; ++axis) {
    const std::string own = fmt::format("expr_clamp(v{}, {})", node.args[axis], table.shape[axis] - 1);
    index = axis == 0 ? own : fmt::format("({}) * {} + {}", index, table.shape[axis], own);
  }
  return fmt::format("t_{}[{}]{}", table.name, index, table.type == ValueType::boolean ? " != 0" : "");
}

}  // namespace

std::string_view cuda_prelude() {
  return prelude;
}

std::string cuda_operation(const ExprNode& node, bool rounded, std::string_view a, std::string_view b, std::string_view c) {
  std::string_view form = form_of(node);
  if (node.type == ValueType::real && rounded) {
    if (node.op == ExprOp::add) form = "__fadd_rn({0}, {1})";
    if (node.op == ExprOp::subtract) form = "__fsub_rn({0}, {1})";
    if (node.op == ExprOp::multiply) form = "__fmul_rn({0}, {1})";
  } else if (node.op == ExprOp::tanh) {
    form = "expr_tanh({0})";
  } else if (node.op == ExprOp::sigmoid) {
    form = "expr_sigmoid({0})";
  } else if (!rounded && node.op == ExprOp::sin) {
    form = "expr_sin({0})";
  } else if (!rounded && node.op == ExprOp::cos) {
    form = "expr_cos({0})";
  }
  return fmt::format(fmt::runtime(form), a, b, c);
}

std::string cuda_source(const Expression& expression, std::string_view name) {
  std::string tables;
  for (const auto& table : expression.tables)
    tables += fmt::format(", {} const* t_{}", table->type == ValueType::real ? "float" : "int", table->name);
  std::string source = fmt::format(
      "static __device__ __forceinline__ {} {}(float score, int b, int h, int q, int kv, const ExprSizes& sizes{}) {{\n",
      type_name(expression.type()), name, tables);
  for (std::size_t n = 0; n < expression.nodes.size(); ++n) {
    const ExprNode& node = expression.nodes[n];
    std::string value;
    if (node.op == ExprOp::constant)
      value = node.type == ValueType::real      ? real_text(node.real)
              : node.type == ValueType::boolean ? std::string(node.integer != 0 ? "true" : "false")
                                                : integer_text(node.integer);
    else if (node.op == ExprOp::name)
      value = name_text(node.name);
    else if (node.op == ExprOp::element)
      value = element_text(expression, node);
    else
      value = fmt::format(fmt::runtime(form_of(node)), fmt::format("v{}", node.args[0]), fmt::format("v{}", node.args[1]),
                          fmt::format("v{}", node.args[2]));
    source += fmt::format("  const {} v{} = {};  // column {}\n", type_name(node.type), n, value, node.column);
  }
  return source + fmt::format("  return v{};\n}}\n", expression.root());
}

}  // namespace tilescope
