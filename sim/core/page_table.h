// PageTable: where the keys and values of each sequence lie if K and V are cut into pages, as servers of many sequences do.
//
//   batch element b, key kv ──► page = table[b, kv / P] ──► row page·P + kv % P of the pool, in the plane of its key head
//
//   table   [B, ⌈Nk/P⌉]           int32; the heads of a sequence share its row
//   pool    [Hkv, pages·P, d]     of K, and another one of V; the last page of a sequence may be partly filled
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/core/tensor.h"

namespace tilescope {

class PageTable {
 public:
  /// The most pages of a pool. The tile machine keeps a page's number as fp32, which is exact up to here.
  static constexpr std::int64_t most_pages = std::int64_t{1} << 24;

  /// Needs a problem with pages. The order `shuffled` is the same in every run.
  explicit PageTable(const AttentionProblem& problem);

  std::int64_t page_size() const { return page_size_; }
  std::int64_t pages_each() const { return pages_each_; }
  std::int64_t page(std::int64_t sequence, std::int64_t logical) const {
    return pages_[static_cast<std::size_t>(sequence * pages_each_ + logical)];
  }
  /// The sequence that holds a page of the pool, and its number there.
  struct Owner {
    std::int64_t sequence = 0, logical = 0;
  };
  Owner owner(std::int64_t page) const {
    const std::int64_t number = owners_[static_cast<std::size_t>(page)];
    return {number / pages_each_, number % pages_each_};
  }

  /// Returns whether a tensor lies in pages: K and V do.
  static bool holds(Tensor tensor) { return tensor->planes == Planes::key && tensor->rows == Axis::key; }
  /// Returns the place of a tile, of one page at most, in the pool. Tiles of other tensors lie where they are.
  TileRef place(const TileRef& tile) const;
  /// Returns whether a tile lies in more than one page.
  bool is_parted(const TileRef& tile) const { return holds(tile.tensor) && tile.row % page_size_ + tile.rows > page_size_; }
  /// Calls f(part) for the rows that a tile has in each page, in order. A tile of another tensor is one part.
  template <class F>
  void for_each_part(const TileRef& tile, F&& f) const {
    TileRef part = tile;
    const std::int32_t end = tile.row + tile.rows;
    while (part.row < end) {
      part.rows = is_parted(part) ? static_cast<std::int32_t>(page_size_ - part.row % page_size_) : part.rows;
      f(part);
      part.row += part.rows;
      part.rows = end - part.row;
    }
  }

 private:
  std::int64_t page_size_, pages_each_, kv_heads_;
  std::vector<std::int32_t> pages_;   // by sequence and logical page
  std::vector<std::int32_t> owners_;  // by page of the pool: sequence * pages_each_ + logical page
};

/// Returns the entries from one sequence's row of the table in HBM to the next: rows start on sectors.
std::int64_t page_pitch(const AttentionProblem& problem);

/// Returns the rows of K, and of V, in the pool of a problem with pages, for each key head.
std::int64_t pool_rows(const AttentionProblem& problem);

/// Returns the page table of a problem; null if its K and V have no pages.
std::shared_ptr<const PageTable> page_table_of(const AttentionProblem& problem);

/// Returns a page size near the problem's that suits the key tile, has a pool that can be numbered, and passes `fits`; nullopt if
/// none was found.
std::optional<std::int64_t> page_size_that_fits(const AttentionProblem& problem, const TileShape& tile,
                                                const std::function<bool(const AttentionProblem&)>& fits = nullptr);

/// Checks the pages against the key tile. A key tile lies in one page, or fills several.
/// Errors  neither of page and key tile divides the other; too large a pool
Status check_pages(const AttentionProblem& problem, const TileShape& tile);

}  // namespace tilescope
