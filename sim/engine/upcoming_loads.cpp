// Keeps the ring in order.
#include "sim/engine/upcoming_loads.h"

#include <algorithm>
#include <utility>

namespace tilescope {

bool UpcomingLoads::sort_in(std::size_t at) {
  bool moves = false;
  for (std::size_t before = at; before != next_;) {
    before = (before == 0 ? ring_.size() : before) - 1;
    if (ring_[before].group == nullptr) continue;
    if (!ring_[at].comes_before(ring_[before])) break;
    std::swap(ring_[at], ring_[before]);
    at = before;
    moves = true;
  }
  return moves;
}

void UpcomingLoads::drop_sm_of_next() {
  const std::uint16_t sm = next().sm;
  for (UpcomingLoad& load : ring_)
    if (load.sm == sm) drop(load);
  go_to_next();
}

void UpcomingLoads::add(std::vector<UpcomingLoad>& loads) {
  if (loads.empty()) return;
  const auto earlier = [](const UpcomingLoad& a, const UpcomingLoad& b) { return a.comes_before(b); };
  std::stable_sort(loads.begin(), loads.end(), earlier);  // an SM may issue several loads at once
  std::rotate(ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(next_), ring_.end());
  std::erase_if(ring_, [](const UpcomingLoad& load) { return load.group == nullptr; });
  const auto before = static_cast<std::ptrdiff_t>(ring_.size());
  ring_.insert(ring_.end(), loads.begin(), loads.end());
  std::inplace_merge(ring_.begin(), ring_.begin() + before, ring_.end(), earlier);
  next_ = 0;
  live_ = ring_.size();
  latest_ = ResidentGroup::never;
}

}  // namespace tilescope
