// MemorySystem: what happens between an SM and HBM: ports, the L2 and its bandwidth, HBM and its bandwidth, and the ledger of HBM
// bytes.
//
//   SM port (one a direction) ──► L2 (all SMs share its bandwidth, one a direction) ──► HBM (likewise, both directions together)
//                                 │ fabric between its partitions (one a direction)
//
// Reads of the L2 that meet merge; writes take some of the time of reads. Reads of far lines of which there is no copy and writes
// of far lines cross the fabric.
//
// Each of the four serves in order of arrival, at its rate; a transfer ends when the slowest has served it, plus the latency of
// the farthest level it reached. Calls come in order of time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/core/gpu_spec.h"
#include "sim/engine/device_links.h"
#include "sim/engine/recorder.h"
#include "sim/engine/schedule.h"
#include "sim/memory/ledger.h"
#include "sim/memory/tile_cache.h"

namespace tilescope {

/// One load or store as the timing model sees it.
struct Transfer {
  double end = 0;                     // landed
  double streams = 0;                 // its last cycles, in which its bytes cross the slowest link on its way
  std::int64_t hbm_bytes = 0;         // read from HBM for it
  WaitCause limit = WaitCause::data;  // what decided its end: data (latency alone), l2 or hbm (bandwidth)
};

/// What HBM has done up to a moment.
struct HbmUse {
  double bytes = 0, busy_cycles = 0;
};

/// What a program does with HBM's tensors.
struct TensorUse {
  std::vector<Tensor> tensors;  // that it reads or writes, each once
  bool comes_back = false;      // whether it reads some that it wrote itself: S and P, or what a later tile goes on with
};

class MemorySystem {
 public:
  MemorySystem(const GpuSpec& gpu, const TensorLayouts& layouts, const TensorUse& use, const ScheduleBuilder& builder,
               Ledger& ledger, Recorder& recorder);
  MemorySystem(const MemorySystem&) = delete;
  MemorySystem& operator=(const MemorySystem&) = delete;

  /// Makes it the memory of one of several devices. `links` knows all of them and outlives it.
  void join(DeviceId device, DeviceLinks& links);

  Transfer load(int sm, double cycle, const ScheduledAccess& access, const BlockOrigin& origin);
  Transfer store(int sm, double cycle, const ScheduledAccess& access, const BlockOrigin& origin);

  /// What is in the L2 now.
  TensorBytes resident() const;
  TensorBytes dirty() const;
  /// Cycles that each was busy so far; the ports' are summed over SMs.
  double l2_busy_cycles() const { return std::max(l2_read_busy_, l2_write_busy_); }
  double hbm_busy_cycles() const { return hbm_busy_; }
  double port_busy_cycles() const { return port_busy_; }
  /// Up to `cycle`, at which nothing but write-backs may still be queued.
  HbmUse hbm_use(double cycle) const;

 private:
  struct Port {
    double in = 0, out = 0;  // free from
  };
  struct Readers {
    std::uint64_t key = ~std::uint64_t{0};  // of a tile
    double cycle = 0;                       // of its latest read
    double apart = 0, seen = 0;             // mean of the cycles between two reads, over so many
  };
  /// What a read of the L2 brings about on this side of the SM's port.
  struct L2Read {
    double served = 0;   // by the L2, when its last byte has left
    double hbm_end = 0;  // when the last byte has come from HBM
    double latency = 0;
    std::int64_t hbm_bytes = 0;
    double streams = 0;  // of its cycles, those in which its own bytes cross
  };
  L2Read read_l2(int side, double cycle, const OpClass& op, const TileRef& tile);
  /// Loads a tile whose home is another device, over the link.
  Transfer load_from(DeviceId home, int sm, double cycle, std::uint32_t op_class, const TileRef& tile);
  /// When what asks at `cycle` for so many cycles of a server that is free from `free` has passed it.
  static double serve(double& free, double cycle, double cycles) { return free = (free > cycle ? free : cycle) + cycles; }
  /// When bytes that cross the fabric towards `side` have done so.
  double cross(int side, double cycle, std::int64_t bytes);
  Transfer finish(double cycle, double port_end, double l2_end, double hbm_end, double latency) const;
  /// Reads from HBM what an addition finds missing in the L2; returns when it is there, 0 where nothing is missing.
  double fetch_sums(const OpClass& op, double cycle, std::int64_t bytes);
  void write_back(double cycle, int launch);
  /// The part of HBM's time that it spent on writes lately.
  double part_writing(double cycle) const;
  /// The part of a read at `cycle` that the L2 looks up: reads of a line that come soon after another share its look-up, as many
  /// as would if they came at random, as often as the latest did.
  double part_looked_up(const TileRef& tile, double cycle);

  double l2_read_cycles_per_byte_, l2_write_cycles_per_byte_;
  double l2_beside_cycles_per_byte_;  // that a write takes from reads
  double l2_merge_cycles_;
  double fabric_cycles_per_byte_;
  double hbm_read_cycles_per_byte_, hbm_write_cycles_per_byte_;
  double near_latency_, far_latency_, hbm_latency_;
  const ScheduleBuilder& builder_;
  Ledger& ledger_;
  Recorder& recorder_;
  std::vector<Tensor> tensors_;  // that the program reads or writes
  TileMap map_;
  std::optional<TileCache> cache_;  // absent where the GPU has no L2
  std::vector<Port> ports_;
  std::vector<Readers> readers_ = std::vector<Readers>(1 << 12);     // of the latest tiles, by the lower bits of their key
  std::array<std::vector<std::uint64_t>, most_tensors> plane_keys_;  // what tensor and plane put into a key
  std::vector<int> sides_;
  DeviceId device_;
  DeviceLinks* links_ = nullptr;  // null where there is one device
  double l2_read_free_ = 0, l2_write_free_ = 0, hbm_free_ = 0;
  std::array<double, 2> fabric_free_{};  // towards each side
  double l2_read_busy_ = 0, l2_write_busy_ = 0, hbm_busy_ = 0, port_busy_ = 0;
  double hbm_writing_ = 0, hbm_wrote_at_ = 0;  // cycles spent on writes, fading; when that was
  double hbm_bytes_ = 0;                       // that HBM was asked for
};

}  // namespace tilescope
