// The worker's thread and its queue.
#include "app/model/worker.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace tilescope {

namespace {

using Clock = std::chrono::steady_clock;

struct Job {
  int slot = 0;
  std::string what;
  Worker::Work work;
};

}  // namespace

struct Worker::State {
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::map<int, Job> pending;
  std::vector<Deliver> finished;
  int running_slot = -1;  // -1: nothing runs
  std::string running_what;
  Clock::time_point running_since;
  Clock::time_point cancel_at = Clock::time_point::max();
  std::atomic<bool> cancelled = false;
  std::atomic<double> progress = 0;
  bool stop = false;
  bool threads = true;
  std::function<void()> wake;
  WorkTold told;
  std::thread thread;

  /// Takes the first pending job and marks it as running. The mutex is held.
  Job begin() {
    Job job = std::move(pending.begin()->second);
    pending.erase(pending.begin());
    running_slot = job.slot;
    running_what = job.what;
    running_since = Clock::now();
    cancel_at = Clock::time_point::max();
    cancelled = false;
    progress = 0;
    return job;
  }

  Deliver run(const Job& job) {
    return job.work([this, &job](double fraction) {
      progress.store(fraction, std::memory_order_relaxed);
      if (!threads && told) told(job.what, fraction);
      if (!threads) return true;
      if (cancelled.load(std::memory_order_relaxed)) return false;
      const std::lock_guard lock(mutex);
      return Clock::now() < cancel_at;
    });
  }

  void loop() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return stop || !pending.empty(); });
      if (stop) return;
      const Job job = begin();
      lock.unlock();
      Deliver deliver = run(job);
      lock.lock();
      running_slot = -1;
      finished.push_back(std::move(deliver));
      changed.notify_all();
      if (wake) {
        lock.unlock();
        wake();
        lock.lock();
      }
    }
  }
};

Worker::Worker(bool threads, std::function<void()> wake, WorkTold told) : state_(std::make_unique<State>()) {
  state_->threads = threads;
  state_->told = std::move(told);
  state_->wake = std::move(wake);
  if (threads) state_->thread = std::thread([state = state_.get()] { state->loop(); });
}

Worker::~Worker() {
  if (!state_->thread.joinable()) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
    state_->cancelled = true;
  }
  state_->changed.notify_all();
  state_->thread.join();
}

void Worker::submit(int slot, std::string what, Work work, std::chrono::milliseconds grace) {
  const std::lock_guard lock(state_->mutex);
  state_->pending[slot] = Job{slot, std::move(what), std::move(work)};
  if (state_->running_slot == slot)
    state_->cancel_at = std::min(state_->cancel_at, state_->running_since + grace);
  else if (state_->running_slot > slot)
    state_->cancelled = true;
  state_->changed.notify_all();
}

void Worker::cancel_all() {
  const std::lock_guard lock(state_->mutex);
  state_->pending.clear();
  state_->cancelled = true;
}

bool Worker::take_finished() {
  std::vector<Deliver> finished;
  {
    std::unique_lock lock(state_->mutex);
    while (!state_->threads && !state_->pending.empty()) {
      const Job job = state_->begin();
      lock.unlock();
      Deliver deliver = state_->run(job);
      lock.lock();
      state_->running_slot = -1;
      state_->finished.push_back(std::move(deliver));
    }
    finished = std::exchange(state_->finished, {});
  }
  for (const Deliver& deliver : finished)
    if (deliver) deliver();
  return !finished.empty();
}

void Worker::finish() {
  while (true) {
    {
      std::unique_lock lock(state_->mutex);
      if (state_->threads)
        state_->changed.wait(lock,
                             [this] { return !state_->finished.empty() || (state_->pending.empty() && state_->running_slot < 0); });
    }
    if (!take_finished() && idle()) return;
  }
}

bool Worker::idle() const {
  const std::lock_guard lock(state_->mutex);
  return state_->pending.empty() && state_->running_slot < 0 && state_->finished.empty();
}

double Worker::busy_seconds() const {
  const std::lock_guard lock(state_->mutex);
  return state_->running_slot < 0 ? 0 : std::chrono::duration<double>(Clock::now() - state_->running_since).count();
}

double Worker::progress() const {
  return state_->progress.load(std::memory_order_relaxed);
}

std::string Worker::what() const {
  const std::lock_guard lock(state_->mutex);
  return state_->running_slot < 0 ? std::string() : state_->running_what;
}

}  // namespace tilescope
