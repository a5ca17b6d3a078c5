// Ranges as people write them, the request of each point, and where the L2 parts from the paper's count.
#include "sim/analysis/sweep.h"

#include <cmath>

#include <doctest/doctest.h>

#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

std::vector<double> values_of(std::string_view text) {
  const auto axis = parse_sweep_axis(text);
  REQUIRE_MESSAGE(axis, text);
  return axis->values;
}

std::string refused_axis(std::string_view text) {
  const auto axis = parse_sweep_axis(text);
  REQUIRE_FALSE_MESSAGE(axis, text);
  return axis.error().sentence;
}

SweepRequest small_sweep(std::string_view axis, const GpuSpec& gpu) {
  SweepRequest sweep;
  sweep.base.gpu = gpu;
  sweep.base.problem = {.seq_q = 64, .seq_kv = 64, .head_dim = 16};
  sweep.algorithms = {"standard", "flash1", "flash2"};
  sweep.axis = *parse_sweep_axis(axis);
  return sweep;
}

}  // namespace

TEST_CASE("sweep: ranges double, add, and list") {
  CHECK(values_of("seq=64:512:x2") == std::vector<double>{64, 128, 256, 512});
  CHECK(values_of("seq=64:512") == std::vector<double>{64, 128, 256, 512});
  CHECK(values_of("head_dim=32:128:+32") == std::vector<double>{32, 64, 96, 128});
  CHECK(values_of("block_q=128,16,16") == std::vector<double>{16, 128});
  CHECK(values_of("seq=10:40:x1.5") == std::vector<double>{10, 15, 23, 34});
  CHECK(values_of("hbm.bytes_per_second=1e12:4e12:x2").size() == 3);
  CHECK(values_of("l2.capacity_bytes=0,1048576").front() == 0);
}

TEST_CASE("sweep: a run that was simulated has the value of every key that it was asked for with") {
  for (const char* axis : {"seq=32", "seq_kv=48", "head_dim=32", "batch=2", "heads=3", "block_q=8", "block_kv=32", "stages=3",
                           "shared_bytes=65536", "l2.capacity_bytes=8192"}) {
    CAPTURE(axis);
    const SweepRequest sweep = small_sweep(axis, toy_gpu());
    const auto request = request_at(sweep, "flash2", sweep.axis.values.front());
    REQUIRE(request);
    const auto run = simulate(*request);
    REQUIRE(run);
    CHECK(sweep_value_of(**run, sweep.axis.key) == sweep.axis.values.front());
  }
  const auto run = simulate(*request_at(small_sweep("seq=32", toy_gpu()), "flash2", 32));
  CHECK_FALSE(sweep_value_of(**run, "no such key"));
}

TEST_CASE("sweep: a range has at most 200 values") {
  CHECK(values_of("seq=1:200:+1").size() == 200);
  CHECK(refused_axis("seq=1:201:+1").find("over 200") != std::string::npos);
  std::string list = "seq=1";
  for (int n = 2; n <= 200; ++n) list += "," + std::to_string(n);
  CHECK(values_of(list).size() == 200);
  CHECK(refused_axis(list + ",201").find("has 201 values") != std::string::npos);
}

TEST_CASE("sweep: over heads, key heads follow unless they were given") {
  SweepRequest sweep = small_sweep("heads=3,4", toy_gpu());
  sweep.base.problem.heads = sweep.base.problem.kv_heads = 2;
  CHECK(request_at(sweep, "flash2", 3)->problem.kv_heads == 3);
  sweep.keeps_kv_heads = true;
  CHECK(request_at(sweep, "flash2", 3)->problem.kv_heads == 2);
  CHECK_FALSE(check(request_at(sweep, "flash2", 3)->problem));
  CHECK(check(request_at(sweep, "flash2", 4)->problem));
  CHECK_FALSE(theory_at(sweep, "flash1", 3));  // nothing is counted for a point that cannot run
  CHECK(theory_at(sweep, "flash1", 4));
}

TEST_CASE("sweep: the paper's count is of one pass, and a run of both has none") {
  SweepRequest sweep = small_sweep("seq=64,128", toy_gpu());
  CHECK(theory_at(sweep, "flash2", 64));
  sweep.base.problem.pass = Pass::both;
  CHECK_FALSE(theory_at(sweep, "flash2", 64));
}

TEST_CASE("sweep: a step too small to lead to another number is refused instead of being taken forever") {
  CHECK(refused_axis("seq=64:128:+1e-20").find("use a larger step") != std::string::npos);
  CHECK(refused_axis("seq=64:128:x1.00000000000001").find("use a larger factor") != std::string::npos);
  CHECK(refused_axis("l2.capacity_bytes=1e17:2e17:+1").find("use a larger step") != std::string::npos);
}

TEST_CASE("sweep: a range that cannot be is refused in one sentence that quotes it") {
  CHECK(refused_axis("sek=1:2").find("did you mean seq") != std::string::npos);
  CHECK(refused_axis("seq").find("no range") != std::string::npos);
  CHECK(refused_axis("seq=").find("no range") != std::string::npos);
  CHECK(refused_axis("seq=512:64").find("backward") != std::string::npos);
  CHECK(refused_axis("seq=64:512:x1").find("never reaches") != std::string::npos);
  CHECK(refused_axis("seq=64:512:+0").find("never reaches") != std::string::npos);
  CHECK(refused_axis("seq=64:512:2").find("factor like x2") != std::string::npos);
  CHECK(refused_axis("seq=a:b").find("'a'") != std::string::npos);
  CHECK(refused_axis("seq=nan:512").find("'nan'") != std::string::npos);
  CHECK(refused_axis("seq=1:2000000000:+1").find("over 200") != std::string::npos);
  CHECK(refused_axis("head_dim=64:512").find("512") != std::string::npos);
  CHECK(refused_axis("seq=1.5,2").find("whole number") != std::string::npos);
  CHECK(refused_axis("seq=1:2:3:4").find("1:2:3:4") != std::string::npos);
}

TEST_CASE("sweep: a point changes what is swept and nothing else") {
  const SweepRequest sweep = small_sweep("seq=64:256", toy_gpu());
  const auto longer = request_at(sweep, "flash1", 256);
  REQUIRE(longer);
  CHECK(longer->algorithm == "flash1");
  CHECK(longer->problem.seq_q == 256);
  CHECK(longer->problem.seq_kv == 256);
  CHECK(longer->problem.head_dim == 16);
  SweepRequest cross = sweep;
  cross.base.problem.seq_kv = 32;  // cross-attention: the keys stay
  CHECK(request_at(cross, "flash2", 256)->problem.seq_kv == 32);
  SweepRequest rows = small_sweep("block_q=4,8", toy_gpu());
  const auto tile = request_at(rows, "flash2", 8);
  REQUIRE(tile);
  REQUIRE(tile->tile);
  CHECK(tile->tile->block_q == 8);
  CHECK(tile->tile->block_kv == 16);
  CHECK_FALSE(request_at(sweep, "flush", 64));
}

TEST_CASE("sweep: without an L2, HBM carries the paper's count, and less of it the larger M is") {
  SweepRequest sweep = small_sweep("shared_bytes=4096:32768:x2", textbook_gpu());
  sweep.base.problem = {.seq_q = 256, .seq_kv = 256, .head_dim = 32};
  sweep.algorithms = {"flash1"};
  double before = INFINITY;
  for (double memory : sweep.axis.values) {
    const auto request = request_at(sweep, "flash1", memory);
    REQUIRE(request);
    const auto outcome = simulate_outcome(*request);
    REQUIRE(outcome);
    REQUIRE_MESSAGE(outcome->done(), outcome->refusal);
    CHECK(outcome->hbm() == theory_at(sweep, "flash1", memory)->bytes);
    CHECK(outcome->hbm() < before);
    before = outcome->hbm();
  }
}

TEST_CASE("sweep: where HBM comes up to the count, the L2 parts from it") {
  SweepResult result(small_sweep("seq=64,128,256", toy_gpu()));
  const auto put = [&](std::size_t value, double share) {
    Outcome outcome;
    outcome.bytes[static_cast<std::size_t>(Link::hbm_read)] =
        share * theory_at(result.request, "standard", result.request.axis.values[value])->bytes;
    result.points[result.index(0, value)] = outcome;
  };
  CHECK_FALSE(l2_parting(result, 0));
  put(0, 0.3);
  put(1, 0.5);
  put(2, 0.6);
  CHECK_FALSE(l2_parting(result, 0)->joins);
  CHECK(l2_parting(result, 0)->saved_at_end == doctest::Approx(0.4));
  put(1, 0.95);
  put(2, 1.0);
  CHECK(l2_parting(result, 0)->joins == 1);
  put(0, 0.97);  // the L2 never helped: nothing to part from
  CHECK_FALSE(l2_parting(result, 0)->joins);
}
