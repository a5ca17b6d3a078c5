// Shows the step's operation: glowing operands, arrows to the result, an outlined result.
#include <algorithm>
#include <cmath>

#include "app/views/stage/stage_context.h"

namespace tilescope {

namespace {

void glow(StageContext& context, const ChipTileBox& box, bool result) {
  const Rect& rect = box.shared ? box.box : box.cells;
  const ImU32 color = context.theme.color(tensor_of(box.chip_tile));
  const float out = context.px(box.shared ? 0 : 2);
  context.quads.add({.min = {rect.min.x - out, rect.min.y - out},
                     .max = {rect.max.x + out, rect.max.y + out},
                     .radius = context.px(5),
                     .border = result ? context.theme.text : color,
                     .border_width = context.px(result ? 1.6F : 1.4F),
                     .glow = context.px(9),
                     .glow_color = with_alpha(color, result ? 0.75F : 0.55F),
                     .dashed = false});
}

ImVec2 below(const ChipTileBox& box) {
  return {box.cells.center().x, box.cells.max.y};
}

/// Draws an arrow. From shared memory it rises; between registers it dips below them.
void draw_arrow(StageContext& context, const ChipTileBox& from, const ChipTileBox& to) {
  const ImU32 color = with_alpha(context.theme.color(tensor_of(to.chip_tile)), 0.95F);
  const float dip = context.px(15), head = context.px(5), thickness = context.px(2);
  ImVec2 start, end, first, second;
  // Straight up or down through the line above the buffers, whose words stay readable so.
  const float above = context.layout().shared_label.min.y;
  const auto riser = [&](ImVec2& buffer) {
    context.list->AddLine(buffer, {buffer.x, above}, color, thickness);
    buffer.y = above;
  };
  if (from.shared == to.shared && from.box.min.y != to.box.min.y) {  // strips below each other
    const bool down = from.box.min.y < to.box.min.y;
    start = {from.cells.min.x + context.px(12), down ? from.box.max.y : from.box.min.y};
    end = {start.x, down ? to.box.min.y : to.box.max.y};
    first = start;
    second = end;
    context.list->AddLine(start, end, color, thickness);
    const float tail = down ? -head : head;
    context.list->AddTriangleFilled(end, {end.x - head * 0.8F, end.y + tail}, {end.x + head * 0.8F, end.y + tail}, color);
    return;
  }
  if (from.shared && !to.shared) {
    start = {from.box.center().x, from.box.min.y};
    riser(start);
    end = below(to);
    first = {start.x, start.y - dip};
    second = {end.x, end.y + dip};
  } else if (!from.shared && to.shared) {
    start = below(from);
    end = {to.box.center().x, to.box.min.y};
    first = {start.x, start.y + dip};
    second = {end.x, end.y - dip};
  } else {
    start = from.shared ? ImVec2{from.box.center().x, from.box.min.y} : below(from);
    end = to.shared ? ImVec2{to.box.center().x, to.box.min.y} : below(to);
    const float side = from.shared ? -dip : dip;
    first = {start.x, start.y + side};
    second = {end.x, end.y + side};
  }
  const float tail = to.shared ? -head : head;
  context.list->AddBezierCubic(start, first, second, {end.x, end.y + tail}, color, thickness);
  context.list->AddTriangleFilled({end.x, end.y}, {end.x - head * 0.8F, end.y + tail * 1.3F},
                                  {end.x + head * 0.8F, end.y + tail * 1.3F}, color);
}

/// Outlines one row (or column) of an on-chip tile's cells.
void outline(StageContext& context, const ChipTileBox* box, int row, int col) {
  if (!box || box->folded) return;
  Rect rect = box->cells;
  if (row >= 0) rect = row_rect(*box, std::min(row, box->rows - 1));
  if (col >= 0) {
    const CellSpan x =
        cell_span(rect.min.x, rect.max.x, box->shown_cols, cell_of(std::min(col, box->cols - 1), box->cols, box->shown_cols));
    rect.min.x = x.begin;
    rect.max.x = x.end;
  }
  context.quads.add({.min = {rect.min.x - 1, rect.min.y - 1},
                     .max = {rect.max.x + 1, rect.max.y + 1},
                     .radius = context.px(2),
                     .border = context.theme.text,
                     .border_width = context.px(1.5F)});
}

/// Returns the buffer with the step's key tile, or nullptr if it was replaced.
const ChipTileBox* key_buffer(const StageContext& context, ChipTile chip_tile) {
  const Operation* operation = context.lane.operation;
  const ChipTileState* state = operation ? chip_tile_state(context.lane, chip_tile, operation->ring) : nullptr;
  const std::int64_t rows = context.simulation().program->tile().block_kv;
  if (!state || !state->valid || state->tile.row / rows != operation->kv_tile) return nullptr;
  return context.layout().find(chip_tile, operation->ring);
}

}  // namespace

void draw_origin(StageContext& context) {
  const StageLayout& layout = context.layout();
  const auto [chip_tile, row, col] = *context.cell;
  const Schema& schema = context.simulation().program->schema();
  if (chip_tile.is(Meaning::score)) {  // S[r, c] is row r of Q times row c of K
    outline(context, layout.find(schema.tile(Meaning::query)), row, -1);
    outline(context, key_buffer(context, schema.tile(Meaning::key)), col, -1);
  } else if (chip_tile.tensor().means(Meaning::output)) {  // O[r, c] is row r of P times column c of V
    outline(context, layout.find(schema.tile(Meaning::probability)), row, -1);
    outline(context, key_buffer(context, schema.tile(Meaning::value)), -1, col);
  } else if (chip_tile.is(Meaning::probability)) {
    outline(context, layout.find(schema.tile(Meaning::score)), row, col);
  }
  outline(context, layout.find(chip_tile), row, col);
}

const Operation* running_operation(const Lane& lane) {
  const double cycle = lane.state.cycle;
  if (lane.operation == nullptr || cycle == lane.rest.cycle) return lane.operation;
  const auto intervals = lane.simulation->trace->intervals(lane.focus_sm);
  auto later = std::upper_bound(intervals.begin(), intervals.end(), cycle,
                                [](double at, const Interval& interval) { return at < interval.start; });
  // Copies in flight may have begun long before; an operation of the block is among the latest that began.
  constexpr std::ptrdiff_t looked_at = 256;
  for (const auto first = later - std::min(looked_at, later - intervals.begin()); later != first;) {
    const Interval& interval = *--later;
    if (interval.run == lane.rest.run && interval.unit != Unit::copy && interval.end >= cycle)
      return &lane.operations->operations[static_cast<std::size_t>(interval.op)];
  }
  return nullptr;
}

void draw_operation(StageContext& context) {
  const Operation* operation = running_operation(context.lane);
  if (!operation) return;
  const StageLayout& layout = context.layout();
  const ChipTileBox* result = operation->dst == ChipTile::none ? nullptr : layout.find(operation->dst, operation->ring);
  std::vector<const ChipTileBox*> sources;
  for (ChipTile chip_tile : operation->src) {
    const ChipTileBox* box = chip_tile == ChipTile::none ? nullptr : layout.find(chip_tile, operation->ring);
    if (box && box != result) sources.push_back(box);
  }
  for (const ChipTileBox* box : sources) glow(context, *box, false);
  if (result) glow(context, *result, true);
  context.flush();
  if (!result || context.alone) return;
  for (const ChipTileBox* box : sources) draw_arrow(context, *box, *result);
}

}  // namespace tilescope
