// LaneAt: a lane of a simulation at a step, with the values of its block, for tests that draw one panel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include <doctest/doctest.h>

#include "app/views/view.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

/// A lane at `step`, with the values of its block.
struct LaneAt {
  Lane lane;
  LaneAt(std::shared_ptr<const Simulation> simulation, std::int64_t step, bool values = true) {
    lane.simulation = std::move(simulation);
    const Trace& trace = *lane.simulation->trace;
    lane.focus_sm = trace.focused_sms().front();
    lane.step_count = trace.step_count(lane.focus_sm);
    lane.step = std::min(step, lane.step_count);
    lane.state = lane.rest = trace.state_at(lane.focus_sm, lane.step);
    lane.values_op = lane.rest.op;
    lane.tile_accesses = std::make_shared<const TileAccesses>(*lane.simulation, 0);
    if (lane.rest.run < 0) return;
    const BlockRun& block = trace.runs()[static_cast<std::size_t>(lane.rest.run)];
    auto history = run_block(*lane.simulation->program, InputSource{}, block.launch, block.block);
    REQUIRE(history);
    kept = *history;
    lane.operations = &kept->operations();
    lane.operation = &lane.operations->operations[static_cast<std::size_t>(lane.rest.op)];
    lane.tile_accesses = std::make_shared<const TileAccesses>(*lane.simulation, lane.operations->domain.plane);
    if (values) lane.history = kept;
  }
  std::shared_ptr<const BlockValues> kept;
};

inline const Workspace plain_workspace;

inline View view_of(std::span<const Lane> lanes, const Workspace& workspace = plain_workspace) {
  static Requested requested;
  requested.request = lanes.back().simulation->request;
  View view;
  view.requested = &requested;
  view.workspace = &workspace;
  view.lanes = lanes;
  view.playback.cycle = lanes.back().state.cycle;
  return view;
}

}  // namespace tilescope
