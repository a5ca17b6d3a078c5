// StageContext: the inputs of one stage frame, and its caches.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/model/run_data/stage_facts.h"
#include "app/model/run_data/token_lights.h"
#include "app/ui/quad_batch.h"
#include "app/views/stage/cell_picture.h"
#include "app/views/stage/link_use.h"
#include "app/views/stage/stage_layout.h"
#include "app/views/view.h"

namespace tilescope {

/// An on-chip tile's picture and its cache key.
struct CachedPicture {
  CellValues values;
  CellPicture picture;
};

/// The contents of another SM's card.
struct OtherSm {
  double cycle = -1;
  std::string language;  // of the text: its own name for itself
  TraceState state;
  double done = 0;  // of its block's operations, the part that has ended
  SmActivity activity;
  std::string text;  // what it does, or waits for
};

/// What an on-chip tile holds at the step. An operation in place makes it something else than its name: dP − D, and then dS.
struct HeldValues {
  std::string name;
  Tensor tensor;
};

/// Values derived from the view; each is rebuilt when its inputs change.
struct StageCache {
  std::shared_ptr<const Simulation> simulation;
  int launch = -1, focus_sm = -1;
  ThemeKind theme = ThemeKind::dark;
  Rect area;
  float scale = 0;
  std::shared_ptr<const StageFacts> facts;
  StageLayout layout;
  std::shared_ptr<const TileAccesses> history;  // of the plane shown
  std::vector<BoxAccesses> cells;               // of it, by tensor box
  std::shared_ptr<const BlockValues> values_of;
  int values_op = -2;
  std::array<std::shared_ptr<const Matrix>, most_chip_tiles> now, before;
  std::array<HeldValues, most_chip_tiles> held;
  std::map<int, CachedPicture> pictures;               // by index of the on-chip tile box
  std::map<int, OtherSm> others;                       // by SM
  std::map<std::int32_t, BlockOperations> operations;  // by run, of the other SMs
  const BlockOperations* visited_of = nullptr;         // the key tiles that it visits for a query tile
  std::int32_t visited_for = -1;
  std::vector<std::int32_t> visited;
  std::optional<TokenLights> lights;              // of the step's block, where its warps have roles
  std::shared_ptr<const TimelineData> lights_of;  // what they were made of
  std::int32_t lights_run = -1;
  bool lit_by_us = false;  // the highlighted tensor is hovered here
};

/// One frame.
struct StageContext {
  const View& view;
  const Lane& lane;
  const Theme& theme;
  Commands& commands;
  StageMetrics metrics;
  StageCache& cache;
  ImDrawList* list = nullptr;
  QuadBatch quads;  // under the text
  ImVec2 mouse;
  bool alone = false;               // without other SMs, if room is short (Race, large text)
  bool mouse_here = false;          // over this panel, unobstructed
  std::string tip_title, tip_body;  // of the item under the mouse
  std::optional<Tensor> hovered;
  struct Cell {
    ChipTile chip_tile = ChipTile::none;
    int row = 0, col = 0;
  };
  std::optional<Cell> cell;  // value under the mouse

  const StageLayout& layout() const { return cache.layout; }
  const ProgramShape& shape() const { return cache.facts->shapes[static_cast<std::size_t>(cache.launch)]; }
  const Simulation& simulation() const { return *lane.simulation; }
  const AttentionProblem& problem() const { return simulation().program->problem(); }
  float px(float points) const { return points * theme.scale; }
  /// Whether there is room for what a class reads from the back of the room.
  bool says_large() const { return metrics.presented && !alone; }
  ImFont* name_font() const { return says_large() ? theme.reading_bold : theme.ui_bold; }
  ImFont* total_font() const { return says_large() ? theme.reading_mono : theme.mono_small; }

  bool hit(const Rect& rect) const { return mouse_here && rect.contains(mouse); }
  /// Sets the tooltip and the highlighted tensor.
  void tip(std::string title, std::string body, std::optional<Tensor> tensor = {});
  /// Dims the colour while another tensor is hovered.
  float emphasis(Tensor tensor) const {
    return view.workspace->hovered_tensor && *view.workspace->hovered_tensor != tensor ? 0.45F : 1.0F;
  }
  bool lit(Tensor tensor) const { return view.workspace->hovered_tensor == tensor; }
  /// Highlights the hovered tensor, ends the highlight when the mouse leaves, and shows the tooltip.
  void finish_hover();
  /// Draws the collected `quads`.
  void flush();
  void box(const Rect& rect, bool selected = false);
};

/// Returns the plane (batch x head) of the step's block; 0 before the first step.
std::int64_t plane_of(const Lane& lane);
/// Returns the buffer state of the step's block, or nullptr if unknown.
const ChipTileState* chip_tile_state(const Lane& lane, ChipTile chip_tile, int ring);
/// Returns the operations of a run on another SM, cached while it is shown.
const BlockOperations& operations_of_run(StageContext& context, std::int32_t run);

/// Returns "head 1, query tile 3", adapted to the launch.
std::string block_name(const StageContext& context, int launch, std::int64_t block);
/// Returns which key tile of `all` the block works on, in its order: "2 (3/4)", or "2 (3 of 5 visited, 256 in all)" where a mask
/// leaves some out. The number of a block that begins with the last tile goes down, and it says so: "14 (2 of 16, last tile
/// first)". Without a mask, `masked` is false: a block of a product then works on one tile of all.
std::string key_tile_text(const std::vector<std::int32_t>& visited, std::int32_t tile, std::int64_t all, bool masked);
/// Returns how many boxes of TMA lie side by side in a tile of a tensor with `cols` columns; 0 where TMA does not fetch it.
int box_columns(const StageContext& context, Tensor tensor, std::int64_t cols);
/// Returns the listing text of `operation`.
std::string operation_text(const Simulation& simulation, const Operation& operation);
/// Returns `resident` over the L2's usable capacity; 1 is full.
double l2_share(const GpuSpec& gpu, double resident);
/// Returns "60 MiB, 28 % full", or "16.7 of 58.7 MiB usable" if less is usable than reported.
std::string l2_fill_text(const GpuSpec& gpu, double resident);
/// Returns "copies 1.5 MiB": what of the L2's bytes are copies, in the units of the text above.
std::string l2_copies_text(double copies);
/// Returns from where to where the L2's first bar shows a tensor; at its beginning where the L2 holds nothing of it.
CellSpan span_in_l2(const StageContext& context, Tensor tensor);
/// Eases motion in and out; keeps 0 and 1.
float ease(float t);

/// Draws the whole stage on `area` and updates the caches.
void draw_stage(StageContext& context, const Rect& area);
// Parts of the stage, back to front.
/// Whether the SM in focus has no block any more.
bool is_block_over(const Lane& lane);
void draw_focus_box(StageContext& context);
void draw_chip_tiles(StageContext& context);
void draw_operation(StageContext& context);
/// Returns the step's operation, or between two steps the one that its block then executes; null if nothing runs, so that nothing
/// glows between launches or after the end.
const Operation* running_operation(const Lane& lane);
/// Shows whose turn it is to issue products, where groups take turns.
void draw_turn(StageContext& context);
void draw_occupancy(StageContext& context);  // shared memory of all resident blocks against what the SM has, over the arrows
/// Outlines the rows behind the value under the mouse: a score's query and key, an output's probabilities.
void draw_origin(StageContext& context);
void draw_other_sms(StageContext& context);
/// Returns how full an on-chip tile of a block is, 0 to 1, as the SM in focus draws it: zeros and what an earlier key tile left are
/// nothing. `one_group`: all warps of the block do the same.
float chip_tile_fullness(const BlockOperations& block, bool one_group, const TraceState& state, std::int32_t run,
                         ChipTile chip_tile);
void draw_links(StageContext& context);
void draw_l2(StageContext& context);
void draw_hbm(StageContext& context);
void draw_flights(StageContext& context);

}  // namespace tilescope
