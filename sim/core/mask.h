// Mask: which keys each query sees, element by element and tile by tile.
//
//            key tiles j →            causal, aligned bottom right:
//            0    1    2                 █ full   ◣ partial   · empty, never loaded
//   i = 0  [ ◣    ·    · ]
//   i = 1  [ █    ◣    · ]
//   i = 2  [ █    █    ◣ ]
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/core/attention_problem.h"
#include "sim/core/result.h"
#include "sim/core/tensor.h"

namespace tilescope {

/// A run of rows (of Q, or of K and V): the last tile of a sequence can be short.
struct TileRange {
  std::int64_t first = 0, count = 0;
  std::int64_t end() const { return first + count; }
  bool operator==(const TileRange&) const = default;
};

enum class TileVisibility : std::uint8_t {
  empty,    // no query of the tile sees a key of it: it is never loaded
  partial,  // masked element by element
  full      // every query sees every key: no mask is applied
};

/// What the keys that a plane sees depend on: its batch element, its head, both or neither. If neither, one list serves all planes.
struct MaskPlanes {
  bool by_batch = false, by_head = false;
};

/// A rectangle of tiles that are alike: query tiles [first_row, end_row) and key tiles [first_col, end_col).
struct TileBox {
  std::int64_t first_row = 0, end_row = 0, first_col = 0, end_col = 0;
  TileVisibility visibility = TileVisibility::empty;
  bool by_analysis = false;  // decided without looking at elements
  std::int64_t tiles() const { return (end_row - first_row) * (end_col - first_col); }
};

/// How much of a mask is looked at before it is used.
struct MaskScope {
  std::optional<std::int64_t> plane = {};  // this one alone, for a picture of it, and no score; absent: all
  std::function<bool()> go_on = {};        // asked now and then; false cancels
};

class Mask {
 public:
  virtual ~Mask() = default;
  /// Returns whether `query` of a query plane sees `key`.
  virtual bool visible(std::int64_t plane, std::int64_t query, std::int64_t key) const = 0;
  /// Returns what the queries see of the keys, exactly: never partial where the tile is empty or full. Neither range is empty.
  virtual TileVisibility tile(std::int64_t plane, TileRange queries, TileRange keys) const = 0;
  /// Returns the class of a query tile. Tiles of one class with equally many rows see the same key tiles in the same way.
  virtual std::int64_t row_class(std::int64_t plane, std::int64_t query_tile) const = 0;

  virtual MaskPlanes planes() const { return {}; }
  /// Checks that the mask can be used with a problem.
  /// Errors  a mask that was made for other sizes: both sizes
  virtual Status fits(const AttentionProblem& problem) const;
  /// Calls `found` for every tile of a plane, once. The key tiles of a query tile come in ascending order.
  virtual void walk(const AttentionProblem& problem, std::int64_t plane, const TileShape& tile,
                    const std::function<void(const TileBox&)>& found) const;
  /// Counts the visible elements of a rectangle.
  virtual std::int64_t count_visible(std::int64_t plane, TileRange queries, TileRange keys) const;
};

/// A matrix of booleans, one for each query and key; the same for every plane.
class MatrixMask final : public Mask {
 public:
  /// `visible` has one entry an element, row by row. Limits: rows x cols entries.
  MatrixMask(std::int64_t rows, std::int64_t cols, std::vector<bool> visible);

  bool visible(std::int64_t plane, std::int64_t query, std::int64_t key) const override;
  TileVisibility tile(std::int64_t plane, TileRange queries, TileRange keys) const override;
  std::int64_t row_class(std::int64_t plane, std::int64_t query_tile) const override;
  Status fits(const AttentionProblem& problem) const override;

 private:
  std::int64_t rows_, cols_;
  std::vector<bool> visible_;
  std::vector<std::int64_t> counts_;  // visible elements above and left of each element: a summed-area table
};

/// Returns the mask of a problem: its own, otherwise the causal one if `causal` is set, otherwise one that hides nothing.
std::shared_ptr<const Mask> mask_of(const AttentionProblem& problem);
/// Returns the plane of the mask's lists that a query plane reads: [B or 1, H or 1].
std::int64_t mask_plane_of(const AttentionProblem& problem, std::int64_t plane);
/// Returns the plane of tensors with these planes that query plane `plane` reads or writes.
std::int64_t plane_of(const AttentionProblem& problem, Planes planes, std::int64_t plane);

}  // namespace tilescope
