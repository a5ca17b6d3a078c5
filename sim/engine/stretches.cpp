// The numbering of positions, and the hash table of stretches.
#include "sim/engine/stretches.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <utility>

namespace tilescope {

namespace {

constexpr std::size_t most_periods = 1024;
constexpr std::size_t most_numbered = 1 << 20;  // operations of a stream; the positions of longer ones are not numbered
static_assert(offsetof(StretchKey, slots) + most_stretch_slots * sizeof(StretchSlot) == sizeof(StretchKey));

using KeyWords = std::array<std::uint64_t, sizeof(StretchKey) / sizeof(std::uint64_t)>;

std::size_t hash(const StretchKey& key, std::size_t words) {
  const auto all = std::bit_cast<KeyWords>(key);
  std::uint64_t h = 0;
  for (std::size_t i = 0; i < words; ++i) h = (h ^ all[i]) * 0x9e3779b97f4a7c15U + (h >> 29);
  return h ^ h >> 32;
}

bool same(const StretchKey& a, const StretchKey& b, std::size_t words) {
  return std::memcmp(&a, &b, words * sizeof(std::uint64_t)) == 0;
}

}  // namespace

std::uint32_t StretchPositions::pair(std::uint32_t first, std::uint32_t second) {
  return pairs_.try_emplace(std::uint64_t{first} << 32 | second, static_cast<std::uint32_t>(pairs_.size() + 1)).first->second;
}

/// Numbers each run of `ahead` codes, a power of two, by doubling: pairs, then pairs of pairs. Where fewer codes are left, the run
/// goes on with `after_last`.
std::vector<std::uint32_t> StretchPositions::number(std::vector<std::uint32_t> codes, std::size_t ahead) {
  for (std::size_t step = 1; step < ahead; step *= 2)
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const std::uint32_t later = i + step < codes.size() ? codes[i + step] : after_last;
      codes[i] = codes[i] != 0 && later != 0 ? pair(codes[i], later) : 0;
    }
  return codes;
}

void StretchPositions::add(BlockSchedule& schedule) {
  for (OperationStream& stream : schedule.groups) {
    if (stream.compute.size() > most_numbered) return;
    // Moments are coded relative to the previous one, so that equal runs at different points of the stream get equal numbers.
    std::vector<std::uint32_t> codes;
    std::int32_t latest = stream.signal(0);
    for (const ScheduledAccess& load : stream.loads) {
      stream.load_positions.push_back({0, latest});
      const bool waits = load.after != OperationStream::at_once;
      // A load that waits for another load depends on its landing time, which no key holds.
      const bool known = !waits || load.after >= stream.signal(0);
      codes.push_back(known ? pair(load.op_class, waits ? static_cast<std::uint32_t>(load.after - latest + 1) : 0) : 0);
      if (waits && known) latest = load.after;
    }
    codes = number(std::move(codes), loads_ahead);
    if (std::all_of(codes.begin(), codes.end(), [](std::uint32_t code) { return code == 0; })) continue;
    for (std::size_t i = 0; i < codes.size(); ++i) stream.load_positions[i].number = codes[i];
    // Behind the last load nothing more is loaded. The position after it is looked at, but never reached.
    stream.load_positions.insert(stream.load_positions.end(), {{after_last, latest}, {}});
    stream.reach.assign(stream.signals + 1, 0);
    for (std::size_t i = 0; i < stream.loads.size(); ++i)
      if (const std::int32_t waits = stream.loads[i].after - stream.signal(0); waits >= 0)
        stream.reach[static_cast<std::size_t>(waits) + 1] = static_cast<std::uint32_t>(i) + 1;
    for (std::size_t given = 1; given < stream.reach.size(); ++given)
      stream.reach[given] = std::max(stream.reach[given], stream.reach[given - 1]);

    codes.clear();
    latest = 0;
    for (const ScheduledOp& op : stream.compute) {
      stream.positions.push_back({0, latest});
      codes.push_back(
          pair(op.op_class, op.wait == OperationStream::at_once ? 0 : static_cast<std::uint32_t>(op.wait - latest + 1)));
      if (op.wait != OperationStream::at_once) latest = op.wait;
    }
    codes = number(std::move(codes), operations_ahead);
    for (std::size_t i = 0; i < codes.size(); ++i) stream.positions[i].number = codes[i];
    stream.positions.emplace_back();  // what follows depends on when all loads have landed
  }
}

void StretchTable::clear(std::size_t slots) {
  key_words_ = (offsetof(StretchKey, slots) + slots * sizeof(StretchSlot)) / sizeof(std::uint64_t);
  stretches_.clear();
  periods_.clear();
  table_.assign(64, -1);
}

std::int32_t StretchTable::find(const StretchKey& key) const {
  for (std::size_t at = hash(key, key_words_) & (table_.size() - 1); table_[at] >= 0; at = (at + 1) & (table_.size() - 1))
    if (same(stretches_[static_cast<std::size_t>(table_[at])].key, key, key_words_)) return table_[at];
  return -1;
}

std::int32_t StretchTable::add(Stretch stretch) {
  stretches_.push_back(std::move(stretch));
  const bool grows = stretches_.size() * 2 > table_.size();
  if (grows) table_.assign(table_.size() * 2, -1);
  for (std::size_t i = grows ? 0 : stretches_.size() - 1; i < stretches_.size(); ++i) {
    std::size_t at = hash(stretches_[i].key, key_words_) & (table_.size() - 1);
    while (table_[at] >= 0) at = (at + 1) & (table_.size() - 1);
    table_[at] = static_cast<std::int32_t>(i);
  }
  return static_cast<std::int32_t>(stretches_.size()) - 1;
}

std::int32_t StretchTable::period_of(std::int32_t number) {
  Stretch& first = (*this)[number];
  if (first.period >= 0 || periods_.size() == most_periods) return first.period;
  std::vector<std::int32_t> circle;
  for (std::int32_t next = number; next != number || circle.empty(); next = (*this)[next].successor) {
    if (next < 0 || circle.size() == Period::most_steps / 2) return -1;
    circle.push_back(next);
  }
  Period period;
  while (period.steps.size() < Period::least_steps) {
    std::int32_t before = circle.back();
    for (const std::int32_t each : circle) {
      const Stretch& stretch = (*this)[each];
      const std::uint32_t slot = (*this)[std::exchange(before, each)].next_slot;
      period.steps.push_back({.stretch = each,
                              .slot = slot,
                              .cycles = stretch.cycles,
                              .slack = std::numeric_limits<double>::infinity(),
                              .first = stretch.first,
                              .last = stretch.last,
                              .copies_free = stretch.key.copies_free});
      period.cycles += stretch.cycles;
      period.latest = std::max(period.latest, stretch.latest);
      ++period.advance[slot].loads;
      for (std::size_t i = 0; i < most_stretch_slots; ++i) {
        period.advance[i].operations += stretch.operations_of[i];
        period.advance[i].signals += stretch.signals_of[i];
      }
    }
  }
  for (Period::Step& step : period.steps) step.period = period.cycles;
  if (period.cycles <= 0 || !set_slack(period)) return -1;
  for (std::uint32_t step = 0; step < circle.size(); ++step) {
    (*this)[circle[step]].period = static_cast<std::int32_t>(periods_.size());
    (*this)[circle[step]].step = step;
  }
  periods_.push_back(std::move(period));
  return first.period;
}

bool StretchTable::set_slack(Period& period) const {
  const std::size_t count = period.steps.size();
  for (std::size_t at = 0; at < count; ++at) {
    const Stretch& stretch = stretches_[static_cast<std::size_t>(period.steps[at].stretch)];
    for (std::size_t i = 0; i < stretch.deadline_count; ++i) {
      const StretchDeadline& deadline = stretch.deadlines[i];
      std::int32_t loads = 0;
      double cycles = 0;
      // `moment` says how many loads of the block ago: -1 for the latest.
      std::size_t back = 0;
      for (; back < Period::least_steps; ++back) {
        const std::size_t from = (at + count - back) % count;
        if (back > 0) cycles += period.steps[from].cycles;
        if (period.steps[from].slot != deadline.slot || --loads != deadline.moment) continue;
        period.steps[from].slack = std::min(period.steps[from].slack, cycles + deadline.time);
        break;
      }
      if (back == Period::least_steps) return false;
    }
  }
  return true;
}

}  // namespace tilescope
