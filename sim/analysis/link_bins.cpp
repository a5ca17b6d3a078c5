// Walks the bins from the last to the first, so that a burst spreads over the time before its end.
#include "sim/analysis/link_bins.h"

namespace tilescope {

namespace {

/// Moves what the flows have in a bin beyond `room` into the bin before it, in proportion.
void spread(std::vector<std::vector<double>>& flows, std::size_t bins, double room) {
  for (std::size_t bin = bins; bin-- > 1;) {
    double bytes = 0;
    for (const std::vector<double>& flow : flows) bytes += flow[bin];
    if (bytes <= room) continue;
    for (std::vector<double>& flow : flows) {
      const double beyond = flow[bin] * (1 - room / bytes);
      flow[bin] -= beyond;
      flow[bin - 1] += beyond;
    }
  }
}

}  // namespace

std::vector<std::vector<double>> link_bytes_by_bin(const TimeBins& bins, std::span<const Link> links, double most) {
  std::vector<std::vector<double>> out(links.size(), std::vector<double>(bins.traffic.size(), 0.0));
  for (std::size_t i = 0; i < links.size(); ++i)
    for (std::size_t bin = 0; bin < bins.traffic.size(); ++bin)
      for (const auto& tensor : bins.traffic[bin]) out[i][bin] += static_cast<double>(tensor[static_cast<std::size_t>(links[i])]);
  if (most > 0) spread(out, bins.traffic.size(), most * bins.width);
  return out;
}

std::vector<std::vector<double>> tensor_bytes_by_bin(const TimeBins& bins, std::span<const Link> links, double most) {
  std::vector<std::vector<double>> out(most_tensors, std::vector<double>(bins.traffic.size(), 0.0));
  for (std::size_t bin = 0; bin < bins.traffic.size(); ++bin)
    for (std::size_t tensor = 0; tensor < most_tensors; ++tensor)
      for (const Link link : links)
        out[tensor][bin] += static_cast<double>(bins.traffic[bin][tensor][static_cast<std::size_t>(link)]);
  if (most > 0) spread(out, bins.traffic.size(), most * bins.width);
  return out;
}

}  // namespace tilescope
