// A thread and a list of jobs for each queue.
#include "app/model/background/worker.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "app/model/background/failure.h"

namespace tilescope {

namespace {

using Clock = std::chrono::steady_clock;

struct Job {
  int slot = 0;
  WorkKind kind = WorkKind::unnamed;
  Worker::Work work;
};

/// One queue: its jobs, its results and the thread between them.
class JobQueue {
 public:
  void start(const Worker::Options& options) {
    options_ = &options;
    if (!options.threads) return;
    try {
      thread_ = std::thread([this] { loop(); });
      threaded_ = true;
    } catch (const std::system_error&) {  // the machine gives no more threads
    }
  }

  void ask_to_stop() {
    {
      const std::lock_guard lock(mutex_);
      pending_.clear();
      stop_ = true;
      cancelled_ = true;
    }
    changed_.notify_all();
  }

  void stop() {
    ask_to_stop();
    if (thread_.joinable()) thread_.join();
  }

  bool ends_before(Clock::time_point latest) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, latest, [this] { return running_slot_ < 0; });
  }

  void submit(Job job, std::chrono::milliseconds grace) {
    const std::lock_guard lock(mutex_);
    const int slot = job.slot;
    pending_[slot] = std::move(job);
    if (running_slot_ == slot)
      cancel_at_ = std::min(cancel_at_, running_since_ + grace);
    else if (running_slot_ > slot)
      cancelled_ = true;
    changed_.notify_all();
  }

  void cancel() {
    const std::lock_guard lock(mutex_);
    pending_.clear();
    cancelled_ = true;
  }

  bool take_finished() {
    std::vector<Worker::Deliver> finished;
    {
      std::unique_lock lock(mutex_);
      while (!threaded_ && !pending_.empty()) work_off(lock);
      finished = std::exchange(finished_, {});
    }
    for (const Worker::Deliver& deliver : finished)
      if (deliver) deliver();
    return !finished.empty();
  }

  void finish() {
    while (true) {
      {
        std::unique_lock lock(mutex_);
        if (threaded_) changed_.wait(lock, [this] { return !finished_.empty() || (pending_.empty() && running_slot_ < 0); });
      }
      if (!take_finished() && idle()) return;
    }
  }

  bool idle() const {
    const std::lock_guard lock(mutex_);
    return pending_.empty() && running_slot_ < 0 && finished_.empty();
  }
  WorkView view() const {
    const std::lock_guard lock(mutex_);
    if (running_slot_ < 0) return {};
    return {running_kind_, std::chrono::duration<double>(Clock::now() - running_since_).count(), progress_.load()};
  }

 private:
  /// Takes the first pending job and marks it as running. The mutex is held.
  Job begin() {
    Job job = std::move(pending_.begin()->second);
    pending_.erase(pending_.begin());
    running_slot_ = job.slot;
    running_kind_ = job.kind;
    running_since_ = Clock::now();
    cancel_at_ = Clock::time_point::max();
    cancelled_ = false;
    progress_ = 0;
    return job;
  }

  Worker::Deliver run(const Job& job) {
    try {
      return job.work([this, &job](double fraction) {
        progress_.store(fraction, std::memory_order_relaxed);
        if (!options_->threads && options_->told && job.kind != WorkKind::unnamed) options_->told(job.kind, fraction);
        if (!threaded_) return true;
        if (cancelled_.load(std::memory_order_relaxed)) return false;
        const std::lock_guard lock(mutex_);
        return Clock::now() < cancel_at_;
      });
    } catch (...) {
      return [this, thrown = std::current_exception()] {
        if (options_->failed) options_->failed(error_of(thrown));
      };
    }
  }

  /// Does the first pending job and keeps what it returned; the lock is open meanwhile.
  void work_off(std::unique_lock<std::mutex>& lock) {
    const Job job = begin();
    lock.unlock();
    Worker::Deliver deliver = run(job);
    lock.lock();
    running_slot_ = -1;
    finished_.push_back(std::move(deliver));
  }

  void loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stop_ || !pending_.empty(); });
      if (stop_) return;
      work_off(lock);
      changed_.notify_all();
      if (options_->wake) {
        lock.unlock();
        options_->wake();
        lock.lock();
      }
    }
  }

  const Worker::Options* options_ = nullptr;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, Job> pending_;
  std::vector<Worker::Deliver> finished_;
  int running_slot_ = -1;  // -1: nothing runs
  WorkKind running_kind_ = WorkKind::unnamed;
  Clock::time_point running_since_;
  Clock::time_point cancel_at_ = Clock::time_point::max();
  std::atomic<bool> cancelled_ = false;
  std::atomic<double> progress_ = 0;
  bool stop_ = false;
  bool threaded_ = false;
  std::thread thread_;
};

}  // namespace

struct Worker::State {
  Options options;
  std::array<JobQueue, 3> queues;
  JobQueue& of(Queue queue) { return queues[static_cast<std::size_t>(queue)]; }
};

Worker::Worker(Options options) : state_(std::make_unique<State>()) {
  state_->options = std::move(options);
  for (JobQueue& queue : state_->queues) queue.start(state_->options);
}

Worker::~Worker() {
  stop();
}

void Worker::submit(Queue queue, int slot, WorkKind kind, Work work, std::chrono::milliseconds grace) {
  state_->of(queue).submit({slot, kind, std::move(work)}, grace);
}

void Worker::cancel(Queue queue) {
  state_->of(queue).cancel();
}

void Worker::stop() {
  for (JobQueue& queue : state_->queues) queue.stop();
}

bool Worker::stop_within(std::chrono::milliseconds most) {
  const auto latest = Clock::now() + most;
  for (JobQueue& queue : state_->queues) queue.ask_to_stop();
  return std::ranges::all_of(state_->queues, [&](JobQueue& queue) { return queue.ends_before(latest); });
}

bool Worker::take_finished() {
  bool any = false;
  for (JobQueue& queue : state_->queues) any = queue.take_finished() || any;
  return any;
}
bool Worker::take_finished(Queue queue) {
  return state_->of(queue).take_finished();
}

void Worker::finish() {
  for (JobQueue& queue : state_->queues) queue.finish();
}
void Worker::finish(Queue queue) {
  state_->of(queue).finish();
}

bool Worker::idle() const {
  return idle(Queue::shown) && idle(Queue::background) && idle(Queue::quick);
}
bool Worker::idle(Queue queue) const {
  return state_->of(queue).idle();
}
WorkView Worker::view(Queue queue) const {
  return state_->of(queue).view();
}

}  // namespace tilescope
