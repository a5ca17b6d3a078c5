// on_cores(): calls one function for many indices on several threads; it may say stop.
#pragma once

#include <algorithm>
#include <atomic>
#include <span>
#include <thread>
#include <vector>

namespace tilescope {

/// How many threads this machine runs at once.
inline int core_count() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

/// work(i) for every i of `order`, begun in that order, on `threads` threads (the caller's own is one of them). False, and nothing
/// more is begun, once a call returned false.
template <class Work>
bool on_cores(std::span<const std::size_t> order, int threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stopped = false;
  const auto loop = [&] {
    while (!stopped) {
      const std::size_t at = next++;
      if (at >= order.size()) return;
      if (!work(order[at])) stopped = true;
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < std::min(threads, static_cast<int>(order.size())); ++i) others.emplace_back(loop);
  loop();
  for (std::thread& thread : others) thread.join();
  return !stopped;
}

}  // namespace tilescope
