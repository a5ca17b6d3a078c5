// The run at its clock under load: times and bottlenecks are of it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "app/views/view.h"

namespace tilescope {

/// Returns the run that times and bottlenecks are of: at its clock under load, as `simulate` reports it; until that is simulated,
/// or where no such clock is known, the run on screen itself.
const Simulation& timed_run(const View& view);
/// The same of a lane of a race: both runs have the clock under load of the chosen one.
const Simulation& timed_in_race(const View& view, std::size_t lane);
/// Returns "All at 1.63 GHz, the clock under load of the kernel's tile." of a comparison whose runs have one clock; `of` names the
/// run that it is of. Empty where they have that of the GPU.
std::string one_clock_text(std::optional<double> clock_hz, const GpuSpec& gpu, std::string_view of);

}  // namespace tilescope
