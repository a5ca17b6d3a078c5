// The timing model against cycles worked out by hand, on hand-written programs.
#include <doctest/doctest.h>

#include <vector>

#include "tests/sim/engine/fake_program.h"

using namespace tilescope;

namespace {

// toy: starts a block in 100 cycles; port 32, L2 128, HBM 64 bytes a cycle; latencies 200 and 500; tensor 512, exp 16, fp32 64.

std::vector<Interval> intervals_of(const Simulation& simulation, int sm = 0) {
  const auto span = simulation.trace->intervals(sm);
  return {span.begin(), span.end()};
}

}  // namespace

TEST_CASE("timing: a lone load takes the slowest way plus the latency of HBM") {
  const auto run = run_fake(toy_gpu(), {1}, [](int, std::int64_t, BlockOperations& out) { add(out, load_k(0, 16)); });
  REQUIRE(run);
  const auto intervals = intervals_of(**run);
  REQUIRE(intervals.size() == 1);
  CHECK(intervals[0].start == 100);
  CHECK(intervals[0].end == 100 + 512 / 64 + 500);  // 512 bytes over HBM, then its latency
  CHECK(intervals[0].ready == 0);
  CHECK(intervals[0].cause == WaitCause::launch);
  CHECK(intervals[0].hbm_bytes == 512);
  CHECK((*run)->cycles.value == 608);
  CHECK((*run)->time.value == doctest::Approx(608));
  CHECK((*run)->bound == Bound::latency);
}

TEST_CASE("timing: the first blocks of a launch wait for code and parameters, those after them do not") {
  GpuSpec gpu = toy_gpu();
  const auto block = [](int, std::int64_t, BlockOperations& out) { add(out, load_k(0, 16)); };
  const auto blocks = static_cast<std::int64_t>(gpu.sm_count) * static_cast<std::int64_t>(gpu.sm_max_blocks) + 1;
  const auto before = run_fake(gpu, {blocks}, block);
  gpu.launch_fetch_cycles = 50;
  const auto after = run_fake(gpu, {blocks}, block);
  REQUIRE(before);
  REQUIRE(after);
  CHECK(intervals_of(**after).front().start == intervals_of(**before).front().start + 50);
  CHECK(intervals_of(**after).front().cause == WaitCause::launch);
  CHECK((*after)->cycles.value == doctest::Approx((*before)->cycles.value + 50));
}

TEST_CASE("timing: a load that hits the L2 takes its port and the L2's latency") {
  // The second load is issued when the first has landed.
  const auto run = run_fake(toy_gpu(), {1}, [](int, std::int64_t, BlockOperations& out) {
    add(out, load_k(0, 16));
    add_after(out, 0, load_k(0, 16));
  });
  REQUIRE(run);
  const auto intervals = intervals_of(**run);
  REQUIRE(intervals.size() == 2);
  CHECK(intervals[1].start == 608);
  CHECK(intervals[1].cause == WaitCause::buffer);
  CHECK(intervals[1].end == 608 + 512 / 32 + 200);
  CHECK(intervals[1].hbm_bytes == 0);
}

TEST_CASE("timing: a hit on bytes that are still on their way from HBM waits for them") {
  const auto run = run_fake(toy_gpu(), {1}, [](int, std::int64_t, BlockOperations& out) {
    add(out, load_k(0, 16));
    add(out, load_k(0, 16));
  });
  REQUIRE(run);
  const auto intervals = intervals_of(**run);
  CHECK(intervals[0].end == 608);
  CHECK(intervals[1].start == 100);
  CHECK(intervals[1].end == 608);
  CHECK((*run)->ledger.total(Link::hbm_read).value == 512);
  CHECK((*run)->ledger.total(Link::l2_to_sm).value == 1024);
}

TEST_CASE("timing: loads issued together queue for HBM") {
  const auto run = run_fake(toy_gpu(), {1}, [](int, std::int64_t, BlockOperations& out) {
    for (int i = 0; i < 4; ++i) add(out, load_k(64 * i, 64));
  });
  REQUIRE(run);
  const auto intervals = intervals_of(**run);
  for (int i = 0; i < 4; ++i) CHECK(intervals[static_cast<std::size_t>(i)].end == 100 + (i + 1) * 2048 / 64 + 500);
}

TEST_CASE("timing: compute waits for its load, then for its unit, in order") {
  const auto run = run_fake(toy_gpu(), {1}, [](int, std::int64_t, BlockOperations& out) {
    const int load = add(out, load_k(0, 16));
    add(out, matmul(512 * 40));
    add_after(out, load, matmul(512 * 30));
    add(out, exps(160));
  });
  REQUIRE(run);
  const auto intervals = intervals_of(**run);
  REQUIRE(intervals.size() == 4);
  CHECK(intervals[1].start == 100);
  CHECK(intervals[1].end == 140);
  CHECK(intervals[2].ready == 140);
  CHECK(intervals[2].start == 608);
  CHECK(intervals[2].cause == WaitCause::data);
  CHECK(intervals[2].end == 638);
  CHECK(intervals[3].start == 638);
  CHECK(intervals[3].cause == WaitCause::none);
  CHECK(intervals[3].end == 648);
  CHECK((*run)->flops == 512 * 70);
  CHECK((*run)->exps == 160);
}

TEST_CASE("timing: two blocks of an SM take turns on its tensor core, and one computes while the other exponentiates") {
  GpuSpec gpu = toy_gpu();
  gpu.sm_count = 1;
  const auto run = run_fake(
      gpu, {2},
      [](int, std::int64_t, BlockOperations& out) {
        add(out, matmul(512 * 140));
        add(out, exps(16 * 140));
      },
      2);
  REQUIRE(run);
  const auto intervals = intervals_of(**run);
  REQUIRE(intervals.size() == 4);
  CHECK(intervals[0].start == 100);
  CHECK(intervals[1].start == 240);  // the second block's product, or the first block's exponentials
  CHECK(intervals[2].start == 240);
  CHECK(intervals[3].start == 380);
  CHECK((*run)->cycles.value == 520);
  bool waited = false;
  for (const Interval& interval : intervals) waited = waited || interval.cause == WaitCause::tensor;
  CHECK(waited);
  CHECK((*run)->utilisation[static_cast<std::size_t>(Bound::tensor)] == doctest::Approx(280.0 / 520));
}

TEST_CASE("timing: of several reasons of a wait the longest is told, so that a block that starts does not wait for a pipe") {
  GpuSpec gpu = toy_gpu();
  gpu.sm_count = 1;
  const auto run = run_fake(
      gpu, {2}, [](int, std::int64_t, BlockOperations& out) { add(out, matmul(512 * 10)); }, 2);
  REQUIRE(run);
  const auto intervals = intervals_of(**run);
  REQUIRE(intervals.size() == 2);
  CHECK(intervals[1].start == 110);  // 100 cycles after the launch, and 10 behind the other block's product
  CHECK(intervals[1].cause == WaitCause::launch);
}

TEST_CASE("timing: a product is held up by its shared-memory traffic") {
  const auto run = run_fake(toy_gpu(), {1}, [](int, std::int64_t, BlockOperations& out) {
    Operation op = matmul(512 * 10);
    op.smem_read_bytes = 128 * 25;
    add(out, op);
  });
  REQUIRE(run);
  CHECK((*run)->cycles.value == 125);
}

TEST_CASE("timing: wgmma multiplies at its own rate, whole instructions at a time, or as fast as shared memory gives its factors") {
  static const ListingLine listing[] = {{}, {}, {}};
  static const ProgramInfo info = {.id = "fake", .title = "Fake", .family = "test", .listing = listing};
  const auto cycles_of = [](ProductInstruction instruction, std::int32_t rows, std::int32_t cols, bool left_is_shared) {
    SimulationRequest request;
    request.gpu = toy_gpu();
    request.gpu.sm_wgmma_flops_per_cycle = 1024;  // twice as fast as mma.sync
    request.gpu.sm_shared_bytes_per_cycle = 64;
    const auto program = std::make_shared<FakeProgram>(
        request.problem, TileShape{}, std::vector<std::int64_t>{1}, [=](int, std::int64_t, BlockOperations& out) {
          constexpr std::int32_t inner = 64;
          Operation op = matmul(std::int64_t{2} * rows * cols * inner);
          op.rows = rows, op.cols = cols, op.inner = inner;
          op.smem_read_bytes = 2 * inner * (cols + (left_is_shared ? rows : 0));
          out.shared_tiles = TileSet{1} << tiles::k.index() | (left_is_shared ? TileSet{1} << tiles::q.index() : 0);
          add(out, op);
        });
    program->set_product_instruction(instruction);
    const auto run = run_program(request, info, program);
    REQUIRE(run);
    return (*run)->cycles.value - 130;  // a block's start, and the way to shared memory
  };
  using enum ProductInstruction;
  const double wide = 2.0 * 64 * 256 * 64 / 1024;
  CHECK(cycles_of(wgmma, 64, 256, false) == wide);
  CHECK(cycles_of(wgmma, 64, 256, true) == wide);
  CHECK(cycles_of(mma_sync, 64, 256, false) == 2 * wide);
  CHECK(cycles_of(wgmma, 16, 256, false) == wide);  // 64 rows or none
  CHECK(cycles_of(wgmma, 65, 256, false) == 2 * wide);
  CHECK(cycles_of(wgmma, 64, 16, false) == 128);  // 2 KiB of the right factor take 32
  CHECK(cycles_of(wgmma, 64, 16, true) == 160);   // and 8 KiB of the left one
}

TEST_CASE("programs: products by wgmma are refused on a GPU that has none") {
  SimulationRequest request;
  request.gpu = toy_gpu();
  request.gpu.sm_wgmma_flops_per_cycle = 0;
  static const ListingLine listing[] = {{}, {}, {}};
  static const ProgramInfo info = {.id = "fake", .title = "Fake", .family = "test", .listing = listing};
  const auto program = std::make_shared<FakeProgram>(request.problem, TileShape{}, std::vector<std::int64_t>{1},
                                                     [](int, std::int64_t, BlockOperations& out) { add(out, matmul(640)); });
  program->set_product_instruction(ProductInstruction::wgmma);
  const auto run = run_program(request, info, program);
  REQUIRE_FALSE(run);
  CHECK(run.error().sentence ==
        "the products of launch use wgmma (sm_90), which toy does not have: use a GPU whose "
        "sm.wgmma_flops_per_cycle is above 0, as of h100");
}

TEST_CASE("timing: fp32 products use the FP32 pipes") {
  static const ListingLine listing[] = {{}, {}, {}};
  static const ProgramInfo info = {.id = "fake", .title = "Fake", .family = "test", .listing = listing};
  SimulationRequest request;
  request.gpu = toy_gpu();
  request.problem.dtype = DataType::fp32;
  const auto program = std::make_shared<FakeProgram>(request.problem, TileShape{}, std::vector<std::int64_t>{1},
                                                     [](int, std::int64_t, BlockOperations& out) { add(out, matmul(640)); });
  const auto run = run_program(request, info, program);
  REQUIRE(run);
  CHECK((*run)->cycles.value == 102.5);  // a block's start, and 640 FLOP at 256 a cycle
  CHECK((*run)->trace->intervals(0)[0].unit == Unit::fp32);
}

TEST_CASE("timing: a store holds up what follows only for its instructions, but its block ends when it has landed") {
  GpuSpec gpu = toy_gpu();
  gpu.sm_fp32_flops_per_cycle = gpu.sm_alu_lanes_per_cycle = 64;
  const auto run = run_fake(gpu, {1}, [](int, std::int64_t, BlockOperations& out) {
    add(out, store_o(0, 16));
    add(out, exps(16));
  });
  REQUIRE(run);
  const auto intervals = intervals_of(**run);
  CHECK(intervals[0].end == 100 + 512 / 32 + 200);
  // Three instructions for 512 bytes, and for 128 pairs of sums four packings and four writes to shared memory; four a cycle.
  CHECK(intervals[1].start == 100 + 11.0 / 4);
  CHECK((*run)->cycles.value == 316);
  CHECK((*run)->ledger.total(Link::sm_to_l2).value == 512);
  CHECK((*run)->ledger.total(Link::hbm_write).value == 0);
  CHECK((*run)->hbm_write_after_flush.value == 512);
}

TEST_CASE("timing: where instructions wait, what is stored crosses shared memory before it leaves") {
  GpuSpec gpu = toy_gpu();
  gpu.sm_dependent_cycles = 4;
  const auto run = run_fake(gpu, {1}, [](int, std::int64_t, BlockOperations& out) { add(out, store_o(0, 16)); });
  REQUIRE(run);
  // 512 bytes into shared memory and out of it again, at 128 bytes a cycle; they begin to leave when half of that is done.
  CHECK((*run)->cycles.value == 100 + 4 + 512 / 32 + 200);
}

TEST_CASE("timing: blocks are given out one after another, whatever SM they go to") {
  GpuSpec gpu = toy_gpu();
  gpu.launch_block_cycles = 30;
  const auto run = run_fake(gpu, {3}, [](int, std::int64_t, BlockOperations& out) { add(out, exps(160)); });
  REQUIRE(run);
  const auto runs = (*run)->trace->runs();
  REQUIRE(runs.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(runs[i].start == 30.0 * static_cast<double>(i));
  CHECK((*run)->cycles.value == 60 + 100 + 10);
}

TEST_CASE("timing: blocks go round the SMs first, then to the slot that is free first") {
  GpuSpec gpu = toy_gpu();
  gpu.sm_count = 2;
  gpu.sm_max_blocks = 1;
  // Block 0 is long, the others short: SM 1 runs all of them.
  const auto run =
      run_fake(gpu, {4}, [](int, std::int64_t block, BlockOperations& out) { add(out, exps(block == 0 ? 16000 : 160)); });
  REQUIRE(run);
  const auto runs = (*run)->trace->runs();
  REQUIRE(runs.size() == 4);
  CHECK(runs[0].sm == 0);
  for (std::size_t i = 1; i < 4; ++i) {
    CHECK(runs[i].sm == 1);
    CHECK(runs[i].block == static_cast<std::int64_t>(i));
    CHECK(runs[i].start == 110.0 * static_cast<double>(i - 1));
    CHECK(runs[i].end == 110.0 * static_cast<double>(i));
  }
  CHECK((*run)->cycles.value == 1100);
  CHECK((*run)->launches[0].waves == 2);
}

TEST_CASE("timing: a launch starts when the one before has ended and the gap between launches is over") {
  const auto run = run_fake(toy_gpu(), {1, 1}, [](int, std::int64_t, BlockOperations& out) { add(out, exps(160)); });
  REQUIRE(run);
  const auto launches = (*run)->trace->launches();
  REQUIRE(launches.size() == 2);
  CHECK(launches[0].end == 110);
  CHECK(launches[1].start == 1110);
  CHECK((*run)->cycles.value == 1220);
}

TEST_CASE("timing: without an L2 every load comes from HBM and every store goes there") {
  const auto run = run_fake(textbook_gpu(), {1}, [](int, std::int64_t, BlockOperations& out) {
    add(out, load_k(0, 16));
    add_after(out, 0, load_k(0, 16));
    add(out, store_o(0, 16));
  });
  REQUIRE(run);
  CHECK((*run)->ledger.total(Link::hbm_read).value == 1024);
  CHECK((*run)->ledger.total(Link::hbm_write).value == 512);
  CHECK((*run)->hbm_write_after_flush.value == 512);
}

TEST_CASE("timing: an empty block takes its start and nothing else") {
  const auto run = run_fake(toy_gpu(), {3}, [](int, std::int64_t, BlockOperations&) {});
  REQUIRE(run);
  CHECK((*run)->cycles.value == 100);
}
