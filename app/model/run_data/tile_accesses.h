// TileAccesses: when each tile of one plane was read from or written to global memory, found once per simulation and plane for the
// HBM box.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "app/model/run_data/tile_span.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// Which plane and query rows a block of a launch owns, learned from a few blocks: both are linear in the block's coordinates.
class BlockMap {
 public:
  BlockMap(const TileProgram& program, int launch);
  /// False where the blocks probed are not in line; then every block has to be asked.
  bool known() const { return known_; }
  std::int64_t plane(std::int64_t block) const { return value(plane_, block); }
  std::int64_t first_row(std::int64_t block) const { return value(row_, block); }
  /// Rows of the first block. The last block of a plane may have fewer.
  std::int64_t rows() const { return rows_; }

 private:
  struct Linear {
    std::int64_t origin = 0, x = 0, y = 0, z = 0;
  };
  std::int64_t value(const Linear& linear, std::int64_t block) const;
  std::int64_t grid_x_ = 1, grid_y_ = 1, rows_ = 0;
  Linear plane_, row_;
  bool known_ = false;
};

/// A tile read or written, or a part of it, at the moment it landed.
struct TileEvent {
  double end = 0;                 // cycles
  std::int32_t row = 0, col = 0;  // of the tile grid
  bool store = false;
  std::int64_t moved = 1, of = 1;  // elements: those that moved, of those of the tile. A group may move its half
};

/// Times in groups, in one list: without one for each group, of which there may be hundreds of thousands.
class GroupedTimes {
 public:
  GroupedTimes() = default;
  /// `each(put)` calls put(group, time) for every time, in the same order whenever it is called.
  template <class Each>
  GroupedTimes(std::size_t groups, const Each& each);
  std::span<const double> of(std::size_t group) const;

 private:
  std::vector<std::uint32_t> begin_;  // by group, and the end of the last one
  std::vector<double> times_;
};

/// When each tile of one tensor was read (0) and written (1).
class TileTimes {
 public:
  TileTimes() = default;
  /// `events` in order of time; those outside the grid are left out. Parts count as one once they make up a tile.
  TileTimes(int rows, int cols, std::span<const TileEvent> events);

  std::span<const double> of(bool store, int row, int col) const;
  /// How many of the tiles `cols` of a row had been read (written) by `cycle`.
  std::int64_t used(bool store, int row, TileSpan cols, double cycle) const;

 private:
  int rows_ = 0, cols_ = 0;
  std::array<GroupedTimes, 2> all_;            // by tile
  std::array<std::vector<double>, 2> firsts_;  // the first of each tile; empty where no tile has one
};

/// One drawn cell, which stands for one tile or for several.
struct CellAccesses {
  const TileTimes* times = nullptr;
  TileSpan rows, cols;

  /// Fraction of the cell's tiles that have been read (written) by `cycle`; of many tiles, by one row of them in a few.
  double read_part(double cycle) const { return part(false, cycle); }
  double written_part(double cycle) const { return part(true, cycle); }
  /// How often its tiles have been read (written) by `cycle`; in all without one.
  std::int64_t reads(double cycle = forever) const { return count(false, cycle); }
  std::int64_t writes(double cycle = forever) const { return count(true, cycle); }
  /// When it is next read or written after `cycle`; past the last time, the first one. nullopt where it never is.
  std::optional<double> next_use(double cycle) const;

 private:
  static constexpr double forever = std::numeric_limits<double>::infinity();
  double part(bool store, double cycle) const;
  std::int64_t count(bool store, double cycle) const;
};

/// The drawn cells of one tensor. Nothing is sorted into them: a frame counts the tiles of each by when they were first used.
/// Limits   the TileTimes outlive it
class BoxAccesses {
 public:
  BoxAccesses() = default;
  BoxAccesses(const TileTimes& times, const TileCells& box)
      : times_(&times),
        grid_rows_(box.grid_rows),
        grid_cols_(box.grid_cols),
        shown_rows_(box.shown_rows),
        shown_cols_(box.shown_cols) {}
  CellAccesses cell(int row, int col) const {
    return {times_, tiles_of(row, grid_rows_, shown_rows_), tiles_of(col, grid_cols_, shown_cols_)};
  }

 private:
  const TileTimes* times_ = nullptr;
  int grid_rows_ = 0, grid_cols_ = 0, shown_rows_ = 0, shown_cols_ = 0;
};

class TileAccesses {
 public:
  /// Nothing was read or written yet.
  TileAccesses() = default;
  /// Loads and stores of the SMs in focus: of the others the trace does not know when a tile moved. Takes milliseconds for a large
  /// simulation: off the frame.
  TileAccesses(const Simulation& simulation, std::int64_t plane);

  std::int64_t plane() const { return plane_; }
  /// True when it has what every SM moved.
  bool of_all_sms() const { return of_all_sms_; }
  /// Of the drawn cells of `box`. Limits: this history outlives it.
  BoxAccesses cells(const TileCells& box) const { return {times_[box.tensor.index()], box}; }

 private:
  std::int64_t plane_ = 0;
  bool of_all_sms_ = true;
  std::array<TileTimes, most_tensors> times_;  // by tensor
};

}  // namespace tilescope
