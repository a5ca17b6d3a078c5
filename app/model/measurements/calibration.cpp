// Steps are told through a shared box; the spec comes back on the session's thread.
#include "app/model/measurements/calibration.h"

#include <atomic>
#include <filesystem>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "app/model/background/slots.h"

namespace tilescope {

struct Calibration::Shared {
  std::mutex mutex;
  Sentence step;
  int done = 0, of = 0;
  std::atomic<bool> cancelled = false;
};

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
