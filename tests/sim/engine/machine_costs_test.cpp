// Costs and records of the machine that no real program shows alone: HBM's two rates, the far partition, write-backs, idle
// sub-partitions, the shared-memory port, what a moment of the trace says. Worked out by hand on hand-written programs.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "sim/programs/attention_tensors.h"
#include "tests/sim/engine/fake_program.h"

using namespace tilescope;

namespace {

// toy: starts a block in 100 cycles; port 32, L2 128, HBM 64, shared memory 128 bytes a cycle; latencies 200 and 500; tensor 512.

Interval interval_of(const Simulation& simulation, std::size_t at) {
  const auto span = simulation.trace->intervals(0);
  REQUIRE(at < span.size());
  return span[at];
}

/// The instructions of a warp that store 512 rows of 16 elements, 4 a cycle: 3 for each 512 bytes, and 2 for each pair of elements
/// of its lanes.
constexpr double store_issue = (3 * 16384 / 512.0 + 2 * 512 * 16 / 2 / 32.0) / 4;

}  // namespace

TEST_CASE("costs: a load is charged HBM's rate of reading alone, not that of a copy") {
  GpuSpec gpu = toy_gpu();
  gpu.hbm_sustained_fraction = 0.5;
  const auto run = run_fake(gpu, {1}, [](int, std::int64_t, BlockOperations& out) { add(out, load_k(0, 64)); });
  REQUIRE(run);
  CHECK(interval_of(**run, 0).end == 100 + 2048 / 64 + 500);
}

TEST_CASE("costs: what has its home in the other partition takes the far latency once, and is near from then on") {
  GpuSpec gpu = toy_gpu();
  gpu.l2_partitions = 2;
  gpu.l2_far_latency_cycles = 900;
  const auto run = run_fake(gpu, {1}, [](int, std::int64_t, BlockOperations& out) {
    add(out, load_k(0, 16));
    add_after(out, 0, load_k(0, 16));
  });
  REQUIRE(run);
  CHECK(interval_of(**run, 0).end == 100 + 512 / 32 + 900);
  CHECK(interval_of(**run, 1).end == 1016 + 512 / 32 + 200);
}

TEST_CASE("costs: a read queues behind what the L2 writes back") {
  const auto duration = [](double capacity) {
    GpuSpec gpu = toy_gpu();
    gpu.l2_capacity_bytes = capacity;
    const auto run = run_fake(gpu, {1}, [](int, std::int64_t, BlockOperations& out) {
      add(out, store_o(0, 512));
      const int second = add(out, store_o(512, 512));  // puts the first one out: 16 KiB, 256 cycles of HBM
      add_after(out, second, load_k(0, 16));
    });
    REQUIRE(run);
    for (const Interval& interval : (*run)->trace->intervals(0))
      if (interval.unit == Unit::copy) return interval.end - interval.start;
    return 0.0;
  };
  CHECK(duration(1024 * 1024) == 512 / 64 + 500);
  CHECK(duration(16 * 1024) == 256 - store_issue + 512 / 64 + 500);  // HBM began to write as the second store did
}

TEST_CASE("costs: a read of HBM waits for writes, the longer the more of its time they take and the more lines it is") {
  const auto duration = [](double wait, std::int32_t written_rows, std::int32_t read_rows) {
    GpuSpec gpu = toy_gpu();
    gpu.l2_capacity_bytes = 16 * 1024;
    gpu.hbm_write_wait_cycles = wait;
    const auto run = run_fake(gpu, {1}, [&](int, std::int64_t, BlockOperations& out) {
      add(out, store_o(0, 512));
      const int second = add(out, store_o(512, written_rows));  // puts as much of the first one out
      add_after(out, second, load_k(0, read_rows));
    });
    REQUIRE(run);
    for (const Interval& interval : (*run)->trace->intervals(0))
      if (interval.unit == Unit::copy) return interval.end - interval.start;
    return 0.0;
  };
  const auto longer = [&](std::int32_t written_rows, std::int32_t read_rows) {
    return duration(3000, written_rows, read_rows) - duration(0, written_rows, read_rows);
  };
  const double writing = 256.0 / 2000 * std::exp(-store_issue / 2000);  // 16 KiB take HBM 256 cycles, which decay over 2000
  const auto share = [](double lines) { return std::log2(lines / 2) / std::log2(16.0 / 2); };
  CHECK(longer(512, 64) == doctest::Approx(3000 * writing * share(16)));
  CHECK(longer(512, 128) == doctest::Approx(3000 * writing * share(32)));
  CHECK(longer(512, 4) == 0);  // one line
}

TEST_CASE("costs: a block with fewer warps than the SM has sub-partitions leaves the others idle") {
  GpuSpec gpu = toy_gpu();
  gpu.sm_sub_partitions = 8;  // a block of 4 warps
  const auto run = run_fake(gpu, {1}, [](int, std::int64_t, BlockOperations& out) { add(out, matmul(512 * 40)); });
  REQUIRE(run);
  CHECK((*run)->cycles.value == 100 + 2 * 40);
}

TEST_CASE("costs: what a load writes into shared memory and what an operation reads there take turns") {
  const auto next_starts = [](int read_cycles) {
    const auto run = run_fake(toy_gpu(), {1}, [&](int, std::int64_t, BlockOperations& out) {
      Operation load = load_k(0, 16);
      load.smem_write_bytes = 128 * 50;
      add(out, load);
      Operation product = matmul(512 * 10);
      product.smem_read_bytes = 128 * read_cycles;
      add(out, product);
      add(out, matmul(512 * 10));
    });
    REQUIRE(run);
    CHECK(interval_of(**run, 1).start == 100);
    return interval_of(**run, 2).start;
  };
  CHECK(next_starts(25) == 100 + 2 * 25);
  CHECK(next_starts(100) == 100 + 100 + 50);
}

TEST_CASE("records: a tile in flight waits, then streams until it has landed, and an SM has all blocks that are on it") {
  GpuSpec gpu = toy_gpu();
  gpu.sm_count = 1;
  const auto run = run_fake(
      gpu, {3}, [](int, std::int64_t block, BlockOperations& out) { add(out, load_k(static_cast<std::int32_t>(16 * block), 16)); },
      2);
  REQUIRE(run);
  const Interval first = interval_of(**run, 0);
  REQUIRE(first.streams < first.end - first.start);
  const TraceState waiting = (*run)->trace->state_at_cycle(0, first.start + 1);
  REQUIRE_FALSE(waiting.flights.empty());
  CHECK(waiting.flights[0].progress == 0);
  const TraceState state = (*run)->trace->state_at_cycle(0, first.end - first.streams * 3 / 4);
  REQUIRE_FALSE(state.flights.empty());
  CHECK(state.flights[0].progress == doctest::Approx(0.25));
  CHECK(state.sms[0].resident == 2);
}

TEST_CASE("records: bins keep every busy cycle when neighbours are merged") {
  constexpr int products = 60;  // of 1000 cycles: more bins of 16 cycles than are kept
  const auto run = run_fake(toy_gpu(), {1}, [](int, std::int64_t, BlockOperations& out) {
    for (int i = 0; i < products; ++i) add(out, matmul(512 * 1000));
  });
  REQUIRE(run);
  const TimeBins& bins = (*run)->trace->bins();
  CHECK(bins.width > 16);
  double busy = 0;
  for (const auto& cycles : bins.busy_cycles) busy += cycles[static_cast<std::size_t>(Unit::tensor)];
  CHECK(busy == doctest::Approx(1000.0 * products));
}

TEST_CASE("records: what a product reads from shared memory is its shared operand's, whichever of the two that is") {
  const auto run = run_fake(toy_gpu(), {1}, [](int, std::int64_t, BlockOperations& out) {
    out.shared_tiles = TileSet{1} << ChipTile(tiles::k).index();
    Operation product = matmul(512);
    product.smem_read_bytes = 256;
    add(out, product);
  });
  REQUIRE(run);
  CHECK((*run)->ledger.total(tensors::k, Link::smem_read).value == 256);
  CHECK((*run)->ledger.total(tensors::q, Link::smem_read).value == 0);
}

TEST_CASE("costs: ways to shared memory that wait for one another cost its latency each, where instructions wait at all") {
  GpuSpec gpu = toy_gpu();
  gpu.sm_dependent_cycles = 4;
  const auto run = run_fake(gpu, {1}, [](int, std::int64_t, BlockOperations& out) {
    Operation product = matmul(512 * 40);
    product.shared_round_trips = 10;
    add(out, product);
  });
  REQUIRE(run);
  CHECK((*run)->cycles.value == 100 + 40 + 10 * 30);
}

TEST_CASE("costs: a product starts after the first slice of the result that it consumes and ends after the last") {
  const auto run = [](int slices) {
    const auto done = run_fake(toy_gpu(), {1}, [&](int, std::int64_t, BlockOperations& out) {
      Operation result = exps(16 * 160);
      result.slices = static_cast<std::uint8_t>(slices);
      add(out, result);
      add(out, matmul(512 * 40));
    });
    REQUIRE(done);
    return *done;
  };
  CHECK(interval_of(*run(1), 1).start == 100 + 160);
  CHECK(run(1)->cycles.value == 100 + 160 + 40);
  for (const int slices : {4, 8}) {
    CHECK(interval_of(*run(slices), 1).start == 100 + 160.0 / slices);
    CHECK(run(slices)->cycles.value == 100 + 160 + 40.0 / slices);
  }
}

TEST_CASE("costs: a load into a buffer is issued when the operation that still read it is over") {
  const auto run = run_fake(toy_gpu(), {1}, [](int, std::int64_t, BlockOperations& out) {
    const int product = add(out, matmul(512 * 40));
    add_after(out, product, load_k(0, 16));
  });
  REQUIRE(run);
  CHECK(interval_of(**run, 1).unit == Unit::copy);
  CHECK(interval_of(**run, 1).start == 140);
  CHECK(interval_of(**run, 1).cause == WaitCause::buffer);
}

TEST_CASE("costs: of blocks that wait for a pipe the oldest goes first, however long the others have waited") {
  GpuSpec gpu = toy_gpu();
  gpu.sm_count = 1;
  const auto run = run_fake(
      gpu, {3},
      [](int, std::int64_t block, BlockOperations& out) {
        // Block 1 is ready while block 0 has the tensor core, but later than block 2.
        const int load = block == 1 ? add(out, load_k(0, 16)) : -1;
        add_after(out, load, matmul(512 * (block == 0 ? 5000 : 10)));
      },
      3);
  REQUIRE(run);
  std::vector<double> starts(3, -1);
  for (const Interval& interval : (*run)->trace->intervals(0))
    if (interval.unit == Unit::tensor)
      starts[static_cast<std::size_t>((*run)->trace->runs()[static_cast<std::size_t>(interval.run)].block)] = interval.start;
  CHECK(starts[1] == starts[0] + 5000);
  CHECK(starts[2] == starts[1] + 10);
}

TEST_CASE("costs: reads of a tile that come soon after another are no look-ups of their own") {
  const auto last_end = [](double merge_cycles) {
    GpuSpec gpu = toy_gpu();
    gpu.l2_bytes_per_cycle = 2;  // 256 cycles for each of the four
    gpu.l2_merge_cycles = merge_cycles;
    gpu.launch_block_cycles = 10;  // from one read to the next
    const auto run = run_fake(gpu, {4}, [](int, std::int64_t, BlockOperations& out) { add(out, load_k(0, 16)); });
    REQUIRE(run);
    return (*run)->cycles.value;
  };
  CHECK(last_end(0) == doctest::Approx(100 + 4 * 256 + 200));
  CHECK(last_end(50) == doctest::Approx(100 + 256 * (1 + 3 * 10.0 / (10 + 50)) + 200));
}

TEST_CASE("costs: a read waits for what a write before it takes from the L2") {
  const auto read_takes = [](double copied) {
    GpuSpec gpu = toy_gpu();
    gpu.l2_bytes_per_cycle = 64;
    gpu.l2_write_bytes_per_cycle = 64;
    gpu.l2_copy_bytes_per_cycle = copied;
    const auto run = run_fake(gpu, {1}, [](int, std::int64_t, BlockOperations& out) {
      const int store = add(out, store_o(0, 1024));  // 32 KiB
      add_after(out, store, load_k(0, 16));
    });
    REQUIRE(run);
    for (const Interval& interval : (*run)->trace->intervals(0))
      if (interval.unit == Unit::copy) return interval.end - interval.start;
    return 0.0;
  };
  const double apart = 512 / 64 + 500;                                   // HBM, while the L2 is free
  const double in_turn = 32768 / 64 - 2 * store_issue + 512 / 64 + 200;  // the L2 has served the write's bytes first
  CHECK(read_takes(0) == apart);
  CHECK(read_takes(64) == in_turn);
  CHECK(read_takes(128) == apart);  // as much as both together: neither is in the other's way
}

TEST_CASE("costs: what leaves an SM holds up what reads its shared memory, where instructions wait at all") {
  const auto product_starts = [](double dependent_cycles) {
    GpuSpec gpu = toy_gpu();
    gpu.sm_dependent_cycles = dependent_cycles;
    const auto run = run_fake(gpu, {1}, [](int, std::int64_t, BlockOperations& out) {
      add(out, store_o(0, 512));  // 16 KiB, 512 cycles at 32 bytes a cycle
      Operation product = matmul(512);
      product.smem_read_bytes = 128;
      add(out, product);
    });
    REQUIRE(run);
    for (const Interval& interval : (*run)->trace->intervals(0))
      if (interval.unit == Unit::tensor) return interval.start;
    return 0.0;
  };
  CHECK(product_starts(0) == 100 + store_issue);
  CHECK(product_starts(4) == 100 + 512 + 2 * 128);  // and through shared memory, in and out
}

TEST_CASE("costs: the oldest warp of a sub-partition adds to memory while the others still multiply") {
  const auto waits = [](double sub_partitions, const Operation& before) {  // of a block of four warps
    GpuSpec gpu = toy_gpu();
    gpu.sm_dependent_cycles = 4;
    gpu.sm_sub_partitions = sub_partitions;
    gpu.sm_reduce_bytes_per_cycle = 16;
    gpu.sm_reduce_queue_bytes = 1600;
    const auto run = run_fake(gpu, {1}, [&](int, std::int64_t, BlockOperations& out) {
      add(out, before);
      Operation addition = store_o(0, 512);
      addition.kind = OpKind::reduce_add;
      addition.bytes = 16 * 1024;
      add(out, addition);
      add(out, matmul(512 * 10));
    });
    REQUIRE(run);
    return interval_of(**run, 2).start - interval_of(**run, 1).start;
  };
  constexpr double leaves = 1024, queue = 100, product = 200;
  CHECK(waits(4, matmul(512 * 200)) == doctest::Approx(leaves - queue));
  CHECK(waits(2, exps(16 * 200)) == doctest::Approx(leaves / 2 - queue));
  CHECK(waits(2, matmul(512 * 200)) == doctest::Approx(leaves / 2 - queue - product / 2));
}

TEST_CASE("costs: what crosses between the partitions queues for the fabric, towards each side for itself") {
  GpuSpec gpu = toy_gpu();
  gpu.l2_partitions = 2;
  gpu.l2_fabric_bytes_per_cycle = 0.5;
  const auto run = run_fake(gpu, {1}, [](int, std::int64_t, BlockOperations& out) {
    const int first = add(out, load_k(0, 16));               // 512 bytes, half of them far
    const int again = add_after(out, first, load_k(0, 16));  // all near by now
    add(out, store_o(0, 16));                                // the other way
    add_after(out, again, load_k(16, 16));
  });
  REQUIRE(run);
  constexpr double crossing = 256 / 0.5 + 200;
  int crossed = 0;
  for (const Interval& interval : (*run)->trace->intervals(0)) {
    const bool near = interval.kind == OpKind::load && interval.hbm_bytes == 0;
    CHECK(interval.end - interval.start == (near ? 512.0 / 32 + 200 : crossing));
    crossed += near ? 0 : 1;
  }
  CHECK(crossed == 3);
}

TEST_CASE("costs: the more lines a block with products waits for, the later the latest comes from HBM") {
  const auto landed = [](std::int32_t rows) {
    GpuSpec gpu = toy_gpu();
    gpu.hbm_tile_latency_cycles = 1500;
    const auto run = run_fake(gpu, {1}, [&](int, std::int64_t, BlockOperations& out) { add(out, load_k(0, rows)); });
    REQUIRE(run);
    return interval_of(**run, 0).end - rows * 32.0 / 64;
  };
  CHECK(landed(4) == doctest::Approx(100 + 500));                    // one line
  CHECK(landed(64) == doctest::Approx(100 + 500 + 1000 * 4.0 / 7));  // 16, of 128 that were measured
  CHECK(landed(512) == doctest::Approx(100 + 500 + 1000));
  CHECK(landed(2048) == doctest::Approx(100 + 500 + 1000));
}

TEST_CASE("costs: a warp that asks for lines with several loads waits for all of them") {
  const auto landed = [](std::uint8_t sectors) {
    GpuSpec gpu = toy_gpu();
    gpu.hbm_tile_latency_cycles = 1500;
    const auto run = run_fake(gpu, {1}, [&](int, std::int64_t, BlockOperations& out) {
      Operation load = load_k(0, 4);
      load.sectors_at_once = sectors;
      add(out, load);
    });
    REQUIRE(run);
    return interval_of(**run, 0).end - 4 * 32.0 / 64;
  };
  CHECK(landed(0) == doctest::Approx(100 + 500));  // its own line
  CHECK(landed(64) == doctest::Approx(100 + 500 + 1000 * 4.0 / 7));
}

TEST_CASE("costs: a load in rounds waits for HBM in each, or for the L2 where its tile is there") {
  const auto landed = [](double dependent_cycles, std::uint8_t rounds, int of) {
    GpuSpec gpu = toy_gpu();
    gpu.sm_dependent_cycles = dependent_cycles;
    const auto run = run_fake(gpu, {1}, [&](int, std::int64_t, BlockOperations& out) {
      Operation load = load_k(0, 4);
      load.rounds = rounds;
      add(out, load);
      load.dst = tiles::v;  // the same tile again, which is then in the L2
      load.signal_token = -1;
      add(out, load);
    });
    REQUIRE(run);
    return interval_of(**run, of).end - interval_of(**run, of).start;
  };
  const GpuSpec gpu = toy_gpu();
  for (const std::uint8_t rounds : {2, 8}) {
    CAPTURE(int{rounds});
    CHECK(landed(4, rounds, 0) - landed(4, 1, 0) == doctest::Approx((rounds - 1) * gpu.hbm_latency_cycles));
    CHECK(landed(4, rounds, 1) - landed(4, 1, 1) == doctest::Approx((rounds - 1) * gpu.l2_latency_cycles));
    CHECK(landed(0, rounds, 0) == landed(0, 1, 0));  // a GPU for teaching asks for a tile at once
  }
}

TEST_CASE("costs: the older of two blocks of flash2 on an SM ends first: at d 64 as measured on an H200, at d 128 by less") {
  const auto stay_of_older = [](std::int64_t head_dim) {  // over that of the younger
    SimulationRequest request;
    request.algorithm = "flash2";
    request.gpu = h200_gpu();
    request.problem.heads = request.problem.kv_heads = 33;  // 264 blocks: two an SM
    request.problem.seq_q = 1024;
    request.problem.seq_kv = 8192;
    request.problem.head_dim = head_dim;
    const auto run = simulate(request);
    REQUIRE(run);
    std::vector<double> stays;
    for (const BlockRun& block : (*run)->trace->runs())
      if (block.sm == 0) stays.push_back(block.end - block.start);
    REQUIRE(stays.size() == 2);
    return stays[0] / stays[1];
  };
  // kernels/lab/measured/h200-drift-2026-11-22.txt, the first two blocks of an SM with N = 16384 at d 64 and N = 65536 at d 128.
  constexpr double measured_64 = 574556.0 / 701338, measured_128 = 3660834.0 / 4841644;
  const double of_64 = stay_of_older(64), of_128 = stay_of_older(128);
  CHECK(of_64 == doctest::Approx(measured_64).epsilon(0.01));
  // The drift of the model does not depend on the head dimension (docs/model-limits.md, entry 24).
  CHECK(of_128 == doctest::Approx(of_64).epsilon(0.01));
  CHECK(of_128 > measured_128);
}

TEST_CASE("costs: warps of another block share the schedulers") {
  const auto cycles = [](std::int64_t blocks) {
    GpuSpec gpu = toy_gpu();
    gpu.sm_count = 1;
    gpu.sm_dependent_cycles = 4;
    const auto run = run_fake(
        gpu, {blocks},
        [](int, std::int64_t, BlockOperations& out) {
          Operation beside;  // instructions alone, which want no pipe
          beside.kind = OpKind::copy;
          beside.instructions = 1000;
          for (int i = 0; i < 20; ++i) add(out, beside);
        },
        static_cast<int>(blocks));
    REQUIRE(run);
    return (*run)->cycles.value;
  };
  CHECK(cycles(2) > 1.05 * cycles(1));
  CHECK(cycles(2) < 2 * cycles(1));
}
