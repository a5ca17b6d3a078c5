// Numbered limits: what is beyond its bound is held by an entry only as far as that goes.
#include "sim/analysis/numbered_limits.h"

#include <doctest/doctest.h>

#include "tests/sim/test_gpus.h"
#include "tests/synthetic_measurements.h"

using namespace tilescope;

namespace {

AttentionProblem problem_of(std::int64_t heads, std::int64_t rows) {
  AttentionProblem problem;
  problem.heads = problem.kv_heads = heads;
  problem.seq_q = problem.seq_kv = rows;
  problem.head_dim = 64;
  return problem;
}

/// An H200 with a tenth of its SMs and its L2: what is near its capacity is simulated in no time.
GpuSpec small_gpu() {
  GpuSpec gpu = h200_gpu();
  gpu.sm_groups = {{6, 0}, {6, 1}};
  gpu.sm_count = 12;
  gpu.l2_capacity_bytes /= 10;
  return gpu;
}

/// The HBM reads of a case whose measured ones are those simulated with `part` of the L2, times `factor`.
Comparison reads(const std::string& kernel, const AttentionProblem& problem, TileShape tile, double part, double factor = 1) {
  const GpuSpec gpu = small_gpu();
  GpuSpec other = gpu;
  other.l2_capacity_bytes *= part;
  MeasuredCase measured = synthetic_case(kernel, problem, tile, other);
  Spread& hbm = measured.counters.at("hbm_read_bytes");
  hbm = exactly(hbm.median * factor);
  measured.hbm_write_after_flush_bytes = {};
  measured.counters.erase("hbm_write_bytes");
  const auto result = simulate_case(gpu, measured);
  REQUIRE(result);
  return *result->figure(Figure::hbm_read);
}

}  // namespace

TEST_CASE(
    "numbered limits: near the L2's capacity, a figure is held by the entry on what an L2 keeps, with the part that it takes") {
  const AttentionProblem problem = problem_of(4, 640);  // S and P: 6.6 MB beside an L2 of 6.2 MB
  const Comparison same = reads("standard", problem, {128, 128}, 1);
  CHECK(same.within());
  CHECK(same.limit == 0);
  for (double part : {0.92, 1.08}) {
    CAPTURE(part);
    const Comparison c = reads("standard", problem, {128, 128}, part);
    CHECK_FALSE(c.within());
    CHECK(c.held());
    CHECK(c.limit == l2_capacity_entry);
    CHECK(std::abs(c.l2_part - 1) <= std::abs(part - 1) + 1e-9);
    CHECK((c.l2_part > 1) == (part > 1));
  }
  CHECK_FALSE(reads("standard", problem, {128, 128}, 1, 3).held());
  CHECK_FALSE(reads("standard", problem, {128, 128}, 1, 0.2).held());
}

TEST_CASE("numbered limits: where everything fits the L2, no part of it explains a miss") {
  const AttentionProblem problem = problem_of(2, 256);
  CHECK(reads("flash2", problem, {128, 128}, 1).within());
  const Comparison c = reads("flash2", problem, {128, 128}, 1, 3);
  CHECK_FALSE(c.within());
  CHECK_FALSE(c.held());
}

TEST_CASE("numbered limits: rows of a softmax that nearly fill the L2 may be read so much too little or too often, and no more") {
  const AttentionProblem long_rows = problem_of(1, 5120), short_rows = problem_of(5, 1024);
  const auto limit = numbered_limits().front();
  const Comparison held = reads("softmax_online", long_rows, {1, 128}, 1, 1 / (1 - limit.error * 0.9));
  CHECK_FALSE(held.within());
  CHECK(held.limit == limit.entry);
  CHECK(reads("softmax_online", long_rows, {1, 128}, 1, 2).limit != limit.entry);
  CHECK(reads("softmax_online", short_rows, {1, 128}, 1, 1 / (1 - limit.error * 0.9)).limit != limit.entry);
}
