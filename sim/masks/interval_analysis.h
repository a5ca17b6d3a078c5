// IntervalAnalysis: what a mask can be over a block of queries and keys, without looking at its elements.
//
//   Each node gets the least and the greatest value that it can take in the block. An int that is a·q + b·kv + c is also kept in
//   that form, so that q − kv is exact however often q and kv occur. A condition is never, always, or either. What cannot be said
//   exactly is said too wide: the answer is then "either", and never wrong.
//
//          block q 128…255, kv 0…127:    q >= kv  always      q - kv < 64  either      together  either
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/mask.h"
#include "sim/masks/expression.h"

namespace tilescope {

/// Least and greatest element of any run of a table, in time that grows with the logarithm of the run.
class TableRanges {
 public:
  explicit TableRanges(const CapturedTable& table);

  struct Range {
    double low = 0, high = 0;
  };
  /// Limits  first <= last, both inside the table as one row of elements
  Range between(std::int64_t first, std::int64_t last) const;

 private:
  std::int64_t count_;
  std::vector<std::int32_t> low_integers_, high_integers_;
  std::vector<float> low_reals_, high_reals_;
};

/// The ranges of all tables of an expression: made once, shared by every analysis of it.
using TableRangesList = std::vector<std::shared_ptr<const TableRanges>>;
TableRangesList ranges_of(const TableList& tables);

class IntervalAnalysis {
 public:
  /// `expression` must outlive the analysis.
  IntervalAnalysis(const Expression& expression, TableRangesList ranges);

  void set_plane(std::int64_t b, std::int64_t h);

  struct Verdict {
    bool can_hold = true, can_fail = true;  // for some element
    bool can_fault = false;                 // an index outside its table, or a division by zero, for some element
  };
  /// Returns what a condition is over a block. Of a score expression only `can_fault` means something.
  Verdict operator()(TileRange queries, TileRange keys);

  /// What an int is over the last block: between two values, and linear in q and kv where `linear`.
  struct IntegerRange {
    std::int64_t low = 0, high = 0;
    std::int64_t per_query = 0, per_key = 0, constant = 0;
    bool linear = false;
  };
  IntegerRange integer() const;

 private:
  struct Interval {
    std::int64_t low = 0, high = 0;                         // ints; conditions as 0 and 1
    std::int64_t per_query = 0, per_key = 0, constant = 0;  // where `affine`
    float real_low = 0, real_high = 0;
    // Whole words: bytes are copied through the stack one by one, which stalls, and intervals are copied all the time.
    std::uint32_t affine = 0, can_be_nan = 0, can_fault = 0;
  };
  Interval interval_of(const ExprNode& node) const;
  Interval name_of(const ExprNode& node) const;
  Interval element_of(const ExprNode& node) const;
  Interval logic_of(const ExprNode& node, const Interval& a) const;
  Interval choice_of(const ExprNode& node, const Interval& a) const;
  static Interval converted(const ExprNode& node, const Interval& a);
  static Interval real_of(const ExprNode& node, const Interval& a, const Interval& b);
  Interval integer_of(const ExprNode& node, const Interval& a, const Interval& b) const;
  /// Return −a − less, and |a|.
  Interval negative_of(const Interval& a, std::int64_t less) const;
  Interval magnitude_of(const Interval& a) const;
  Interval comparison_of(const ExprNode& node, const Interval& a, const Interval& b) const;
  Interval affine(std::int64_t per_query, std::int64_t per_key, std::int64_t constant) const;
  const Interval& arg(const ExprNode& node, std::size_t i) const { return intervals_[static_cast<std::size_t>(node.args[i])]; }

  const Expression* expression_;
  TableRangesList ranges_;
  std::vector<Interval> intervals_;
  /// A node that changes from block to block: with the queries alone, with the keys alone, or with both.
  struct Varying {
    std::int32_t node = 0;
    bool by_query = false, by_key = false;
    bool ends_condition = false;  // one of several that all must hold: where it never does, the others do not matter
    std::uint64_t known_for = 0;  // the range of queries, or of keys, that its interval is for
  };
  std::vector<std::int32_t> once_;
  std::vector<Varying> varying_;
  std::uint64_t query_ranges_ = 0, key_ranges_ = 0;  // how many there were
  std::int64_t b_ = 0, h_ = 0;
  std::int64_t first_query_ = -1, last_query_ = -1, first_key_ = -1, last_key_ = -1;
};

}  // namespace tilescope
