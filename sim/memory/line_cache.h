// LineCache: the L2 line by line, as plainly as it can be said; the oracle that the tile-grain model is held against on small
// problems.
//
// 128-byte lines of four 32-byte sectors; one or two partitions; a line's home is a hash of its address; an access through the
// partition that is not its home leaves a copy there, and a write takes the other side's copy away; a partition is one set, or
// sets of so many lines by another hash; a set evicts its least recently used line, and writes back its dirty lines used longest
// ago where too much of it is dirty. Slow on purpose.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "sim/core/units.h"
#include "sim/memory/tile_cache.h"
#include "sim/memory/tile_map.h"

namespace tilescope {

class LineCache {
 public:
  LineCache(const TensorLayouts& layouts, Bytes capacity, int partitions, CachePolicy policy = {});

  /// Reads or writes every sector that the tile touches. Returns the bytes read from HBM (none for a write).
  std::int64_t read(const TileRef& tile, int side);
  void write(const TileRef& tile, int side);

  std::int64_t hbm_read_bytes() const { return hbm_read_; }
  /// Dirty bytes evicted so far, and those still in the cache.
  std::int64_t hbm_write_bytes() const { return hbm_write_; }
  std::int64_t dirty_bytes() const;

 private:
  struct Line {
    std::uint64_t number = 0;
    std::uint8_t present = 0, dirty = 0;  // a bit a sector
  };
  struct Set {
    std::list<Line> recent;  // most recently used first
    std::int64_t dirty_sectors = 0;
  };
  struct Partition {
    std::vector<Set> sets;
    std::unordered_map<std::uint64_t, std::list<Line>::iterator> where;
  };
  int home_of(std::uint64_t line) const;
  Set& set_of(int partition, std::uint64_t line);
  Line& use(int partition, std::uint64_t line);
  void drop(int partition, std::uint64_t line);
  void clean(Set& set, Line& line);
  /// As in TileCache: where the line used longest ago is dirty it is written back and stays, and the clean one used longest ago
  /// goes.
  std::list<Line>::iterator pick_victim(Set& set);
  void read_line(std::uint64_t line, std::uint8_t sectors, int side);
  void write_line(std::uint64_t line, std::uint8_t sectors, int side);
  /// Calls f(line, sectors) for each line that the tile touches, each sector once.
  template <class F>
  void for_each_line(const TileRef& tile, F&& f) const;

  TensorLayouts layouts_;
  std::array<std::uint64_t, most_tensors> first_byte_{};
  std::size_t lines_of_set_;
  std::int64_t dirty_limit_;  // sectors of a set
  std::vector<Partition> partitions_;
  std::int64_t hbm_read_ = 0, hbm_write_ = 0;
};

}  // namespace tilescope
