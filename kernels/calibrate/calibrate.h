// calibrate() measures values of a GPU spec with micro-benchmarks; calibrated_spec() puts them into the spec.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/device.h"
#include "sim/core/gpu_spec.h"
#include "sim/core/sentence.h"

namespace tilescope {

struct CalibratedValue {
  std::string_view key;  // key of the spec
  double value = 0;
  std::string note;  // how it was measured
};

/// Called before each step; returning false cancels.
using CalibrationProgress = std::function<bool(const Sentence& step, int done, int of)>;

/// How much work each step does.
struct CalibrationEffort {
  std::int64_t hbm_bytes = std::int64_t{4} << 30;
  int launches = 400, launch_repeats = 51;
  double load_seconds = 2;
  int drawn_rounds = 200;
};
/// Runs every kernel with little work, for a sanitizer, which slows a launch a thousandfold. The values are rough.
inline constexpr CalibrationEffort brief_effort{std::int64_t{32} << 20, 8, 3, 0.001, 2};

/// Measures every spec value that a micro-benchmark can see, in under a minute; no attention kernel runs. `base` supplies the
/// vendor's figures: HBM bandwidth is returned as a fraction of its peak.
/// Errors   those of the device; cancelled; a build without CUDA
Result<std::vector<CalibratedValue>> calibrate(const DeviceInfo& device, const GpuSpec& base,
                                               const CalibrationProgress& progress = {}, const CalibrationEffort& effort = {});

/// Returns `base` with the measured values, each marked as measured. Other values keep their source.
/// Errors   a measured value outside the range of its key
Result<GpuSpec> calibrated_spec(GpuSpec base, const std::vector<CalibratedValue>& values);

}  // namespace tilescope
