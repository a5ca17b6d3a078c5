// The line-grain L2.
#include "sim/memory/line_cache.h"

#include <bit>

namespace tilescope {

LineCache::LineCache(const TensorLayouts& layouts, Bytes capacity, int partitions)
    : layouts_(layouts), partitions_(partitions >= 2 ? 2 : 1) {
  lines_of_partition_ = static_cast<std::size_t>(capacity.value / line_size) / partitions_.size();
  std::uint64_t next = 0;
  for (std::size_t t = 0; t < layouts_.size(); ++t) {
    first_byte_[t] = next;
    next += static_cast<std::uint64_t>(ceil_div(layouts_[t].bytes().value, line_size) * line_size);
  }
}

int LineCache::home_of(std::uint64_t line) const {
  if (partitions_.size() == 1) return 0;
  // Mixes all bits of the address, so that no stride favours one partition.
  std::uint64_t x = line * 0xff51afd7ed558ccdU;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53U;
  return static_cast<int>(x >> 63);
}

LineCache::Line& LineCache::use(int partition, std::uint64_t line) {
  Partition& p = partitions_[static_cast<std::size_t>(partition)];
  if (const auto found = p.where.find(line); found != p.where.end()) {
    p.recent.splice(p.recent.begin(), p.recent, found->second);
    return p.recent.front();
  }
  if (p.recent.size() >= lines_of_partition_ && !p.recent.empty()) {
    const Line& victim = p.recent.back();
    hbm_write_ += std::popcount(victim.dirty) * sector_size;
    p.where.erase(victim.number);
    p.recent.pop_back();
  }
  p.recent.push_front({line, 0, 0});
  p.where[line] = p.recent.begin();
  return p.recent.front();
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

void LineCache::write_line(std::uint64_t line, std::uint8_t sectors) {
  const int home = home_of(line);
  if (partitions_.size() == 2) {
    Partition& other = partitions_[static_cast<std::size_t>(1 - home)];
    if (const auto copy = other.where.find(line); copy != other.where.end()) {
      other.recent.erase(copy->second);
      other.where.erase(copy);
    }
  }
  Line& own = use(home, line);
  own.present |= sectors;
  own.dirty |= sectors;
}

template <class F>
void LineCache::for_each_line(const TileRef& tile, F&& f) const {
  const TensorLayout& layout = layouts_[static_cast<std::size_t>(tile.tensor)];
  const std::int64_t row_bytes = layout.cols * layout.element_bytes;
  const std::int64_t first_row = tile.plane * layout.rows + tile.row;
  std::uint64_t line = 0;
  std::uint8_t sectors = 0;  // of `line`, which the next row may still add to: rows follow each other in memory
  for (std::int64_t row = first_row; row < first_row + tile.rows; ++row) {
    const std::uint64_t begin = first_byte_[static_cast<std::size_t>(tile.tensor)] +
                                static_cast<std::uint64_t>(row * row_bytes + tile.col * layout.element_bytes);
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

void LineCache::write(const TileRef& tile) {
  for_each_line(tile, [&](std::uint64_t line, std::uint8_t sectors) { write_line(line, sectors); });
}

std::int64_t LineCache::dirty_bytes() const {
  std::int64_t bytes = 0;
  for (const Partition& partition : partitions_)
    for (const Line& line : partition.recent) bytes += std::popcount(line.dirty) * sector_size;
  return bytes;
}

}  // namespace tilescope
