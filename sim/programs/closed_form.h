// Closed forms: sums over query tiles that give a program's bytes, products and exponentials from the problem alone, independent of
// its operations.
//
//   Wᵢ = min(Nk, Bc·Jᵢ)  keys in the tiles that query tile i visits        Jᵢ = ⌈vis(i)/Bc⌉  their number
//   vis(i) = Nk without a mask; causal: min(Nk, max(0, last row of tile i + 1 + Nk − Nq))
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/programs/tile_program.h"

namespace tilescope {

/// Sums over the query tiles i of one plane.
struct VisitSums {
  std::int64_t tiles = 0;         // query tiles that visit any key tile
  std::int64_t rows = 0;          // rows of those tiles
  std::int64_t pairs = 0;         // Σ Jᵢ
  std::int64_t keys = 0;          // Σ Wᵢ
  std::int64_t seen_keys = 0;     // keys in the tiles that any query tile visits
  std::int64_t rows_pairs = 0;    // Σ rowsᵢ·Jᵢ
  std::int64_t rows_keys = 0;     // Σ rowsᵢ·Wᵢ
  std::int64_t matrix_bytes = 0;  // Σ rowsᵢ · bytes of whole sectors in the Jᵢ visited tiles of a row of S
};
VisitSums visit_sums(const AttentionProblem& problem, const TileShape& tile);

/// Returns Σ rowsᵢ over the tile pairs whose key tile lies in keys [first, end).
std::int64_t rows_pairs_of_keys(const AttentionProblem& problem, const TileShape& tile, std::int64_t first, std::int64_t end);

/// How often a tile of a row statistic (m, l, L) crosses the link.
enum class Crossings : std::uint8_t {
  once,
  once_if_any,  // if its query tile visits any key tile
  every_pair
};
/// Returns the bytes, in whole sectors, of one fp32 number per row, moved tile by tile, over all planes.
/// `at_once`: the numbers of a tile that an instruction asks for; 0: all.
std::int64_t statistic_bytes(const AttentionProblem& problem, const TileShape& tile, Crossings crossings, std::int64_t at_once = 0);

/// Returns the formula of such bytes: `plain`, and that they are counted in sectors where a tile of the statistic is not whole
/// ones.
std::string statistic_formula(const AttentionProblem& problem, const TileShape& tile, std::string_view plain);

/// Returns whether rows of Q, K, V and O are whole sectors; rows of S and P always are.
bool head_rows_are_whole(const AttentionProblem& problem);
/// Returns whether every tile of Q, K, V and O starts and ends on a sector boundary, so that no two tiles share a sector.
bool head_tiles_are_whole(const AttentionProblem& problem, const TileShape& tile);

/// Returns whether all planes have the same sums. A mask may differ from plane to plane.
bool planes_are_alike(const AttentionProblem& problem);

/// Returns `plain` without a mask, `masked` with one.
std::string formula_for(const AttentionProblem& problem, std::string_view plain, std::string_view masked);
/// Returns the formula of the bytes of S or P. If rows of Nk elements are not whole sectors, it has Nk′, the row_pitch().
std::string matrix_formula(const AttentionProblem& problem);

}  // namespace tilescope
