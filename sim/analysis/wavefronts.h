// Splits an access to shared memory into its wavefronts: which lanes and words each one serves.
//
//   lanes 0..7 of 16 bytes   ->  part 0: words 0 1 2 3 | 32 33 34 35 | ...
//                                wavefront 1 serves words 0..3, wavefront 2 words 32..35: one word a bank
#pragma once

#include <array>
#include <vector>

#include "sim/analysis/bank_conflicts.h"

namespace tilescope {

/// A word of a lane.
struct LaneWord {
  int lane = 0;
  std::int64_t word = 0;  // bytes 4 * word to 4 * word + 3
  int bank() const { return static_cast<int>(word % shared_banks); }
  bool operator==(const LaneWord&) const = default;
};

struct Wavefront {
  int first_lane = 0, lanes = 0;  // the part of the warp that it belongs to
  std::vector<LaneWord> served;   // in order of lane, then word; at most one word a bank
  /// Returns which banks serve a word.
  std::array<bool, shared_banks> banks() const;
};

/// Returns the wavefronts of an access, bank_use().total of them.
/// Leaves out  the order within a part is by address, since the hardware's is not documented
std::vector<Wavefront> wavefronts_of(const WarpAccess& access);

/// Returns the words of a lane; none for one that takes no part.
std::vector<LaneWord> words_of(const WarpAccess& access, int lane);

}  // namespace tilescope
