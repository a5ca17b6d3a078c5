// StageLayout: rectangles of the stage, a pure function of the panel's rectangle, the GPU and the program.
//
//   ┌ focus ─────────────────────────────┐ ┌ others ─────────┐
//   │ S   P   m l α  O      registers    │ │ cards, or a grid│
//   │ [Q][K][K][V][V]       shared       │ │ of all SMs      │
//   └──────║────────────────────────║────┘ └──║─║─║──────────┘   ports: one SM, each direction
//   ┌ l2 ──────────────────────────────────────────────────────┐
//   └─────────║──────────║──────────║──────────║───────────────┘   links: one per tensor, each as wide as all of HBM
//   ┌ hbm     Q          K          V          O    (S)  (P)   ┐
//   └──────────────────────────────────────────────────────────┘
//
// Empty boxes keep their position, so nothing moves when values arrive.
#pragma once

#include <optional>
#include <vector>

#include "app/model/run_data/program_shape.h"
#include "app/model/run_data/tile_span.h"
#include "app/ui/widgets.h"
#include "sim/core/gpu_spec.h"

namespace tilescope {

/// Lengths used by the layout, from the theme or fixed in tests.
struct StageMetrics {
  float scale = 1;
  float line = 16;                          // height of a line of ui text
  float small_line = 14;                    // of small text
  float digit = 7;                          // width of a character of the small mono font
  float tiny_digit = 5.5F, tiny_line = 10;  // of the smallest font for numbers in cells
  float large_digit = 8, large_line = 15;   // of the largest one
  float gap = 8, padding = 10;
  bool presented = false;     // the matrices of the SM in focus get what the other SMs and the links can spare
  bool tight = false;         // set by layout_stage(): all else is as low as it can be, so that rows have digits
  float operation_line = 16;  // of the operation, which a class reads from the back of the room
};
StageMetrics stage_metrics(const Theme& theme);

/// Returns the size of a picture in `room`, in pixels: all of it. If much less than `whole` points fit, the picture is simplified,
/// which needs `least`; in less than that it scrolls.
ImVec2 picture_size(ImVec2 room, ImVec2 whole, ImVec2 least, float scale);
/// Returns true if a picture of this size shows everything.
bool is_whole(ImVec2 size, ImVec2 whole, float scale);

/// One buffer of an on-chip tile.
struct ChipTileBox {
  ChipTile chip_tile = ChipTile::none;
  int ring = 0, rings = 1;
  bool folded = false;  // stands for all rings: its cells are the buffers, not values
  bool shared = false;
  int rows = 0, cols = 0;              // of its values
  int shown_rows = 0, shown_cols = 0;  // of the drawn cells; fewer than rows, cols where a cell stands for several values
  std::int64_t bytes = 0;
  Rect box;    // all of it
  Rect label;  // its name, and for shared memory what tile it holds
  Rect cells;
};

/// One SM that is not in focus.
struct SmBox {
  int sm = 0;
  Rect box;
  Rect port;  // its link to the L2, both directions; empty in a grid
};

/// One tensor in HBM.
struct TensorBox : TileCells {
  bool here = true;
  Rect box, label, cells;
  Rect lane;       // its link to the L2; empty when it is not here
  Rect lane_note;  // bytes so far
};

struct StageLayout {
  Rect area;
  Rect focus, focus_title, operation_line;  // the lines are empty where the tiles of a low stage need their room
  Rect registers, shared, shared_label, occupancy;
  std::vector<ChipTileBox> chip_tiles;
  bool stacked = false;     // one row of values: on-chip tiles lie below each other
  Rect port_up, port_down;  // the focused SM's link, L2 to SM and back
  Rect others, others_label;
  bool grid = false;  // others are cells of a grid, the focused one among them
  std::vector<SmBox> sms;
  Rect bundle;  // in a grid: the ports of all SMs together
  bool has_l2 = true;
  Rect l2, l2_label;
  std::vector<Rect> l2_bars;    // one a partition
  Rect upper_note, lower_note;  // bytes so far between L2 and SMs, HBM and L2
  Rect hbm, hbm_label;
  std::vector<TensorBox> tensors;

  /// Returns the box of an on-chip tile's buffer, or nullptr.
  const ChipTileBox* find(ChipTile chip_tile, int ring = 0) const;
  const TensorBox* find(Tensor tensor) const;
};

StageLayout layout_stage(const Rect& area, const GpuSpec& gpu, const ProgramShape& shape, int focus_sm,
                         const StageMetrics& metrics);

/// Places the on-chip tiles of the focused SM: registers in one band with their rows aligned, shared memory below.
void layout_chip_tiles(StageLayout& layout, const ProgramShape& shape, const StageMetrics& metrics);
/// Places the HBM tensors as tile grids, each below its link.
void layout_tensors(StageLayout& layout, const GpuSpec& gpu, const ProgramShape& shape, const StageMetrics& metrics);
/// Returns the part of the smallest font's size that numbers have in rows of this height, 0 for no numbers. Presented, all text is
/// larger, so they may be somewhat smaller than that font and fill their row.
float digits_size(float row_height, const StageMetrics& metrics);
/// Returns the width of a link, proportional to `bytes_per_cycle` within limits.
float link_width(double bytes_per_cycle, const StageMetrics& metrics);

/// The extent along [begin, end) of one of `shown` cells.
struct CellSpan {
  float begin = 0, end = 0;
};
CellSpan cell_span(float begin, float end, int shown, int cell);

}  // namespace tilescope
