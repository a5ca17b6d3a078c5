// Opening: a session that shows a given state of the window.
#pragma once

#include <vector>

#include "app/model/session.h"
#include "app/model/window_state.h"

namespace tilescope {

/// How a session is started, and what it is asked for once its first simulation is there.
struct Opening {
  Session::Start start;
  std::vector<Command> then;
};

/// Errors  those of `load_gpu`; a value that set_spec_value() refuses.
Result<Opening> opening_of(const WindowState& state, GpuLoader load_gpu);

}  // namespace tilescope
