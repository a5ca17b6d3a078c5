// The map of tiles: what fits, what does not and why, and the variants of a machine.
#include "sim/analysis/fit.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "sim/analysis/what_if.h"
#include "sim/programs/kernel_needs.h"
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
  CHECK(map.quickest() == &map.cells.front());
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
        if (cell.spills) CHECK(cell.registers_wanted > cell.registers_limit);
        if (cell.fits() && cell.needs.registers_per_thread == 255 && sums(cell) > 2 * sums(*real.find(real.usual)))
          CHECK(cell.spills);
        spilling += cell.spills;
      }
    }
  CHECK(spilling > 10);
}

TEST_CASE("what if: a result is noise below what a jitter leaves, and below what no machine would do") {
  WhatIfTable table;
  const auto put = [&](WhatIfPart part, double time_ns) {
    WhatIfRow& row = table.rows.emplace_back();
    row.what.part = part;
    row.outcome.emplace().time_ns = time_ns;
  };
  table.jitters.resize(1);
  table.jitters[0].longer_outcome.emplace().time_ns = 106;
  CHECK(table.noise() == 0);  // the machine itself is not simulated yet
  table.base.emplace().time_ns = 100;
  CHECK(table.noise() == 0);  // and the other half of the jitter is not
  table.jitters[0].shorter_outcome.emplace().time_ns = 98;
  CHECK(table.noise() == doctest::Approx(0.02));
  put({Bound::hbm}, 70);
  put({Bound::hbm, false}, 150);
  put({}, 99);  // another order of the blocks
  CHECK(table.noise() == doctest::Approx(0.02));
  put({Bound::exp}, 104);  // slower with faster units
  CHECK(table.noise() == doctest::Approx(0.04));
  put({Bound::hbm, false}, 94);  // faster with half the bandwidth
  CHECK(table.noise() == doctest::Approx(0.06));
}

TEST_CASE("what if: of a jitter with a known cost only what is beyond it is noise, and both ways add up to a range") {
  Jitter jitter;
  jitter.most_effect = 0.01;
  jitter.longer_outcome.emplace().time_ns = 101;
  jitter.shorter_outcome.emplace().time_ns = 99;
  CHECK(noise_of({&jitter, 1}, 100) == doctest::Approx(0));
  jitter.longer_outcome->time_ns = 104;
  CHECK(noise_of({&jitter, 1}, 100) == doctest::Approx(0.03));
  jitter.shorter_outcome->time_ns = 97;
  CHECK(noise_of({&jitter, 1}, 100) == doctest::Approx(0.05));
  jitter.shorter_outcome->time_ns = 104;  // slower with more bandwidth
  CHECK(noise_of({&jitter, 1}, 100) == doctest::Approx(0.03));
}

TEST_CASE("what if: a jitter changes one latency of the memory by one cycle, or HBM by less than a per cent, each way") {
  for (const GpuSpec& gpu : {toy_gpu(), textbook_gpu()}) {
    SimulationRequest real;
    real.gpu = gpu;
    real.problem = {.seq_q = 64, .seq_kv = 64, .head_dim = 16};
    const auto runs = jitters(real);
    CHECK(runs.size() <= 4);
    for (const Jitter& jitter : runs) {
      CHECK(jitter.longer.tile == jitter.shorter.tile);
      const double bandwidth = gpu.hbm_bytes_per_second;
      if (jitter.most_effect > 0) {
        CHECK(jitter.most_effect < 0.01);
        CHECK(jitter.longer.gpu.hbm_bytes_per_second == doctest::Approx(bandwidth * (1 - jitter.most_effect)));
        CHECK(jitter.shorter.gpu.hbm_bytes_per_second == doctest::Approx(bandwidth * (1 + jitter.most_effect)));
        continue;
      }
      CHECK(jitter.longer.gpu.l2_latency_cycles - jitter.shorter.gpu.l2_latency_cycles + jitter.longer.gpu.hbm_latency_cycles -
                jitter.shorter.gpu.hbm_latency_cycles ==
            2);
    }
  }
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

TEST_CASE("what if: a variant changes the numbers that it names by its factor, as far as their ranges go, and no other") {
  struct Named {
    std::string_view id;
    std::vector<std::string_view> keys;
    double factor = 1;
    std::optional<double> value = {};
  };
  const std::vector<Named> all = {
      {"l2_unlimited", {"l2.capacity_bytes"}, 1, std::pow(2.0, 40)},
      {"l2_none", {"l2.capacity_bytes"}, 1, 0},
      {"l2_one", {"l2.partitions"}, 1, 1},
      {"hbm_half", {"hbm.bytes_per_second"}, 0.5},
      {"hbm_double", {"hbm.bytes_per_second"}, 2},
      {"l2_double", {"l2.bytes_per_cycle", "l2.copy_bytes_per_cycle", "l2.fabric_bytes_per_cycle", "sm.l2_bytes_per_cycle"}, 2},
      {"shared_double", {"sm.shared_bytes", "sm.shared_bytes_per_block"}, 2},
      {"shared_rate_double", {"sm.shared_bytes_per_cycle", "sm.copy_bytes_per_cycle"}, 2},
      {"exp_double", {"sm.exps_per_cycle"}, 2},
      {"tensor_double", {"sm.tensor_flops_per_cycle", "sm.mma_flops_per_cycle", "sm.wgmma_flops_per_cycle"}, 2},
      {"sms_double", {"sm.count"}, 2},
      {"launch_free", {"launch.overhead_ns"}, 1, 0},
  };
  GpuSpec small_l2 = h200_gpu(), no_l2 = h200_gpu(), fast = h200_gpu();
  small_l2.l2_partitions = 1;
  no_l2.l2_capacity_bytes = 0;
  fast.sm_exps_per_cycle = find_spec_key("sm.exps_per_cycle")->maximum / 1.5;
  for (const GpuSpec& gpu : {h200_gpu(), small_l2, no_l2, fast, toy_gpu()})
    for (const char* algorithm : {"flash2", "standard"}) {
      SimulationRequest real;
      real.gpu = gpu;
      real.algorithm = algorithm;
      const auto variants = what_ifs(real);
      for (const Named& named : all) {
        CAPTURE(named.id);
        const auto found = std::find_if(variants.begin(), variants.end(), [&](const WhatIf& what) { return what.id == named.id; });
        std::size_t changed = 0;
        for (const SpecKey& key : spec_keys()) {
          const double now = gpu.*key.member;
          double then = now;
          const bool is_named = std::find(named.keys.begin(), named.keys.end(), key.key) != named.keys.end();
          if (is_named && named.value) then = *named.value;
          if (is_named && !named.value) then = std::min(now * named.factor, key.maximum);
          changed += then != now ? 1 : 0;
          if (found != variants.end()) CHECK_MESSAGE(found->request.gpu.*key.member == doctest::Approx(then), key.key);
        }
        const bool needs_l2 = named.id.starts_with("l2_") && named.id != "l2_unlimited";
        const bool one_launch = named.id == "launch_free" && real.algorithm == "flash2";
        CHECK((found != variants.end()) == (changed > 0 && !one_launch && !(needs_l2 && gpu.l2_capacity_bytes == 0)));
        if (found == variants.end()) continue;
        CHECK(found->assignments.size() == changed);
        CHECK(found->request.tile == chosen_tile(real));  // also where the kernel would take another on the changed GPU
      }
    }
}

TEST_CASE("what if: the other walk of the keys is offered where a forward kernel has more than one key tile") {
  const auto walk_of = [](const char* algorithm, Pass pass, std::int64_t keys, KeyOrder order) -> std::optional<WhatIf> {
    SimulationRequest real;
    real.gpu = toy_gpu();
    real.algorithm = algorithm;
    real.key_order = order;
    real.problem = {.seq_q = 64, .seq_kv = keys, .head_dim = 16, .pass = pass};
    for (WhatIf& what : what_ifs(real))
      if (what.id == "key_order") return std::move(what);
    return std::nullopt;
  };
  const std::int64_t one_tile = 16;
  for (const KeyOrder order : {KeyOrder::ascending, KeyOrder::descending}) {
    const auto walk = walk_of("flash2", Pass::forward, 64, order);
    REQUIRE(walk);
    CHECK(walk->request.key_order != order);
    CHECK(walk->title ==
          (order == KeyOrder::ascending ? "Key tiles from the last to the first" : "Key tiles from the first to the last"));
  }
  CHECK_FALSE(walk_of("flash2", Pass::forward, one_tile, KeyOrder::ascending));
  CHECK(walk_of("flash2", Pass::forward, one_tile + 1, KeyOrder::ascending));
  CHECK_FALSE(walk_of("flash2_backward", Pass::backward, 64, KeyOrder::ascending));
}

TEST_CASE("what if: a run is done with those that have an outcome, and its own") {
  WhatIfTable table;
  table.rows.resize(3);
  CHECK(table.done() == 0);
  table.rows[1].outcome.emplace();
  CHECK(table.done() == 1);
  table.base.emplace();
  CHECK(table.done() == 2);
}

TEST_CASE(
    "fit: of the Hopper kernels, a tile whose S, P and O no thread can hold does not fit, and FlashAttention-3's own tiles do") {
  const auto cell_of = [](std::string_view algorithm, const TileShape& tile, bool causal) {
    SimulationRequest request;
    request.algorithm = std::string(algorithm);
    request.gpu = h200_gpu();
    request.problem = {.heads = 16, .kv_heads = 16, .seq_q = 4096, .seq_kv = 4096, .head_dim = 128, .causal = causal};
    const auto maps = make_fit_maps(request);
    REQUIRE(maps);
    const FitCell* const cell = maps->maps.front().find({tile.block_q, tile.block_kv, 2});
    REQUIRE(cell != nullptr);
    return *cell;
  };
  for (const bool causal : {false, true}) {
    const FitCell wide = cell_of("hopper_ping_pong", {256, 128}, causal);
    CHECK_FALSE(wide.fits());
    CHECK(wide.stop == FitCell::Stop::registers);
    CHECK_FALSE(wide.spills);
    CHECK(wide.needs.registers_wanted > 320);  // of 128 rows a group: S and O of 128 numbers a thread each, and P of 64
    CHECK(wide.needs.registers_limit < 255);
    CHECK(cell_of("hopper_ping_pong", {128, 128}, causal).fits());
    CHECK(cell_of("hopper_ping_pong", {64, 128}, causal).refusal.text() ==
          "a warp group has 32 rows, and wgmma takes 64 at a time");
    CHECK(cell_of("hopper_wgmma", {256, 128}, causal).stop == FitCell::Stop::registers);
  }
  // 128x176 is the tile of the paper's kernel without a mask.
  SimulationRequest request;
  request.algorithm = "hopper_causal";
  request.gpu = h200_gpu();
  request.problem = {.seq_q = 4096, .seq_kv = 4096, .head_dim = 128};
  const auto info = find_program(request.algorithm);
  REQUIRE(info);
  const auto program = (*info)->make(request.problem, {128, 176}, request.gpu);
  REQUIRE(program);
  CHECK_FALSE((*program)->launches()[0].needs.spills());
  CHECK(drops_to_one_buffer(**program));
  CHECK(own_ring(**(*info)->make(request.problem, {128, 128}, request.gpu)) == 2);
}
