// KernelParts: what each part of an expression changes with, and how large its numbers become.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/masks/evaluate.h"
#include "sim/masks/expression.h"
#include "sim/masks/kernel_source.h"

namespace tilescope {

/// Ints below it are exact in fp32.
inline constexpr std::int64_t exact_float = std::int64_t{1} << 24;
/// Sums of numbers below it are not taken modulo 2^32.
inline constexpr std::int64_t safe_int = std::int64_t{1} << 30;

class KernelParts {
 public:
  using Node = std::int32_t;
  /// A sum of parts that are no element's: sign and node each.
  struct Linear {
    std::vector<std::pair<int, Node>> parts;
    int keys = 0;  // the factor of kv
    std::int64_t bound = 0;
  };

  /// The expression must outlive it.
  explicit KernelParts(const Expression& expression);

  static std::size_t index(Node n) { return static_cast<std::size_t>(n); }
  const ExprNode& node(Node n) const { return e_.nodes[index(n)]; }
  KernelLevel level(Node n) const { return levels_[index(n)]; }
  /// Returns the value of a part that changes with nothing.
  const ExprValue<float>& value_of(Node n) const { return values_[index(n)]; }
  /// Returns whether a part that is no element's is kept in shared memory.
  bool is_kept(Node n) const;
  /// Returns an int of an element as a sum; nullopt where it is none, or could overflow.
  std::optional<Linear> linear(Node n) const;
  /// Adds an int, or subtracts it where `sign` is -1. Returns false where it is no sum.
  bool add_parts(Node n, int sign, Linear& sum) const;

 private:
  KernelLevel level_of(const ExprNode& node, bool reads) const;
  std::int64_t bound_of(const ExprNode& node) const;
  std::int64_t size_of(ExprName name) const;
  int cost(Node n, std::set<Node>& seen) const;

  const Expression& e_;
  std::vector<KernelLevel> levels_;
  std::vector<bool> reads_;           // a table
  std::vector<std::int64_t> bounds_;  // the greatest magnitude of an int
  std::vector<ExprValue<float>> values_;
};

}  // namespace tilescope
