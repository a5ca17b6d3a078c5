// Bursts spread over the time before their end.
#include "sim/analysis/link_bins.h"

#include <array>
#include <numeric>

#include <doctest/doctest.h>

#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

TimeBins bins_of(std::initializer_list<std::int64_t> bytes) {
  TimeBins bins;
  bins.width = 10;
  for (const std::int64_t each : bytes) {
    bins.traffic.emplace_back();
    bins.traffic.back()[1][static_cast<std::size_t>(Link::hbm_read)] = each;
    bins.traffic.back()[2][static_cast<std::size_t>(Link::hbm_write)] = each;
  }
  return bins;
}

constexpr std::array links = {Link::hbm_read, Link::hbm_write};

}  // namespace

TEST_CASE("link bins: what a bin has beyond the peak goes to the bins before it, and sums stay") {
  const auto bytes = link_bytes_by_bin(bins_of({0, 10, 100, 5}), links, 10);
  for (const auto& link : bytes) {
    constexpr std::array expected = {10, 50, 50, 5};
    REQUIRE(link.size() == expected.size());
    for (std::size_t bin = 0; bin < expected.size(); ++bin) CHECK(link[bin] == doctest::Approx(expected[bin]));
    CHECK(std::accumulate(link.begin(), link.end(), 0.0) == doctest::Approx(115));
  }
}

TEST_CASE("link bins: without a peak, or below it, bins stay as they are") {
  CHECK(link_bytes_by_bin(bins_of({0, 10, 100, 5}), links, 0).front() == std::vector<double>{0, 10, 100, 5});
  CHECK(link_bytes_by_bin(bins_of({0, 10, 100, 5}), links, 20).front() == std::vector<double>{0, 10, 100, 5});
}
