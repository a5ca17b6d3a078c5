// on_cores(): what it does when a call throws or the machine gives no more threads.
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <new>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "app/model/background/parallel.h"

using namespace tilescope;
using namespace std::chrono_literals;

namespace {

std::vector<std::size_t> indices(std::size_t count) {
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

}  // namespace

TEST_CASE("on_cores: every index is worked on once") {
  std::vector<std::atomic<int>> calls(100);
  CHECK(on_cores(indices(100), 4, [&](std::size_t i) { return ++calls[i] > 0; }));
  for (const auto& count : calls) CHECK(count == 1);
}

TEST_CASE("on_cores: an exception of another thread reaches the caller") {
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> thrown = false;
  const auto work = [&](std::size_t) -> bool {
    if (std::this_thread::get_id() != caller) {
      thrown = true;
      throw std::bad_alloc();
    }
    for (int i = 0; i < 5000 && !thrown; ++i) std::this_thread::sleep_for(1ms);
    return true;
  };
  CHECK_THROWS_AS(on_cores(indices(3), 3, work), std::bad_alloc);
}

TEST_CASE("on_cores: an exception of the caller's thread waits for the other threads") {
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> begun = 0, ended = 0;
  const auto work = [&](std::size_t) -> bool {
    if (std::this_thread::get_id() == caller) {
      for (int i = 0; i < 5000 && begun == 0; ++i) std::this_thread::sleep_for(1ms);
      throw std::runtime_error("no more");
    }
    ++begun;
    std::this_thread::sleep_for(20ms);
    ++ended;
    return true;
  };
  CHECK_THROWS_WITH_AS(on_cores(indices(64), 3, work), "no more", std::runtime_error);
  CHECK(begun == ended);
}

// Sanitizers reserve terabytes of addresses, so that no limit on addresses can be set.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("on_cores: without room for more threads the work is done by fewer") {
  const auto address_space = [] {
    std::ifstream pages("/proc/self/statm");
    rlim_t count = 0;
    pages >> count;
    return count * 4096;
  };
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  const rlimit tight{address_space() + (rlim_t{40} << 20), before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_AS, &tight) == 0);
  std::atomic<int> done = 0;
  const bool all = on_cores(indices(64), 64, [&](std::size_t) {
    std::this_thread::sleep_for(1ms);
    return ++done > 0;
  });
  REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(all);
  CHECK(done == 64);
}
#endif
