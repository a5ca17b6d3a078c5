// Bursts spread over the time before their end.
#include "sim/analysis/link_bins.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include <doctest/doctest.h>

#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

TimeBins bins_of(std::initializer_list<std::int64_t> bytes) {
  TimeBins bins;
  bins.width = 10;
  for (const std::int64_t each : bytes) {
    bins.traffic.emplace_back();
    bins.traffic.back()[1][static_cast<std::size_t>(Link::l2_to_sm)] = each;
    bins.traffic.back()[2][static_cast<std::size_t>(Link::sm_to_l2)] = each;
  }
  return bins;
}

constexpr std::array links = {Link::l2_to_sm, Link::sm_to_l2}, hbm_links = {Link::hbm_read, Link::hbm_write};

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

TEST_CASE("link bins: SMs write at most what the L2 takes, and read more than it looks up where lookups are shared") {
  GpuSpec gpu = toy_gpu();
  gpu.sm_count = 4;
  gpu.sm_l2_bytes_per_cycle = 4;
  gpu.l2_bytes_per_cycle = 8;
  gpu.l2_write_bytes_per_cycle = 3;
  gpu.l2_merge_cycles = 60;
  CHECK(l2_peak(gpu) == 16);
  CHECK(l2_write_peak(gpu) == 3);
  const auto shared = l2_bytes_by_bin(bins_of({0, 0, 0, 90}), gpu);  // of 10 cycles each
  CHECK(shared[0] == std::vector<double>{0, 0, 0, 90});
  constexpr std::array written = {0, 30, 30, 30};
  for (std::size_t bin = 0; bin < written.size(); ++bin) CHECK(shared[1][bin] == doctest::Approx(written[bin]));
  gpu.l2_merge_cycles = 0;
  CHECK(l2_peak(gpu) == 8);
  const auto alone = l2_bytes_by_bin(bins_of({0, 0, 0, 90}), gpu);
  for (std::size_t bin = 1; bin < 4; ++bin) {
    CHECK(alone[0][bin] + alone[1][bin] <= 80 + 1e-9);
    CHECK(alone[1][bin] <= 30 + 1e-9);
  }
  for (const auto& link : alone) CHECK(std::accumulate(link.begin(), link.end(), 0.0) == doctest::Approx(90));
  CHECK(l2_peak(textbook_gpu()) == 0);
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

TEST_CASE("link bins: what HBM has not written at the end of the run crosses after it, and no bin is above the peak") {
  TimeBins bins;
  bins.width = 10;
  bins.traffic.resize(3);
  bins.traffic[1][1][static_cast<std::size_t>(Link::hbm_read)] = 12;
  bins.traffic[1][2][static_cast<std::size_t>(Link::hbm_write)] = 35;
  auto bytes = link_bytes_by_bin(bins, hbm_links, 1);
  for (std::vector<double>& link : bytes)
    for (double& bin : link) bin = std::round(bin * 1e6) / 1e6;
  CHECK(bytes[0] == std::vector<double>{2, 10, 0, 0, 0, 0});
  CHECK(bytes[1] == std::vector<double>{0, 0, 10, 10, 10, 5});
  CHECK(hbm_bytes_by_bin(bins, 1).back()[2] == 35);
  CHECK(link_bytes_by_bin(bins, hbm_links, 0)[1] == std::vector<double>{0, 35, 0});
}

TEST_CASE("link bins: HBM moves every byte, reads no later and writes no earlier than they are booked, and within the peak") {
  std::mt19937 random(81);
  constexpr std::size_t tensors = 3;
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    TimeBins bins;
    bins.width = 10;
    bins.traffic.resize(1 + random() % 9);
    const std::size_t count = bins.traffic.size();
    // In some rounds the last bins have writes that no later bin has room for, in others the first have such reads.
    for (auto& bin : bins.traffic)
      for (std::size_t t = 1; t <= tensors; ++t)
        for (const Link link : hbm_links)
          if (random() % 3 == 0) bin[t][static_cast<std::size_t>(link)] = static_cast<std::int64_t>(random() % 40);
    const double most = 1 + static_cast<double>(random() % 4), room = most * bins.width;
    const auto bytes = hbm_bytes_by_bin(bins, most);
    REQUIRE(bytes.size() == count);
    const auto booked = [&](std::size_t bin, std::size_t t, Link link) {
      return static_cast<double>(bins.traffic[bin][t][static_cast<std::size_t>(link)]);
    };
    const auto booked_in = [&](std::size_t bin, Link link) {
      return booked(bin, 1, link) + booked(bin, 2, link) + booked(bin, 3, link);
    };
    // A read takes the latest room up to its own bin, later bins first; a write the earliest from its own bin on.
    std::vector<double> left(count, room);
    std::vector<std::array<double, tensors + 1>> expected(count);
    const auto move = [&](std::size_t from, std::size_t to, Link link, double& waiting) {
      const double all = booked_in(from, link);
      const double moved = std::min(left[to], waiting);
      for (std::size_t t = 1; t <= tensors && all > 0; ++t) expected[to][t] += moved * booked(from, t, link) / all;
      left[to] -= moved;
      waiting -= moved;
    };
    left.front() = 1e9;  // nothing crosses before the run
    for (std::size_t bin = count; bin-- > 0;) {
      double waiting = booked_in(bin, Link::hbm_read);
      for (std::size_t to = bin + 1; to-- > 0;) move(bin, to, Link::hbm_read, waiting);
    }
    left.back() = 1e9;  // or after it
    for (std::size_t bin = 0; bin < count; ++bin) {
      double waiting = booked_in(bin, Link::hbm_write);
      for (std::size_t to = bin; to < count; ++to) move(bin, to, Link::hbm_write, waiting);
    }
    std::array<double, tensors + 1> moved{}, total{};
    for (std::size_t bin = 0; bin < count; ++bin) {
      CAPTURE(bin);
      double sum = 0;
      for (std::size_t t = 1; t <= tensors; ++t) {
        moved[t] += bytes[bin][t];
        total[t] += booked(bin, t, Link::hbm_read) + booked(bin, t, Link::hbm_write);
        sum += bytes[bin][t];
      }
      if (bin > 0 && bin + 1 < count) CHECK(sum <= room + 1e-6);
    }
    for (std::size_t t = 1; t <= tensors; ++t) CHECK(moved[t] == doctest::Approx(total[t]));
    for (std::size_t bin = 0; bin < count; ++bin)
      for (std::size_t t = 1; t <= tensors; ++t) CHECK(bytes[bin][t] == doctest::Approx(expected[bin][t]).epsilon(1e-6));
  }
}
