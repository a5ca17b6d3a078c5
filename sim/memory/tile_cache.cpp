// The tile-grain L2: look-up, least-recently-used lists, fetches, copies and evictions.
#include "sim/memory/tile_cache.h"

#include <algorithm>

namespace tilescope {

TileCache::TileCache(const TileMap& map, Bytes capacity, int partitions)
    : map_(map), two_(partitions >= 2), capacity_(partitions >= 2 ? capacity.value / 2 : capacity.value) {
  table_.resize(256);
  table_shift_ = 64 - 8;
}

std::uint32_t TileCache::find_or_create(std::uint64_t key) {
  const std::size_t wrap = table_.size() - 1;
  std::size_t at = place_of(key);
  for (; table_[at].entry != none; at = (at + 1) & wrap)
    if (table_[at].key == key) return table_[at].entry;
  std::uint32_t entry = 0;
  if (free_.empty()) {
    entry = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
    nodes_.emplace_back();
    arrivals_.push_back(0);
  } else {
    entry = free_.back();
    free_.pop_back();
    entries_[entry] = Entry{};
    nodes_[entry] = Nodes{};
    arrivals_[entry] = 0;
  }
  entries_[entry].geometry = map_.geometry(key);
  table_[at] = {key, entry};
  if (++count_ * 3 > table_.size()) grow_table();
  return entry;
}

void TileCache::grow_table() {
  std::vector<Place> old(table_.size() * 2);
  old.swap(table_);
  --table_shift_;
  const std::size_t wrap = table_.size() - 1;
  for (const Place& place : old) {
    if (place.entry == none) continue;
    std::size_t at = place_of(place.key);
    while (table_[at].entry != none) at = (at + 1) & wrap;
    table_[at] = place;
  }
}

void TileCache::erase_if_empty(std::uint32_t entry) {
  const std::array<Node, 4>& nodes = nodes_[entry].at;
  if ((nodes[0].present | nodes[1].present | nodes[2].present | nodes[3].present) != 0) return;
  const std::size_t wrap = table_.size() - 1;
  std::size_t hole = place_of(entries_[entry].geometry.key);
  while (table_[hole].entry != entry) hole = (hole + 1) & wrap;
  // Close the gap, so that a search never stops short of a key that lies behind it.
  for (std::size_t at = (hole + 1) & wrap; table_[at].entry != none; at = (at + 1) & wrap) {
    const std::size_t home = place_of(table_[at].key);
    if (((at - home) & wrap) >= ((at - hole) & wrap)) {
      table_[hole] = table_[at];
      hole = at;
    }
  }
  table_[hole] = Place{};
  --count_;
  free_.push_back(entry);
}

std::int64_t TileCache::bytes(const Entry& entry, std::uint32_t k, std::uint64_t slices) const {
  if (!two_) return map_.sectors(entry.geometry, slices) * sector_size;
  // Nodes 0 and 3 hold the half homed in partition 0, nodes 1 and 2 the other.
  const int half = (k == 0 || k == 3) ? 0 : 1;
  return map_.sectors_of_half(entry.geometry, slices, half) * sector_size;
}

void TileCache::link(std::uint32_t number) {
  List& list = lists_[number >> 1 & 1];
  Node& n = node(number);
  n.previous = none;
  n.next = list.head;
  if (list.head != none)
    node(list.head).previous = number;
  else
    list.tail = number;
  list.head = number;
}

void TileCache::unlink(std::uint32_t number) {
  List& list = lists_[number >> 1 & 1];
  const Node& n = node(number);
  if (n.previous != none)
    node(n.previous).next = n.next;
  else
    list.head = n.next;
  if (n.next != none)
    node(n.next).previous = n.previous;
  else
    list.tail = n.previous;
}

void TileCache::touch(std::uint32_t number) {
  if (lists_[number >> 1 & 1].head == number) return;
  unlink(number);
  link(number);
}

void TileCache::install(std::uint32_t number, std::uint64_t slices) {
  const Entry& entry = entries_[number >> 2];
  Node& n = node(number);
  if (n.present == 0)
    link(number);
  else
    touch(number);
  const std::int64_t added = bytes(entry, number & 3, slices & ~n.present);
  n.present |= slices;
  used_[number >> 1 & 1] += added;
  resident_[static_cast<std::size_t>(entry.geometry.tensor)] += added;
}

void TileCache::drop(std::uint32_t number) {
  Entry& entry = entries_[number >> 2];
  const std::uint32_t k = number & 3;
  Node& n = node(number);
  const auto tensor = static_cast<std::size_t>(entry.geometry.tensor);
  const std::int64_t removed = bytes(entry, k, n.present);
  used_[k >> 1] -= removed;
  resident_[tensor] -= removed;
  if ((k & 1) == 0 && entry.dirty[k >> 1] != 0) {
    const std::int64_t written = bytes(entry, k, entry.dirty[k >> 1]);
    entry.dirty[k >> 1] = 0;
    dirty_[tensor] -= written;
    evicted_[tensor] += written;
    any_evicted_ = any_evicted_ || written != 0;
  }
  n.present = 0;
  unlink(number);
}

void TileCache::shrink(int partition) {
  while (used_[static_cast<std::size_t>(partition)] > capacity_) {
    const std::uint32_t victim = lists_[static_cast<std::size_t>(partition)].tail;
    drop(victim);
    erase_if_empty(victim >> 2);
  }
}

std::int64_t TileCache::fetch_home(std::uint32_t number, std::uint64_t slices) {
  const std::uint64_t missing = slices & ~node(number).present;
  if (missing == 0) {
    touch(number);
    return 0;
  }
  const std::int64_t read = bytes(entries_[number >> 2], number & 3, missing);
  install(number, missing);
  if (missed_.empty() || missed_.back() != number >> 2) missed_.push_back(number >> 2);
  return read;
}

void TileCache::read_part(std::uint64_t key, std::uint64_t slices, std::uint32_t side, TileAccess& result) {
  const std::uint32_t entry = find_or_create(key);
  result.arrival = std::max(result.arrival, arrivals_[entry]);
  if (!two_) {
    result.hbm_read_bytes += fetch_home(entry * 4, slices);
    return shrink(0);
  }
  const std::uint32_t home = entry * 4 + side * 2, copy = home + 1;
  const std::uint64_t missing = slices & ~node(copy).present;
  if ((missing | (slices & ~node(home).present)) == 0) {
    // Most reads: all of it is near. Where the one before was of the same tile, the list is as it shall be.
    if (lists_[side].head == copy && node(copy).next == home) return;
    touch(home);
    touch(copy);
    return;
  }
  result.hbm_read_bytes += fetch_home(home, slices);
  if (missing == 0) {
    touch(copy);
  } else {
    result.far = true;
    result.hbm_read_bytes += fetch_home(home ^ 2, missing);
    install(copy, missing);
    shrink(1 - static_cast<int>(side));
  }
  shrink(static_cast<int>(side));
}

TileAccess TileCache::read(const TileRef& tile, int side) {
  TileAccess result;
  missed_.clear();
  map_.for_each_part(
      tile, [&](std::uint64_t key, std::uint64_t slices) { read_part(key, slices, static_cast<std::uint32_t>(side), result); });
  return result;
}

void TileCache::write(const TileRef& tile) {
  map_.for_each_part(tile, [&](std::uint64_t key, std::uint64_t slices) {
    const std::uint32_t first = find_or_create(key) * 4;
    for (std::uint32_t home = 0; home < (two_ ? 2U : 1U); ++home) {
      const std::uint32_t number = first + home * 2;
      install(number, slices);
      Entry& entry = entries_[number >> 2];
      dirty_[static_cast<std::size_t>(entry.geometry.tensor)] += bytes(entry, number & 3, slices & ~entry.dirty[home]);
      entry.dirty[home] |= slices;
      // The copies of what was written are stale.
      Node& copy = node(number + 1);
      if (const std::uint64_t stale = copy.present & slices; stale != 0) {
        const std::int64_t removed = bytes(entry, home * 2 + 1, stale);
        used_[home] -= removed;
        resident_[static_cast<std::size_t>(entry.geometry.tensor)] -= removed;
        copy.present &= ~stale;
        if (copy.present == 0) unlink(number + 1);
      }
    }
    shrink(0);
    if (two_) shrink(1);
  });
}

void TileCache::note_arrival(double cycle) {
  for (std::uint32_t entry : missed_) arrivals_[entry] = cycle;
}

bool TileCache::take_evicted(TensorBytes& evicted) {
  if (!any_evicted_) return false;
  evicted = evicted_;
  evicted_ = {};
  any_evicted_ = false;
  return true;
}

}  // namespace tilescope
