// RaceLayout: rectangles of the two sides of Race and their counters.
//
//   ┌ header · progress ──┐ ┌ header · progress ──┐
//   │ all SMs as a strip  │ │                     │
//   │ stage of one SM     │ │                     │
//   │ HBM   ▆▆▆▆▆▆▆▆▆▆    │ │ HBM   ▆▆            │   one scale for both
//   │ cycles ▆▆▆▆▆▆▆      │ │ cycles ▆▆▆          │
//   └─────────────────────┘ └─────────────────────┘
//     verdict: 1/4.6 of the HBM traffic · 2.9× faster
//     exactness: O of both and their difference, above the columns
#pragma once

#include <array>

#include "app/views/stage/stage_layout.h"

namespace tilescope {

struct RaceColumn {
  Rect box;
  Rect title, finish;            // name, and the finish marker
  Rect strip;                    // every SM as a cell; empty if counters need the room
  Rect stage;                    // empty if there is only room for counters
  std::array<Rect, 3> counters;  // HBM bytes, L2↔SM bytes, cycles; the last empty if room is short
};

struct RaceLayout {
  std::array<RaceColumn, 2> columns;
  Rect verdict;
  bool two_lines = false;  // the words of its figures take two
  Rect reason;             // last line of the verdict; empty if there is no room
  Rect exactness;          // O of both runs, below the verdict; empty if the stages need the room
};

/// Returns the size of a race in `room`; larger than `room` if it scrolls. In very little room only figures and counters remain.
/// `held`: its figures are kept back, so that it needs less.
ImVec2 race_size(ImVec2 room, const StageMetrics& metrics, bool held = false);

/// What is shown of the outputs of both runs: nothing, a sentence that says why they are not compared, or pictures.
enum class RaceOutputs { none, sentence, pictures };

/// Places the verdict on top, so that it needs no scrolling, and O of both runs below it or beside it.
RaceLayout layout_race(const Rect& area, const StageMetrics& metrics, RaceOutputs outputs = RaceOutputs::none, bool held = false);

/// Places the stage of one side: SM in focus, L2 and HBM without notes or row vectors, so that two fit.
StageLayout layout_lane(const Rect& area, const GpuSpec& gpu, const ProgramShape& shape, const StageMetrics& metrics,
                        bool with_columns = false);

/// Places the parts of one counter: side by side, or its bar below its words where the column is narrow.
struct CounterParts {
  Rect label, value, bar;
};
CounterParts counter_parts(const Rect& counter, const StageMetrics& metrics);

}  // namespace tilescope
