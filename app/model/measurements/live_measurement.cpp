// Counts, follows a row, then samples.
#include "app/model/measurements/live_measurement.h"

#include <vector>

#include "app/model/measurements/probe_inputs.h"
#include "sim/core/refuse.h"

namespace tilescope {

namespace {

/// What the kernel sees of itself, where it has a probe; in few repeats, because a person waits.
std::optional<ProbeResult> probe_live(const KernelInfo& kernel, const WhatToMeasure& what) {
  const std::vector<ProbeShape> shapes = probe_shapes(kernel, what.request.problem);
  if (shapes.empty()) return std::nullopt;
  ProbeRequest request;
  const auto [block, row] = shapes[static_cast<std::size_t>(row_launch_of(shapes))].place_of(what.plane, what.query);
  request.block = block;
  request.row = row;
  request.repeats = 3;
  Result<ProbeResult> probe = run_probe(kernel, what.request.problem, request, probe_inputs(what.inputs, what.request.problem));
  if (!probe) return std::nullopt;
  probe->seed = what.inputs.seed;
  return std::move(*probe);
}

}  // namespace

LiveMeasurement measure_live(std::optional<MeasuringSession>& device, const WhatToMeasure& what, const Progress& progress) {
  LiveMeasurement out;
  out.inputs = what.inputs;
  const SimulationRequest& request = what.request;
  const Result<const KernelInfo*> kernel = find_kernel(request.algorithm, request.key_order);
  if (!kernel) {
    out.measured = kernel.error();
    return out;
  }
  if (const Status supported = supports(**kernel, request.problem, what.tile); !supported) {
    out.measured = supported.error();
    return out;
  }
  if (!device) {
    Result<MeasuringSession> opened = MeasuringSession::open();
    if (!opened) {
      out.measured = opened.error();
      return out;
    }
    device.emplace(std::move(*opened));
  }
  out.bundle = device->empty_bundle();
  if (out.bundle.gpu != request.gpu.id) {
    out.measured = refuse("this machine has an {}, but {} is selected: choose {} to measure", device->device().name, request.gpu.id,
                          out.bundle.gpu);
    return out;
  }
  constexpr double counted = 0.7;  // of the whole; then come the samples
  out.measured =
      device->measure(**kernel, request.problem, {}, [&](double done, std::string_view) { return progress(counted * done); });
  if (out.measured && progress(counted)) out.probe = probe_live(**kernel, what);
  return out;
}

std::optional<BandwidthRecord> sample_live(std::optional<MeasuringSession>& device, const WhatToMeasure& what) {
  if (!device) return std::nullopt;
  Result<BandwidthRecord> record =
      device->sample(**find_kernel(what.request.algorithm, what.request.key_order), what.request.problem);
  if (!record) return std::nullopt;
  return std::move(*record);
}

}  // namespace tilescope
