// Draws the focused SM: its operation, register values and shared-memory buffers.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "app/model/run_data/key_visits.h"
#include "app/model/run_data/step_index.h"
#include "app/ui/meanings.h"
#include "app/ui/say.h"
#include "app/ui/short_line.h"
#include "app/ui/widgets.h"
#include "app/views/mask/mask_words.h"
#include "app/views/stage/flight_path.h"
#include "app/views/stage/stage_context.h"
#include "sim/analysis/format.h"
#include "sim/engine/instructions.h"
#include "sim/programs/tensor_layout.h"

namespace tilescope {

namespace {

/// Updates the cached key tiles of the step's block.
const std::vector<std::int32_t>& visited_of_step(const StageContext& context) {
  StageCache& cache = context.cache;
  const Lane& lane = context.lane;
  if (cache.visited_of != lane.operations || cache.visited_for != lane.operation->q_tile) {
    cache.visited_of = lane.operations;
    cache.visited_for = lane.operation->q_tile;
    cache.visited = visited_key_tiles(*lane.operations, lane.operation->q_tile);
  }
  return cache.visited;
}

std::string focus_title(const StageContext& context) {
  const Lane& lane = context.lane;
  const Simulation& simulation = context.simulation();
  const std::string name = say(tr("SM {}"), std::to_string(lane.focus_sm));
  std::string title = name;
  if (simulation.launches.size() > 1)
    title += " · " + translated(simulation.launches[static_cast<std::size_t>(context.cache.launch)].name);
  if (context.alone) return first_that_fits(context.theme.ui_bold, context.layout().focus_title.width(), {title, name});
  if (!lane.operations || !lane.operation) return title + " · " + tr("Nothing has run yet");
  title.append(" · ").append(say(tr("block ({})"), block_name(context, lane.operations->launch, lane.operations->block)));
  const AttentionProblem& problem = context.problem();
  const TileShape& tile = simulation.program->tile();
  const auto tile_of = [](int index, std::int64_t count) {
    return say("{} ({}/{})", std::to_string(index), std::to_string(index + 1), std::to_string(count));
  };
  const Domain& domain = lane.operations->domain;
  const bool owns_keys = domain.axis == Axis::key, owns_query_tiles = domain.axis == Axis::query && domain.count > tile.block_q;
  if ((owns_keys || owns_query_tiles) && lane.operation->q_tile >= 0) {
    title.append(" · ").append(say(tr("query tile {}"), tile_of(lane.operation->q_tile, ceil_div(problem.seq_q, tile.block_q))));
  }
  const bool one_tile = owns_keys && domain.count <= tile.block_kv;  // which the block's name says
  if (lane.operation->kv_tile >= 0 && !one_tile) {
    const auto& chip_tiles = context.shape().chip_tiles;  // a block without a row maximum is of a product
    const bool masked =
        problem.has_mask() && std::any_of(chip_tiles.begin(), chip_tiles.end(), [](const ChipTileShape& chip_tile) {
          return chip_tile.chip_tile.is(Meaning::row_max) || chip_tile.chip_tile.is(Meaning::row_max, TilePart::updated);
        });
    title.append(" · ").append(say(tr("key tile {}"), key_tile_text(visited_of_step(context), lane.operation->kv_tile,
                                                                    ceil_div(problem.seq_kv, tile.block_kv), masked)));
  }
  return title;
}

/// Returns "tensor core · 128 cycles · stalled 40 on data".
std::string step_cost(const StageContext& context) {
  const auto& interval = context.lane.rest.interval;
  if (!interval || !context.lane.operation) return {};
  std::string text = tr(std::string(to_string(interval->unit)).c_str());
  const double length = interval->end - interval->start;
  constexpr double shown_least = 0.05;  // a shorter one would print as 0
  text.append(" · ").append(say(tr("{} cycles"), length < shown_least ? std::string("< 0.1") : format_cycles(Cycles(length))));
  if (const Operation& done = *context.lane.operation; beside_is_telling(done.instructions))
    text.append(" · ").append(say(tr("with {} other instructions a warp"), std::to_string(done.instructions)));
  const double waited = interval->start - interval->ready;
  if (waited >= 1 && interval->cause != WaitCause::none && interval->cause != WaitCause::program_order) {
    text.append(" · ").append(
        say(tr("stalled {} on {}"), format_cycles(Cycles(waited)), tr(std::string(to_string(interval->cause)).c_str())));
  }
  return text;
}

/// Returns what P is made from: the maximum that the latest exponential up to this iteration read, or L.
const char* probability_formula(const StageContext& context) {
  const Operation* latest = nullptr;
  if (context.lane.operations != nullptr)
    for (const Operation& o : context.lane.operations->operations) {
      if (o.kind != OpKind::exp || !o.dst.is(Meaning::probability)) continue;
      const bool is_later = context.lane.operation == nullptr || o.iteration > context.lane.operation->iteration;
      if (latest != nullptr && is_later) break;
      latest = &o;
    }
  if (latest != nullptr) {
    const ChipTile minus = latest->src[1];
    if (minus.is(Meaning::row_max, TilePart::updated)) return "P = exp(S − m′)";
    return minus.is(Meaning::log_sum_exp) ? "P = exp(S − L)" : "P = exp(S − m)";
  }
  const Schema& schema = context.simulation().program->schema();
  if (context.layout().find(schema.tile(Meaning::row_max, TilePart::updated))) return "P = exp(S − m′)";
  return context.layout().find(schema.tile(Meaning::log_sum_exp)) ? "P = exp(S − L)" : "P = exp(S − m)";
}

/// True of the first P in registers: another one is its copy in 16 bits.
bool is_computed_probability(const StageContext& context, const ChipTileBox& box) {
  const auto& chip_tiles = context.layout().chip_tiles;
  const auto first = std::find_if(chip_tiles.begin(), chip_tiles.end(),
                                  [](const ChipTileBox& each) { return each.chip_tile.is(Meaning::probability) && !each.shared; });
  return first != chip_tiles.end() && first->chip_tile == box.chip_tile;
}

/// Returns whether the block's first operation of `kind` on an on-chip tile, if it has one, reads tiles of these meanings.
bool may_be_made_of(const StageContext& context, ChipTile chip_tile, OpKind kind, Meaning first, Meaning second) {
  if (context.lane.operations == nullptr) return true;
  const std::vector<Operation>& all = context.lane.operations->operations;
  const auto made = std::find_if(all.begin(), all.end(), [&](const Operation& o) { return o.kind == kind && o.dst == chip_tile; });
  const auto means = [](ChipTile source, Meaning meaning) { return source != ChipTile::none && source.tensor().means(meaning); };
  return made == all.end() || (means(made->src[0], first) && (second == first || means(made->src[1], second)));
}

/// Returns what a tile in registers holds at the step.
HeldValues held_in(const StageContext& context, const ChipTileBox& box) {
  const HeldValues& held = context.cache.held[box.chip_tile.index()];
  return held.tensor ? held : HeldValues{std::string(to_string(box.chip_tile)), tensor_of(box.chip_tile)};
}

/// Returns the name of what a tile in registers holds, with its formula if there is room and the program makes it so.
std::string chip_tile_label(const StageContext& context, const ChipTileBox& box) {
  const std::string name = held_in(context, box).name;
  if (name != to_string(box.chip_tile)) return formula_text(name);
  std::string longer;
  if (box.chip_tile.is(Meaning::score)) {
    if (may_be_made_of(context, box.chip_tile, OpKind::matmul, Meaning::query, Meaning::key)) longer = "S = τ Q Kᵀ";
  } else if (is_computed_probability(context, box)) {
    if (may_be_made_of(context, box.chip_tile, OpKind::exp, Meaning::score, Meaning::score)) longer = probability_formula(context);
  } else if (box.chip_tile.is(Meaning::probability) && !box.shared) {
    longer = say("P ({})", to_string(context.simulation().request.problem.dtype));
  } else if (box.chip_tile.is(Meaning::output) && context.simulation().info->pass != Pass::backward) {
    if (may_be_made_of(context, box.chip_tile, OpKind::matmul, Meaning::probability, Meaning::value)) longer = "O = Σ P V";
  }
  if (!longer.empty() && text_width(context.theme.ui_small, longer) <= box.label.width()) return longer;
  return formula_text(name);
}

void tip_value(StageContext& context, const ChipTileBox& box, int row, int col) {
  const auto found = context.cache.pictures.find(static_cast<int>(&box - context.layout().chip_tiles.data()));
  const Matrix* matrix = found == context.cache.pictures.end() ? nullptr : found->second.values.now.get();
  const HeldValues held =
      box.shared ? HeldValues{std::string(to_string(box.chip_tile)), tensor_of(box.chip_tile)} : held_in(context, box);
  std::string title = held.name;
  title += box.cols > 1 ? say("[{}, {}]", std::to_string(row), std::to_string(col)) : say("[{}]", std::to_string(row));
  std::string body;
  if (matrix && row < matrix->rows && col < matrix->cols) {
    const float value = matrix->at(row, col);
    title.append(" = ").append(
        (std::isfinite(value) ? say("{}", std::to_string(value)) : format_value(static_cast<double>(value))));
    if (std::isinf(value) && box.chip_tile.is(Meaning::score) && context.problem().has_mask())
      body = say(tr("Masked ({}): this query does not see this key"), mask_words(context.simulation().request));
  } else {
    body = context.lane.history ? tr("empty so far") : tr("Computing the values…");
  }
  if (!body.empty()) body += "\n";
  body.append(meaning_of(box.chip_tile)).append("\n");
  if (const BlockOperations* block = context.lane.operations; block && context.lane.operation && !box.shared && box.rows > 1) {
    const Axis axis = tensor_of(box.chip_tile)->rows;
    const TileShape& tile = context.simulation().program->tile();
    const std::int64_t index = axis == Axis::key ? context.lane.operation->kv_tile : context.lane.operation->q_tile;
    const std::int64_t own = block->domain.axis == axis ? block->domain.first : 0;
    const std::int64_t first = std::max(own, index >= 0 ? index * (axis == Axis::key ? tile.block_kv : tile.block_q) : own);
    body += say(axis == Axis::key ? tr("key row {}") : tr("query row {}"), std::to_string(first + row)) + "\n";
  }
  const int values = (box.rows + box.shown_rows - 1) / box.shown_rows * ((box.cols + box.shown_cols - 1) / box.shown_cols);
  if (values > 1) body += say(tr("Each cell shows the largest of {} values"), std::to_string(values)) + "\n";
  body += say(tr("{} × {} in {}"), std::to_string(box.rows), std::to_string(box.cols),
              box.shared ? tr("shared memory") : tr("registers"));
  context.tip(std::move(title), std::move(body), held.tensor);
}

void draw_empty_cells(StageContext& context, const ChipTileBox& box) {
  context.quads.add({.min = box.cells.min,
                     .max = box.cells.max,
                     .radius = context.px(3),
                     .fill = with_alpha(context.theme.text_faint, 0.07F),
                     .border = with_alpha(context.theme.text_faint, 0.25F),
                     .border_width = 1});
}

void draw_picture(StageContext& context, const ChipTileBox& box) {
  const auto found = context.cache.pictures.find(static_cast<int>(&box - context.layout().chip_tiles.data()));
  if (found == context.cache.pictures.end() || !context.lane.history) {
    draw_empty_cells(context, box);
    return;
  }
  context.flush();
  draw_cell_picture(context.list, context.theme, found->second.picture);
}

void draw_register_tile(StageContext& context, const ChipTileBox& box) {
  const Theme& theme = context.theme;
  const auto [name, tensor] = held_in(context, box);
  draw_picture(context, box);
  const bool stacked = context.layout().stacked;
  Rect label = box.label;
  if (box.cols <= 1 && !stacked) label = {{label.min.x - context.px(4), label.min.y}, {label.max.x + context.px(4), label.max.y}};
  draw_text(context.list, stacked ? theme.ui_bold : theme.ui_small, label, theme.text_color(tensor), chip_tile_label(context, box),
            box.cols <= 1 && !stacked ? Align::center : Align::left);
  if (context.lit(tensor)) {
    context.quads.add({.min = {box.cells.min.x - 2, box.cells.min.y - 2},
                       .max = {box.cells.max.x + 2, box.cells.max.y + 2},
                       .radius = context.px(4),
                       .border = theme.color(tensor),
                       .border_width = context.px(1.5F)});
  }
  int row = 0, col = 0;
  if (context.mouse_here && cell_at(box, context.mouse, row, col)) {
    tip_value(context, box, row, col);
    context.cell = StageContext::Cell{box.chip_tile, row, col};
    if (box.rows > 1 && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) context.commands.push(SelectRow{row});
  } else if (context.hit(box.box)) {
    context.tip(name,
                std::string(meaning_of(box.chip_tile)) + "\n" +
                    say(tr("{} × {} in {}"), std::to_string(box.rows), std::to_string(box.cols), tr("registers")),
                tensor);
  }
}

/// Draws a long ring as one cell per buffer, filled if it holds a tile.
void draw_folded(StageContext& context, const ChipTileBox& box) {
  const Theme& theme = context.theme;
  const Tensor tensor = tensor_of(box.chip_tile);
  for (int cell = 0; cell < box.shown_cols; ++cell) {
    const Rect rect = cell_rect(box, 0, cell);
    double filled = 0;
    int buffers = 0;
    for (int ring = 0; ring < box.rings; ++ring) {
      if (cell_of(ring, box.rings, box.shown_cols) != cell) continue;
      const ChipTileState* state = chip_tile_state(context.lane, box.chip_tile, ring);
      filled += !state ? 0 : state->valid ? 1 : state->arriving ? state->progress : 0;
      ++buffers;
    }
    context.quads.add({.min = rect.min,
                       .max = {rect.max.x - 1, rect.max.y},
                       .fill = heat_color(theme, tensor, 0.8F),
                       .empty = heat_color(theme, tensor, 0.02F),
                       .fill_fraction = static_cast<float>(filled / std::max(buffers, 1)),
                       .fill_from = FillFrom::bottom});
  }
}

/// What a load waits for of which no byte has come, in as many words as fit.
std::string waiting_text(const StageContext& context, const ChipTileState& state, float width) {
  const auto& flights = context.lane.state.flights;
  const auto load = std::ranges::find_if(flights, [&](const TileInFlight& flight) {
    return flight.to_sm && flight.sm == context.lane.focus_sm && flight.tile == state.tile;
  });
  if (load == flights.end()) return tr("waiting");
  const bool all_known = context.simulation().trace->focused_sms().size() == context.lane.state.sms.size();
  const WaitsAt at = context.layout().has_l2 ? waits_at(*load, flights, all_known) : WaitsAt::hbm;
  const bool hbm = at == WaitsAt::hbm;
  return hbm ? first_that_fits(context.theme.ui_small, width, {tr("waits for HBM"), "← HBM"})
             : first_that_fits(context.theme.ui_small, width, {tr("waits for L2"), "← L2"});
}

/// Returns the launch's warp groups; of fewer than two, none has a role.
const std::vector<WarpGroup>& groups_of(const StageContext& context) {
  return context.simulation().program->launches()[static_cast<std::size_t>(context.cache.launch)].needs.groups;
}

/// Returns the tokens of the step's block; nullptr where warps have no roles.
const TokenLights* lights_of_step(StageContext& context) {
  StageCache& cache = context.cache;
  const Lane& lane = context.lane;
  const std::int32_t run = lane.rest.run;
  if (groups_of(context).size() < 2 || lane.timeline == nullptr || lane.operations == nullptr || run < 0 ||
      lane.timeline->steps->sm != lane.focus_sm)
    return nullptr;
  if (cache.lights_of != lane.timeline || cache.lights_run != run) {
    cache.lights.emplace(context.simulation(), *lane.timeline->steps, run, *lane.operations);
    cache.lights_of = lane.timeline;
    cache.lights_run = run;
  }
  return &*cache.lights;
}

/// Draws one light: filled if it is on.
void draw_light(StageContext& context, ImVec2 center, ImU32 color, bool on) {
  const float radius = context.px(3.5F);
  context.quads.add({.min = {center.x - radius, center.y - radius},
                     .max = {center.x + radius, center.y + radius},
                     .radius = radius,
                     .fill = on ? color : with_alpha(color, 0),
                     .border = color,
                     .border_width = context.px(1.2F)});
}

/// Draws the full token of a buffer as a square and its empty token as a circle for each group, from the right edge of `label`.
/// Returns what room it takes.
float draw_lights(StageContext& context, const ChipTileBox& box, const BufferLights& lights) {
  const Theme& theme = context.theme;
  const float each = context.px(10), middle = box.label.center().y;
  const float room = each * static_cast<float>(lights.groups.size() + 1) + context.px(3);
  float x = box.label.max.x - each * 0.5F;
  for (auto group = lights.groups.rbegin(); group != lights.groups.rend(); ++group, x -= each)
    draw_light(context, {x, middle}, theme.text_dim, group->is_free);
  const ImU32 color = theme.color(tensor_of(box.chip_tile));
  const float half = context.px(3.5F);
  x -= context.px(3);
  context.quads.add({.min = {x - half, middle - half},
                     .max = {x + half, middle + half},
                     .radius = context.px(1),
                     .fill = lights.is_full ? color : with_alpha(color, 0),
                     .border = color,
                     .border_width = context.px(1.2F)});
  return room;
}

std::string lights_text(const StageContext& context, const BufferLights& lights) {
  std::string free, reading;
  for (const GroupLight& light : lights.groups) {
    std::string& names = light.is_free ? free : reading;
    if (!names.empty()) names += ", ";
    names += translated(groups_of(context)[static_cast<std::size_t>(light.group)].name);
  }
  std::string text = lights.is_full ? tr("Full token (square): set, the copy has landed") : tr("Full token (square): not set");
  add_line(text, reading.empty() ? tr("Empty token (circles): signalled by all groups")
                 : free.empty()  ? tr("Empty token (circles): no group has read the buffer")
                                 : say(tr("Empty token (circles): signalled by {}; {} may still read"), free, reading));
  return text;
}

/// Divides the cells of a tile into the boxes in which TMA fetches it: columns of 128 bytes, the span of the swizzle.
void draw_box_edges(StageContext& context, const ChipTileBox& box) {
  if (box.folded || box_columns(context, tensor_of(box.chip_tile), box.cols) < 2) return;
  const auto box_cols = static_cast<int>(swizzle_bytes / element_bytes(context.problem().dtype));
  for (int col = box_cols; col < box.cols; col += box_cols) {
    const float x = std::round(box.cells.min.x + box.cells.width() * static_cast<float>(col) / static_cast<float>(box.cols));
    context.quads.add({.min = {x - context.px(1), box.cells.min.y},
                       .max = {x + context.px(1), box.cells.max.y},
                       .fill = context.theme.inset,
                       .border = with_alpha(context.theme.text_dim, 0.8F),
                       .border_width = context.px(0.5F)});
  }
}

std::string boxes_text(const StageContext& context, const ChipTileBox& box) {
  const std::int64_t columns = box_columns(context, tensor_of(box.chip_tile), box.cols);
  if (columns == 0) return {};
  const std::int64_t box_cols = std::min<std::int64_t>(box.cols, swizzle_bytes / element_bytes(context.problem().dtype));
  return say(tr("TMA fetches it in {} boxes of {} × {}, each row swizzled"),
             std::to_string(columns * ceil_div(std::int64_t{box.rows}, most_box_rows)),
             std::to_string(std::min<std::int64_t>(box.rows, most_box_rows)), std::to_string(box_cols));
}

void draw_shared_tile(StageContext& context, const ChipTileBox& box) {
  const Theme& theme = context.theme;
  const Tensor tensor = tensor_of(box.chip_tile);
  const ChipTileState* state = chip_tile_state(context.lane, box.chip_tile, box.ring);
  const bool valid = state && state->valid, arriving = state && state->arriving;
  const TensorLayout layout = tensor_layout(context.problem(), context.simulation().program->tile(), tensor);
  const float strength = context.emphasis(tensor);

  context.quads.add({.min = box.box.min,
                     .max = box.box.max,
                     .radius = context.px(5),
                     .fill = mix(theme.inset, theme.color(tensor), valid ? 0.13F : 0.04F),
                     .border = with_alpha(theme.color(tensor), (valid || arriving ? 0.9F : 0.45F) * strength),
                     .border_width = context.px(context.lit(tensor) ? 2 : 1),
                     .dashed = !valid});
  if (box.folded) {
    draw_folded(context, box);
  } else if (valid && context.lane.history) {
    draw_picture(context, box);
  } else {
    const float part = valid ? 1 : arriving ? static_cast<float>(state->progress) : 0;
    context.quads.add({.min = box.cells.min,
                       .max = box.cells.max,
                       .radius = context.px(2),
                       .fill = heat_color(theme, tensor, 0.55F),
                       .empty = heat_color(theme, tensor, 0.0F),
                       .fill_fraction = part});
  }
  draw_box_edges(context, box);
  const TokenLights* const tokens = box.folded || context.alone ? nullptr : lights_of_step(context);
  const auto lights = tokens != nullptr ? tokens->buffer(box.chip_tile, box.ring, context.lane.state.cycle) : std::nullopt;
  const float lights_room = lights ? draw_lights(context, box, *lights) : 0;
  context.flush();
  const std::string letter(to_string(box.chip_tile));
  const bool numbered = (valid || arriving) && !box.folded;
  std::string name =
      first_that_fits(theme.ui_bold, box.label.width() - lights_room, {numbered ? tile_name(layout, state->tile) : letter, letter});
  const std::string bytes = box.folded ? say(tr("{} × {}"), std::to_string(box.rings), format_exact_bytes(Bytes(box.bytes)))
                                       : format_exact_bytes(Bytes(box.bytes));
  const float name_width = std::min(text_width(theme.ui_bold, name) + 2, box.label.width() - lights_room);
  draw_text(context.list, theme.ui_bold, {box.label.min, {box.label.min.x + name_width, box.label.max.y}},
            with_alpha(theme.text_color(tensor), valid || arriving ? 1 : 0.6F), name);
  const Rect rest = {{box.label.min.x + name_width + context.px(6), box.label.min.y},
                     {box.label.max.x - lights_room, box.label.max.y}};
  const std::string note = arriving && !valid && state->progress >= 0.01
                               ? say(tr("arriving {} %"), fmt::format("{:.0f}", std::floor(100 * state->progress)))
                           : arriving && !valid ? waiting_text(context, *state, rest.width())
                           : valid              ? bytes
                                                : tr("empty");
  if (text_width(theme.ui_small, note) <= rest.width())
    draw_text(context.list, theme.ui_small, rest, theme.text_dim, note, Align::right);

  int row = 0, col = 0;
  if (valid && context.mouse_here && cell_at(box, context.mouse, row, col)) {
    tip_value(context, box, row, col);
  } else if (context.hit(box.box)) {
    std::string body =
        note + "\n" + say(tr("{} × {} in {}"), std::to_string(box.rows), std::to_string(box.cols), tr("shared memory"));
    if (box.rings > 1 && !box.folded)
      body.append("\n").append(say(tr("buffer {} of {}"), std::to_string(box.ring + 1), std::to_string(box.rings)));
    if (const std::string boxes = boxes_text(context, box); !boxes.empty()) add_line(body, boxes);
    if (lights) add_line(body, lights_text(context, *lights));
    context.tip(std::move(name), std::move(body), tensor);
  }
}

void draw_chosen_row(StageContext& context) {
  if (context.layout().stacked) return;
  for (const ChipTileBox& box : context.layout().chip_tiles) {
    if (box.shared || context.view.workspace->row >= box.rows) continue;
    if (context.cache.now[box.chip_tile.index()] == nullptr) continue;  // it would outline nothing
    const Rect row = row_rect(box, context.view.workspace->row);
    const float most_of_row = context.metrics.presented ? 0.12F : 0.25F;  // presented, digits fill the row
    context.quads.add({.min = {row.min.x - 2, row.min.y - 1},
                       .max = {row.max.x + 1, row.max.y},
                       .radius = context.px(3),
                       .border = context.theme.highlight,
                       .border_width = std::min(context.px(1.8F), std::max(1.0F, most_of_row * row.height()))});
  }
}

/// Says where a drawn row of the matrices stands for several: "16 rows drawn as 8".
std::string rows_drawn(const StageContext& context) {
  for (const ChipTileBox& box : context.layout().chip_tiles)
    if (!box.shared && box.rows > 1 && box.shown_rows < box.rows)
      return say(tr("{} rows drawn as {}"), std::to_string(box.rows), std::to_string(box.shown_rows));
  return {};
}

/// Says that the SM in focus has no step to go to, and goes to one that has.
void draw_way_to_work(StageContext& context) {
  const Theme& theme = context.theme;
  const auto runs = context.simulation().trace->runs();
  const Rect& line = context.layout().operation_line;
  const std::string text = say(tr("SM {} has no block in this run."), context.lane.focus_sm);
  draw_text(context.list, theme.ui, line, theme.text_dim, text);
  if (runs.empty()) return;
  const std::string way = say(tr("Go to SM {}"), runs.front().sm);
  const float left = line.min.x + text_width(theme.ui, text + " ") + theme.gap;
  const Rect link = {{left, line.min.y}, {std::min(line.max.x, left + text_width(theme.ui, way) + 2), line.max.y}};
  draw_text(context.list, theme.ui_bold, link, theme.accent, way);
  if (!context.hit(link)) return;
  ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  context.tip(way, tr("Brings its steps into focus"));
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) context.commands.push(SetFocusSm{runs.front().sm});
}

}  // namespace

std::string key_tile_text(const std::vector<std::int32_t>& visited, std::int32_t tile, std::int64_t all, bool masked) {
  const auto place = std::find(visited.begin(), visited.end(), tile) - visited.begin() + 1;
  const auto count = static_cast<std::int64_t>(visited.size());
  const bool last_first = count > 1 && std::is_sorted(visited.rbegin(), visited.rend());
  if ((count == all || !masked) && last_first)
    return say(tr("{} ({} of {}, last tile first)"), std::to_string(tile), std::to_string(place), std::to_string(count));
  if (count == all || !masked) return say("{} ({}/{})", std::to_string(tile), std::to_string(tile + 1), std::to_string(all));
  return say(last_first ? tr("{} ({} of {} visited, {} in all, last tile first)") : tr("{} ({} of {} visited, {} in all)"),
             std::to_string(tile), std::to_string(place), std::to_string(count), std::to_string(all));
}

/// Whether the launch of the last operation is over and the next has not begun.
bool between_launches(const Lane& lane) {
  const auto launches = lane.simulation->trace->launches();
  for (std::size_t i = 1; i < launches.size(); ++i)
    if (lane.state.cycle > launches[i - 1].end && lane.state.cycle < launches[i].start) return true;
  return false;
}

bool is_block_over(const Lane& lane) {
  const auto sm = static_cast<std::size_t>(lane.focus_sm);
  return lane.state.cycle > 0 && sm < lane.state.sms.size() && lane.state.sms[sm].resident == 0;
}

namespace {

/// The largest font in which the operation fits its line.
ImFont* operation_font(const StageContext& context, std::string_view text) {
  const Theme& theme = context.theme;
  if (!context.says_large()) return theme.ui;
  const Rect& line = context.layout().operation_line;
  for (ImFont* const font : {theme.display, theme.reading_bold})
    if (text_width(font, text) <= line.width() && font->FontSize <= line.height()) return font;
  return theme.ui;
}

}  // namespace

void draw_focus_box(StageContext& context) {
  const Theme& theme = context.theme;
  const StageLayout& layout = context.layout();
  context.box(layout.focus, true);
  context.flush();
  if (layout.focus_title.height() <= 0) return;  // its tiles need the room
  const std::string title = focus_title(context);
  draw_text(context.list, theme.ui_bold, layout.focus_title, theme.text, title);
  if (const std::string rows = rows_drawn(context); !rows.empty() && !context.alone) {
    const float left = layout.focus_title.min.x + text_width(theme.ui_bold, title) + theme.gap;
    const Rect rest = {{left, layout.focus_title.min.y}, layout.focus_title.max};
    if (text_width(theme.ui_small, rows) <= rest.width())
      draw_text(context.list, theme.ui_small, rest, theme.text_faint, rows, Align::right);
  }
  if (context.lane.step_count == 0) return draw_way_to_work(context);
  if (!context.lane.operation) return;
  if (between_launches(context.lane)) {
    draw_text(context.list, theme.ui, layout.operation_line, theme.text_dim, tr("between two launches"));
    return;
  }
  if (is_block_over(context.lane)) {
    draw_text(context.list, theme.ui, layout.operation_line, theme.text_dim, tr("No block · last values"));
    return;
  }
  const Operation& operation = *context.lane.operation;
  const Tensor tensor = operation.dst != ChipTile::none      ? tensor_of(operation.dst)
                        : operation.src[0] != ChipTile::none ? tensor_of(operation.src[0])
                                                             : operation.tile.tensor;
  const std::string text = operation_text(context.simulation(), operation), cost = step_cost(context);
  ImFont* const font = operation_font(context, text);
  const float width = std::min(text_width(font, text) + 2, layout.operation_line.width());
  draw_text(context.list, font, {layout.operation_line.min, {layout.operation_line.min.x + width, layout.operation_line.max.y}},
            theme.text_color(tensor), text);
  if (context.alone) return;
  const Rect rest = {{layout.operation_line.min.x + width + theme.gap, layout.operation_line.min.y}, layout.operation_line.max};
  if (rest.width() > context.px(60)) draw_text(context.list, theme.ui_small, rest, theme.text_faint, cost, Align::right);
}

void draw_chip_tiles(StageContext& context) {
  const StageLayout& layout = context.layout();
  for (const ChipTileBox& box : layout.chip_tiles) box.shared ? draw_shared_tile(context, box) : draw_register_tile(context, box);
  if (context.lane.operations && !context.lane.history) {
    context.flush();
    draw_text(context.list, context.theme.ui_small, layout.registers, context.theme.text_faint, tr("Computing the values…"),
              Align::center);
  }
  if (is_block_over(context.lane)) {
    for (const ChipTileBox& box : layout.chip_tiles)
      if (!box.shared)
        context.quads.add({.min = box.cells.min, .max = box.cells.max, .fill = with_alpha(context.theme.inset, 0.45F)});
    context.flush();
  }
  if (context.lane.history && !context.alone) draw_chosen_row(context);
  if (context.cell) draw_origin(context);
  context.flush();
}

/// Returns the blocks on the SM in focus.
int resident_blocks(const StageContext& context) {
  const auto sm = static_cast<std::size_t>(context.lane.focus_sm);
  return sm < context.lane.state.sms.size() ? context.lane.state.sms[sm].resident : 0;
}

std::string occupancy_text(const StageContext& context) {
  const Simulation& simulation = context.simulation();
  const int resident = resident_blocks(context);
  const std::int64_t used = simulation.launches[static_cast<std::size_t>(context.cache.launch)].shared_bytes * resident;
  const auto has = static_cast<std::int64_t>(simulation.request.gpu.sm_shared_bytes);
  std::string label = say(tr("Shared memory: {} of {}"), format_capacity(Bytes(used)), format_capacity(Bytes(has)));
  if (resident > 1) label.append(" · ").append(say(tr("{} blocks"), std::to_string(resident)));
  return label;
}

void draw_turn(StageContext& context) {
  const TokenLights* const tokens = context.alone ? nullptr : lights_of_step(context);
  if (tokens == nullptr || tokens->taking_turns().empty() || is_block_over(context.lane)) return;
  const Theme& theme = context.theme;
  const StageLayout& layout = context.layout();
  const int turn = tokens->turn(context.lane.state.cycle);
  const auto name_of = [&](int group) { return translated(groups_of(context)[static_cast<std::size_t>(group)].name); };
  const auto number_of = [&](int group) { return name_of(group).substr(name_of(group).rfind(' ') + 1); };  // "1" of "consumer 1"
  // At the right end of the line of the buffers, before the bar.
  const float light = context.px(12), gap = context.px(8);
  const float room = layout.shared_label.width() - text_width(theme.ui_small, occupancy_text(context)) - 2 * gap;
  const auto width_with = [&](const auto& text_of) {
    float width = text_width(theme.ui_small, tr("Turn")) + gap;
    for (const int group : tokens->taking_turns()) width += light + text_width(theme.ui_small, text_of(group)) + gap;
    return width;
  };
  const bool by_name = width_with(name_of) <= room;
  const float width = by_name ? width_with(name_of) : width_with(number_of);
  if (width > room) return;
  Rect line = {{layout.shared_label.max.x - width, layout.shared_label.min.y}, layout.shared_label.max};
  const Rect all = line;
  const auto word = [&](const std::string& text, ImU32 color) {
    draw_text(context.list, theme.ui_small, line, color, text);
    line.min.x += text_width(theme.ui_small, text) + gap;
  };
  word(tr("Turn"), theme.text_dim);
  for (const int group : tokens->taking_turns()) {
    draw_light(context, {line.min.x + light * 0.4F, line.center().y}, theme.accent, group == turn);
    line.min.x += light;
    word(by_name ? name_of(group) : number_of(group), group == turn ? theme.text : theme.text_faint);
  }
  context.flush();
  if (context.hit(all))
    context.tip(say(tr("The turn of {}"), name_of(turn)),
                tr("It may issue its products. When all are issued it passes the turn on, and computes its softmax while the next "
                   "group's products run."));
}

/// The bytes of the buffers that are drawn; of a folded box, of all of them.
std::int64_t drawn_shared_bytes(const StageLayout& layout) {
  std::int64_t bytes = 0;
  for (const ChipTileBox& box : layout.chip_tiles)
    if (box.shared) bytes += box.bytes * (box.folded ? box.rings : 1);
  return bytes;
}

void draw_occupancy(StageContext& context) {
  const Theme& theme = context.theme;
  const Simulation& simulation = context.simulation();
  const StageLayout& layout = context.layout();
  const LaunchResult& launch = simulation.launches[static_cast<std::size_t>(context.cache.launch)];
  const int resident = resident_blocks(context);
  const std::int64_t used = launch.shared_bytes * resident;
  const auto has = static_cast<std::int64_t>(simulation.request.gpu.sm_shared_bytes);
  if (layout.occupancy.width() <= 0) return;
  // An arrow from a buffer passes behind the words.
  const std::string text = occupancy_text(context);
  const Rect& label = layout.shared_label;
  const float width = std::min(text_width(theme.ui_small, text), label.width()), half = 0.5F * theme.ui_small->FontSize;
  context.list->AddRectFilled({label.min.x, label.center().y - half}, {label.min.x + width, label.center().y + half}, theme.inset);
  draw_text(context.list, theme.ui_small, label, theme.text_dim, text);
  Rect bar = layout.occupancy;
  bar.min.y = std::round(bar.center().y - context.px(3));
  bar.max.y = bar.min.y + context.px(6);
  draw_bar(context.list, theme, bar, has > 0 ? static_cast<double>(used) / static_cast<double>(has) : 0, theme.accent);
  if (context.hit(layout.occupancy) || context.hit(layout.shared_label)) {
    std::string body = say(tr("{} per block; {} of at most {} blocks on this SM"), format_capacity(Bytes(launch.shared_bytes)),
                           std::to_string(resident), std::to_string(launch.blocks_per_sm));
    if (const std::int64_t hidden = launch.shared_bytes - drawn_shared_bytes(layout); hidden > 0)
      add_line(body, say(tr("Not drawn: {} of a block, for results on their way out, row statistics and barriers"),
                         format_exact_bytes(Bytes(hidden))));
    context.tip(tr("shared memory"), std::move(body));
  }
}

}  // namespace tilescope
