// What SMs and warps have in common: copies into shared memory, reads of the L2 beside writes, reads of the same line.
#pragma once

#include <cstdint>

#include "kernels/device.h"

namespace tilescope::microbench {

/// Bytes a cycle that copies into shared memory (cp.async of 16 bytes a lane) take from stores to shared memory on the same SM: how
/// long they have the pipe that both go through, however long they take to land.
Result<double> copy_rate();

/// Bytes a cycle of one SM, both directions counted, when half the warps of each of `blocks` SMs read and half write over and over.
Result<double> shared_copy_rate(int blocks, std::int64_t bytes_a_block, int rounds);

/// Bytes a cycle of all SMs when `blocks_a_sm` blocks on each read `rounds` tiles of drawn_tile_bytes, drawn from `tiles` at
/// random.
Result<double> drawn_read_rate(const DeviceInfo& device, int blocks_a_sm, int tiles, int rounds);
inline constexpr int drawn_tile_bytes = 16 * 1024;

/// How soon after another read of a line one must come to be answered with it, in cycles: reads of `tiles` go at `rate` where those
/// of very many go at `apart`. A look-up then serves 1 + (reads of a line a cycle) * cycles reads.
double merge_cycles(double rate, double apart, int tiles);

/// Two blocks an SM that go through the same phases of products and arithmetic: by which part of its time the older ends first.
Result<double> ends_apart(const DeviceInfo& device);

}  // namespace tilescope::microbench
