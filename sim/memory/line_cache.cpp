// Look-up, eviction and write-back of the reference L2 model.
#include "sim/memory/line_cache.h"

#include <algorithm>
#include <bit>

namespace tilescope {

namespace {

/// Hashes an address, so that no stride prefers one set or partition.
std::uint64_t mixed_bits(std::uint64_t x) {
  x *= 0xff51afd7ed558ccdU;
  x ^= x >> 33;
  return x * 0xc4ceb9fe1a85ec53U;
}

}  // namespace

LineCache::LineCache(const TensorLayouts& layouts, Bytes capacity, int partitions, CachePolicy policy)
    : layouts_(layouts), partitions_(partitions >= 2 ? 2 : 1) {
  const std::size_t lines = static_cast<std::size_t>(capacity.value / line_size) / partitions_.size();
  const std::size_t sets = policy.ways > 0 ? std::max<std::size_t>(lines / static_cast<std::size_t>(policy.ways), 1) : 1;
  lines_of_set_ = lines / sets;
  dirty_limit_ = static_cast<std::int64_t>(static_cast<double>(lines_of_set_ * 4) * policy.dirty_part);
  for (Partition& partition : partitions_) partition.sets.resize(sets);
  std::uint64_t next = 0;
  for (std::size_t t = 0; t < layouts_.size(); ++t) {
    first_byte_[t] = next;
    next += static_cast<std::uint64_t>(ceil_div(layouts_[t].bytes().value, line_size) * line_size);
  }
}

int LineCache::home_of(std::uint64_t line) const {
  return partitions_.size() == 1 ? 0 : static_cast<int>(mixed_bits(line) >> 63);
}

LineCache::Set& LineCache::set_of(int partition, std::uint64_t line) {
  std::vector<Set>& sets = partitions_[static_cast<std::size_t>(partition)].sets;
  return sets[(mixed_bits(line) >> 20) % sets.size()];
}

void LineCache::clean(Set& set, Line& line) {
  const int sectors = std::popcount(line.dirty);
  hbm_write_ += sectors * sector_size;
  set.dirty_sectors -= sectors;
  line.dirty = 0;
}

std::list<LineCache::Line>::iterator LineCache::pick_victim(Set& set) {
  const auto least_recent = std::prev(set.recent.end());
  if (least_recent->dirty == 0) return least_recent;
  clean(set, *least_recent);
  if (partitions_.front().sets.size() == 1) return least_recent;
  for (auto line = least_recent; line != set.recent.begin();)
    if ((--line)->dirty == 0) return line;
  return least_recent;
}

LineCache::Line& LineCache::use(int partition, std::uint64_t line) {
  Partition& p = partitions_[static_cast<std::size_t>(partition)];
  Set& set = set_of(partition, line);
  if (const auto found = p.where.find(line); found != p.where.end()) {
    set.recent.splice(set.recent.begin(), set.recent, found->second);
    return set.recent.front();
  }
  if (set.recent.size() >= lines_of_set_ && !set.recent.empty()) {
    const auto victim = pick_victim(set);
    p.where.erase(victim->number);
    set.recent.erase(victim);
  }
  set.recent.push_front({line, 0, 0});
  p.where[line] = set.recent.begin();
  return set.recent.front();
}

void LineCache::drop(int partition, std::uint64_t line) {
  Partition& p = partitions_[static_cast<std::size_t>(partition)];
  const auto found = p.where.find(line);
  if (found == p.where.end()) return;
  set_of(partition, line).recent.erase(found->second);
  p.where.erase(found);
}

void LineCache::read_line(std::uint64_t line, std::uint8_t sectors, int side) {
  const int home = home_of(line);
  if (partitions_.size() == 2 && home != side) {
    Line& copy = use(side, line);
    if ((sectors & ~copy.present) == 0) return;
    copy.present |= sectors;
  }
  Line& own = use(home, line);
  hbm_read_ += std::popcount(static_cast<unsigned>(sectors & ~own.present)) * sector_size;
  own.present |= sectors;
}

void LineCache::write_line(std::uint64_t line, std::uint8_t sectors, int side) {
  const int home = home_of(line);
  if (partitions_.size() == 2) {
    if (home == side)
      drop(1 - home, line);
    else
      use(side, line).present |= sectors;
  }
  write_home(line, sectors);
}

void LineCache::write_home(std::uint64_t line, std::uint8_t sectors) {
  const int home = home_of(line);
  Line& own = use(home, line);
  Set& set = set_of(home, line);
  own.present |= sectors;
  set.dirty_sectors += std::popcount(static_cast<unsigned>(sectors & ~own.dirty));
  own.dirty |= sectors;
  for (auto oldest = set.recent.rbegin(); set.dirty_sectors > dirty_limit_ && oldest != set.recent.rend(); ++oldest)
    clean(set, *oldest);
}

template <class F>
void LineCache::for_each_line(const TileRef& tile, F&& f) const {
  const TensorLayout& layout = layouts_[tile.tensor.index()];
  const std::int64_t row_bytes = layout.row_bytes();
  const std::int64_t first_row = tile.plane * layout.rows + tile.row;
  std::uint64_t line = 0;
  std::uint8_t sectors = 0;  // of `line`; kept open across rows, because the next row may continue the same line
  for (std::int64_t row = first_row; row < first_row + tile.rows; ++row) {
    const std::uint64_t begin =
        first_byte_[tile.tensor.index()] + static_cast<std::uint64_t>(row * row_bytes + tile.col * layout.element_bytes);
    const std::uint64_t end = begin + static_cast<std::uint64_t>(tile.cols * layout.element_bytes);
    for (std::uint64_t sector = begin / sector_size; sector * sector_size < end; ++sector) {
      if (sector / 4 != line) {
        if (sectors != 0) f(line, sectors);
        line = sector / 4;
        sectors = 0;
      }
      sectors |= static_cast<std::uint8_t>(1U << sector % 4);
    }
  }
  if (sectors != 0) f(line, sectors);
}

std::int64_t LineCache::read(const TileRef& tile, int side) {
  const std::int64_t before = hbm_read_;
  for_each_line(tile, [&](std::uint64_t line, std::uint8_t sectors) { read_line(line, sectors, side); });
  return hbm_read_ - before;
}

void LineCache::write(const TileRef& tile, int side) {
  for_each_line(tile, [&](std::uint64_t line, std::uint8_t sectors) { write_line(line, sectors, side); });
}

std::int64_t LineCache::add(const TileRef& tile) {
  const std::int64_t before = hbm_read_;
  for_each_line(tile, [&](std::uint64_t line, std::uint8_t sectors) {
    const int home = home_of(line);
    read_line(line, sectors, home);
    if (partitions_.size() == 2) drop(1 - home, line);
    write_home(line, sectors);
  });
  return hbm_read_ - before;
}

std::int64_t LineCache::dirty_bytes() const {
  std::int64_t bytes = 0;
  for (const Partition& partition : partitions_)
    for (const Set& set : partition.sets) bytes += set.dirty_sectors * sector_size;
  return bytes;
}

}  // namespace tilescope
