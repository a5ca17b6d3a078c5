// Draws HBM: its tensors as grids of tiles, and which of them were read and written.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <imgui_internal.h>

#include "app/ui/say.h"
#include "app/ui/short_line.h"
#include "app/ui/tab_stops.h"
#include "app/ui/widgets.h"
#include "app/views/stage/flight_path.h"
#include "app/views/stage/stage_context.h"
#include "sim/analysis/format.h"
#include "sim/core/mask.h"

namespace tilescope {

namespace {

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
  std::string title = std::string(to_string(box.tensor)) + ", " + say(tr("tile row {}"), range(row, box.grid_rows, box.shown_rows));
  if (box.grid_cols > 1) title.append(", ").append(say(tr("tile column {}"), range(col, box.grid_cols, box.shown_cols)));
  return title;
}

void tip_cell(StageContext& context, const TensorBox& box, const TensorShape& tensor, const CellAccesses& cell, double crossed,
              int row, int col, bool skipped) {
  const double cycle = context.lane.state.cycle;
  std::string body =
      say(tr("{} per tile"),
          format_exact_bytes(Bytes(tensor.layout.tile_rows * tensor.layout.tile_cols * tensor.layout.element_bytes)));
  const std::int64_t reads = cell.reads(cycle), writes = cell.writes(cycle), all_reads = cell.reads(), all_writes = cell.writes();
  const bool held = context.view.lesson.locked;  // the totals answer many a question of a lesson
  const bool by_all = context.cache.history->of_all_sms();
  if (held && reads > 0)
    body.append("\n").append(
        say(by_all ? tr("Loaded {} times so far by all SMs") : tr("Loaded {} times so far by this SM"), std::to_string(reads)));
  else if (!held && all_reads > 0)
    body.append("\n").append(
        say(by_all ? tr("Loaded {} times so far by all SMs, {} in total") : tr("Loaded {} times so far by this SM, {} in total"),
            std::to_string(reads), std::to_string(all_reads)));
  if (reads > 0 && context.layout().has_l2)
    body.append("\n").append(tr("SMs load from the L2; the link above counts what HBM sent."));
  if (skipped)
    body.append("\n").append(by_all ? tr("No thread block loads it: the mask hides all of it")
                                    : tr("This thread block skips it: the mask hides all of it"));
  if (held && writes > 0)
    body.append("\n").append(
        say(by_all ? tr("Stored {} times so far by all SMs") : tr("Stored {} times so far by this SM"), std::to_string(writes)));
  else if (!held && all_writes > 0)
    body.append("\n").append(
        say(by_all ? tr("Stored {} times so far by all SMs, {} in total") : tr("Stored {} times so far by this SM, {} in total"),
            std::to_string(writes), std::to_string(all_writes)));
  if (writes > 0 && crossed < 1)
    body.append("\n").append(
        say(tr("{} of {} has reached HBM; the rest is in the L2"), format_percent(crossed), std::string(to_string(box.tensor))));
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
  const std::array place = {static_cast<int>(box.tensor.index()), row, col};
  const ImGuiID group = ImGui::GetID("hbm tiles");
  const bool chosen = tab_stop(theme, ImHashData(place.data(), sizeof(place), group), rect, context.px(3), group);
  const bool focused = tab_stop_is_focused(), hit = context.hit(rect);
  if (!hit && !focused) return;
  tip_cell(context, box, tensor, cell, crossed, row, col, skipped);
  if (focused) {  // over the cells, which are drawn later
    context.quads.add({.min = rect.min, .max = rect.max, .border = theme.highlight, .border_width = context.px(2)});
    stop_tooltip(theme, rect, std::exchange(context.tip_title, {}), std::exchange(context.tip_body, {}));
  }
  const auto next = cell.next_use(context.lane.state.cycle);
  const bool pressed = chosen || (hit && ImGui::IsMouseClicked(ImGuiMouseButton_Left));
  if (next && !context.view.lesson.locked && pressed) context.commands.push(SeekCycle{*next});
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
  const std::string never = tr("Never stored"), saved = say(tr("{} if stored"), format_capacity(tensor.layout.bytes()));
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
    context.tip(say(tr("{} is never stored in HBM"), std::string(to_string(box.tensor))),
                say(tr("Its tiles stay in registers. The whole tensor would be {}."), format_capacity(tensor.layout.bytes())),
                box.tensor);
  }
}

/// Returns the line of a tensor's name, which may reach into the gap behind its box.
Rect name_line(const TensorBox& box) {
  Rect line = box.label;
  if (line.max.x >= box.box.max.x) line.max.x = std::max(line.max.x, box.lane_note.max.x);
  return line;
}

/// Returns the tensor's name; where that is too long, the name that a tile of its values has on chip, or of a copy what stands
/// after the name of its result: "acc₂" of dQ_acc₂. A part of a sum, such as dSK of dQ_acc, is something else.
std::string name_that_fits(const StageContext& context, const TensorBox& box) {
  std::string name(to_string(box.tensor));
  const auto fits = [&] { return text_width(context.theme.ui_small, name) <= name_line(box).width(); };
  if (fits()) return name;
  for (const ChipTile tile : context.simulation().program->schema().tiles)
    if (tile.tensor() == box.tensor && tile->part == TilePart::whole) name = to_string(tile);
  if (fits()) return name;
  const std::size_t mark = name.find('_');
  const auto is_copy = [&](Tensor each) { return to_string(each).starts_with(name.substr(0, mark + 1)); };
  const bool has_copies = mark != std::string::npos && std::ranges::count_if(context.simulation().program->tensors(), is_copy) > 1;
  return has_copies ? name.substr(mark + 1) : name;
}

/// Draws the name of a tensor on its line. Large text may leave it no room left of the cells: then it stands over them.
void draw_name(const StageContext& context, const TensorBox& box, const std::string& name) {
  const Theme& theme = context.theme;
  const ImU32 color = with_alpha(theme.text_color(box.tensor), box.here ? 1 : 0.75F);
  const bool left_of_cells = box.label.max.y >= box.box.max.y;
  if (!left_of_cells || text_width(theme.ui_small, name) <= name_line(box).width())
    return draw_fitted_text(context.list, theme.ui_small, name_line(box), color, name);
  const float room = box.box.width() + context.px(4);
  ImFont* const font = text_width(theme.ui_small, name) <= room ? theme.ui_small : theme.mono_tiny;
  const float half = 0.5F * std::min(text_width(font, name), room) + 1;
  const ImVec2 middle = box.box.center();
  const Rect at = {{middle.x - half, middle.y - 0.5F * font->FontSize}, {middle.x + half, middle.y + 0.5F * font->FontSize}};
  context.list->AddRectFilled(at.min, at.max, with_alpha(theme.inset, 0.8F), context.px(3));
  draw_fitted_text(context.list, font, at, color, name, Align::center);
}

void draw_tensor(StageContext& context, const TensorBox& box, const TensorShape& tensor, const BoxAccesses& cells) {
  const Theme& theme = context.theme;
  std::string label = formula_text(name_that_fits(context, box));
  const std::string size = say(" {}×{}", format_count(tensor.layout.rows), format_count(tensor.layout.cols));
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
  draw_name(context, box, label);
  if (context.hit(box.label)) {
    context.tip(std::string(to_string(box.tensor)),
                say(tr("{} planes of {} × {}, {} in total"), format_count(tensor.layout.planes), format_count(tensor.layout.rows),
                    format_count(tensor.layout.cols), format_capacity(tensor.layout.bytes())),
                box.tensor);
  }
}

/// Says what HBM is, and its three bandwidths: nominal, usable, and the mean of this run.
std::string hbm_text(const Simulation& run) {
  const GpuSpec& gpu = run.request.gpu;
  const double bytes = static_cast<double>((run.ledger.total(Link::hbm_read) + run.ledger.total(Link::hbm_write)).value);
  const double seconds = run.time.value * 1e-9;
  std::string text = tr("The GPU's main memory: large, and the farthest from the SMs.");
  text.append("\n").append(say(tr("Nominal: {}"), format_bandwidth(gpu.hbm_bytes_per_second)));
  text.append("\n").append(say(tr("Usable, reads and writes mixed: {} ({})"),
                               format_bandwidth(gpu.hbm_rate().value * gpu.sm_clock_hz), format_rate(gpu.hbm_rate())));
  if (gpu.hbm_read_rate().value != gpu.hbm_rate().value)
    text.append("\n").append(say(tr("Usable, reads only: {}"), format_bandwidth(gpu.hbm_read_rate().value * gpu.sm_clock_hz)));
  if (seconds > 0) text.append("\n").append(say(tr("Mean of this run: {}"), format_bandwidth(bytes / seconds)));
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
  const std::string sm = say(tr("SM {}"), std::to_string(context.lane.focus_sm));
  return {say(tr("tiles: {} only"), sm),
          say(tr("A tile brightens once {} has read it. A tile that {} wrote fills as its bytes reach HBM. The links and the "
                 "tables count what all SMs move."),
              sm, sm),
          sm};
}

}  // namespace

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
      write(theme.ui_small, theme.text_dim, say(tr("read {}"), format_bandwidth(gpu.hbm_read_rate().value * gpu.sm_clock_hz)));
    write(theme.ui_small, theme.text_dim, say(tr("r/w {}"), usable));
  } else {
    write(theme.ui_small, theme.text_dim,
          context.alone ? usable : first_that_fits(theme.ui_small, label.width(), {say(tr("{} usable"), usable), usable}));
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
    const std::string head = say(tr("head {}"), format_count(context.cache.history->plane())), part = shown + "/" + all;
    const std::string plane = heads ? head + " (" + part + ")" : say(tr("plane {} of {}"), shown, all);
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
