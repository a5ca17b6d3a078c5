// IssueOrder picks the warp group of an SM that issues next, and when. SmOrder picks the SM with the next event. A slot holds one
// group of warps; a block without roles is one group.
//
//   each slot   ready ──► its pipe and port are free ──► it issues      or a load that is due before that
//
// Ties go to the oldest block, and on some pipes the oldest block never waits. The hardware does the same: of the warps that want a
// pipe it serves the oldest as long as that has instructions (docs/calibration.md, "Who goes first on an SM").
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tilescope {

/// A time and a slot as one number: earlier times first, ties to the lower order key. Times are never negative, so their bits
/// order them. The smaller of two keys is thus found without a branch, which the host could not predict.
__extension__ using IssueKey = unsigned __int128;

/// Returns the bits of a time, which order like the times.
constexpr std::uint64_t order_of(double time) {
  return std::bit_cast<std::uint64_t>(time);
}
constexpr IssueKey issue_key(double time, std::uint64_t order_key) {
  return IssueKey{order_of(time)} << 64 | order_key;
}
constexpr double time_of(IssueKey key) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(key >> 64));
}
constexpr std::uint64_t order_key_of(IssueKey key) {
  return static_cast<std::uint64_t>(key);
}

class IssueOrder {
 public:
  static constexpr double never = std::numeric_limits<double>::infinity();
  /// The next operation and the next load of a group.
  struct Candidate {
    double ready = never;  // earliest start of the operation
    double load = never;   // time of the load; ties go to the load
    // The pipe and the port that must be free, as indices into the times that next() gets. `pipe`: for any block but the oldest,
    // then for the oldest one.
    std::array<std::uint8_t, 2> pipe = {0, 0};
    std::uint8_t port = 0;
  };
  struct Choice {
    std::size_t slot = 0;
    double time = never;
    bool load_first = false;
    IssueKey rival = issue_key(never, 0);  // the slot after this one, if no pipe is taken meanwhile
  };

  /// Starts with `count` empty slots, at most 2^16.
  void reset(std::size_t count) {
    slots_.assign(count, Entry{});
    for (std::size_t slot = 0; slot < count; ++slot) slots_[slot].order_key = no_age << slot_bits | slot;
  }
  /// Puts a group of a block into slot `slot`. A block with a higher age is younger.
  void set_age(std::size_t slot, std::uint64_t age) {
    slots_[slot].order_key = age << slot_bits | slot;
    find_oldest();
  }
  /// Empties slot `slot`.
  void clear(std::size_t slot) {
    slots_[slot].candidate = {};
    set_age(slot, no_age);
  }
  /// Returns whether the slot's block is the oldest.
  bool is_oldest(std::size_t slot) const { return slots_[slot].oldest != 0; }
  void set(std::size_t slot, const Candidate& candidate) { slots_[slot].candidate = candidate; }
  const Candidate& candidate(std::size_t slot) const { return slots_[slot].candidate; }
  /// Returns when the operation of slot `slot` can start, given when each pipe is free.
  double start_of(std::size_t slot, const Candidate& candidate, std::span<const double> pipes) const {
    return std::max(candidate.ready, std::max(pipes[candidate.pipe[slots_[slot].oldest]], pipes[candidate.port]));
  }
  /// Return the order key of a slot (age, then slot), and its issue key at `time`, to compare with a rival.
  std::uint64_t order_key(std::size_t slot) const { return slots_[slot].order_key; }
  IssueKey key(std::size_t slot, double time) const { return issue_key(time, order_key(slot)); }
  /// Returns the next slot to issue, given when each pipe is free.
  Choice next(std::span<const double> pipes) const;

 private:
  static constexpr int slot_bits = 16;
  static constexpr std::uint64_t no_age = ~std::uint64_t{0} >> slot_bits;
  struct Entry {
    Candidate candidate;
    std::uint64_t order_key = 0;  // age, then slot
    std::uint8_t oldest = 0;      // 1 for the groups of the oldest block
  };
  void find_oldest() {
    std::uint64_t oldest = no_age;
    for (const Entry& slot : slots_) oldest = std::min(oldest, slot.order_key >> slot_bits);
    // The groups of one block have the same age. If all slots are empty, the first one counts as the oldest.
    for (Entry& slot : slots_) slot.oldest = slot.order_key >> slot_bits == oldest && oldest != no_age ? 1 : 0;
    if (oldest == no_age) slots_.front().oldest = 1;
  }
  std::vector<Entry> slots_;
};

/// Finds the SM with the next event, ties to the lower SM. A tournament tree: a change replays only the path of one SM to the root.
class SmOrder {
 public:
  /// Starts with `count` SMs without events.
  void reset(std::size_t count) {
    leaves_ = std::bit_ceil(count);
    times_.assign(2 * leaves_, order_of(IssueOrder::never));
    winners_.assign(2 * leaves_, 0);
    for (std::size_t sm = 0; sm < leaves_; ++sm) winners_[leaves_ + sm] = static_cast<std::uint32_t>(sm);
  }
  double time() const { return std::bit_cast<double>(times_[1]); }
  std::size_t sm() const { return winners_[1]; }
  void set(std::size_t sm, double time) {
    std::uint64_t* const times = times_.data();
    std::uint32_t* const winners = winners_.data();
    std::size_t at = leaves_ + sm;
    std::uint64_t first = times[at] = order_of(time);
    auto winner = static_cast<std::uint32_t>(sm);
    while (at > 1) {
      // Ties go to the left. Branch-free, because the branch would be unpredictable.
      const std::uint64_t rival = times[at ^ 1];
      const std::uint64_t loses = std::uint64_t{0} - (rival < first + (at & 1) ? 1 : 0);
      winner ^= (winner ^ winners[at ^ 1]) & static_cast<std::uint32_t>(loses);
      first ^= (first ^ rival) & loses;
      at /= 2;
      times[at] = first;
      winners[at] = winner;
    }
  }

 private:
  // By node of the tree (1 is the root, 2n and 2n + 1 are below n): time of its next event, as order_of() returns it, and the SM.
  std::size_t leaves_ = 1;
  std::vector<std::uint64_t> times_;
  std::vector<std::uint32_t> winners_;
};

inline IssueOrder::Choice IssueOrder::next(std::span<const double> pipes) const {
  if (slots_.size() == 2) {  // the common case; faster than the loop
    const Entry &a = slots_[0], &b = slots_[1];
    const double start_a = start_of(0, a.candidate, pipes), start_b = start_of(1, b.candidate, pipes);
    const IssueKey key_a = issue_key(std::min(a.candidate.load, start_a), a.order_key),
                   key_b = issue_key(std::min(b.candidate.load, start_b), b.order_key);
    const bool load_a = a.candidate.load <= start_a, load_b = b.candidate.load <= start_b, second = key_b < key_a;
    const IssueKey first = std::min(key_a, key_b);
    return {second ? 1U : 0U, time_of(first), second ? load_b : load_a, std::max(key_a, key_b)};
  }
  IssueKey first = issue_key(never, 0), rival = first;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    const Candidate& candidate = slots_[slot].candidate;
    const IssueKey key = issue_key(std::min(candidate.load, start_of(slot, candidate, pipes)), slots_[slot].order_key);
    rival = std::min(rival, std::max(first, key));
    first = std::min(first, key);
  }
  const std::size_t slot = order_key_of(first) & ((std::size_t{1} << slot_bits) - 1);
  const Candidate& candidate = slots_[slot].candidate;
  return {slot, time_of(first), candidate.load <= start_of(slot, candidate, pipes), rival};
}

}  // namespace tilescope
