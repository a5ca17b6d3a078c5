// Draws the L2 with its resident data, and the HBM tensors as tile grids.
#include <algorithm>
#include <cmath>

#include "app/ui/short_line.h"
#include "app/ui/widgets.h"
#include "app/views/stage/flight_path.h"
#include "app/views/stage/stage_context.h"
#include "sim/analysis/format.h"
#include "sim/core/mask.h"

namespace tilescope {

namespace {

std::size_t at(Tensor tensor) {
  return tensor.index();
}

/// One tensor's segment of an L2 bar in bytes: start, maximum, resident, and of it copies and dirty bytes.
struct Part {
  Tensor tensor;
  double begin = 0, room = 0, resident = 0, copies = 0, dirty = 0;
};

struct InL2 {
  double resident = 0, copies = 0;  // bytes; copies lie in the partition that is not their home
};

/// What the L2 holds of a tensor. The model books lines when they are asked for; here they count once their bytes have come.
InL2 in_l2(const StageContext& context, Tensor tensor) {
  const auto& traffic = context.lane.state.traffic[tensor.index()];
  const auto came =
      static_cast<double>(traffic[static_cast<std::size_t>(Link::hbm_read)] + traffic[static_cast<std::size_t>(Link::sm_to_l2)]);
  const InL2 booked = {static_cast<double>(context.lane.state.l2.resident[at(tensor)]),
                       static_cast<double>(context.lane.state.l2.copies[at(tensor)])};
  const double once = booked.resident - booked.copies;
  if (!context.lane.state.traffic_exact || came >= once) return booked;
  const double part = came / once;
  return {part * booked.resident, part * booked.copies};
}

struct BarScale {
  double bytes = 1;   // that the whole bar stands for
  bool whole = true;  // false: enlarged, because the tensors can only fill a sliver of the L2
  std::vector<Part> parts;
};

/// Part of an enlarged bar that the tensors leave free, for the words that say how much it is enlarged.
constexpr double free_of_enlarged = 0.2;

BarScale bar_scale(const StageContext& context) {
  const double usable = context.simulation().request.gpu.usable_l2_bytes();
  double footprint = 0;
  BarScale scale;
  for (const TensorShape& tensor : context.shape().tensors) {
    if (!tensor.here) continue;
    // Data read from both sides lie in both partitions.
    const double bytes =
        static_cast<double>(tensor.layout.bytes().value) * std::max(context.simulation().request.gpu.l2_partitions, 1.0);
    const InL2 held = in_l2(context, tensor.tensor);
    scale.parts.push_back({tensor.tensor, footprint, bytes, held.resident, held.copies,
                           static_cast<double>(context.lane.state.l2.dirty[at(tensor.tensor)])});
    footprint += bytes;
  }
  constexpr double sliver = 0.05;
  scale.whole = footprint > sliver * usable;
  scale.bytes = scale.whole ? usable : footprint / (1 - free_of_enlarged);
  if (!scale.whole) return scale;
  double begin = 0;  // stacked without gaps, for the rooms of all tensors together are more than there is
  for (Part& part : scale.parts) {
    part.begin = begin;
    part.room = part.resident;
    begin += part.resident;
  }
  return scale;
}

void draw_part(StageContext& context, const Rect& bar, const BarScale& scale, const Part& part) {
  const Theme& theme = context.theme;
  const auto x = [&](double bytes) {
    return std::round(bar.min.x + static_cast<float>(std::min(bytes / scale.bytes, 1.0)) * bar.width());
  };
  const Rect room = {{x(part.begin), bar.min.y}, {x(part.begin + part.room) - 1, bar.max.y}};
  const float resident = x(part.begin + part.resident) - 1, dirty = x(part.begin + std::min(part.dirty, part.resident)) - 1;
  const float strength = context.emphasis(part.tensor);
  const ImU32 color = with_alpha(mix(theme.inset, theme.color(part.tensor), 0.85F), strength);
  if (!scale.whole)  // nothing is there yet: no fill
    context.quads.add({.min = room.min,
                       .max = room.max,
                       .radius = context.px(2),
                       .border = with_alpha(theme.text_faint, 0.5F),
                       .border_width = context.px(1),
                       .dashed = true});
  const ImU32 border = context.lit(part.tensor) ? theme.highlight : 0;
  context.quads.add({.min = {std::min(dirty, resident), bar.min.y},
                     .max = {resident, bar.max.y},
                     .radius = context.px(2),
                     .fill = color,
                     .border = border,
                     .border_width = context.px(1.5F)});
  if (const float copies = std::max(dirty, x(part.begin + part.resident - part.copies)); part.copies > 0 && copies < resident)
    context.quads.add({.min = {copies, bar.min.y}, .max = {resident, bar.max.y}, .fill = with_alpha(theme.inset, 0.45F)});
  context.quads.add({.min = room.min,
                     .max = {dirty, bar.max.y},
                     .radius = context.px(2),
                     .fill = color,
                     .border = border ? border : theme.inset,
                     .border_width = context.px(border ? 1.5F : 0.5F),
                     .hatch = Hatch::diagonal});
  if (context.hit(room)) {
    context.tip(fill_in(tr("{} in the L2"), {std::string(to_string(part.tensor))}),
                fill_in(tr("{} resident"), {format_exact_bytes(Bytes(std::llround(part.resident)))}) + "\n" +
                    (context.simulation().request.gpu.l2_partitions >= 2
                         ? fill_in(tr("{} of it copies (pale), in the partition that is not their home"),
                                   {format_exact_bytes(Bytes(std::llround(part.copies)))}) +
                               "\n"
                         : std::string()) +
                    fill_in(tr("{} dirty (hatched): written back when evicted"),
                            {format_exact_bytes(Bytes(context.lane.state.l2.dirty[at(part.tensor)]))}),
                part.tensor);
  }
}

/// Whether requests of a tensor wait in the L2, where their marks stand on its part and say the same.
bool has_marks(const StageContext& context, Tensor tensor) {
  const auto& flights = context.lane.state.flights;
  const bool all_known = context.simulation().trace->focused_sms().size() == context.lane.state.sms.size();
  return std::ranges::any_of(flights, [&](const TileInFlight& flight) {
    return flight.tile.tensor == tensor && flight.to_sm && flight.progress <= 0 &&
           waits_at(flight, flights, all_known) == WaitsAt::l2;
  });
}

void draw_part_names(StageContext& context, const Rect& bar, const BarScale& scale) {
  if (bar.height() < context.theme.ui_small->FontSize) return;
  for (const Part& part : scale.parts) {
    const float begin = bar.min.x + static_cast<float>(part.begin / scale.bytes) * bar.width();
    const float width = static_cast<float>(std::min(part.room / scale.bytes, 1.0)) * bar.width();
    const std::string name = formula_text(to_string(part.tensor));
    const float needed = text_width(context.theme.ui_small, name) + context.px(6), marks = context.px(48);
    if (width < needed + (has_marks(context, part.tensor) ? marks : 0)) continue;
    const float shown = part.room > 0 ? static_cast<float>(part.resident / part.room) * width : 0;
    const bool covered = shown > needed;
    const ImU32 color = covered ? text_on(context.theme, mix(context.theme.inset, context.theme.color(part.tensor), 0.85F))
                                : context.theme.text_color(part.tensor);
    draw_text(context.list, context.theme.ui_small, {{begin + context.px(4), bar.min.y}, {begin + width, bar.max.y}}, color, name);
  }
}

/// Draws the whole L2 to scale, below an enlarged bar.
void draw_true_scale(StageContext& context, const Rect& bar, double full) {
  const Rect strip = {{bar.min.x, bar.max.y + context.px(3)}, {bar.max.x, bar.max.y + context.px(6)}};
  context.quads.add({.min = strip.min,
                     .max = strip.max,
                     .radius = context.px(1.5F),
                     .fill = context.theme.accent,
                     .empty = context.theme.link,
                     .fill_fraction = std::max(static_cast<float>(full), full > 0 ? 0.004F : 0.0F)});
}

/// Says at the right of an enlarged bar by how much it is.
void draw_enlargement(StageContext& context, const Rect& bar, const BarScale& scale) {
  if (bar.height() < context.theme.ui_small->FontSize) return;
  const std::string factor = format_times(context.simulation().request.gpu.usable_l2_bytes() / scale.bytes) + "×";
  const Rect rest = {{bar.min.x + static_cast<float>(1 - free_of_enlarged) * bar.width() + context.px(4), bar.min.y}, bar.max};
  draw_text(context.list, context.theme.ui_small, rest, context.theme.text_dim,
            first_that_fits(context.theme.ui_small, rest.width(), {fill_in(tr("{} enlarged"), {factor}), factor}));
}

// --- HBM --------------------------------------------------------------------------------------------------------------------

struct CellLook {
  float heat = 0;
  bool in_l2 = false;  // stored, and not yet all in HBM
  double filled = 1;
};

/// Returns the part of what the SMs stored of `tensor` that has crossed the link to HBM; the rest waits in the L2.
double crossed_part(const StageContext& context, Tensor tensor) {
  if (!context.layout().has_l2) return 1;
  const auto& row = context.lane.state.traffic[tensor.index()];
  const auto stored = static_cast<double>(row[static_cast<std::size_t>(Link::sm_to_l2)]);
  const auto written = static_cast<double>(row[static_cast<std::size_t>(Link::hbm_write)]);
  return stored > 0 ? std::clamp(written / stored, 0.0, 1.0) : 0;
}

/// Inputs brighten when read; outputs fill as their bytes cross the link to HBM. `crossed` is crossed_part().
CellLook look_of(const TensorShape& tensor, const CellAccesses& cell, double cycle, double crossed) {
  if (tensor.input && !tensor.output) return {0.30F + 0.5F * static_cast<float>(cell.read_part(cycle)), false, 1};
  return {0.8F, crossed < 1 && cell.writes(cycle) > 0, cell.written_part(cycle) * crossed};
}

/// Returns, per drawn cell of `box`, a flight of one of its tiles, or null.
std::vector<const TileInFlight*> flights_by_cell(const StageContext& context, const TensorBox& box, const TensorLayout& layout) {
  std::vector<const TileInFlight*> found(static_cast<std::size_t>(box.shown_rows) * static_cast<std::size_t>(box.shown_cols));
  const std::int64_t plane = plane_of(context.problem(), box.tensor->planes, context.cache.history->plane());
  for (const TileInFlight& flight : context.lane.state.flights) {
    const TileRef& tile = flight.tile;
    if (tile.tensor != box.tensor || tile.plane != plane || (context.layout().has_l2 && flight.hbm_bytes == 0)) continue;
    const auto row_cell = [&](std::int64_t row) {
      return cell_of(static_cast<int>(row / layout.tile_rows), box.grid_rows, box.shown_rows);
    };
    const auto col_cell = [&](std::int64_t col) {
      return cell_of(static_cast<int>(col / layout.tile_cols), box.grid_cols, box.shown_cols);
    };
    for (int row = row_cell(tile.row); row <= row_cell(tile.row + std::max(tile.rows, 1) - 1); ++row) {
      for (int col = col_cell(tile.col); col <= col_cell(tile.col + std::max(tile.cols, 1) - 1); ++col) {
        found[static_cast<std::size_t>(row * box.shown_cols + col)] = &flight;
      }
    }
  }
  return found;
}

/// Returns, per drawn row of K's or V's box, whether the mask hides all of it from those whose moves the box shows: all SMs, or the
/// block on screen. They never load it.
std::vector<bool> skipped_rows(const StageContext& context, const TensorBox& box, const TensorLayout& layout,
                               const BoxAccesses& cells) {
  std::vector<bool> skipped(static_cast<std::size_t>(box.shown_rows), false);
  const BlockOperations* block = context.lane.operations;
  if (!context.problem().has_mask() || block == nullptr || block->domain.axis != Axis::query || box.tensor->rows != Axis::key ||
      box.tensor->planes != Planes::key)
    return skipped;
  bool any = false;
  std::vector<bool> loaded(skipped.size(), false);
  if (context.cache.history->of_all_sms()) {
    for (int row = 0; row < box.shown_rows; ++row) {
      loaded[static_cast<std::size_t>(row)] = cells.cell(row, 0).reads() > 0;
      any = any || loaded[static_cast<std::size_t>(row)];
    }
    for (std::size_t row = 0; any && row < loaded.size(); ++row) skipped[row] = !loaded[row];
    return skipped;
  }
  for (const Operation& op : block->operations) {
    if (op.kind != OpKind::load || op.tile.tensor != box.tensor) continue;
    any = true;
    const auto cell = [&](std::int64_t row) {
      return static_cast<std::size_t>(cell_of(static_cast<int>(row / layout.tile_rows), box.grid_rows, box.shown_rows));
    };
    for (std::size_t at = cell(op.tile.row); at <= cell(op.tile.row + std::max(op.tile.rows, 1) - 1); ++at) loaded[at] = true;
  }
  // A launch that has nothing to do with this tensor skips none of it.
  for (std::size_t row = 0; any && row < loaded.size(); ++row) skipped[row] = !loaded[row];
  return skipped;
}

std::string cell_title(const TensorBox& box, int row, int col) {
  const auto range = [](int cell, int count, int shown) {
    const auto [first, end] = tiles_of(cell, count, shown);
    return first == end - 1 ? std::to_string(first) : std::to_string(first) + "–" + std::to_string(end - 1);
  };
  std::string title =
      std::string(to_string(box.tensor)) + ", " + fill_in(tr("tile row {}"), {range(row, box.grid_rows, box.shown_rows)});
  if (box.grid_cols > 1) title.append(", ").append(fill_in(tr("tile column {}"), {range(col, box.grid_cols, box.shown_cols)}));
  return title;
}

void tip_cell(StageContext& context, const TensorBox& box, const TensorShape& tensor, const CellAccesses& cell, double crossed,
              int row, int col, bool skipped) {
  const double cycle = context.lane.state.cycle;
  std::string body =
      fill_in(tr("{} per tile"),
              {format_exact_bytes(Bytes(tensor.layout.tile_rows * tensor.layout.tile_cols * tensor.layout.element_bytes))});
  const std::int64_t reads = cell.reads(cycle), writes = cell.writes(cycle), all_reads = cell.reads(), all_writes = cell.writes();
  const bool held = context.view.lesson.locked;  // the totals answer many a question of a lesson
  const bool by_all = context.cache.history->of_all_sms();
  if (held && reads > 0)
    body.append("\n").append(fill_in(by_all ? tr("Loaded {} times so far by all SMs") : tr("Loaded {} times so far by this SM"),
                                     {std::to_string(reads)}));
  else if (!held && all_reads > 0)
    body.append("\n").append(fill_in(
        by_all ? tr("Loaded {} times so far by all SMs, {} in total") : tr("Loaded {} times so far by this SM, {} in total"),
        {std::to_string(reads), std::to_string(all_reads)}));
  if (reads > 0 && context.layout().has_l2)
    body.append("\n").append(tr("SMs load from the L2; the link above counts what HBM sent."));
  if (skipped)
    body.append("\n").append(by_all ? tr("No thread block loads it: the mask hides all of it")
                                    : tr("This thread block skips it: the mask hides all of it"));
  if (held && writes > 0)
    body.append("\n").append(fill_in(by_all ? tr("Stored {} times so far by all SMs") : tr("Stored {} times so far by this SM"),
                                     {std::to_string(writes)}));
  else if (!held && all_writes > 0)
    body.append("\n").append(fill_in(
        by_all ? tr("Stored {} times so far by all SMs, {} in total") : tr("Stored {} times so far by this SM, {} in total"),
        {std::to_string(writes), std::to_string(all_writes)}));
  if (writes > 0 && crossed < 1)
    body.append("\n").append(fill_in(tr("{} of {} has reached HBM; the rest is in the L2"),
                                     {format_percent(crossed), std::string(to_string(box.tensor))}));
  if (option_pointed_at(context.view.lesson, box.tensor) >= 0)
    body.append("\n").append(tr("Click: choose it as the answer."));
  else if (!held && cell.next_use(cycle))
    body.append("\n").append(tr("Click: go to its next move."));
  context.tip(cell_title(box, row, col), body, box.tensor);
}

void draw_cell(StageContext& context, const TensorBox& box, const TensorShape& tensor, const CellAccesses& cell,
               const TileInFlight* flight, double crossed, int row, int col, bool skipped) {
  const Theme& theme = context.theme;
  const CellSpan x = cell_span(box.cells.min.x, box.cells.max.x, box.shown_cols, col),
                 y = cell_span(box.cells.min.y, box.cells.max.y, box.shown_rows, row);
  const float gap = y.end - y.begin >= context.px(9) ? context.px(2) : 1;
  const Rect rect = {{x.begin, y.begin}, {x.end - (box.shown_cols > 1 ? std::min(gap, 1.0F) : 0), y.end - gap}};
  const CellLook look = look_of(tensor, cell, context.lane.state.cycle, crossed);
  const float strength = context.emphasis(box.tensor);
  const bool glows = flight && flight->progress > 0;
  context.quads.add({.min = rect.min,
                     .max = rect.max,
                     .radius = context.px(std::min(3.0F, 0.25F * rect.height())),
                     .fill = with_alpha(heat_color(theme, box.tensor, look.heat), strength),
                     .empty = with_alpha(heat_color(theme, box.tensor, 0.02F), strength),
                     .border = glows                     ? theme.text
                               : context.lit(box.tensor) ? theme.color(box.tensor)
                               : look.in_l2              ? with_alpha(theme.color(box.tensor), 0.6F * strength)
                                                         : 0,
                     .border_width = context.px(glows ? 1.5F : 1),
                     .fill_fraction = static_cast<float>(look.filled),
                     .glow = glows ? context.px(8) : 0,
                     .glow_color = with_alpha(theme.color(box.tensor), 0.7F),
                     .hatch = skipped ? Hatch::cross : Hatch::none,
                     .dashed = look.in_l2 && !glows});
  if (!context.hit(rect)) return;
  tip_cell(context, box, tensor, cell, crossed, row, col, skipped);
  const auto next = cell.next_use(context.lane.state.cycle);
  if (next && !context.view.lesson.locked && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) context.commands.push(SeekCycle{*next});
}

/// Draws "↑4 ↓1" on a cell: loads and stores so far by the SMs. Behind an L2 that is not what HBM sent, so it says "SM ↑4".
/// A larger tile would save the repeated loads.
void draw_counts(StageContext& context, const TensorBox& box, const BoxAccesses& cells) {
  const float height = box.cells.height() / static_cast<float>(box.shown_rows),
              width = box.cells.width() / static_cast<float>(box.shown_cols);
  if (height < context.metrics.small_line || width < 5 * context.metrics.digit || box.shown_rows != box.grid_rows ||
      box.shown_cols != box.grid_cols)
    return;
  const double cycle = context.lane.state.cycle;
  for (int row = 0; row < box.shown_rows; ++row) {
    for (int col = 0; col < box.shown_cols; ++col) {
      const CellAccesses cell = cells.cell(row, col);
      const std::int64_t reads = cell.reads(cycle), writes = cell.writes(cycle);
      std::string text;
      if (reads > 0) text.append("\u2191").append(std::to_string(reads));
      if (writes > 0) text.append(text.empty() ? "\u2193" : " \u2193").append(std::to_string(writes));
      if (!text.empty() && context.layout().has_l2) text.insert(0, "SM ");
      if (text.empty() || text_width(context.theme.mono_small, text) > width - context.px(6)) continue;
      const CellSpan x = cell_span(box.cells.min.x, box.cells.max.x, box.shown_cols, col),
                     y = cell_span(box.cells.min.y, box.cells.max.y, box.shown_rows, row);
      draw_text(context.list, context.theme.mono_small, {{x.begin, y.begin}, {x.end - context.px(5), y.end - context.px(2)}},
                text_on(context.theme, heat_color(context.theme, box.tensor, 0.8F)), text, Align::right);
    }
  }
}

void draw_absent(StageContext& context, const TensorBox& box, const TensorShape& tensor) {
  const Theme& theme = context.theme;
  context.quads.add({.min = box.cells.min,
                     .max = box.cells.max,
                     .radius = context.px(4),
                     .border = with_alpha(theme.color(box.tensor), 0.8F),
                     .border_width = context.px(1.2F),
                     .dashed = true});
  context.flush();
  const float line = context.metrics.small_line;
  const ImVec2 center = box.cells.center();
  const Rect upper = {{box.cells.min.x + context.px(3), center.y - line}, {box.cells.max.x - context.px(3), center.y}};
  const Rect lower = {{upper.min.x, center.y}, {upper.max.x, center.y + line}};
  const Rect middle = {{upper.min.x, center.y - 0.5F * line}, {upper.max.x, center.y + 0.5F * line}};
  const auto say_on = [&](const Rect& rect, const std::string& text) {
    draw_text(context.list, theme.ui_small, rect, theme.text_dim, text, Align::center);
  };
  const auto fits = [&](std::string_view text) { return text_width(theme.ui_small, text) <= upper.width(); };
  // Short of room, the number goes first: the size alone would read as what is stored.
  const std::string never = tr("Never stored"), saved = fill_in(tr("{} if stored"), {format_capacity(tensor.layout.bytes())});
  const bool two_lines = box.cells.height() >= 2 * line;
  const std::size_t space = never.find(' ');
  if (two_lines && fits(never) && fits(saved)) {
    say_on(upper, never);
    say_on(lower, saved);
  } else if (fits(never)) {
    if (box.cells.height() >= line) say_on(middle, never);
  } else if (two_lines && space != std::string::npos && fits(never.substr(0, space)) && fits(never.substr(space + 1))) {
    say_on(upper, never.substr(0, space));
    say_on(lower, never.substr(space + 1));
  }
  if (context.hit(box.box)) {
    context.tip(fill_in(tr("{} is never stored in HBM"), {std::string(to_string(box.tensor))}),
                fill_in(tr("Its tiles stay in registers. The whole tensor would be {}."), {format_capacity(tensor.layout.bytes())}),
                box.tensor);
  }
}

/// Returns the tensor's name; where that is too long, the name that its tile has on chip.
std::string name_that_fits(const StageContext& context, const TensorBox& box) {
  std::string name(to_string(box.tensor));
  if (text_width(context.theme.ui_small, name) <= box.label.width()) return name;
  for (const ChipTile tile : context.simulation().program->schema().tiles)
    if (tile.tensor() == box.tensor) return std::string(to_string(tile));
  return name;
}

void draw_tensor(StageContext& context, const TensorBox& box, const TensorShape& tensor, const BoxAccesses& cells) {
  const Theme& theme = context.theme;
  std::string label = formula_text(name_that_fits(context, box));
  const std::string size = fill_in(" {}×{}", {format_count(tensor.layout.rows), format_count(tensor.layout.cols)});
  if (!context.alone && text_width(theme.ui_small, label + size) <= box.label.width()) label += size;
  if (box.here) {
    const std::vector<const TileInFlight*> flights = flights_by_cell(context, box, tensor.layout);
    const double crossed = crossed_part(context, box.tensor);
    const std::vector<bool> skipped = skipped_rows(context, box, tensor.layout, cells);
    for (int row = 0; row < box.shown_rows; ++row) {
      for (int col = 0; col < box.shown_cols; ++col) {
        const auto index = static_cast<std::size_t>(row * box.shown_cols + col);
        draw_cell(context, box, tensor, cells.cell(row, col), flights[index], crossed, row, col,
                  skipped[static_cast<std::size_t>(row)]);
      }
    }
    context.flush();
    draw_counts(context, box, cells);
  } else if (context.view.lesson.locked) {
    return;  // that a tensor is never stored answers many a question
  } else {
    draw_absent(context, box, tensor);
  }
  draw_text(context.list, theme.ui_small, box.label, with_alpha(theme.text_color(box.tensor), box.here ? 1 : 0.75F), label);
  if (context.hit(box.label)) {
    context.tip(std::string(to_string(box.tensor)),
                fill_in(tr("{} planes of {} × {}, {} in total"),
                        {format_count(tensor.layout.planes), format_count(tensor.layout.rows), format_count(tensor.layout.cols),
                         format_capacity(tensor.layout.bytes())}),
                box.tensor);
  }
}

/// Says what HBM is, and its three bandwidths: nominal, usable, and the mean of this run.
std::string hbm_text(const Simulation& run) {
  const GpuSpec& gpu = run.request.gpu;
  const double bytes = static_cast<double>((run.ledger.total(Link::hbm_read) + run.ledger.total(Link::hbm_write)).value);
  const double seconds = run.time.value * 1e-9;
  std::string text = tr("The GPU's main memory: large, and the farthest from the SMs.");
  text.append("\n").append(fill_in(tr("Nominal: {}"), {format_bandwidth(gpu.hbm_bytes_per_second)}));
  text.append("\n").append(fill_in(tr("Usable, reads and writes mixed: {} ({})"),
                                   {format_bandwidth(gpu.hbm_rate().value * gpu.sm_clock_hz), format_rate(gpu.hbm_rate())}));
  if (gpu.hbm_read_rate().value != gpu.hbm_rate().value)
    text.append("\n").append(
        fill_in(tr("Usable, reads only: {}"), {format_bandwidth(gpu.hbm_read_rate().value * gpu.sm_clock_hz)}));
  if (seconds > 0) text.append("\n").append(fill_in(tr("Mean of this run: {}"), {format_bandwidth(bytes / seconds)}));
  return text;
}

/// Whose moves the tiles of the tensors show, and what lights and fills one.
struct WhoMoves {
  std::string text, meaning;
  std::string sm;  // the only one; empty: all of them
};

WhoMoves who_moves(const StageContext& context) {
  if (context.cache.history->of_all_sms())
    return {tr("tiles: all SMs"),
            tr("A tile brightens once an SM has read it. A tile that is written fills as its bytes reach HBM."),
            {}};
  const std::string sm = fill_in(tr("SM {}"), {std::to_string(context.lane.focus_sm)});
  return {fill_in(tr("tiles: {} only"), {sm}),
          fill_in(tr("A tile brightens once {} has read it. A tile that {} wrote fills as its bytes reach HBM. The links and the "
                     "tables count what all SMs move."),
                  {sm, sm}),
          sm};
}

std::string capacity_text(double bytes) {
  return format_capacity(Bytes(static_cast<std::int64_t>(bytes)));
}

}  // namespace

double l2_share(const GpuSpec& gpu, double resident) {
  return resident / gpu.usable_l2_bytes();
}

std::string l2_fill_text(const GpuSpec& gpu, double resident) {
  if (gpu.l2_usable_fraction < 1) return fill_in(tr("{} of {}"), {capacity_text(resident), capacity_text(gpu.usable_l2_bytes())});
  return fill_in(tr("{}, {} full"), {capacity_text(gpu.l2_capacity_bytes), format_percent(l2_share(gpu, resident))});
}

std::string l2_copies_text(double copies) {
  return fill_in(tr("copies {}"), {capacity_text(copies)});
}

CellSpan span_in_l2(const StageContext& context, Tensor tensor) {
  const Rect& bar = context.layout().l2_bars.front();
  const BarScale scale = bar_scale(context);
  const auto x = [&](double bytes) { return bar.min.x + static_cast<float>(std::min(bytes / scale.bytes, 1.0)) * bar.width(); };
  for (const Part& part : scale.parts)
    if (part.tensor == tensor) return {x(part.begin), x(part.begin + part.resident)};
  return {bar.min.x, bar.min.x};
}

void draw_l2(StageContext& context) {
  const StageLayout& layout = context.layout();
  if (!layout.has_l2) return;
  const Theme& theme = context.theme;
  const GpuSpec& gpu = context.simulation().request.gpu;
  context.box(layout.l2);
  const BarScale scale = bar_scale(context);
  double resident = 0, copies = 0;
  for (Tensor tensor : context.simulation().program->tensors()) {
    const InL2 held = in_l2(context, tensor);
    resident += held.resident;
    copies += held.copies;
  }
  const double full = l2_share(gpu, resident);
  for (const Rect& bar : layout.l2_bars) {
    context.quads.add({.min = bar.min, .max = bar.max, .radius = context.px(3), .fill = with_alpha(theme.text_faint, 0.10F)});
    for (const Part& part : scale.parts) draw_part(context, bar, scale, part);
    if (!scale.whole) draw_true_scale(context, bar, full);
  }
  context.flush();
  for (const Rect& bar : layout.l2_bars) {
    draw_part_names(context, bar, scale);
    if (!scale.whole) draw_enlargement(context, bar, scale);
  }

  const Rect& label = layout.l2_label;
  const float small_line = context.metrics.small_line;
  const int partitions = static_cast<int>(layout.l2_bars.size());
  const std::string percent = format_percent(full);
  const std::string copies_text = l2_copies_text(copies);
  bool copies_fit = false;
  if (label.height() < 1.5F * small_line) {  // one line
    const Rect beside = {{label.min.x + text_width(theme.ui_bold, "L2") + context.px(6), label.min.y}, label.max};
    draw_text(context.list, theme.ui_bold, label, theme.text, "L2");
    if (text_width(theme.ui_small, percent) <= beside.width())
      draw_text(context.list, theme.ui_small, beside, theme.text_dim, percent);
  } else {
    const float line = std::min(small_line, std::floor(label.height() * 0.5F));  // two lines, off the box's edges
    const float top = std::round(label.center().y - line);
    ImFont* const name = context.name_font()->FontSize <= label.height() - line ? context.name_font() : theme.ui_bold;
    draw_text(context.list, name, {{label.min.x, std::max(label.min.y, top + line - name->FontSize)}, {label.max.x, top + line}},
              theme.text, "L2");
    const Rect beside = {{label.min.x + text_width(name, "L2") + context.px(6), top}, {label.max.x, top + line}};
    copies_fit = partitions > 1 && text_width(theme.ui_small, copies_text) <= beside.width();
    if (copies_fit) draw_text(context.list, theme.ui_small, beside, theme.text_dim, copies_text);
    draw_text(context.list, theme.ui_small, {{label.min.x, top + line}, {label.max.x, top + 2 * line}}, theme.text_dim,
              first_that_fits(theme.ui_small, label.width(), {l2_fill_text(gpu, resident), percent}));
  }
  if (partitions > 1 && !copies_fit) {  // in what the last bar leaves free, where it is to scale
    const Rect& bar = layout.l2_bars.back();
    const Rect free = {{bar.min.x + static_cast<float>(std::min(full, 1.0)) * bar.width(), bar.min.y},
                       {bar.max.x - context.px(5), bar.max.y}};
    if (scale.whole && text_width(theme.ui_small, copies_text) + context.px(5) <= free.width() && free.height() >= small_line)
      draw_text(context.list, theme.ui_small, free, theme.text_dim, copies_text, Align::right);
  }
  if (context.hit(label)) {
    const std::string usable = capacity_text(gpu.usable_l2_bytes());
    std::string body = fill_in(tr("{} of {} resident"), {format_exact_bytes(Bytes(static_cast<std::int64_t>(resident))), usable});
    if (gpu.l2_usable_fraction < 1)
      body.append("\n").append(fill_in(tr("{} reported, {} usable"), {capacity_text(gpu.l2_capacity_bytes), usable}));
    if (partitions > 1)
      body.append("\n")
          .append(fill_in(tr("{} partitions. Data read from both sides lie in both. Each bar shows half of the total."),
                          {std::to_string(partitions)}))
          .append("\n")
          .append(fill_in(tr("{} are copies: bytes that crossed to the partition that is not their home"),
                          {format_exact_bytes(Bytes(std::llround(copies)))}));
    if (!scale.whole)
      body.append("\n").append(
          std::string(tr("The bar is enlarged: the tensors can fill only a sliver of the L2. The thin strip is the whole L2.")));
    body.append("\n").append(tr("Tiles that HBM is sending have their room already: what was used longest ago left for them."));
    context.tip("L2", body);
  }
}

void draw_hbm(StageContext& context) {
  const Theme& theme = context.theme;
  const StageLayout& layout = context.layout();
  const GpuSpec& gpu = context.simulation().request.gpu;
  const AttentionProblem& problem = context.problem();
  context.box(layout.hbm);
  context.flush();
  const Rect& label = layout.hbm_label;
  const float line = context.metrics.small_line;
  float y = label.min.y;
  const auto write = [&](ImFont* font, ImU32 color, std::string_view text) {
    if (context.alone && (text_width(font, text) > label.width() || y + line > label.max.y)) return;
    const float height = std::max(line, font->FontSize);
    draw_text(context.list, font, {{label.min.x, y}, {label.max.x, y + height}}, color, text);
    y += height + context.px(1);
  };
  write(context.name_font(), theme.text, "HBM");
  const float hbm_top = y;
  const std::string usable = format_bandwidth(gpu.hbm_rate().value * gpu.sm_clock_hz);
  // Whose moves the tiles show, and of which head, goes before the second bandwidth, which the tooltip has too.
  constexpr float lines_of_all = 4;
  const bool both = label.height() >= lines_of_all * (line + context.px(1));
  if (!context.alone && gpu.hbm_read_rate().value != gpu.hbm_rate().value) {
    if (both)
      write(theme.ui_small, theme.text_dim,
            fill_in(tr("read {}"), {format_bandwidth(gpu.hbm_read_rate().value * gpu.sm_clock_hz)}));
    write(theme.ui_small, theme.text_dim, fill_in(tr("r/w {}"), {usable}));
  } else {
    write(theme.ui_small, theme.text_dim,
          context.alone ? usable : first_that_fits(theme.ui_small, label.width(), {fill_in(tr("{} usable"), {usable}), usable}));
  }
  if (y > hbm_top && context.hit({label.min, {label.max.x, y}})) context.tip("HBM", hbm_text(context.simulation()));
  const WhoMoves who = who_moves(context);
  const float beside = label.min.x + text_width(context.name_font(), "HBM") + context.px(6);
  const Rect beside_name = {{beside, label.min.y}, {label.max.x, label.min.y + line}};
  const auto has_line = [&] { return y + line <= label.max.y; };
  const float who_top = y;
  if (!context.alone && has_line())
    write(theme.ui_small, theme.text_dim, first_that_fits(theme.ui_small, label.width(), {who.text, who.sm}));
  else if (context.alone && text_width(theme.ui_small, who.sm) <= beside_name.width())
    draw_text(context.list, theme.ui_small, beside_name, theme.text_dim, who.sm);
  else if (context.alone && !who.sm.empty())
    write(theme.ui_small, theme.text_dim, who.sm);
  if (y > who_top && context.hit({{label.min.x, who_top}, {label.max.x, y}})) context.tip(who.text, who.meaning);
  if (problem.query_planes() > 1) {
    const std::string shown = format_count(context.cache.history->plane() + 1), all = format_count(problem.query_planes());
    // Heads are numbered as in the title of the SM.
    const bool heads = problem.batch == 1;
    const std::string head = fill_in(tr("head {}"), {format_count(context.cache.history->plane())}), part = shown + "/" + all;
    const std::string plane = heads ? head + " (" + part + ")" : fill_in(tr("plane {} of {}"), {shown, all});
    if (!has_line() && !context.alone)  // no room below
      draw_text(context.list, theme.ui_small, beside_name, theme.text_dim,
                first_that_fits(theme.ui_small, beside_name.width(), {plane, heads ? head : part}));
    else
      write(theme.ui_small, theme.text_dim, plane);
  }
  for (std::size_t i = 0; i < layout.tensors.size(); ++i) {
    draw_tensor(context, layout.tensors[i], context.shape().tensors[i], context.cache.cells[i]);
  }
}

}  // namespace tilescope
