// The Banks panel: which banks and words of shared memory, or sectors of global memory, one access of a warp touches.
//
//   ┌ finding, why, measured ───────────────────────────────────┐
//   │ patterns  32 4 28 │ linear swizzled   ◀ ▮▯▯▯▯▯▯▯ ▶  2 of 8 │
//   │ …                 │ lane × bank: the word in each cell     │
//   │ …                 │ words that each bank needs             │
//   └───────────────────┴───────────────────────────────────────┘
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "app/ui/panel_state.h"
#include "app/ui/plot.h"
#include "app/ui/say.h"
#include "app/ui/tab_stops.h"
#include "app/views/banks/banks_picture.h"
#include "app/views/panels.h"
#include "app/views/study_panel.h"
#include "sim/analysis/bank_counters.h"
#include "sim/analysis/format.h"

namespace tilescope {
namespace {

struct BanksPanelState {
  std::optional<BankChoice> of;  // that the pictures show
  BankPicture banks;
  SectorPicture sectors;
  std::optional<int> lane;     // chosen by keys
  std::optional<int> hovered;  // in the last frame
};

/// What the panel shows, and what it is drawn with.
struct Shown {
  const View& view;
  const Theme& theme;
  const BankChoice& choice;
  const AccessPattern& pattern;
  WarpAccess access;
  BanksPanelState& state;
  /// Whether a question of a lesson waits: only the access of its page is told.
  bool held() const { return view.lesson.locked; }
  std::optional<int> lane() const { return state.hovered ? state.hovered : state.lane; }
};

BankChoice choice_of(const AccessPattern& pattern, bool swizzled) {
  return {std::string(pattern.id), swizzled && pattern.has_swizzle, 1};
}

// --- words ------------------------------------------------------------------------------------------------------------------

std::string finding(const Shown& shown) {
  const std::string title = translated(shown.pattern.title);
  if (shown.pattern.is_global) {
    const SectorPicture& sectors = shown.state.sectors;
    return say(tr("{}: {} sectors for {} bytes"), title, sectors.sectors, sectors.requested_bytes);
  }
  const BankUse& use = shown.state.banks.use;
  if (use.conflicts() > 0 && shown.held()) return say(tr("{}: {} wavefronts"), title, use.total);
  if (use.conflicts() > 0) return say(tr("{}: {} wavefronts, {} would do"), title, use.total, use.least);
  if (use.total == 1) return say(tr("{}: 1 wavefront, no bank conflict"), title);
  return say(tr("{}: {} wavefronts, no bank conflict"), title, use.total);
}

/// "4", "4.02": of one access.
std::string each_text(std::int64_t count, std::int64_t accesses) {
  if (count % accesses == 0) return fmt::format("{}", count / accesses);
  return fmt::format("{:.2f}", static_cast<double>(count) / static_cast<double>(accesses));
}

std::string measured_text(const Shown& shown) {
  const BankCounters* counted = find_bank_counters(shown.pattern.id, shown.choice.swizzled);
  if (counted == nullptr)
    return shown.pattern.by_wgmma ? tr("Not measured: the counters have the accesses of lanes, and wgmma reads without them")
                                  : tr("Not measured");
  if (shown.pattern.is_global)
    return say(tr("Measured on {}, {}: sectors {}"), counted->gpu, counted->date, each_text(counted->sectors, counted->accesses));
  return say(tr("Measured on {}, {}: wavefronts {}, bank conflicts {}"), counted->gpu, counted->date,
             each_text(counted->wavefronts, counted->accesses), each_text(counted->bank_conflicts, counted->accesses));
}

std::string lane_text(const Shown& shown, int lane) {
  const std::vector<LaneWord> words = words_of(shown.access, lane);
  if (words.empty()) return say(tr("Lane {} takes no part"), lane);
  const std::int64_t first = shown.access.address[static_cast<std::size_t>(lane)];
  const std::int64_t last = first + shown.access.bytes - 1;
  std::string text = words.size() == 1
                         ? say(tr("Lane {}: bytes {}–{}, word {}"), lane, first, last, words.front().word)
                         : say(tr("Lane {}: bytes {}–{}, words {}–{}"), lane, first, last, words.front().word, words.back().word);
  if (shown.pattern.is_global) return text + say(tr(", line {}, sector {}"), first / line_bytes, first % line_bytes / sector_bytes);
  std::vector<int> banks, fronts;
  for (const BankCell& cell : shown.state.banks.cells) {
    if (cell.word.lane != lane) continue;
    banks.push_back(cell.word.bank());
    if (fronts.empty() || fronts.back() != cell.wavefront) fronts.push_back(cell.wavefront);
  }
  std::sort(fronts.begin(), fronts.end());
  fronts.erase(std::unique(fronts.begin(), fronts.end()), fronts.end());
  text += say(banks.size() == 1 ? tr(", bank {}") : tr(", banks {}"), ranges_text(banks));
  return text + say(tr(", wavefront {}"), ranges_text(fronts));
}

/// Lists words and lanes of a bank, in the part of the warp that the wavefront belongs to.
std::string bank_text(const Shown& shown, int bank) {
  const BankPicture& picture = shown.state.banks;
  const Wavefront& now = picture.wavefronts[static_cast<std::size_t>(shown.choice.wavefront) - 1];
  std::vector<std::pair<std::int64_t, std::vector<int>>> words;
  for (const BankCell& cell : picture.cells) {
    if (cell.word.bank() != bank || cell.word.lane < now.first_lane || cell.word.lane >= now.first_lane + now.lanes) continue;
    const auto known = std::find_if(words.begin(), words.end(), [&](const auto& each) { return each.first == cell.word.word; });
    if (known == words.end())
      words.push_back({cell.word.word, {cell.word.lane}});
    else
      known->second.push_back(cell.word.lane);
  }
  if (words.empty()) return say(tr("Lanes {}–{} need no word of it"), now.first_lane, now.first_lane + now.lanes - 1);
  std::string text;
  constexpr std::size_t most = 8;
  for (std::size_t i = 0; i < std::min(most, words.size()); ++i) {
    const auto& [word, lanes] = words[i];
    add_line(text, say(lanes.size() == 1 ? tr("Word {}: lane {}") : tr("Word {}: lanes {}"), word, ranges_text(lanes)));
  }
  if (words.size() > most) add_line(text, say(tr("… and {} more words"), words.size() - most));
  add_line(text, words.size() > 1 ? say(tr("{} words of one bank: {} wavefronts"), words.size(), words.size())
                                  : std::string(tr("One word: no conflict")));
  return text;
}

// --- commands ---------------------------------------------------------------------------------------------------------------

void show_wavefront(const Shown& shown, Commands& commands, int wavefront) {
  const int count = wavefront_count(shown.choice), to = std::clamp(wavefront, 1, count);
  if (to == shown.choice.wavefront) return;
  BankChoice next = shown.choice;
  next.wavefront = to;
  commands.push(SetBanks{std::move(next)});
}

void show_pattern(const Shown& shown, Commands& commands, int by) {
  const auto all = access_patterns();
  const auto at = &shown.pattern - all.data() + by;
  if (at < 0 || at >= static_cast<std::ptrdiff_t>(all.size())) return;
  commands.push(SetBanks{choice_of(all[static_cast<std::size_t>(at)], shown.choice.swizzled)});
}

void swizzle(const Shown& shown, Commands& commands, bool on) {
  if (shown.pattern.has_swizzle && on != shown.choice.swizzled) commands.push(SetBanks{choice_of(shown.pattern, on)});
}

void handle_banks_keys(const Shown& shown, Commands& commands) {
  if (!study_takes_keys(shown.view)) return;
  const auto pressed = [](ImGuiKey key) { return ImGui::IsKeyPressed(key, true); };
  if (pressed(ImGuiKey_RightArrow)) show_wavefront(shown, commands, shown.choice.wavefront + 1);
  if (pressed(ImGuiKey_LeftArrow)) show_wavefront(shown, commands, shown.choice.wavefront - 1);
  if (pressed(ImGuiKey_Home)) show_wavefront(shown, commands, 1);
  if (pressed(ImGuiKey_End)) show_wavefront(shown, commands, most_wavefronts);
  if (ImGui::IsKeyPressed(ImGuiKey_X, false)) swizzle(shown, commands, !shown.choice.swizzled);
  if (shown.view.lesson.lesson != nullptr) return;  // there ↑ and ↓ choose an answer
  const int by = (pressed(ImGuiKey_DownArrow) ? 1 : 0) - (pressed(ImGuiKey_UpArrow) ? 1 : 0);
  if (by == 0) return;
  if (!ImGui::GetIO().KeyShift) return show_pattern(shown, commands, by);
  std::optional<int>& lane = shown.state.lane;
  if (!lane)
    lane = by > 0 ? 0 : warp_lanes - 1;
  else if (const int next = *lane + by; next < 0 || next >= warp_lanes)
    lane.reset();
  else
    lane = next;
}

// --- the list ---------------------------------------------------------------------------------------------------------------

void draw_cells(ImDrawList* list, ImFont* font, const Rect& row, float width, const std::array<std::string, 3>& texts,
                const std::array<ImU32, 3>& colors, std::size_t from) {
  float right = row.max.x - 4;
  for (std::size_t i = texts.size(); i-- > from; right -= width)
    draw_text(list, font, {{right - width + 2, row.min.y}, {right, row.max.y}}, colors[i], texts[i], Align::right);
}

void draw_patterns(const Shown& shown, Commands& commands, const Rect& area, float& bottom) {
  const Theme& theme = shown.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float cell = 64 * theme.scale, height = theme.row_height;
  const bool all_columns = area.width() >= 350 * theme.scale;
  const std::size_t from = all_columns ? 0 : 2;
  const float title_right = area.max.x - cell * static_cast<float>(3 - from);
  float y = area.min.y;
  const auto heading = [&](const char* title, const std::array<std::string, 3>& columns) {
    const Rect row = {{area.min.x, y}, {area.max.x, y + height}};
    draw_text(list, theme.ui_bold, {row.min, {title_right, row.max.y}}, theme.text, title);
    draw_cells(list, theme.ui_small, row, cell, columns, {theme.text_faint, theme.text_faint, theme.text_faint}, from);
    y += height;
  };
  heading(tr("Shared memory"), {tr("wavefronts"), tr("minimum"), tr("conflicts")});
  bool global = false;
  for (const AccessPattern& pattern : access_patterns()) {
    if (pattern.is_global && !global) {
      y += theme.gap * 0.5F;
      heading(tr("Global memory"), {tr("sectors"), tr("minimum"), tr("used")});
    }
    global = pattern.is_global;
    const bool swizzled = shown.choice.swizzled && pattern.has_swizzle;
    const Rect row = {{area.min.x, y}, {area.max.x, y + height}};
    y += height;
    ImGui::PushID(pattern.id.data());
    const bool clicked = hit_area("pattern", row);
    const bool hovered = ImGui::IsItemHovered();
    if (tab_stop(theme, row, 4 * theme.scale) || clicked) commands.push(SetBanks{choice_of(pattern, shown.choice.swizzled)});
    const std::string title = translated(pattern.title);
    item_tooltip(theme, title, shown.held() ? std::string() : translated(pattern.why));
    ImGui::PopID();
    const bool chosen = &pattern == &shown.pattern;
    if (chosen || hovered)
      list->AddRectFilled(row.min, row.max, chosen ? theme.accent_soft : with_alpha(theme.text_faint, 0.12F), 4 * theme.scale);
    draw_text(list, theme.ui_small, {{row.min.x + 6 * theme.scale, row.min.y}, {title_right, row.max.y}}, theme.text, title);
    if (shown.held() && !chosen) {
      draw_cells(list, theme.mono_small, row, cell, {"?", "?", "?"}, {theme.text_dim, theme.text_dim, theme.text_dim}, from);
      continue;
    }
    const WarpAccess access = pattern.access(swizzled);
    if (pattern.is_global) {
      const SectorPicture sectors = sector_picture(access);
      const double used = static_cast<double>(sectors.requested_bytes) / static_cast<double>(sectors.moved_bytes());
      draw_cells(list, theme.mono_small, row, cell,
                 {fmt::format("{}", sectors.sectors), fmt::format("{}", sectors.least_sectors()), format_percent(used)},
                 {theme.text, theme.text_dim, used < 1 ? theme.bad : theme.good}, from);
    } else {
      const BankUse use = bank_use(access);
      std::array<std::string, 3> counts = {fmt::format("{}", use.total), fmt::format("{}", use.least),
                                           fmt::format("{}", use.conflicts())};
      // The text of a page says the wavefronts; what is beyond the minimum is what it asks about.
      if (shown.held()) counts[1] = counts[2] = "?";
      const ImU32 conflicts = shown.held() ? theme.text_dim : use.conflicts() > 0 ? theme.bad : theme.good;
      draw_cells(list, theme.mono_small, row, cell, counts, {theme.text, theme.text_dim, conflicts}, from);
    }
  }
  bottom = y;
}

void draw_explanation(const Shown& shown, const Rect& area) {
  const Theme& theme = shown.theme;
  const std::array<const char*, 3> texts =
      shown.pattern.is_global
          ? std::array{tr("Global memory is read in sectors of 32 bytes. Four sectors make a line of 128 bytes."),
                       tr("A warp requests every sector that any of its lanes touches."),
                       tr("Coalesced means: the lanes share as few sectors as possible.")}
          : std::array{tr("Shared memory has 32 banks. Word w, of 4 bytes, is in bank w mod 32."),
                       tr("A wavefront serves at most one word per bank. Lanes that read the same word share it."),
                       tr("The warp goes in parts: 32 lanes of 4 bytes, 16 of 8 bytes or 8 of 16 bytes.")};
  float y = area.min.y;
  for (const char* text : texts) {
    const float height = wrapped_height(theme.ui_small, text, area.width());
    if (y + height > area.max.y) return;
    ImGui::SetCursorScreenPos({area.min.x, y});
    wrapped_text(theme.ui_small, theme.text_dim, text, area.width());
    y += height + theme.gap * 0.5F;
  }
}

// --- the grid ---------------------------------------------------------------------------------------------------------------

/// Rows of 32 cells with a column of names before them.
struct Grid {
  ImVec2 at;            // of the first cell
  float width, height;  // of a cell, with its gap
  float gap;
  Rect cell(float row, int col) const {
    const ImVec2 from = {at.x + width * static_cast<float>(col), at.y + height * row};
    return {from, {from.x + width - gap, from.y + height - gap}};
  }
};

constexpr int grid_columns = 32;

Grid grid_in(const Theme& theme, const Rect& area, float names, int rows, float highest) {
  Grid grid{};
  grid.gap = std::max(1.0F, std::round(theme.scale));
  grid.width = std::floor((area.width() - names) / grid_columns);
  grid.height =
      std::clamp(std::floor(area.height() / static_cast<float>(std::max(1, rows))), 4.0F, std::min(highest, grid.width * 1.5F));
  grid.at = {area.min.x + names, area.min.y};
  return grid;
}

void draw_column_names(const Theme& theme, const Grid& grid, float top, float bottom, const std::array<int, grid_columns>& names,
                       ImU32 color) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const int each = grid.width >= 14 * theme.scale ? 1 : 4;
  for (int col = 0; col < grid_columns; col += each) {
    const Rect cell = grid.cell(0, col);
    const std::string text = fmt::format("{}", names[static_cast<std::size_t>(col)]);
    const float half = std::max(cell.width(), text_width(theme.mono_small, text) + 1) * 0.5F;
    draw_text(list, theme.mono_small, {{cell.center().x - half, top}, {cell.center().x + half, bottom}}, color, text,
              Align::center);
  }
}

bool row_is_named(const Theme& theme, const Grid& grid, int row) {
  return row % (grid.height >= theme.mono_tiny->FontSize ? 1 : 4) == 0;
}

void draw_in_cell(const Theme& theme, const Rect& cell, ImU32 color, const std::string& text) {
  ImFont* font = theme.mono_tiny;
  if (text_width(theme.mono_small, text) <= cell.width() && theme.mono_small->FontSize <= cell.height()) font = theme.mono_small;
  if (text_width(font, text) > cell.width() + 0.5F || font->FontSize > cell.height() + 2) return;
  draw_text(ImGui::GetWindowDrawList(), font, {cell.min, {cell.max.x + 1, cell.max.y}}, color, text, Align::center);
}

void draw_corner(const Theme& theme, const Rect& cell) {
  const float side = std::min(0.45F * cell.height(), 6 * theme.scale);
  ImGui::GetWindowDrawList()->AddTriangleFilled({cell.max.x - side, cell.min.y}, {cell.max.x, cell.min.y},
                                                {cell.max.x, cell.min.y + side}, theme.bad);
}

void draw_served(const Theme& theme, const Rect& cell, Served served) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (served == Served::now)
    list->AddRectFilled(cell.min, cell.max, theme.accent);
  else if (served == Served::before)
    list->AddRectFilled(cell.min, cell.max, mix(theme.inset, theme.inset_border, 0.8F));
  else
    list->AddRect(cell.min, cell.max, theme.text_faint);
}

ImU32 served_text(const Theme& theme, Served served) {
  return served == Served::now ? text_on(theme, theme.accent) : served == Served::before ? theme.text_faint : theme.text;
}

/// Describes what the mouse is on, and returns the lane.
std::optional<int> point_at_banks(const Shown& shown, const Grid& grid, const Rect& names, const Rect& footer) {
  const ImVec2 mouse = ImGui::GetMousePos();
  const int bank = static_cast<int>(std::floor((mouse.x - grid.at.x) / grid.width));
  const int lane = static_cast<int>(std::floor((mouse.y - grid.at.y) / grid.height));
  const bool on_bank = bank >= 0 && bank < shared_banks, on_lane = lane >= 0 && lane < warp_lanes;
  if (on_lane && (on_bank || names.contains(mouse))) {
    const auto& cells = shown.state.banks.cells;
    const auto cell = std::find_if(cells.begin(), cells.end(),
                                   [&](const BankCell& each) { return each.word.lane == lane && each.word.bank() == bank; });
    std::string body = lane_text(shown, lane);
    if (on_bank && cell != cells.end()) {
      body = say(tr("Address {}, word {}"), cell->word.word * bank_bytes, cell->word.word);
      add_line(body, say(tr("Wavefront {} of {}"), cell->wavefront, shown.state.banks.use.total));
      if (cell->meets_another) add_line(body, tr("Conflict: its bank has another word of the same lanes."));
    }
    show_tooltip(shown.theme, on_bank && cell != cells.end() ? say(tr("Lane {}, bank {}"), lane, bank) : say(tr("Lane {}"), lane),
                 body);
    return lane;
  }
  if (on_bank && (footer.contains(mouse) || mouse.y < grid.at.y))
    show_tooltip(shown.theme, say(tr("Bank {}"), bank), bank_text(shown, bank));
  return std::nullopt;
}

void draw_legend(const Theme& theme, ImVec2 at, float right, const std::vector<std::pair<int, const char*>>& entries) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float side = std::round(10 * theme.scale), line = theme.ui_small->FontSize + 2 * theme.scale;
  for (const auto& [kind, text] : entries) {
    const float width = side + 6 * theme.scale + text_width(theme.ui_small, text);
    if (at.x + width > right) return;
    const Rect box = {{at.x, at.y + (line - side) * 0.5F}, {at.x + side, at.y + (line + side) * 0.5F}};
    if (kind < 3) draw_served(theme, box, static_cast<Served>(kind));
    if (kind == 3) {
      list->AddRect(box.min, box.max, theme.text_faint);
      draw_corner(theme, {{box.min.x, box.min.y}, {box.max.x, box.min.y + 2 * side}});
    }
    if (kind == 4) {
      list->AddRectFilled(box.min, box.max, theme.accent_soft);
      draw_hatch(list, box, theme.text_faint, 4 * theme.scale, std::max(1.0F, theme.scale));
    }
    draw_text_at(list, theme.ui_small, {box.max.x + 6 * theme.scale, at.y}, theme.text_dim, text);
    at.x += width + 16 * theme.scale;
  }
}

void draw_described_lane(const Shown& shown, ImVec2 at, float right) {
  const Theme& theme = shown.theme;
  const Rect line = {at, {right, at.y + theme.ui_small->FontSize + 2 * theme.scale}};
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (const auto lane = shown.lane())
    draw_text(list, theme.ui_small, line, theme.text, lane_text(shown, *lane));
  else
    draw_text(list, theme.ui_small, line, theme.text_faint,
              shown.pattern.is_global ? tr("Point at a word, or press ⇧ ↑ ↓ for a lane.")
                                      : tr("The order of wavefronts is by address here; the hardware's order is not documented."));
}

void draw_banks(const Shown& shown, const Rect& area) {
  const Theme& theme = shown.theme;
  const BankPicture& picture = shown.state.banks;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Wavefront& now = picture.wavefronts[static_cast<std::size_t>(shown.choice.wavefront) - 1];
  const float line = std::round(theme.mono_small->FontSize + 4 * theme.scale), small = theme.ui_small->FontSize + 2 * theme.scale;
  const float names = std::max({text_width(theme.ui_small, tr("lane ↓ bank →")), text_width(theme.ui_small, tr("words")),
                                text_width(theme.mono_small, "31")}) +
                      10 * theme.scale;
  const float below = line + 3 * small + theme.gap * 1.5F;
  const Grid grid =
      grid_in(theme, {{area.min.x, area.min.y + line}, {area.max.x, area.max.y - below}}, names, warp_lanes, 30 * theme.scale);
  const float right = grid.at.x + grid.width * grid_columns, bottom = grid.at.y + grid.height * warp_lanes;

  std::array<int, grid_columns> banks{};
  for (int bank = 0; bank < shared_banks; ++bank) banks[static_cast<std::size_t>(bank)] = bank;
  draw_text(list, theme.ui_small, {{area.min.x, area.min.y}, {grid.at.x - 4 * theme.scale, area.min.y + line}}, theme.text_faint,
            tr("lane ↓ bank →"), Align::right);
  draw_column_names(theme, grid, area.min.y, area.min.y + line, banks, theme.text_faint);
  list->AddRectFilled(grid.at, {right, bottom}, theme.inset);
  // The lanes of this part of the warp.
  const float part_top = grid.at.y + grid.height * static_cast<float>(now.first_lane),
              part_bottom = part_top + grid.height * static_cast<float>(now.lanes);
  for (int lane = 0; lane < warp_lanes; ++lane) {
    if (!row_is_named(theme, grid, lane)) continue;
    const Rect cell = grid.cell(static_cast<float>(lane), 0);
    const bool here = lane >= now.first_lane && lane < now.first_lane + now.lanes;
    const float half = std::max(cell.height(), theme.mono_tiny->FontSize) * 0.5F;
    ImFont* font = grid.height >= theme.mono_small->FontSize ? theme.mono_small : theme.mono_tiny;
    draw_text(list, font, {{area.min.x, cell.center().y - half}, {grid.at.x - 6 * theme.scale, cell.center().y + half}},
              here ? theme.text : theme.text_faint, fmt::format("{}", lane), Align::right);
  }
  for (const BankCell& each : picture.cells) {
    const Rect cell = grid.cell(static_cast<float>(each.word.lane), each.word.bank());
    const Served served = each.served(shown.choice.wavefront);
    draw_served(theme, cell, served);
    draw_in_cell(theme, cell, served_text(theme, served), fmt::format("{}", each.word.word));
    if (each.meets_another) draw_corner(theme, cell);
  }
  if (now.lanes < warp_lanes)
    list->AddRect({grid.at.x - 2, part_top - 2}, {right + 1, part_bottom + 1}, theme.text_dim, 0, 0, std::max(1.0F, theme.scale));
  if (const auto lane = shown.lane()) {
    const Rect first = grid.cell(static_cast<float>(*lane), 0);
    list->AddRect({first.min.x - 1, first.min.y - 1}, {right, first.max.y + 1}, theme.highlight, 0, 0,
                  std::max(1.0F, 1.5F * theme.scale));
  }
  // The words that each bank has to give to this part of the warp.
  const std::array<int, shared_banks> words = words_in_part(picture, shown.choice.wavefront);
  const int most = *std::max_element(words.begin(), words.end());
  const Rect footer = {{area.min.x, bottom + 2 * theme.scale}, {right, bottom + 2 * theme.scale + line}};
  draw_text(list, theme.ui_small, {footer.min, {grid.at.x - 4 * theme.scale, footer.max.y}}, theme.text_faint, tr("words"),
            Align::right);
  for (int bank = 0; bank < shared_banks; ++bank) {
    const int count = words[static_cast<std::size_t>(bank)];
    const Rect cell = grid.cell(0, bank);
    if (grid.width < 14 * theme.scale && count == 0) continue;
    draw_text(list, theme.mono_small, {{cell.min.x - 2, footer.min.y}, {cell.max.x + 3, footer.max.y}},
              count == 0                  ? theme.text_faint
              : count == most && most > 1 ? theme.bad
                                          : theme.text,
              fmt::format("{}", count), Align::center);
  }
  hit_area("banks", {{area.min.x, area.min.y}, {right, footer.max.y}});
  shown.state.hovered.reset();
  if (ImGui::IsItemHovered())
    shown.state.hovered = point_at_banks(shown, grid, {{area.min.x, grid.at.y}, {grid.at.x, bottom}}, footer);
  const float under = footer.max.y + theme.gap * 0.5F;
  draw_legend(theme, {area.min.x, under}, area.max.x,
              {{static_cast<int>(Served::now), tr("served now")},
               {static_cast<int>(Served::later), tr("waits")},
               {static_cast<int>(Served::before), tr("served before")},
               {3, tr("conflict: another word in its bank")}});
  const int last_lane = now.first_lane + now.lanes - 1;
  draw_text(list, theme.ui_small, {{area.min.x, under + small}, {area.max.x, under + 2 * small}}, theme.text_dim,
            most > 1
                ? say(tr("Lanes {}–{}: the fullest bank has {} words for them, so they take {} wavefronts."), now.first_lane,
                      last_lane, most, most)
                : say(tr("Lanes {}–{}: no bank has two words for them, so they take 1 wavefront."), now.first_lane, last_lane));
  draw_described_lane(shown, {area.min.x, under + 2 * small}, area.max.x);
}

std::optional<int> point_at_lines(const Shown& shown, const Grid& grid) {
  const auto& lines = shown.state.sectors.lines;
  const ImVec2 mouse = ImGui::GetMousePos();
  const int col = static_cast<int>(std::floor((mouse.x - grid.at.x) / grid.width));
  const int row = static_cast<int>(std::floor((mouse.y - grid.at.y) / grid.height));
  if (col < 0 || col >= grid_columns || row < 0 || row >= static_cast<int>(lines.size())) return std::nullopt;
  const LinePicture& line = lines[static_cast<std::size_t>(row)];
  const int sector = col * bank_bytes / sector_bytes;
  const auto& lanes = line.lanes[static_cast<std::size_t>(col)];
  const std::int64_t first = line.line * line_bytes + sector * sector_bytes, byte = line.line * line_bytes + col * bank_bytes;
  std::string body = say(tr("Address {}, word {}"), byte, byte / bank_bytes);
  if (!line.touched[static_cast<std::size_t>(sector)])
    add_line(body, tr("No lane touches this sector."));
  else if (lanes.empty())
    add_line(body, tr("No lane requests this word. It comes with its sector."));
  else
    add_line(body, say(lanes.size() == 1 ? tr("Requested by lane {}") : tr("Requested by lanes {}"), ranges_text(lanes)));
  add_line(body, say(tr("Sector: bytes {}–{}"), first, first + sector_bytes - 1));
  show_tooltip(shown.theme, say(tr("Line {}, sector {}"), line.line, sector), body);
  return lanes.empty() ? std::nullopt : std::optional(lanes.front());
}

void draw_lines(const Shown& shown, const Rect& area) {
  const Theme& theme = shown.theme;
  const SectorPicture& picture = shown.state.sectors;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float line = std::round(theme.mono_small->FontSize + 4 * theme.scale), small = theme.ui_small->FontSize + 2 * theme.scale;
  const std::string last = fmt::format("{}", picture.lines.back().line * line_bytes);
  const float names = std::max(text_width(theme.ui_small, tr("first byte")), text_width(theme.mono_small, last)) + 12 * theme.scale;
  const float below = 2 * small + theme.gap;
  const int rows = static_cast<int>(picture.lines.size());
  const Grid grid =
      grid_in(theme, {{area.min.x, area.min.y + line}, {area.max.x, area.max.y - below}}, names, rows, 36 * theme.scale);
  const float right = grid.at.x + grid.width * grid_columns, bottom = grid.at.y + grid.height * static_cast<float>(rows);
  draw_text(list, theme.ui_small, {{area.min.x, area.min.y}, {grid.at.x - 6 * theme.scale, area.min.y + line}}, theme.text_faint,
            tr("first byte"), Align::right);
  const float sector_width = grid.width * words_in_sector;
  for (int sector = 0; sector < sectors_in_line; ++sector) {
    const float left = grid.at.x + sector_width * static_cast<float>(sector);
    draw_text(list, theme.ui_small, {{left, area.min.y}, {left + sector_width, area.min.y + line}}, theme.text_faint,
              say(tr("sector {}"), sector), Align::center);
  }
  list->AddRectFilled(grid.at, {right, bottom}, theme.inset);
  for (int row = 0; row < rows; ++row) {
    const LinePicture& at = picture.lines[static_cast<std::size_t>(row)];
    const Rect first = grid.cell(static_cast<float>(row), 0);
    if (row_is_named(theme, grid, row)) {
      const float half = std::max(first.height(), theme.mono_tiny->FontSize) * 0.5F;
      ImFont* font = grid.height >= theme.mono_small->FontSize ? theme.mono_small : theme.mono_tiny;
      draw_text(list, font, {{area.min.x, first.center().y - half}, {grid.at.x - 6 * theme.scale, first.center().y + half}},
                theme.text_dim, fmt::format("{}", at.line * line_bytes), Align::right);
    }
    for (int sector = 0; sector < sectors_in_line; ++sector) {
      if (!at.touched[static_cast<std::size_t>(sector)]) continue;
      // Runs of words that no lane requests.
      const int end = (sector + 1) * words_in_sector;
      for (int col = sector * words_in_sector; col < end;) {
        int next = col;
        while (next < end && at.lanes[static_cast<std::size_t>(next)].empty()) ++next;
        if (next > col) {
          const Rect box = {grid.cell(static_cast<float>(row), col).min, grid.cell(static_cast<float>(row), next - 1).max};
          list->AddRectFilled(box.min, box.max, theme.accent_soft);
          draw_hatch(list, box, theme.text_faint, 6 * theme.scale, std::max(1.0F, theme.scale));
        }
        col = next + 1;
      }
    }
    for (int col = 0; col < words_in_line; ++col) {
      const auto& lanes = at.lanes[static_cast<std::size_t>(col)];
      if (lanes.empty()) continue;
      const Rect cell = grid.cell(static_cast<float>(row), col);
      list->AddRectFilled(cell.min, cell.max, theme.accent);
      draw_in_cell(theme, cell, text_on(theme, theme.accent), ranges_text(lanes));
      if (const auto lane = shown.lane(); lane && std::find(lanes.begin(), lanes.end(), *lane) != lanes.end())
        list->AddRect({cell.min.x - 1, cell.min.y - 1}, {cell.max.x + 1, cell.max.y + 1}, theme.highlight, 0, 0, 2 * theme.scale);
    }
  }
  for (int sector = 1; sector < sectors_in_line; ++sector) {
    const float x = grid.at.x + sector_width * static_cast<float>(sector) - grid.gap;
    list->AddLine({x, grid.at.y - 2}, {x, bottom}, theme.text_dim, std::max(1.0F, theme.scale));
  }
  hit_area("lines", {{area.min.x, area.min.y}, {right, bottom}});
  shown.state.hovered.reset();
  if (ImGui::IsItemHovered()) shown.state.hovered = point_at_lines(shown, grid);
  const float under = bottom + theme.gap * 0.5F;
  draw_legend(
      theme, {area.min.x, under}, area.max.x,
      {{static_cast<int>(Served::now), tr("requested word, with its lane")}, {4, tr("comes with its sector, not requested")}});
  draw_described_lane(shown, {area.min.x, under + small}, area.max.x);
}

// --- the row above the grid -------------------------------------------------------------------------------------------------

/// Draws a box for each wavefront; a click shows it. Returns how wide they are.
float draw_strip(const Shown& shown, Commands& commands, ImVec2 at, float height, float room) {
  const Theme& theme = shown.theme;
  const int count = shown.state.banks.use.total;
  const float each = std::floor(std::clamp(room / static_cast<float>(count), 3.0F, 14 * theme.scale));
  for (int i = 1; i <= count; ++i) {
    const float left = at.x + each * static_cast<float>(i - 1);
    const Rect box = {{left, at.y}, {left + each, at.y + height}};
    ImGui::PushID(i);
    if (hit_area("wavefront", box)) show_wavefront(shown, commands, i);
    item_tooltip(theme, say(tr("Wavefront {} of {}"), i, count));
    ImGui::PopID();
    const Served served = i == shown.choice.wavefront ? Served::now : i < shown.choice.wavefront ? Served::before : Served::later;
    const float inset = std::round(height * 0.25F);
    draw_served(theme, {{left + 1, at.y + inset}, {left + each - 1, at.y + height - inset}}, served);
  }
  return each * static_cast<float>(count);
}

std::string served_sentence(const Shown& shown) {
  const BankPicture& picture = shown.state.banks;
  const Wavefront& now = picture.wavefronts[static_cast<std::size_t>(shown.choice.wavefront) - 1];
  std::vector<int> lanes, banks;
  for (const LaneWord& word : now.served) {
    if (lanes.empty() || lanes.back() != word.lane) lanes.push_back(word.lane);
    banks.push_back(word.bank());
  }
  std::sort(banks.begin(), banks.end());
  banks.erase(std::unique(banks.begin(), banks.end()), banks.end());
  std::string text = say(lanes.size() == 1 ? tr("Lane {}") : tr("Lanes {}"), ranges_text(lanes));
  text += say(banks.size() == 1 ? tr(", bank {}") : tr(", banks {}"), ranges_text(banks));
  if (now.lanes < warp_lanes) text += say(tr(" · part {} of {}"), now.first_lane / now.lanes + 1, warp_lanes / now.lanes);
  return text;
}

void draw_controls(const Shown& shown, Commands& commands, const Rect& area) {
  const Theme& theme = shown.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  float x = area.min.x;
  const float height = area.height();
  if (shown.pattern.has_swizzle) {
    ImGui::SetCursorScreenPos({x, area.min.y + std::round((height - 20 * theme.scale) * 0.5F)});
    const std::array labels = {tr("Linear"), tr("Swizzled")};
    if (const auto clicked = segmented(theme, "swizzle", labels, shown.choice.swizzled ? 1 : 0, true))
      swizzle(shown, commands, *clicked == 1);
    for (const char* label : labels) x += std::round(text_width(theme.ui_small, label) + 2 * std::round(8 * theme.scale));
    x += theme.gap;
  }
  if (shown.pattern.is_global) {
    const SectorPicture& sectors = shown.state.sectors;
    const std::string moved =
        say(tr("{} bytes requested, {} bytes in {} sectors"), sectors.requested_bytes, sectors.moved_bytes(), sectors.sectors);
    const bool coalesced = sectors.sectors == sectors.least_sectors();
    const std::string verdict =
        coalesced ? std::string(tr("Coalesced")) : say(tr("Not coalesced: {} sectors would do"), sectors.least_sectors());
    x += draw_text_at(list, theme.ui, {x, area.center().y - theme.ui->FontSize * 0.5F}, theme.text, moved) + theme.gap;
    draw_text(list, theme.ui, {{x, area.min.y}, area.max}, coalesced ? theme.good : theme.bad, verdict);
    return;
  }
  const int count = shown.state.banks.use.total;
  const float side = std::round(28 * theme.scale), top = area.min.y + std::round((height - side) * 0.5F);
  ImGui::SetCursorScreenPos({x, top});
  if (icon_button(theme, "before", Icon::back, tr("Previous wavefront (←)"), shown.choice.wavefront > 1))
    show_wavefront(shown, commands, shown.choice.wavefront - 1);
  x += side + 4 * theme.scale;
  const std::string number = say(tr("Wavefront {} of {}"), shown.choice.wavefront, count);
  std::string sentence = served_sentence(shown);
  const float left = area.max.x - x - side - 3 * theme.gap - text_width(theme.ui_bold, number);
  float room = left - text_width(theme.ui_small, sentence);
  // The boxes come before the sentence, which the grid says too.
  if (room < 6 * theme.scale * static_cast<float>(count)) {
    room = std::max(40 * theme.scale, left);
    sentence.clear();
  }
  x += draw_strip(shown, commands, {x, top}, side, room) + 4 * theme.scale;
  ImGui::SetCursorScreenPos({x, top});
  if (icon_button(theme, "next", Icon::forward, tr("Next wavefront (→)"), shown.choice.wavefront < count))
    show_wavefront(shown, commands, shown.choice.wavefront + 1);
  x += side + theme.gap * 0.5F;
  x += draw_text_at(list, theme.ui_bold, {x, area.center().y - theme.ui_bold->FontSize * 0.5F}, theme.text, number) + theme.gap;
  draw_text(list, theme.ui_small, {{x, area.min.y}, area.max}, theme.text_dim, sentence);
}

}  // namespace

void draw_banks_panel(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  auto& state = panel_state<BanksPanelState>("banks");
  const BankChoice& choice = view.workspace->banks;
  const AccessPattern& pattern = pattern_of(choice);
  const Shown shown{view, theme, choice, pattern, pattern.access(choice.swizzled), state};
  if (!state.of || state.of->pattern != choice.pattern || state.of->swizzled != choice.swizzled) {
    state.of = choice;
    if (pattern.is_global)
      state.sectors = sector_picture(shown.access);
    else
      state.banks = bank_picture(shown.access);
  }
  handle_banks_keys(shown, commands);
  std::string detail;
  if (!shown.held()) {
    detail = translated(pattern.why);
    add_line(detail, measured_text(shown));
  }
  study_head(view, finding(shown), detail);
  study_message(view, "banks");

  const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  const Rect area = {at, {at.x + room.x, at.y + room.y}};
  const float list_width = std::clamp(0.31F * room.x, 170 * theme.scale, 420 * theme.scale);
  const float split = std::round(area.min.x + list_width + theme.gap * 1.5F), controls = std::round(30 * theme.scale);
  float bottom = 0;
  draw_patterns(shown, commands, {area.min, {area.min.x + list_width, area.max.y}}, bottom);
  if (!shown.held()) draw_explanation(shown, {{area.min.x, bottom + theme.gap}, {area.min.x + list_width, area.max.y}});
  draw_controls(shown, commands, {{split, area.min.y}, {area.max.x, area.min.y + controls}});
  const Rect picture = {{split, area.min.y + controls + theme.gap * 0.5F}, area.max};
  if (pattern.is_global)
    draw_lines(shown, picture);
  else
    draw_banks(shown, picture);
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({room.x, std::max(0.0F, room.y)});
}

}  // namespace tilescope
