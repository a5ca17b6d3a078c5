// The fit panel: every tile Br x Bc that the algorithm could take on this GPU — what fits, what it needs, and how long it would
// take.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "app/panels/panels.h"
#include "app/panels/say.h"
#include "app/panels/study_panel.h"
#include "sim/analysis/format.h"
#include "sim/programs/kernel_needs.h"

namespace tilescope {
namespace {

std::string tile_text(const TileShape& tile) {
  return fmt::format("{}×{}", tile.block_q, tile.block_kv);
}

const char* limit_name(Occupancy::Limit limit) {
  switch (limit) {
    case Occupancy::Limit::blocks:
      return tr("blocks of an SM");
    case Occupancy::Limit::threads:
      return tr("threads");
    case Occupancy::Limit::registers:
      return tr("registers");
    case Occupancy::Limit::shared:
      return tr("shared memory");
  }
  return "";
}

/// What stops a tile, with its number, short enough for a cell.
std::string stop_text(const FitCell& cell) {
  switch (cell.stop) {
    case FitCell::Stop::shared:
      return say(tr("{} shared"), format_capacity(Bytes(cell.needs.shared_bytes)));
    case FitCell::Stop::registers:
      return say(tr("{} registers"), format_short(static_cast<double>(registers_of_block(cell.needs))));
    case FitCell::Stop::threads:
      return say(tr("{} threads"), cell.needs.threads);
    case FitCell::Stop::none:
    case FitCell::Stop::other:
      break;
  }
  return tr("not possible");
}

std::string finding(const FitMap& map) {
  const FitCell* usual = map.find(map.usual);
  const FitCell* best = map.quickest();
  if (usual == nullptr || !usual->outcome || !usual->outcome->done() || best == nullptr)
    return say(tr("{} of {} tiles fit {}"), map.fitting(), map.cells.size(), map.request.gpu.id);
  const std::string own =
      say(tr("The kernel's tile {} takes {}"), tile_text(map.usual), format_time(Nanoseconds(usual->outcome->time_ns)));
  if (map.simulated() < map.fitting()) return own;
  const auto sound =
      std::count_if(map.cells.begin(), map.cells.end(), [](const FitCell& cell) { return cell.fits() && !cell.spills; });
  if (best == usual) return own + say(tr(": none of the {} that fit and do not spill is quicker"), sound);
  return own + say(tr("; {} would take {}, {}"), tile_text(best->tile), format_time(Nanoseconds(best->outcome->time_ns)),
                   format_signed_percent(best->outcome->time_ns / usual->outcome->time_ns - 1));
}

std::string detail(const FitMap& map) {
  std::size_t shared = 0, registers = 0, spills = 0;
  for (const FitCell& cell : map.cells) {
    shared += cell.stop == FitCell::Stop::shared ? 1 : 0;
    registers += cell.stop == FitCell::Stop::registers ? 1 : 0;
    spills += cell.spills ? 1 : 0;
  }
  const GpuSpec& gpu = map.request.gpu;
  std::string text = say(tr("{} of {} tiles fit."), map.fitting(), map.cells.size());
  const auto add = [&](const std::string& sentence) {
    text += ' ';
    text += sentence;
  };
  const double room = std::min(gpu.sm_shared_bytes, gpu.sm_shared_bytes_per_block);
  if (shared > 0)
    add(say(tr("{} need more than the {} of shared memory that a block can have."), shared,
            format_capacity(Bytes(static_cast<std::int64_t>(room)))));
  if (registers > 0)
    add(say(tr("{} need more than the {} registers of an SM."), registers,
            format_count(static_cast<std::int64_t>(gpu.sm_registers))));
  if (spills > 0)
    add(say(tr("{} would keep more sums than a thread's 255 registers hold and spill (slanted lines): their time leaves that out."),
            spills));
  add(tr("Click a tile to use it."));
  return text;
}

std::string tooltip(const FitCell& cell) {
  if (!cell.fits()) return cell.refusal;
  std::string text =
      say(tr("{} of shared memory, {} registers a thread, {} threads, {} buffers"), format_capacity(Bytes(cell.needs.shared_bytes)),
          cell.needs.registers_per_thread, cell.needs.threads, cell.needs.stages);
  add_line(text, say(tr("{} blocks on an SM, limited by {}"), cell.blocks_per_sm, limit_name(cell.limit)));
  if (cell.spills) add_line(text, tr("The sums of a thread need more registers than there are: the compiler would spill."));
  if (cell.outcome && cell.outcome->done()) {
    add_line(text, say(tr("{} ({} cycles), held up by {}"), format_time(Nanoseconds(cell.outcome->time_ns)),
                       format_cycles(Cycles(cell.outcome->cycles)), bound_name(cell.outcome->bound)));
    add_line(text, say(tr("L2↔SM {}, HBM {}"), format_bytes(Bytes(static_cast<std::int64_t>(cell.outcome->sm_link()))),
                       format_bytes(Bytes(static_cast<std::int64_t>(cell.outcome->hbm())))));
  }
  return text;
}

/// Quick is strong, slow is faint; four times the quickest is as faint as it gets.
ImU32 cell_fill(const Theme& theme, const FitMap& map, const FitCell& cell) {
  const FitCell* best = map.quickest();
  if (!cell.fits() || !cell.outcome || !cell.outcome->done() || best == nullptr) return theme.inset;
  const double ratio = std::max(1.0, cell.outcome->cycles / best->outcome->cycles);
  const auto strength = static_cast<float>(std::clamp(1 - std::log(ratio) / std::log(4.0), 0.0, 1.0));
  return mix(theme.inset, theme.accent, 0.10F + 0.62F * strength);
}

void draw_cell(const View& view, const FitMap& map, const FitCell& cell, const Rect& rect) {
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImU32 fill = cell_fill(theme, map, cell);
  const float radius = 4 * theme.scale, small = theme.ui_small->FontSize;
  list->AddRectFilled(rect.min, rect.max, fill, radius);
  if (!cell.fits()) {
    draw_hatch(list, rect, with_alpha(theme.text_faint, 0.28F), 7 * theme.scale, std::max(1.0F, theme.scale), true);
    const std::string text = stop_text(cell);
    const Rect line = {{rect.min.x + 4 * theme.scale, rect.center().y - small * 0.6F},
                       {rect.max.x - 4 * theme.scale, rect.center().y + small * 0.6F}};
    list->AddRectFilled({line.min.x, line.min.y}, line.max, with_alpha(theme.panel, 0.75F), 3 * theme.scale);
    draw_text(list, theme.ui_small, line, theme.text_faint, text, Align::center);
    return;
  }
  if (cell.spills) draw_hatch(list, rect, with_alpha(theme.bad, 0.32F), 9 * theme.scale, std::max(1.0F, theme.scale));
  const ImU32 ink = text_on(theme, fill);
  const float line = small + 2 * theme.scale;
  const bool two = rect.height() > 2.4F * line, three = rect.height() > 3.9F * line && rect.width() > 92 * theme.scale;
  const float height = theme.mono->FontSize + (two ? line : 0) + (three ? line : 0);
  float y = rect.center().y - height * 0.5F;
  const std::string time = cell.outcome && cell.outcome->done() ? format_time(Nanoseconds(cell.outcome->time_ns)) : "…";
  draw_text(list, theme.mono, {{rect.min.x, y}, {rect.max.x, y + theme.mono->FontSize}}, ink, time, Align::center);
  y += theme.mono->FontSize;
  if (two) {
    const char* pattern = cell.blocks_per_sm == 1 ? tr("{} block an SM") : tr("{} blocks an SM");
    draw_text(list, theme.ui_small, {{rect.min.x, y}, {rect.max.x, y + line}}, ink, say(pattern, cell.blocks_per_sm),
              Align::center);
    y += line;
  }
  if (three)
    draw_text(
        list, theme.ui_small, {{rect.min.x + 2 * theme.scale, y}, {rect.max.x - 2 * theme.scale, y + line}}, with_alpha(ink, 0.8F),
        say(tr("{}, {} regs"), format_capacity(Bytes(cell.needs.shared_bytes)), cell.needs.registers_per_thread), Align::center);
}

/// A frame around a cell with a word on its upper edge.
void draw_mark(const View& view, const Rect& rect, ImU32 color, const char* word, bool right) {
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRect(rect.min, rect.max, color, 4 * theme.scale, 0, 2 * theme.scale);
  const float width = text_width(theme.ui_small, word) + 8 * theme.scale, height = theme.ui_small->FontSize + 2 * theme.scale;
  const float left = right ? rect.max.x - width - 4 * theme.scale : rect.min.x + 4 * theme.scale;
  const Rect tag = {{left, rect.min.y - height * 0.5F}, {left + width, rect.min.y + height * 0.5F}};
  list->AddRectFilled(tag.min, tag.max, color, 3 * theme.scale);
  draw_text(list, theme.ui_small, tag, text_on(theme, color), word, Align::center);
}

struct Grid {
  Rect area;
  float cell_width = 0, cell_height = 0, gap = 0;
  Rect cell(std::size_t row, std::size_t column) const {
    const ImVec2 min = {area.min.x + static_cast<float>(column) * cell_width, area.min.y + static_cast<float>(row) * cell_height};
    return {{min.x + gap, min.y + gap}, {min.x + cell_width - gap, min.y + cell_height - gap}};
  }
};

void draw_headings(const View& view, const FitMap& map, const Grid& grid) {
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float number = theme.mono_small->FontSize;
  for (std::size_t row = 0; row < map.block_q.size(); ++row) {
    const Rect cell = grid.cell(row, 0);
    draw_text(list, theme.mono_small, {{cell.min.x - 60 * theme.scale, cell.min.y}, {cell.min.x - 8 * theme.scale, cell.max.y}},
              theme.text_dim, fmt::format("{}", map.block_q[row]), Align::right);
  }
  for (std::size_t column = 0; column < map.block_kv.size(); ++column) {
    const Rect cell = grid.cell(map.block_q.size() - 1, column);
    draw_text(list, theme.mono_small,
              {{cell.min.x, grid.area.max.y + 2 * theme.scale}, {cell.max.x, grid.area.max.y + 2 * theme.scale + number}},
              theme.text_dim, fmt::format("{}", map.block_kv[column]), Align::center);
  }
}

}  // namespace

void draw_fit_panel(const View& view, Commands& commands) {
  if (view.studies->fit == nullptr || view.studies->fit->cells.empty()) return study_empty(view, tr("Nothing simulated yet."));
  const Theme& theme = *view.theme;
  const FitMap& map = *view.studies->fit;
  study_head(view, finding(map), detail(map));
  study_progress(view, commands, map.simulated(), map.fitting());

  const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  const float small = theme.ui_small->FontSize, left = 46 * theme.scale;
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_text(list, theme.ui_small, {at, {at.x + room.x, at.y + small}}, theme.text_dim, tr("Br, query rows"));
  draw_text(list, theme.ui_small, {{at.x, at.y + room.y - small}, {at.x + room.x, at.y + room.y}}, theme.text_dim,
            tr("Bc, key rows"), Align::right);
  Grid grid;
  grid.area = {{at.x + left, at.y + small + 12 * theme.scale},
               {at.x + room.x, at.y + room.y - small - theme.mono_small->FontSize - 10 * theme.scale}};
  grid.gap = 2 * theme.scale;
  grid.cell_width = grid.area.width() / static_cast<float>(map.block_kv.size());
  grid.cell_height = std::min(grid.area.height() / static_cast<float>(map.block_q.size()), 120 * theme.scale);
  grid.area.max.y = grid.area.min.y + grid.cell_height * static_cast<float>(map.block_q.size());
  draw_headings(view, map, grid);

  const TileShape now = view.lane().simulation->program->tile();
  const FitCell* best = map.simulated() == map.fitting() ? map.quickest() : nullptr;
  for (std::size_t row = 0; row < map.block_q.size(); ++row)
    for (std::size_t column = 0; column < map.block_kv.size(); ++column) {
      const FitCell& cell = map.at(row, column);
      const Rect rect = grid.cell(row, column);
      ImGui::PushID(static_cast<int>(row * map.block_kv.size() + column));
      if (hit_area("cell", rect) && cell.fits()) commands.push(SetTile{cell.tile, "tile"});
      const bool hovered = ImGui::IsItemHovered();
      ImGui::PopID();
      draw_cell(view, map, cell, rect);
      if (hovered) {
        list->AddRect(rect.min, rect.max, theme.text_dim, 4 * theme.scale, 0, std::max(1.0F, theme.scale));
        show_tooltip(theme, say(tr("tile {}"), tile_text(cell.tile)), tooltip(cell));
      }
    }
  for (std::size_t row = 0; row < map.block_q.size(); ++row)
    for (std::size_t column = 0; column < map.block_kv.size(); ++column) {
      const FitCell& cell = map.at(row, column);
      const Rect rect = grid.cell(row, column);
      if (cell.tile == now && !(now == map.usual)) draw_mark(view, rect, theme.accent, tr("now"), true);
      if (&cell == best && !(cell.tile == map.usual)) draw_mark(view, rect, theme.good, tr("quickest"), true);
      if (cell.tile == map.usual)
        draw_mark(view, rect, theme.highlight, &cell == best ? tr("the kernel's tile, quickest") : tr("the kernel's tile"), false);
    }
  if (view.message && (view.message->control == "tile")) wrapped_text(theme.ui_small, theme.bad, view.message->sentence);
}

}  // namespace tilescope
