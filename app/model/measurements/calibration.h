// Calibration: measures a spec of this machine's GPU off the frame, compares it with the shipped one, and keeps it as a file.
//
//   Calibrate ─► background: calibrate_this_machine() ─► spec and differences ─► <folder>/my-<id>.toml ─► SetGpu
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/model/background/worker.h"
#include "app/model/measurements/calibrated_gpu.h"

namespace tilescope {

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

  /// Begins to measure, unless it already does or nothing measures.
  void start();
  /// Cancels what is measured, and keeps nothing of it.
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
