// HbmQueue: one queue for the reads and the writes of HBM, with the bytes and the cycles that they took.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "sim/core/gpu_spec.h"
#include "sim/engine/served_queue.h"

namespace tilescope {

/// The work of HBM up to a moment.
struct HbmUse {
  double bytes = 0, busy_cycles = 0;
};

class HbmQueue {
 public:
  explicit HbmQueue(const GpuSpec& gpu)
      : read_cycles_per_byte_(cycles_per(gpu.hbm_read_rate().value)),
        // A copy of equal reads and writes takes 2 / rate cycles a byte. So the cost of a write includes the bus turnaround.
        write_cycles_per_byte_(2 * cycles_per(gpu.hbm_rate().value) - read_cycles_per_byte_) {}

  /// Return how long so many bytes occupy HBM.
  double read_cycles(std::int64_t bytes) const { return static_cast<double>(bytes) * read_cycles_per_byte_; }
  double write_cycles(std::int64_t bytes) const { return static_cast<double>(bytes) * write_cycles_per_byte_; }

  /// Queue a read or a write at `cycle`. Return when HBM is done with it; the latency comes on top.
  double read(double cycle, std::int64_t bytes) { return queue(cycle, bytes, read_cycles(bytes)); }
  double write(double cycle, std::int64_t bytes) { return queue(cycle, bytes, write_cycles(bytes)); }
  /// Queues bytes that the L2 writes back. Nobody waits for them, but later reads find HBM writing.
  void write_back(double cycle, std::int64_t bytes) {
    write(cycle, bytes);
    writing_ = part_writing(cycle) * writes_remembered + write_cycles(bytes);
    wrote_at_ = std::max(wrote_at_, cycle);
  }

  /// Returns for how long all that was asked of HBM so far occupies it.
  double asked_cycles() const { return busy_; }
  /// Returns the share of its recent time that HBM spent on write-backs. Under a burst of them it can exceed 1.
  double part_writing(double cycle) const {
    const double since = std::max(0.0, cycle - wrote_at_);
    return writing_ == 0 ? 0 : writing_ / writes_remembered * std::exp(-since / writes_remembered);
  }
  /// Returns the work up to `cycle`, when only write-backs may still be queued.
  HbmUse use(double cycle) const {
    const double queued = std::max(0.0, free_ - cycle);
    const double bytes = write_cycles_per_byte_ > 0 ? queued / write_cycles_per_byte_ : 0;
    return {bytes_ - bytes, busy_ - queued};
  }

 private:
  static constexpr double writes_remembered = 2000;  // decay time of the write share, in cycles

  double queue(double cycle, std::int64_t bytes, double cycles) {
    bytes_ += static_cast<double>(bytes);
    busy_ += cycles;
    return serve(free_, cycle, cycles);
  }

  double read_cycles_per_byte_, write_cycles_per_byte_;
  double free_ = 0;
  double bytes_ = 0, busy_ = 0;        // requested so far, queued work included
  double writing_ = 0, wrote_at_ = 0;  // write-back cycles, decaying exponentially, and when they were last updated
};

}  // namespace tilescope
