// Recordings: what is recorded of one GPU, ready to be asked for many runs.
#pragma once

#include <vector>

#include "app/model/measurements/borrowed_clock.h"
#include "app/model/measurements/measurements.h"

namespace tilescope {

struct Recordings {
  Measurements known;
  std::vector<RecordedRun> runs;
};
/// Returns what is recorded of a GPU among `known`. Of a file of one's own that has the id of a GPU and other numbers nothing is
/// recorded. Where its SMs and its highest clock are those of that GPU, it has `runs`, which lend it their clocks.
Recordings recordings_of(const Measurements& known, const GpuSpec& gpu);
/// Loads the same from assets/measured/, apart from samples.
Recordings load_recordings(const GpuSpec& gpu);

}  // namespace tilescope
