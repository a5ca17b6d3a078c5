// random_chain(): a pointer chain through all lines of a buffer, to measure latency.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace tilescope::microbench {

/// Returns a random chain through `count` lines of 128 bytes: the first word of each line is the word index of the next line.
inline std::vector<std::uint32_t> random_chain(std::int64_t count) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(count)), chain(static_cast<std::size_t>(count * 32));
  std::iota(order.begin(), order.end(), 0U);
  std::mt19937 random(1);
  std::shuffle(order.begin() + 1, order.end(), random);
  for (std::size_t i = 0; i < order.size(); ++i) chain[order[i] * 32] = order[(i + 1) % order.size()] * 32;
  return chain;
}

}  // namespace tilescope::microbench
