// on_cores(): calls one function for many indices on several threads; it may say stop.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

namespace tilescope {

/// How many threads this machine runs at once.
inline int core_count() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

/// Calls work(i) for every i of `order`, begun in that order, on `threads` threads (the caller's own is one of them). False, and
/// nothing more is begun, once a call returned false. With fewer threads than asked for, where the machine gives no more.
/// Errors  the first exception of a call is thrown again here, after the last thread has ended.
template <class Work>
bool on_cores(std::span<const std::size_t> order, int threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stopped = false;
  std::mutex failing;
  std::exception_ptr failure;
  const auto loop = [&] {
    try {
      while (!stopped) {
        const std::size_t at = next++;
        if (at >= order.size()) return;
        if (!work(order[at])) stopped = true;
      }
    } catch (...) {
      stopped = true;
      const std::lock_guard lock(failing);
      if (failure == nullptr) failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  try {
    for (int i = 1; i < std::min(threads, static_cast<int>(order.size())); ++i) others.emplace_back(loop);
  } catch (const std::system_error&) {  // no more threads
  } catch (const std::bad_alloc&) {     // no memory for one more
  }
  loop();
  for (std::thread& thread : others) thread.join();
  if (failure != nullptr) std::rethrow_exception(failure);
  return !stopped;
}

}  // namespace tilescope
