// Latencies of the memory hierarchy, in SM cycles.
#pragma once

#include <vector>

#include "kernels/device.h"

namespace tilescope::microbench {

Result<double> shared_latency();
Result<double> l1_latency();
/// Mean over lines, near and far.
Result<double> l2_latency();
Result<double> hbm_latency(const DeviceInfo& device);
/// From when a block asks for a tile of 16 KiB to when all of it is there: as late as the latest of its lines. Medians of 64 tiles.
struct TileLatency {
  double from_hbm = 0, from_l2 = 0;
};
Result<TileLatency> tile_latency(const DeviceInfo& device);

/// Latency of a number of L2 lines from each SM: cycles[sm * lines + line], and which SM a row is.
struct LineLatencies {
  int lines = 0;
  std::vector<int> sms;
  std::vector<float> cycles;
};
Result<LineLatencies> line_latencies(const DeviceInfo& device);

}  // namespace tilescope::microbench
