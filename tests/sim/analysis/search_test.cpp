// The candidates of a search, and how they are ranked.
#include "sim/analysis/search.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "sim/analysis/what_if.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {
namespace {

SimulationRequest causal_request() {
  SimulationRequest request;
  request.gpu = h200_gpu();
  request.problem.heads = request.problem.kv_heads = 4;
  request.problem.seq_q = request.problem.seq_kv = 512;
  request.problem.head_dim = 64;
  request.problem.causal = true;
  return request;
}

std::vector<SearchCandidate> simulated(std::vector<SearchCandidate> candidates) {
  for (SearchCandidate& c : candidates) {
    auto outcome = simulate_outcome(c.request);
    REQUIRE(outcome);
    c.outcome = *outcome;
  }
  return candidates;
}

}  // namespace

TEST_CASE("search: every candidate fits and is another one, and one of each algorithm is the kernel as it stands") {
  const std::vector<std::string> ids = {"flash1", "flash2"};
  const auto candidates = tile_candidates(causal_request(), ids);
  REQUIRE(candidates);
  std::set<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>> seen;
  for (const std::string& id : ids)
    CHECK(std::count_if(candidates->begin(), candidates->end(),
                        [&](const SearchCandidate& c) { return c.own && c.request.algorithm == id; }) == 1);
  for (const SearchCandidate& c : simulated(*candidates)) {
    CHECK_MESSAGE(c.done(), c.outcome->refusal.text());
    const ProgramTile& tile = *c.request.tile;
    CHECK(seen.insert({c.request.algorithm, tile.block_q, tile.block_kv, tile.stages}).second);
    if (!c.own) continue;
    SimulationRequest plain = c.request;
    plain.tile.reset();
    const auto kernel = simulate_outcome(plain);
    REQUIRE(kernel);
    CHECK(c.outcome->cycles == kernel->cycles);
  }
}

TEST_CASE("search: pages that suit no key tile are refused with the tiles that are tried, and the advised pages suit some") {
  const std::vector<std::string> ids = {"flex"};
  SimulationRequest request = causal_request();
  request.problem.page_size = 7;
  const auto none = tile_candidates(request, ids);
  REQUIRE_FALSE(none);
  CHECK(none.error().sentence ==
        "page_size is 7: it suits none of the key tiles that are tried, 16 to 512 keys; use page_size 128");
  request.problem.page_size = 128;
  CHECK(tile_candidates(request, ids));
}

TEST_CASE("search: a candidate that ends before the limit is not given up, in any order") {
  // The limit is looked at every 512 events. With 16 heads their number is a multiple of that.
  for (const std::int64_t heads : {4, 16})
    for (const BlockOrderInfo& order : block_orders()) {
      CAPTURE(heads);
      CAPTURE(to_string(order.order));
      SimulationRequest request = causal_request();
      request.problem.heads = request.problem.kv_heads = heads;
      request.problem.seq_q = request.problem.seq_kv = 4096;
      request.block_order = order.order;
      const auto whole = simulate_outcome(request);
      REQUIRE(whole);
      request.give_up_after_cycles = whole->cycles + 1;
      const auto limited = simulate_outcome(request);
      REQUIRE(limited);
      CHECK(limited->cycles == whole->cycles);
      request.give_up_after_cycles = whole->cycles / 2;
      CHECK_FALSE(simulate_outcome(request));
    }
}

TEST_CASE("search: the quickest comes first, and its orders are all that differ from it") {
  const std::vector<std::string> ids = {"flash2"};
  auto ranked = simulated(*tile_candidates(causal_request(), ids));
  rank(ranked);
  CHECK(std::is_sorted(ranked.begin(), ranked.end(),
                       [](const SearchCandidate& a, const SearchCandidate& b) { return a.outcome->time_ns < b.outcome->time_ns; }));
  const auto orders = order_candidates(ranked, 1);
  CHECK(orders.size() == 2 * block_orders().size() - 1);  // both orders of keys, without the one that is ranked already
  std::set<std::pair<BlockOrder, KeyOrder>> seen = {{ranked.front().request.block_order, ranked.front().request.key_order}};
  for (const SearchCandidate& c : orders) {
    CHECK(c.request.tile == ranked.front().request.tile);
    CHECK_FALSE(c.own);
    CHECK(seen.insert({c.request.block_order, c.request.key_order}).second);
  }
  SimulationRequest full = causal_request();
  full.problem.causal = false;
  auto unmasked = simulated(*tile_candidates(full, ids));
  rank(unmasked);
  CHECK(order_candidates(unmasked, 1).size() == block_orders().size() - 1);  // without a mask the order of keys is no choice
}

TEST_CASE("search: each tile has one row, in its best order, and the kernel as it stands has its own") {
  std::vector<SearchCandidate> ranked(6);
  const auto took = [&](std::size_t i, std::int64_t rows, BlockOrder order, bool own = false) {
    ranked[i].request.algorithm = "flash2";
    ranked[i].request.block_order = order;
    ranked[i].request.tile = ProgramTile(rows, 64);
    ranked[i].own = own;
    ranked[i].outcome.emplace().time_ns = 100 + static_cast<double>(i);
  };
  took(0, 128, BlockOrder::longest);
  took(1, 128, BlockOrder::heads);
  took(2, 64, BlockOrder::launch);
  took(3, 128, BlockOrder::launch, true);
  took(4, 64, BlockOrder::longest);
  took(5, 32, BlockOrder::launch);
  const auto rows = best_of_each_tile(ranked);
  REQUIRE(rows.size() == 4);
  CHECK(rows[0] == &ranked.front());
  CHECK(rows[1] == &ranked[2]);
  CHECK(rows[2] == &ranked[3]);
  CHECK(rows[3] == &ranked[5]);
  // The tiles that were not tried in the order of the best are, once each.
  const auto more = candidates_in_best_order(ranked);
  REQUIRE(more.size() == 1);
  CHECK(more[0].request.tile == ranked[5].request.tile);
  CHECK(more[0].request.block_order == BlockOrder::longest);
  CHECK_FALSE(more[0].own);
}

TEST_CASE("search: what was not simulated comes last, and what fits no SM is refused with the reason") {
  std::vector<SearchCandidate> some(3);
  some[1].outcome.emplace().time_ns = 2;
  some[2].outcome.emplace().time_ns = 1;
  rank(some);
  CHECK(some[0].outcome->time_ns == 1);
  CHECK(some[1].outcome->time_ns == 2);
  CHECK_FALSE(some[2].done());

  SimulationRequest request = causal_request();
  request.gpu.sm_shared_bytes_per_block = 64;
  const std::vector<std::string> ids = {"flash2"};
  const auto refused = tile_candidates(request, ids);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().sentence.text().find("shared memory") != std::string::npos);
  const std::vector<std::string> unknown = {"flash9"};
  CHECK_FALSE(tile_candidates(request, unknown));
}

TEST_CASE("search: finer tiles lie around the best, in steps of 16 rows, fit, and are new") {
  const std::vector<std::string> ids = {"flash2"};
  auto ranked = *tile_candidates(causal_request(), ids);
  for (SearchCandidate& c : ranked) c.outcome.emplace().time_ns = c.own ? 1 : 2;  // the kernel's tile is the best
  rank(ranked);
  const ProgramTile best = *ranked.front().request.tile;
  const auto finer = finer_candidates(ranked, 1);
  REQUIRE(finer.size() > 4);
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  double before = 0;
  for (const SearchCandidate& c : finer) {
    const ProgramTile& tile = *c.request.tile;
    CAPTURE(tile.block_q);
    CAPTURE(tile.block_kv);
    CHECK(tile.block_q % 16 == 0);
    CHECK(tile.block_kv % 16 == 0);
    CHECK(tile.stages == best.stages);
    CHECK_FALSE(c.own);
    CHECK(seen.insert({tile.block_q, tile.block_kv}).second);
    CHECK(std::ranges::none_of(ranked, [&](const SearchCandidate& other) { return *other.request.tile == tile; }));
    const auto octaves = [](std::int64_t a, std::int64_t b) {
      return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
    };
    const double distance = octaves(tile.block_q, best.block_q) + octaves(tile.block_kv, best.block_kv);
    CHECK(distance >= before - 1e-9);
    before = distance;
  }
  CHECK(seen.contains({best.block_q, best.block_kv * 3 / 4}));
  for (const SearchCandidate& c : simulated({finer[0], finer[1], finer.back()})) CHECK_MESSAGE(c.done(), c.outcome->refusal.text());
}

}  // namespace tilescope
