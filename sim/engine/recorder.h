// Recorder: takes down what happens while a simulation runs: block runs, intervals of focused SMs, sums over time.
//
// It keeps to a budget whatever the size of the problem:
//   bins of time       at most 2048; when time outgrows them, neighbours are merged and the width doubles
//   intervals          about 2 million: past that only the SM asked for stays in focus, and of it the blocks that had begun
//   block runs         4 million: past that only those of focused SMs
//   events             200,000: with more, what happened up to a moment is read from the bins
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/schedule.h"
#include "sim/engine/trace_data.h"
#include "sim/memory/tile_cache.h"

namespace tilescope {

class Recorder {
 public:
  static constexpr std::size_t most_bins = 2048;
  static constexpr std::size_t most_intervals = 2'000'000;
  static constexpr std::size_t most_runs = 4'000'000;
  static constexpr std::size_t most_events = 200'000;
  // Most operations begin and end in the bin that the last one was in, and are of one of a few classes: those are only counted,
  // by bin and class, and their bytes and cycles are added up at the end.
  static constexpr std::uint32_t counted_classes = 64;

  /// `focus_sm` stays in focus; so do those of `also` and every SM of a small GPU while there is room.
  Recorder(int sm_count, int focus_sm, std::span<const Tensor> tensors, const ScheduleBuilder& builder,
           std::span<const int> also = {});

  /// A block begins. Returns its run, or -1 where runs are no longer kept.
  std::int32_t begin_run(const BlockRun& run);
  void end_run(std::int32_t run, double end);
  /// Whether the intervals of a block that begins now on `sm` are to be kept.
  bool wants_intervals(int sm) const {
    return keeps_intervals_ && focus_of_[static_cast<std::size_t>(sm)] >= 0 && interval_count_ < most_intervals;
  }
  void keep_no_intervals() { keeps_intervals_ = false; }
  /// `slot` is what the operation writes, or what a store leaves from; `ring` its buffer.
  void interval(int sm, const Interval& interval, const TileRef& tile, std::int32_t iteration, std::int32_t ring, Slot slot);

  /// An operation of a class that occupies its unit from `start` to `busy_end` and whose bytes have moved by `end`, in its last
  /// `streams` cycles.
  /// A compute operation is over when its unit is free; a load or a store lands after it has left the SM's port.
  void operation(std::uint32_t op_class, double start, double busy_end, double end, double streams = 0) {
    if (start >= near_begin_ && end < near_end_ && op_class < counted_classes)
      ++near_counts_[op_class];
    else
      operation_slowly(op_class, start, busy_end, end, streams);
  }
  /// Operations from `start` to `end` are in the bin that the last one was in: they need only be counted, by class.
  bool is_near(double start, double end) const { return start >= near_begin_ && end < near_end_; }
  void count_near(std::uint32_t op_class, std::uint32_t count) { near_counts_[op_class] += count; }
  void traffic(double time, Tensor tensor, Link link, std::int64_t bytes, double streams = 0);
  /// What the L2 holds when an access at `time` begins, and when it is over.
  void l2_before(double time, const TensorBytes& resident, const TensorBytes& dirty) {
    if (time >= l2_end_) fill_l2(bin_of(time), resident, dirty);
  }
  void l2_after(double time, const TensorBytes& resident, const TensorBytes& dirty) {
    if (data_.exact) note_l2(time, resident, dirty);
  }

  /// Everything, once the last launch has ended at `end`.
  TraceData finish(double end, std::vector<LaunchTime> launches, const TrafficTable& total, const TensorBytes& resident,
                   const TensorBytes& dirty);

 private:
  std::size_t bin_of(double time) {
    const auto bin = static_cast<std::size_t>(time * bins_a_cycle_);
    return bin < data_.bins.traffic.size() ? bin : grow(time);
  }
  std::size_t grow(double time);
  void merge_bins();
  void operation_slowly(std::uint32_t op_class, double start, double busy_end, double end, double streams);
  void come_near(std::size_t bin);
  void spread_counts();
  void add(std::size_t bin, double time, Tensor tensor, Link link, std::int64_t bytes, double streams);
  /// `last` is the bin of `end`.
  void busy(Unit unit, double start, double end, std::size_t last);
  void fill_l2(std::size_t bin, const TensorBytes& resident, const TensorBytes& dirty);
  void note_l2(double time, const TensorBytes& resident, const TensorBytes& dirty);
  void event(double time, Tensor tensor, Link link, std::int64_t bytes, double streams);
  void drop_events();
  void narrow_focus();

  using Counts = std::array<std::uint32_t, counted_classes>;

  const ScheduleBuilder& builder_;
  std::vector<Tensor> tensors_;  // of the program
  TraceData data_;
  std::vector<Counts> counts_;  // by bin
  double near_begin_ = 0, near_end_ = -1;
  std::uint32_t* near_counts_ = nullptr;
  int focus_sm_;
  double bins_a_cycle_ = 0;
  std::size_t l2_bin_ = 0;     // bins before it have their L2 contents
  double l2_end_ = 0;          // where that bin ends
  std::vector<int> focus_of_;  // by SM: index into data_.focus, -1 out of focus
  std::size_t interval_count_ = 0;
  bool keeps_intervals_ = true;
  TensorBytes noted_resident_{}, noted_dirty_{};
};

inline void Recorder::add(std::size_t bin, double time, Tensor tensor, Link link, std::int64_t bytes, double streams) {
  data_.bins.traffic[bin][tensor.index()][static_cast<std::size_t>(link)] += bytes;
  if (data_.exact) event(time, tensor, link, bytes, streams);
}

inline void Recorder::traffic(double time, Tensor tensor, Link link, std::int64_t bytes, double streams) {
  add(bin_of(time), time, tensor, link, bytes, streams);
}

}  // namespace tilescope
