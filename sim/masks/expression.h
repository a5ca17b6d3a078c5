// Expression: a mask, or a change of scores, as a person types it: parsed into a typed tree that every evaluator reads.
//
//   "let w = 256; q >= kv && q - kv < w"
//
//        ┌ logical_and ┐              Nodes lie in a vector, operands before the nodes that use them. Equal parts are one node,
//   ┌ q >= kv ┐   ┌── less ──┐        so the tree is a graph. Functions and loops are written out while parsing: what is left has
//   q         kv  subtract  256       no loop and no call. An evaluator is one pass over the vector.
//                 q      kv
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/attention_problem.h"
#include "sim/core/result.h"
#include "sim/masks/captured_table.h"

namespace tilescope {

enum class ExprOp : std::uint8_t {
  constant,
  name,
  to_real,     // int -> float
  to_integer,  // float -> int, towards zero; what does not fit becomes the nearest int, NaN becomes 0
  negate,
  bit_not,
  logical_not,
  add,
  subtract,
  multiply,
  divide,        // floats only: an int is converted before
  floor_divide,  // ints, rounds down
  modulo,        // ints, has the sign of the divisor
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,  // keeps the sign
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_and,  // the right operand counts only where the left one is true
  logical_or,
  select,  // only the chosen operand counts
  absolute,
  minimum,
  maximum,
  floor,
  exp,
  exp2,
  log,
  tanh,
  sqrt,
  sigmoid,
  sin,
  cos,
  element  // of a table
};

/// What an expression knows by name.
enum class ExprName : std::uint8_t { score, b, h, q, kv, B, H, HKV, N, NK, D, scale, inf };
inline constexpr int expr_name_count = 13;
std::string_view to_string(ExprName name);

/// What a part of an expression changes with: bits.
enum Dependence : std::uint8_t { depends_on_b = 1, depends_on_h = 2, depends_on_q = 4, depends_on_kv = 8, depends_on_score = 16 };

struct ExprNode {
  ExprOp op = ExprOp::constant;
  ValueType type = ValueType::integer;
  ValueType compares = ValueType::integer;  // what a comparison compares
  ExprName name = ExprName::b;
  std::uint8_t dependence = 0;
  std::uint8_t operands = 0;
  std::array<std::int32_t, 4> args{};  // nodes before this one
  std::int32_t integer = 0;            // of an integer or boolean constant; the index of an element's table
  double real = 0;                     // of a real constant
  std::uint32_t column = 0;            // in the text, from 1
};

/// The sizes that an expression is parsed for, and knows by name.
struct ExprSizes {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, seq_q = 1, seq_kv = 1, head_dim = 1;
  bool operator==(const ExprSizes&) const = default;
};
ExprSizes sizes_of(const AttentionProblem& problem);

struct Expression {
  std::string text;  // as typed
  std::vector<ExprNode> nodes;
  TableList tables;
  ExprSizes sizes;

  std::int32_t root() const { return static_cast<std::int32_t>(nodes.size()) - 1; }
  ValueType type() const { return nodes.back().type; }
  std::uint8_t dependence() const { return nodes.back().dependence; }

  /// Returns whether a node reads table `number`. A text need not read each table that it was given.
  bool reads_table(std::size_t number) const;

  /// Appends an operation on earlier nodes, and returns its index. `compares` matters to comparisons only.
  std::int32_t append(ExprOp op, ValueType type, std::initializer_list<std::int32_t> args,
                      ValueType compares = ValueType::integer) {
    ExprNode node;
    node.op = op;
    node.type = type;
    node.compares = compares;
    for (const std::int32_t arg : args) {
      node.args[node.operands++] = arg;
      node.dependence |= nodes[static_cast<std::size_t>(arg)].dependence;
    }
    nodes.push_back(node);
    return root();
  }
};

/// Limits of an expression: what keeps every one of them from taking long.
inline constexpr std::size_t most_expression_bytes = 16384;
inline constexpr int most_expression_depth = 200;
inline constexpr std::size_t most_expression_nodes = 16384;
inline constexpr std::int64_t most_loop_rounds = 1024;

/// Parses a condition over b, h, q and kv.
/// Errors  one sentence that begins with "column N:": an unknown name, a wrong type, a table index of another rank, a division by
///         zero or an index outside a table where they are constant, too long, too deep, too many operations
Result<Expression> parse_mask_expression(std::string_view text, const ExprSizes& sizes, const TableList& tables = {});
/// Parses a number over score, b, h, q and kv: what replaces the score.
Result<Expression> parse_score_expression(std::string_view text, const ExprSizes& sizes, const TableList& tables = {});

/// Why no table may have this name; empty where it may.
Sentence table_name_fault(std::string_view name);

/// Returns the expression in the language itself, spaced alike, with shared parts as `let` names: it parses to an equal expression.
std::string to_text(const Expression& expression);

/// A function of the language: name, operands, what it does.
struct ExprFunction {
  std::string_view name;
  int operands;
  ExprOp op;
  std::string_view meaning;
};
std::span<const ExprFunction> expression_functions();
/// A name of the language and what it means, for help and completion.
struct ExprNameInfo {
  std::string_view name, meaning;
};
std::span<const ExprNameInfo> expression_names();

}  // namespace tilescope
