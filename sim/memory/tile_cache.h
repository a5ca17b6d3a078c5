// TileCache: the L2 at the grain of tiles; one or two partitions of sets, least recently used, a limit to what is dirty, cold at
// the start.
//
//   two partitions: half of a tile's lines are homed in each; an SM reads and writes through the partition on its side.
//
//        SM of side 0                      near half  ── home in 0 ──────────────────────────► HBM
//        asks for a tile ──► partition 0 ┤
//                                          far half   ── copy in 0 ──► home in 1 (fabric) ───► HBM
//
//   A tile has up to four nodes: in each partition its home half and a copy of the other half. A hit on a copy is no use of the
//   home, and a copy stays when its home goes. A write leaves the homes dirty, its own side a copy of the far half, the other side
//   none. All nodes of a tile are in one set of their partition, where a tile stands for a line: each set keeps a list of its nodes
//   by last use, evicts from the far end, and writes back the dirty ones used longest ago where more than a given part of it is
//   dirty; these stay, clean. So does a dirty one that would be evicted: the clean one used longest ago goes in its place.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/core/units.h"
#include "sim/memory/tile_map.h"

namespace tilescope {

struct TileAccess {
  std::int64_t hbm_read_bytes = 0;
  std::int64_t crossed_bytes = 0;  // over the fabric, to the side that asks
  double arrival = 0;              // when the last fetch of these tiles from HBM arrives: a hit on bytes under way waits for them
};

/// What is known of an L2 beside its size; the defaults are one least-recently-used list a partition.
struct CachePolicy {
  int ways = 0;                 // lines of a set; 0: a partition is one set
  std::int64_t tile_bytes = 0;  // of a tile, whose half in a partition stands for a line; 0: a partition is one set
  double dirty_part = 1;        // of a set that can be dirty
};

using TensorBytes = std::array<std::int64_t, most_tensors>;

class TileCache {
 public:
  /// `partitions` of 2 or more is two; `capacity` is that of all partitions together.
  TileCache(const TileMap& map, Bytes capacity, int partitions, CachePolicy policy = {});

  TileAccess read(const TileRef& tile, int side);
  /// Whole sectors: nothing is fetched. Returns the bytes that cross the fabric, to the other side.
  std::int64_t write(const TileRef& tile, int side);
  /// When what the last read() missed will be there.
  void note_arrival(double cycle);

  bool any_evicted() const { return any_evicted_; }
  /// Dirty bytes evicted since this was last called; false when there were none (the table is then not filled).
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
    std::array<std::uint64_t, 2> dirty{};                                             // slices, by home
    std::array<std::uint32_t, 2> dirty_previous{none, none}, dirty_next{none, none};  // nodes: towards those used later, earlier
  };
  struct List {
    std::uint32_t head = none, tail = none;  // node number: entry * 4 + k
  };
  struct Set {
    List recent, dirty;  // the latter of homes alone
    std::int64_t used = 0, dirty_bytes = 0, capacity = 0, dirty_limit = 0;
  };

  std::uint32_t find_or_create(std::uint64_t key) {
    std::size_t at = place_of(key);
    for (; table_[at].entry != none; at = (at + 1) & (table_.size() - 1))
      if (table_[at].key == key) return table_[at].entry;
    return create(key, at);
  }
  /// At a free place of the table.
  std::uint32_t create(std::uint64_t key, std::size_t at);
  void erase_if_empty(std::uint32_t entry);
  void grow_table();
  /// Where a search begins. Tiles beside each other, which blocks go through one after another, stand together in the table.
  std::size_t place_of(std::uint64_t key) const {
    constexpr std::uint64_t together = 8;
    return ((((key / together) * 0x9e3779b97f4a7c15U) >> table_shift_) + key % together) & (table_.size() - 1);
  }

  Node& node(std::uint32_t number) { return nodes_[number >> 2].at[number & 3]; }
  std::int64_t bytes(const Entry& entry, std::uint32_t k, std::uint64_t slices) const;
  void touch(std::uint32_t number) { touch(number, set_of(number)); }
  void touch(std::uint32_t number, Set& set) {
    if (set.recent.head != number) move_to_front(number, set.recent);
  }
  void move_to_front(std::uint32_t number, List& list);
  void link(std::uint32_t number);
  void unlink(std::uint32_t number);
  void install(std::uint32_t number, std::uint64_t slices);
  void remove(std::uint32_t number, std::uint64_t slices);
  Set& set_of(std::uint32_t number) { return sets_[(number >> 1 & 1) * set_count_ + set_numbers_[number >> 2]]; }
  std::uint16_t set_for(std::uint64_t key) const;
  /// Where the L2 is like the one that was experimented on; else a partition is one set.
  bool in_sets() const { return set_count_ > 1; }
  bool is_dirty(std::uint32_t number) const { return (number & 1) == 0 && entries_[number >> 2].dirty[number >> 1 & 1] != 0; }
  /// The node used longest ago; where that is dirty it is written back, and in sets it stays until it comes to be next, and the
  /// clean one used longest ago goes.
  std::uint32_t pick_victim(const Set& set);
  /// As few of the slices of a node, the first ones first, as hold so many bytes; all of them where they hold less.
  std::uint64_t slices_of(std::uint32_t number, std::int64_t least_bytes);
  /// Evicts what is too much: in sets no more than that, else whole tiles.
  void shrink(Set& set);
  void link_dirty(std::uint32_t number);
  void unlink_dirty(std::uint32_t number);
  /// Writes the dirty slices of a home to HBM; they stay, clean.
  void clean(std::uint32_t number);
  void write_home(std::uint32_t number, std::uint64_t slices);
  /// Reads what is not all on the side that asks.
  void read_missing(std::uint32_t entry, std::uint64_t slices, std::uint32_t side, TileAccess& result);
  /// Slices not in the home node `number` are read from HBM into it; returns their bytes.
  std::int64_t fetch_home(std::uint32_t number, std::uint64_t slices);

  const TileMap& map_;
  bool two_;
  std::uint32_t set_count_ = 1;  // of a partition: a prime, so that a walk of any step comes to each
  std::vector<Nodes> nodes_;     // by entry, as are the next two
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
  std::vector<Set> sets_;                   // of partition 0, then of partition 1
  std::vector<std::uint16_t> set_numbers_;  // by entry
  std::array<std::int64_t, 2> used_{};
  TensorBytes resident_{}, dirty_{}, evicted_{};
  bool any_evicted_ = false;
  std::vector<std::uint32_t> missed_;
};

}  // namespace tilescope
