// TileHistory: when each tile of one plane was read from or written to global memory, found once per simulation and plane for the
// HBM box.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "app/stage/stage_layout.h"
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

 private:
  struct Linear {
    std::int64_t origin = 0, x = 0, y = 0, z = 0;
  };
  std::int64_t value(const Linear& linear, std::int64_t block) const;
  std::int64_t grid_x_ = 1, grid_y_ = 1;
  Linear plane_, row_;
  bool known_ = false;
};

/// One tile read or written, at the moment it landed.
struct TileEvent {
  double end = 0;  // cycles
  Tensor tensor = Tensor::q;
  std::int32_t row = 0, col = 0;  // of the tile grid
  bool store = false;
  bool first = false;  // of its kind on this tile
};

/// Events of one drawn cell, which stands for one tile or for several.
struct CellHistory {
  int tiles = 0;                                  // that the cell stands for
  std::vector<double> first_reads, first_writes;  // of each tile, in order of time
  std::vector<double> reads, writes;              // all of them

  /// Fraction of the cell's tiles that have been read (written) by `cycle`.
  double read_part(double cycle) const { return part(first_reads, cycle); }
  double written_part(double cycle) const { return part(first_writes, cycle); }
  /// When it is next read or written after `cycle`; past the last time, the first one. nullopt where it never is.
  std::optional<double> next_use(double cycle) const;
  static std::int64_t count(const std::vector<double>& times, double cycle);

 private:
  double part(const std::vector<double>& times, double cycle) const;
};

class TileHistory {
 public:
  /// Nothing was read or written yet.
  TileHistory() = default;
  /// Loads are those of the SMs in focus; stores are of every SM, by their own time or, out of focus, by the end of their block.
  /// Takes milliseconds for a large simulation: off the frame.
  TileHistory(const Simulation& simulation, std::int64_t plane);

  std::int64_t plane() const { return plane_; }
  /// True when loads of every SM are in it.
  bool all_reads() const { return all_reads_; }
  /// The history of each drawn cell of `box`, row by row.
  std::vector<CellHistory> cells(const TensorBox& box) const;

 private:
  std::int64_t plane_ = 0;
  bool all_reads_ = true;
  std::array<std::vector<TileEvent>, tensor_count> events_;  // by tensor, in order of time
};

}  // namespace tilescope
