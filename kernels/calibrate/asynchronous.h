// Mbarriers, named barriers and TMA boxes: what the asynchronous units of a Hopper SM cost.
#pragma once

#include <optional>
#include <vector>

#include "kernels/calibrate/calibrate.h"
#include "kernels/device.h"

namespace tilescope::microbench {

/// Round trips of a token between two sides, and a wait without waiting. All in cycles.
struct TokenCycles {
  double mbarrier_warps = 0, mbarrier_groups = 0;  // through two mbarriers: two warps, and two groups of 128 threads
  double mbarrier_wait = 0;                        // for a phase that is over
  double named_barriers = 0;                       // through two named barriers: two groups of 128 threads
};

/// A box of 64 fp16 columns, swizzled as the Hopper kernels load it. Cycles from the first request.
struct BoxCycles {
  int rows = 0;
  double issue = 0;        // from one request to the next: six boxes requested one after the other
  double from_l2 = 0;      // until the box has landed and is waited for
  double all_from_l2 = 0;  // until the last of the six has
  double from_hbm = 0;
  int bytes() const { return rows * 128; }
};

/// Boxes through a ring of buffers, from the L2.
struct BoxStream {
  int rows = 0, stages = 0;
  double one_sm = 0, every_sm = 0;  // bytes per cycle and SM: one SM alone, and all SMs
};

struct AsynchronousUnits {
  TokenCycles tokens;
  std::vector<BoxCycles> boxes;  // ascending by rows
  std::vector<BoxStream> streams;
};

/// Measures them on one SM; the streams also on all. Returns nothing unless the device has compute capability 9.0.
Result<std::optional<AsynchronousUnits>> asynchronous_units(const DeviceInfo& device);

/// Turns them into values of a spec.
///   box_bytes_per_cycle   what the largest box has more than the next smaller one, over the time that it takes longer
///   box_latency_cycles    median over the boxes of what is left of the time without the wait, the L2's latency and the bytes
std::vector<CalibratedValue> asynchronous_values(const AsynchronousUnits& units, double l2_latency_cycles);

}  // namespace tilescope::microbench
