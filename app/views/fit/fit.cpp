// The fit panel: every tile Br x Bc on this GPU, for each number of buffers and type: what fits, what it needs, how long it takes.
//
//   ┌ one large map ──────────────────────┐  ┌ all maps, small ┐
//   │ Br ↓  Bc →   12.3 µs  2 blocks/SM    │  │ fp16  1 2 3     │   clicking a small one enlarges it
//   └─────────────────────────────────────┘  │ fp32  1 2 3     │
//                                            └─────────────────┘
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "app/ui/panel_state.h"
#include "app/ui/plot.h"
#include "app/ui/say.h"
#include "app/ui/tab_stops.h"
#include "app/views/beside_run.h"
#include "app/views/error_words.h"
#include "app/views/outcome_words.h"
#include "app/views/panels.h"
#include "app/views/study_panel.h"
#include "app/views/timed_run.h"
#include "sim/analysis/format.h"
#include "sim/analysis/outcome.h"
#include "sim/analysis/what_if.h"
#include "sim/programs/kernel_needs.h"
#include "sim/programs/occupancy.h"

namespace tilescope {
namespace {

std::string tile_text(const TileShape& tile) {
  return fmt::format("{}×{}", tile.block_q, tile.block_kv);
}

const char* limit_name(Occupancy::Limit limit) {
  switch (limit) {
    case Occupancy::Limit::blocks:
      return tr("block slots");
    case Occupancy::Limit::threads:
      return tr("threads");
    case Occupancy::Limit::registers:
      return tr("registers");
    case Occupancy::Limit::shared:
      return tr("shared memory");
  }
  return "";
}

/// Names what stops a tile, with its value, short enough for a cell.
std::string stop_text(const FitCell& cell) {
  switch (cell.stop) {
    case FitCell::Stop::shared:
      return say(tr("{} shared"), format_capacity(Bytes(cell.needs.shared_bytes)));
    case FitCell::Stop::registers:
      if (cell.needs.spills()) return say(tr("{} a thread"), format_count(cell.needs.registers_wanted));
      return say(tr("{} registers"), format_short(static_cast<double>(registers_of_block(cell.needs))));
    case FitCell::Stop::threads:
      return say(tr("{} threads"), cell.needs.threads);
    case FitCell::Stop::none:
    case FitCell::Stop::other:
      break;
  }
  return tr("Impossible");
}

bool same_width(DataType a, DataType b) {
  return (a == DataType::fp32) == (b == DataType::fp32);
}

/// Returns "fp16, 2 buffers".
std::string map_name(const FitMap& map) {
  std::string type(to_string(map.request.problem.dtype));
  if (map.stages == 0) return type;
  return say(map.stages == 1 ? tr("{}, {} buffer") : tr("{}, {} buffers"), type, map.stages);
}

/// Compares the kernel's tile with the fastest of all maps.
std::string finding(const FitMaps& maps) {
  const FitMap& real = maps.maps.front();
  const FitCell* usual = real.find(real.usual);
  const FitMap* best_map = maps.quickest();
  if (usual == nullptr || !usual->outcome || !usual->outcome->done() || best_map == nullptr)
    return say(tr("{} of {} tiles fit {}"), real.fitting(), real.cells.size(), real.request.gpu.id);
  std::string own =
      say(tr("The kernel's tile {} takes {}"), tile_text(real.usual), format_time(Nanoseconds(usual->outcome->time_ns)));
  if (maps.simulated() < maps.fitting()) return own;
  const FitCell* best = best_map->quickest();
  if (best == usual) {
    std::size_t sound = 0;
    for (const FitMap& map : maps.maps)
      for (const FitCell& cell : map.cells) sound += cell.fits() && !cell.spills ? 1 : 0;
    return own + say(tr(". None of the {} tiles of powers of two that fit without spilling is faster"), sound);
  }
  const double change = best->outcome->time_ns / usual->outcome->time_ns - 1;
  if (-change < least_difference)
    return own + say(tr(". No tile of powers of two that fits without spilling is faster by {} or more"),
                     format_percent(least_difference));
  const std::string name =
      best_map == &real ? tile_text(best->tile) : fmt::format("{} ({})", tile_text(best->tile), map_name(*best_map));
  return own +
         say(tr(". Fastest: {}, {} ({})"), name, format_time(Nanoseconds(best->outcome->time_ns)), format_signed_percent(change));
}

/// The errors of the tile whose time the finding gives: the fastest, or the kernel's until all are simulated. They are looked up in
/// hundreds of recorded runs, so they are kept.
struct FitErrors {
  std::shared_ptr<const FitMaps> of;
  std::string text, language;
};

std::string errors_text(const View& view) {
  auto& kept = panel_state<FitErrors>("fit errors");
  const std::shared_ptr<const FitMaps>& maps = view.studies->fit;
  if (kept.of == maps && kept.language == tr("EN")) return kept.text;
  kept = {maps, {}, tr("EN")};
  const bool whole = maps->simulated() == maps->fitting();
  const FitMap* const map = whole ? maps->quickest() : &maps->maps.front();
  const FitCell* const cell = map == nullptr ? nullptr : whole ? map->quickest() : map->find(map->usual);
  if (cell == nullptr || !cell->outcome || !cell->outcome->done() || view.measured.known == nullptr) return {};
  const SimulationRequest request = request_of(*map, *cell);
  kept.text = time_errors_text(time_errors_of(*view.measured.known, predicted(request, *cell->outcome)), request);
  return kept.text;
}

/// `errors`: of the time of one tile.
std::string detail(const FitMap& map, const std::string& errors) {
  std::size_t shared = 0, registers = 0, of_thread = 0, spills = 0;
  int thread_limit = 0;
  for (const FitCell& cell : map.cells) {
    shared += cell.stop == FitCell::Stop::shared ? 1 : 0;
    const bool is_thread_full = cell.needs.spills();
    if (cell.stop == FitCell::Stop::registers) ++(is_thread_full ? of_thread : registers);
    if (is_thread_full) thread_limit = cell.needs.registers_limit;
    spills += cell.spills ? 1 : 0;
  }
  const GpuSpec& gpu = map.request.gpu;
  std::string text = say(tr("{}: {} of {} tiles fit."), map_name(map), map.fitting(), map.cells.size());
  const auto add = [&](const std::string& sentence) {
    text += ' ';
    text += sentence;
  };
  const double room = std::min(gpu.sm_shared_bytes, gpu.sm_shared_bytes_per_block);
  if (shared > 0)
    add(say(tr("{} need more than {} of shared memory per block."), shared,
            format_capacity(Bytes(static_cast<std::int64_t>(room)))));
  if (registers > 0)
    add(say(tr("{} need more than the {} registers of an SM."), registers,
            format_count(static_cast<std::int64_t>(gpu.sm_registers))));
  if (of_thread > 0) add(say(tr("{} need more than the {} registers of a thread."), of_thread, thread_limit));
  if (spills > 0)
    add(say(tr("{} would spill: a thread needs more registers than it can have (hatched). Their times leave the spills out."),
            spills));
  if (const std::string clock = one_clock_text(map.clock_hz, gpu, tr("the kernel's tile")); !clock.empty()) add(clock);
  add(errors);
  add(tr("Fit tries powers of two in the kernel's own order; tilescope search also tries sizes between them, and other orders."));
  add(tr("Click a tile to use it."));
  return text;
}

std::string tooltip(const FitCell& cell, bool own) {
  if (!cell.fits()) return say(cell.refusal);
  std::string text = own ? tr("Kernel's tile") : "";
  add_line(text, say(tr("{} of shared memory, {} registers per thread, {} threads, {} buffers"),
                     format_exact_bytes(Bytes(cell.needs.shared_bytes)), cell.needs.registers_per_thread, cell.needs.threads,
                     cell.needs.stages));
  add_line(text, say(tr("Blocks per SM: {}, limited by {}"), cell.blocks_per_sm, limit_name(cell.limit)));
  if (cell.spills)
    add_line(text, say(tr("A thread needs {} registers, and the limit is {}: the compiler would spill."), cell.registers_wanted,
                       cell.registers_limit));
  if (cell.outcome && cell.outcome->done()) {
    add_line(text, say(tr("{} ({} cycles), busiest: {}"), format_time(Nanoseconds(cell.outcome->time_ns)),
                       format_cycles(Cycles(cell.outcome->cycles)), bound_text(cell.outcome->bound, cell.outcome->sms)));
    add_line(text, say(tr("L2↔SM {}, HBM {}"), format_bytes(cell.outcome->sm_link()), format_bytes(cell.outcome->hbm())));
  }
  return text;
}

/// Colours by time: the fastest is strongest, 4× slower or more is faintest. The text of the theme can be read on all of them.
ImU32 cell_fill(const Theme& theme, const FitCell* best, const FitCell& cell) {
  if (!cell.fits() || !cell.outcome || !cell.outcome->done() || best == nullptr) return theme.inset;
  const double ratio = std::max(1.0, cell.outcome->cycles / best->outcome->cycles);
  const auto strength = static_cast<float>(std::clamp(1 - std::log(ratio) / std::log(4.0), 0.0, 1.0));
  return mix(theme.inset, theme.accent, 0.06F + 0.46F * strength);
}

void draw_cell(const View& view, const FitCell* best, const FitCell& cell, const Rect& rect) {
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImU32 fill = cell_fill(theme, best, cell);
  const float radius = 4 * theme.scale, small = theme.ui_small->FontSize;
  list->AddRectFilled(rect.min, rect.max, fill, radius);
  if (!cell.fits()) {
    draw_hatch(list, rect, with_alpha(theme.text_faint, 0.28F), 7 * theme.scale, std::max(1.0F, theme.scale), true);
    const std::string text = stop_text(cell);
    const Rect line = {{rect.min.x + 4 * theme.scale, rect.center().y - small * 0.6F},
                       {rect.max.x - 4 * theme.scale, rect.center().y + small * 0.6F}};
    list->AddRectFilled({line.min.x, line.min.y}, line.max, with_alpha(theme.panel, 0.75F), 3 * theme.scale);
    const bool narrow = cell.stop == FitCell::Stop::shared && text_width(theme.ui_small, text) > line.width();
    draw_text(list, theme.ui_small, line, theme.text_faint, narrow ? format_capacity(Bytes(cell.needs.shared_bytes)) : text,
              Align::center);
    return;
  }
  if (cell.spills) draw_hatch(list, rect, with_alpha(theme.bad, 0.32F), 9 * theme.scale, std::max(1.0F, theme.scale));
  const ImU32 ink = theme.text;
  const float line = small + 2 * theme.scale;
  const bool two = rect.height() > 2.4F * line, three = rect.height() > 3.9F * line && rect.width() > 92 * theme.scale;
  const float height = theme.mono->FontSize + (two ? line : 0) + (three ? line : 0);
  float y = rect.center().y - height * 0.5F;
  const std::string time = cell.outcome && cell.outcome->done() ? format_time(Nanoseconds(cell.outcome->time_ns)) : "…";
  ImFont* const font = text_width(theme.mono, time) + 8 * theme.scale <= rect.width() ? theme.mono : theme.mono_small;
  draw_text(list, font, {{rect.min.x, y}, {rect.max.x, y + theme.mono->FontSize}}, ink, time, Align::center);
  y += theme.mono->FontSize;
  if (two) {
    std::string blocks = say(cell.blocks_per_sm == 1 ? tr("{} block per SM") : tr("{} blocks per SM"), cell.blocks_per_sm);
    if (text_width(theme.ui_small, blocks) > rect.width()) blocks = say(tr("{} per SM"), cell.blocks_per_sm);
    draw_text(list, theme.ui_small, {{rect.min.x, y}, {rect.max.x, y + line}}, ink, blocks, Align::center);
    y += line;
  }
  if (three)
    draw_text(
        list, theme.ui_small, {{rect.min.x + 2 * theme.scale, y}, {rect.max.x - 2 * theme.scale, y + line}}, with_alpha(ink, 0.8F),
        say(tr("{}, {} regs"), format_capacity(Bytes(cell.needs.shared_bytes)), cell.needs.registers_per_thread), Align::center);
}

/// Frames a cell, with a word on its upper edge if there is room.
void draw_mark(const View& view, const Rect& rect, ImU32 color, const char* word, bool right) {
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRect(rect.min, rect.max, color, 4 * theme.scale, 0, 2 * theme.scale);
  const float width = text_width(theme.ui_small, word) + 8 * theme.scale, height = theme.ui_small->FontSize + 2 * theme.scale;
  if (rect.height() < theme.mono->FontSize + height) return;
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

/// Enlarges a map; nullopt: that of the current settings.
void choose_map(const View& view, Commands& commands, const std::optional<FitMapChoice>& map) {
  if (view.workspace->views.fit_map == map) return;
  ViewChoices views = view.workspace->views;
  views.fit_map = map;
  commands.push(SetViews{views});
}

/// Applies a tile of a map.
void use(const View& view, const FitMap& map, const FitCell& cell, Commands& commands) {
  ProgramTile tile = cell.tile;
  if (map.stages == map.real_stages) tile.stages = 0;  // kernel default
  if (view.requested->request.problem.dtype != map.request.problem.dtype &&
      !same_width(view.requested->request.problem.dtype, map.request.problem.dtype)) {
    AttentionProblem problem = view.requested->request.problem;
    problem.dtype = map.request.problem.dtype;
    commands.push(SetProblem{problem, "dtype"});
  }
  commands.push(SetTile{tile, "tile"});
  choose_map(view, commands, std::nullopt);  // it is that of the settings now
}

/// Returns the height of a map's axes.
float axes_above(const Theme& theme) {
  return theme.ui_small->FontSize + 12 * theme.scale;
}
float axes_below(const Theme& theme) {
  return theme.ui_small->FontSize + theme.mono_small->FontSize + 10 * theme.scale;
}

/// Minimum width, below which numbers would touch.
float least_map_height(const Theme& theme, const FitMap& map) {
  return axes_above(theme) + axes_below(theme) + static_cast<float>(map.block_q.size()) * (theme.mono->FontSize + 8 * theme.scale);
}

/// Returns true if a tile of a map is that of the pinned run beside the one on screen.
bool is_pinned(const View& view, const FitMaps& maps, const FitMap& map, const FitCell& cell) {
  const BesideRun* const beside = beside_run(view);
  if (beside == nullptr) return false;
  const Simulation& run = *beside->simulation;
  const ProgramTile& tile = run.program->tile();
  return run.request.algorithm == map.request.algorithm && same_numbers(run.request.gpu, map.request.gpu) &&
         run.request.problem.head_dim == map.request.problem.head_dim &&
         maps.find(run.request.problem.dtype, ring_buffers(*run.program)) == &map && cell.tile.block_q == tile.block_q &&
         cell.tile.block_kv == tile.block_kv;
}

/// Draws one large map with axes and marks.
void draw_map(const View& view, Commands& commands, const FitMaps& maps, const FitMap& map, const Rect& rect) {
  const Theme& theme = *view.theme;
  const float small = theme.ui_small->FontSize, left = 46 * theme.scale;
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_text(list, theme.ui_small, {rect.min, {rect.max.x, rect.min.y + small}}, theme.text_dim, tr("Br, query rows"));
  Grid grid;
  grid.area = {{rect.min.x + left, rect.min.y + axes_above(theme)}, {rect.max.x, rect.max.y - axes_below(theme)}};
  grid.gap = 2 * theme.scale;
  grid.cell_width = grid.area.width() / static_cast<float>(map.block_kv.size());
  grid.cell_height = std::min(grid.area.height() / static_cast<float>(map.block_q.size()), 120 * theme.scale);
  grid.area.max.y = grid.area.min.y + grid.cell_height * static_cast<float>(map.block_q.size());
  draw_headings(view, map, grid);
  const float foot = grid.area.max.y + theme.mono_small->FontSize + 6 * theme.scale;
  draw_text(list, theme.ui_small, {{rect.min.x, foot}, {rect.max.x, foot + small}}, theme.text_dim, tr("Bc, key rows"),
            Align::right);

  const FitMap* best_map = maps.quickest();
  const FitCell* best = best_map != nullptr ? best_map->quickest() : nullptr;
  const Simulation& shown = *view.lane().simulation;
  const bool is_shown = maps.find(shown.request.problem.dtype, ring_buffers(*shown.program)) == &map;
  const ProgramTile now = shown.program->tile();
  const auto each_cell = [&](const auto& draw) {
    for (std::size_t row = 0; row < map.block_q.size(); ++row)
      for (std::size_t column = 0; column < map.block_kv.size(); ++column) draw(map.at(row, column), grid.cell(row, column));
  };
  const ImGuiID tiles = ImGui::GetID("tiles");
  int id = 0;  // stays while a new simulation replaces the maps
  each_cell([&](const FitCell& cell, const Rect& at) {
    ImGui::PushID(id++);
    bool chosen = hit_area("cell", at);
    const bool hovered = ImGui::IsItemHovered();
    ImGui::PopID();
    draw_cell(view, best, cell, at);
    chosen = tab_stop(theme, at, 4 * theme.scale, tiles) || chosen;
    if (chosen && cell.fits()) use(view, map, cell, commands);
    if (hovered) list->AddRect(at.min, at.max, theme.text_dim, 4 * theme.scale, 0, std::max(1.0F, theme.scale));
    if (!hovered && !tab_stop_is_focused()) return;
    const std::string title = say(tr("tile {}"), tile_text(cell.tile)), body = tooltip(cell, map.real && cell.tile == map.usual);
    hovered ? show_tooltip(theme, title, body) : stop_tooltip(theme, at, title, body);
  });
  each_cell([&](const FitCell& cell, const Rect& at) {
    const bool own = map.real && cell.tile == map.usual;
    const bool quickest = &cell == best && maps.simulated() == maps.fitting();
    if (is_shown && cell.tile.block_q == now.block_q && cell.tile.block_kv == now.block_kv && !own)
      draw_mark(view, at, theme.accent, tr("Current"), true);
    if (quickest && !own) draw_mark(view, at, theme.good, tr("Fastest"), true);
    if (is_pinned(view, maps, map, cell)) draw_mark(view, at, theme.text, beside_label(*beside_run(view)).c_str(), !own);
    if (own) draw_mark(view, at, theme.highlight, quickest ? tr("Kernel's tile, fastest") : tr("Kernel's tile"), false);
  });
}

/// Draws a small map without text; frames the kernel's tile and the fastest.
void draw_small_map(const View& view, const FitMaps& maps, const FitMap& map, const Rect& rect) {
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const FitMap* best_map = maps.quickest();
  const FitCell* best = best_map != nullptr ? best_map->quickest() : nullptr;
  Grid grid;
  grid.area = rect;
  grid.gap = std::max(0.5F, 0.6F * theme.scale);
  grid.cell_width = rect.width() / static_cast<float>(map.block_kv.size());
  grid.cell_height = rect.height() / static_cast<float>(map.block_q.size());
  for (std::size_t row = 0; row < map.block_q.size(); ++row)
    for (std::size_t column = 0; column < map.block_kv.size(); ++column) {
      const FitCell& cell = map.at(row, column);
      const Rect at = grid.cell(row, column);
      list->AddRectFilled(at.min, at.max, cell_fill(theme, best, cell), theme.scale);
      if (!cell.fits())
        draw_hatch(list, at, with_alpha(theme.text_faint, 0.35F), 4 * theme.scale, std::max(1.0F, 0.7F * theme.scale), true);
      if (cell.spills) draw_hatch(list, at, with_alpha(theme.bad, 0.35F), 5 * theme.scale, std::max(1.0F, 0.7F * theme.scale));
      const bool own = map.real && cell.tile == map.usual;
      if (own || &cell == best)
        list->AddRect(at.min, at.max, own ? theme.highlight : theme.good, theme.scale, 0, std::max(1.5F, 1.5F * theme.scale));
    }
}

/// Draws all maps: one row per type, one column per number of buffers.
void draw_small_maps(const View& view, Commands& commands, const FitMaps& maps, std::size_t chosen, const Rect& rect) {
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  std::vector<std::size_t> order(maps.maps.size());  // screen order: by type, then ascending
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto is_full = [&](std::size_t i) { return maps.maps[i].request.problem.dtype == DataType::fp32; };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(is_full(a), maps.maps[a].stages) < std::pair(is_full(b), maps.maps[b].stages);
  });
  const std::size_t columns = maps.maps.size() / 2;
  const float line = theme.ui_small->FontSize + 3 * theme.scale, gap = 8 * theme.scale;
  const float width = (rect.width() - gap * static_cast<float>(columns - 1)) / static_cast<float>(columns);
  const float height = std::min((rect.height() - gap) * 0.5F, 2.1F * line + width * 1.1F);
  const ImGuiID group = ImGui::GetID("maps");
  for (std::size_t i = 0; i < order.size(); ++i) {
    const FitMap& map = maps.maps[order[i]];
    const std::size_t row = i / columns, column = i % columns;
    const ImVec2 min = {rect.min.x + static_cast<float>(column) * (width + gap),
                        rect.min.y + static_cast<float>(row) * (height + gap)};
    const Rect box = {min, {min.x + width, min.y + height}};
    ImGui::PushID(static_cast<int>(i));
    bool clicked = hit_area("map", box);
    const bool hovered = ImGui::IsItemHovered();
    ImGui::PopID();
    clicked = tab_stop(theme, box, 4 * theme.scale, group) || clicked;
    const bool focused = tab_stop_is_focused();
    if (clicked) choose_map(view, commands, FitMapChoice{map.request.problem.dtype, map.stages});
    if (order[i] == chosen || hovered)
      list->AddRectFilled({box.min.x - 3 * theme.scale, box.min.y - 2 * theme.scale},
                          {box.max.x + 3 * theme.scale, box.max.y + 2 * theme.scale},
                          order[i] == chosen ? theme.accent_soft : with_alpha(theme.inset_border, 0.6F), 4 * theme.scale);
    std::string name = map_name(map);
    if (text_width(theme.ui_small, name) > width) name = fmt::format("{} ×{}", to_string(map.request.problem.dtype), map.stages);
    draw_text(list, theme.ui_small, {box.min, {box.max.x, box.min.y + line}}, order[i] == chosen ? theme.text : theme.text_dim,
              name);
    const FitCell* best = map.quickest();
    draw_text(list, theme.mono_small, {{box.min.x, box.max.y - line}, box.max}, theme.text_dim,
              best == nullptr ? std::string(map.fitting() == 0 ? tr("None fits") : "…")
                              : format_time(Nanoseconds(best->outcome->time_ns)));
    draw_small_map(view, maps, map, {{box.min.x, box.min.y + line}, {box.max.x, box.max.y - line - 2 * theme.scale}});
    if (!hovered && !focused) continue;
    const std::string tip = best == nullptr
                                ? say(tr("{} of {} tiles fit"), map.fitting(), map.cells.size())
                                : say(tr("{} of {} tiles fit; the fastest, {}, takes {}"), map.fitting(), map.cells.size(),
                                      tile_text(best->tile), format_time(Nanoseconds(best->outcome->time_ns)));
    hovered ? show_tooltip(theme, map_name(map), tip) : stop_tooltip(theme, box, map_name(map), tip);
  }
}

}  // namespace

void draw_fit_panel(const View& view, Commands& commands) {
  if (view.studies->fit == nullptr || view.studies->fit->maps.empty()) return study_empty(view, tr("Nothing simulated yet."));
  const Theme& theme = *view.theme;
  const FitMaps& maps = *view.studies->fit;
  const Simulation& shown = *view.lane().simulation;
  const auto& choice = view.workspace->views.fit_map;
  const FitMap* const large =
      choice ? maps.find(choice->type, choice->stages) : maps.find(shown.request.problem.dtype, ring_buffers(*shown.program));
  const std::size_t chosen = large == nullptr ? 0 : static_cast<std::size_t>(large - maps.maps.data());
  const FitMap& map = maps.maps[chosen];
  study_head(view, finding(maps), detail(map, errors_text(view)));
  draw_beside_line(view);
  study_progress(view, commands, maps.simulated(), maps.fitting());

  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImVec2 room = ImGui::GetContentRegionAvail();
  room.y = std::max(room.y, least_map_height(theme, map));
  const std::size_t columns = maps.maps.size() / 2;
  const float gap = 18 * theme.scale, side = std::min(room.x * 0.34F, 112 * theme.scale * static_cast<float>(columns));
  draw_map(view, commands, maps, map, {at, {at.x + room.x - side - gap, at.y + room.y}});
  draw_small_maps(view, commands, maps, chosen, {{at.x + room.x - side, at.y}, {at.x + room.x, at.y + room.y}});
  study_message(view, "tile");
  ImGui::Dummy(room);  // the panel scrolls if the map does not fit
}

}  // namespace tilescope
