// calibrate(): micro-benchmarks of our own, as values of a GPU spec; and the spec with them put in.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/device.h"
#include "sim/core/gpu_spec.h"

namespace tilescope {

struct CalibratedValue {
  std::string_view key;  // of the spec
  double value = 0;
  std::string note;  // how it was measured
};

/// Called before each step; returning false cancels.
using CalibrationProgress = std::function<bool(std::string_view step, int done, int of)>;

/// How much of each step is done.
struct CalibrationEffort {
  std::int64_t hbm_bytes = std::int64_t{4} << 30;
  int launches = 400, launch_repeats = 51;
  double load_seconds = 2;
  int drawn_rounds = 200;
};
/// Every kernel, hardly any of the work: for a sanitizer, under which a launch takes a thousand times as long. The values are
/// rough.
inline constexpr CalibrationEffort brief_effort{std::int64_t{32} << 20, 8, 3, 0.001, 2};

/// Measures everything that the spec has and a micro-benchmark can see. Takes under a minute; no attention kernel runs. `base` has
/// the vendor's figures: bandwidth of HBM is told as a part of its peak.
/// Errors  those of the device; cancelled; a build without CUDA.
Result<std::vector<CalibratedValue>> calibrate(const DeviceInfo& device, const GpuSpec& base,
                                               const CalibrationProgress& progress = {}, const CalibrationEffort& effort = {});

/// `base` with the measured values in it, each marked measured; others keep their source.
Result<GpuSpec> calibrated_spec(GpuSpec base, const std::vector<CalibratedValue>& values);

}  // namespace tilescope
