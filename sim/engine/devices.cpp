// Runs the machines of several devices together: their events are processed in time order, ties go to the lower device.
#include "sim/engine/devices.h"

#include <algorithm>
#include <utility>

#include "sim/core/refuse.h"
#include "sim/engine/machine.h"
#include "sim/engine/recorded_trace.h"
#include "sim/engine/run_checks.h"
#include "sim/programs/tensor_layout.h"

namespace tilescope {

namespace {

/// The model of one device.
struct Device {
  ScheduleBuilder builder;
  Recorder recorder;
  MemorySystem memory;
  Machine machine;

  Device(DeviceId id, const SimulationRequest& request, const TileProgram& program, const TensorLayouts& layouts, Ledger& ledger,
         DeviceLinks& links)
      : builder(request.gpu, program.problem()),
        recorder(static_cast<int>(request.gpu.sm_count), request.focus_sm, program.tensors(), builder, request.also_in_focus),
        memory(request.gpu, layouts, use_of(program), builder, ledger, recorder),
        machine(program, request, memory, recorder, builder) {
    if (!request.keeps_intervals) recorder.keep_no_intervals();
    memory.join(id, links);
    machine.set_device(id);
  }
};

Status check_setup(const GpuSpec& gpu, const TileProgram& program, const DeviceSetup& setup) {
  if (setup.count < 1) return refuse("a run on {} devices is not possible: it needs at least one", setup.count);
  if (setup.count > 1 && gpu.link_bytes_per_second <= 0)
    return refuse("GPU '{}' has no link to another device: set link.bytes_per_second", gpu.id);
  for (const Tensor tensor : setup.split)
    if (!program.schema().reads(tensor) || program.schema().writes(tensor))
      return refuse("{} cannot be split over devices: only what a program reads and never writes can be", to_string(tensor));
  return Done{};
}

/// Checks that no load crosses two devices. The first and the last block suffice: only the last block of a plane cuts a tensor
/// differently.
Status check_tiles(const TileProgram& program, const TensorHomes& homes) {
  BlockOperations block;
  for (std::size_t i = 0; i < program.launches().size(); ++i)
    for (const std::int64_t number : {std::int64_t{0}, program.launches()[i].blocks() - 1}) {
      if (number < 0) continue;
      program.emit_block(static_cast<int>(i), number, block);
      for (const Operation& op : block.operations)
        if (op.kind == OpKind::load && !homes.is_whole(op.tile))
          return refuse("{} cannot be split over {} devices: rows {} to {} are loaded at once and lie on two of them",
                        to_string(op.tile.tensor), homes.devices(), op.tile.row, op.tile.row + op.tile.rows - 1);
    }
  return Done{};
}

}  // namespace

Result<DevicesSimulation> simulate_on_devices(SimulationRequest request, const ProgramInfo& info,
                                              const std::shared_ptr<const TileProgram>& program, const DeviceSetup& setup) {
  if (const Status status = check_setup(request.gpu, *program, setup); !status) return status.error();
  auto total = std::make_shared<Simulation>();
  const Result<std::vector<int>> per_sm = prepare(request, info, program, *total);
  if (!per_sm) return per_sm.error();
  const TensorLayouts layouts = memory_layouts(program->problem(), program->tile(), program->tensors());
  const std::span<const LaunchSpec> launches = program->launches();
  total->ledger = Ledger(static_cast<int>(launches.size()), static_cast<int>(info.listing.size()), program->tensors(), setup.count);
  const TensorHomes homes(setup.count, tensor_layouts(program->problem(), program->tile(), program->tensors()), setup.split);
  if (const Status status = check_tiles(*program, homes); !status) return status.error();
  DeviceLinks links(request.gpu, homes);
  std::vector<std::unique_ptr<Device>> devices;
  for (DeviceId id; id.number < setup.count; ++id.number)
    devices.push_back(std::make_unique<Device>(id, request, *program, layouts, total->ledger, links));

  const auto earlier = [](const auto& a, const auto& b) { return a->machine.next_event() < b->machine.next_event(); };
  std::vector<LaunchTime> times;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const double start = start_of_next(times, request.gpu);
    const std::int64_t blocks = launches[i].blocks();
    for (std::int64_t d = 0; d < setup.count; ++d) {
      const std::int64_t first = blocks * d / setup.count, end = blocks * (d + 1) / setup.count;
      devices[static_cast<std::size_t>(d)]->machine.begin_launch(static_cast<int>(i), (*per_sm)[i], start, first, end - first);
    }
    for (;;) {
      Device& next = **std::min_element(devices.begin(), devices.end(), earlier);
      if (next.machine.next_event() == IssueOrder::never) break;
      next.machine.process_events();
    }
    LaunchTime time{start, start};
    for (const auto& device : devices) {
      const Result<double> end = device->machine.end_launch();
      if (!end) return end.error();
      time.end = std::max(time.end, *end);
    }
    times.push_back(time);
  }

  DevicesSimulation result;
  const double end = times.back().end;
  set_time(*total, end);
  for (DeviceId id; id.number < setup.count; ++id.number) count_operations(*total, devices[id.index()]->builder.classes(), id);
  total->hbm_write_after_flush = total->ledger.total(Link::hbm_write);
  for (DeviceId id; id.number < setup.count; ++id.number) {
    Device& device = *devices[id.index()];
    const CacheContents contents = device.memory.contents();
    for (const std::int64_t bytes : contents.dirty) total->hbm_write_after_flush += Bytes(bytes);
    result.traces.push_back(std::make_shared<RecordedTrace>(device.recorder.finish(end, times, total->ledger.table(id), contents)));
  }
  total->trace = result.traces.front();
  result.total = std::move(total);
  return result;
}

}  // namespace tilescope
