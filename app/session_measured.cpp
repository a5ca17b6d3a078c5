// The session's dealings with measurements: the case of what is shown, validation in the background, opening a case, measuring.
#include <fmt/format.h>

#include <atomic>

#include "app/parallel.h"
#include "app/session_state.h"
#include "kernels/measure/measure_case.h"

namespace tilescope {

namespace {

constexpr double seconds_of_a_notice = 12;

/// What a measurement came to.
struct LiveMeasurement {
  MeasurementBundle bundle;  // without cases
  Result<MeasuredCase> measured = Error{};
};

/// Opens the device on first use and keeps it open; only the background thread comes here.
LiveMeasurement measure_live(std::optional<MeasuringSession>& device, const SimulationRequest& request, const TileShape& tile,
                             const Progress& progress) {
  LiveMeasurement out;
  const Result<const KernelInfo*> kernel = find_kernel(request.algorithm);
  if (!kernel) {
    out.measured = kernel.error();
    return out;
  }
  if (const Status supported = supports(**kernel, request.problem, tile); !supported) {
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
    out.measured = Error{fmt::format("this machine has an {}, and {} is shown: choose {} to measure beside its model", device->device().name,
                                     request.gpu.id, out.bundle.gpu)};
    return out;
  }
  out.measured = device->measure(**kernel, request.problem, {}, [&](double done, std::string_view) { return progress(done); });
  return out;
}

}  // namespace

/// What the background leaves for the session's thread to pick up.
struct Session::State::Background {
  std::mutex mutex;
  std::vector<std::pair<std::size_t, CaseValidation>> validated;
  std::optional<MeasuringSession> device;  // of the background thread alone
};

std::shared_ptr<Session::State::Background> Session::State::make_background() { return std::make_shared<Background>(); }

// --- what is shown ----------------------------------------------------------------------------------------------------------

void Session::State::find_measured() {
  if (lanes.empty() || measured_for == lanes.back().simulation) return;
  measured_for = lanes.back().simulation;
  measured = find_case(measurements, *measured_for);
  probe = find_probe(measurements, *measured_for);
}

void Session::State::operator()(const OpenCase& command) {
  if (command.gpu != request.gpu.id || !unchanged(request.gpu)) {
    if (load_gpu == nullptr) return;
    Result<GpuSpec> loaded = load_gpu(command.gpu);
    if (!loaded) {
      message = ControlMessage{"gpu", loaded.error().sentence};
      return;
    }
    gpu_base = request.gpu = std::move(*loaded);
    request.focus_sm = 0;
  }
  request.algorithm = command.algorithm;
  request.problem = command.problem;
  request.tile = command.tile;
  request.blocks_per_sm.reset();
  race = false;
  row_chosen = false;
  simulate_again("algorithm");
}

// --- validation -------------------------------------------------------------------------------------------------------------

void Session::State::ask_for_validation() {
  ValidationState& v = validation;
  if (center != CenterView::validate || v.bundle == nullptr || v.stopped || v.complete() || !background->idle()) return;
  const Result<GpuSpec> gpu = load_gpu != nullptr ? load_gpu(v.bundle->bundle.gpu) : Result<GpuSpec>(Error{"no GPU can be loaded here"});
  if (!gpu) {
    v.problem = gpu.error().sentence;
    v.stopped = true;
    return;
  }
  std::vector<bool> missing;
  for (const auto& result : v.results) missing.push_back(!result);
  // With threads, the shown simulation has a core of its own.
  const int workers = threads ? std::max(1, core_count() - 1) : core_count();
  background->submit(validation_slot, tr("holding the model against the measurements"),
                     [done_before = v.done, spec = *gpu, known = v.bundle, missing, workers, shelf = shelf](const Progress& progress) -> Worker::Deliver {
                       std::atomic<std::size_t> done = done_before;
                       validate_cases(
                           spec, known->bundle.cases, [&](std::size_t i) { return missing[i]; }, workers,
                           [&](std::size_t i, const CaseValidation& result) {
                             const std::lock_guard lock(shelf->mutex);
                             shelf->validated.emplace_back(i, result);
                             ++done;
                             return true;
                           },
                           [&] { return !progress(static_cast<double>(done) / static_cast<double>(missing.size())); });
                       return {};
                     });
}

void Session::State::take_validated() {
  std::vector<std::pair<std::size_t, CaseValidation>> finished;
  {
    const std::lock_guard lock(shelf->mutex);
    finished.swap(shelf->validated);
  }
  if (finished.empty()) return;
  for (auto& [index, result] : finished) {
    if (!validation.results[index]) ++validation.done;
    validation.results[index] = std::move(result);
  }
  if (!validation.complete()) return;
  std::vector<CaseValidation> results;
  for (const auto& result : validation.results) results.push_back(*result);
  validation.summary = summarise(validation.bundle->bundle.cases, results);
}

void Session::State::operator()(const RunValidation& command) {
  validation.stopped = !command.on;
  validation.problem.clear();
  if (!command.on) background->cancel_all();
}

// --- measuring --------------------------------------------------------------------------------------------------------------

void Session::State::notice(std::string sentence) {
  message = ControlMessage{{}, std::move(sentence)};
  notice_until = clock_seconds + seconds_of_a_notice;
}

void Session::State::operator()(const Measure&) {
  if (!built_with_cuda()) return notice(no_cuda_error().sentence);
  if (lanes.empty()) return;
  const Simulation& shown_now = *lanes.back().simulation;
  background->submit(measure_slot, tr("measuring"),
                     [this, request = shown_now.request, tile = shown_now.program->tile(), shelf = shelf](const Progress& progress) -> Worker::Deliver {
                       auto live = std::make_shared<LiveMeasurement>(measure_live(shelf->device, request, tile, progress));
                       return [this, live] {
                         if (live->measured) return keep_live(live->bundle, std::move(*live->measured));
                         if (live->measured.error().kind != Error::Kind::cancelled) notice(live->measured.error().sentence);
                       };
                     });
}

/// The newest measurement of a case takes the place of an older one, and goes before what is recorded.
void Session::State::keep_live(const MeasurementBundle& device, MeasuredCase measured_now) {
  KnownBundle live{device, {}, true};
  const bool has_live = !measurements.bundles.empty() && measurements.bundles.front()->live;
  if (has_live) live = *measurements.bundles.front();
  std::erase_if(live.bundle.cases, [&](const MeasuredCase& c) {
    return c.kernel == measured_now.kernel && c.problem == measured_now.problem && c.tile == measured_now.tile;
  });
  const std::string refused = measured_now.refused;
  live.bundle.cases.push_back(std::move(measured_now));
  auto kept = std::make_shared<const KnownBundle>(std::move(live));
  if (has_live)
    measurements.bundles.front() = std::move(kept);
  else
    measurements.bundles.insert(measurements.bundles.begin(), std::move(kept));
  measured_for = nullptr;
  find_measured();
  if (!refused.empty()) notice(refused);
}

}  // namespace tilescope
