// The launches of a probed kernel and the device memory they record into.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/measure/probe_shape.h"

namespace tilescope {

/// Records of one launch, in the layout of kernels/common/probe_layout.h.
struct ProbeRecords {
  std::vector<std::uint64_t> blocks, ticks;
  std::vector<float> row;
};

/// The followed row and its block, in the launch that has the statistics, and the observed SM.
struct ProbedPlace {
  std::int64_t block = 0, row = 0;
  int sm = 0;
};

class ProbeRun {
 public:
  /// Errors  out of device memory; those of compiling a kernel for the request
  static Result<ProbeRun> make(const KernelInfo& kernel, const AttentionProblem& problem, const DeviceTensors& tensors,
                               std::span<const ProbeShape> shapes, const ProbedPlace& place);

  const LaunchPlan& plan() const { return plan_; }
  /// Frees all slots, so that the next run records too.
  Status free_slots();
  /// Zeroes the records.
  Status clear();
  /// Copies the records of every launch to the host. The caller must have waited for the launches.
  Result<std::vector<ProbeRecords>> read() const;

 private:
  struct Buffers {
    DeviceMemory blocks, ticks, row, slots;
  };
  std::vector<Buffers> buffers_;
  LaunchPlan plan_;
};

}  // namespace tilescope
