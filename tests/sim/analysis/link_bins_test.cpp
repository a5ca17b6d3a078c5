// Bursts spread over the time before their end.
#include "sim/analysis/link_bins.h"

#include <array>
#include <cmath>
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

TEST_CASE("link bins: reads cross before they end, the later ones later, and writes after their eviction where reads leave room") {
  TimeBins bins;
  bins.width = 10;
  bins.traffic.resize(7);
  const auto book = [&](std::size_t bin, std::size_t tensor, Link link, std::int64_t bytes) {
    bins.traffic[bin][tensor][static_cast<std::size_t>(link)] = bytes;
  };
  book(3, 1, Link::hbm_read, 40);
  book(4, 2, Link::hbm_read, 15);  // 10 of them cross in bin 4 and 5 in bin 3, before which tensor 1 has crossed
  book(2, 3, Link::hbm_write, 16);
  const auto bytes = hbm_bytes_by_bin(bins, 1);
  const auto of = [&](std::size_t tensor) {
    std::vector<double> all;
    for (const auto& bin : bytes) all.push_back(std::round(bin[tensor] * 1e6) / 1e6);
    return all;
  };
  CHECK(of(2) == std::vector<double>{0, 0, 0, 5, 10, 0, 0});
  CHECK(of(1) == std::vector<double>{15, 10, 10, 5, 0, 0, 0});
  CHECK(of(3) == std::vector<double>{0, 0, 0, 0, 0, 10, 6});
  CHECK(hbm_bytes_by_bin(bins, 0)[3][1] == 40);
  CHECK(hbm_bytes_by_bin(bins, 0)[2][3] == 16);
}
