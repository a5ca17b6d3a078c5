// TileCache: the L2 at the grain of tiles. One or two partitions of sets, LRU eviction, a limit on dirty bytes, cold at the start.
//
//   Two partitions: each is the home of half of a tile's lines. An SM reads and writes through the partition on its side.
//
//        SM of side 0                      near half  ── home in 0 ──────────────────────────► HBM
//        asks for a tile ──► partition 0 ┤
//                                          far half   ── copy in 0 ──► home in 1 (fabric) ───► HBM
//
//   nodes        A tile has up to four: in each partition its home half and a copy of the other half.
//   read         A hit on a copy does not refresh the home. A copy survives the eviction of its home.
//   write        Both homes become dirty. The writing side keeps a copy of the far half; the other side loses its copy.
//   add          Both homes become dirty. What they lack is read first. No side keeps a copy.
//   sets         In each partition a tile belongs to one set, as a line does in hardware. A set orders its nodes by last use.
//   eviction     As much of the least recently used node goes as room is needed; what of it is dirty is written back. Where there
//                are several sets, a dirty node is written back and gets a second chance: the least recently used clean one goes.
//   write-back   When too much of a set is dirty, its least recently used dirty nodes are written back and stay, clean.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/core/units.h"
#include "sim/memory/tile_map.h"

namespace tilescope {

/// Holds until something changes where a tile was read. As long as it holds, another read of the tile would change nothing.
class Unchanged {
 public:
  Unchanged() = default;
  explicit Unchanged(const std::uint64_t& changes) : changes_(&changes), seen_(changes) {}
  bool holds() const { return *changes_ == seen_; }

 private:
  static constexpr std::uint64_t none = 0;
  const std::uint64_t* changes_ = &none;  // counts the changes
  std::uint64_t seen_ = 1;
};

struct TileAccess {
  std::int64_t hbm_read_bytes = 0;
  std::int64_t crossed_bytes = 0;  // over the fabric, to the reading side
  bool is_hit = false;             // nothing was fetched, and only the order of last use changed
  double arrival = 0;              // when the latest HBM fetch of these tiles arrives; a hit on bytes in flight waits for it
  Unchanged unchanged;             // of a hit
};

/// How an L2 is organised. The default is one LRU list per partition.
struct CachePolicy {
  int ways = 0;                 // lines in a set; 0: a partition is one set
  std::int64_t tile_bytes = 0;  // size of a tile, whose part in a partition stands for one line; 0: a partition is one set
  double dirty_part = 1;        // share of a set that may be dirty
};

using TensorBytes = std::array<std::int64_t, most_tensors>;

/// Bytes in the cache, by tensor.
struct CacheContents {
  TensorBytes resident{};  // copies included
  TensorBytes copies{};    // of them, in the partition that is not their home
  TensorBytes dirty{};     // of them, not written back yet
  bool operator==(const CacheContents&) const = default;
};

class TileCache {
 public:
  /// `capacity` is the total of all partitions. More than two `partitions` count as two.
  TileCache(const TileMap& map, Bytes capacity, int partitions, CachePolicy policy = {});

  TileAccess read(const TileRef& tile, int side) {
    const std::uint32_t from = two_ ? static_cast<std::uint32_t>(side) : 0;
    if (const Latest& latest = latest_[from]; latest.tile == tile)
      return {.is_hit = true, .arrival = latest.arrival, .unchanged = latest.unchanged};
    return read_through(tile, from);
  }
  /// Notes that another tile than the one of the last read() was read through `side`, and that this changed nothing.
  void note_other_read(int side) { forget_latest(two_ ? static_cast<std::uint32_t>(side) : 0); }
  /// Writes whole sectors, so nothing is fetched. Returns the bytes that cross the fabric to the other side.
  std::int64_t write(const TileRef& tile, int side);
  /// Adds to whole sectors where their home is.
  TileAccess add(const TileRef& tile, int side);
  /// Sets the arrival time of the bytes that the last read() missed.
  void note_arrival(double cycle);

  bool any_written_back() const { return any_written_back_; }
  /// Moves the bytes written back since the last call into `bytes`. Returns false, and leaves `bytes` alone, if there are none.
  bool take_written_back(TensorBytes& bytes);
  const CacheContents& contents() const { return contents_; }
  const TensorBytes& resident() const { return contents_.resident; }
  const TensorBytes& dirty() const { return contents_.dirty; }
  std::int64_t used(int partition) const { return used_[static_cast<std::size_t>(partition)]; }

 private:
  static constexpr std::uint32_t none = 0xffffffff;
  // Node k of a tile: partition k / 2; even k the home half, odd k the copy of the other partition's half.
  struct Node {
    std::uint32_t previous = none, next = none;  // neighbours in the LRU list: used later, used earlier
    std::uint64_t present = 0;                   // slices
  };
  struct alignas(64) Nodes {  // the nodes of one tile fill a host cache line
    std::array<Node, 4> at;
  };
  struct Entry {  // the rest of a tile; a hit does not touch it
    TileGeometry geometry;
    std::array<std::uint64_t, 2> dirty{};                                             // slices, by home partition
    std::array<std::uint32_t, 2> dirty_previous{none, none}, dirty_next{none, none};  // dirty list: used later, used earlier
  };
  struct List {
    std::uint32_t head = none, tail = none;  // node number: entry * 4 + k
  };
  /// The latest read through a partition, if it hit. Blocks in step read a tile one after the other, and from the second read on
  /// the tile is the most recently used one already.
  struct Latest {
    TileRef tile;
    double arrival = 0;
    Unchanged unchanged;
  };
  struct Set {
    List recent, dirty;         // only home nodes can be dirty
    std::uint64_t changes = 0;  // of `recent`, of the slices of its nodes, and of their arrivals
    std::int64_t used = 0, dirty_bytes = 0, capacity = 0, dirty_limit = 0;
  };

  std::uint32_t find_or_create(std::uint64_t key) {
    std::size_t at = place_of(key);
    for (; table_[at].entry != none; at = (at + 1) & (table_.size() - 1))
      if (table_[at].key == key) return table_[at].entry;
    return create(key, at);
  }
  /// Makes an entry for `key` in the free table position `at`.
  std::uint32_t create(std::uint64_t key, std::size_t at);
  void erase_if_empty(std::uint32_t entry);
  void grow_table();
  /// Returns where the search for a key begins. Neighbouring tiles stay together in the table, because blocks visit them in a row.
  std::size_t place_of(std::uint64_t key) const {
    constexpr std::uint64_t together = 8;
    return ((((key / together) * 0x9e3779b97f4a7c15U) >> table_shift_) + key % together) & (table_.size() - 1);
  }

  Node& node(std::uint32_t number) { return nodes_[number >> 2].at[number & 3]; }
  std::int64_t bytes(const Entry& entry, std::uint32_t k, std::uint64_t slices) const;
  void touch(std::uint32_t number) { touch(number, set_of(number)); }
  void touch(std::uint32_t number, Set& set) {
    if (set.recent.head != number) move_to_front(number, set);
  }
  void move_to_front(std::uint32_t number, Set& set);
  void link(std::uint32_t number);
  void unlink(std::uint32_t number);
  void install(std::uint32_t number, std::uint64_t slices);
  void remove(std::uint32_t number, std::uint64_t slices);
  Set& set_of(std::uint32_t number) { return sets_[(number >> 1 & 1) * set_count_ + set_numbers_[number >> 2]]; }
  std::uint16_t set_for(std::uint64_t key) const;
  bool in_sets() const { return set_count_ > 1; }
  bool is_dirty(std::uint32_t number) const { return (number & 1) == 0 && entries_[number >> 2].dirty[number >> 1 & 1] != 0; }
  /// Returns the node to evict: the least recently used one. With several sets a dirty one is written back and gets a second
  /// chance, and the least recently used clean node is the victim.
  std::uint32_t pick_victim(const Set& set);
  /// Returns the fewest leading slices of a node that hold `least_bytes`; all of them if they hold less.
  std::uint64_t slices_of(std::uint32_t number, std::int64_t least_bytes);
  /// Evicts slices of the least recently used tiles until the set fits.
  void shrink(Set& set);
  void link_dirty(std::uint32_t number);
  void unlink_dirty(std::uint32_t number);
  /// Writes those of `slices` that are dirty in a home node back to HBM; they stay in the cache, clean.
  void clean(std::uint32_t number, std::uint64_t slices);
  void write_home(std::uint32_t number, std::uint64_t slices);
  TileAccess read_through(const TileRef& tile, std::uint32_t from);
  void forget_latest(std::uint32_t from) {
    latest_[from].tile = {};
    ++other_reads_[from];
  }
  /// Reads slices that are not all present on the reading side.
  void read_missing(std::uint32_t entry, std::uint64_t slices, std::uint32_t side, TileAccess& result);
  /// Fetches the slices that home node `number` lacks from HBM; returns their bytes.
  std::int64_t fetch_home(std::uint32_t number, std::uint64_t slices);

  const TileMap& map_;
  bool two_;
  std::uint32_t set_count_ = 1;  // per partition; a prime, so that a walk with any step reaches every set
  std::vector<Nodes> nodes_;     // by entry, like the next two
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
  std::vector<Set> sets_;                   // partition 0, then partition 1
  std::vector<std::uint16_t> set_numbers_;  // by entry
  std::array<std::int64_t, 2> used_{};
  CacheContents contents_;
  TensorBytes written_back_{};
  bool any_written_back_ = false;
  std::vector<std::uint32_t> missed_;
  std::array<Latest, 2> latest_;
  std::array<std::uint64_t, 2> other_reads_{};  // by partition: reads of other tiles than the latest, and all that is no hit
};

}  // namespace tilescope
