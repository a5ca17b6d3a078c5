// TimelineData: the intervals of one SM sorted into lanes, and bandwidth over time, laid out for drawing any stretch quickly.
//
//   bars     every interval of a lane in order of start, on a sub-track where several overlap (loads in flight)
//   series   the same, by tensor, as disjoint stretches with running sums: how busy any stretch was costs two binary searches
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "app/model/run_data/step_index.h"
#include "sim/analysis/tensor_bubbles.h"
#include "sim/engine/simulation.h"

namespace tilescope {

struct StageFacts;  // app/model/run_data/stage_facts.h

inline constexpr std::array<Unit, 5> timeline_units = {Unit::copy, Unit::tensor, Unit::exp, Unit::fp32, Unit::store};

struct LaneBar {
  double start = 0, end = 0;
  std::int32_t interval = 0;  // index into Trace::intervals(sm)
  std::int32_t track = 0;
};

/// When a lane worked on one tensor.
struct LaneSeries {
  Tensor tensor;
  std::vector<double> starts, ends;  // disjoint, in order
  std::vector<double> before;        // cycles busy before starts[i]

  double busy_until(double cycle, std::size_t& hint) const;
  double busy_between(double from, double to) const;
};

struct UnitLane {
  Unit unit = Unit::copy;
  // Of a lane that shows what one warp group does: its number and name. Other lanes show a unit.
  int group = -1;
  bool asks = false;  // it shows the group's requests for copies, and nothing else that the group does
  std::string_view name = {};
  int tracks = 1;
  std::vector<LaneBar> bars;
  std::vector<double> latest_end;  // of bars 0 … i, so that the first visible bar is a binary search away
  std::vector<LaneSeries> series;

  /// Returns whether the lane has a bar for the interval.
  bool shows(const Interval& interval) const {
    if (group < 0) return interval.unit == unit;
    if (asks) return interval.group == group && interval.unit == Unit::copy;
    return interval.group == group && interval.unit != Unit::copy && interval.unit != Unit::store;
  }
  /// Indices [first, last) of bars that may be seen in [from, to].
  std::pair<std::size_t, std::size_t> visible(double from, double to) const;
};

/// Bytes that crossed a level in each bin, as running sums.
struct BandwidthCurve {
  double bin_width = 0;
  std::vector<double> before;   // bytes before bin i; one more entry than bins
  double ceiling = 0;           // bytes a cycle; 0 where the GPU has no such level
  double unshared_ceiling = 0;  // of the L2: what it looks up, the ceiling of reads that share no lookup; 0: none
  double rate_between(double from, double to) const;  // bytes a cycle
};

struct TimelineData {
  std::shared_ptr<const StepIndex> steps;
  /// Copy first. Then the units; or, where a block's warps have roles, the group that asks for copies, the tensor cores, the groups
  /// that compute, exponentials and stores.
  std::vector<UnitLane> lanes;
  TensorBubbles bubbles;  // where warps have roles
  BandwidthCurve hbm, l2;
  double end = 0;
  std::shared_ptr<const StageFacts> stage_facts;  // what the stage wants to know, made off the frame on the same occasion
};

/// Makes a lane of bars that are in order of start. `labels` name the tensor of each interval.
UnitLane make_lane(Unit unit, std::vector<LaneBar> bars, std::span<const StepLabel> labels);
BandwidthCurve make_curve(const TimeBins& bins, std::span<const std::vector<double>> by_link, double ceiling);
TimelineData make_timeline(const Simulation& simulation, std::shared_ptr<const StepIndex> steps);

/// One column of pixels of a lane, zoomed out: the two tensors that it was busiest with.
struct DensityColumn {
  std::array<Tensor, 2> tensor{};
  std::array<float, 2> share{};  // of the column's time, 0 … 1
};
/// `columns` equal columns of [from, to]. Cost grows with columns, hardly with bars.
std::vector<DensityColumn> density(const UnitLane& lane, double from, double to, int columns);

}  // namespace tilescope
