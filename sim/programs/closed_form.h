// Closed forms: sums over query tiles that say how many bytes, products and exponentials a program needs, worked out from the
// problem alone and not from the operations.
//
//   Wᵢ = min(Nk, Bc·Jᵢ)  keys in the tiles that query tile i visits        Jᵢ = ⌈vis(i)/Bc⌉ tiles
//   vis(i) = Nk without a mask; causal: min(Nk, max(0, last row of tile i + 1 + Nk − Nq))
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/programs/tile_program.h"

namespace tilescope {

/// Sums over the query tiles i of one plane.
struct VisitSums {
  std::int64_t tiles = 0;         // query tiles that visit anything
  std::int64_t rows = 0;          // rows of those tiles
  std::int64_t pairs = 0;         // Σ Jᵢ
  std::int64_t keys = 0;          // Σ Wᵢ
  std::int64_t seen_keys = 0;     // keys in the tiles that some query tile visits
  std::int64_t rows_pairs = 0;    // Σ rowsᵢ·Jᵢ
  std::int64_t rows_keys = 0;     // Σ rowsᵢ·Wᵢ
  std::int64_t matrix_bytes = 0;  // Σ rowsᵢ · bytes of whole sectors in the Jᵢ visited tiles of a row of S
};
VisitSums visit_sums(const AttentionProblem& problem, const TileShape& tile);

/// How often a tile of a row statistic (m, l, L) crosses the link.
enum class Visits : std::uint8_t { once, every_pair };
/// Bytes, in whole sectors, of an fp32 number a row, moved tile by tile, all planes together.
std::int64_t statistic_bytes(const AttentionProblem& problem, const TileShape& tile, Visits visits);

/// Whether rows of Q, K, V and O are whole sectors; those of S and P always are.
bool head_rows_are_whole(const AttentionProblem& problem);
/// Whether every tile of whole rows of Q, K, V and O starts and ends on a sector, so that no two tiles share one.
bool head_tiles_are_whole(const AttentionProblem& problem, const TileShape& tile);

/// Whether the sums over one plane stand for all: a mask may differ from plane to plane.
bool planes_are_alike(const AttentionProblem& problem);

/// `plain` without a mask, `masked` with one.
std::string formula_for(const AttentionProblem& problem, std::string_view plain, std::string_view masked);
/// Bytes of S, or of P, once: Nk where rows of Nk elements are whole sectors, else Nk′, the row_pitch().
std::string matrix_formula(const AttentionProblem& problem);

}  // namespace tilescope
