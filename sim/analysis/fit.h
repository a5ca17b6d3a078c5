// Fit: the tiles Br x Bc that a kernel could use on a GPU, by type and number of buffers. It says what each needs of an SM, and
// which resource stops those that do not fit.
//
//   FitMaps   one map per type and number of buffers          FitMap   Br down, Bc across          FitCell   one tile
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/analysis/outcome.h"
#include "sim/programs/occupancy.h"

namespace tilescope {

struct FitCell {
  ProgramTile tile;
  Sentence refusal;  // why it does not fit; empty if it fits
  enum class Stop : std::uint8_t { none, shared, registers, threads, other } stop = Stop::none;
  KernelNeeds needs;  // of the launch with the fewest blocks per SM
  int blocks_per_sm = 0;
  Occupancy::Limit limit = Occupancy::Limit::blocks;
  /// A thread of a launch wants more registers than it can have. The compiler would spill them, which is not simulated.
  bool spills = false;
  int registers_wanted = 0, registers_limit = 0;  // of that thread
  std::optional<Outcome> outcome;                 // absent until simulated
  bool fits() const { return refusal.empty(); }
};

struct FitMap {
  SimulationRequest request;                    // its tile is not used; its type is the map's
  std::optional<double> clock_hz = {};          // of every cell; 0: that of the GPU. absent until it is known
  int stages = 0;                               // buffers of the ring; 0: the kernel has no ring
  int real_stages = 0;                          // buffers of the ring in the real kernel
  bool real = false;                            // the map of the real kernel's type and number of buffers
  std::vector<std::int64_t> block_q, block_kv;  // Br of each row, Bc of each column
  std::vector<FitCell> cells;                   // row by row
  ProgramTile usual;                            // tile of the real kernel, or the program's default
  bool q_matters = true;                        // false: Br is always 1, so the map has one row

  const FitCell& at(std::size_t q, std::size_t kv) const { return cells[q * block_kv.size() + kv]; }
  const FitCell* find(const ProgramTile& tile) const;
  /// Returns the fastest simulated cell that does not spill; nullptr if there is none yet.
  const FitCell* quickest() const;
  std::size_t fitting() const, simulated() const;
};

struct FitMaps {
  std::vector<FitMap> maps;  // the real kernel's first, then by type and number of buffers
  std::size_t fitting() const, simulated() const;
  /// Returns the map of a type and a number of buffers; if there is none, the map of the type with the kernel's own number.
  const FitMap* find(DataType type, std::int64_t stages) const;
  /// Returns the map with the fastest cell; nullptr if nothing is simulated yet.
  const FitMap* quickest() const;
};

/// Makes the maps for tile sizes around the program's usual tile: for 16 and 32 bits and, if the kernel has a ring, for 1 to 3
/// buffers. It simulates nothing.
/// Errors  unknown algorithm; a problem that check() refuses
Result<FitMaps> make_fit_maps(const SimulationRequest& request);
/// Makes the map of the sizes around a tile that are multiples of `step`, between half and twice of it, with its number of buffers.
/// Errors  as above
Result<FitMap> make_fit_map_around(const SimulationRequest& request, const ProgramTile& tile, std::int64_t step);
/// Returns the request that simulates a cell.
SimulationRequest request_of(const FitMap& map, const FitCell& cell);
/// The index of a cell.
struct FitPlace {
  std::size_t map = 0, cell = 0;
  bool operator==(const FitPlace&) const = default;
};
/// Returns the order in which to simulate: the real kernel's map first, and in each map large tiles first, because small ones take
/// longest to simulate.
std::vector<FitPlace> fit_order(const FitMaps& maps);

}  // namespace tilescope
