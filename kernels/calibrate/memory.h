// Bandwidths of the memory hierarchy outside the SM.
#pragma once

#include <cstdint>

#include "kernels/device.h"

namespace tilescope::microbench {

/// Bytes a second.
struct HbmBandwidth {
  double read = 0, write = 0, copy = 0;  // a copy counts what it reads and what it writes
};
/// `bytes` are read, written and copied; to be more than the L2 holds many times over.
Result<HbmBandwidth> hbm_bandwidth(const DeviceInfo& device, std::int64_t bytes);

/// What a tile of `lines` lines (4, 16 or 64) from HBM comes later, in cycles, for each unit of the part of its time that HBM
/// spends on writes: one to four blocks an SM read tiles, one after the other, and write as much or nothing. A byte written takes
/// from HBM's time what a copy takes beyond its reads.
Result<double> write_wait_cycles(const DeviceInfo& device, int lines, const HbmBandwidth& rates);

enum class ReadPattern { same, own, rotating };
/// Bytes a cycle of one SM while `blocks` SMs read: all the same bytes, each its own, or each those of another SM in turn.
Result<double> shared_read_rate(ReadPattern pattern, int blocks, std::int64_t bytes_a_block, int rounds);
/// Bytes a cycle of one SM when each of `blocks` SMs writes its own bytes over and over.
Result<double> shared_write_rate(int blocks, std::int64_t bytes_a_block, int rounds);

}  // namespace tilescope::microbench
