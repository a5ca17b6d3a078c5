// Walks the bins from the last to the first, so that a burst spreads over the time before its end.
#include "sim/analysis/link_bins.h"

#include <array>
#include <deque>
#include <limits>
#include <numeric>

namespace tilescope {

std::vector<std::vector<double>> link_bytes_by_bin(const TimeBins& bins, std::span<const Link> links, double most) {
  std::vector<std::vector<double>> out(links.size(), std::vector<double>(bins.traffic.size(), 0.0));
  for (std::size_t i = 0; i < links.size(); ++i)
    for (std::size_t bin = 0; bin < bins.traffic.size(); ++bin)
      for (const auto& tensor : bins.traffic[bin]) out[i][bin] += static_cast<double>(tensor[static_cast<std::size_t>(links[i])]);
  if (most <= 0) return out;
  const double room = most * bins.width;
  for (std::size_t bin = bins.traffic.size(); bin-- > 1;) {
    double bytes = 0;
    for (const std::vector<double>& link : out) bytes += link[bin];
    if (bytes <= room) continue;
    for (std::vector<double>& link : out) {
      const double beyond = link[bin] * (1 - room / bytes);
      link[bin] -= beyond;
      link[bin - 1] += beyond;
    }
  }
  return out;
}

namespace {

using ByTensor = std::array<double, most_tensors>;

/// What a bin has booked and has yet to find room for.
struct Booked {
  ByTensor bytes{};
  double total = 0;
};

/// Moves from `waiting` what fits into `room` to `out`, the front first; returns the room that is left.
double take(std::deque<Booked>& waiting, double room, ByTensor& out) {
  while (!waiting.empty()) {
    Booked& next = waiting.front();
    const double part = next.total > room ? room / next.total : 1;
    for (std::size_t tensor = 0; tensor < most_tensors; ++tensor) {
      out[tensor] += part * next.bytes[tensor];
      next.bytes[tensor] *= 1 - part;
    }
    room -= part * next.total;
    next.total *= 1 - part;
    if (part < 1) return 0;
    waiting.pop_front();
  }
  return room;
}

Booked booked_in(const TimeBins& bins, std::size_t bin, Link link) {
  Booked booked;
  for (std::size_t tensor = 0; tensor < most_tensors; ++tensor)
    booked.bytes[tensor] = static_cast<double>(bins.traffic[bin][tensor][static_cast<std::size_t>(link)]);
  booked.total = std::accumulate(booked.bytes.begin(), booked.bytes.end(), 0.0);
  return booked;
}

}  // namespace

std::vector<std::array<double, most_tensors>> hbm_bytes_by_bin(const TimeBins& bins, double most) {
  constexpr double any = std::numeric_limits<double>::infinity();
  const std::size_t count = bins.traffic.size();
  std::vector<ByTensor> out(count, ByTensor{});
  std::vector<double> room(count, most > 0 ? most * bins.width : any);
  std::deque<Booked> waiting;
  for (std::size_t bin = count; bin-- > 0;) {
    waiting.push_back(booked_in(bins, bin, Link::hbm_read));
    room[bin] = take(waiting, bin > 0 ? room[bin] : any, out[bin]);
  }
  waiting.clear();
  for (std::size_t bin = 0; bin < count; ++bin) {
    waiting.push_back(booked_in(bins, bin, Link::hbm_write));
    take(waiting, bin + 1 < count ? room[bin] : any, out[bin]);
  }
  return out;
}

}  // namespace tilescope
