// TileCache: the L2 at the grain of tiles; one or two partitions, least recently used, dirty lines, cold at the start.
//
//   two partitions: half of a tile's lines are homed in each; an SM reads through the partition on its side.
//
//        SM of side 0                      near half  ── home in 0 ──────────────────────────► HBM
//        reads a tile  ──►  partition 0 ─┤
//                                          far half   ── copy in 0 ──► home in 1 (fabric) ───► HBM
//
//   A tile has up to four nodes: in each partition its home half and a copy of the other half. Each partition keeps one list of
//   both kinds, by last use, and evicts from the far end. Writes go to the homes, leave them dirty and drop the copies.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/core/units.h"
#include "sim/memory/tile_map.h"

namespace tilescope {

struct TileAccess {
  std::int64_t hbm_read_bytes = 0;
  bool far = false;    // some of it came over the fabric
  double arrival = 0;  // when the last fetch of these tiles from HBM arrives: a hit on bytes under way waits for them
};

using TensorBytes = std::array<std::int64_t, tensor_count>;

class TileCache {
 public:
  /// `partitions` of 2 or more is two; `capacity` is that of all partitions together.
  TileCache(const TileMap& map, Bytes capacity, int partitions);

  TileAccess read(const TileRef& tile, int side);
  /// Whole sectors: nothing is fetched.
  void write(const TileRef& tile);
  /// When what the last read() missed will be there.
  void note_arrival(double cycle);

  /// Dirty bytes evicted since this was last called. `any` is false when there were none (the table is then not filled).
  bool take_evicted(TensorBytes& evicted);
  /// Bytes present, copies included; and of these the dirty ones.
  const TensorBytes& resident() const { return resident_; }
  const TensorBytes& dirty() const { return dirty_; }
  std::int64_t used(int partition) const { return used_[static_cast<std::size_t>(partition)]; }

 private:
  static constexpr std::uint32_t none = 0xffffffff;
  // Node k of a tile: partition k / 2; even k the home half, odd k the copy of the other partition's half.
  struct Node {
    std::uint32_t previous = none, next = none;  // towards the most, the least recently used
    std::uint64_t present = 0;                   // slices
  };
  struct alignas(64) Nodes {  // of one tile: a cache line of the host
    std::array<Node, 4> at;
  };
  struct Entry {  // the rest of the tile, which a hit does not need
    TileGeometry geometry;
    std::array<std::uint64_t, 2> dirty{};  // slices, by home
  };
  struct List {
    std::uint32_t head = none, tail = none;  // node number: entry * 4 + k
  };

  std::uint32_t find_or_create(std::uint64_t key);
  void erase_if_empty(std::uint32_t entry);
  void grow_table();
  /// Where a search begins. Tiles beside each other, which blocks go through one after another, stand together in the table.
  std::size_t place_of(std::uint64_t key) const {
    constexpr std::uint64_t together = 8;
    return ((((key / together) * 0x9e3779b97f4a7c15U) >> table_shift_) + key % together) & (table_.size() - 1);
  }

  Node& node(std::uint32_t number) { return nodes_[number >> 2].at[number & 3]; }
  std::int64_t bytes(const Entry& entry, std::uint32_t k, std::uint64_t slices) const;
  void touch(std::uint32_t number);
  void link(std::uint32_t number);
  void unlink(std::uint32_t number);
  void install(std::uint32_t number, std::uint64_t slices);
  void drop(std::uint32_t number);
  void shrink(int partition);
  void read_part(std::uint64_t key, std::uint64_t slices, std::uint32_t side, TileAccess& result);
  /// Slices not in the home node `number` are read from HBM into it; returns their bytes.
  std::int64_t fetch_home(std::uint32_t number, std::uint64_t slices);

  const TileMap& map_;
  bool two_;
  std::int64_t capacity_;     // of one partition
  std::vector<Nodes> nodes_;  // by entry, as are the next two
  std::vector<double> arrivals_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  struct Place {
    std::uint64_t key = 0;
    std::uint32_t entry = none;
  };
  std::vector<Place> table_;  // open addressing, a power of two
  int table_shift_ = 0;
  std::size_t count_ = 0;
  std::array<List, 2> lists_;
  std::array<std::int64_t, 2> used_{};
  TensorBytes resident_{}, dirty_{}, evicted_{};
  bool any_evicted_ = false;
  std::vector<std::uint32_t> missed_;
};

}  // namespace tilescope
