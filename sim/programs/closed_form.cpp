// The sums over tiles in closed forms.
#include "sim/programs/closed_form.h"

#include <algorithm>
#include <array>

#include "sim/core/mask.h"
#include "sim/core/tensor.h"
#include "sim/core/units.h"

namespace tilescope {

namespace {

/// Returns whether some query of [first, end) sees some key of [key, key_end). Small problems are tested element by element, so
/// that the closed form does not depend on Mask::tile().
bool sees_any(const AttentionProblem& p, std::int64_t first, std::int64_t end, std::int64_t key, std::int64_t key_end) {
  constexpr std::int64_t most_elements = 1 << 20;  // of S; larger problems use Mask::tile(), which has tests of its own
  if (p.seq_q * p.seq_kv > most_elements)
    return p.mask->tile(0, {first, end - first}, {key, key_end - key}) != TileVisibility::empty;
  for (std::int64_t row = first; row < end; ++row)
    for (std::int64_t at = key; at < key_end; ++at)
      if (p.mask->visible(0, row, at)) return true;
  return false;
}

/// Returns the bytes of the sectors that keys [first, end) touch in a row of S.
std::int64_t tile_row_bytes(const AttentionProblem& p, std::int64_t first, std::int64_t end) {
  const std::int64_t element = element_bytes(p.dtype);
  return ceil_div(end * element, sector_size) * sector_size - first * element / sector_size * sector_size;
}

/// Returns the sums for an expression mask that is the same for every plane.
VisitSums masked_visit_sums(const AttentionProblem& p, const TileShape& tile) {
  VisitSums sums;
  for (std::int64_t first = 0; first < p.seq_q; first += tile.block_q) {
    const std::int64_t end = std::min(first + tile.block_q, p.seq_q), rows = end - first;
    bool any = false;
    for (std::int64_t key = 0; key < p.seq_kv; key += tile.block_kv) {
      const std::int64_t key_end = std::min(key + tile.block_kv, p.seq_kv);
      if (!sees_any(p, first, end, key, key_end)) continue;
      any = true;
      sums.pairs += 1;
      sums.keys += key_end - key;
      sums.rows_pairs += rows;
      sums.rows_keys += rows * (key_end - key);
      sums.matrix_bytes += rows * tile_row_bytes(p, key, key_end);
    }
    if (any) sums.tiles += 1, sums.rows += rows;
  }
  for (std::int64_t key = 0; key < p.seq_kv; key += tile.block_kv) {
    const std::int64_t key_end = std::min(key + tile.block_kv, p.seq_kv);
    if (sees_any(p, 0, p.seq_q, key, key_end)) sums.seen_keys += key_end - key;
  }
  return sums;
}

/// Returns the number of keys in the tiles that the query tile ending before row `end` visits.
std::int64_t visited_keys(const AttentionProblem& p, const TileShape& tile, std::int64_t end) {
  const std::int64_t seen = p.causal ? std::clamp<std::int64_t>(end + p.seq_kv - p.seq_q, 0, p.seq_kv) : p.seq_kv;
  return std::min(p.seq_kv, ceil_div(seen, tile.block_kv) * tile.block_kv);
}

/// Returns the bytes of the sectors that tiles of `block_kv` touch in the first `keys` elements of a row of S.
std::int64_t row_tile_bytes(const AttentionProblem& p, const TileShape& tile, std::int64_t keys) {
  const std::int64_t element = element_bytes(p.dtype);
  if (tile.block_kv * element % sector_size == 0) return ceil_div(keys * element, sector_size) * sector_size;
  // Two tiles that share a sector both touch it.
  std::int64_t sum = 0;
  for (std::int64_t first = 0; first < keys; first += tile.block_kv) {
    sum += tile_row_bytes(p, first, std::min(first + tile.block_kv, p.seq_kv));
  }
  return sum;
}

/// Counts the key tiles that the query tile [first, end) visits.
std::int64_t visited_tiles(const AttentionProblem& p, const TileShape& tile, std::int64_t first, std::int64_t end) {
  if (!p.mask) return ceil_div(visited_keys(p, tile, end), tile.block_kv);
  std::int64_t count = 0;
  for (std::int64_t key = 0; key < p.seq_kv; key += tile.block_kv)
    count += sees_any(p, first, end, key, std::min(key + tile.block_kv, p.seq_kv)) ? 1 : 0;
  return count;
}

}  // namespace

VisitSums visit_sums(const AttentionProblem& p, const TileShape& tile) {
  if (p.mask) return masked_visit_sums(p, tile);
  VisitSums sums;
  sums.seen_keys = p.seq_kv;                      // also with a causal mask: the last query sees every key
  std::int64_t known_keys = -1, known_bytes = 0;  // cached, because neighbouring tiles often visit equally many keys
  for (std::int64_t first = 0; first < p.seq_q; first += tile.block_q) {
    const std::int64_t end = std::min(first + tile.block_q, p.seq_q);
    const std::int64_t rows = end - first;
    const std::int64_t keys = visited_keys(p, tile, end);
    const std::int64_t pairs = ceil_div(keys, tile.block_kv);
    if (keys == 0) continue;
    if (keys != known_keys) known_bytes = row_tile_bytes(p, tile, keys);
    known_keys = keys;
    sums.tiles += 1;
    sums.rows += rows;
    sums.pairs += pairs;
    sums.keys += keys;
    sums.rows_pairs += rows * pairs;
    sums.rows_keys += rows * keys;
    sums.matrix_bytes += rows * known_bytes;
  }
  return sums;
}

std::int64_t rows_pairs_of_keys(const AttentionProblem& p, const TileShape& tile, std::int64_t first, std::int64_t end) {
  std::int64_t sum = 0;
  for (std::int64_t row = 0; row < p.seq_q; row += tile.block_q) {
    const std::int64_t row_end = std::min(row + tile.block_q, p.seq_q);
    std::int64_t pairs = 0;
    if (p.mask) {
      for (std::int64_t key = first; key < end; key += tile.block_kv)
        pairs += sees_any(p, row, row_end, key, std::min(key + tile.block_kv, p.seq_kv)) ? 1 : 0;
    } else {
      pairs = ceil_div(std::clamp<std::int64_t>(visited_keys(p, tile, row_end) - first, 0, end - first), tile.block_kv);
    }
    sum += pairs * (row_end - row);
  }
  return sum;
}

std::int64_t statistic_bytes(const AttentionProblem& p, const TileShape& tile, Crossings crossings, std::int64_t at_once) {
  // A plane of Nq numbers starts at one of eight positions in a sector. All planes with the same position have the same sum.
  constexpr std::int64_t places = sector_size / 4;
  const std::int64_t planes = p.batch * p.heads;
  std::int64_t sum = 0;
  for (std::int64_t place = 0; place < std::min(places, planes); ++place) {
    const std::int64_t count = (planes - place + places - 1) / places;  // planes place, place + 8, place + 16, …
    const std::int64_t base = place * p.seq_q % places;
    std::int64_t sectors = 0;
    for (std::int64_t first = 0; first < p.seq_q; first += tile.block_q) {
      const std::int64_t end = std::min(first + tile.block_q, p.seq_q);
      std::int64_t touched = 0;
      for (std::int64_t from = first, step = at_once > 0 ? at_once : end - first; from < end; from += step)
        touched += ceil_div(base + std::min(from + step, end), places) - (base + from) / places;
      const std::int64_t visited = crossings == Crossings::once ? 1 : visited_tiles(p, tile, first, end);
      sectors += touched * (crossings == Crossings::every_pair ? visited : std::min<std::int64_t>(visited, 1));
    }
    sum += count * sectors * sector_size;
  }
  return sum;
}

std::string statistic_formula(const AttentionProblem& problem, const TileShape& tile, std::string_view plain) {
  constexpr std::int64_t places = sector_size / 4;
  const bool whole = problem.seq_q % places == 0 && (tile.block_q % places == 0 || tile.block_q >= problem.seq_q);
  return std::string(plain) + (whole ? "" : ", in sectors");
}

bool head_rows_are_whole(const AttentionProblem& p) {
  return p.head_dim * element_bytes(p.dtype) % sector_size == 0;
}
bool head_tiles_are_whole(const AttentionProblem& p, const TileShape& tile) {
  const std::int64_t row_bytes = p.head_dim * element_bytes(p.dtype);
  return std::ranges::all_of(std::array{tile.block_q, tile.block_kv, p.seq_q, p.seq_kv},
                             [&](std::int64_t rows) { return rows * row_bytes % sector_size == 0; });
}

bool planes_are_alike(const AttentionProblem& p) {
  if (!p.mask) return true;
  const MaskPlanes by = p.mask->planes();
  return !by.by_batch && !by.by_head;
}

std::string formula_for(const AttentionProblem& problem, std::string_view plain, std::string_view masked) {
  return std::string(problem.has_mask() ? masked : plain);
}

std::string matrix_formula(const AttentionProblem& problem) {
  if (row_pitch(problem.seq_kv, problem.dtype) == problem.seq_kv)
    return formula_for(problem, "B·Hq·Nq·Nk·e", "B·Hq·e·Σᵢ rowsᵢ·min(Nk, Bc·⌈vis(i)/Bc⌉)");
  return formula_for(problem, "B·Hq·Nq·Nk′·e", "B·Hq·e·Σᵢ rowsᵢ·min(Nk′, Bc·⌈vis(i)/Bc⌉)");
}

}  // namespace tilescope
