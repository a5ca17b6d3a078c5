// Candidates of a search, and their order.
#include "sim/analysis/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "sim/analysis/fit.h"
#include "sim/core/page_table.h"
#include "sim/core/refuse.h"

namespace tilescope {

namespace {

/// Returns why no tile of a map can be used: the pages, if they suit none of its key tiles; else what its usual tile lacks.
Sentence why_none_fits(const FitMap& map) {
  const AttentionProblem& problem = map.request.problem;
  const FitCell* const usual = map.find(map.usual);
  const bool suits_none =
      std::all_of(map.cells.begin(), map.cells.end(), [&](const FitCell& cell) { return !check_pages(problem, cell.tile); });
  const auto page_size = suits_none ? page_size_that_fits(problem, map.usual) : std::nullopt;
  if (page_size)
    return phrase("{} is {}: it suits none of the key tiles that are tried, {} to {} keys; use {} {}", Setting::page_size,
                  problem.page_size, map.block_kv.front(), map.block_kv.back(), Setting::page_size, *page_size);
  if (usual != nullptr && !usual->fits()) return usual->refusal;
  return phrase("no tile fits this GPU: use another GPU or a smaller head dimension");
}

}  // namespace

Result<std::vector<SearchCandidate>> tile_candidates(const SimulationRequest& base, std::span<const std::string> algorithms) {
  std::vector<SearchCandidate> out;
  Sentence why;
  for (const std::string& id : algorithms) {
    SimulationRequest request = base;
    request.algorithm = id;
    request.tile.reset();
    if (const Status settled = settle_program(request); !settled) return settled.error();
    const auto maps = make_fit_maps(request);
    if (!maps) return maps.error();
    if (out.empty() && why.empty()) why = why_none_fits(maps->maps.front());
    for (const FitMap& map : maps->maps) {
      if (map.request.problem.dtype != base.problem.dtype) continue;
      for (const FitCell& cell : map.cells) {
        if (!cell.fits() || cell.spills) continue;
        SearchCandidate candidate;
        candidate.request = request_of(map, cell);
        candidate.own = map.real && cell.tile == map.usual;
        out.push_back(std::move(candidate));
      }
    }
  }
  // The kernels as they stand first, then large tiles: the sooner a good one is known, the sooner others can be given up.
  std::stable_sort(out.begin(), out.end(), [](const SearchCandidate& a, const SearchCandidate& b) {
    const auto area = [](const SearchCandidate& c) { return c.request.tile->block_q * c.request.tile->block_kv; };
    return a.own != b.own ? a.own : area(a) > area(b);
  });
  if (out.empty()) return Error{why};
  return out;
}

std::vector<SearchCandidate> finer_candidates(std::span<const SearchCandidate> ranked, std::size_t best) {
  constexpr std::int64_t step = 16;
  struct Found {
    SearchCandidate candidate;
    double distance = 0;  // octaves of both sides
  };
  std::vector<Found> found;
  const auto is_known = [&](const SimulationRequest& request) {
    const auto same = [&](const SearchCandidate& c) {
      return c.request.algorithm == request.algorithm && *c.request.tile == *request.tile;
    };
    return std::ranges::any_of(ranked, same) || std::ranges::any_of(found, [&](const Found& f) { return same(f.candidate); });
  };
  for (const SearchCandidate& of : ranked.first(std::min(best, ranked.size()))) {
    if (!of.done()) break;
    const ProgramTile tile = *of.request.tile;
    const auto map = make_fit_map_around(of.request, tile, step);
    if (!map) continue;
    const auto octaves = [](std::int64_t a, std::int64_t b) {
      return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
    };
    for (const FitCell& cell : map->cells) {
      if (!cell.fits() || cell.spills) continue;
      Found one;
      one.candidate.request = request_of(*map, cell);
      one.distance = octaves(cell.tile.block_q, tile.block_q) + octaves(cell.tile.block_kv, tile.block_kv);
      if (!is_known(one.candidate.request)) found.push_back(std::move(one));
    }
  }
  std::ranges::stable_sort(found, {}, &Found::distance);
  std::vector<SearchCandidate> out;
  out.reserve(found.size());
  for (Found& each : found) out.push_back(std::move(each.candidate));
  return out;
}

namespace {

/// Whether a program walks its key tiles in one order alone, whichever is asked for.
bool has_one_key_order(const SimulationRequest& request) {
  const auto info = find_program(request.algorithm, request.problem.pass);
  return info && (*info)->key_order;
}

bool same_tile(const SearchCandidate& a, const SearchCandidate& b) {
  return a.request.algorithm == b.request.algorithm && a.request.tile == b.request.tile;
}

}  // namespace

std::vector<SearchCandidate> order_candidates(std::span<const SearchCandidate> ranked, std::size_t best) {
  std::vector<SearchCandidate> out;
  for (const SearchCandidate& of : ranked.first(std::min(best, ranked.size()))) {
    if (!of.done()) break;
    const bool one_order = has_one_key_order(of.request);
    const bool masked = of.request.problem.causal || of.request.problem.mask != nullptr;
    for (const BlockOrderInfo& order : block_orders())
      for (const KeyOrder keys : {KeyOrder::ascending, KeyOrder::descending}) {
        if (keys != of.request.key_order && (!masked || one_order)) continue;  // without a mask all blocks go the same way
        if (order.order == of.request.block_order && keys == of.request.key_order) continue;
        SearchCandidate candidate;
        candidate.request = of.request;
        candidate.request.block_order = order.order;
        candidate.request.key_order = keys;
        out.push_back(std::move(candidate));
      }
  }
  return out;
}

std::vector<SearchCandidate> candidates_in_best_order(std::span<const SearchCandidate> ranked) {
  std::vector<SearchCandidate> out;
  if (ranked.empty() || !ranked.front().done()) return out;
  const SimulationRequest& best = ranked.front().request;
  const auto in_order = [&](const SearchCandidate& c) {
    return c.request.block_order == best.block_order && (c.request.key_order == best.key_order || has_one_key_order(c.request));
  };
  for (const SearchCandidate& of : ranked) {
    const auto is_known = [&](const SearchCandidate& c) { return same_tile(c, of) && in_order(c); };
    if (std::ranges::any_of(ranked, is_known) || std::ranges::any_of(out, [&](const auto& c) { return same_tile(c, of); }))
      continue;
    SearchCandidate candidate;
    candidate.request = of.request;
    candidate.request.block_order = best.block_order;
    if (!has_one_key_order(of.request)) candidate.request.key_order = best.key_order;
    out.push_back(std::move(candidate));
  }
  return out;
}

std::vector<const SearchCandidate*> best_of_each_tile(std::span<const SearchCandidate> ranked) {
  std::vector<const SearchCandidate*> out;
  for (const SearchCandidate& c : ranked)
    if (c.own || std::ranges::none_of(out, [&](const SearchCandidate* known) { return same_tile(*known, c); })) out.push_back(&c);
  return out;
}

void rank(std::vector<SearchCandidate>& candidates) {
  const auto time = [](const SearchCandidate& c) {
    return c.done() ? c.outcome->time_ns : std::numeric_limits<double>::infinity();
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const SearchCandidate& a, const SearchCandidate& b) { return time(a) < time(b); });
}

}  // namespace tilescope
