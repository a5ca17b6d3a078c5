// The stratified sample: every kernel, regime and mask that the bundle has is in it.
#include "sim/analysis/validation_sample.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tilescope;

namespace {

MeasuredCase made(const std::string& kernel, std::int64_t rows, double hbm_read_bytes, bool causal = false) {
  MeasuredCase out;
  out.kernel = kernel;
  out.problem.seq_q = out.problem.seq_kv = rows;
  out.problem.causal = causal;
  out.counters["hbm_read_bytes"] = {hbm_read_bytes, hbm_read_bytes, hbm_read_bytes};
  return out;
}

}  // namespace

TEST_CASE("validation sample: each kernel, regime and mask gives its cheapest case, and a few more that are cheap") {
  MeasurementBundle bundle;
  bundle.l2_bytes = 1000;
  for (std::int64_t rows = 9; rows > 0; --rows) bundle.cases.push_back(made("flash2", rows * 100, 100));
  bundle.cases.push_back(made("flash2", 50'000, 1000));       // the only one near the capacity: taken, though dear
  bundle.cases.push_back(made("flash2", 60'000, 1000));       // dear
  bundle.cases.push_back(made("flash2", 100, 100, true));     // causal
  bundle.cases.push_back(made("flash2", 100, 100'000));       // beyond
  bundle.cases.push_back(made("standard_cublas", 100, 100));  // a library's
  bundle.cases.push_back(made("standard", 100, 100));         // another kernel
  bundle.cases.push_back(made("standard", 200, 100));
  bundle.cases.back().counters.clear();  // refused
  const std::vector<std::size_t> expected = {0, 3, 6, 8, 9, 11, 12, 14};
  CHECK(sample_cases(bundle, {}) == expected);
}

TEST_CASE("validation sample: 140 million scores are cheap, and more are not taken beside a cheaper case") {
  for (const std::int64_t keys : {14'000, 14'001}) {
    CAPTURE(keys);
    MeasurementBundle bundle;
    bundle.l2_bytes = 1000;
    bundle.cases = {made("flash2", 10, 100)};
    for (int n = 0; n < 4; ++n) {
      bundle.cases.push_back(made("flash2", 10'000, 100));
      bundle.cases.back().problem.seq_kv = keys;
    }
    // The cheapest, and three of five: of known misses all.
    const KnownMiss miss{"flash2", short_text(bundle.cases[1].problem), Figure::time, 1, ""};
    CHECK(sample_cases(bundle, {}).size() == (keys == 14'000 ? 4 : 1));
    CHECK(sample_cases(bundle, {&miss, 1}).size() == (keys == 14'000 ? 5 : 1));
  }
}

TEST_CASE("validation sample: a cheap known miss is always in it") {
  MeasurementBundle bundle;
  bundle.l2_bytes = 1000;
  for (std::int64_t rows = 1; rows < 10; ++rows) bundle.cases.push_back(made("flash2", rows * 100, 100));
  const auto in_it = [&](std::span<const KnownMiss> known, std::size_t i) {
    const auto sample = sample_cases(bundle, known);
    return std::find(sample.begin(), sample.end(), i) != sample.end();
  };
  CHECK_FALSE(in_it({}, 4));
  const KnownMiss miss{"flash2", short_text(bundle.cases[4].problem), Figure::time, 1, ""};
  CHECK(in_it({&miss, 1}, 4));
}
