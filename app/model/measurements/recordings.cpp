// Finds out whether the recordings of a GPU's id are those of the GPU itself.
#include "app/model/measurements/recordings.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "app/model/measurements/find_recorded.h"
#include "app/model/requests/assets.h"
#include "sim/analysis/format.h"
#include "sim/core/refuse.h"

namespace tilescope {

namespace {

/// How a GPU stands to the shipped one whose id it has, but for values that the user set: a file of one's own may have other
/// numbers. `same_chip`: as many SMs and the same highest clock.
enum class Namesake : std::uint8_t { same, same_chip, other };
Namesake namesake_of(const GpuSpec& gpu) {
  const Result<GpuSpec> named = is_gpu_file(gpu.id) ? Result<GpuSpec>(Error{}) : load_gpu(gpu.id);
  if (!named) return Namesake::same;  // there is no other
  const auto is_same = [&](const SpecKey& key) { return gpu.*key.member == (*named).*key.member || gpu.set_by_user(key.key); };
  if (std::ranges::all_of(spec_keys(), is_same)) return Namesake::same;
  return gpu.sm_count == named->sm_count && gpu.sm_clock_hz == named->sm_clock_hz ? Namesake::same_chip : Namesake::other;
}

}  // namespace

Recordings recordings_of(const Measurements& known, const GpuSpec& gpu) {
  switch (namesake_of(gpu)) {
    case Namesake::same:
      return {known, recorded_runs(known, gpu)};
    case Namesake::same_chip:
      return {{}, recorded_runs(known, gpu)};
    case Namesake::other:
      return {};
  }
  return {};
}

Recordings load_recordings(const GpuSpec& gpu) {
  return recordings_of(load_measurements_of(gpu.id), gpu);
}

Sentence clock_of_file_sentence(std::string_view source, const GpuSpec& gpu, const Recordings& recordings) {
  if (!is_gpu_file(source)) return {};
  if (!recordings.known.bundles.empty())
    return phrase("This file has the numbers of {}, so its times have the clocks and the errors of recorded runs of {}.", gpu.id,
                  gpu.id);
  if (!recordings.runs.empty())
    return phrase(
        "This file is of an {} with other numbers. Recorded runs lend it their clocks; the errors of its times are unknown.",
        gpu.id);
  if (gpu.slows_under_load())
    return phrase("No run is recorded on the GPU of this file, so its times are at {}, its sm.clock_under_load_hz.",
                  format_clock(gpu.sm_clock_under_load_hz));
  return phrase(
      "No clock under load is known of the GPU of this file, so its times are at {}, the highest. Give it sm.clock_under_load_hz.",
      format_clock(gpu.sm_clock_hz));
}

double recorded_lookups(const Recordings& recordings, const SimulationRequest& request) {
  SimulationRequest real = request;
  if (!take_unchanged(real.gpu)) return 0;
  const auto found = find_case(recordings.known, real);
  if (!found) return 0;
  const auto& counters = found->measured().counters;
  const auto lookups = counters.find("l2_lookup_read_bytes");
  return lookups == counters.end() ? 0 : lookups->second.median;
}

}  // namespace tilescope
