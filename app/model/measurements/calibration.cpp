// Steps are told through a shared box; the spec comes back on the session's thread.
#include "app/model/measurements/calibration.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "app/model/background/slots.h"
#include "app/model/requests/assets.h"
#include "kernels/measure/measure_case.h"
#include "sim/core/refuse.h"
#include "sim/core/spec_text.h"

namespace tilescope {

struct Calibration::Shared {
  std::mutex mutex;
  Sentence step;
  int done = 0, of = 0;
  std::atomic<bool> cancelled = false;
};

Result<GpuSpec> shipped_spec(const std::string& base_id, const std::string& device_name) {
  if (!base_id.empty()) return load_gpu(base_id);
  const std::vector<std::string> ids = gpu_ids();
  const std::string id = spec_id_of(device_name);
  if (std::ranges::find(ids, id) != ids.end()) return load_gpu(id);
  return refuse("no shipped spec matches {}: choose one for the vendor figures with tilescope calibrate --gpu", device_name);
}

Result<CalibratedGpu> calibrate_this_machine(const std::string& base_id, const CalibrationTold& told,
                                             const CalibrationEffort& effort) {
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

Calibration::Calibration(Worker& worker, Calibrator calibrator, std::string folder, Save save)
    : worker_(worker), calibrator_(std::move(calibrator)), folder_(std::move(folder)), save_(save) {}

void Calibration::start() {
  if (view_.running || calibrator_ == nullptr) return;
  view_ = {};
  view_.running = true;
  shared_ = std::make_shared<Shared>();
  const int turn = ++turn_;
  worker_.submit(Queue::background, slots::calibrate, WorkKind::calibration,
                 [this, turn, calibrator = calibrator_, shared = shared_](const Progress& progress) -> Worker::Deliver {
                   auto made =
                       std::make_shared<const Result<CalibratedGpu>>(calibrator([&](const Sentence& step, int done, int of) {
                         {
                           const std::lock_guard lock(shared->mutex);
                           shared->step = step;
                           shared->done = done;
                           shared->of = of;
                         }
                         return progress(of > 0 ? static_cast<double>(done) / of : 0) && !shared->cancelled;
                       }));
                   return [this, turn, made] {
                     if (turn == turn_) take(*made);
                   };
                 });
}

void Calibration::stop() {
  if (!view_.running) return;
  ++turn_;
  shared_->cancelled = true;
  view_ = {};
}

void Calibration::take(const Result<CalibratedGpu>& made) {
  view_ = {};
  if (!made) {
    if (made.error().kind != Error::Kind::cancelled) view_.refusal = made.error();
    return;
  }
  view_.device = made->device;
  view_.rows = compare_specs(made->shipped, made->measured);
  if (folder_.empty() || save_ == nullptr) return;
  const std::filesystem::path path = std::filesystem::path(folder_) / fmt::format("my-{}.toml", made->measured.id);
  std::error_code code;
  std::filesystem::create_directories(folder_, code);
  if (const Status saved = save_(path.native(), made->file); !saved) {
    view_.unsaved = saved.error().sentence;
    return;
  }
  view_.path = new_file_ = path.native();
}

std::string Calibration::take_new_file() {
  return std::exchange(new_file_, {});
}

void Calibration::tick() {
  if (!view_.running) return;
  const std::lock_guard lock(shared_->mutex);
  view_.step = shared_->step;
  view_.done = shared_->done;
  view_.of = shared_->of;
}

}  // namespace tilescope
