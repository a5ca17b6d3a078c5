// RaceLayout: where the two lanes of Race and their counters are.
//
//   ┌ header · progress ──┐ ┌ header · progress ──┐
//   │ all SMs as a strip  │ │                     │
//   │ stage of one SM     │ │                     │
//   │ HBM   ▆▆▆▆▆▆▆▆▆▆    │ │ HBM   ▆▆            │   one scale for both
//   │ cycles ▆▆▆▆▆▆▆      │ │ cycles ▆▆▆          │
//   └─────────────────────┘ └─────────────────────┘
//     verdict: 4.6× fewer HBM bytes · 2.9× fewer cycles
#pragma once

#include <array>

#include "app/views/stage/stage_layout.h"

namespace tilescope {

struct RaceColumn {
  Rect box;
  Rect title, finish;            // name, and the marker once it is done
  Rect strip;                    // every SM as a cell; empty where counters need its room
  Rect stage;                    // empty where there is only room for counters
  std::array<Rect, 3> counters;  // HBM bytes, L2-to-SM bytes, cycles; the last empty where the two need its room
};

struct RaceLayout {
  std::array<RaceColumn, 2> columns;
  Rect verdict;
  Rect reason;  // of it, the last line; empty where there is no room for it
};

/// What a race takes where it is given `room`: more where it is to be scrolled. Much too little room for pictures of the stage is
/// taken as it is, for figures and counters alone.
ImVec2 race_size(ImVec2 room, const StageMetrics& metrics);

/// The verdict is on top, as the finding of every other view is: it must not be scrolled for.
RaceLayout layout_race(const Rect& area, const StageMetrics& metrics);

/// The stage of one lane: SM in focus, L2 and HBM without notes, so that two fit beside each other. Row vectors are left out.
StageLayout layout_lane(const Rect& area, const GpuSpec& gpu, const ProgramShape& shape, const StageMetrics& metrics);

/// The parts of one counter.
struct CounterParts {
  Rect label, value, bar;
};
CounterParts counter_parts(const Rect& counter, const StageMetrics& metrics);

}  // namespace tilescope
