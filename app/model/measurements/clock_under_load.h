// The clock that a GPU holds under a run. The harder the tensor cores work, the more power they draw and the slower all SMs run.
//
//   recorded cases ── recorded_runs() ──► borrowed_clock() ──► ClockUnderLoad ── simulate() at it ──► RunUnderLoad
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/model/measurements/recordings.h"
#include "sim/engine/simulation.h"

namespace tilescope {

struct ClockUnderLoad {
  enum class From : std::uint8_t { this_case, like_runs, calibration, set };
  double hz = 0;
  From from = From::calibration;
  int runs = 0;  // like_runs: of how many recorded runs it is the mean
  // It is that of the same run …
  bool of_unchanged = false;  // on the GPU without changed values
  bool of_own_tile = false;   // in the tile and the orders of the kernel as it stands
};
/// Returns the key of JSON: "this_case", "like_runs", "calibration", "set".
std::string_view to_string(ClockUnderLoad::From from);
/// Returns where the clock comes from, for a person: "the mean of 5 recorded runs around its load".
std::string origin_text(const ClockUnderLoad& clock);

/// Returns the clock of a run: that which the user set for load, else that of its own recording, else borrowed_clock(), else
/// sm.clock_under_load_hz. With another tile or order than the kernel's, and on a GPU with changed values, it is the clock of the
/// kernel as it stands, which is simulated for it: a change must not show as another clock. nullopt where none is known, or where
/// the user chose the clock itself; also if cancelled.
std::optional<ClockUnderLoad> clock_under_load(const Recordings& recordings, const Simulation& simulation,
                                               const Progress& progress = {});

/// Returns whether the user set the clock itself. It then stays, whatever the load.
bool clock_is_users(const GpuSpec& gpu);
/// Returns whether a run on this GPU can have a clock under load that is not its own.
bool may_slow(const Recordings& recordings, const GpuSpec& gpu);

/// Returns the clock under load of a request that is known before the request itself is simulated: that which the user set for
/// load, that of its recording, or that of the kernel as it stands, which is simulated for it. nullopt where there is none,
/// and where the user set the clock itself.
/// Errors  cancelled
Result<std::optional<ClockUnderLoad>> clock_before_simulating(const SimulationRequest& request, const Recordings& recordings,
                                                              const Progress& progress = {});

/// Says which clock the times on a GPU from a file of one's own have, and how to give it another. Empty where `source`, which
/// load_gpu() took, is no file.
Sentence clock_of_file_sentence(std::string_view source, const GpuSpec& gpu, const Recordings& recordings);

}  // namespace tilescope
