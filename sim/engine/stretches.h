// Stretches: what an SM does from one load to its next, kept so that it need not be worked out again.
//
//   load at t ──► pipes, blocks ──► operations … ──► next load at t + cycles        one stretch
//                 └── the key ──┘                    └── of which slot
//
// Blocks of one shape go through the same few states again and again, only later. Times of one binade are whole multiples of one
// unit, so a sum rounds alike wherever in the binade it lies; in a tie it depends on whether the time is an even multiple. So a
// stretch that begins in the same state, counted from its load, is the same to the bit in the whole binade.
//
// When bytes land is no part of the state: a stretch holds only where they land before it looks for them. Everything that SMs share
// is still done load by load, in order of time.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/engine/schedule.h"

namespace tilescope {

/// Blocks of an SM at most, where stretches are kept.
inline constexpr std::size_t most_stretch_slots = 8;

/// Where a block is in its operations and loads: two blocks with equal positions go on alike for a while.
class StretchPositions {
 public:
  /// Operations and loads ahead that a position stands for.
  static constexpr std::size_t operations_ahead = 16, loads_ahead = 4;
  /// Numbers the positions of a schedule's streams.
  void add(BlockSchedule& schedule);

 private:
  std::vector<std::uint32_t> number(std::vector<std::uint32_t> codes, std::size_t ahead);
  std::uint32_t pair(std::uint32_t first, std::uint32_t second);
  std::unordered_map<std::uint64_t, std::uint32_t> pairs_;
};

/// Where a block is in its streams, in numbers that blocks at the same place in different iterations have in common.
struct StretchPosition {
  std::uint64_t ahead = 0;   // numbers of what comes next, operations and loads; 0: not known
  std::uint64_t behind = 0;  // loads issued and signals given beyond those that were waited for
  bool is_known() const { return ahead >> 32 != 0 && static_cast<std::uint32_t>(ahead) != 0; }
  bool operator==(const StretchPosition&) const = default;
};

/// Of one block, at the start of a stretch. Times count from there; what is over by then counts 0.
struct StretchSlot {
  StretchPosition position;
  double compute_end = 0, ahead_end = 0, load_time = 0, issue_rate = 0;
  std::array<double, 2> signals{};  // given, that later loads wait for
  std::uint64_t flags = 0;          // ahead, oldest, signals
};

struct StretchKey {
  std::array<double, 4> free{};  // of the port and the pipes
  double memory_free = 0, copies_free = 0;
  std::uint64_t parity = 0;  // of the time at which it begins
  std::array<StretchSlot, most_stretch_slots> slots;
};

/// An operation, and when its pipe is taken.
struct StretchOperation {
  std::uint32_t op_class = 0;
  double from = 0, to = 0;
};

/// A load of a slot, counted from the next one, and when its bytes have to be there.
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

  // First what replaying it takes.
  double cycles = 0;            // to the next load
  std::uint32_t next_slot = 0;  // whose it is
  std::int32_t successor = -1;  // the stretch that followed last
  double latest = 0;            // of all times in it
  double first = 0, last = 0;   // when a pipe is taken and left
  std::uint32_t deadline_count = 0, class_count = 0;
  std::array<std::uint16_t, most_stretch_slots> operations_of{}, signals_of{};
  std::array<Count, most_counts> counts{};  // of operations, by class
  std::array<StretchDeadline, most_deadlines> deadlines{};
  StretchKey key;
  // How the SM stands when it is over.
  StretchKey end;
  std::vector<StretchOperation> operations;
};

/// The stretches of one binade, found by key.
class StretchTable {
 public:
  /// Forgets all; the next ones are of SMs with so many slots.
  void clear(std::size_t slots);
  std::size_t size() const { return stretches_.size(); }
  /// -1 where there is none.
  std::int32_t find(const StretchKey& key) const;
  std::int32_t add(Stretch stretch);
  Stretch& operator[](std::int32_t number) { return stretches_[static_cast<std::size_t>(number)]; }

 private:
  std::size_t key_words_ = 0;  // that may differ
  std::vector<Stretch> stretches_;
  std::vector<std::int32_t> table_ = std::vector<std::int32_t>(64, -1);  // open addressing, a power of two
};

}  // namespace tilescope
