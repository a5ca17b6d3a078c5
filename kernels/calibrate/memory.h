// Bandwidths of HBM, of the L2 and of one SM's L2 port.
#pragma once

#include <cstdint>

#include "kernels/device.h"

namespace tilescope::microbench {

/// Bytes a second.
struct HbmBandwidth {
  double read = 0, write = 0, copy = 0;  // copy counts both directions
};
/// Measures HBM bandwidth on `bytes` bytes, which must be many times the L2.
Result<HbmBandwidth> hbm_bandwidth(const DeviceInfo& device, std::int64_t bytes);

/// Returns how many cycles a tile of `lines` lines (4, 16 or 64) from HBM is delayed by concurrent writes. The delay is divided by
/// the fraction of HBM's time that the writes take. One to four blocks an SM read tiles and write as many bytes, or none.
/// HBM's time for a written byte is what a copy takes beyond its reads.
Result<double> write_wait_cycles(const DeviceInfo& device, int lines, const HbmBandwidth& rates);

enum class ReadPattern { same, own, rotating };
/// Returns the bytes a cycle that one SM reads while `blocks` SMs read. The pattern is the same bytes for all, own bytes for each,
/// or in each round the bytes of another SM.
Result<double> shared_read_rate(ReadPattern pattern, int blocks, std::int64_t bytes_a_block, int rounds);
/// Returns the bytes a cycle that one SM writes while each of `blocks` SMs writes its own bytes repeatedly.
Result<double> shared_write_rate(int blocks, std::int64_t bytes_a_block, int rounds);

}  // namespace tilescope::microbench
