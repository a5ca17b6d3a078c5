// Requests in the tile that their program takes by itself.
#pragma once

#include "sim/engine/simulation.h"

namespace tilescope {

/// Drops the tile of a request, so that its program takes that of its kernel on the request's GPU. A tile that was chosen for
/// another program or GPU says nothing about this one: what suits the toy does not suit an H200, and need not even fit.
inline void take_own_tile(SimulationRequest& request) {
  request.tile.reset();
}

}  // namespace tilescope
