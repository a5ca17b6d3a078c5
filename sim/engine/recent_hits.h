// RecentHits: the latest loads through one side of the L2 that hit. A repetition of one takes the same time, so nobody need ask the
// cache again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "sim/engine/schedule.h"
#include "sim/engine/shared_lookups.h"
#include "sim/memory/tile_cache.h"

namespace tilescope {

class RecentHits {
 public:
  struct alignas(64) Hit {
    PlacedAccess access{.op_class = ~0U};       // of no class: none
    SharedLookups::Readers* readers = nullptr;  // of the tile, if its key is still this one
    std::uint64_t key = 0;
    double port_cycles = 0, l2_cycles = 0, arrival = 0;
    Unchanged unchanged;

    bool is_repeated_by(const PlacedAccess& other) const { return access == other && unchanged.holds() && readers->key == key; }
  };

  const Hit& latest() const { return hits_[latest_]; }
  /// Looks for the hit that `access` repeats and makes it the latest. Returns false if there is none.
  bool find(const PlacedAccess& access) {
    for (std::size_t at = 0; at < hits_.size(); ++at) {
      if (!hits_[at].is_repeated_by(access)) continue;
      latest_ = at;
      return true;
    }
    return false;
  }
  /// Stores a hit in place of the one of the same access, or of the oldest, and makes it the latest.
  void note(const Hit& hit) {
    std::size_t at = 0;
    while (at < hits_.size() && !(hits_[at].access == hit.access)) ++at;
    if (at == hits_.size()) {
      at = oldest_;
      oldest_ = (at + 1) % hits_.size();
    }
    latest_ = at;
    hits_[at] = hit;
  }
  /// Forgets the latest hit, because other tiles were read through its side since.
  void forget_latest() { hits_[latest_] = {}; }

 private:
  std::array<Hit, 8> hits_;  // blocks that are not in step load a few tiles in turn
  std::size_t latest_ = 0, oldest_ = 0;
};

}  // namespace tilescope
