// Stretches: what an SM does from one load to its next, recorded so that it can be replayed instead of computed again.
//
//   load at t ──► pipes, blocks ──► operations … ──► next load at t + cycles        one stretch
//                 └── the key ──┘                    └── by block next_slot
//
// Blocks of one shape pass through the same few states again and again. A stretch that begins in the same state, relative to its
// load, repeats to the bit within one binade [2^n, 2^(n+1)): all doubles there are multiples of one unit, so sums round alike.
// Only ties depend on whether the time is an even multiple, which is part of the key.
//
// The landing times of bytes are not part of the key. A stretch is replayed only if its bytes land before it looks for them.
// Everything that SMs share is still processed load by load, in order of time.
//
// Stretches that follow one another in a circle form a period. While its blocks' operations repeat, an SM passes through a period
// again and again, so the times of its loads are known in advance:
//
//   load ─ stretch 3 ─ load ─ stretch 7 ─ load ─ stretch 4 ─┐
//    └──────────────────────────────────────────────────────┘
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/core/large_pages.h"
#include "sim/engine/recorder.h"
#include "sim/engine/schedule.h"

namespace tilescope {

/// The most slots of an SM, one a group of warps, for which stretches are recorded.
inline constexpr std::size_t most_stretch_slots = 8;

/// Numbers the positions of blocks in their operations and loads. Equal numbers mean equal next operations and loads.
class StretchPositions {
 public:
  /// How many operations and loads ahead are equal at positions with equal numbers.
  static constexpr std::size_t operations_ahead = 16, loads_ahead = 4;
  /// Numbers the positions of a schedule's streams.
  void add(BlockSchedule& schedule);

 private:
  static constexpr std::uint32_t after_last = ~0U;  // the code of what follows the last operation or load of a stream
  std::vector<std::uint32_t> number(std::vector<std::uint32_t> codes, std::size_t ahead);
  std::uint32_t pair(std::uint32_t first, std::uint32_t second);
  std::unordered_map<std::uint64_t, std::uint32_t> pairs_;
};

/// The position of a block in its streams. It is equal for blocks at the same point of different iterations.
struct StretchPosition {
  std::uint64_t ahead = 0;   // position numbers of the next operations and loads; 0: unknown
  std::uint64_t behind = 0;  // loads issued and signals given since the latest ones that were waited for
  bool is_known() const { return ahead >> 32 != 0 && static_cast<std::uint32_t>(ahead) != 0; }
  bool operator==(const StretchPosition&) const = default;
};

/// The state of one slot at the start of a stretch. Times are relative to the start; past times are 0.
struct StretchSlot {
  StretchPosition position;
  double compute_end = 0, sliced_end = 0, load_time = 0, issue_rate = 0;
  // When the signals were given that the loads after the next one wait for; 0 for a signal to come.
  std::array<double, StretchPositions::loads_ahead - 1> signals{};
  /// Bits of `flags`; from first_signal on, a bit for each signal that was given. The upper half is the number of slices.
  static constexpr std::uint64_t is_sliced = 1, is_oldest = 2, first_signal = 4;
  static constexpr int slices_shift = 32;
  std::uint64_t flags = 0;
};

/// The state of an SM at the start of a stretch.
struct StretchKey {
  std::array<double, 4> free{};  // port and pipes
  double memory_free = 0, copies_free = 0;
  std::uint64_t parity = 0;  // lowest mantissa bit of the start time
  std::array<StretchSlot, most_stretch_slots> slots;
};

/// An operation and the time that it occupies its pipe.
struct StretchOperation {
  std::uint32_t op_class = 0;
  double from = 0, to = 0;
};

/// The time by which the bytes of an earlier load must have landed. `moment` is relative to the block's next load.
struct StretchDeadline {
  std::uint32_t slot = 0;
  std::int32_t moment = 0;
  double time = 0;
};

struct Stretch {
  static constexpr std::size_t most_deadlines = 4, most_counts = 8;
  struct Count {
    std::uint16_t op_class = 0, count = 0;
  };

  // Replaying reads only the members up to `key`.
  double cycles = 0;            // until the next load
  std::uint32_t next_slot = 0;  // block of the next load
  std::int32_t successor = -1;  // the stretch that followed last time
  std::int32_t period = -1;     // a period that it is part of, and its place there
  std::uint32_t step = 0;
  double latest = 0;           // latest of all times in it
  double first = 0, last = 0;  // first and last moment that a pipe is occupied
  std::uint32_t deadline_count = 0, class_count = 0;
  std::array<std::uint16_t, most_stretch_slots> operations_of{}, signals_of{};
  std::array<Count, most_counts> counts{};  // operations by class
  std::array<StretchDeadline, most_deadlines> deadlines{};
  StretchKey key;
  StretchKey end;  // the state of the SM at its end
  std::vector<StretchOperation> operations;
};

/// A circle of stretches.
struct Period {
  /// Limits of the number of steps. A short circle is passed several times, so that bytes are waited for within `least_steps`.
  static constexpr std::size_t least_steps = 16, most_steps = 64;
  /// A load and the stretch that it begins.
  struct Step {
    std::int32_t stretch = 0;
    std::uint32_t slot = 0;                       // block of the load
    double cycles = 0;                            // until the next load
    double slack = 0;                             // cycles within which the bytes must land
    double period = 0;                            // until the same load of the next period
    double first = 0, last = 0, copies_free = 0;  // of the stretch
    bool copies = false, follows = false;         // see SmRunner::note_landing()
    Recorder::Group* group = nullptr;             // the load and the operations of the stretch
  };
  /// What a block passes through in a period.
  struct Advance {
    std::uint32_t operations = 0, loads = 0, signals = 0;
  };
  std::vector<Step> steps;
  std::array<Advance, most_stretch_slots> advance{};
  bool is_complete = false;  // the steps' loads are known
  double cycles = 0;
  double latest = 0;  // latest of all times in its stretches, each relative to the start of its stretch
};

/// The stretches of one binade, by key.
class StretchTable {
 public:
  /// Removes all stretches. The next ones are of SMs with `slots` slots.
  void clear(std::size_t slots);
  std::size_t size() const { return stretches_.size(); }
  /// Returns the number of the stretch; -1 if there is none.
  std::int32_t find(const StretchKey& key) const;
  std::int32_t add(Stretch stretch);
  Stretch& operator[](std::int32_t number) { return stretches_[static_cast<std::size_t>(number)]; }
  /// Returns the number of the period of a stretch; -1 if none is known. A new period is made from the successors.
  std::int32_t period_of(std::int32_t number);
  Period& period(std::int32_t number) { return periods_[static_cast<std::size_t>(number)]; }

 private:
  /// Sets the slack of all steps. Returns false if bytes are waited for too long after their load.
  bool set_slack(Period& period) const;

  std::size_t key_words_ = 0;  // words of a key that are in use
  LargeVector<Stretch> stretches_;
  std::vector<Period> periods_;
  std::vector<std::int32_t> table_ = std::vector<std::int32_t>(64, -1);  // open addressing, a power of two
};

}  // namespace tilescope
