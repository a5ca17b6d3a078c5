// Validation: errors and bounds of single figures, what is in flight, and what a bundle adds up to; all on synthetic measurements.
#include "sim/analysis/validation.h"

#include <doctest/doctest.h>

#include <random>

#include "tests/sim/test_gpus.h"
#include "tests/synthetic_measurements.h"

using namespace tilescope;

namespace {

AttentionProblem problem_of(std::int64_t heads, std::int64_t rows, std::int64_t head_dim) {
  AttentionProblem problem;
  problem.heads = problem.kv_heads = heads;
  problem.seq_q = problem.seq_kv = rows;
  problem.head_dim = head_dim;
  return problem;
}

CaseValidation validated(const MeasuredCase& measured, const GpuSpec& gpu) {
  const Result<CaseValidation> result = simulate_case(gpu, measured);
  REQUIRE(result);
  return *result;
}

}  // namespace

TEST_CASE("validation: a comparison is within its bound up to the larger of the two limits") {
  Comparison c;
  c.measured = exactly(1000);
  c.bound = ErrorBound{0.1, 50};
  c.simulated = 1100;
  CHECK(c.error() == doctest::Approx(0.1));
  CHECK(c.within());
  c.simulated = 899;
  CHECK_FALSE(c.within());
  c.bound->absolute = 200;
  CHECK(c.within());
  c.bound.reset();
  c.simulated = 1e9;
  CHECK(c.within());
  c.measured = {};
  CHECK(std::isinf(c.error()));
  c.simulated = 0;
  CHECK(c.error() == 0);
}

TEST_CASE("validation: where the tensors lay in many places, the bound is for what lies outside of all that was measured") {
  Comparison c;
  c.measured = {1000, 400, 2000};
  c.bound = ErrorBound{0.1, 0};
  c.in_many_places = true;
  for (double inside : {361.0, 400.0, 1500.0, 2199.0}) {
    c.simulated = inside;
    CAPTURE(inside);
    CHECK(c.within());
  }
  for (double outside : {359.0, 2201.0}) {
    c.simulated = outside;
    CAPTURE(outside);
    CHECK_FALSE(c.within());
  }
  CHECK(c.error() == doctest::Approx(1.201));  // of the median all the same
  c.in_many_places = false;
  c.simulated = 1500;
  CHECK_FALSE(c.within());
}

TEST_CASE("validation: a figure is within, within the spread, a known miss or fails") {
  Comparison c;
  c.measured = {1000, 800, 1300};
  c.bound = ErrorBound{0.1, 0};
  c.in_many_places = true;
  const auto verdict_of = [&](double simulated) {
    c.simulated = simulated;
    return c.verdict();
  };
  CHECK(verdict_of(1000) == Verdict::within);
  CHECK(verdict_of(1100) == Verdict::within);  // of the median
  CHECK(verdict_of(1101) == Verdict::within_spread);
  CHECK(verdict_of(1430) == Verdict::within_spread);  // a tenth above the most
  CHECK(verdict_of(1431) == Verdict::fails);
  CHECK(verdict_of(720) == Verdict::within_spread);  // a tenth below the least
  CHECK(verdict_of(719) == Verdict::fails);
  c.known = KnownMiss{"flash1", "", Figure::hbm_read, 0.5, "measured"};
  CHECK(verdict_of(1431) == Verdict::known_miss);
  CHECK(verdict_of(1500) == Verdict::known_miss);
  CHECK(verdict_of(1501) == Verdict::fails);  // beyond the cap
  CHECK(verdict_of(501) == Verdict::known_miss);
  CHECK(verdict_of(499) == Verdict::fails);
  CHECK(verdict_of(1000) == Verdict::within);  // being listed makes nothing worse
  c.in_many_places = false;
  CHECK(verdict_of(1101) == Verdict::known_miss);
  c.bound.reset();
  CHECK_FALSE(verdict_of(5000));
  c.bound = ErrorBound{0.1, 0};
  c.measured = {};
  CHECK(verdict_of(1) == Verdict::fails);  // an infinite error is below no cap
}

TEST_CASE("validation: a miss on either side of the truth fails") {
  Comparison c;
  c.measured = exactly(1000);
  c.bound = ErrorBound{0.02, 0};
  for (const double simulated : {900.0, 1100.0}) {
    c.simulated = simulated;
    CHECK(c.verdict() == Verdict::fails);
  }
}

TEST_CASE("validation: a case has the worst verdict of its figures, and none without a bound") {
  CaseValidation result;
  CHECK_FALSE(result.verdict());
  const auto set = [&](Figure figure, double simulated, bool bounded, std::optional<KnownMiss> known = std::nullopt) {
    result.figures[static_cast<std::size_t>(figure)] = Comparison{
        simulated, {1000, 700, 1200}, bounded ? std::optional(ErrorBound{0.1, 0}) : std::nullopt, true, std::move(known)};
  };
  set(Figure::hbm_write, 9000, false);
  CHECK_FALSE(result.verdict());
  set(Figure::l2_to_sm, 1000, true);
  CHECK(result.verdict() == Verdict::within);
  set(Figure::hbm_read, 1250, true);
  CHECK(result.verdict() == Verdict::within_spread);
  set(Figure::hbm_write_after_flush, 2000, true, KnownMiss{"", "", Figure::hbm_write_after_flush, 1.5, ""});
  CHECK(result.verdict() == Verdict::known_miss);
  set(Figure::time, 5000, true);
  CHECK(result.verdict() == Verdict::fails);

  VerdictCounts counts;
  for (const auto& f : result.figures)
    if (f) counts.add(f->verdict());
  for (const Verdict verdict : all_verdicts) CHECK(counts[verdict] == 1);
  CHECK(counts.unbounded == 1);
  CHECK(counts.bounded() == 4);
  CHECK(counts.beyond() == 2);
}

TEST_CASE("validation: a case with presets is simulated with its mask, and named by it") {
  const GpuSpec gpu = toy_gpu();
  MeasuredCase plain = synthetic_case("flex", problem_of(2, 128, 16), {16, 16}, gpu, 1.0);
  MeasuredCase window = plain;
  window.presets = {"sliding_window:window=20"};
  CHECK(short_text(window) == short_text(plain.problem) + " sliding_window:window=20");
  const auto whole = simulate_case(gpu, plain), part = simulate_case(gpu, window);
  REQUIRE(whole);
  REQUIRE(part);
  CHECK(part->figure(Figure::l2_to_sm)->simulated < 0.7 * whole->figure(Figure::l2_to_sm)->simulated);
  window.presets = {"document"};  // its table is not recorded
  const auto refused = simulate_case(gpu, window);
  REQUIRE(refused);
  CHECK(refused->not_simulated.find("doc") != std::string::npos);
  CHECK(refused->verdict() == Verdict::fails);
}

TEST_CASE("validation: a known miss applies to its own kernel, problem and figure alone") {
  const GpuSpec gpu = toy_gpu();
  const AttentionProblem problem = problem_of(2, 128, 16);
  const MeasuredCase measured = synthetic_case("flash2", problem, {16, 16}, gpu, 1.5);
  const KnownMiss miss{"flash2", short_text(problem), Figure::time, 0.34, "measured"};
  const auto time_of = [&](const KnownMiss& known) {
    const auto result = simulate_case(gpu, measured, {&known, 1});
    REQUIRE(result);
    return result->figure(Figure::time)->verdict();
  };
  CHECK(time_of(miss) == Verdict::known_miss);
  KnownMiss other = miss;
  other.kernel = "flash1";
  CHECK(time_of(other) == Verdict::fails);
  other = miss;
  other.problem = "B1 H2 N129 d16 fp16";
  CHECK(time_of(other) == Verdict::fails);
  other = miss;
  other.figure = Figure::cycles;
  CHECK(time_of(other) == Verdict::fails);
  other = miss;
  other.cap = 0.33;
  CHECK(time_of(other) == Verdict::fails);
}

TEST_CASE("validation: places in memory loosen the bounds of HBM, and of nothing else") {
  const GpuSpec gpu = h200_gpu();
  MeasuredCase measured = synthetic_case("flash2", problem_of(4, 1024, 64), {128, 128}, gpu);
  measured.placements = 4;
  const CaseValidation result = validated(measured, gpu);
  for (const Figure f : all_figures) {
    if (f == Figure::reduced) continue;  // a forward pass adds nothing
    CAPTURE(to_string(f));
    REQUIRE(result.figure(f));
    CHECK(result.figure(f)->in_many_places == to_string(f).starts_with("hbm_"));
  }
}

TEST_CASE("validation: what the model itself said has no error, and a tenth more is beyond the SM links' bound") {
  const GpuSpec gpu = h200_gpu();
  const AttentionProblem problem = problem_of(4, 1024, 64);
  const CaseValidation same = validated(synthetic_case("flash2", problem, {128, 128}, gpu), gpu);
  CHECK(same.verdict() == Verdict::within);
  for (const Figure f : all_figures) {
    if (f == Figure::reduced) continue;  // a forward pass adds nothing
    CAPTURE(to_string(f));
    REQUIRE(same.figure(f));
    CHECK(std::abs(same.figure(f)->error()) < 1e-9);
  }
  const CaseValidation more = validated(synthetic_case("flash2", problem, {128, 128}, gpu, 1.1), gpu);
  CHECK(more.verdict() == Verdict::fails);
  CHECK_FALSE(more.figure(Figure::l2_to_sm)->within());
  CHECK_FALSE(more.figure(Figure::hbm_read)->within());  // K, V fit: two percent
  CHECK(more.figure(Figure::time)->within());            // twenty percent
  CHECK(more.figure(Figure::time)->error() == doctest::Approx(1 / 1.1 - 1));
}

TEST_CASE("validation: lookups of the L2 are told beside their counter, and no verdict rests on them") {
  const GpuSpec gpu = h200_gpu();
  MeasuredCase measured = synthetic_case("flash2", problem_of(4, 1024, 64), {128, 128}, gpu);
  CHECK_FALSE(validated(measured, gpu).l2_lookups);
  const double simulated = measured.counters["l2_to_sm_bytes"].median;
  measured.counters["l2_lookup_read_bytes"] = exactly(100 * simulated);
  const CaseValidation told = validated(measured, gpu);
  REQUIRE(told.l2_lookups);
  CHECK(told.l2_lookups->error() < -0.98);
  CHECK(told.verdict() == Verdict::within);
  const ValidationSummary summary = summarise({&measured, 1}, {&told, 1});
  CHECK(summary.all.l2_lookups.cases == 1);
  CHECK(summary.all.l2_lookups.worst == doctest::Approx(-told.l2_lookups->error()));
}

TEST_CASE("validation: what was not timed has no error of time") {
  const GpuSpec gpu = h200_gpu();
  MeasuredCase measured = synthetic_case("flash2", problem_of(4, 1024, 64), {128, 128}, gpu);
  measured.time_cold_ns = measured.cycles = {};
  const CaseValidation untimed = validated(measured, gpu);
  CHECK_FALSE(untimed.figure(Figure::time));
  CHECK_FALSE(untimed.figure(Figure::cycles));
  CHECK(untimed.verdict() == Verdict::within);
}

TEST_CASE("validation: what a backward pass adds is compared with its counter, and only where there is one") {
  const GpuSpec gpu = h200_gpu();
  AttentionProblem problem = problem_of(8, 512, 64);  // a tenth of what it adds is more than the bound allows a small case
  CHECK_FALSE(validated(synthetic_case("flash2", problem, {128, 128}, gpu), gpu).figure(Figure::reduced));
  problem.pass = Pass::backward;
  MeasuredCase measured = synthetic_case("flash2_backward", problem, {128, 128}, gpu);
  CHECK(validated(measured, gpu).figure(Figure::reduced)->within());
  measured.counters["sm_to_l2_reduce_bytes"] = exactly(1.1 * measured.counters["sm_to_l2_reduce_bytes"].median);
  CHECK(validated(measured, gpu).figure(Figure::reduced)->verdict() == Verdict::fails);
  measured.counters.erase("sm_to_l2_reduce_bytes");
  CHECK_FALSE(validated(measured, gpu).figure(Figure::reduced));
}

TEST_CASE("validation: the bound of HBM writes stands on what a flush showed, where there was one") {
  const GpuSpec gpu = h200_gpu();
  MeasuredCase measured = synthetic_case("standard", problem_of(16, 2048, 64), {128, 128}, gpu);
  measured.counters["hbm_write_bytes"] = exactly(1e9);
  CHECK(validated(measured, gpu).verdict() == Verdict::within);
  CHECK_FALSE(validated(measured, gpu).figure(Figure::hbm_write)->bound);
  measured.hbm_write_after_flush_bytes = {};
  const CaseValidation unflushed = validated(measured, gpu);
  CHECK_FALSE(unflushed.figure(Figure::hbm_write_after_flush));
  CHECK_FALSE(unflushed.figure(Figure::hbm_write)->within());
}

TEST_CASE("validation: at half the clock products take twice as long, and what HBM takes is as long as before") {
  GpuSpec gpu = h200_gpu();
  const auto time_at = [&](const char* kernel, const AttentionProblem& problem, double clock) {
    MeasuredCase measured = synthetic_case(kernel, problem, {128, 128}, gpu);
    measured.sm_clock_hz = clock;
    return validated(measured, gpu).figure(Figure::time)->simulated;
  };
  const double full = gpu.sm_clock_hz, half = full / 2;
  const AttentionProblem products = problem_of(132, 1024, 128);
  CHECK(time_at("flash2", products, half) == doctest::Approx(2 * time_at("flash2", products, full)).epsilon(0.1));
  gpu.hbm_bytes_per_second /= 100;  // now nothing else takes time
  const AttentionProblem moved = problem_of(8, 1024, 64);
  CHECK(time_at("standard", moved, half) == doctest::Approx(time_at("standard", moved, full)).epsilon(0.1));
}

TEST_CASE("validation: K and V in flight are those of the heads that resident blocks work on") {
  const GpuSpec gpu = h200_gpu();
  SimulationRequest request;
  request.gpu = gpu;
  request.tile = TileShape{128, 128};
  request.problem = problem_of(64, 1024, 64);  // 8 blocks a head
  const auto simulation = simulate(request);
  REQUIRE(simulation);
  const std::int64_t resident = 132 * (*simulation)->launches[0].blocks_per_sm;
  const std::int64_t heads = std::min<std::int64_t>(64, ceil_div(resident - 1, 8) + 1);
  CHECK(kv_in_flight(**simulation).value == heads * 2 * 1024 * 64 * 2);
  request.problem.kv_heads = 1;
  const auto shared = simulate(request);
  REQUIRE(shared);
  CHECK(kv_in_flight(**shared).value == 2 * 1024 * 64 * 2);
  CHECK(effective_l2(gpu).value == 30 * 1024 * 1024);
  CHECK(effective_l2(toy_gpu()).value == 1024 * 1024);
}

TEST_CASE("validation: a library's kernel is compared in HBM bytes only, and no bound stands") {
  const GpuSpec gpu = h200_gpu();
  const CaseValidation result = validated(synthetic_case("standard_cublas", problem_of(2, 512, 64), {128, 128}, gpu, 5), gpu);
  CHECK(result.algorithm == "standard");
  CHECK_FALSE(result.verdict());
  CHECK_FALSE(result.figure(Figure::l2_to_sm));
  CHECK_FALSE(result.figure(Figure::time));
  CHECK(result.figure(Figure::hbm_read));
}

TEST_CASE("validation: what cannot be simulated, and what counters were refused for, stays in the list") {
  const GpuSpec gpu = toy_gpu();
  MeasuredCase unknown = synthetic_case("flash2", problem_of(1, 64, 16), {16, 16}, gpu);
  unknown.kernel = "flash9";
  CHECK(validated(unknown, gpu).not_simulated.find("flash9") != std::string::npos);
  CHECK(validated(unknown, gpu).verdict() == Verdict::fails);
  MeasuredCase uncounted = synthetic_case("flash2", problem_of(1, 64, 16), {16, 16}, gpu);
  uncounted.counters.clear();
  uncounted.hbm_write_after_flush_bytes = {};
  const CaseValidation result = validated(uncounted, gpu);
  CHECK_FALSE(result.figure(Figure::hbm_read));
  CHECK(result.figure(Figure::time));
  CHECK(result.verdict() == Verdict::within);

  const std::vector<MeasuredCase> cases = {unknown, uncounted};
  const std::vector<CaseValidation> results = {validated(unknown, gpu), result};
  const ValidationSummary summary = summarise(cases, results);
  CHECK(summary.not_simulated == 1);
  CHECK(summary.cases[Verdict::fails] == 1);
  CHECK(summary.cases[Verdict::within] == 1);
  CHECK(summary.fails());
  REQUIRE(summary.kernels.size() == 2);
  CHECK(summary.kernels[0].cases == 1);
  CHECK(summary.kernels[0].figure(Figure::time).cases == 0);
}

TEST_CASE("validation: a summary has every case once by kernel and by list, its worst error and where it is") {
  const GpuSpec gpu = toy_gpu();
  MeasurementBundle bundle = synthetic_bundle(gpu);
  bundle.cases[4] = synthetic_case("standard", bundle.cases[4].problem, bundle.cases[4].tile, gpu, 2);
  std::vector<CaseValidation> results;
  for (const MeasuredCase& c : bundle.cases) results.push_back(validated(c, gpu));
  const ValidationSummary summary = summarise(bundle.cases, results);
  REQUIRE(summary.kernels.size() == 2);
  CHECK(summary.kernels[0].cases + summary.kernels[1].cases == static_cast<int>(bundle.cases.size()));
  CHECK(summary.kernels[1].figure(Figure::time).worst == doctest::Approx(0.5));
  CHECK(summary.kernels[1].figure(Figure::time).worst_case == 4);
  CHECK(summary.kernels[1].figure(Figure::time).mean() == doctest::Approx(0.5 / 3));
  CHECK(summary.all.figure(Figure::time).verdicts[Verdict::fails] == 1);
  CHECK(summary.cases[Verdict::fails] == 1);
  CHECK(summary.cases[Verdict::within] == 5);
  CHECK_FALSE(summary.mean_time_held);  // 0.5 / 6 is 8.3 %
  CHECK(summary.lists.size() == 2);     // case 4 is in none any more
  CHECK(summary.lists[0].cases + summary.lists[1].cases == 5);
}

TEST_CASE("validation: the mean error of time holds up to its bound of 8 %") {
  const std::vector<MeasuredCase> cases = {synthetic_case("flash2", problem_of(1, 64, 16), {16, 16}, toy_gpu())};
  const auto held = [&](double simulated) {
    std::vector<CaseValidation> results(1);
    Comparison& time = results[0].figures[static_cast<std::size_t>(Figure::time)].emplace();
    time.simulated = simulated;
    time.measured.median = 100;
    return summarise(cases, results).mean_time_held;
  };
  CHECK(held(100));
  CHECK(held(108));
  CHECK(held(92));
  CHECK_FALSE(held(108.1));
  CHECK_FALSE(held(91.9));
}

TEST_CASE("validation: rank correlation is 1 for any growing map, -1 for any falling one, and shares the ranks of ties") {
  std::mt19937_64 engine(20261121);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> a(3 + engine() % 20);
    for (double& x : a) x = static_cast<double>(engine() % 1000003);
    std::vector<double> cubes, falling;
    for (const double x : a) cubes.push_back(x * x * x), falling.push_back(-x);
    const auto up = rank_correlation(a, cubes), down = rank_correlation(a, falling);
    REQUIRE(up);
    CHECK(*up == doctest::Approx(1));
    CHECK(*down == doctest::Approx(-1));
  }
  const std::vector<double> ties = {1, 2, 2, 3}, other = {1, 2, 3, 4}, flat = {5, 5, 5, 5}, two = {1, 2};
  CHECK(*rank_correlation(ties, other) == doctest::Approx(0.9486832981));
  CHECK_FALSE(rank_correlation(flat, other));
  CHECK_FALSE(rank_correlation(two, two));
}

TEST_CASE("validation: a problem's short text names kv heads and keys only where they differ") {
  AttentionProblem problem = problem_of(32, 4096, 128);
  CHECK(short_text(problem) == "B1 H32 N4096 d128 fp16");
  problem.kv_heads = 8;
  problem.seq_kv = 1000;
  problem.dtype = DataType::bf16;
  problem.causal = true;
  CHECK(short_text(problem) == "B1 H32/8 N4096x1000 d128 bf16 causal");
}
