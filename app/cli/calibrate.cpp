// `tilescope calibrate`.
#include "app/cli/calibrate.h"

#include <chrono>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "app/cli/output.h"
#include "app/cli/progress.h"
#include "app/model/assets.h"
#include "kernels/calibrate/calibrate.h"
#include "sim/core/refuse.h"
#include "sim/core/spec_text.h"

namespace tilescope {

namespace {

constexpr std::string_view no_gpu_given = "toy";  // the default of --gpu, which is no real GPU

/// Finds the shipped spec whose name begins with the device's.
Result<GpuSpec> base_of(const CommandLine& line, const DeviceInfo& device) {
  if (line.gpu != no_gpu_given) return load_gpu(line.gpu);
  for (const std::string& id : gpu_ids()) {
    Result<GpuSpec> spec = load_gpu(id);
    if (spec && spec->name.starts_with(device.name)) return spec;
  }
  return Error{fmt::format("no shipped spec matches {}: choose one for the vendor figures with --gpu", device.name)};
}

}  // namespace

Status run_calibrate(const CommandLine& line, std::FILE* out, std::FILE* err) {
  const Result<DeviceInfo> device = find_device();
  if (!device) return Error{fmt::format("calibrate needs an NVIDIA GPU: {}", device.error().sentence), Error::Kind::machine_lacks};
  const Result<GpuSpec> base = base_of(line, *device);
  if (!base) return base.error();
  ProgressPrinter progress(err, line.quiet);
  const Result<std::vector<CalibratedValue>> values = calibrate(
      *device, *base,
      [&](std::string_view step, int done, int of) {
        progress.show(fmt::format("calibrate: {} of {}: {}", done + 1, of, step));
        return true;
      },
      line.brief ? brief_effort : CalibrationEffort{});
  if (!values) return values.error();
  progress.end();
  if (line.brief) return Done{};
  const Result<GpuSpec> spec = calibrated_spec(*base, *values);
  if (!spec) return spec.error();
  const std::string heading =
      fmt::format("Measured by tilescope calibrate on {}, driver for CUDA {}, {:%Y-%m-%d}.", device->name, device->driver_version,
                  fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  const std::string text = spec_text(*spec, heading);
  return write_or_print(line.out, text, out);
}

}  // namespace tilescope
