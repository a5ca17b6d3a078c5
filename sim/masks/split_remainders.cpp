// Finds remainders of q - kv, and copies what the new root needs.
#include "sim/masks/split_remainders.h"

#include <optional>
#include <utility>
#include <vector>

namespace tilescope {

namespace {

using Node = std::int32_t;

const ExprNode& node_of(const Expression& mask, Node n) {
  return mask.nodes[static_cast<std::size_t>(n)];
}

bool is_name(const ExprNode& node, ExprName name) {
  return node.op == ExprOp::name && node.name == name;
}

/// Two indices whose remainders by `divisor` are equal where those of their difference are 0.
struct Remainders {
  Node first, second, divisor;
};

/// Returns the parts of a node `(q - kv) % m == 0`; none where it is anything else.
std::optional<Remainders> remainders_of(const Expression& mask, const ExprNode& node) {
  if ((node.op != ExprOp::equal && node.op != ExprOp::not_equal) || node.compares != ValueType::integer) return std::nullopt;
  const ExprNode *remainder = &node_of(mask, node.args[0]), *zero = &node_of(mask, node.args[1]);
  if (remainder->op != ExprOp::modulo) std::swap(remainder, zero);
  if (remainder->op != ExprOp::modulo || zero->op != ExprOp::constant || zero->integer != 0) return std::nullopt;
  const ExprNode* distance = &node_of(mask, remainder->args[0]);
  if (distance->op == ExprOp::absolute) distance = &node_of(mask, distance->args[0]);
  if (distance->op != ExprOp::subtract || node_of(mask, remainder->args[1]).dependence != 0) return std::nullopt;
  // Only of the indices themselves: their difference fits an int, so it is not taken modulo 2^32.
  const ExprNode &a = node_of(mask, distance->args[0]), &b = node_of(mask, distance->args[1]);
  if (!(is_name(a, ExprName::q) && is_name(b, ExprName::kv)) && !(is_name(a, ExprName::kv) && is_name(b, ExprName::q)))
    return std::nullopt;
  return Remainders{distance->args[0], distance->args[1], remainder->args[1]};
}

}  // namespace

Expression split_remainders(const Expression& mask) {
  std::vector<std::optional<Remainders>> split;
  for (const ExprNode& node : mask.nodes) split.push_back(remainders_of(mask, node));

  std::vector<bool> needed(mask.nodes.size(), false);
  needed.back() = true;
  for (std::size_t n = mask.nodes.size(); n-- > 0;) {
    if (!needed[n]) continue;
    const auto need = [&](Node operand) { needed[static_cast<std::size_t>(operand)] = true; };
    if (split[n]) {
      for (const Node operand : {split[n]->first, split[n]->second, split[n]->divisor}) need(operand);
    } else {
      for (std::size_t a = 0; a < mask.nodes[n].operands; ++a) need(mask.nodes[n].args[a]);
    }
  }

  Expression out;
  out.text = mask.text;
  out.tables = mask.tables;
  out.sizes = mask.sizes;
  std::vector<Node> places(mask.nodes.size(), -1);  // of the nodes of `mask` in `out`
  const auto place_of = [&](Node n) { return places[static_cast<std::size_t>(n)]; };
  for (std::size_t n = 0; n < mask.nodes.size(); ++n) {
    if (!needed[n]) continue;
    ExprNode node = mask.nodes[n];
    if (split[n]) {
      const auto remainder = [&](Node index) {
        const Node made = out.append(ExprOp::modulo, ValueType::integer, {place_of(index), place_of(split[n]->divisor)});
        out.nodes.back().column = node.column;
        return made;
      };
      const Node first = remainder(split[n]->first), second = remainder(split[n]->second);
      out.append(node.op, ValueType::boolean, {first, second});
      out.nodes.back().column = node.column;
    } else {
      for (std::size_t a = 0; a < node.operands; ++a) node.args[a] = place_of(node.args[a]);
      out.nodes.push_back(node);
    }
    places[n] = out.root();
  }
  return out;
}

}  // namespace tilescope
