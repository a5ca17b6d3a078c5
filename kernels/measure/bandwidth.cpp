// Cuts the samples to those that belong to the kernel.
#include "kernels/measure/bandwidth.h"

#include <algorithm>

namespace tilescope {

namespace {

/// Returns a test for samples with more than a trace of traffic.
auto busy_in(const std::vector<BandwidthSample>& samples) {
  constexpr double noticeable = 0.02;  // fraction of the busiest sample
  double most = 0;
  for (const BandwidthSample& s : samples) most = std::max(most, s.read_bytes + s.write_bytes);
  return [most](const BandwidthSample& s) { return s.read_bytes + s.write_bytes > noticeable * most; };
}

}  // namespace

double busy_from_ns(const std::vector<BandwidthSample>& samples) {
  const auto first = std::find_if(samples.begin(), samples.end(), busy_in(samples));
  return first == samples.end() ? 0 : first->start_ns;
}

std::vector<BandwidthSample> trimmed(const std::vector<BandwidthSample>& samples) {
  constexpr std::ptrdiff_t margin = 8;
  const auto busy = busy_in(samples);
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
