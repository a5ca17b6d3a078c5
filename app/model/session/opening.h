// Opening: from a state of the window to what a session needs to show it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "app/model/session/session.h"
#include "app/model/state/window_state.h"

namespace tilescope {

/// What a state asks to be simulated, on which GPU, with which numbers.
struct StateRequest {
  SimulationRequest request;
  GpuSpec gpu_base;  // as its file has it
  InputSource inputs;
};

/// Errors  those of `load_gpu`; a value that set_spec_value() refuses; an SM that the GPU has not; a sweep that cannot be. What
/// only simulate() refuses is left to it.
Result<StateRequest> request_of(const WindowState& state, GpuLoader load_gpu);

/// Errors  the GPU has no SM that the state has in focus
Status check_focus(const WindowState& state, const SimulationRequest& request);
/// Errors  the tile has no row that the state has chosen. The window itself shows the last row then: a tile may have shrunk since.
Status check_row(const WindowState& state, const SimulationRequest& request);

/// Returns "there is no step 99999: this run has steps 0 to 230 on SM 0".
Error no_such_step(std::int64_t step, std::int64_t last, int sm);
/// Checks where a state stands in its simulations, the chosen algorithm last.
/// Errors  a step or a cycle beyond the end.
Status check_position(const WindowState& state, std::span<const std::shared_ptr<const Simulation>> simulations);

/// Returns how a session is started that shows the state.
/// Errors  those of request_of().
Result<Session::Start> opening_of(const WindowState& state, GpuLoader load_gpu);

}  // namespace tilescope
