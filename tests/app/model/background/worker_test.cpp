// The worker: one job at a time, the newest wins, results arrive on the caller's thread.
#include <atomic>
#include <chrono>
#include <future>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "app/model/background/worker.h"

using namespace tilescope;
using namespace std::chrono_literals;

TEST_CASE("worker: without threads, work runs when results are taken, in slot order") {
  Worker worker({.threads = false});
  std::vector<int> order;
  for (int slot : {2, 0, 1})
    worker.submit(Queue::shown, slot, WorkKind::simulation,
                  [&order, slot](const Progress&) -> Worker::Deliver { return [&order, slot] { order.push_back(slot); }; });
  CHECK(order.empty());
  CHECK(worker.take_finished());
  CHECK(order == std::vector<int>{0, 1, 2});
  CHECK(worker.idle());
  CHECK_FALSE(worker.take_finished());
}

TEST_CASE("worker: a later job replaces a waiting one in its slot") {
  Worker worker({.threads = false});
  int done = 0;
  for (int i = 1; i <= 3; ++i)
    worker.submit(Queue::shown, 0, WorkKind::simulation,
                  [&done, i](const Progress&) -> Worker::Deliver { return [&done, i] { done += i; }; });
  worker.take_finished();
  CHECK(done == 3);
}

TEST_CASE("worker: results are delivered on the thread that takes them") {
  std::atomic<bool> woken = false;
  Worker worker({.wake = [&] { woken = true; }});
  std::thread::id ran, delivered;
  worker.submit(Queue::shown, 0, WorkKind::simulation, [&](const Progress&) -> Worker::Deliver {
    ran = std::this_thread::get_id();
    return [&] { delivered = std::this_thread::get_id(); };
  });
  worker.finish();
  CHECK(delivered == std::this_thread::get_id());
  CHECK(ran != std::this_thread::get_id());
  for (int i = 0; i < 200 && !woken; ++i) std::this_thread::sleep_for(5ms);
  CHECK(woken);
}

namespace {

/// Work that goes on until it is cancelled, and says so.
Worker::Work until_cancelled(std::promise<void>& started, std::atomic<bool>& cancelled) {
  return [&](const Progress& progress) -> Worker::Deliver {
    started.set_value();
    while (progress(0.5)) std::this_thread::sleep_for(1ms);
    cancelled = true;
    return {};
  };
}

}  // namespace

TEST_CASE("worker: a newer job cancels the running one in its slot") {
  Worker worker({});
  std::promise<void> started;
  std::atomic<bool> cancelled = false;
  bool second = false;
  worker.submit(Queue::shown, 0, WorkKind::simulation, until_cancelled(started, cancelled));
  started.get_future().wait();
  CHECK(worker.view(Queue::shown).progress >= 0);
  CHECK(worker.view(Queue::shown).kind == WorkKind::simulation);
  worker.submit(Queue::shown, 0, WorkKind::simulation, [&](const Progress&) -> Worker::Deliver { return [&] { second = true; }; });
  worker.finish();
  CHECK(cancelled);
  CHECK(second);
}

TEST_CASE("worker: within its grace period a running job finishes") {
  Worker worker({});
  std::promise<void> started;
  std::atomic<int> asked = 0;
  bool first = false, second = false;
  worker.submit(Queue::shown, 0, WorkKind::simulation, [&](const Progress& progress) -> Worker::Deliver {
    started.set_value();
    for (int i = 0; i < 5; ++i) {
      if (!progress(0)) return {};
      ++asked;
      std::this_thread::sleep_for(2ms);
    }
    return [&] { first = true; };
  });
  started.get_future().wait();
  worker.submit(
      Queue::shown, 0, WorkKind::simulation, [&](const Progress&) -> Worker::Deliver { return [&] { second = true; }; }, 60s);
  worker.finish();
  CHECK(first);
  CHECK(second);
  CHECK(asked == 5);
}

TEST_CASE("worker: more urgent work cancels less urgent work, not the other way round") {
  Worker worker({});
  std::promise<void> started;
  std::atomic<bool> cancelled = false;
  worker.submit(Queue::shown, 3, WorkKind::simulation, until_cancelled(started, cancelled));
  started.get_future().wait();
  worker.submit(Queue::shown, 4, WorkKind::simulation, [](const Progress&) -> Worker::Deliver { return {}; });
  CHECK_FALSE(cancelled);
  worker.submit(Queue::shown, 0, WorkKind::simulation, [](const Progress&) -> Worker::Deliver { return {}; });
  worker.finish();
  CHECK(cancelled);
}

TEST_CASE("worker: destroying it during a job does not hang") {
  std::promise<void> started;
  std::atomic<bool> cancelled = false;
  {
    Worker worker({});
    worker.submit(Queue::shown, 0, WorkKind::simulation, until_cancelled(started, cancelled));
    started.get_future().wait();
  }
  CHECK(cancelled);
}

TEST_CASE("worker: a queue does not wait for the work of another") {
  Worker worker({});
  std::promise<void> started;
  std::atomic<bool> cancelled = false;
  worker.submit(Queue::background, 0, WorkKind::sweep, until_cancelled(started, cancelled));
  started.get_future().wait();
  bool shown = false, quick = false;
  worker.submit(Queue::shown, 9, WorkKind::values, [&](const Progress&) -> Worker::Deliver { return [&] { shown = true; }; });
  worker.submit(Queue::quick, 9, WorkKind::unnamed, [&](const Progress&) -> Worker::Deliver { return [&] { quick = true; }; });
  worker.finish(Queue::shown);
  worker.finish(Queue::quick);
  CHECK(shown);
  CHECK(quick);
  CHECK_FALSE(worker.idle());
  CHECK(worker.view(Queue::background).kind == WorkKind::sweep);
  CHECK(worker.view(Queue::shown).kind == WorkKind::unnamed);
  worker.cancel(Queue::background);
  worker.finish();
  CHECK(cancelled);
  CHECK(worker.idle());
}

TEST_CASE("worker: work that throws is reported as an error and later work still runs") {
  for (const bool threads : {false, true}) {
    CAPTURE(threads);
    std::vector<std::string> failures;
    Worker worker({.threads = threads, .wake = {}, .failed = [&](const Error& error) { failures.push_back(error.sentence); }});
    bool later = false;
    worker.submit(Queue::shown, 0, WorkKind::simulation, [](const Progress&) -> Worker::Deliver { throw std::bad_alloc(); });
    worker.finish();
    worker.submit(Queue::shown, 0, WorkKind::simulation,
                  [](const Progress&) -> Worker::Deliver { throw std::runtime_error("a bug"); });
    worker.finish();
    worker.submit(Queue::shown, 0, WorkKind::simulation, [&](const Progress&) -> Worker::Deliver { return [&] { later = true; }; });
    worker.finish();
    REQUIRE(failures.size() == 2);
    CHECK(failures[0] == "this needs more memory than the machine gives: use a smaller problem");
    CHECK(failures[1] == "internal error, please report it: a bug");
    CHECK(later);
  }
}

TEST_CASE("worker: without threads it tells how far a job is") {
  std::vector<std::pair<WorkKind, double>> told;
  Worker worker({.threads = false, .wake = {}, .failed = {}, .told = [&](WorkKind kind, double fraction) {
                   told.emplace_back(kind, fraction);
                 }});
  worker.submit(Queue::shown, 0, WorkKind::sweep, [](const Progress& progress) -> Worker::Deliver {
    progress(0.25);
    progress(0.75);
    return {};
  });
  worker.finish();
  CHECK(told == std::vector<std::pair<WorkKind, double>>{{WorkKind::sweep, 0.25}, {WorkKind::sweep, 0.75}});
}

TEST_CASE("worker: work that does not end is waited for no longer than asked") {
  std::promise<void> answer;
  std::atomic<bool> began = false;
  Worker worker({});
  worker.submit(Queue::background, 0, WorkKind::measurement, [&](const Progress&) -> Worker::Deliver {
    began = true;
    answer.get_future().wait();
    return {};
  });
  while (!began) std::this_thread::yield();
  CHECK_FALSE(worker.stop_within(std::chrono::milliseconds(20)));
  answer.set_value();
  CHECK(worker.stop_within(std::chrono::minutes(1)));
}
