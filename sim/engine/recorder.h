// Recorder collects the trace while a simulation runs: block runs, intervals of focused SMs, sums over time.
//
// Its memory is bounded, whatever the size of the problem:
//   bins of time       at most 2048; when time outgrows them, neighbours are merged and the width doubles
//   intervals          about 2 million; after that only the requested SM stays in focus, with the blocks that had begun
//   block runs         4 million; after that only those of focused SMs
//   events             200,000; with more, the traffic up to a moment comes from the bins
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
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
  // Most operations lie in one bin and belong to one of a few classes. These are only counted, by bin and class; finish() adds up
  // their bytes and cycles.
  static constexpr std::uint32_t counted_classes = 64;

  /// `focus_sm` always stays in focus. The SMs of `also`, and all SMs of a small GPU, stay while there is room.
  Recorder(int sm_count, int focus_sm, std::span<const Tensor> tensors, const ScheduleBuilder& builder,
           std::span<const int> also = {});

  /// Records the start of a block. Returns its run; -1 if runs are no longer kept.
  std::int32_t begin_run(const BlockRun& run);
  void end_run(std::int32_t run, double end);
  /// Returns whether to record the intervals of a block that now starts on `sm`.
  bool wants_intervals(int sm) const {
    return keeps_intervals_ && focus_of_[static_cast<std::size_t>(sm)] >= 0 && interval_count_ < most_intervals;
  }
  void keep_no_intervals() { keeps_intervals_ = false; }
  /// Records an interval. `chip_tile` is the tile that the operation writes or a store reads; `ring` is its buffer.
  void interval(int sm, const Interval& interval, const TileRef& tile, std::int32_t iteration, std::int32_t ring,
                ChipTile chip_tile);

  /// Adds an operation that occupies its unit from `start` to `busy_end` and whose bytes move in the last `streams` cycles before
  /// `end`. A compute operation ends when its unit is free; a load or a store lands after it has left the SM's port.
  void operation(std::uint32_t op_class, double start, double busy_end, double end, double streams = 0) {
    if (Counts* const counts = counts_between(start, end); counts != nullptr && op_class < counted_classes)
      ++(*counts)[op_class];
    else
      operation_slowly(op_class, start, busy_end, end, streams);
  }
  using Counts = std::array<std::uint32_t, counted_classes>;
  /// Returns the counts by class of the bin in which `start` and `end` lie, where counting an operation is enough to record it.
  /// Null: they do not lie in one bin, the bin does not exist yet, or events are still kept.
  Counts* counts_between(double start, double end) {
    const auto bin = static_cast<std::size_t>(end * bins_a_cycle_);
    return bin == static_cast<std::size_t>(start * bins_a_cycle_) && bin < counted_bins_ ? &counts_[bin] : nullptr;
  }
  /// Operations that come together. They are counted together while they lie in one bin.
  struct Group {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> counts;  // class and number
    std::array<std::uint32_t, 2> times{};                         // in even and in odd bins, not added to the counts of bins yet
  };
  /// Makes a group of classes below `counted_classes`. It exists until forget_groups().
  Group* add_group(std::vector<std::pair<std::uint32_t, std::uint32_t>> counts) {
    return &groups_.emplace_back(Group{std::move(counts), {}});
  }
  void forget_groups() {
    add_up_groups();
    groups_.clear();
  }
  /// Counts a group whose operations begin from `start` on and are over at `end`. Returns false if they do not lie in one bin, or
  /// if each must be recorded on its own.
  bool count_group(Group& group, double start, double end) {
    const auto bin = static_cast<std::int64_t>(start * bins_a_cycle_);
    if (bin != static_cast<std::int64_t>(end * bins_a_cycle_)) return false;
    if (static_cast<std::uint64_t>(bin - group_bin_) > 1) [[unlikely]]
      if (!move_groups(bin, end)) return false;
    ++group.times[bin & 1];
    return true;
  }
  void traffic(double time, Tensor tensor, Link link, std::int64_t bytes, double streams = 0);
  /// Record the contents of the L2 before and after an access at `time`.
  void l2_before(double time, const CacheContents& contents) {
    if (time >= l2_end_) fill_l2(bin_of(time), contents);
  }
  void l2_after(double time, const CacheContents& contents) {
    if (data_.exact) note_l2(time, contents);
  }

  /// Returns the recorded data after the last launch has ended at `end`.
  TraceData finish(double end, std::vector<LaunchTime> launches, const TrafficTable& total, const CacheContents& contents);

 private:
  std::size_t bin_of(double time) {
    const auto bin = static_cast<std::size_t>(time * bins_a_cycle_);
    return bin < data_.bins.traffic.size() ? bin : grow(time);
  }
  /// Lets groups be counted in bin `bin`, that of `time`. Returns false if events are still kept, or if the bins have changed.
  bool move_groups(std::int64_t bin, double time);
  void add_up_groups();
  std::size_t grow(double time);
  void merge_bins();
  void operation_slowly(std::uint32_t op_class, double start, double busy_end, double end, double streams);
  void spread_counts();
  void add(std::size_t bin, double time, Tensor tensor, Link link, std::int64_t bytes, double streams);
  /// `last` is the bin of `end`.
  void busy(Unit unit, double start, double end, std::size_t last);
  void fill_l2(std::size_t bin, const CacheContents& contents);
  void note_l2(double time, const CacheContents& now);
  void event(double time, Tensor tensor, Link link, std::int64_t bytes, double streams);
  void drop_events();
  void narrow_focus();

  const ScheduleBuilder& builder_;
  std::vector<Tensor> tensors_;  // of the program
  TraceData data_;
  std::vector<Counts> counts_;    // by bin
  std::size_t counted_bins_ = 0;  // bins in which operations are counted: none while events are kept, then all
  std::deque<Group> groups_;
  std::int64_t group_bin_ = -2;  // groups are counted in this bin and in the next one
  int focus_sm_;
  double bins_a_cycle_ = 0;
  std::size_t l2_bin_ = 0;     // first bin without L2 contents
  double l2_end_ = 0;          // end of that bin
  std::vector<int> focus_of_;  // by SM: index into data_.focus, -1 out of focus
  std::size_t interval_count_ = 0;
  bool keeps_intervals_ = true;
  CacheContents noted_;
};

inline void Recorder::add(std::size_t bin, double time, Tensor tensor, Link link, std::int64_t bytes, double streams) {
  data_.bins.traffic[bin][tensor.index()][static_cast<std::size_t>(link)] += bytes;
  if (data_.exact) event(time, tensor, link, bytes, streams);
}

inline void Recorder::traffic(double time, Tensor tensor, Link link, std::int64_t bytes, double streams) {
  add(bin_of(time), time, tensor, link, bytes, streams);
}

}  // namespace tilescope
