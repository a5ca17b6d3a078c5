// The map of tiles: what fits, what does not and why, and the variants of a machine.
#include "sim/analysis/fit.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "sim/analysis/what_if.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

TEST_CASE("fit: every cell says what simulate() says of its tile") {
  SimulationRequest request;
  request.algorithm = "flash2";
  request.gpu = toy_gpu();
  request.problem = {.seq_q = 128, .seq_kv = 128, .head_dim = 64};
  const auto map = make_fit_map(request);
  REQUIRE(map);
  REQUIRE(map->find(map->usual) != nullptr);
  CHECK(map->find(map->usual)->fits());
  CHECK_FALSE(map->find(map->usual)->spills);
  int refused = 0;
  for (const FitCell& cell : map->cells) {
    const auto outcome = simulate_outcome(request_of(*map, cell));
    REQUIRE(outcome);
    CHECK(outcome->done() == cell.fits());
    if (cell.fits()) CHECK(outcome->blocks_per_sm <= cell.blocks_per_sm);
    if (!cell.fits()) {
      CHECK(cell.stop != FitCell::Stop::none);
      CHECK(cell.refusal == outcome->refusal);
      ++refused;
    }
  }
  CHECK(map->fitting() + static_cast<std::size_t>(refused) == map->cells.size());
  const auto order = fit_order(*map);
  CHECK(order.size() == map->fitting());
  const auto area = [&](std::size_t i) { return map->cells[i].tile.block_q * map->cells[i].tile.block_kv; };
  CHECK(std::is_sorted(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return area(a) > area(b); }));
}

TEST_CASE("fit: a program of single rows has one row of cells") {
  SimulationRequest request;
  request.algorithm = "softmax_online";
  request.gpu = toy_gpu();
  const auto map = make_fit_map(request);
  REQUIRE(map);
  CHECK(map->block_q.size() == 1);
  CHECK_FALSE(map->q_matters);
}

TEST_CASE("fit: the quickest cell neither spills nor waits to be simulated") {
  FitMap map;
  map.block_q = {1};
  map.block_kv = {1, 2, 3};
  map.cells.resize(3);
  CHECK(map.quickest() == nullptr);
  for (std::size_t i = 0; i < 3; ++i) {
    Outcome outcome;
    outcome.cycles = 10 - static_cast<double>(i);
    if (i < 2) map.cells[i].outcome = outcome;
  }
  CHECK(map.quickest() == &map.cells[1]);
  map.cells[1].spills = true;
  CHECK(map.quickest() == &map.cells[0]);
}

TEST_CASE("what if: every variant differs from the machine in what it names, and can be simulated") {
  for (const GpuSpec& gpu : {toy_gpu(), textbook_gpu()}) {
    SimulationRequest real;
    real.gpu = gpu;
    real.algorithm = "standard";
    real.problem.causal = true;
    const auto variants = what_ifs(real);
    CHECK(variants.size() >= 6);
    for (const WhatIf& what : variants) {
      CAPTURE(what.id);
      CHECK_FALSE(same_request(what.request, real));
      CHECK(what.assignments.empty() == same_numbers(what.request.gpu, gpu));
      const auto outcome = simulate_outcome(what.request);
      REQUIRE(outcome);
      CHECK_MESSAGE(outcome->done(), outcome->refusal);
    }
  }
}

TEST_CASE("what if: without skipping, a masked problem costs what an unmasked one does") {
  SimulationRequest real;
  real.gpu = toy_gpu();
  real.problem = {.seq_q = 64, .seq_kv = 64, .head_dim = 16, .causal = true};
  const auto variants = what_ifs(real);
  const auto all = std::find_if(variants.begin(), variants.end(), [](const WhatIf& what) { return what.id == "no_skipping"; });
  REQUIRE(all != variants.end());
  const auto masked = simulate_outcome(real), unskipped = simulate_outcome(all->request);
  REQUIRE(masked);
  REQUIRE(unskipped);
  CHECK(unskipped->sm_link() > masked->sm_link());
  real.problem.causal = false;
  const auto unmasked = what_ifs(real);
  CHECK(std::none_of(unmasked.begin(), unmasked.end(), [](const WhatIf& what) { return what.id == "no_skipping"; }));
}
