// A Worker without threads, whose jobs begin, end and arrive when the monkey says so. It takes the place of
// app/model/background/worker.cpp.
//
//   submit() ──► pending, one a slot ──begin──► running ──end──► ended ──arrive──► arrived ──► take_finished()
//
// A job that was cancelled while it ran sees `false` from its Progress, as with threads.
#include <array>
#include <chrono>
#include <list>
#include <map>
#include <optional>
#include <utility>

#include "app/model/background/failure.h"
#include "app/model/background/slots.h"
#include "app/model/background/worker.h"
#include "tests/monkey/work_control.h"

namespace tilescope {

const bool work_has_threads = false;

namespace {

using Clock = std::chrono::steady_clock;

struct Job {
  int slot = 0;
  WorkKind kind = WorkKind::unnamed;
  Worker::Work work;
  bool cancelled = false;
};

/// How long a study may take before it is cancelled, as one is that gives way to other work.
constexpr auto study_patience = std::chrono::milliseconds(100);

struct JobQueue {
  std::map<int, Job> pending;
  std::optional<Job> running;
  std::list<Worker::Deliver> ended, arrived;

  bool idle() const { return pending.empty() && !running && ended.empty() && arrived.empty(); }

  bool begin() {
    if (running || pending.empty()) return false;
    running = std::move(pending.begin()->second);
    pending.erase(pending.begin());
    return true;
  }

  bool end(const Worker::Options& options) {
    if (!running) return false;
    const Job job = std::move(*running);
    const Clock::time_point start = Clock::now();
    const bool impatient = job.slot == slots::study;
    Worker::Deliver deliver;
    try {
      deliver = job.work([&](double) { return !job.cancelled && !(impatient && Clock::now() - start > study_patience); });
    } catch (...) {
      deliver = [thrown = std::current_exception(), &options] {
        if (options.failed) options.failed(error_of(thrown));
      };
    }
    running.reset();
    ended.push_back(std::move(deliver));
    return true;
  }

  bool arrive() {
    if (ended.empty()) return false;
    arrived.push_back(std::move(ended.front()));
    ended.pop_front();
    return true;
  }

  void shuffle(Random& random) {
    if (ended.size() > 1 && random.chance(50)) ended.splice(ended.begin(), ended, std::prev(ended.end()));
    if (!ended.empty() && random.chance(25)) arrived.push_back(ended.front());  // and again, when it arrives
  }
};

/// One of each kind of queue; the monkey has one session at a time.
struct Work {
  std::array<JobQueue, 3> queues;
  const Worker::Options* options = nullptr;
  bool hostile = false, released = false;
};
Work work;

JobQueue& of(Queue queue) {
  return work.queues[static_cast<std::size_t>(queue)];
}

}  // namespace

struct Worker::State {
  Options options;
};

void reset_work(bool hostile) {
  work = {};
  work.hostile = hostile;
}

void advance_work(Random& random) {
  JobQueue& queue = random.pick(
      {std::ref(of(Queue::shown)), std::ref(of(Queue::shown)), std::ref(of(Queue::quick)), std::ref(of(Queue::background))});
  for (std::size_t moves = 1 + random.below(4); moves > 0; --moves) {
    switch (random.below(3)) {
      case 0:
        queue.begin();
        break;
      case 1:
        if (work.options != nullptr) queue.end(*work.options);
        break;
      default:
        if (work.hostile) queue.shuffle(random);
        queue.arrive();
    }
  }
}

void release_work() {
  work.released = true;
}
void hold_work() {
  work.released = false;
}

Worker::Worker(Options options) : state_(std::make_unique<State>()) {
  state_->options = std::move(options);
  work.options = &state_->options;
}

Worker::~Worker() {
  stop();
  work.options = nullptr;
}

void Worker::submit(Queue queue, int slot, WorkKind kind, Work new_work, std::chrono::milliseconds grace) {
  JobQueue& jobs = of(queue);
  jobs.pending[slot] = {slot, kind, std::move(new_work)};
  if (!jobs.running) return;
  // A job of the same slot has its grace: whether it still ends in time is as random as the moment of its end.
  if (jobs.running->slot > slot || (jobs.running->slot == slot && grace.count() == 0)) jobs.running->cancelled = true;
}

void Worker::cancel(Queue queue) {
  of(queue).pending.clear();
  if (of(queue).running) of(queue).running->cancelled = true;
}

void Worker::stop() {
  work.queues = {};
}

bool Worker::stop_within(std::chrono::milliseconds) {
  stop();
  return true;
}

bool Worker::take_finished() {
  bool any = false;
  for (const Queue queue : {Queue::shown, Queue::background, Queue::quick}) any = take_finished(queue) || any;
  return any;
}

bool Worker::take_finished(Queue queue) {
  JobQueue& jobs = of(queue);
  while (work.released && (jobs.begin() || jobs.end(state_->options) || jobs.arrive())) {}
  const std::list<Deliver> arrived = std::exchange(jobs.arrived, {});
  for (const Deliver& deliver : arrived)
    if (deliver) deliver();
  return !arrived.empty();
}

void Worker::finish(Queue queue) {
  JobQueue& jobs = of(queue);
  do {
    while (jobs.begin() || jobs.end(state_->options) || jobs.arrive()) {}
    take_finished(queue);
  } while (!jobs.idle());
}

void Worker::finish() {
  for (const Queue queue : {Queue::shown, Queue::background, Queue::quick}) finish(queue);
}

bool Worker::idle() const {
  return idle(Queue::shown) && idle(Queue::background) && idle(Queue::quick);
}
bool Worker::idle(Queue queue) const {
  return of(queue).idle();
}

WorkView Worker::view(Queue queue) const {
  const JobQueue& jobs = of(queue);
  if (!jobs.running) return {};
  return {jobs.running->kind, 0.5, 0.5};
}

}  // namespace tilescope
