// SmLanes: which block ran where and when, sorted by SM and place, simulated or measured; SmWork: what one SM did in its blocks.
//
//   a place (slot) holds one block after another, so that its runs never overlap
//   an SM's share of use is also kept as a running sum over equal bins: where blocks are too many to be gone through in a frame,
//   how busy any stretch was is the difference of two of its entries
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "app/model/run_data/timeline_axis.h"
#include "app/model/run_data/timeline_data.h"

namespace tilescope {

struct ProbeResult;

struct SmLanes {
  int sm_count = 0, places = 1;
  std::vector<BlockRun> runs;        // by SM, place, start
  std::vector<std::size_t> first;    // of each place: runs[first[p] … first[p + 1]); p = sm * places + place
  std::vector<float> used;           // sm * (bins + 1) + bin: what was used of the SM before the bin, in bins
  int bins = 0;                      // 0 where blocks are so few that all can be gone through
  std::vector<LaunchTime> launches;  // from the first block's start to the last one's end
  std::vector<int> places_of;        // by launch: the most blocks of it that an SM held at once
  std::vector<Tensor> made;          // by launch: the tensor that it writes most of, whose colour its blocks wear
  std::vector<int> hardware_sm;      // by SM, where they were measured: its number on the hardware; empty otherwise
  double end = 0;
  bool complete = true;  // false: so many blocks that the trace left some out

  std::span<const BlockRun> of(int sm, int place) const {
    const auto p = static_cast<std::size_t>(sm) * static_cast<std::size_t>(places) + static_cast<std::size_t>(place);
    return std::span(runs).subspan(first[p], first[p + 1] - first[p]);
  }
  /// Runs of a place that may be seen in [from, to]: indices into `runs`.
  std::pair<std::size_t, std::size_t> visible(int sm, int place, double from, double to) const;
  /// The running sums of an SM, in bins: 1 a bin where all places that the launch has there are taken.
  const float* used_by(int sm) const { return used.data() + static_cast<std::size_t>(sm) * (static_cast<std::size_t>(bins) + 1); }
  /// The last launch that has begun by then.
  int launch_at(double cycle) const;
  /// The run of a place at `cycle`, an index into `runs`.
  std::optional<std::size_t> at(int sm, int place, double cycle) const;
};

/// The tensor of which a launch writes most: its blocks wear that one's colour.
Tensor made_by(const Simulation& simulation, int launch);
SmLanes make_sm_lanes(const Simulation& simulation);
/// Blocks as a real kernel recorded them, in cycles of the SM's clock. An SM of the hardware stands where the simulation put the
/// first block that it ran: the numbers of SMs on a chip say nothing about the order in which blocks are dealt.
SmLanes make_sm_lanes(const ProbeResult& probe, const SmLanes& simulated);

/// How much of each column of a row blocks take, 0 … 1 of the places that their launch has on the row's SMs.
struct SmDensity {
  int columns = 0;
  std::vector<float> level;
  std::vector<std::uint8_t> edge;  // a block begins here, and blocks are wide enough to be told apart
};
/// `count` equal parts of a window, and what all rows ask of them alike.
struct SmColumns {
  TimeWindow window;
  int count = 0;
  std::vector<int> launch;  // that is under way in the middle of each
  struct Edge {
    std::uint32_t bin = 0;
    float part = 0;  // of the bin, before the edge
  };
  std::vector<Edge> edges;  // one more than columns; empty where blocks are few enough to go through them
};
SmColumns make_sm_columns(const SmLanes& lanes, const TimeWindow& window, int count);
/// One row of SMs [first, last). Cost grows with the columns, and with the runs seen where these are few.
SmDensity sm_density(const SmLanes& lanes, int first, int last, const SmColumns& columns);

/// What one SM did: its intervals as lanes, one a place, loads apart.
struct SmWork {
  std::shared_ptr<const Simulation> simulation;  // whose trace has the SM in focus
  StepIndex steps;
  std::vector<UnitLane> places;

  struct Waits {
    WaitCause cause = WaitCause::none;  // what the block waited for longest
    double cycles = 0;
  };
  Waits longest_wait(const BlockRun& block) const;
};
std::shared_ptr<const SmWork> make_sm_work(std::shared_ptr<const Simulation> simulation, int sm);

/// What is known of the SMs' insides, by SM; null where nobody looked.
struct SmWorks {
  std::vector<std::shared_ptr<const SmWork>> by_sm;
  const SmWork* of(int sm) const {
    return sm < static_cast<int>(by_sm.size()) ? by_sm[static_cast<std::size_t>(sm)].get() : nullptr;
  }
};

/// How many SMs a trace can hold beside the one in focus, by what that one did.
int sms_that_can_be_looked_into(const Simulation& simulation);
/// The SMs of [first, last) and, where there is room, of all: each from the simulation's own trace, else from one more simulation
/// that has them in focus. Takes as long as simulating. Errors  cancelled
Result<SmWorks> look_into_sms(const std::shared_ptr<const Simulation>& simulation, int first, int last, const Progress& progress);

}  // namespace tilescope
