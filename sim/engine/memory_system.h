// MemorySystem: the path from an SM to HBM, with the SM's port, the L2, the fabric and HBM. It keeps the ledger of HBM bytes.
//
//   SM port (one queue per direction) ──► L2 (one queue per direction, for all SMs) ──► HBM (one queue for both directions)
//                                         │ fabric between its partitions (one queue per direction)
//
// L2        reads of a line shortly after one another share a look-up; writes slow later reads down
// fabric    reads of far lines without a near copy cross it, and so do writes of far lines
// time      each queue serves in order of arrival, at its own rate. A transfer ends when the slowest queue has served it, plus
//           the latency of the farthest level that it reached
//
// Calls must come in order of time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/core/gpu_spec.h"
#include "sim/core/page_table.h"
#include "sim/engine/device_links.h"
#include "sim/engine/hbm_queue.h"
#include "sim/engine/recent_hits.h"
#include "sim/engine/recorder.h"
#include "sim/engine/schedule.h"
#include "sim/engine/served_queue.h"
#include "sim/engine/shared_lookups.h"
#include "sim/memory/ledger.h"
#include "sim/memory/tile_cache.h"

namespace tilescope {

/// The result of one load or store.
struct Transfer {
  double end = 0;                     // when it has landed
  double sent = 0;                    // of a store: when the L2 has taken all of it
  double streams = 0;                 // its last cycles, in which its bytes cross the slowest link on its way
  double hbm_wait = 0;                // how long its bytes wait until HBM has read them, if that decides when it ends
  std::int64_t hbm_bytes = 0;         // bytes read from HBM for it
  WaitCause limit = WaitCause::data;  // what limited it: data (latency alone), l2_path or hbm (bandwidth)
};

/// A load that hits in the L2 as an earlier load of its tile did.
struct RepeatedLoad {
  double start = 0, busy_end = 0;  // when its bytes occupy the SM's port
  double end = 0, streams = 0;     // as of a Transfer
  double arrival = 0;              // when its bytes arrived from HBM
};

/// How a program uses its tensors in HBM.
struct TensorUse {
  std::vector<Tensor> tensors;  // the tensors that it reads or writes, each once
  bool comes_back = false;      // it reads tensors that it wrote itself, such as S, P, or sums that a later tile continues
  std::shared_ptr<const PageTable> pages;  // of K and V; null if they have none
};

class MemorySystem {
 public:
  /// `layouts`: those of memory_layouts().
  MemorySystem(const GpuSpec& gpu, const TensorLayouts& layouts, const TensorUse& use, const ScheduleBuilder& builder,
               Ledger& ledger, Recorder& recorder);
  MemorySystem(const MemorySystem&) = delete;
  MemorySystem& operator=(const MemorySystem&) = delete;

  /// Makes this the memory of `device`, one of several. `links` connects them and must outlive this object.
  void join(DeviceId device, DeviceLinks& links);

  /// Loads a tile into SM `sm` at `cycle`.
  Transfer load(int sm, double cycle, const ScheduledAccess& access, const BlockOrigin& origin);
  /// Makes the hit that a load repeats the latest of its side of the L2, and returns whether there is one. The L2 itself stays as
  /// it is. load_again() may then follow; otherwise load_anew() must.
  bool takes_repeated(int sm, const PlacedAccess& access) {
    const int side = ports_[static_cast<std::size_t>(sm)].side;
    RecentHits& hits = hits_[static_cast<std::size_t>(side)];
    return hits.latest().is_repeated_by(access) || finds_earlier(hits, side, access);
  }
  /// Processes a load that repeats no hit.
  Transfer load_anew(int sm, double cycle, const PlacedAccess& access);
  /// Processes a load for which takes_repeated(), but does not record it.
  RepeatedLoad load_again(int sm, double cycle) {
    Port& port = ports_[static_cast<std::size_t>(sm)];
    const RecentHits::Hit& hit = hits_[static_cast<std::size_t>(port.side)].latest();
    const double port_end = serve_port_in(port, cycle, hit.port_cycles);
    const double l2_cycles = hit.l2_cycles * (lookups_.are_shared() ? lookups_.part_of(*hit.readers, cycle) : 1);
    const double l2_end = serve(l2_read_free_, cycle, l2_cycles);
    l2_read_busy_ += l2_cycles;
    return {port_end - hit.port_cycles, port_end, std::max(std::max(port_end, l2_end) + near_latency_, hit.arrival),
            std::max(hit.port_cycles, l2_cycles), hit.arrival};
  }
  /// Stores a tile of SM `sm`, or adds it to memory, at `cycle`.
  Transfer store(int sm, double cycle, const ScheduledAccess& access, const BlockOrigin& origin);

  CacheContents contents() const;  // of the L2
  /// Return the busy cycles so far; those of the ports are summed over SMs.
  double l2_busy_cycles() const { return std::max(l2_read_busy_, l2_write_busy_); }
  double l2_read_busy_cycles() const { return l2_read_busy_; }
  double l2_write_busy_cycles() const { return l2_write_busy_; }
  double port_in_busy_cycles() const { return port_in_busy_; }
  double port_out_busy_cycles() const { return port_out_busy_; }
  /// Returns the bytes that the L2 looked up for reads of SMs; 0 if it has no rate.
  double l2_looked_up_bytes() const { return l2_read_cycles_per_byte_ > 0 ? l2_read_busy_ / l2_read_cycles_per_byte_ : 0; }
  /// Returns for how long all that was asked of HBM so far occupies it.
  double hbm_asked_cycles() const { return hbm_.asked_cycles(); }
  /// Returns the work of HBM up to `cycle`, when only write-backs may still be queued.
  HbmUse hbm_use(double cycle) const { return hbm_.use(cycle); }

 private:
  struct Port {
    double in = 0, out = 0;  // when each direction is free
    int side = 0;            // L2 partition next to its SM
  };
  /// Returns when the port of an SM has taken in what keeps it busy for `cycles`.
  double serve_port_in(Port& port, double cycle, double cycles) {
    port_in_busy_ += cycles;
    return serve(port.in, cycle, cycles);
  }
  /// The timing of an L2 read before the SM's port.
  struct L2Read {
    double served = 0;      // when the last byte has left the L2
    double hbm_end = 0;     // when the last byte has arrived from HBM
    double latency = 0;     // of the L2, or of its far partition
    double round_trip = 0;  // latency of the farthest level that it reached
    std::int64_t hbm_bytes = 0;
    double streams = 0;                  // of its cycles, those in which its own bytes cross
    std::optional<Unchanged> unchanged;  // of a hit: nothing moved in the L2 or into it
  };
  /// Reads a tile through `side`. With pages, `logical` is read where its pages lie, part by part.
  L2Read read_l2(int side, double cycle, const OpClass& op, const TileRef& logical);
  /// Reads `read_bytes` of a tile that lies in one page, at its place in the pool.
  L2Read read_place(int side, double cycle, const OpClass& op, const TileRef& tile, std::int64_t read_bytes);
  /// Loads a tile from another device, over the link.
  Transfer load_from(DeviceId home, int sm, double cycle, std::uint32_t op_class, const TileRef& tile);
  /// Records a load whose bytes have come from the L2 of `home`, and what that L2 did for it.
  void end_load(MemorySystem& home, double cycle, std::uint32_t op_class, double port_end, const Transfer& transfer);
  /// Queues bytes on the fabric towards `side`; returns when they have crossed.
  double cross(int side, double cycle, std::int64_t bytes);
  /// Returns a transfer that began at `cycle`, given when the port, the L2 and HBM have served it. `latency`: of the L2.
  Transfer finish(double cycle, double port_end, double l2_end, double hbm_end, double latency) const;
  /// Returns what limits a transfer that is served at `served` with a latency that is part of it, and has its bytes at `hbm_end`.
  WaitCause limit_of(double cycle, double served, double hbm_end, double latency) const;
  /// Reads `bytes` that a reduce-add misses in the L2 from HBM; returns when they arrive, 0 if there are none.
  double fetch_sums(const OpClass& op, double cycle, std::int64_t bytes);
  /// Queues what the L2 has evicted or cleaned, and counts it.
  void write_back(double cycle, int launch);
  /// Does what takes_repeated() says for all but the latest of `hits`, those of `side`.
  bool finds_earlier(RecentHits& hits, int side, const PlacedAccess& access);
  /// Notes a load that hit, so that the next ones of the same tile are repetitions of it.
  void note_hit(int side, const PlacedAccess& access, const OpClass& op, const L2Read& read);

  double l2_read_cycles_per_byte_, l2_write_cycles_per_byte_, l2_add_cycles_per_byte_;
  double l2_beside_cycles_per_byte_;  // read time that a write costs
  double fabric_cycles_per_byte_;
  double near_latency_, far_latency_, hbm_latency_;
  const ScheduleBuilder& builder_;
  Ledger& ledger_;
  Recorder& recorder_;
  std::vector<Tensor> tensors_;  // the tensors that the program reads or writes
  std::shared_ptr<const PageTable> pages_;
  std::int64_t pool_row_bytes_ = 0;  // of K and V; 0 if rows are not whole sectors
  TileMap map_;
  std::optional<TileCache> cache_;  // absent if the GPU has no L2
  std::vector<Port> ports_;
  SharedLookups lookups_;
  std::array<RecentHits, 2> hits_;  // by side
  HbmQueue hbm_;
  DeviceId device_;
  DeviceLinks* links_ = nullptr;  // null on a single device
  double l2_read_free_ = 0, l2_write_free_ = 0;
  std::array<double, 2> fabric_free_{};  // towards each side
  double l2_read_busy_ = 0, l2_write_busy_ = 0, port_in_busy_ = 0, port_out_busy_ = 0;
};

}  // namespace tilescope
