// The parser of masks and score changes. It also checks types, and computes what is constant.
#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "sim/core/refuse.h"
#include "sim/core/text.h"
#include "sim/masks/evaluate.h"
#include "sim/masks/expression.h"
#include "sim/masks/expression_operators.h"
#include "sim/masks/expression_tokens.h"

namespace tilescope {

namespace {

constexpr std::int64_t most_parse_steps = 500000;  // loops and functions are parsed again each time they are written out

constexpr std::string_view reductions[] = {"sum", "any", "all", "min", "max"};

const BinaryOperator* binary_of(const Token& token) {
  if (token.kind != TokenKind::symbol && token.kind != TokenKind::name) return nullptr;
  for (const BinaryOperator& row : binary_operators())
    if (row.symbol == token.text) return &row;
  return nullptr;
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
    check_fits(node);
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
  /// Refuses what would be taken modulo 2^32 for every element, or shift every bit out: nobody means that. Where a value depends on
  /// the element, ints wrap as on the GPU.
  void check_fits(const ExprNode& node) const {
    if (node.type != ValueType::integer || node.operands != 2) return;
    const auto is_known = [&](std::size_t i) { return dependence(node.args[i]) == 0 && !known(node.args[i]).fault; };
    const bool shifts = node.op == ExprOp::shift_left || node.op == ExprOp::shift_right;
    if (shifts && is_known(1) && (known(node.args[1]).integer < 0 || known(node.args[1]).integer > 31))
      fail(refuse("column {}: a shift is by 0 to 31 bits, and this is by {}", node.column, known(node.args[1]).integer));
    if (!is_known(0) || !is_known(1)) return;
    const std::int64_t a = known(node.args[0]).integer, b = known(node.args[1]).integer;
    const std::int64_t exact = node.op == ExprOp::add          ? a + b
                               : node.op == ExprOp::subtract   ? a - b
                               : node.op == ExprOp::multiply   ? a * b
                               : node.op == ExprOp::shift_left ? a * (std::int64_t{1} << b)
                                                               : 0;
    if (exact < std::numeric_limits<std::int32_t>::min() || exact > std::numeric_limits<std::int32_t>::max())
      fail(refuse("column {}: this is {}, and an int has 32 bits", node.column, exact));
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

  std::int32_t combine(const BinaryOperator& row, std::int32_t a, std::int32_t b, std::uint32_t column) {
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
      const BinaryOperator* row = binary_of(peek());
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
    for (const ExprFunction& row : expression_functions())
      if (row.name == token.text) return function(row, token);
    for (int n = 0; n < expr_name_count; ++n) {
      if (expression_names()[n].name != token.text) continue;
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
    for (const ExprNameInfo& row : expression_names())
      if (has_score_ || row.name != "score") candidates.push_back(row.name);
    for (const ExprFunction& row : expression_functions()) candidates.push_back(row.name);
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

}  // namespace

Result<Expression> parse_mask_expression(std::string_view text, const ExprSizes& sizes, const TableList& tables) {
  return parsed(text, sizes, tables, ValueType::boolean);
}

Result<Expression> parse_score_expression(std::string_view text, const ExprSizes& sizes, const TableList& tables) {
  return parsed(text, sizes, tables, ValueType::real);
}

}  // namespace tilescope
