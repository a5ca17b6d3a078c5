// Rounds by the largest remainder.
#include "app/model/lessons/whole_percents.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace tilescope {

std::array<int, most_choices> whole_percents(const std::array<int, most_choices>& counts) {
  std::array<int, most_choices> percents{};
  const auto all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (all <= 0) return percents;
  const auto hundredfold = [&](std::size_t i) { return std::int64_t{100} * counts[i]; };
  std::array<std::size_t, most_choices> order{};
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return hundredfold(a) % all > hundredfold(b) % all; });
  for (const std::size_t i : order) percents[i] = static_cast<int>(hundredfold(i) / all);
  const int missing = 100 - std::accumulate(percents.begin(), percents.end(), 0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(missing); ++i) ++percents[order[i]];
  return percents;
}

}  // namespace tilescope
