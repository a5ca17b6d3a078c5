// From a CommandLine to what the model is asked for: the GPU loaded, the user's matrices read, the sizes settled and checked.
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
///         refuses, matrices whose sizes contradict each other or the flags. What needs the tile program is left to simulate().
Result<Request> make_request(const CommandLine& line);

}  // namespace tilescope
