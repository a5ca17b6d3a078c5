// The printer of expressions: nodes as text in the language itself.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/masks/expression.h"
#include "sim/masks/expression_operators.h"

namespace tilescope {

namespace {

int level_of(ExprOp op) {
  return std::ranges::find(binary_operators(), op, &BinaryOperator::op)->level;
}

/// Text of a number that reads back as the same.
std::string number_text(double value) {
  if (std::isinf(value)) return value < 0 ? "(-inf)" : "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

/// A node as text, and how tightly its outermost operator binds.
struct Piece {
  std::string text;
  int level = atom_level;
};

std::string bracketed(const Piece& piece, int lowest) {
  return piece.level >= lowest ? piece.text : fmt::format("({})", piece.text);
}

Piece piece_of(const Expression& expression, const ExprNode& node, const std::vector<Piece>& pieces) {
  const auto arg = [&](std::size_t i) -> const Piece& { return pieces[static_cast<std::size_t>(node.args[i])]; };
  switch (node.op) {
    case ExprOp::constant:
      if (node.type == ValueType::boolean) return {node.integer != 0 ? "true" : "false"};
      if (node.type == ValueType::real)
        return {number_text(node.real), node.real < 0 && !std::isinf(node.real) ? unary_level : atom_level};
      if (node.integer == std::numeric_limits<std::int32_t>::min()) return {"-2147483647 - 1", level_of(ExprOp::subtract)};
      return {fmt::format("{}", node.integer), node.integer < 0 ? unary_level : atom_level};
    case ExprOp::name:
      return {std::string(to_string(node.name))};
    case ExprOp::negate:
      return {fmt::format("-{}", bracketed(arg(0), atom_level)), unary_level};
    case ExprOp::bit_not:
      return {fmt::format("~{}", bracketed(arg(0), atom_level)), unary_level};
    case ExprOp::logical_not:
      return {fmt::format("!{}", bracketed(arg(0), atom_level)), unary_level};
    case ExprOp::select:
      return {fmt::format("{} ? {} : {}", bracketed(arg(0), 1), bracketed(arg(1), 1), bracketed(arg(2), 1)), 0};
    case ExprOp::element: {
      std::string text = expression.tables[static_cast<std::size_t>(node.integer)]->name + "[";
      for (std::size_t i = 0; i < node.operands; ++i) text += (i > 0 ? ", " : "") + arg(i).text;
      return {text + "]"};
    }
    default:
      break;
  }
  const BinaryOperator* row = nullptr;
  for (const BinaryOperator& each : binary_operators())
    if (row == nullptr && each.op == node.op) row = &each;
  if (row != nullptr && node.operands == 2)
    return {fmt::format("{} {} {}", bracketed(arg(0), row->level + (is_comparison(node.op) ? 1 : 0)), row->symbol,
                        bracketed(arg(1), row->level + 1)),
            row->level};
  std::string text;
  for (const ExprFunction& each : expression_functions())
    if (text.empty() && each.op == node.op && each.operands == node.operands) text = std::string(each.name) + "(";
  for (std::size_t i = 0; i < node.operands; ++i) text += (i > 0 ? ", " : "") + arg(i).text;
  return {text + ")"};
}

}  // namespace

std::string to_text(const Expression& expression) {
  constexpr std::size_t longest_piece = 120;  // before it becomes a name of its own
  std::vector<int> uses(expression.nodes.size(), 0);
  for (const ExprNode& node : expression.nodes)
    for (std::size_t i = 0; i < node.operands; ++i) ++uses[static_cast<std::size_t>(node.args[i])];
  std::string text;
  std::vector<Piece> pieces;
  int count = 0;
  const auto taken = [&](const std::string& name) {
    return std::any_of(expression.tables.begin(), expression.tables.end(), [&](const auto& table) { return table->name == name; });
  };
  for (std::size_t n = 0; n < expression.nodes.size(); ++n) {
    const ExprNode& node = expression.nodes[n];
    Piece piece = piece_of(expression, node, pieces);
    const bool leaf = node.operands == 0;
    if (!leaf && n + 1 < expression.nodes.size() && (uses[n] > 1 || piece.text.size() > longest_piece)) {
      std::string name;
      do name = fmt::format("t{}", ++count);
      while (taken(name));
      text += fmt::format("let {} = {}; ", name, piece.text);
      piece = {name};
    }
    pieces.push_back(std::move(piece));
  }
  return text + pieces.back().text;
}

}  // namespace tilescope
