// Walks the bins from the last to the first, so that a burst spreads over the time before its end.
#include "sim/analysis/link_bins.h"

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

}  // namespace tilescope
