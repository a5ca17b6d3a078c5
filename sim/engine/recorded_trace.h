// RecordedTrace: an indexed TraceData, so that the state at any moment is a few look-ups away.
//
//   The indices are built once and never change, so any number of threads may use them:
//     blocks at a moment        runs by SM and slot; runs of a slot do not overlap       binary search
//     operations at a moment    by SM, unit and start; those of a unit do not overlap    binary search
//     transfers in flight       by SM and start, with the latest end so far              walk back from the moment
//     buffers                   by run and buffer: the operations that fill it           binary search
//     traffic up to a moment    all events, with sums at every 64th; or sums over bins
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/engine/trace_data.h"
#include "sim/memory/tile_cache.h"

namespace tilescope {

class RecordedTrace final : public Trace {
 public:
  explicit RecordedTrace(TraceData data);

  double end_cycle() const override { return data_.end_cycle; }
  std::span<const LaunchTime> launches() const override { return data_.launches; }
  std::span<const BlockRun> runs() const override { return data_.runs; }
  const TimeBins& bins() const override { return data_.bins; }
  std::span<const int> focused_sms() const override { return focused_; }
  std::span<const Interval> intervals(int sm) const override;
  std::int64_t step_count(int sm) const override;
  TraceState state_at(int sm, std::int64_t step) const override;
  TraceState state_at_cycle(int sm, double cycle) const override;
  std::int64_t seek(int sm, std::int64_t from, Grain grain, int direction) const override;
  std::int64_t step_at_cycle(int sm, double cycle) const override;
  std::int64_t step_of_interval(int sm, std::size_t interval) const override;

 private:
  static constexpr std::size_t events_a_sum = 64;
  using Index = std::uint32_t;
  /// The operations that fill one buffer of one block, in order: writers[first, last).
  struct Buffer {
    ChipTile chip_tile = ChipTile::none;
    std::int32_t ring = 0;
    Index first = 0, last = 0;
  };
  struct RunRecord {
    std::int32_t run = 0;
    Index first_buffer = 0, last_buffer = 0;
  };
  struct SmIndex {
    const FocusedSm* data = nullptr;
    std::vector<Index> steps;                          // step k is interval steps[k - 1]
    std::array<std::vector<Index>, unit_count> units;  // intervals by start
    std::vector<Index> transfers;                      // loads and stores by start
    std::vector<double> latest_end;                    // of transfers[0 … i]
    std::vector<RunRecord> runs;                       // by run
    std::vector<Buffer> buffers;
    std::vector<Index> writers;
    std::vector<std::int64_t> tile_steps, phase_steps;  // steps at which an iteration or a launch begins
  };

  void order_focus(FocusedSm& focus) const;
  void index_focus(SmIndex& index) const;
  void index_buffers(SmIndex& index, const std::vector<Index>& by_op) const;
  void index_boundaries(SmIndex& index, const std::vector<Index>& by_op) const;
  void index_runs();
  void index_events();
  const SmIndex* find(int sm) const;
  const Interval& step_interval(const SmIndex& index, std::int64_t step) const {
    return index.data->intervals[index.steps[static_cast<std::size_t>(step - 1)]];
  }
  std::int64_t last_step_by(const SmIndex& index, double cycle) const;

  TraceState machine_at(const SmIndex* index, double cycle) const;
  void add_sms(TraceState& state) const;
  void add_flights(TraceState& state, const SmIndex& index) const;
  void add_chip_tiles(TraceState& state, const SmIndex& index) const;
  void add_traffic(TraceState& state) const;
  void add_traffic_from_events(TraceState& state) const;
  void add_traffic_from_bins(TraceState& state) const;
  std::uint8_t busy_units(const SmIndex& index, double cycle) const;

  TraceData data_;
  std::vector<int> focused_;
  std::vector<SmIndex> index_;
  // The runs of each (SM, slot), in order: run_lists_[first_of_list_[sm * slots_ + slot] …).
  std::int32_t slots_ = 1;
  std::vector<std::int32_t> run_lists_;
  std::vector<std::size_t> first_of_list_;
  std::vector<TrafficTable> traffic_sums_;  // exact: sum before each 64th event; otherwise before each bin
  std::vector<CacheContents> l2_sums_;
};

}  // namespace tilescope
