// Fit: which tiles Br x Bc a kernel could take on a GPU, with how many buffers and of which type, what each would need of an SM,
// and what stops those that do not fit.
//
//   FitMaps   one map a type and number of buffers          FitMap   Br down, Bc across          FitCell   one tile
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/analysis/outcome.h"

namespace tilescope {

struct FitCell {
  ProgramTile tile;
  Sentence refusal;  // why it does not fit, as a sentence; empty where it does
  enum class Stop : std::uint8_t { none, shared, registers, threads, other } stop = Stop::none;
  KernelNeeds needs;  // of the launch that leaves an SM the fewest blocks
  int blocks_per_sm = 0;
  Occupancy::Limit limit = Occupancy::Limit::blocks;
  /// The accumulators of a thread exceed what it can have: the compiler would spill, which is not simulated.
  bool spills = false;
  std::optional<Outcome> outcome;  // once it has been simulated
  bool fits() const { return refusal.empty(); }
};

struct FitMap {
  SimulationRequest request;                    // its tile is not used, its type is the map's
  int stages = 0;                               // buffers of the ring; 0: the kernel has none
  int real_stages = 0;                          // that the kernel takes by itself
  bool real = false;                            // of the type and the number of buffers that the kernel has
  std::vector<std::int64_t> block_q, block_kv;  // rows and columns
  std::vector<FitCell> cells;                   // row by row
  ProgramTile usual;                            // that of the real kernel, or the program's default
  bool q_matters = true;                        // false: the program works on single rows, one row of cells

  const FitCell& at(std::size_t q, std::size_t kv) const { return cells[q * block_kv.size() + kv]; }
  const FitCell* find(const ProgramTile& tile) const;
  /// The quickest of the cells that have been simulated and do not spill; nullptr while there is none.
  const FitCell* quickest() const;
  std::size_t fitting() const, simulated() const;
};

struct FitMaps {
  std::vector<FitMap> maps;  // the kernel's own first, then by type and number of buffers
  std::size_t fitting() const, simulated() const;
  /// The map of a type and of a tile's number of buffers; that of the type with the kernel's own number where there is none.
  const FitMap* find(DataType type, std::int64_t stages) const;
  /// The map that has the quickest cell; nullptr while nothing is simulated.
  const FitMap* quickest() const;
};

/// Sizes around the program's usual tile, what each needs, and which fit: for 16 and 32 bits and, where the kernel has a ring of
/// buffers, for 1 to 3 of them. Nothing is simulated.
/// Errors  unknown algorithm; a problem that check() refuses.
Result<FitMaps> make_fit_maps(const SimulationRequest& request);
/// The request that simulates a cell.
SimulationRequest request_of(const FitMap& map, const FitCell& cell);
/// A cell by its place.
struct FitPlace {
  std::size_t map = 0, cell = 0;
  bool operator==(const FitPlace&) const = default;
};
/// The order in which to simulate: the kernel's own map first, in each the large tiles first, since small ones take longest.
std::vector<FitPlace> fit_order(const FitMaps& maps);

}  // namespace tilescope
