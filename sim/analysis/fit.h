// Fit: which tiles Br x Bc a kernel could take on a GPU, what each would need of an SM, and what stops those that do not fit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/analysis/outcome.h"

namespace tilescope {

struct FitCell {
  TileShape tile;
  std::string refusal;                 // why it does not fit, as a sentence; empty where it does
  enum class Stop : std::uint8_t { none, shared, registers, threads, other } stop = Stop::none;
  KernelNeeds needs;                   // of the launch that leaves an SM the fewest blocks
  int blocks_per_sm = 0;
  Occupancy::Limit limit = Occupancy::Limit::blocks;
  /// The accumulators of a thread exceed what it can have: the compiler would spill, which is not simulated.
  bool spills = false;
  std::optional<Outcome> outcome;      // once it has been simulated
  bool fits() const { return refusal.empty(); }
};

struct FitMap {
  SimulationRequest request;                       // its tile is not used
  std::vector<std::int64_t> block_q, block_kv;     // rows and columns
  std::vector<FitCell> cells;                      // row by row
  TileShape usual;                                 // that of the real kernel, or the program's default
  bool q_matters = true;                           // false: the program works on single rows, one row of cells

  const FitCell& at(std::size_t q, std::size_t kv) const { return cells[q * block_kv.size() + kv]; }
  const FitCell* find(const TileShape& tile) const;
  /// The quickest of the cells that have been simulated and do not spill; nullptr while there is none.
  const FitCell* quickest() const;
  std::size_t fitting() const, simulated() const;
};

/// Sizes around the program's usual tile, what each needs, and which fit. Nothing is simulated.
/// Errors  unknown algorithm; a problem that check() refuses.
Result<FitMap> make_fit_map(const SimulationRequest& request);
/// The request that simulates a cell.
SimulationRequest request_of(const FitMap& map, const FitCell& cell);
/// The order in which to simulate: large tiles first, since small ones take longest.
std::vector<std::size_t> fit_order(const FitMap& map);

}  // namespace tilescope
