// The language of masks and score changes: types, the parser, and the printer.
#include "sim/masks/expression.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "sim/core/refuse.h"
#include "sim/core/text.h"
#include "sim/masks/evaluate.h"
#include "sim/masks/expression_tokens.h"

namespace tilescope {

namespace {

constexpr std::int64_t most_parse_steps = 500000;  // loops and functions are parsed again each time they are written out

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

constexpr std::string_view reductions[] = {"sum", "any", "all", "min", "max"};

/// How tightly an operator binds; as in C.
struct Binary {
  std::string_view symbol;
  int level;
  ExprOp op;
};
constexpr Binary binaries[] = {{"||", 1, ExprOp::logical_or},    {"or", 1, ExprOp::logical_or},
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
constexpr int unary_level = 11, atom_level = 12, negation_level = 3;

const Binary* binary_of(const Token& token) {
  if (token.kind != TokenKind::symbol && token.kind != TokenKind::name) return nullptr;
  for (const Binary& row : binaries)
    if (row.symbol == token.text) return &row;
  return nullptr;
}

const Binary& row_of(ExprOp op) {
  return *std::find_if(std::begin(binaries), std::end(binaries), [&](const Binary& row) { return row.op == op; });
}

bool is_comparison(ExprOp op) {
  return op >= ExprOp::equal && op <= ExprOp::greater_equal;
}

class Parser {
 public:
  Parser(std::string_view text, const ExprSizes& sizes, const TableList& tables, bool has_score) : has_score_(has_score) {
    out_.text = std::string(text);
    out_.sizes = sizes;
    out_.tables = tables;
    tokens_ = tokens_of(out_.text);
  }

  Expression parse(ValueType wanted) {
    while (is_word("let")) definition();
    if (peek().kind == TokenKind::end) fail(refuse("column {}: the expression is missing", peek().column));
    std::int32_t root = expression();
    if (is_symbol(";")) ++at_;
    if (peek().kind != TokenKind::end) unexpected(phrase("an operator"));
    if (wanted == ValueType::boolean && type(root) != ValueType::boolean)
      fail(refuse("column {}: a mask is a condition, and this is {}: compare it, as in q >= kv", 1, with_article(type(root))));
    if (wanted == ValueType::real) {
      if (type(root) == ValueType::boolean)
        fail(refuse("column {}: a score is a number, and this is a bool: write where(condition, score, -inf)", 1));
      root = as_real(root);
    }
    finish(root);
    return std::move(out_);
  }

 private:
  struct Entry {
    std::string_view name;
    std::int32_t node = -1;  // of a value
    std::vector<std::string_view> parameters;
    std::size_t body = 0, body_end = 0, visible = 0;  // of a function: tokens, and how many entries it sees
    bool is_function = false;
  };

  // Tokens.
  const Token& peek() const { return tokens_[at_]; }
  bool is_symbol(std::string_view symbol) const { return peek().kind == TokenKind::symbol && peek().text == symbol; }
  bool is_word(std::string_view word) const { return peek().kind == TokenKind::name && peek().text == word; }
  [[noreturn]] void unexpected(const auto& wanted) const {
    const Token& token = peek();
    if (token.kind == TokenKind::end) fail(refuse("column {}: the expression ends where {} is needed", token.column, wanted));
    if (token.text == "=") fail(refuse("column {}: '=' defines a name after let: write == to compare", token.column));
    fail(refuse("column {}: '{}' stands where {} is needed", token.column, printable(token.text, 30), wanted));
  }
  void expect(std::string_view symbol) {
    if (!is_symbol(symbol)) unexpected(fmt::format("'{}'", symbol));
    ++at_;
  }

  void step() {
    if (++steps_ > most_parse_steps)
      fail(
          refuse("column {}: loops and functions come to more than {} parts: use smaller bounds", peek().column, most_parse_steps));
  }

  /// Counts one level of nesting for as long as it lives.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > most_expression_depth)
        fail(refuse("column {}: the expression is nested more than {} deep", parser_.peek().column, most_expression_depth));
    }
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  // Nodes.
  ValueType type(std::int32_t node) const { return out_.nodes[static_cast<std::size_t>(node)].type; }
  std::uint8_t dependence(std::int32_t node) const { return out_.nodes[static_cast<std::size_t>(node)].dependence; }
  const ExprValue<double>& known(std::int32_t node) const { return known_[static_cast<std::size_t>(node)]; }

  std::int32_t add(ExprNode node) {
    step();
    for (std::size_t i = 0; i < node.operands; ++i) node.dependence |= dependence(node.args[i]);
    std::string key(1, static_cast<char>(node.op));
    key += static_cast<char>(node.type);
    key += static_cast<char>(node.name);
    const auto append = [&](const auto& value) { key.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
    append(node.args);
    append(node.integer);
    append(node.real);
    const auto [found, is_new] = same_.try_emplace(std::move(key), static_cast<std::int32_t>(out_.nodes.size()));
    if (!is_new) return found->second;
    if (out_.nodes.size() >= most_expression_nodes)
      fail(refuse("column {}: the expression has more than {} operations with its loops and functions written out", node.column,
                  most_expression_nodes));
    const ExprInputs<double> inputs{&out_.sizes, &out_.tables, {}, 0};
    known_.push_back(evaluate_node<double>(node, known_, inputs));
    if (node.dependence == 0 && known_.back().fault) {
      bool own = true;
      for (std::size_t i = 0; i < node.operands; ++i) own = own && !known(node.args[i]).fault;
      if (own && node.op != ExprOp::element) fail(refuse("column {}: this divides by zero", node.column));
      if (own) {
        const CapturedTable& table = *out_.tables[static_cast<std::size_t>(node.integer)];
        fail(refuse("column {}: this index is outside {}", node.column, shape_of(table)));
      }
    }
    out_.nodes.push_back(node);
    return found->second;
  }
  static std::string shape_of(const CapturedTable& table) {
    std::string text;
    for (const std::int64_t length : table.shape) text += fmt::format("{}{}", text.empty() ? "" : " x ", length);
    return fmt::format("{} ({})", table.name, text);
  }

  std::int32_t make(ExprOp op, ValueType result, std::uint32_t column, std::initializer_list<std::int32_t> args) {
    ExprNode node;
    node.op = op;
    node.type = result;
    node.column = column;
    for (std::int32_t arg : args) node.args[node.operands++] = arg;
    if (is_comparison(op)) node.compares = type(node.args[0]);
    return add(node);
  }
  std::int32_t constant(std::int32_t value, ValueType of, std::uint32_t column) {
    ExprNode node;
    node.type = of;
    node.column = column;
    node.integer = value;
    return add(node);
  }
  std::int32_t real_constant(double value, std::uint32_t column) {
    ExprNode node;
    node.type = ValueType::real;
    node.column = column;
    node.real = value;
    return add(node);
  }
  std::uint32_t column_of(std::int32_t node) const { return out_.nodes[static_cast<std::size_t>(node)].column; }

  std::int32_t as_real(std::int32_t node) {
    if (type(node) == ValueType::real) return node;
    const ExprNode& from = out_.nodes[static_cast<std::size_t>(node)];
    if (from.op == ExprOp::constant) return real_constant(from.integer, from.column);
    return make(ExprOp::to_real, ValueType::real, column_of(node), {node});
  }
  void needs_number(std::int32_t node, const auto& what, std::uint32_t column) const {
    if (type(node) == ValueType::boolean)
      fail(refuse("column {}: {} takes numbers, and this is a bool: write where(condition, 1, 0)", column, what));
  }
  void needs_integer(std::int32_t node, const auto& what, std::uint32_t column) const {
    needs_number(node, what, column);
    if (type(node) == ValueType::real)
      fail(refuse("column {}: {} takes ints, and this is a float: write int(floor(x))", column, what));
  }
  void needs_condition(std::int32_t node, const auto& what, std::uint32_t column) const {
    if (type(node) != ValueType::boolean)
      fail(refuse("column {}: {} takes conditions, and this is {}: compare it, as in x != 0", column, what,
                  with_article(type(node))));
  }
  /// Makes both of one numeric type.
  ValueType agree(std::int32_t& a, std::int32_t& b) {
    if (type(a) == type(b)) return type(a);
    a = as_real(a);
    b = as_real(b);
    return ValueType::real;
  }

  std::int32_t combine(const Binary& row, std::int32_t a, std::int32_t b, std::uint32_t column) {
    const std::string what = fmt::format("'{}'", row.symbol);
    switch (row.op) {
      case ExprOp::logical_and:
      case ExprOp::logical_or:
        needs_condition(a, what, column);
        needs_condition(b, what, column);
        return make(row.op, ValueType::boolean, column, {a, b});
      case ExprOp::bit_and:
      case ExprOp::bit_or:
      case ExprOp::bit_xor:
        if (type(a) == ValueType::boolean && type(b) == ValueType::boolean) {
          const ExprOp op = row.op == ExprOp::bit_and  ? ExprOp::logical_and
                            : row.op == ExprOp::bit_or ? ExprOp::logical_or
                                                       : ExprOp::not_equal;
          return make(op, ValueType::boolean, column, {a, b});
        }
        if (type(a) == ValueType::boolean || type(b) == ValueType::boolean)
          fail(refuse("column {}: {} takes two ints or two conditions: put the comparison in brackets", column, what));
        [[fallthrough]];
      case ExprOp::shift_left:
      case ExprOp::shift_right:
      case ExprOp::floor_divide:
      case ExprOp::modulo:
        needs_integer(a, what, column);
        needs_integer(b, what, column);
        return make(row.op, ValueType::integer, column, {a, b});
      case ExprOp::equal:
      case ExprOp::not_equal:
        if (type(a) == ValueType::boolean && type(b) == ValueType::boolean) return make(row.op, ValueType::boolean, column, {a, b});
        [[fallthrough]];
      case ExprOp::less:
      case ExprOp::less_equal:
      case ExprOp::greater:
      case ExprOp::greater_equal:
        if (type(a) == ValueType::boolean && is_comparison(out_.nodes[static_cast<std::size_t>(a)].op))
          fail(refuse("column {}: a comparison cannot be chained: write a < b && b < c", column));
        needs_number(a, what, column);
        needs_number(b, what, column);
        agree(a, b);
        return make(row.op, ValueType::boolean, column, {a, b});
      case ExprOp::divide:
        needs_number(a, what, column);
        needs_number(b, what, column);
        a = as_real(a);
        b = as_real(b);
        if (dependence(b) == 0 && known(b).real == 0) fail(refuse("column {}: this divides by zero", column));
        return make(row.op, ValueType::real, column, {a, b});
      default: {
        needs_number(a, what, column);
        needs_number(b, what, column);
        const ValueType both = agree(a, b);
        return make(row.op, both, column, {a, b});
      }
    }
  }

  // The grammar.
  std::int32_t expression() {
    const Level level(*this);
    const std::int32_t condition = binary(1);
    if (!is_symbol("?")) return condition;
    const std::uint32_t column = peek().column;
    ++at_;
    const std::int32_t yes = expression();
    expect(":");
    const std::int32_t no = expression();
    return choose(condition, yes, no, column);
  }

  std::int32_t choose(std::int32_t condition, std::int32_t yes, std::int32_t no, std::uint32_t column) {
    needs_condition(condition, phrase("a choice"), column);
    if ((type(yes) == ValueType::boolean) != (type(no) == ValueType::boolean))
      fail(refuse("column {}: both results of a choice need one type: these are {} and {}", column, with_article(type(yes)),
                  with_article(type(no))));
    const ValueType both = agree(yes, no);
    return make(ExprOp::select, both, column, {condition, yes, no});
  }

  std::int32_t binary(int lowest) {
    std::int32_t left = unary();
    for (;;) {
      const Binary* row = binary_of(peek());
      if (row == nullptr || row->level < lowest) return left;
      const std::uint32_t column = peek().column;
      ++at_;
      const Level level(*this);
      const std::int32_t right = binary(row->level + 1);
      left = combine(*row, left, right, column);
    }
  }

  std::int32_t unary() {
    const Token token = peek();
    if (is_symbol("-") || is_symbol("+") || is_symbol("~") || is_symbol("!") || is_word("not")) {
      const Level level(*this);
      ++at_;
      // "not a < b" is "not (a < b)"; "!a" binds as in C.
      const std::int32_t of = token.text == "not" ? binary(negation_level) : unary();
      if (token.text == "+" || token.text == "-") {
        needs_number(of, fmt::format("'{}'", token.text), token.column);
        if (token.text == "+") return of;
        const ExprNode& node = out_.nodes[static_cast<std::size_t>(of)];
        if (node.op == ExprOp::constant)
          return node.type == ValueType::real
                     ? real_constant(-node.real, token.column)
                     : constant(static_cast<std::int32_t>(-std::int64_t{node.integer}), ValueType::integer, token.column);
        return make(ExprOp::negate, type(of), token.column, {of});
      }
      if (token.text == "~") {
        needs_integer(of, "'~'", token.column);
        return make(ExprOp::bit_not, ValueType::integer, token.column, {of});
      }
      needs_condition(of, fmt::format("'{}'", token.text), token.column);
      return make(ExprOp::logical_not, ValueType::boolean, token.column, {of});
    }
    return atom();
  }

  std::int32_t atom() {
    const Token token = peek();
    step();
    switch (token.kind) {
      case TokenKind::integer:
        ++at_;
        return constant(static_cast<std::int32_t>(token.number), ValueType::integer, token.column);
      case TokenKind::real:
        ++at_;
        return real_constant(token.number, token.column);
      case TokenKind::name:
        ++at_;
        return named(token);
      default:
        break;
    }
    if (!is_symbol("(")) unexpected(phrase("a value"));
    ++at_;
    const std::int32_t inside = expression();
    expect(")");
    return inside;
  }

  std::int32_t named(const Token& token) {
    if (token.text == "true" || token.text == "false")
      return constant(token.text == "true" ? 1 : 0, ValueType::boolean, token.column);
    if (std::find(std::begin(reductions), std::end(reductions), token.text) != std::end(reductions) && is_symbol("(") && is_loop())
      return loop(token);
    for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry)
      if (entry->name == token.text) {
        if (entry->is_function) return call(*entry, token);
        return entry->node;
      }
    for (std::size_t t = 0; t < out_.tables.size(); ++t)
      if (out_.tables[t]->name == token.text) return element(t, token);
    for (const ExprFunction& row : functions)
      if (row.name == token.text) return function(row, token);
    for (int n = 0; n < expr_name_count; ++n) {
      if (names[n].name != token.text) continue;
      const auto name = static_cast<ExprName>(n);
      if (name == ExprName::score && !has_score_)
        fail(refuse("column {}: a mask knows no score: use {} to change scores", token.column, Setting::score));
      ExprNode node;
      node.op = ExprOp::name;
      node.name = name;
      node.column = token.column;
      node.type =
          name == ExprName::score || name == ExprName::scale || name == ExprName::inf ? ValueType::real : ValueType::integer;
      constexpr std::uint8_t varies[] = {depends_on_score, depends_on_b, depends_on_h, depends_on_q, depends_on_kv};
      node.dependence = static_cast<std::size_t>(n) < std::size(varies) ? varies[n] : 0;
      return add(node);
    }
    unknown(token);
  }

  [[noreturn]] void unknown(const Token& token) const {
    std::vector<std::string_view> candidates;
    for (const Entry& entry : entries_) candidates.push_back(entry.name);
    for (const auto& table : out_.tables) candidates.push_back(table->name);
    for (const ExprNameInfo& row : names)
      if (has_score_ || row.name != "score") candidates.push_back(row.name);
    for (const ExprFunction& row : functions) candidates.push_back(row.name);
    const std::string name = printable(token.text, 40);
    if (const auto nearest = nearest_name(token.text, candidates))
      fail(refuse("column {}: unknown name '{}': did you mean {}?", token.column, name, *nearest));
    fail(refuse("column {}: unknown name '{}': use b, h, q, kv, B, H, HKV, N, NK, D, scale, inf, or the name of a {}", token.column,
                name, Setting::table));
  }

  std::vector<std::int32_t> arguments(std::string_view of, std::size_t wanted, std::uint32_t column, std::string_view close) {
    constexpr std::size_t most_values = 64;  // read, to say how many there are
    std::vector<std::int32_t> found;
    while (!is_symbol(close)) {
      if (!found.empty()) expect(",");
      found.push_back(expression());
      if (found.size() > most_values) break;
    }
    if (found.size() != wanted) {
      const Sentence count = close == "]"  ? (wanted == 1 ? phrase("1 index") : phrase("{} indices", wanted))
                             : wanted == 1 ? phrase("1 value")
                                           : phrase("{} values", wanted);
      fail(refuse("column {}: {} takes {}, not {}", column, of, count, found.size()));
    }
    ++at_;
    return found;
  }

  std::int32_t function(const ExprFunction& row, const Token& token) {
    if (!is_symbol("(")) fail(refuse("column {}: {} is a function: write {}(x)", token.column, row.name, row.name));
    ++at_;
    std::vector<std::int32_t> args = arguments(row.name, static_cast<std::size_t>(row.operands), token.column, ")");
    if (row.op == ExprOp::select) return choose(args[0], args[1], args[2], token.column);
    if (row.op == ExprOp::to_real && type(args[0]) == ValueType::boolean)
      return choose(args[0], real_constant(1, token.column), real_constant(0, token.column), token.column);
    if (row.op == ExprOp::to_integer && type(args[0]) == ValueType::boolean)
      return choose(args[0], constant(1, ValueType::integer, token.column), constant(0, ValueType::integer, token.column),
                    token.column);
    for (const std::int32_t arg : args) needs_number(arg, row.name, token.column);
    if (row.op == ExprOp::to_real) return as_real(args[0]);
    if (row.op == ExprOp::to_integer && type(args[0]) == ValueType::integer) return args[0];
    if (row.op == ExprOp::to_integer) return make(row.op, ValueType::integer, token.column, {args[0]});
    if (row.op == ExprOp::absolute) return make(row.op, type(args[0]), token.column, {args[0]});
    if (row.operands == 1) return make(row.op, ValueType::real, token.column, {as_real(args[0])});
    if (row.operands == 2) {
      const ValueType both = agree(args[0], args[1]);
      return make(row.op, both, token.column, {args[0], args[1]});
    }
    // clamp(x, low, high) = min(max(x, low), high)
    if (std::any_of(args.begin(), args.end(), [&](std::int32_t arg) { return type(arg) == ValueType::real; }))
      for (std::int32_t& arg : args) arg = as_real(arg);
    const ValueType all = type(args[0]);
    const std::int32_t raised = make(ExprOp::maximum, all, token.column, {args[0], args[1]});
    return make(ExprOp::minimum, all, token.column, {raised, args[2]});
  }

  std::int32_t element(std::size_t table, const Token& token) {
    const CapturedTable& of = *out_.tables[table];
    if (!is_symbol("["))
      fail(refuse("column {}: {} is a table with {}: write {}[q]", token.column, of.name,
                  of.shape.size() == 1 ? phrase("1 dimension") : phrase("{} dimensions", of.shape.size()), of.name));
    ++at_;
    const std::vector<std::int32_t> args = arguments(of.name, of.shape.size(), token.column, "]");
    ExprNode node;
    node.op = ExprOp::element;
    node.type = of.type;
    node.column = token.column;
    node.integer = static_cast<std::int32_t>(table);
    for (const std::int32_t arg : args) {
      needs_integer(arg, phrase("an index of {}", of.name), token.column);
      if ((dependence(arg) & depends_on_score) != 0)
        fail(refuse("column {}: an index of {} may not depend on the score", token.column, of.name));
      node.args[node.operands++] = arg;
    }
    return add(node);
  }

  std::int32_t call(const Entry& entry, const Token& token) {
    if (!is_symbol("("))
      fail(refuse("column {}: {} is a function: write {}({})", token.column, entry.name, entry.name,
                  entry.parameters.empty() ? "" : entry.parameters.front()));
    ++at_;
    const Level level(*this);
    const Entry callee = entry;  // the arguments may be calls, which move the entries
    const std::vector<std::int32_t> args = arguments(callee.name, callee.parameters.size(), token.column, ")");
    std::vector<Entry> hidden(entries_.begin() + static_cast<std::ptrdiff_t>(callee.visible), entries_.end());
    entries_.resize(callee.visible);
    for (std::size_t i = 0; i < args.size(); ++i) entries_.push_back({callee.parameters[i], args[i], {}, 0, 0, 0, false});
    const std::size_t after = std::exchange(at_, callee.body);
    const std::int32_t result = expression();
    if (at_ != callee.body_end) unexpected(phrase("the end of the function"));
    at_ = after;
    entries_.resize(callee.visible);
    entries_.insert(entries_.end(), hidden.begin(), hidden.end());
    return result;
  }

  /// Whether "(NAME in" follows.
  bool is_loop() const {
    return at_ + 2 < tokens_.size() && tokens_[at_ + 1].kind == TokenKind::name && tokens_[at_ + 2].kind == TokenKind::name &&
           tokens_[at_ + 2].text == "in";
  }

  std::int64_t bound() {
    const std::uint32_t column = peek().column;
    const std::int32_t node = binary(1);
    needs_integer(node, phrase("the bound of a loop"), column);
    if (dependence(node) != 0)
      fail(refuse("column {}: the bound of a loop must be constant: it may not use b, h, q, kv or score", column));
    return known(node).integer;
  }

  std::int32_t loop(const Token& token) {
    const Level level(*this);
    at_ += 1;
    const Token variable = peek();
    check_new_name(variable);
    at_ += 2;
    const std::int64_t first = bound();
    expect("..");
    const std::int64_t end = bound();
    expect(":");
    if (end - first > most_loop_rounds)
      fail(refuse("column {}: the loop has {} rounds: at most {}", token.column, end - first, most_loop_rounds));
    const std::size_t body = at_, entry = entries_.size();
    std::int32_t result = -1;
    std::size_t after = body;
    if (first >= end) {
      if (token.text == "min" || token.text == "max")
        fail(refuse("column {}: {} over no rounds has no value", token.column, token.text));
      skip_to_close();
      after = at_;
      result = token.text == "sum" ? constant(0, ValueType::integer, token.column)
                                   : constant(token.text == "all" ? 1 : 0, ValueType::boolean, token.column);
    }
    for (std::int64_t i = first; i < end; ++i) {
      at_ = body;
      entries_.push_back(
          {variable.text, constant(static_cast<std::int32_t>(i), ValueType::integer, variable.column), {}, 0, 0, 0, false});
      std::int32_t value = expression();
      entries_.resize(entry);
      after = at_;
      if (token.text == "any" || token.text == "all") {
        needs_condition(value, token.text, token.column);
      } else {
        needs_number(value, token.text, token.column);
      }
      if (result < 0) {
        result = value;
        continue;
      }
      if (token.text == "any" || token.text == "all") {
        result =
            make(token.text == "any" ? ExprOp::logical_or : ExprOp::logical_and, ValueType::boolean, token.column, {result, value});
      } else {
        const ValueType both = agree(result, value);
        const ExprOp op = token.text == "sum" ? ExprOp::add : token.text == "min" ? ExprOp::minimum : ExprOp::maximum;
        result = make(op, both, token.column, {result, value});
      }
    }
    at_ = after;
    expect(")");
    return result;
  }

  /// Leaves a body that is never run: up to the bracket that closes its loop.
  void skip_to_close() {
    for (int open = 0;; ++at_) {
      if (peek().kind == TokenKind::end) unexpected("')'");
      if (is_symbol("(") || is_symbol("[")) ++open;
      if ((is_symbol(")") || is_symbol("]")) && open-- == 0) return;
    }
  }

  void check_new_name(const Token& token) const {
    if (token.kind != TokenKind::name) fail(refuse("column {}: a name is needed here", token.column));
    if (const Sentence why = table_name_fault(token.text); !why.empty()) fail(refuse("column {}: {}", token.column, why));
    for (const Entry& entry : entries_)
      if (entry.name == token.text) fail(refuse("column {}: '{}' is already defined", token.column, printable(token.text, 40)));
    for (const auto& table : out_.tables)
      if (table->name == token.text) fail(refuse("column {}: '{}' is already a table", token.column, printable(token.text, 40)));
  }

  void definition() {
    ++at_;
    const Token name = peek();
    check_new_name(name);
    ++at_;
    Entry entry;
    entry.name = name.text;
    entry.visible = entries_.size();
    if (is_symbol("(")) {
      ++at_;
      while (!is_symbol(")")) {
        if (!entry.parameters.empty()) expect(",");
        check_new_name(peek());
        if (std::find(entry.parameters.begin(), entry.parameters.end(), peek().text) != entry.parameters.end())
          fail(refuse("column {}: '{}' is already a parameter", peek().column, printable(peek().text, 40)));
        entry.parameters.push_back(peek().text);
        ++at_;
      }
      ++at_;
      expect("=");
      entry.is_function = true;
      entry.body = at_;
      while (!is_symbol(";")) {
        if (peek().kind == TokenKind::end) unexpected("';'");
        ++at_;
      }
      entry.body_end = at_;
    } else {
      expect("=");
      entry.node = expression();
    }
    if (!is_symbol(";")) unexpected("';'");
    ++at_;
    entries_.push_back(std::move(entry));
  }

  /// Keeps what the root needs, in order, with the root last.
  void finish(std::int32_t root) {
    std::vector<std::int32_t> kept(out_.nodes.size(), -1);
    std::vector<bool> needed(out_.nodes.size(), false);
    needed[static_cast<std::size_t>(root)] = true;
    for (std::size_t n = static_cast<std::size_t>(root) + 1; n-- > 0;)
      if (needed[n])
        for (std::size_t i = 0; i < out_.nodes[n].operands; ++i) needed[static_cast<std::size_t>(out_.nodes[n].args[i])] = true;
    std::vector<ExprNode> nodes;
    for (std::size_t n = 0; n <= static_cast<std::size_t>(root); ++n) {
      if (!needed[n]) continue;
      ExprNode node = out_.nodes[n];
      for (std::size_t i = 0; i < node.operands; ++i) node.args[i] = kept[static_cast<std::size_t>(node.args[i])];
      kept[n] = static_cast<std::int32_t>(nodes.size());
      nodes.push_back(node);
    }
    out_.nodes = std::move(nodes);
  }

  bool has_score_;
  Expression out_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::int64_t steps_ = 0;
  std::vector<Entry> entries_;
  std::vector<ExprValue<double>> known_;  // values of the nodes that depend on nothing
  std::unordered_map<std::string, std::int32_t> same_;
};

Result<Expression> parsed(std::string_view text, const ExprSizes& sizes, const TableList& tables, ValueType wanted) {
  if (text.size() > most_expression_bytes)
    return refuse("the expression has {} characters: at most {}", text.size(), most_expression_bytes);
  for (std::size_t t = 0; t < tables.size(); ++t) {
    if (const Sentence why = table_name_fault(tables[t]->name); !why.empty()) return Error{why};
    for (std::size_t u = 0; u < t; ++u)
      if (tables[u]->name == tables[t]->name) return refuse("table {} is given twice", tables[t]->name);
  }
  try {
    return Parser(text, sizes, tables, wanted == ValueType::real).parse(wanted);
  } catch (const ExprFault& fault) { return fault.error; }
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
      if (node.integer == std::numeric_limits<std::int32_t>::min()) return {"-2147483647 - 1", row_of(ExprOp::subtract).level};
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
  const Binary* row = nullptr;
  for (const Binary& each : binaries)
    if (row == nullptr && each.op == node.op) row = &each;
  if (row != nullptr && node.operands == 2)
    return {fmt::format("{} {} {}", bracketed(arg(0), row->level + (is_comparison(node.op) ? 1 : 0)), row->symbol,
                        bracketed(arg(1), row->level + 1)),
            row->level};
  std::string text;
  for (const ExprFunction& each : functions)
    if (text.empty() && each.op == node.op && each.operands == node.operands) text = std::string(each.name) + "(";
  for (std::size_t i = 0; i < node.operands; ++i) text += (i > 0 ? ", " : "") + arg(i).text;
  return {text + ")"};
}

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

Result<Expression> parse_mask_expression(std::string_view text, const ExprSizes& sizes, const TableList& tables) {
  return parsed(text, sizes, tables, ValueType::boolean);
}

Result<Expression> parse_score_expression(std::string_view text, const ExprSizes& sizes, const TableList& tables) {
  return parsed(text, sizes, tables, ValueType::real);
}

bool Expression::reads_table(std::size_t number) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const ExprNode& node) {
    return node.op == ExprOp::element && node.integer == static_cast<std::int32_t>(number);
  });
}

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
