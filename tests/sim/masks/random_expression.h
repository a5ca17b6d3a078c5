// Random expressions of the mask language, as text, for property tests.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>

#include <fmt/format.h>

#include "sim/masks/expression.h"

namespace tilescope {

/// How many expressions a test draws: `usual`, or TILESCOPE_EXPRESSIONS.
inline int expression_count(int usual) {
  const char* asked = std::getenv("TILESCOPE_EXPRESSIONS");
  return asked != nullptr ? std::atoi(asked) : usual;
}

/// Sizes and tables of a small problem; documents are runs of equal numbers, as packed sequences are.
struct RandomScope {
  ExprSizes sizes;
  TableList tables;
};

inline RandomScope random_scope(std::mt19937_64& random) {
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  RandomScope scope;
  scope.sizes.batch = pick(1, 2);
  scope.sizes.kv_heads = pick(1, 2);
  scope.sizes.heads = scope.sizes.kv_heads * pick(1, 3);
  scope.sizes.seq_q = pick(1, 3) == 1 ? pick(1, 8) : pick(1, 70);
  scope.sizes.seq_kv = pick(1, 3) == 1 ? pick(1, 8) : pick(1, 70);
  scope.sizes.head_dim = pick(1, 64);
  const std::int64_t longest = std::max(scope.sizes.seq_q, scope.sizes.seq_kv);
  CapturedTable doc;
  doc.name = "doc";
  doc.shape = {longest};
  for (std::int32_t i = 0, id = 0; i < longest; ++i) {
    if (pick(0, 9) == 0) ++id;
    doc.integers.push_back(id);
  }
  CapturedTable noise = doc;
  noise.name = "noise";
  for (std::int32_t& value : noise.integers) value = static_cast<std::int32_t>(pick(-3, 3));
  CapturedTable square;
  square.name = "square";
  square.type = ValueType::boolean;
  square.shape = {scope.sizes.seq_q, scope.sizes.seq_kv};
  for (std::int64_t i = 0; i < scope.sizes.seq_q * scope.sizes.seq_kv; ++i) square.integers.push_back(pick(0, 3) != 0 ? 1 : 0);
  CapturedTable slope;
  slope.name = "slope";
  slope.type = ValueType::real;
  slope.shape = {scope.sizes.batch, scope.sizes.heads};
  for (std::int64_t i = 0; i < scope.sizes.batch * scope.sizes.heads; ++i)
    slope.reals.push_back(static_cast<float>(pick(-8, 8)) / 4);
  for (CapturedTable* table : {&doc, &noise, &square, &slope})
    scope.tables.push_back(std::make_shared<const CapturedTable>(std::move(*table)));
  return scope;
}

class RandomExpression {
 public:
  RandomExpression(std::mt19937_64& random, bool has_score) : random_(random), has_score_(has_score) {}

  std::string condition(int depth) {
    if (depth <= 0)
      return one_of({"q >= kv", "kv <= q + NK - N", "q - kv < 7", "true", "false", "doc[q] == doc[kv]", "square[q, kv]", "h == 0",
                     "q // 4 == kv // 4"});
    switch (pick(0, 11)) {
      case 0:
      case 1:
        return fmt::format("({} && {})", condition(depth - 1), condition(depth - 1));
      case 2:
        return fmt::format("({} || {})", condition(depth - 1), condition(depth - 1));
      case 3:
        return fmt::format("!({})", condition(depth - 1));
      case 4:
        return fmt::format("({} ? {} : {})", condition(depth - 1), condition(depth - 1), condition(depth - 1));
      case 5:
        return fmt::format("(({}) {} ({}))", condition(depth - 1), one_of({"==", "!=", "&", "|", "^"}), condition(depth - 1));
      case 6:
        return fmt::format("({} {} {})", real(depth - 1), compare(), real(depth - 1));
      case 7:
        return fmt::format("{}(i{} in 0..{}: {})", one_of({"any", "all"}), ++loops_, pick(0, 3), condition(depth - 1));
      default:
        return fmt::format("({} {} {})", integer(depth - 1), compare(), integer(depth - 1));
    }
  }

  std::string integer(int depth) {
    if (depth <= 0) {
      if (pick(0, 3) == 0) return fmt::format("{}", pick(0, 4) == 0 ? pick(-2147483647, 2147483647) : pick(-5, 40));
      return one_of({"q", "kv", "q", "kv", "b", "h", "B", "H", "HKV", "N", "NK", "D", "doc[q]", "doc[kv]", "noise[q]", "noise[kv]",
                     "doc[kv % N % NK]"});
    }
    switch (pick(0, 15)) {
      case 0:
      case 1:
        return fmt::format("({} + {})", integer(depth - 1), integer(depth - 1));
      case 2:
      case 3:
        return fmt::format("({} - {})", integer(depth - 1), integer(depth - 1));
      case 4:
        return fmt::format("({} * {})", integer(depth - 1), integer(depth - 1));
      case 5:
        return fmt::format("({} // {})", integer(depth - 1), pick(0, 1) == 0 ? fmt::format("{}", nonzero()) : integer(depth - 1));
      case 6:
        return fmt::format("({} % {})", integer(depth - 1), pick(0, 1) == 0 ? fmt::format("{}", nonzero()) : integer(depth - 1));
      case 7:
        return fmt::format("({} {} {})", integer(depth - 1), one_of({"&", "|", "^", "<<", ">>"}),
                           pick(0, 1) == 0 ? fmt::format("{}", pick(0, 33)) : integer(depth - 1));
      case 8:
        return fmt::format("{}({}, {})", one_of({"min", "max"}), integer(depth - 1), integer(depth - 1));
      case 9:
        return fmt::format("clamp({}, {}, {})", integer(depth - 1), pick(-4, 4), pick(0, 40));
      case 10:
        return fmt::format("{}({})", one_of({"abs", "-", "~"}), integer(depth - 1));
      case 11:
        return fmt::format("({} ? {} : {})", condition(depth - 1), integer(depth - 1), integer(depth - 1));
      case 12:
        return fmt::format("{}[{}]", one_of({"doc", "noise"}),
                           pick(0, 2) == 0 ? index(depth - 1) : fmt::format("clamp({}, 0, min(N, NK) - 1)", index(depth - 1)));
      case 13:
        return fmt::format("int({})", pick(0, 1) == 0 ? real_without_score(depth - 1) : condition(depth - 1));
      case 14:
        return fmt::format("{}(i{} in {}..{}: {})", one_of({"sum", "min", "max"}), ++loops_, pick(-2, 0), pick(1, 3),
                           integer(depth - 1));
      default:
        return fmt::format("(q - kv) {} {}", one_of({"+", "-", "*", "//", "%"}), nonzero());
    }
  }

  std::string real(int depth) {
    if (depth <= 0)
      return has_score_ && pick(0, 1) == 0 ? "score"
                                           : one_of({"0.5", "-1.25", "1e3", "scale", "inf", "-inf", "slope[b, h]", "0.0", "2.5"});
    switch (pick(0, 9)) {
      case 0:
      case 1:
        return fmt::format("({} {} {})", real(depth - 1), one_of({"+", "-", "*"}), real(depth - 1));
      case 2:
        return fmt::format("({} / {})", pick(0, 1) == 0 ? real(depth - 1) : integer(depth - 1),
                           pick(0, 1) == 0 ? "4" : one_of({"(h + 1)", "(q + 1.5)", "scale"}));
      case 3:
        return fmt::format("{}({})", one_of({"abs", "floor", "exp", "exp2", "log", "tanh", "sqrt", "sigmoid", "sin", "cos", "-"}),
                           real(depth - 1));
      case 4:
        return fmt::format("{}({}, {})", one_of({"min", "max"}), real(depth - 1), real(depth - 1));
      case 5:
        return fmt::format("where({}, {}, {})", condition(depth - 1), real(depth - 1), real(depth - 1));
      case 6:
        return fmt::format("slope[b, h] * (q - kv)");
      case 7:
        return fmt::format("clamp({}, -1, {})", real(depth - 1), real(depth - 1));
      default:
        return fmt::format("float({})", integer(depth - 1));
    }
  }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(random_); }
  std::int64_t nonzero() {
    const std::int64_t value = pick(1, 12);
    return pick(0, 3) == 0 ? -value : value;
  }
  std::string one_of(std::initializer_list<const char*> texts) {
    return texts.begin()[pick(0, static_cast<std::int64_t>(texts.size()) - 1)];
  }
  std::string compare() { return one_of({"==", "!=", "<", "<=", ">", ">="}); }
  std::string real_without_score(int depth) {
    const bool had = std::exchange(has_score_, false);
    std::string text = real(depth);
    has_score_ = had;
    return text;
  }

  /// An index may not depend on the score.
  std::string index(int depth) {
    const bool had = std::exchange(has_score_, false);
    std::string text = integer(depth);
    has_score_ = had;
    return text;
  }

  std::mt19937_64& random_;
  bool has_score_;
  int loops_ = 0;
};

}  // namespace tilescope
