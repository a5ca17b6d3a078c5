// Measured samples as a curve on the simulated axis.
#include <doctest/doctest.h>

#include "app/views/timeline/timeline_bandwidth.h"

using namespace tilescope;

namespace {

BandwidthRecord record_of(const std::vector<double>& kilobytes) {
  BandwidthRecord record;
  record.interval_ns = 1000;
  for (std::size_t i = 0; i < kilobytes.size(); ++i) {
    // Samples are not quite an interval long.
    const double start = 992.0 * static_cast<double>(i);
    record.samples.push_back({start, start + 992, kilobytes[i] * 500, kilobytes[i] * 500});
  }
  return record;
}

}  // namespace

TEST_CASE("bandwidth curve: it starts at the first traffic, in simulated cycles, and keeps every byte") {
  const BandwidthCurve curve = curve_of(record_of({0, 0, 0, 100, 300, 200, 0, 0, 0, 0}), 2e9, 64);
  CHECK(curve.bin_width == doctest::Approx(2000));  // 1 µs at 2 GHz
  CHECK(curve.ceiling == 64);
  CHECK(curve.before.front() == 0);
  CHECK(curve.before.back() == doctest::Approx(600e3));
  // The first sample with traffic: 100 kB in 992 ns.
  CHECK(curve.rate_between(0, 1900) == doctest::Approx(100e3 / 1984).epsilon(0.02));
  CHECK(curve.rate_between(2000, 3900) == doctest::Approx(300e3 / 1984).epsilon(0.02));
  CHECK(curve.rate_between(8000, 10000) == 0);
}

TEST_CASE("bandwidth curve: without traffic there is no curve") {
  CHECK(curve_of(record_of({}), 2e9, 64).before.size() == 1);
  CHECK(curve_of(record_of({0, 0, 0}), 2e9, 64).rate_between(0, 3000) == 0);
}
