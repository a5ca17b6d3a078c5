// Finds out whether the recordings of a GPU's id are those of the GPU itself.
#include "app/model/measurements/recordings.h"

#include <algorithm>
#include <cstdint>

#include "app/model/requests/assets.h"

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

}  // namespace tilescope
