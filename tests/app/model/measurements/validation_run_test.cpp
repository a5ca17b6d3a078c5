// The cases of a bundle, simulated on several threads. Every number is synthetic.
#include "app/model/measurements/validation_run.h"

#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include "tests/sim/test_gpus.h"
#include "tests/synthetic_measurements.h"

using namespace tilescope;

TEST_CASE("validation run: every wanted case is done once, on any number of threads, and cancelling stops it") {
  const GpuSpec gpu = toy_gpu();
  const MeasurementBundle bundle = synthetic_bundle(gpu);
  for (const int threads : {1, 2, 7}) {
    std::vector<int> times(bundle.cases.size());
    CHECK(validate_cases(
        gpu, bundle.cases, {}, [](std::size_t i) { return i != 2; }, threads,
        [&](std::size_t i, const CaseValidation& result) {
          ++times[i];
          CHECK(result.verdict() == Verdict::within);
          return true;
        }));
    CHECK(times == std::vector<int>{1, 1, 0, 1, 1, 1});
  }
  std::size_t done = 0;
  CHECK_FALSE(validate_cases(gpu, bundle.cases, {}, {}, 1, [&](std::size_t, const CaseValidation&) { return ++done < 2; }));
  CHECK(done == 2);
  CHECK_FALSE(validate_cases(gpu, bundle.cases, {}, {}, 2, {}, [] { return true; }));
}

TEST_CASE("validation run: the window's order begins with what is simulated soonest, the other ends with it") {
  const GpuSpec gpu = toy_gpu();
  MeasurementBundle bundle = synthetic_bundle(gpu);
  bundle.cases.resize(2);
  bundle.cases[0].problem.heads = bundle.cases[0].problem.kv_heads = 2 * bundle.cases[1].problem.heads;
  bundle.cases[0].problem.seq_q = bundle.cases[1].problem.seq_q;
  bundle.cases[0].problem.seq_kv = bundle.cases[1].problem.seq_kv;
  bundle.cases[0].problem.batch = bundle.cases[1].problem.batch;
  for (const CaseOrder order : {CaseOrder::largest_first, CaseOrder::smallest_first}) {
    std::vector<std::size_t> seen;
    const auto note = [&](std::size_t i, const CaseValidation&) {
      seen.push_back(i);
      return true;
    };
    CHECK(validate_cases(gpu, bundle.cases, {}, {}, 1, note, {}, order));
    CHECK(seen == (order == CaseOrder::largest_first ? std::vector<std::size_t>{0, 1} : std::vector<std::size_t>{1, 0}));
  }
}
