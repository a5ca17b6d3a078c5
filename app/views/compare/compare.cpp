// The Compare view: two of the pinned runs and the one on screen, the largest differences first.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>

#include "app/model/requests/racers.h"
#include "app/model/state/window_state.h"
#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/ui/tab_stops.h"
#include "app/ui/widgets.h"
#include "app/views/algorithm_style.h"
#include "app/views/compare/compare_sheet.h"
#include "app/views/compare/memory_plot.h"
#include "app/views/compare/result_maps.h"
#include "app/views/compare/run_bars.h"
#include "app/views/light_tensor.h"
#include "app/views/panels.h"
#include "app/views/study_panel.h"
#include "sim/analysis/outcome.h"

namespace tilescope {
namespace {

struct CompareState {
  std::weak_ptr<const RunComparison> known;
  std::string language;  // that the sheet is in: its own name for itself
  CompareSheet sheet;
  ComparedMemory memory;
  std::set<std::size_t> unfolded;  // sections whose equal rows are shown
};

void refresh(CompareState& state, const std::shared_ptr<const RunComparison>& comparison, const Measurements& known) {
  if (state.known.lock() == comparison && state.language == tr("EN")) return;
  state.known = comparison;
  state.language = tr("EN");
  state.sheet = compare_sheet(*comparison, known);
  state.memory = {memory_over_time(*comparison->first), memory_over_time(*comparison->second)};
}

/// Puts a pinned run into the window, in the theme and the language of now; what is pinned stays.
void open_pinned(const View& view, Commands& commands, const PinnedRun& run) {
  WindowState state = *run.state;
  for (const PinnedRun& each : view.pinned.runs) state.pinned.push_back(each.link);
  state.compared = view.pinned.compared;
  keep_room(state, *view.workspace);
  commands.push(OpenState{std::make_shared<const WindowState>(std::move(state))});
}

std::string name_of(const View& view, int place) {
  if (place == 0) return say(tr("On screen: {}"), run_name(view.requested->good_request));
  return fmt::format("{}. {}", place, run_name(*view.pinned.runs[static_cast<std::size_t>(place) - 1].state));
}

/// A run: whether it is A or B, its name, and what can be done with it.
void draw_run(const View& view, Commands& commands, int place) {
  const Theme& theme = *view.theme;
  const ComparedRuns now = view.pinned.compared;
  ImGui::PushID(place);
  const ImVec2 start = ImGui::GetCursorScreenPos();
  const float right = start.x + ImGui::GetContentRegionAvail().x;
  // The run that was there takes the other's place, so that both stay different.
  if (pill(theme, "A", now.first == place, tr("Compare from this run")))
    commands.push(CompareRuns{{place, now.second == place ? now.first : now.second}});
  ImGui::SameLine();
  if (pill(theme, "B", now.second == place, tr("Compare with this run")))
    commands.push(CompareRuns{{now.first == place ? now.second : now.first, place}});
  ImGui::SameLine();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const Rect pills = item_rect();
  const float side = std::round(28 * theme.scale), open_width = button_width(theme, tr("Open"));
  const float room = place == 0 ? 0 : open_width + side + 2 * theme.gap;
  const Rect name = {{at.x + theme.gap * 0.5F, pills.min.y}, {std::max(at.x + 1, right - room), pills.max.y}};
  const bool compared = now.first == place || now.second == place;
  const std::string run = name_of(view, place);
  hit_area("name", name);
  item_tooltip(theme, run);
  draw_text(ImGui::GetWindowDrawList(), theme.ui_small, name, compared ? theme.text : theme.text_dim, run);
  if (place > 0) {
    ImGui::SetCursorScreenPos({name.max.x + theme.gap, pills.min.y});
    if (pill(theme, tr("Open"), false, tr("Show the pinned run as it was")))
      open_pinned(view, commands, view.pinned.runs[static_cast<std::size_t>(place) - 1]);
    ImGui::SetCursorScreenPos({right - side, pills.min.y});
    if (icon_button(theme, "unpin", Icon::close, tr("Forget the pinned run"))) commands.push(UnpinRun{place});
  }
  ImGui::SetCursorScreenPos({start.x, pills.max.y});
  ImGui::Dummy({1, 0});
  ImGui::PopID();
}

void draw_runs(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const PinnedView& pinned = view.pinned;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {std::round(6 * theme.scale), std::round(4 * theme.scale)});
  for (int place = 0; !pinned.runs.empty() && place <= static_cast<int>(pinned.runs.size()); ++place)
    draw_run(view, commands, place);
  if (pill(theme, tr("Pin this run"), pinned.runs.empty(), tr("Keep the run on screen (K)"))) commands.push(PinRun{});
  if (!pinned.runs.empty()) {
    ImGui::SameLine();
    if (pill(theme, tr("Swap"), false, tr("Swap A and B")))
      commands.push(CompareRuns{{pinned.compared.second, pinned.compared.first}});
    ImGui::SameLine();
    if (pill(theme, tr("Unpin all"), false, tr("Forget every pinned run"))) commands.push(UnpinRun{});
  }
  ImGui::PopStyleVar();
  ImGui::Dummy({0, std::round(2 * theme.scale)});
}

/// Second runs to compare with, each one change away: a press pins the run on screen and makes the change.
void draw_starters(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const SimulationRequest& request = view.requested->request;
  text_item(theme.ui_small, theme.text_faint, tr("Or pin it and change one thing:"));
  bool is_first = true;
  const auto starter = [&](const std::string& name, auto change) {
    if (!is_first) {
      ImGui::SameLine();
      if (ImGui::GetContentRegionAvail().x < button_width(theme, name)) ImGui::NewLine();
    }
    is_first = false;
    if (!pill(theme, name.c_str(), false)) return;
    commands.push(PinRun{});
    commands.push(std::move(change));
  };
  if (const std::string other = companion_of(request.algorithm); !other.empty())
    starter(algorithm_title(other), SetAlgorithm{other});
  AttentionProblem causal = request.problem, longer = request.problem;
  causal.causal = !causal.causal;
  starter(causal.causal ? tr("Causal on") : tr("Causal off"), SetProblem{causal, "causal"});
  if (request.problem.mask == nullptr) {  // a mask belongs to its lengths
    longer.seq_q *= 2;
    longer.seq_kv *= 2;
    starter(tr("Twice the queries and keys"), SetProblem{longer, "seq"});
  }
  const std::string gpu = request.gpu.id == "h100" ? "h200" : "h100";
  starter(fmt::format("{} {}", tr("GPU"), gpu), SetGpu{gpu});
}

/// Right edges of the columns.
struct Columns {
  float left, name, first, second, difference, ratio;
};

Columns columns_of(float left, float width) {
  const auto at = [&](float part) { return std::floor(left + part * width); };
  return {left, at(0.36F), at(0.54F), at(0.72F), at(0.87F), left + width};
}

float line_height(const Theme& theme) {
  return theme.ui_small->FontSize + std::round(6 * theme.scale);
}

float draw_headings(const Theme& theme, const Columns& c, float top) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float height = line_height(theme), pad = std::round(8 * theme.scale);
  const auto heading = [&](float left, float right, const char* text) {
    draw_text(list, theme.ui_small, {{left + pad, top}, {right, top + height}}, theme.text_faint, text, Align::right);
  };
  heading(c.name, c.first, "A");
  heading(c.first, c.second, "B");
  heading(c.second, c.difference, tr("Difference"));
  heading(c.difference, c.ratio, tr("Ratio"));
  return top + height;
}

ImU32 color_of(const Theme& theme, CompareRow::Tone tone) {
  return tone == CompareRow::Tone::better ? theme.good : tone == CompareRow::Tone::worse ? theme.bad : theme.text_dim;
}

/// Returns the row's tensor while the mouse is over it.
std::optional<Tensor> draw_row(const View& view, const CompareRow& row, const Columns& c, float top, int id, bool equal) {
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float bottom = top + line_height(theme), pad = std::round(8 * theme.scale);
  const Rect rect = {{c.left - 4 * theme.scale, top}, {c.ratio, bottom}};
  ImGui::PushID(id);
  hit_area("row", rect);
  ImGui::PopID();
  const bool hovered = ImGui::IsItemHovered();
  const bool lit = hovered || (row.tensor && view.workspace->hovered_tensor == row.tensor);
  if (lit) list->AddRectFilled(rect.min, rect.max, theme.accent_soft, 4 * theme.scale);
  if (hovered) show_tooltip(theme, row.name, row.details);
  float name = c.left;
  if (row.tensor) {
    const float swatch = std::round(9 * theme.scale);
    draw_swatch(list, theme, {name, std::floor((top + bottom - swatch) * 0.5F)}, swatch, row.tensor);
    name += swatch + std::round(6 * theme.scale);
  }
  const ImU32 text = equal ? theme.text_faint : theme.text;
  draw_text(list, theme.ui_small, {{name, top}, {c.name, bottom}}, equal ? theme.text_faint : theme.text_dim, row.name);
  // A setting or a bottleneck is words, and may take the room of the figures it has not.
  const bool words = row.difference.empty() && row.ratio.empty() && !equal;
  ImFont* const font = words ? theme.ui_small : theme.mono_small;
  const auto cell = [&](float from, float to, ImU32 color, std::string_view value) {
    draw_text(list, font, {{from + pad, top}, {to, bottom}}, color, value, Align::right);
  };
  cell(c.name, c.first, text, row.first);
  cell(c.first, c.second, text, row.second);
  cell(c.second, c.difference, color_of(theme, row.tone), row.difference);
  cell(c.difference, c.ratio, color_of(theme, row.tone), row.ratio);
  return hovered && row.tensor ? std::optional(row.tensor) : std::nullopt;
}

/// A line "12 rows equal" that shows or hides them.
void draw_fold(const Theme& theme, const CompareSection& section, bool open, const Columns& c, float top, CompareState& state,
               std::size_t index) {
  const std::string text = open                         ? std::string(tr("Hide equal rows"))
                           : section.equal_count() == 1 ? std::string(tr("1 row equal"))
                                                        : say(tr("{} rows equal"), section.equal_count());
  const Rect rect = {{c.left, top}, {c.left + text_width(theme.ui_small, text), top + line_height(theme)}};
  ImGui::PushID(static_cast<int>(index));
  bool clicked = hit_area("fold", rect);
  ImGui::PopID();
  const bool hovered = !section.equal.empty() && ImGui::IsItemHovered();
  if (hovered) item_tooltip(theme, text, open ? tr("Click to hide them") : tr("Click to show them"));
  if (!section.equal.empty()) clicked = tab_stop(theme, rect, 4 * theme.scale) || clicked;
  draw_text(ImGui::GetWindowDrawList(), theme.ui_small, rect, hovered ? theme.accent : theme.text_faint, text);
  if (!clicked || section.equal.empty()) return;
  if (open)
    state.unfolded.erase(index);
  else
    state.unfolded.insert(index);
}

std::size_t rows_of(const CompareState& state, std::size_t index) {
  const CompareSection& section = state.sheet.sections[index];
  const bool open = state.unfolded.contains(index);
  return 1 + section.differing.size() + (section.equal_count() > 0 ? 1 : 0) + (open ? section.equal.size() : 0);
}

/// Returns the lower edge.
float draw_section(const View& view, CompareState& state, std::size_t index, const Columns& c, float top,
                   std::optional<Tensor>& under_mouse) {
  const Theme& theme = *view.theme;
  const CompareSection& section = state.sheet.sections[index];
  const float height = line_height(theme);
  const bool open = state.unfolded.contains(index);
  ImGui::PushID(static_cast<int>(index));
  draw_text(ImGui::GetWindowDrawList(), theme.ui_bold, {{c.left, top}, {c.ratio, top + height}}, theme.text, section.title);
  float y = top + height;
  int id = 0;
  const auto draw = [&](const CompareRow& row, bool equal) {
    if (const auto tensor = draw_row(view, row, c, y, id++, equal)) under_mouse = tensor;
    y += height;
  };
  for (const CompareRow& row : section.differing) draw(row, false);
  if (open)
    for (const CompareRow& row : section.equal) draw(row, true);
  if (section.equal_count() > 0) {
    draw_fold(theme, section, open, c, y, state, index);
    y += height;
  }
  ImGui::PopID();
  return y + std::round(8 * theme.scale);
}

/// In one column or two, as the room allows; returns the tensor under the mouse.
std::optional<Tensor> draw_sections(const View& view, CompareState& state) {
  const Theme& theme = *view.theme;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, between = std::round(36 * theme.scale);
  const bool two = width >= 1000 * theme.scale;
  const float column = two ? std::floor((width - between) * 0.5F) : width;
  std::size_t all = 0;
  for (std::size_t i = 0; i < state.sheet.sections.size(); ++i) all += rows_of(state, i);
  std::optional<Tensor> under_mouse;
  float left = at.x, lowest = at.y;
  Columns columns = columns_of(left, column);
  float y = draw_headings(theme, columns, at.y);
  std::size_t drawn = 0;
  bool second = false;
  for (std::size_t i = 0; i < state.sheet.sections.size(); ++i) {
    const std::size_t rows = rows_of(state, i);
    // To the other column where that leaves both about as long.
    if (two && !second && drawn > 0 && 2 * drawn + rows > all) {
      second = true;
      left += column + between;
      columns = columns_of(left, column);
      y = draw_headings(theme, columns, at.y);
    }
    y = draw_section(view, state, i, columns, y, under_mouse);
    drawn += rows;
    lowest = std::max(lowest, y);
  }
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({width, lowest - at.y});  // where the rows need more than there is, the panel scrolls
  return under_mouse;
}

/// The runs of a lesson's page, in all the room that there is.
void draw_page_runs(const View& view) {
  const PageFigures* figures = view.lesson.figures;
  if (figures == nullptr) return study_empty(view, tr("Simulating the runs of this page…"));
  const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  if (!view.lesson.locked && !figures->results.empty()) {
    const float height = draw_result_maps(view, figures->results, {at, {at.x + room.x, at.y + room.y}});
    ImGui::SetCursorScreenPos(at);
    ImGui::Dummy({room.x, height});
    return;
  }
  std::vector<PageRun> runs = figures->runs;
  // What a task made of the scene.
  const auto& shown = view.lane().simulation;
  const auto same = [&](const PageRun& run) { return same_request(run.simulation->request, shown->request); };
  if (!view.lesson.locked && std::none_of(runs.begin(), runs.end(), same)) runs.push_back({shown, std::nullopt});
  const float height = draw_run_bars(view, runs, {at, {at.x + room.x, at.y + room.y}}, view.lesson.locked);
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({room.x, height});
}

}  // namespace

void draw_compare_panel(const View& shown, Commands& commands) {
  if (compares_page_runs(shown)) return draw_page_runs(shown);
  const Theme theme = shown.workspace->present ? without_small_text(*shown.theme) : *shown.theme;
  const View view{shown, &theme};
  const PinnedView& pinned = view.pinned;
  auto& state = panel_state<CompareState>("compare");
  if (pinned.runs.empty()) {
    study_head(
        view, tr("Pin a run, then change anything"),
        tr("Press K to pin the run on screen. Then change the tile, the GPU, the algorithm or the mask: this view shows what "
           "differs, with both figures. Pin more runs to compare any two."));
    draw_runs(view, commands);
    return draw_starters(view, commands);
  }
  if (pinned.comparison == nullptr) {
    const bool cancelled = pinned.refused != nullptr && pinned.refused->kind == Error::Kind::cancelled;
    study_head(view,
               cancelled                   ? std::string(tr("The pinned run was cancelled. Come back to this view to simulate it."))
               : pinned.refused != nullptr ? say(pinned.refused->sentence)
                                           : std::string(tr("Simulating the pinned run…")),
               {});
    return draw_runs(view, commands);
  }
  static const Measurements none;
  refresh(state, pinned.comparison, view.measured.known != nullptr ? *view.measured.known : none);
  study_head(view, state.sheet.finding,
             state.sheet.detail + " " + tr("Every view about a whole run shows the pinned one of these beside the run on screen."));
  draw_runs(view, commands);
  if (memory_changes(state.memory)) draw_memory_plot(view, *pinned.comparison, state.memory);
  light_tensor(view, commands, draw_sections(view, state));
}

}  // namespace tilescope
