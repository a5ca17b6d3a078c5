// Keeps of the samples what belongs to the kernel.
#include "kernels/measure/bandwidth.h"

#include <algorithm>

namespace tilescope {

std::vector<BandwidthSample> trimmed(const std::vector<BandwidthSample>& samples) {
  constexpr double noticeable = 0.02;  // of the busiest sample
  constexpr std::ptrdiff_t margin = 8;
  double most = 0;
  for (const BandwidthSample& s : samples) most = std::max(most, s.read_bytes + s.write_bytes);
  const auto busy = [&](const BandwidthSample& s) { return s.read_bytes + s.write_bytes > noticeable * most; };
  const auto first = std::find_if(samples.begin(), samples.end(), busy);
  if (first == samples.end()) return {};
  const auto last = std::find_if(samples.rbegin(), samples.rend(), busy).base();
  std::vector<BandwidthSample> kept(first - std::min(margin, first - samples.begin()),
                                    last + std::min(margin, samples.end() - last));
  const double origin = kept.front().start_ns;
  for (BandwidthSample& s : kept) s.start_ns -= origin, s.end_ns -= origin;
  return kept;
}

}  // namespace tilescope
