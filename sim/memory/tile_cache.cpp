// The tile-grain L2: look-up, LRU lists, fetches, copies, evictions and write-backs.
#include "sim/memory/tile_cache.h"

#include <algorithm>
#include <bit>

namespace tilescope {

namespace {

constexpr std::uint32_t most_sets = 1 << 14;  // per partition
// Two interleaved runs of tiles load the sets about as unevenly as an H200 does: for 2 to 32 MiB its home lines per set have a
// variance of 0.3 to 0.5 (kernels/lab/measured/h200-sets-2026-11-22.txt).
constexpr std::uint64_t interleaved_runs = 2;
constexpr std::uint64_t all_slices = ~std::uint64_t{0};

bool is_prime(std::uint32_t n) {
  for (std::uint32_t divisor = 2; divisor * divisor <= n; ++divisor)
    if (n % divisor == 0) return false;
  return n > 1;
}

std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdU;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53U;
  return x ^ x >> 33;
}

}  // namespace

TileCache::TileCache(const TileMap& map, Bytes capacity, int partitions, CachePolicy policy) : map_(map), two_(partitions >= 2) {
  const std::int64_t of_partition = two_ ? capacity.value / 2 : capacity.value;
  // A set holds as many tiles as a hardware set holds lines, so that its load varies as much.
  const std::int64_t node_bytes = policy.tile_bytes / (two_ ? 2 : 1);
  if (policy.ways > 0 && node_bytes > 0)
    set_count_ = static_cast<std::uint32_t>(std::clamp<std::int64_t>(of_partition / (policy.ways * node_bytes), 1, most_sets));
  while (set_count_ > 2 && !is_prime(set_count_)) --set_count_;
  sets_.resize(set_count_ * (two_ ? 2 : 1));
  for (Set& set : sets_) {
    set.capacity = of_partition / set_count_;
    set.dirty_limit = static_cast<std::int64_t>(static_cast<double>(set.capacity) * policy.dirty_part);
  }
  table_.resize(256);
  table_shift_ = 64 - 8;
}

/// Returns the set of a tile. A run of set_count_ tiles visits every set once, from a first set and with a step that a hash picks.
std::uint16_t TileCache::set_for(std::uint64_t key) const {
  if (!in_sets()) return 0;
  const std::uint64_t index = key / interleaved_runs, place = index % set_count_;
  const std::uint64_t way = mixed(index / set_count_ * interleaved_runs + key % interleaved_runs);
  const std::uint64_t first = way >> 32, step = 1 + (way & 0xffff) % (set_count_ - 1);
  return static_cast<std::uint16_t>((place * step + first) % set_count_);
}

std::uint32_t TileCache::create(std::uint64_t key, std::size_t at) {
  std::uint32_t entry = 0;
  if (free_.empty()) {
    entry = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
    nodes_.emplace_back();
    arrivals_.push_back(0);
    set_numbers_.push_back(0);
  } else {
    entry = free_.back();
    free_.pop_back();
    entries_[entry] = Entry{};
    nodes_[entry] = Nodes{};
    arrivals_[entry] = 0;
  }
  entries_[entry].geometry = map_.geometry(key);
  set_numbers_[entry] = set_for(key);
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
  // Close the gap, so that no search stops before a key that lies behind it.
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
  List& list = set_of(number).recent;
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
  List& list = set_of(number).recent;
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

void TileCache::link_dirty(std::uint32_t number) {
  List& list = set_of(number).dirty;
  const std::uint32_t home = number >> 1 & 1;
  Entry& entry = entries_[number >> 2];
  entry.dirty_previous[home] = none;
  entry.dirty_next[home] = list.head;
  if (list.head != none)
    entries_[list.head >> 2].dirty_previous[home] = number;
  else
    list.tail = number;
  list.head = number;
}

void TileCache::unlink_dirty(std::uint32_t number) {
  List& list = set_of(number).dirty;
  const std::uint32_t home = number >> 1 & 1;
  const Entry& entry = entries_[number >> 2];
  const std::uint32_t previous = entry.dirty_previous[home], next = entry.dirty_next[home];
  if (previous != none)
    entries_[previous >> 2].dirty_next[home] = next;
  else
    list.head = next;
  if (next != none)
    entries_[next >> 2].dirty_previous[home] = previous;
  else
    list.tail = previous;
}

void TileCache::move_to_front(std::uint32_t number, Set& set) {
  ++set.changes;
  List& list = set.recent;
  Node& n = node(number);
  node(n.previous).next = n.next;
  if (n.next != none)
    node(n.next).previous = n.previous;
  else
    list.tail = n.previous;
  n.previous = none;
  n.next = list.head;
  node(list.head).previous = number;
  list.head = number;
  if (is_dirty(number)) {
    unlink_dirty(number);
    link_dirty(number);
  }
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
  Set& set = set_of(number);
  set.used += added;
  ++set.changes;
  used_[number >> 1 & 1] += added;
  contents_.resident[entry.geometry.tensor] += added;
  if ((number & 1) != 0) contents_.copies[entry.geometry.tensor] += added;
}

void TileCache::remove(std::uint32_t number, std::uint64_t slices) {
  Node& n = node(number);
  const Entry& entry = entries_[number >> 2];
  const std::int64_t removed = bytes(entry, number & 3, slices & n.present);
  Set& set = set_of(number);
  set.used -= removed;
  ++set.changes;
  used_[number >> 1 & 1] -= removed;
  contents_.resident[entry.geometry.tensor] -= removed;
  if ((number & 1) != 0) contents_.copies[entry.geometry.tensor] -= removed;
  const bool was_there = n.present != 0;
  n.present &= ~slices;
  if (was_there && n.present == 0) unlink(number);
}

void TileCache::clean(std::uint32_t number, std::uint64_t slices) {
  if (!is_dirty(number)) return;
  Entry& entry = entries_[number >> 2];
  std::uint64_t& dirty = entry.dirty[number >> 1 & 1];
  const auto tensor = entry.geometry.tensor;
  const std::int64_t written = bytes(entry, number & 3, dirty & slices);
  dirty &= ~slices;
  if (dirty == 0) unlink_dirty(number);
  set_of(number).dirty_bytes -= written;
  contents_.dirty[tensor] -= written;
  written_back_[tensor] += written;
  any_written_back_ = any_written_back_ || written != 0;
}

std::uint32_t TileCache::pick_victim(const Set& set) {
  const std::uint32_t oldest = set.recent.tail;
  if (!in_sets() || !is_dirty(oldest)) return oldest;
  clean(oldest, all_slices);
  for (std::uint32_t number = node(oldest).previous; number != none; number = node(number).previous)
    if (!is_dirty(number)) return number;
  return oldest;
}

std::uint64_t TileCache::slices_of(std::uint32_t number, std::int64_t least_bytes) {
  const Entry& entry = entries_[number >> 2];
  std::uint64_t slices = 0, left = node(number).present;
  // These slices hold too little in any case, so their bytes need no counting.
  const std::int64_t each = entry.geometry.sectors_each;
  std::int64_t too_few = 0;
  if (each != 0 && each != TileGeometry::uneven) too_few = (least_bytes - 1) / ((two_ ? each / 2 + each % 2 : each) * sector_size);
  while (too_few > 0 && left != 0) {
    const int first = std::countr_zero(left);
    const std::int64_t run = std::min<std::int64_t>(too_few, std::countr_one(left >> first));
    const std::uint64_t taken = ~std::uint64_t{0} >> (64 - run) << first;
    slices |= taken;
    left &= ~taken;
    too_few -= run;
  }
  while (left != 0 && (slices == 0 || bytes(entry, number & 3, slices) < least_bytes)) {
    slices |= left & (~left + 1);
    left &= left - 1;
  }
  return slices;
}

void TileCache::shrink(Set& set) {
  while (set.used > set.capacity) {
    const std::uint32_t victim = pick_victim(set);
    const std::uint64_t slices = slices_of(victim, set.used - set.capacity);
    clean(victim, slices);
    remove(victim, slices);
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

void TileCache::read_missing(std::uint32_t entry, std::uint64_t slices, std::uint32_t side, TileAccess& result) {
  for (const std::uint32_t from : {0U, 1U}) forget_latest(from);
  if (!two_) {
    result.hbm_read_bytes += fetch_home(entry * 4, slices);
    return shrink(set_of(entry * 4));
  }
  const std::uint32_t home = entry * 4 + side * 2, copy = home + 1, far_home = home ^ 2;
  const std::uint64_t missing = slices & ~node(copy).present;
  result.hbm_read_bytes += fetch_home(home, slices);
  if (missing == 0) {
    touch(copy);
  } else {
    result.crossed_bytes += bytes(entries_[entry], copy & 3, missing);
    result.hbm_read_bytes += fetch_home(far_home, missing);
    install(copy, missing);
  }
  // Look up both sets before one shrinks: the eviction may erase this entry.
  Set &of_near = set_of(home), &of_far_home = set_of(far_home);
  shrink(of_far_home);
  shrink(of_near);
}

TileAccess TileCache::read_through(const TileRef& tile, std::uint32_t from) {
  TileAccess result;
  result.is_hit = true;
  missed_.clear();
  forget_latest(from);
  Set* only = nullptr;  // of the tile's only part
  int parts = 0;
  map_.for_each_part(tile, [&](std::uint64_t key, std::uint64_t slices) {
    const std::uint32_t entry = find_or_create(key), home = entry * 4 + from * 2;
    result.arrival = std::max(result.arrival, arrivals_[entry]);
    const Node* const nodes = &nodes_[entry].at[from * 2];
    if ((slices & ~nodes[0].present) != 0 || (two_ && (slices & ~nodes[1].present) != 0)) {
      result.is_hit = false;
      return read_missing(entry, slices, from, result);
    }
    // The common case: everything is present on the reading side.
    Set& set = set_of(home);
    only = ++parts == 1 ? &set : nullptr;
    if (!two_) return touch(home, set);
    if (set.recent.head == home + 1 && node(home + 1).next == home) return;
    touch(home, set);
    touch(home + 1, set);
  });
  if (!result.is_hit) return result;
  // Parts in one set would change places at another read, unless it follows at once.
  result.unchanged = Unchanged(only != nullptr ? only->changes : other_reads_[from]);
  latest_[from] = {tile, result.arrival, result.unchanged};
  return result;
}

void TileCache::write_home(std::uint32_t number, std::uint64_t slices) {
  install(number, slices);
  Entry& entry = entries_[number >> 2];
  std::uint64_t& dirty = entry.dirty[number >> 1 & 1];
  const std::int64_t added = bytes(entry, number & 3, slices & ~dirty);
  contents_.dirty[entry.geometry.tensor] += added;
  Set& set = set_of(number);
  set.dirty_bytes += added;
  if (dirty != 0) unlink_dirty(number);
  dirty |= slices;
  link_dirty(number);
  // Stop at the node count nearest to the limit, so that the dirty bytes meet it on average.
  while (set.dirty_bytes > set.dirty_limit) {
    const std::uint32_t oldest = set.dirty.tail;
    const std::int64_t less = bytes(entries_[oldest >> 2], oldest & 3, entries_[oldest >> 2].dirty[oldest >> 1 & 1]);
    if (set.dirty_bytes <= set.capacity && set.dirty_bytes - set.dirty_limit < less / 2) break;
    clean(oldest, all_slices);
  }
}

std::int64_t TileCache::write(const TileRef& tile, int side) {
  for (const std::uint32_t from : {0U, 1U}) forget_latest(from);
  std::int64_t crossed = 0;
  map_.for_each_part(tile, [&](std::uint64_t key, std::uint64_t slices) {
    const std::uint32_t home = find_or_create(key) * 4 + (two_ ? static_cast<std::uint32_t>(side) * 2 : 0);
    write_home(home, slices);
    if (!two_) return shrink(set_of(home));
    const std::uint32_t copy = home + 1, far_home = home ^ 2;
    crossed += bytes(entries_[home >> 2], copy & 3, slices);
    write_home(far_home, slices);
    install(copy, slices);
    remove(far_home + 1, slices);
    Set &of_near = set_of(home), &of_far_home = set_of(far_home);
    shrink(of_far_home);
    shrink(of_near);
  });
  return crossed;
}

TileAccess TileCache::add(const TileRef& tile, int side) {
  for (const std::uint32_t from : {0U, 1U}) forget_latest(from);
  missed_.clear();
  TileAccess result;
  map_.for_each_part(tile, [&](std::uint64_t key, std::uint64_t slices) {
    const std::uint32_t home = find_or_create(key) * 4 + (two_ ? static_cast<std::uint32_t>(side) * 2 : 0);
    result.hbm_read_bytes += fetch_home(home, slices);
    write_home(home, slices);
    if (!two_) return shrink(set_of(home));
    const std::uint32_t copy = home + 1, far_home = home ^ 2;
    result.crossed_bytes += bytes(entries_[home >> 2], copy & 3, slices);
    result.hbm_read_bytes += fetch_home(far_home, slices);
    write_home(far_home, slices);
    remove(copy, slices);
    remove(far_home + 1, slices);
    Set &of_near = set_of(home), &of_far_home = set_of(far_home);
    shrink(of_far_home);
    shrink(of_near);
  });
  return result;
}

void TileCache::note_arrival(double cycle) {
  for (const std::uint32_t entry : missed_) {
    arrivals_[entry] = cycle;
    for (const std::uint32_t home : {entry * 4, entry * 4 + 2})
      if (two_ || home == entry * 4) ++set_of(home).changes;
  }
}

bool TileCache::take_written_back(TensorBytes& bytes) {
  if (!any_written_back_) return false;
  bytes = written_back_;
  written_back_ = {};
  any_written_back_ = false;
  return true;
}

}  // namespace tilescope
