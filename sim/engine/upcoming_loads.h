// UpcomingLoads: the known loads of SMs in periods, in order of time.
//
//   a ring with gaps      [ load 3 | load 7 |  gap  | load 9 | load 4 ]      a load that is done goes to the end with a later time,
//                           ▲ next                             ▲ last        and from there to its place
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/resident_group.h"
#include "sim/engine/stretches.h"

namespace tilescope {

/// The next occurrence of a load of an SM that is in a period.
struct UpcomingLoad {
  double time = ResidentGroup::never;
  const Period::Step* step = nullptr;
  ResidentGroup* group = nullptr;  // null: a gap
  TileShift shift;                 // of the group's block, for the load's tensor
  std::uint16_t sm = 0;
  bool is_last_step = false;     // after its last occurrence the SM leaves the period
  std::uint32_t times_left = 0;  // occurrences after this one
  bool comes_before(const UpcomingLoad& other) const { return time < other.time || (time == other.time && sm < other.sm); }
};

class UpcomingLoads {
 public:
  /// Returns the load that comes next; without loads, one that never comes.
  UpcomingLoad& next() { return ring_[next_]; }
  const UpcomingLoad& next() const { return ring_[next_]; }
  /// Lets the next load come again at `time`.
  void postpone_next(double time) {
    const std::size_t at = next_;
    ring_[at].time = time;
    go_to_next();
    latest_ = time <= latest_ && sort_in(at) ? ResidentGroup::never : time;
  }
  void drop_next() {
    drop(ring_[next_]);
    go_to_next();
  }
  /// Drops all loads of the SM whose load comes next.
  void drop_sm_of_next();
  /// Adds loads, in any order.
  void add(std::vector<UpcomingLoad>& loads);
  void clear() {
    ring_.assign(1, {});
    next_ = live_ = 0;
    latest_ = ResidentGroup::never;
  }

 private:
  /// Goes to the next load that is no gap.
  void go_to_next() {
    if (live_ == 0) return clear();
    do {
      if (++next_ == ring_.size()) next_ = 0;
    } while (ring_[next_].group == nullptr);
  }
  /// Moves load `at`, the last of the ring, to its place. Returns whether it was elsewhere.
  bool sort_in(std::size_t at);
  void drop(UpcomingLoad& load) {
    if (load.group == nullptr) return;
    load.group = nullptr;
    --live_;
  }

  std::vector<UpcomingLoad> ring_ = std::vector<UpcomingLoad>(1);
  std::size_t next_ = 0, live_ = 0;       // live: loads that are no gaps
  double latest_ = ResidentGroup::never;  // the time of the last load of the ring; infinite: unknown
};

}  // namespace tilescope
