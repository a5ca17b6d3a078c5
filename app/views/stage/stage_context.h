// StageContext: what one frame of the stage reads, and what it keeps between frames so that nothing is worked out twice.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/model/stage_facts.h"
#include "app/ui/quad_batch.h"
#include "app/views/stage/cell_picture.h"
#include "app/views/stage/stage_layout.h"
#include "app/views/view.h"

namespace tilescope {

/// A slot's picture and what it was made from.
struct CachedPicture {
  CellValues values;
  CellPicture picture;
};

/// What another SM shows on its card.
struct OtherSm {
  double cycle = -1;
  TraceState state;
};

/// Everything derived from the view; a field is made again when what it depends on has changed.
struct StageCache {
  std::shared_ptr<const Simulation> simulation;
  int launch = -1, focus_sm = -1;
  ThemeKind theme = ThemeKind::dark;
  Rect area;
  float scale = 0;
  std::shared_ptr<const StageFacts> facts;
  StageLayout layout;
  std::shared_ptr<const TileHistory> history;  // of the plane shown
  std::vector<BoxHistory> cells;               // of it, by tensor box
  std::shared_ptr<const BlockHistory> values_of;
  int values_op = -2;
  std::array<std::shared_ptr<const Matrix>, most_slots> now, before;
  std::map<int, CachedPicture> pictures;               // by index of the slot box
  std::map<int, OtherSm> others;                       // by SM
  std::map<std::int32_t, BlockOperations> operations;  // by run, of the other SMs
  bool lit_by_us = false;                              // the tensor that is lit everywhere is the one hovered here
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
  bool alone = false;               // without the other SMs, for want of room (Race, large text)
  bool mouse_here = false;          // over this panel, and nothing in front of it
  std::string tip_title, tip_body;  // of what is under the mouse
  std::optional<Tensor> hovered;
  struct Cell {
    Slot slot = Slot::none;
    int row = 0, col = 0;
  };
  std::optional<Cell> cell;  // value under the mouse

  const StageLayout& layout() const { return cache.layout; }
  const ProgramShape& shape() const { return cache.facts->shapes[static_cast<std::size_t>(cache.launch)]; }
  const Simulation& simulation() const { return *lane.simulation; }
  const AttentionProblem& problem() const { return simulation().program->problem(); }
  float px(float points) const { return points * theme.scale; }

  bool hit(const Rect& rect) const { return mouse_here && rect.contains(mouse); }
  /// Sets the tooltip, and the tensor that lights up everywhere.
  void tip(std::string title, std::string body, std::optional<Tensor> tensor = {});
  /// Dimmed while another tensor is hovered.
  float emphasis(Tensor tensor) const {
    return view.workspace->hovered_tensor && *view.workspace->hovered_tensor != tensor ? 0.45F : 1.0F;
  }
  bool lit(Tensor tensor) const { return view.workspace->hovered_tensor == tensor; }
  /// Asks for the hovered tensor to be lit, and to be put out when the mouse has left; shows the tooltip.
  void finish_hover();
  /// Draws what is in `quads` so far.
  void flush();
  void box(const Rect& rect, bool selected = false);
};

/// The plane (batch x head) of the step's block; 0 before the first step.
std::int64_t plane_of(const Lane& lane);
/// The state of the buffer that belongs to the step's block; nullptr where nothing is known of it.
const SlotState* slot_state(const Lane& lane, Slot slot, int ring);
/// Operations of a run on another SM, kept for as long as it is shown.
const BlockOperations& operations_of_run(StageContext& context, std::int32_t run);

/// "head 1, query tile 3" in the words that fit the launch.
std::string block_name(const StageContext& context, int launch, std::int64_t block);
/// What `operation` does, as its line of the listing says it.
std::string operation_text(const Simulation& simulation, const Operation& operation);
/// How much of what the L2 can hold `resident` bytes are; 1 is full.
double l2_share(const GpuSpec& gpu, double resident);
/// "60 MiB, 28 % full"; "16.7 MiB of 58.7 MiB" where not all of what is reported can hold data.
std::string l2_fill_text(const GpuSpec& gpu, double resident);
/// Eases motion in and out; 0 and 1 stay.
float ease(float t);
/// `text` with each "{}" replaced in turn, so that a translation can order its words.
std::string fill_in(std::string text, std::initializer_list<std::string> values);

/// All of the picture on `area`, its cache brought up to date.
void draw_stage(StageContext& context, const Rect& area);
// Its parts, from the back to the front.
void draw_focus_box(StageContext& context);
void draw_slots(StageContext& context);
void draw_operation(StageContext& context);
void draw_occupancy(StageContext& context);  // shared memory of all resident blocks against what the SM has, over the arrows
/// Outlines the rows that the value under the mouse was made from: a score's query and key, an output's probabilities.
void draw_origin(StageContext& context);
void draw_other_sms(StageContext& context);
void draw_links(StageContext& context);
void draw_l2(StageContext& context);
void draw_hbm(StageContext& context);
void draw_flights(StageContext& context);

}  // namespace tilescope
