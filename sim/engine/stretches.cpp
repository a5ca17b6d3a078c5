// The numbering of positions, and the hash table of stretches.
#include "sim/engine/stretches.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>

namespace tilescope {

namespace {

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

/// Numbers each run of `ahead` codes, a power of two, by doubling: pairs, then pairs of pairs. 0 if fewer codes are left.
std::vector<std::uint32_t> StretchPositions::number(std::vector<std::uint32_t> codes, std::size_t ahead) {
  for (std::size_t step = 1; step < ahead; step *= 2)
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const bool whole = i + step < codes.size() && codes[i] != 0 && codes[i + step] != 0;
      codes[i] = whole ? pair(codes[i], codes[i + step]) : 0;
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
    stream.load_positions.insert(stream.load_positions.end(), 2, {});
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
    stream.positions.emplace_back();
  }
}

void StretchTable::clear(std::size_t slots) {
  key_words_ = (offsetof(StretchKey, slots) + slots * sizeof(StretchSlot)) / sizeof(std::uint64_t);
  stretches_.clear();
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

}  // namespace tilescope
