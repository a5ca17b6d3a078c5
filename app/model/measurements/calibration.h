// Calibration: measures a spec of this machine's GPU off the frame, holds it against the shipped one, and keeps it as a file.
//
//   Calibrate ─► background: calibrate_this_machine() ─► spec and differences ─► ~/.local/share/tilescope/gpus/<id>.toml ─► SetGpu
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/model/background/worker.h"
#include "kernels/calibrate/calibrate.h"
#include "sim/core/gpu_spec.h"

namespace tilescope {

/// A measured spec, and the shipped one that the other values come from.
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
/// The values of `measured` that a micro-benchmark gave, by how far they are from the shipped ones, farthest first.
std::vector<CalibrationRow> compare_specs(const GpuSpec& shipped, const GpuSpec& measured);
/// A measured value that is farther than this from the shipped one is told.
inline constexpr double telling_difference = 0.1;

/// What the panels read of it.
struct CalibrationView {
  bool running = false;
  Sentence step;  // what is measured now
  int done = 0, of = 0;
  std::optional<Error> refusal;  // why the last one gave nothing
  std::string device, path;      // of the last one: the file that was written; empty: none was, `unsaved` says why
  Sentence unsaved;
  std::vector<CalibrationRow> rows;
};

class Calibration {
 public:
  using Save = Status (*)(const std::string& path, const std::string& text);
  /// `folder` keeps the files; empty: nothing is kept.
  Calibration(Worker& worker, Calibrator calibrator, std::string folder, Save save);

  void start();
  void stop();
  /// The path of a file that was written since the last call; empty: none.
  std::string take_new_file();
  /// Takes in which step is measured.
  void tick();
  const CalibrationView& view() const { return view_; }

 private:
  struct Shared;  // what the background tells
  void take(const Result<CalibratedGpu>& made);

  Worker& worker_;
  Calibrator calibrator_;
  std::string folder_;
  Save save_;
  std::shared_ptr<Shared> shared_;
  CalibrationView view_;
  std::string new_file_;
  int turn_ = 0;  // counts starts and stops, so that what comes late is passed over
};

}  // namespace tilescope
