// Search: which tile, how many buffers and which orders a kernel should take for a problem, by predicted time.
//
//   request ── tile_candidates() ──► tiles of powers of two that fit ── simulate ──► ranked ── finer_candidates() ──► tiles between
//   them ── simulate ──► ranked ── order_candidates() ──► the best in every order ── simulate ──► ranked ──
//   candidates_in_best_order() ──► all in the order of the best ── simulate ──► ranked
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/analysis/outcome.h"

namespace tilescope {

/// One way to run a problem.
struct SearchCandidate {
  SimulationRequest request;  // with its tile
  bool own = false;           // tile, buffers and orders are those of the kernel as it stands
  bool tried = false;         // it was simulated, or given up as too slow
  std::optional<Outcome> outcome;
  bool done() const { return outcome && outcome->done(); }
};

/// Returns the tiles and numbers of buffers that each algorithm can take on the GPU without spilling, in the orders of `base`:
/// those of the Fit view, and each algorithm's own. Errors  unknown algorithm; a pass that it does not have; a problem that check()
/// refuses; no tile that fits.
Result<std::vector<SearchCandidate>> tile_candidates(const SimulationRequest& base, std::span<const std::string> algorithms);

/// Returns the tiles around the `best` quickest of `ranked` whose sides are multiples of 16, the rows of a tensor core's product,
/// and which are not in `ranked`: the nearest first. Limits  those that fit without spilling
std::vector<SearchCandidate> finer_candidates(std::span<const SearchCandidate> ranked, std::size_t best);

/// Returns the `best` quickest of `ranked` in every other order of blocks and, under a mask, of key tiles.
std::vector<SearchCandidate> order_candidates(std::span<const SearchCandidate> ranked, std::size_t best);

/// Returns the tiles of `ranked` in the orders of its quickest candidate, where they were not tried in them: a tile that is slow in
/// the kernel's order may be quick in another. Limits  `ranked` is as rank() leaves it.
std::vector<SearchCandidate> candidates_in_best_order(std::span<const SearchCandidate> ranked);

/// Returns the quickest candidate of each program, tile and number of buffers, in the order of `ranked`; the kernels as they stand
/// are among them too. Limits  `ranked` is as rank() leaves it, simulated candidates alone
std::vector<const SearchCandidate*> best_of_each_tile(std::span<const SearchCandidate> ranked);

/// Sorts by predicted time, the quickest first; what was not simulated comes last.
void rank(std::vector<SearchCandidate>& candidates);

}  // namespace tilescope
