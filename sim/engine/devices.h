// simulate_on_devices() runs one program on several equal GPUs, each with its own SMs, L2 and HBM, and links between them.
#pragma once

#include <memory>
#include <vector>

#include "sim/engine/run_program.h"

namespace tilescope {

struct DeviceSetup {
  int count = 2;
  std::vector<Tensor> split;  // tensors whose rows are split over the devices, see TensorHomes
};

/// The results of a run on several devices.
struct DevicesSimulation {
  /// All devices together. Its ledger separates devices, its trace is that of device 0; launches and bottleneck are empty.
  std::shared_ptr<const Simulation> total;
  /// By device. Each numbers its SMs from 0; a BlockRun names its device.
  std::vector<std::shared_ptr<const Trace>> traces;
  const Trace& trace(DeviceId device) const { return *traces[device.index()]; }
};

/// Runs `program` on several GPUs like `request.gpu`. Each device runs an equal part of every launch's blocks, in order. A launch
/// starts on all devices together, after the previous launch has ended on all of them.
/// Units   the ledger counts link bytes as peer_read of the reading device, and HBM bytes on the device that holds them
/// Limits  blocks run in launch order; tensors that the program writes cannot be split
/// Errors  those of run_program(); no device; a GPU without a link; a split tensor that the program writes, or of which one load
///         takes rows from two devices
Result<DevicesSimulation> simulate_on_devices(SimulationRequest request, const ProgramInfo& info,
                                              const std::shared_ptr<const TileProgram>& program, const DeviceSetup& setup);

}  // namespace tilescope
