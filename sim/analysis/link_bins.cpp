// Walks the bins from the last to the first, so that a burst spreads over the time before its end; writes to HBM the other way.
#include "sim/analysis/link_bins.h"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <numeric>
#include <utility>

namespace tilescope {

double hbm_peak(const GpuSpec& gpu) {
  return std::max(gpu.hbm_rate().value, gpu.hbm_read_rate().value);
}

double l2_peak(const GpuSpec& gpu) {
  if (!gpu.has_l2() || gpu.l2_bytes_per_cycle <= 0) return 0;
  return gpu.l2_merge_cycles > 0 ? gpu.sm_count * gpu.sm_l2_bytes_per_cycle : gpu.l2_bytes_per_cycle;
}

double l2_write_peak(const GpuSpec& gpu) {
  if (!gpu.has_l2()) return 0;
  return gpu.l2_write_bytes_per_cycle > 0 ? gpu.l2_write_bytes_per_cycle : gpu.l2_bytes_per_cycle;
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

/// What HBM moves in each bin. `written` has bins after the last one, where what the L2 has evicted crosses after the run.
struct HbmBins {
  std::vector<ByTensor> read, written;
};

HbmBins hbm_by_bin(const TimeBins& bins, double most) {
  constexpr double any = std::numeric_limits<double>::infinity();
  const std::size_t count = bins.traffic.size();
  HbmBins out{std::vector<ByTensor>(count, ByTensor{}), std::vector<ByTensor>(count, ByTensor{})};
  const double whole = most > 0 ? most * bins.width : any;
  std::vector<double> room(count, whole);
  std::deque<Booked> waiting;
  for (std::size_t bin = count; bin-- > 0;) {
    waiting.push_back(booked_in(bins, bin, Link::hbm_read));
    room[bin] = take(waiting, bin > 0 ? room[bin] : any, out.read[bin]);
  }
  waiting.clear();
  for (std::size_t bin = 0; bin < count || !waiting.empty(); ++bin) {
    if (bin < count)
      waiting.push_back(booked_in(bins, bin, Link::hbm_write));
    else
      out.written.emplace_back();
    take(waiting, bin < count ? std::max(0.0, room[bin]) : whole, out.written[bin]);
  }
  return out;
}

double sum_of(const ByTensor& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), 0.0);
}

std::vector<double> booked_bytes(const TimeBins& bins, Link link) {
  std::vector<double> bytes(bins.traffic.size());
  for (std::size_t bin = 0; bin < bytes.size(); ++bin) bytes[bin] = booked_in(bins, bin, link).total;
  return bytes;
}

/// Moves what a bin has beyond `room`, of all links in proportion, to the bin before it. A room of 0 has no limit.
void move_beyond(std::span<std::vector<double>> links, std::size_t bin, double room) {
  double bytes = 0;
  for (const std::vector<double>& link : links) bytes += link[bin];
  if (room <= 0 || bytes <= room) return;
  for (std::vector<double>& link : links) {
    const double beyond = link[bin] * (1 - room / bytes);
    link[bin] -= beyond;
    link[bin - 1] += beyond;
  }
}

}  // namespace

std::vector<std::vector<double>> link_bytes_by_bin(const TimeBins& bins, std::span<const Link> links, double most) {
  std::vector<std::vector<double>> out(links.size(), std::vector<double>(bins.traffic.size(), 0.0));
  if (!links.empty() && (links.front() == Link::hbm_read || links.front() == Link::hbm_write)) {
    const HbmBins hbm = hbm_by_bin(bins, most);
    for (std::size_t i = 0; i < links.size(); ++i) {
      const std::vector<ByTensor>& moved = links[i] == Link::hbm_read ? hbm.read : hbm.written;
      out[i].assign(hbm.written.size(), 0.0);
      std::transform(moved.begin(), moved.end(), out[i].begin(), sum_of);
    }
    return out;
  }
  for (std::size_t i = 0; i < links.size(); ++i) out[i] = booked_bytes(bins, links[i]);
  for (std::size_t bin = bins.traffic.size(); bin-- > 1;) move_beyond(out, bin, most * bins.width);
  return out;
}

std::array<std::vector<double>, 2> l2_bytes_by_bin(const TimeBins& bins, const GpuSpec& gpu) {
  std::array<std::vector<double>, 2> out = {booked_bytes(bins, Link::l2_to_sm), booked_bytes(bins, Link::sm_to_l2)};
  const double most = l2_peak(gpu) * bins.width, most_written = l2_write_peak(gpu) * bins.width;
  for (std::size_t bin = bins.traffic.size(); bin-- > 1;) {
    move_beyond(std::span(out).last(1), bin, most_written);
    move_beyond(out, bin, most);
  }
  return out;
}

std::vector<std::array<double, most_tensors>> hbm_bytes_by_bin(const TimeBins& bins, double most) {
  HbmBins hbm = hbm_by_bin(bins, most);
  for (std::size_t bin = 0; bin < hbm.written.size() && !hbm.read.empty(); ++bin) {
    ByTensor& to = hbm.read[std::min(bin, hbm.read.size() - 1)];
    for (std::size_t tensor = 0; tensor < most_tensors; ++tensor) to[tensor] += hbm.written[bin][tensor];
  }
  return std::move(hbm.read);
}

}  // namespace tilescope
