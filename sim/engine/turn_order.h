// TurnOrder: which block of an SM does something next, and when; ties to the lower slot.
//
//   few slots     looked through one by one; a store for which the pipe is taken is put off, and they are looked through again
//   many slots    a tree of winners:       ┌──── root ────┐
//                                        ┌─┴─┐          ┌─┴─┐
//                                     slot 0  1      slot 2  3   each holds when its block does something
//
// A store that needs the pipe starts when that is free, and others may take the pipe until then. Should a load of the same block
// be due by then, that comes first. In the tree such a store stands with its own time until that has come; from then on it is
// ready, which is a bit, and the tree has the time of the load.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tilescope {

/// A moment and whose turn it is then, as one number that orders them: earlier first, ties to the lower number. Times are never
/// negative, and such doubles are in the order of their bits. So two turns are compared, and the lower one taken, without a branch:
/// which of two it is, is a coin toss to the processor.
__extension__ using TurnKey = unsigned __int128;

constexpr TurnKey turn_key(double time, std::uint64_t whose) {
  return TurnKey{std::bit_cast<std::uint64_t>(time)} << 64 | whose;
}
constexpr double time_of(TurnKey turn) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(turn >> 64));
}
constexpr std::uint64_t whose(TurnKey turn) {
  return static_cast<std::uint64_t>(turn);
}

class TurnOrder {
 public:
  static constexpr double never = std::numeric_limits<double>::infinity();
  struct Turn {
    std::size_t slot = 0;
    double time = never;
    bool load_first = false;  // a store is next in this slot, but its load is due by then
    // The slot that comes after this one if nothing changes. It may turn out to come later: a store for which the pipe is taken.
    std::size_t rival = 0;
    double rival_time = never;
  };

  /// Nothing happens in any of `count` slots.
  void reset(std::size_t count);
  /// Slot `slot` does something at `time`.
  void set(std::size_t slot, double time) {
    if (count_ <= most_few) {
      few_[slot] = {time, never, false};
      return;
    }
    stores_[slot].waits = false;
    if (any_ready_) clear_ready(slot);
    put(slot, time);
  }
  /// Slot `slot` has a store that is next from `time` on, once the pipe is free, and a load at `load_time`, later than `time`.
  void set_store(std::size_t slot, double time, double load_time) {
    set(slot, time);
    Slot& store = count_ <= most_few ? few_[slot] : stores_[slot];
    store.load_time = load_time;
    store.waits = true;
  }
  bool few() const { return count_ <= most_few; }
  /// Whose turn is next, where the pipe is free from `pipe_free`. One for few slots and one for many.
  Turn next_of_few(double pipe_free);
  Turn next_in_tree(double pipe_free);

 private:
  struct Slot {
    double time = never;  // of few slots; of many it is in the tree
    double load_time = never;
    bool waits = false;  // a store is next that needs the pipe
  };
  static constexpr std::size_t most_few = 4;

  void put(std::size_t slot, double time) {
    std::size_t node = leaves_ + slot;
    TurnKey winner = turn_key(time, slot);
    for (nodes_[node] = winner; node > 1; nodes_[node] = winner) {
      winner = std::min(winner, nodes_[node ^ 1]);
      node /= 2;
    }
  }
  bool ready(std::size_t slot) const { return (ready_[slot / 64] >> slot % 64 & 1) != 0; }
  void clear_ready(std::size_t slot);
  TurnKey first_ready(double pipe_free) const;

  std::size_t count_ = 1;
  std::array<Slot, most_few> few_;
  std::vector<Slot> stores_;          // by slot
  std::size_t leaves_ = 1;            // a power of two
  std::vector<TurnKey> nodes_;        // 1 the root, leaves_ + slot the slots
  std::vector<std::uint64_t> ready_;  // a bit a slot
  bool any_ready_ = false;
};

inline void TurnOrder::reset(std::size_t count) {
  count_ = count;
  few_.fill(Slot{});
  stores_.assign(count, Slot{});
  leaves_ = std::bit_ceil(std::max<std::size_t>(count, 1));
  nodes_.resize(2 * leaves_);
  for (std::size_t slot = 0; slot < leaves_; ++slot) nodes_[leaves_ + slot] = turn_key(never, slot);
  for (std::size_t node = leaves_ - 1; node >= 1; --node) nodes_[node] = nodes_[2 * node];
  ready_.assign(count / 64 + 1, 0);
  any_ready_ = false;
}

inline TurnOrder::Turn TurnOrder::next_of_few(double pipe_free) {
  for (;;) {
    std::size_t first = 0, second = 0;
    double first_time = few_[0].time, second_time = never;
    for (std::size_t slot = 1; slot < count_; ++slot) {
      const double time = few_[slot].time;
      if (time < first_time) {
        second = first;
        second_time = first_time;
        first = slot;
        first_time = time;
      } else if (time < second_time) {
        second = slot;
        second_time = time;
      }
    }
    Slot& store = few_[first];
    if (!store.waits) return {first, first_time, false, second, second_time};
    const double time = std::min(store.load_time, std::max(first_time, pipe_free));
    if (time <= first_time) return {first, first_time, first_time >= store.load_time, second, second_time};
    store.time = time;
  }
}

inline TurnOrder::Turn TurnOrder::next_in_tree(double pipe_free) {
  for (std::uint64_t slot = whose(nodes_[1]); stores_[slot].waits && time_of(nodes_[1]) < pipe_free && !ready(slot);
       slot = whose(nodes_[1])) {
    ready_[slot / 64] |= std::uint64_t{1} << slot % 64;
    any_ready_ = true;
    put(slot, stores_[slot].load_time);
  }
  TurnKey first = nodes_[1], rival = turn_key(never, leaves_);
  bool store_first = false;
  for (std::size_t node = leaves_ + whose(first); node > 1; node /= 2) rival = std::min(rival, nodes_[node ^ 1]);
  if (any_ready_) {
    const TurnKey store = first_ready(pipe_free);
    store_first = store < first;
    if (store_first)
      first = store;  // its rival is of no interest: a store is an event by itself
    else
      rival = std::min(rival, store);
  }
  const bool load_first = !store_first && any_ready_ && ready(whose(first));
  return {whose(first), time_of(first), load_first, whose(rival), time_of(rival)};
}

inline void TurnOrder::clear_ready(std::size_t slot) {
  ready_[slot / 64] &= ~(std::uint64_t{1} << slot % 64);
  any_ready_ = std::any_of(ready_.begin(), ready_.end(), [](std::uint64_t word) { return word != 0; });
}

inline TurnKey TurnOrder::first_ready(double pipe_free) const {
  std::size_t word = 0;
  while (ready_[word] == 0) ++word;
  return turn_key(pipe_free, word * 64 + static_cast<std::size_t>(std::countr_zero(ready_[word])));
}

}  // namespace tilescope
