// CalibratedGpu: a spec that micro-benchmarks measured on this machine, beside the shipped one that its other values come from.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/calibrate/calibrate.h"
#include "sim/core/gpu_spec.h"

namespace tilescope {

struct CalibratedGpu {
  std::string device;  // "NVIDIA H200"
  GpuSpec shipped, measured;
  std::string file;  // the measured spec as a TOML file
};

/// Hears each step; false cancels.
using CalibrationTold = CalibrationProgress;
using Calibrator = std::function<Result<CalibratedGpu>(const CalibrationTold&)>;

/// Returns the shipped spec that vendor figures come from: `base_id` or, if that is empty, the one of a device's full name, such as
/// "NVIDIA H100 80GB HBM3".
Result<GpuSpec> shipped_spec(const std::string& base_id, const std::string& device_name);

/// Measures device 0, from shipped_spec().
/// Errors  no NVIDIA GPU, no CUDA in this build; no shipped spec of that device; those of calibrate() and calibrated_spec()
Result<CalibratedGpu> calibrate_this_machine(const std::string& base_id, const CalibrationTold& told,
                                             const CalibrationEffort& effort = {});

/// A value that was measured, beside the shipped one.
struct CalibrationRow {
  std::string key;
  double shipped = 0, measured = 0;
  /// Relative to the shipped value; 0 where both are 0.
  double difference() const;
};
/// Returns the values of `measured` that a micro-benchmark gave, by how far they are from the shipped ones, farthest first.
std::vector<CalibrationRow> compare_specs(const GpuSpec& shipped, const GpuSpec& measured);
/// A measured value that is farther than this from the shipped one is told.
inline constexpr double telling_difference = 0.1;

}  // namespace tilescope
