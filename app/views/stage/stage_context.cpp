// Updates the stage's caches and answers queries about the step.
#include "app/views/stage/stage_context.h"

#include "app/model/run_data/step_index.h"
#include "app/model/run_data/timeline_data.h"
#include "app/ui/say.h"
#include "app/ui/short_line.h"
#include "app/ui/widgets.h"
#include "app/views/stage/race_layout.h"
#include "sim/engine/instructions.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

namespace tilescope {

namespace {

bool same(const Rect& a, const Rect& b) {
  return a.min.x == b.min.x && a.min.y == b.min.y && a.max.x == b.max.x && a.max.y == b.max.y;
}

void forget_values(StageCache& cache) {
  cache.values_of = nullptr;
  cache.values_op = -2;
  cache.now = {};
  cache.before = {};
  cache.held = {};
}

/// Keeps the previous plane until the next one's history arrives.
void update_history(StageContext& context) {
  StageCache& cache = context.cache;
  if (!cache.history) cache.history = std::make_shared<const TileAccesses>();
  if (!context.lane.tile_accesses || context.lane.tile_accesses == cache.history) return;
  cache.history = context.lane.tile_accesses;
  cache.cells.clear();
}

}  // namespace

void StageContext::tip(std::string title, std::string body, std::optional<Tensor> tensor) {
  tip_title = std::move(title);
  tip_body = std::move(body);
  if (tensor) hovered = tensor;
}

void StageContext::finish_hover() {
  if (!tip_title.empty()) show_tooltip(theme, tip_title, tip_body);
  if (!mouse_here && !cache.lit_by_us) return;
  if (view.lesson.revealing) hovered.reset();  // a mouse that rests where it pointed dims nothing of what the class now watches
  if (hovered != view.workspace->hovered_tensor) commands.push(HoverTensor{hovered});
  cache.lit_by_us = hovered.has_value();
}

void StageContext::flush() {
  draw_quads(list, std::move(quads));
  quads = {};
}

void StageContext::box(const Rect& rect, bool selected) {
  quads.add({.min = rect.min,
             .max = rect.max,
             .radius = theme.rounding,
             .fill = theme.inset,
             .border = selected ? theme.accent : theme.inset_border,
             .border_width = selected ? px(1.6F) : px(1)});
}

namespace {

/// Updates the caches for a stage of `area`.
void update_stage_cache(StageContext& context, const Rect& area) {
  StageCache& cache = context.cache;
  const Simulation& simulation = context.simulation();
  const bool new_simulation = cache.simulation != context.lane.simulation;
  if (new_simulation) {
    cache = {};
    cache.simulation = context.lane.simulation;
    if (context.lane.timeline) cache.facts = context.lane.timeline->stage_facts;
    if (!cache.facts) cache.facts = std::make_shared<const StageFacts>(make_stage_facts(simulation));
  }
  // The launch of the current step; between launches, the last one.
  const int launch = std::clamp(context.lane.operations ? context.lane.operations->launch : context.lane.rest.launch, 0,
                                static_cast<int>(cache.facts->shapes.size()) - 1);
  const bool new_layout = new_simulation || cache.launch != launch || cache.focus_sm != context.lane.focus_sm ||
                          !same(cache.area, area) || cache.scale != context.theme.scale;
  if (cache.theme != context.theme.kind) cache.pictures.clear();
  cache.theme = context.theme.kind;
  if (new_layout) {
    cache.launch = launch;
    cache.focus_sm = context.lane.focus_sm;
    cache.area = area;
    cache.scale = context.theme.scale;
    const GpuSpec& gpu = simulation.request.gpu;
    cache.layout = context.alone ? layout_lane(area, gpu, context.shape(), context.metrics, !context.view.playback.race)
                                 : layout_stage(area, gpu, context.shape(), cache.focus_sm, context.metrics);
    cache.pictures.clear();
    cache.cells.clear();
  }
  update_history(context);
  if (cache.cells.empty()) {
    for (const TensorBox& box : cache.layout.tensors) cache.cells.push_back(box.here ? cache.history->cells(box) : BoxAccesses());
  }
}

/// Returns what the tile holds after operation `op`, as the listing names it.
HeldValues held_at(const StageContext& context, ChipTile tile, int op) {
  HeldValues held{std::string(to_string(tile)), tensor_of(tile)};
  const std::vector<Operation>& all = context.lane.operations->operations;
  const auto begin = std::make_reverse_iterator(all.begin() + std::min(op + 1, static_cast<int>(all.size())));
  const auto wrote = std::find_if(begin, all.rend(), [&](const Operation& o) { return o.dst == tile; });
  if (wrote == all.rend() || (wrote->kind != OpKind::subtract_rows && wrote->kind != OpKind::multiply)) return held;
  constexpr std::string_view equals = " = ";
  const std::string_view formula = context.simulation().info->listing[wrote->line - 1U].formula;
  const std::size_t at = formula.find(equals);
  if (at == std::string_view::npos) return held;
  if (wrote->kind == OpKind::subtract_rows) {
    held.name = formula.substr(at + equals.size());
    return held;
  }
  const Tensor own = held.tensor;
  for (const Tensor tensor : context.simulation().program->tensors())
    if (to_string(tensor) == formula.substr(0, at) && tensor->rows == own->rows && tensor->cols == own->cols)
      held = {std::string(to_string(tensor)), tensor};
  return held;
}

/// Caches the on-chip tiles' values at the step.
void update_stage_values(StageContext& context) {
  StageCache& cache = context.cache;
  const auto& history = context.lane.history;
  const int op = context.lane.values_op;
  if (!history || !context.lane.operations || context.lane.rest.op < 0) return forget_values(cache);
  if (cache.values_of != history || cache.values_op != op) {
    cache.values_of = history;
    cache.values_op = op;
    const auto& launches = context.simulation().program->launches();
    const bool one_group = launches[static_cast<std::size_t>(context.lane.operations->launch)].needs.groups.empty();
    for (ChipTile tile : context.simulation().program->schema().tiles) {
      // What an earlier key tile left behind says nothing about this one.
      const bool left_over =
          one_group && op >= 0 && !is_shared(*context.lane.operations, tile) && is_left_over(*context.lane.operations, op, tile);
      cache.now[tile.index()] = left_over ? nullptr : history->value(tile, op);
      cache.before[tile.index()] = history->value(tile, history->before(op));
      cache.held[tile.index()] = op >= 0 && !left_over ? held_at(context, tile, op) : HeldValues();
    }
  }
  const float blend = ease(static_cast<float>(context.view.playback.motion));
  const Operation* operation = context.lane.operation;
  const auto& boxes = cache.layout.chip_tiles;
  int row_digits = 4;  // of the statistics of a row: as many as the narrowest column has room for
  for (const ChipTileBox& box : boxes)
    if (const int digits = box.cols == 1 ? digits_of_cell(box, context.theme, context.metrics) : 0; digits > 0)
      row_digits = std::min(row_digits, digits);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const ChipTileBox& box = boxes[i];
    const auto chip_tile = box.chip_tile.index();
    CellValues values{cache.now[chip_tile], cache.before[chip_tile], 1, nullptr, nullptr};
    const ChipTileState* state = box.shared ? chip_tile_state(context.lane, box.chip_tile, box.ring) : nullptr;
    if (box.shared) {
      // A ring holds future tiles, so each buffer shows what its own load or operation wrote.
      const bool held = state && state->valid && !box.folded && history->at_hand(box.chip_tile, state->op);
      values.now = held ? history->value(box.chip_tile, state->op) : nullptr;
      values.before = values.now;
      const int before = held && state->arriving ? history->before(state->op) : -1;
      if (before >= 0 && history->at_hand(box.chip_tile, before)) {  // an operation is writing it
        values.before = history->value(box.chip_tile, before);
        values.blend = ease(static_cast<float>(state->progress));
      }
    } else if (operation && operation->dst == box.chip_tile && operation->kind == OpKind::load) {
      values.now = values.before = history->value(box.chip_tile, context.lane.rest.op);
    } else if (operation && operation->dst == box.chip_tile) {
      values.blend = blend;
      if (operation->kind == OpKind::rescale) {
        values.drain = cache.now[operation->src[0].index()];
        if (operation->src[1] != ChipTile::none) values.drain_too = cache.now[operation->src[1].index()];
      }
    } else {
      values.before = values.now;
    }
    if (!box.shared) values.tensor = cache.held[chip_tile].tensor;
    CachedPicture& cached = cache.pictures[static_cast<int>(i)];
    if (cached.picture.quads && cached.values == values) continue;
    cached.values = values;
    cached.picture = make_cell_picture(box, values, context.theme, context.metrics, box.cols == 1 ? row_digits : 4);
  }
}

}  // namespace

std::int64_t plane_of(const Lane& lane) {
  return lane.operations ? lane.operations->domain.plane : 0;
}

int box_columns(const StageContext& context, Tensor tensor, std::int64_t cols) {
  const TileProgram& program = *context.simulation().program;
  const bool by_tma = program.launches()[static_cast<std::size_t>(context.cache.launch)].needs.uses_tma;
  if (!by_tma || cols <= 1 || !program.schema().reads(tensor)) return 0;
  return static_cast<int>(ceil_div(cols * element_bytes(context.problem().dtype), swizzle_bytes));
}

const ChipTileState* chip_tile_state(const Lane& lane, ChipTile chip_tile, int ring) {
  const ChipTileState* found = nullptr;
  for (const ChipTileState& state : lane.state.chip_tiles) {
    if (state.chip_tile != chip_tile || state.ring != ring) continue;
    if (lane.rest.run < 0 || state.run == lane.rest.run) found = &state;
  }
  return found;
}

const BlockOperations& operations_of_run(StageContext& context, std::int32_t run) {
  auto& kept = context.cache.operations;
  const auto found = kept.find(run);
  if (found != kept.end()) return found->second;
  if (kept.size() > 32) kept.clear();
  const BlockRun& block = context.simulation().trace->runs()[static_cast<std::size_t>(run)];
  BlockOperations& operations = kept[run];
  context.simulation().program->emit_block(block.launch, block.block, operations);
  return operations;
}

std::string block_name(const StageContext& context, int launch, std::int64_t block) {
  const AttentionProblem& problem = context.problem();
  const BlockMap& map = context.cache.facts->maps[static_cast<std::size_t>(launch)];
  // Blocks of two kinds are not in line.
  const auto domain = map.known() ? std::nullopt : context.simulation().program->domain_of(launch, block);
  if (!map.known() && !domain) return say(tr("block {}"), std::to_string(block));
  const LaunchSpec& spec = context.simulation().program->launches()[static_cast<std::size_t>(launch)];
  const TileShape& shape = context.simulation().program->tile();
  const bool keys = (domain ? domain->axis : spec.axis) == Axis::key;
  const std::int64_t plane = domain ? domain->plane : map.plane(block), heads = keys ? problem.kv_heads : problem.heads;
  const std::int64_t first_row = domain ? domain->first : map.first_row(block);
  std::string name = say(tr("head {}"), std::to_string(plane % heads));
  if (problem.batch > 1) name = say(tr("batch {}"), std::to_string(plane / heads)) + ", " + name;
  const std::int64_t rows = keys ? shape.block_kv : shape.block_q;
  // A block that owns all rows walks their tiles itself.
  if (spec.blocks() == problem.batch * heads && (keys ? problem.seq_kv : problem.seq_q) > rows) return name;
  const std::int64_t own = domain ? domain->count : map.rows(), all = keys ? problem.seq_kv : problem.seq_q;
  // Several blocks share such a tile, so its number would not tell them apart.
  if (own < rows && own < all) {
    const std::string first = std::to_string(first_row), last = std::to_string(std::min(first_row + own, all) - 1);
    return name + ", " + say(keys ? tr("keys {} to {}") : tr("rows {} to {}"), first, last);
  }
  const std::string tile = std::to_string(first_row / std::max<std::int64_t>(rows, 1));
  return name + ", " + say(keys ? tr("key tile {}") : tr("query tile {}"), tile);
}

std::string operation_text(const Simulation& simulation, const Operation& operation) {
  const auto& listing = simulation.info->listing;
  if (operation.line < 1 || operation.line > listing.size()) return std::string(to_string(operation.kind));
  std::string text = listing_text(listing[operation.line - 1U].text);
  // A line can stand for far more than it says, and then takes most of a launch.
  if (!moves_tile(operation.kind) && beside_is_telling(operation.instructions))
    text.append(operation.shared_round_trips > 0 ? tr(" + shuffles") : tr(" + set-up"));
  return text;
}

float ease(float t) {
  t = std::clamp(t, 0.0F, 1.0F);
  return t * t * (3 - 2 * t);
}

void draw_stage(StageContext& context, const Rect& area) {
  update_stage_cache(context, area);
  update_stage_values(context);
  draw_focus_box(context);
  draw_chip_tiles(context);
  draw_turn(context);
  if (!context.alone) draw_other_sms(context);
  draw_l2(context);
  draw_hbm(context);
  draw_links(context);
  if (!is_block_over(context.lane)) draw_operation(context);
  draw_occupancy(context);
  draw_flights(context);
}

}  // namespace tilescope
