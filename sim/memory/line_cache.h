// LineCache: the reference L2 model, one entry per 128-byte line. Tests compare TileCache with it on small problems.
//
//   lines        128 bytes, in four 32-byte sectors
//   partitions   one or two; a hash of its address decides a line's home. An access through the other partition leaves a copy
//                there; a write invalidates the copy in the partition that it did not come through, and an addition invalidates
//                both
//   sets         one per partition, or sets of CachePolicy::ways lines, chosen by another hash
//   eviction     least recently used line of the set; a set with too many dirty sectors writes back its least recently used
//                dirty lines
//
// It is simple rather than fast.
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

  /// Reads every sector that the tile touches through partition `side`; returns the bytes read from HBM. write() reads none.
  std::int64_t read(const TileRef& tile, int side);
  void write(const TileRef& tile, int side);
  /// Adds to every sector that the tile touches; returns the bytes read from HBM.
  std::int64_t add(const TileRef& tile);

  std::int64_t hbm_read_bytes() const { return hbm_read_; }
  /// Return the dirty bytes written back so far, and those still in the cache.
  std::int64_t hbm_write_bytes() const { return hbm_write_; }
  std::int64_t dirty_bytes() const;

 private:
  struct Line {
    std::uint64_t number = 0;
    std::uint8_t present = 0, dirty = 0;  // one bit per sector
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
  /// Returns the line to evict, as TileCache does: a dirty least recently used line is written back and gets a second chance,
  /// and the least recently used clean line goes instead.
  std::list<Line>::iterator pick_victim(Set& set);
  void read_line(std::uint64_t line, std::uint8_t sectors, int side);
  void write_line(std::uint64_t line, std::uint8_t sectors, int side);
  void write_home(std::uint64_t line, std::uint8_t sectors);
  /// Calls f(line, sectors) for each line that the tile touches; each sector appears once.
  template <class F>
  void for_each_line(const TileRef& tile, F&& f) const;

  TensorLayouts layouts_;
  std::array<std::uint64_t, most_tensors> first_byte_{};
  std::size_t lines_of_set_;
  std::int64_t dirty_limit_;  // dirty sectors allowed in a set
  std::vector<Partition> partitions_;
  std::int64_t hbm_read_ = 0, hbm_write_ = 0;
};

}  // namespace tilescope
