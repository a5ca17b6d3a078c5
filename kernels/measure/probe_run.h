// A probed kernel's launches with the memory that they record into.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/measure/probe_shape.h"

namespace tilescope {

/// What one launch recorded, laid out as kernels/common/probe_layout.h says.
struct ProbeRecords {
  std::vector<std::uint64_t> blocks, ticks;
  std::vector<float> row;
};

/// Which row of which block of the launch that has the statistics, and the SM to look into.
struct ProbedPlace {
  std::int64_t block = 0, row = 0;
  int sm = 0;
};

class ProbeRun {
 public:
  /// Errors  out of device memory.
  static Result<ProbeRun> make(const KernelInfo& kernel, const AttentionProblem& problem, const DeviceTensors& tensors,
                               std::span<const ProbeShape> shapes, const ProbedPlace& place);

  const LaunchPlan& plan() const { return plan_; }
  /// Gives all slots out anew, so that every run records.
  Status free_slots();
  /// Forgets what was recorded.
  Status clear();
  /// Records of every launch; waits for nothing.
  Result<std::vector<ProbeRecords>> read() const;

 private:
  struct Buffers {
    DeviceMemory blocks, ticks, row, slots;
  };
  std::vector<Buffers> buffers_;
  LaunchPlan plan_;
};

}  // namespace tilescope
