// Memory over time: how much HBM the tensors of two runs take while each launch runs, and what makes the most of it.
#pragma once

#include <array>

#include "app/views/view.h"
#include "sim/analysis/memory_over_time.h"
#include "sim/analysis/run_comparison.h"

namespace tilescope {

/// Of both runs of a comparison.
using ComparedMemory = std::array<MemoryOverTime, 2>;

/// Returns whether the memory of either run changes from launch to launch.
bool memory_changes(const ComparedMemory& memory);

/// Draws both curves at the cursor, and a sentence for each below.
void draw_memory_plot(const View& view, const RunComparison& comparison, const ComparedMemory& memory);

/// Returns what a run holds at most and, of a run of both passes, what it keeps for the backward pass.
std::string memory_sentence(const Simulation& run, const MemoryOverTime& memory);

}  // namespace tilescope
