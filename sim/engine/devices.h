// simulate_on_devices(): one program on several equal GPUs, each with its own SMs, L2 and HBM, and links between them.
#pragma once

#include <memory>
#include <vector>

#include "sim/engine/run_program.h"

namespace tilescope {

struct DeviceSetup {
  int count = 2;
  std::vector<Tensor> split;  // every device has a part of their rows; of all other tensors, what its own blocks touch
};

/// What happened on each device, and all of it together.
struct DevicesSimulation {
  /// Its ledger tells devices apart; its trace is that of device 0. What it says of launches and of the bottleneck is empty.
  std::shared_ptr<const Simulation> total;
  /// By device. SMs are numbered from 0 on each; a block's run names its device.
  std::vector<std::shared_ptr<const Trace>> traces;
  const Trace& trace(DeviceId device) const { return *traces[device.index()]; }
};

/// Runs `program` on several GPUs like `request.gpu`: of each launch's blocks, every device has an equal part, in order. A launch
/// begins on all devices at once, when the one before has ended on all of them.
/// Units   bytes over a link are in the ledger as peer_read, of the device that reads; HBM bytes are of the device that has them
/// Limits  blocks are given out in launch order; what a program writes is not split
/// Errors  those of run_program(); a GPU without a link; a split tensor that the program writes, or of which it loads rows of two
///         devices at once; no device
Result<DevicesSimulation> simulate_on_devices(SimulationRequest request, const ProgramInfo& info,
                                              std::shared_ptr<const TileProgram> program, const DeviceSetup& setup);

}  // namespace tilescope
