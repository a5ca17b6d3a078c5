// Searches over the operations of one SM: by name, and for the next stall.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "app/model/run_data/step_index.h"

namespace tilescope {

/// A stall shorter than this many cycles is none.
inline constexpr double least_stall_cycles = 0.5;

/// Returns the steps whose operation has `text` in its name ("K₂", "m′") or in its line of the listing, in order. Upper and lower
/// case are the same; digits find subscripts. None for an empty text.
std::vector<std::int64_t> steps_named(const Simulation& simulation, const StepIndex& steps, std::string_view text);

/// Returns the nearest step after `from` (direction 1) or before it (-1) whose operation stalled; nullopt where there is none.
std::optional<std::int64_t> next_stall(const Simulation& simulation, const StepIndex& steps, std::int64_t from, int direction);

/// Returns the interval of a step; nullopt before the first step.
std::optional<std::size_t> interval_of_step(const Simulation& simulation, const StepIndex& steps, std::int64_t step);

}  // namespace tilescope
