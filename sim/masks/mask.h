// Mask: which keys each query sees, element by element and tile by tile.
//
//            key tiles j →            causal, aligned bottom right:
//            0    1    2                 █ full   ◣ partial   · empty, never loaded
//   i = 0  [ ◣    ·    · ]
//   i = 1  [ █    ◣    · ]
//   i = 2  [ █    █    ◣ ]
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/attention_problem.h"

namespace tilescope {

/// A run of rows (of Q, or of K and V): the last tile of a sequence can be short.
struct TileRange {
  std::int64_t first = 0, count = 0;
  std::int64_t end() const { return first + count; }
};

enum class TileVisibility : std::uint8_t {
  empty,    // no query of the tile sees a key of it: it is never loaded
  partial,  // masked element by element
  full      // every query sees every key: no mask is applied
};

class Mask {
 public:
  virtual ~Mask() = default;
  /// Whether `query` of a query plane sees `key`.
  virtual bool visible(std::int64_t plane, std::int64_t query, std::int64_t key) const = 0;
  /// Exact: never partial where the tile is empty or full. Both ranges hold at least one element.
  virtual TileVisibility tile(std::int64_t plane, TileRange queries, TileRange keys) const = 0;
  /// Two query tiles of as many rows and of one number see the same tiles in the same way.
  virtual std::int64_t row_class(std::int64_t plane, std::int64_t query_tile) const = 0;
};

/// A mask that says for each query and key whether it is visible; the same for every plane.
class MatrixMask final : public Mask {
 public:
  /// `visible` has one entry an element, row by row. Limits: rows x cols entries.
  MatrixMask(std::int64_t rows, std::int64_t cols, std::vector<bool> visible);

  bool visible(std::int64_t plane, std::int64_t query, std::int64_t key) const override;
  TileVisibility tile(std::int64_t plane, TileRange queries, TileRange keys) const override;
  std::int64_t row_class(std::int64_t plane, std::int64_t query_tile) const override;

 private:
  std::int64_t cols_;
  std::vector<bool> visible_;
  std::vector<std::int64_t> counts_;  // visible elements above and left of each element: a summed-area table
};

/// The mask of a problem: its own, else the causal one, else none.
std::shared_ptr<const Mask> mask_of(const AttentionProblem& problem);

}  // namespace tilescope
