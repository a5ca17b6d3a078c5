// RunningSm: one SM while a launch runs, with the pipes that its blocks share and the blocks that it holds.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "sim/engine/issue_order.h"
#include "sim/engine/memory_system.h"
#include "sim/engine/product_queue.h"
#include "sim/engine/resident_group.h"
#include "sim/engine/schedule.h"

namespace tilescope {

/// The memory pipe of an SM: accesses to shared memory, landing copies and leaving stores go through it. Operations queue behind
/// operations, copies behind copies. While both kinds wait, each gets every other cycle.
struct MemoryPipe {
  double free = 0;         // when all requests are served
  double copies_free = 0;  // when all copies are served

  /// Queues `cycles` of work at `start`, behind its own kind, which is served at `own_free`. Returns when the work is done.
  double serve(double& own_free, double start, double cycles) {
    if (cycles <= 0) return start;
    free = std::max(free, start) + cycles;
    const double interleaved = 2 * (std::max(0.0, own_free - start) + cycles);
    return own_free = std::min(free, start + interleaved);
  }
};

/// A copy that waits for its turn in HBM. It lands at `time`, or later by what HBM reads before it of what is asked for after it.
struct WaitingCopy {
  double time = 0;
  double wait = 0;   // how long its bytes wait in HBM
  double asked = 0;  // for how long all that had been asked of HBM by then occupies it
  double ready = 0;  // when its group could ask for it
  double start = 0;
  std::uint32_t slot = 0, load = 0;
  Transfer transfer;
};

struct RunningSm {
  int number = 0;
  std::array<double, no_pipe + 1> free{};  // when the port and each pipe is free, by number
  MemoryPipe memory_pipe;
  ProductQueue products;
  IssueOrder issue_order;
  std::vector<ResidentGroup> groups;  // by slot; those of one block follow one another
  std::vector<ResidentBlock> blocks;  // a block, or a place for one
  std::vector<WaitingCopy> waiting;   // few
  ResidentGroup* next = nullptr;      // the group with the SM's next event; null: a waiting copy
  int resident = 0;                   // blocks on the SM
  double occupied_since = 0;          // since when it has had any
  double occupied_cycles = 0;         // how long it had some before
  double added = 0;                   // when all additions of its warps have left it

  /// Returns the share of the issue slots that the other groups take at `start`.
  double taken_by_others(const ResidentGroup& group, double start) const {
    if (groups.size() == 2) {  // most kernels on most GPUs
      const ResidentGroup& other = groups[1 - group.slot];
      return other.compute_end > start ? other.issue_rate : 0;
    }
    double taken = 0;
    for (const ResidentGroup& other : groups)
      if (&other != &group && other.compute_end > start) taken += other.issue_rate;
    return taken;
  }
  /// Returns when the first waiting copy would land.
  double next_landing() const {
    double first = IssueOrder::never;
    for (const WaitingCopy& copy : waiting) first = std::min(first, copy.time);
    return first;
  }
  /// Occupies the pipes for an operation that starts at `start`.
  void take_pipes(const OpTiming& timing, double start) {
    for (std::size_t i = 0; i < timing.work.size(); ++i) free[1 + i] = std::max(free[1 + i], start) + timing.work[i];
  }
  /// Occupies the pipes and the memory pipe; returns when the memory pipe is done with the operation.
  double take_all(const OpTiming& timing, double start) {
    take_pipes(timing, start);
    return serve(free[smem_port], start, timing.smem_cycles);
  }
  /// Serves `cycles` of the memory pipe, behind the products that read shared memory.
  double serve(double& own_free, double start, double cycles) {
    if (cycles > 0 && products.busy_until() > start) cycles += products.wait_for_reads(start, cycles);
    return memory_pipe.serve(own_free, start, cycles);
  }
};

}  // namespace tilescope
