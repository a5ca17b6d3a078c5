// Recordings: what is recorded of one GPU, ready to be asked for many runs.
#pragma once

#include <string_view>
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

/// Says which clock the times on a GPU from a file of one's own have, and how to give it another. Empty where `source`, which
/// load_gpu() took, is no file.
Sentence clock_of_file_sentence(std::string_view source, const GpuSpec& gpu, const Recordings& recordings);

/// Returns the bytes that the L2 looked up for the recorded run of a request on the GPU without its changes; 0: not recorded.
double recorded_lookups(const Recordings& recordings, const SimulationRequest& request);

}  // namespace tilescope
