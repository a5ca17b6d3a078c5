// TableGradient: how the gradient of a captured table follows from the gradients of the scores.
//
//   score + slope[h] * (kv - q)         d slope[h]      += dS · (kv - q)        of all q and kv
//   score + bias[q - kv + NK - 1]       d bias[i]       += dS                   along a diagonal
//
//   A table may be read at several places of an expression. Each has an index and a factor, the derivative of the score by what is
//   read. Which elements of a tile share an element of the table decides how a block adds up before it writes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/mask.h"
#include "sim/core/result.h"
#include "sim/masks/expression.h"

namespace tilescope {

/// What the index of a read changes with inside a head, and so which scores add to one element of the table.
enum class TableReach : std::uint8_t {
  head,      // nothing: slope[h]                            all of a head
  query,     // q: bias[q]                                   a row
  key,       // kv: bias[h, kv]                              a column
  distance,  // q - kv: bias[q - kv + NK - 1]                a diagonal
  pair       // anything else: bias[q, kv], bias[bucket[q - kv + NK - 1]]
};
inline constexpr int table_reach_count = 5;

/// The most tables with a gradient in one run, and the most places at which an expression reads them.
inline constexpr std::size_t most_table_gradients = 4, most_table_reads = 8;

/// A table whose gradient is wanted. `in_order`: added in one order, so that every run gives the same bits.
struct TableGradientChoice {
  std::string name;
  bool in_order = false;
  bool operator==(const TableGradientChoice&) const = default;
};
/// Reads "bias" or "bias:in_order".
/// Errors  another word behind the colon
Result<TableGradientChoice> parse_table_gradient(std::string_view text);

/// Elements of a table: rows of its last axis, and columns along that axis. No rows or no columns: none.
struct TableBox {
  std::int64_t row = 0, rows = 0, col = 0, cols = 0;
  bool empty() const { return rows <= 0 || cols <= 0; }
  bool operator==(const TableBox&) const = default;
};

/// One read of a table.
class TableRead {
 public:
  TableReach reach = TableReach::pair;
  int per_query = 0, per_key = 0;    // what a query, and a key, more adds to the index along the last axis; 0 for a pair
  Expression index;                  // an int: the element, counted over the whole table; -1 outside of it
  std::optional<Expression> factor;  // the derivative of the score by what is read; absent: 1, or the derivative by the score
  bool takes_slope = false;          // the factor is the derivative of the score change by the score
  std::uint32_t column = 0;          // of the read in the text

  /// Returns the elements that a tile of a plane may add to.
  TableBox box(std::int64_t plane, TileRange queries, TileRange keys) const;
  /// Returns the element that query 0 and key 0 of a plane would read.
  struct Origin {
    std::int64_t row = 0, col = 0;
  };
  Origin origin(std::int64_t plane) const;
  /// Returns whether box() holds only elements that the tile does add to.
  bool is_exact() const { return exact_; }
  /// Returns the index where it may lie outside of the table too, and the factor without what it does not need.
  Expression unbounded_index() const;
  Expression used_factor() const;
  /// Returns whether a row of the table lies along the queries, and its rows along the keys, as those of bias[kv, q] do.
  bool is_flipped() const { return flipped_; }
  /// Returns the elements of a row of the table.
  std::int64_t table_cols() const { return cols_; }

 private:
  friend class TableGradientMaker;
  /// The row, or the column, of an index: linear in q and kv, or anything between two values. By plane.
  struct Line {
    std::int64_t per_query = 0, per_key = 0, constant = 0, low = 0, high = 0;
  };
  std::vector<Line> row_, col_;
  std::int64_t rows_ = 1, cols_ = 1;
  bool linear_ = true, exact_ = true, flipped_ = false, inside_ = true;
};

/// Where the sums of a read whose additions are in order are kept, in rows and columns of floats:
///
///   reach      row                      columns of a block that owns query tile i, or of a pair of tiles i, j
///   head       plane                    i
///   query      plane                    its queries
///   key        plane and query tile     the keys of tile j
///   distance   plane and query tile     query minus key, from the least one of the pair on, in a space of Br + Bc
class TableParts {
 public:
  TableParts(const TableRead& read, const AttentionProblem& problem, const TileShape& tile);

  std::int64_t rows() const { return planes_ * (by_tile_ ? query_tiles_ : 1); }
  std::int64_t cols() const;
  /// `j` and `keys` matter only to sums of a pair of tiles.
  TableBox box(std::int64_t plane, std::int64_t i, TileRange queries, std::int64_t j, TileRange keys) const;

 private:
  TableReach reach_;
  std::int64_t planes_, query_tiles_, key_tiles_, seq_q_, seq_kv_, window_;
  bool by_tile_;
};

struct TableGradient {
  std::shared_ptr<const CapturedTable> table;
  bool in_order = false;
  std::vector<TableRead> reads;

  std::int64_t rows() const { return table->elements() / cols(); }
  std::int64_t cols() const { return table->shape.back(); }
};

/// Returns the part of a table that block `n` of `blocks` fills with zeros. Together the parts are the whole table.
TableBox table_share(std::int64_t rows, std::int64_t cols, std::int64_t n, std::int64_t blocks);

/// Finds the reads of the wanted tables.
/// Errors  a name that the expression does not read; a table of ints or bools; one whose numbers no score changes with, because
/// they
///         are only compared or rounded; too many tables or reads; a fixed order for an index of two axes
Result<std::vector<TableGradient>> table_gradients(const Expression& score, const std::vector<TableGradientChoice>& wanted);

}  // namespace tilescope
