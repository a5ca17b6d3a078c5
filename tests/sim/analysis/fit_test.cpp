// The map of tiles: what fits, what does not and why, and the variants of a machine.
#include "sim/analysis/fit.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "sim/analysis/what_if.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

TEST_CASE("fit: every cell of every map says what simulate() says of its tile, buffers and type") {
  SimulationRequest request;
  request.algorithm = "flash2";
  request.gpu = toy_gpu();
  request.problem = {.seq_q = 64, .seq_kv = 64, .head_dim = 64};
  const auto maps = make_fit_maps(request);
  REQUIRE(maps);
  CHECK(maps->maps.size() == 6);
  const FitMap& real = maps->maps.front();
  CHECK(real.real);
  REQUIRE(real.find(real.usual) != nullptr);
  CHECK(real.find(real.usual)->fits());
  CHECK_FALSE(real.find(real.usual)->spills);
  std::size_t refused = 0, cells = 0;
  for (const FitMap& map : maps->maps)
    for (const FitCell& cell : map.cells) {
      ++cells;
      CHECK(cell.tile.stages == map.stages);
      const auto outcome = simulate_outcome(request_of(map, cell));
      REQUIRE(outcome);
      CHECK(outcome->done() == cell.fits());
      if (cell.fits()) CHECK(cell.needs.stages == map.stages);
      if (cell.fits()) CHECK(outcome->blocks_per_sm <= cell.blocks_per_sm);
      if (!cell.fits()) {
        CHECK(cell.stop != FitCell::Stop::none);
        CHECK(cell.refusal == outcome->refusal);
        ++refused;
      }
    }
  CHECK(maps->fitting() + refused == cells);
  const auto order = fit_order(*maps);
  CHECK(order.size() == maps->fitting());
  CHECK(order.front().map == 0);
  const auto before = [&](const FitPlace& a, const FitPlace& b) {
    const auto area = [&](const FitPlace& at) {
      const TileShape& tile = maps->maps[at.map].cells[at.cell].tile;
      return -tile.block_q * tile.block_kv;
    };
    return std::tuple(a.map, area(a), a.cell) < std::tuple(b.map, area(b), b.cell);
  };
  CHECK(std::is_sorted(order.begin(), order.end(), before));
}

TEST_CASE(
    "fit: sides are the kernel's own and powers of two, from an eighth of it to four times it, as far as the sequence fills them") {
  using Sides = std::vector<std::int64_t>;
  SimulationRequest request;
  request.algorithm = "flash2";
  request.gpu = h200_gpu();
  const auto map_of = [&](std::int64_t n, std::int64_t d) {
    request.problem = {.seq_q = n, .seq_kv = n, .head_dim = d};
    const auto maps = make_fit_maps(request);
    REQUIRE(maps);
    return maps->maps.front();
  };
  // The kernel's tile is 128 x 64 at head dimension 128, and 128 x 128 at 64.
  CHECK(map_of(4096, 128).block_q == Sides{16, 32, 64, 128, 256, 512});
  CHECK(map_of(4096, 128).block_kv == Sides{8, 16, 32, 64, 128, 256});
  CHECK(map_of(4096, 64).block_kv == Sides{16, 32, 64, 128, 256, 512});
  CHECK(map_of(200, 128).block_q == Sides{16, 32, 64, 128, 256});
  CHECK(map_of(128, 128).block_kv == Sides{8, 16, 32, 64, 128});
  CHECK(map_of(16, 128).block_kv == Sides{8, 16, 32, 64});
}

TEST_CASE("fit: more buffers need more shared memory, in the same tiles, and 32 bits need more than 16") {
  SimulationRequest request;
  request.gpu = toy_gpu();
  request.problem = {.seq_q = 128, .seq_kv = 128, .head_dim = 32};
  const auto maps = make_fit_maps(request);
  REQUIRE(maps);
  const FitMap* one = maps->find(DataType::fp16, 1);
  const FitMap* three = maps->find(DataType::bf16, 3);  // the other type of 16 bits: the same map
  const FitMap* full = maps->find(DataType::fp32, 1);
  REQUIRE(one->cells.size() == three->cells.size());
  for (std::size_t i = 0; i < one->cells.size(); ++i) {
    CHECK(one->cells[i].tile.block_q == three->cells[i].tile.block_q);
    CHECK(three->cells[i].needs.shared_bytes > one->cells[i].needs.shared_bytes);
    CHECK(full->cells[i].needs.shared_bytes > one->cells[i].needs.shared_bytes);
  }
  CHECK(three->fitting() <= one->fitting());
}

TEST_CASE("fit: a program of single rows has one row of cells, and one without a ring a map a type") {
  SimulationRequest request;
  request.algorithm = "softmax_online";
  request.gpu = toy_gpu();
  const auto maps = make_fit_maps(request);
  REQUIRE(maps);
  REQUIRE(maps->maps.size() == 2);
  CHECK(maps->maps[0].stages == 0);
  CHECK(maps->maps[0].block_q.size() == 1);
  CHECK_FALSE(maps->maps[0].q_matters);
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

TEST_CASE("fit: of several maps the quickest is the one with the quickest cell") {
  FitMaps maps;
  CHECK(maps.quickest() == nullptr);
  for (const double cycles : {9.0, 7.0, 8.0}) {
    Outcome outcome;
    outcome.cycles = cycles;
    maps.maps.emplace_back().cells.emplace_back().outcome = outcome;
  }
  CHECK(maps.quickest() == &maps.maps[1]);
}

TEST_CASE("fit: a thread that has no register left spills where it holds more sums than in the real kernel") {
  int spilling = 0;
  for (const ProgramInfo& info : program_table())
    for (const std::int64_t head_dim : {64, 128}) {
      SimulationRequest request;
      request.algorithm = std::string(info.id);
      request.gpu = h200_gpu();
      request.problem = {.seq_q = 4096, .seq_kv = 4096, .head_dim = head_dim, .pass = info.pass};
      CAPTURE(info.id);
      const auto maps = make_fit_maps(request);
      REQUIRE(maps);
      const FitMap& real = maps->maps.front();
      REQUIRE(real.find(real.usual) != nullptr);
      CHECK_FALSE(real.find(real.usual)->spills);
      const auto sums = [&](const FitCell& cell) {
        return static_cast<double>(cell.tile.block_q * (cell.tile.block_kv + head_dim)) / cell.needs.threads;
      };
      for (const FitCell& cell : real.cells) {
        if (cell.spills) CHECK(cell.needs.registers_per_thread == 255);
        if (cell.fits() && cell.needs.registers_per_thread == 255 && sums(cell) > 2 * sums(*real.find(real.usual)))
          CHECK(cell.spills);
        spilling += cell.spills;
      }
    }
  CHECK(spilling > 10);
}

TEST_CASE("what if: a result is noise below the least effect of another order, and below what no machine would do") {
  WhatIfTable table;
  const auto put = [&](std::string_view id, double time_ns) {
    WhatIfRow& row = table.rows.emplace_back();
    row.what.id = id;
    row.outcome.emplace().time_ns = time_ns;
  };
  put("order_heads", 105);
  CHECK(table.noise() == 0);  // the machine itself is not simulated yet
  table.base.emplace().time_ns = 100;
  CHECK(table.noise() == doctest::Approx(0.05));
  put("order_reversed", 97);
  CHECK(table.noise() == doctest::Approx(0.03));
  put("hbm_double", 70);
  put("hbm_half", 150);
  CHECK(table.noise() == doctest::Approx(0.03));
  put("exp_double", 104);  // slower with faster units
  CHECK(table.noise() == doctest::Approx(0.04));
  put("hbm_half", 94);  // faster with half the bandwidth
  CHECK(table.noise() == doctest::Approx(0.06));
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

TEST_CASE("what if: other orders of the blocks are of the same machine, and of a causal mask there are more") {
  SimulationRequest real;
  real.gpu = toy_gpu();
  real.problem = {.heads = 4, .kv_heads = 4, .seq_q = 64, .seq_kv = 64, .head_dim = 16};
  const auto orders = [&] {
    std::vector<BlockOrder> found;
    for (const WhatIf& what : what_ifs(real))
      if (what.request.block_order != BlockOrder::launch) {
        CHECK(same_numbers(what.request.gpu, real.gpu));
        CHECK(what.assignments.empty());
        found.push_back(what.request.block_order);
      }
    return found;
  };
  CHECK(orders() == std::vector{BlockOrder::heads});
  real.problem.causal = true;
  CHECK(orders() == std::vector{BlockOrder::heads, BlockOrder::reversed, BlockOrder::longest});
  real.gpu.l2_capacity_bytes = 8 * 1024;  // two heads at a time
  CHECK(orders() == std::vector{BlockOrder::heads, BlockOrder::reversed, BlockOrder::longest, BlockOrder::grouped});
}
