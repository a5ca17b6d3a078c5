// Latencies of the memory hierarchy in SM cycles, per dependent load.
#pragma once

#include <vector>

#include "kernels/device.h"

namespace tilescope::microbench {

Result<double> shared_latency();
Result<double> l1_latency();
/// Returns the mean over lines in the near and the far partition.
Result<double> l2_latency();
Result<double> hbm_latency(const DeviceInfo& device);
/// Latency of a 16 KiB tile: from a block's first request until the last of the tile's lines has arrived. Medians of 64 tiles.
struct TileLatency {
  double from_hbm = 0, from_l2 = 0;
};
Result<TileLatency> tile_latency(const DeviceInfo& device);

/// Latency of L2 lines from each SM: cycles[row * lines + line], and the SM of each row.
struct LineLatencies {
  int lines = 0;
  std::vector<int> sms;
  std::vector<float> cycles;
};
Result<LineLatencies> line_latencies(const DeviceInfo& device);

}  // namespace tilescope::microbench
