// Turns a CommandLine into a request: loads the GPU, reads the user's matrices, checks the sizes.
#pragma once

#include "app/cli/command_line.h"
#include "sim/engine/simulation.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

struct Request {
  SimulationRequest simulation;
  InputSource inputs;
};

/// Errors  unknown algorithm or GPU (with the nearest), a GPU file or matrix that cannot be read, a bad --set, sizes that check()
///         refuses, matrices that contradict each other or the flags. simulate() checks what needs the tile program.
Result<Request> make_request(const CommandLine& line);

/// The ids of --algorithm, which commas separate; without it those with a button in the window.
/// Errors  an unknown one
Result<std::vector<std::string>> algorithms_of(const CommandLine& line);

}  // namespace tilescope
