// The worker: one job at a time, the newest wins, results arrive on the caller's thread.
#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "app/model/worker.h"

using namespace tilescope;
using namespace std::chrono_literals;

TEST_CASE("worker: without threads the work is done when results are taken, in order of slots") {
  Worker worker(false, {});
  std::vector<int> order;
  for (int slot : {2, 0, 1})
    worker.submit(slot, "work",
                  [&order, slot](const Progress&) -> Worker::Deliver { return [&order, slot] { order.push_back(slot); }; });
  CHECK(order.empty());
  CHECK(worker.take_finished());
  CHECK(order == std::vector<int>{0, 1, 2});
  CHECK(worker.idle());
  CHECK_FALSE(worker.take_finished());
}

TEST_CASE("worker: what waits in a slot is replaced by what is submitted later") {
  Worker worker(false, {});
  int done = 0;
  for (int i = 1; i <= 3; ++i)
    worker.submit(0, "work", [&done, i](const Progress&) -> Worker::Deliver { return [&done, i] { done += i; }; });
  worker.take_finished();
  CHECK(done == 3);
}

TEST_CASE("worker: results are delivered on the thread that takes them") {
  std::atomic<bool> woken = false;
  Worker worker(true, [&] { woken = true; });
  std::thread::id ran, delivered;
  worker.submit(0, "work", [&](const Progress&) -> Worker::Deliver {
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

TEST_CASE("worker: a newer job of the same slot cancels the one that runs") {
  Worker worker(true, {});
  std::promise<void> started;
  std::atomic<bool> cancelled = false;
  bool second = false;
  worker.submit(0, "long", until_cancelled(started, cancelled));
  started.get_future().wait();
  CHECK(worker.progress() >= 0);
  CHECK(worker.what() == "long");
  worker.submit(0, "short", [&](const Progress&) -> Worker::Deliver { return [&] { second = true; }; });
  worker.finish();
  CHECK(cancelled);
  CHECK(second);
}

TEST_CASE("worker: within its grace a running job is left to finish") {
  Worker worker(true, {});
  std::promise<void> started;
  std::atomic<int> asked = 0;
  bool first = false, second = false;
  worker.submit(0, "first", [&](const Progress& progress) -> Worker::Deliver {
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
      0, "second", [&](const Progress&) -> Worker::Deliver { return [&] { second = true; }; }, 60s);
  worker.finish();
  CHECK(first);
  CHECK(second);
  CHECK(asked == 5);
}

TEST_CASE("worker: more urgent work cancels less urgent work, not the other way round") {
  Worker worker(true, {});
  std::promise<void> started;
  std::atomic<bool> cancelled = false;
  worker.submit(3, "values", until_cancelled(started, cancelled));
  started.get_future().wait();
  worker.submit(4, "later", [](const Progress&) -> Worker::Deliver { return {}; });
  CHECK_FALSE(cancelled);
  worker.submit(0, "urgent", [](const Progress&) -> Worker::Deliver { return {}; });
  worker.finish();
  CHECK(cancelled);
}

TEST_CASE("worker: ending it while it works does not hang") {
  std::promise<void> started;
  std::atomic<bool> cancelled = false;
  {
    Worker worker(true, {});
    worker.submit(0, "long", until_cancelled(started, cancelled));
    started.get_future().wait();
  }
  CHECK(cancelled);
}

TEST_CASE("worker: without threads it tells how far a job is") {
  std::vector<std::pair<std::string, double>> told;
  Worker worker(false, {}, [&](const std::string& what, double fraction) { told.emplace_back(what, fraction); });
  worker.submit(0, "counting", [](const Progress& progress) -> Worker::Deliver {
    progress(0.25);
    progress(0.75);
    return {};
  });
  worker.finish();
  CHECK(told == std::vector<std::pair<std::string, double>>{{"counting", 0.25}, {"counting", 0.75}});
}
