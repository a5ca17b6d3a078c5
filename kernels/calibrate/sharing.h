// Effects of sharing: copies into shared memory beside stores, L2 reads beside writes, reads of one line by several SMs.
#pragma once

#include <cstdint>

#include "kernels/device.h"

namespace tilescope::microbench {

/// Returns the bytes a cycle at which copies into shared memory (cp.async, 16 bytes a lane) occupy the pipe that stores to shared
/// memory use too. Measured by how much the copies slow the stores, so their latency does not count.
Result<double> copy_rate();

/// Returns the bytes a cycle of one SM, both directions counted, while half the warps of each of `blocks` SMs read and half write.
Result<double> shared_copy_rate(int blocks, std::int64_t bytes_a_block, int rounds);

/// Returns the bytes a cycle of all SMs when `blocks_a_sm` blocks on each read `rounds` random tiles out of `tiles`,
/// drawn_tile_bytes each.
Result<double> drawn_read_rate(const DeviceInfo& device, int blocks_a_sm, int tiles, int rounds);
inline constexpr int drawn_tile_bytes = 16 * 1024;

/// Returns the window, in cycles, within which reads of one line share a look-up. Reads from `tiles` tiles run at `rate`, reads
/// from very many tiles at `apart`. A look-up serves 1 + (reads of a line a cycle) * window reads.
double merge_cycles(double rate, double apart, int tiles);

/// Runs two equal blocks an SM through phases of products and arithmetic. Returns how much earlier the older one ends, as a
/// fraction of its time.
Result<double> ends_apart(const DeviceInfo& device);

}  // namespace tilescope::microbench
