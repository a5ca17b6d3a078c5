// Chooses the shipped spec by the device's name, and runs the micro-benchmarks.
#include "app/model/measurements/calibrated_gpu.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "app/model/requests/assets.h"
#include "kernels/measure/measure_case.h"
#include "sim/core/refuse.h"
#include "sim/core/spec_text.h"

namespace tilescope {

Result<GpuSpec> shipped_spec(const std::string& base_id, const std::string& device_name) {
  if (!base_id.empty()) return load_gpu(base_id);
  const std::vector<std::string> ids = gpu_ids();
  const std::string id = spec_id_of(device_name);
  if (std::ranges::find(ids, id) != ids.end()) return load_gpu(id);
  return refuse("no shipped spec matches {}: choose one for the vendor figures with tilescope calibrate --gpu", device_name);
}

Result<CalibratedGpu> calibrate_this_machine(const std::string& base_id, const CalibrationTold& told,
                                             const CalibrationEffort& effort) {
  if (!base_id.empty())  // a wrong request, whatever this machine has
    if (const Result<GpuSpec> known = load_gpu(base_id); !known) return known.error();
  const Result<DeviceInfo> device = find_device();
  if (!device) return Error{phrase("calibrate needs an NVIDIA GPU: {}", device.error().sentence), Error::Kind::machine_lacks};
  Result<GpuSpec> shipped = shipped_spec(base_id, device->name);
  if (!shipped) return shipped.error();
  const Result<std::vector<CalibratedValue>> values = calibrate(*device, *shipped, told, effort);
  if (!values) return values.error();
  Result<GpuSpec> measured = calibrated_spec(*shipped, *values);
  if (!measured) return measured.error();
  const std::string heading =
      fmt::format("Measured by tilescope calibrate on {}, driver for CUDA {}, {:%Y-%m-%d}.", device->name, device->driver_version,
                  fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  std::string file = spec_text(*measured, heading);
  return CalibratedGpu{device->name, std::move(*shipped), std::move(*measured), std::move(file)};
}

double CalibrationRow::difference() const {
  if (shipped == measured) return 0;
  return shipped != 0 ? measured / shipped - 1 : std::copysign(1.0, measured);
}

std::vector<CalibrationRow> compare_specs(const GpuSpec& shipped, const GpuSpec& measured) {
  std::vector<CalibrationRow> rows;
  for (const SpecKey& key : spec_keys()) {
    const auto from = measured.provenance.find(key.key);
    const bool by_benchmark = from != measured.provenance.end() && from->second.source == Source::measured;
    if (!by_benchmark) continue;
    rows.push_back({std::string(key.key), shipped.*key.member, measured.*key.member});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const CalibrationRow& a, const CalibrationRow& b) {
    return std::fabs(a.difference()) > std::fabs(b.difference());
  });
  return rows;
}

}  // namespace tilescope
