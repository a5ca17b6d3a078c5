// The listing panel: the pseudo-code with the current line highlighted, and its formula with this step's numbers.
#include <algorithm>
#include <cmath>

#include "app/model/lessons/lesson.h"
#include "app/model/run_data/timeline_data.h"
#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/ui/short_line.h"
#include "app/ui/tab_stops.h"
#include "app/ui/widgets.h"
#include "app/views/algorithm_style.h"
#include "app/views/chrome.h"
#include "app/views/light_tensor.h"
#include "app/views/panels.h"
#include "app/views/softmax/softmax_figures.h"
#include "sim/analysis/format.h"

namespace tilescope {
namespace {

struct ListingState {
  std::weak_ptr<const Simulation> known;
  std::int64_t step = -1;
  int line = 0;                       // that is lit; 0 for none
  float from = 0, to = 0, shown = 0;  // top of the highlight, relative to row 1; it glides between lines
  float row_height = 0;
  bool scroll = false;  // bring the line into view
};

/// A row of the listing: a line, or the heading of a launch.
struct ListingRow {
  int line = 0;  // 0 for a heading
  int launch = 0;
};

std::vector<ListingRow> listing_rows(const Simulation& simulation) {
  std::vector<ListingRow> rows;
  const auto launches = simulation.program->launches();
  for (int line = 1; line <= static_cast<int>(simulation.info->listing.size()); ++line) {
    int launch = 0;
    for (std::size_t i = 0; i < launches.size(); ++i) {
      if (line >= launches[i].first_line) launch = static_cast<int>(i);
      if (launches.size() > 1 && line == launches[i].first_line) rows.push_back({0, static_cast<int>(i)});
    }
    rows.push_back({line, launch});
  }
  return rows;
}

std::string block_text(const Lane& lane, const ImFont* font, float width) {
  const Simulation& simulation = *lane.simulation;
  if (!lane.operations) return say(tr("SM {}, before the first step"), lane.focus_sm);
  const AttentionProblem& problem = simulation.program->problem();
  const BlockOperations& block = *lane.operations;
  if (block.domain.count == 0) return say(tr("block {} on SM {}"), format_count(block.block), lane.focus_sm);
  const bool keys = block.domain.axis == Axis::key;
  const std::int64_t heads = keys ? problem.kv_heads : problem.heads;
  const std::int64_t batch = block.domain.plane / heads, head = block.domain.plane % heads;
  const std::int64_t last = block.domain.first + std::max(block.domain.count, 1) - 1;
  if (problem.batch > 1)
    return say(keys ? tr("block {} on SM {}: batch {}, head {}, keys {} to {}")
                    : tr("block {} on SM {}: batch {}, head {}, rows {} to {}"),
               format_count(block.block), lane.focus_sm, batch, head, block.domain.first, last);
  const std::string text =
      say(keys ? tr("block {} on SM {}: head {}, keys {} to {}") : tr("block {} on SM {}: head {}, rows {} to {}"),
          format_count(block.block), lane.focus_sm, head, block.domain.first, last);
  const std::string shorter = say(keys ? tr("block {}: head {}, keys {} to {}") : tr("block {}: head {}, rows {} to {}"),
                                  format_count(block.block), head, block.domain.first, last);
  return first_that_fits(font, width, {text, shorter});
}

/// Returns the line's traffic in the whole run, for its tooltip.
std::string line_traffic(const Simulation& simulation, int line) {
  std::array<std::int64_t, link_count> bytes{};
  for (const LedgerEntry& entry : simulation.ledger.entries())
    if (entry.line == line) bytes[static_cast<std::size_t>(entry.link)] += entry.bytes;
  struct Name {
    Link link;
    const char* text;
  };
  std::string text;
  for (const Name& name : {Name{Link::l2_to_sm, "L2→SM"}, Name{Link::sm_to_l2, "SM→L2"}, Name{Link::hbm_read, tr("HBM read")},
                           Name{Link::smem_read, tr("shared read")}, Name{Link::smem_write, tr("shared written")}}) {
    const std::int64_t count = bytes[static_cast<std::size_t>(name.link)];
    if (count > 0) add_line(text, say(tr("{}: {} in the whole run"), name.text, format_exact_bytes(Bytes(count))));
  }
  return text.empty() ? std::string(tr("This line moves no data.")) : text;
}

/// Returns the highlight's position: on the line, or between lines during a step.
void move_light(ListingState& state, const View& view, const std::vector<ListingRow>& rows, float row_height) {
  const Lane& lane = view.lane();
  const int line = lane.operation ? lane.operation->line : 0;
  const bool other = state.known.lock() != lane.simulation;
  const auto row = std::find_if(rows.begin(), rows.end(), [line](const ListingRow& r) { return r.line == line && line > 0; });
  const float target = row == rows.end() ? 0 : static_cast<float>(row - rows.begin()) * row_height;
  if (other || lane.step != state.step) {
    state.scroll = other || line != state.line;
    state.from = other || state.line == 0 ? target : state.shown;
    state.known = lane.simulation;
    state.step = lane.step;
    state.line = line;
  }
  if (row_height != state.row_height) {  // larger text changes the visible rows
    state.scroll = true;
    state.row_height = row_height;
  }
  state.to = target;
  const auto t = static_cast<float>(std::clamp(view.playback.motion * 3, 0.0, 1.0));  // arrives well before the tile
  const float eased = t * t * (3 - 2 * t);
  state.shown = t >= 1 ? state.to : state.from + (state.to - state.from) * eased;
}

void draw_light(ImDrawList* list, const Theme& theme, const ListingState& state, ImVec2 origin, float width, float row_height) {
  if (state.line == 0) return;
  const float y = std::round(origin.y + state.shown);
  list->AddRectFilled({origin.x, y}, {origin.x + width, y + row_height}, theme.accent_soft, 4 * theme.scale);
  list->AddRectFilled({origin.x, y}, {origin.x + 3 * theme.scale, y + row_height}, theme.accent, 2 * theme.scale);
}

void draw_launch_heading(ImDrawList* list, const Theme& theme, const Simulation& simulation, const ListingRow& row,
                         const Rect& rect, bool current) {
  const LaunchSpec& launch = simulation.program->launches()[static_cast<std::size_t>(row.launch)];
  const std::string text = say(tr("launch {}: {}"), row.launch + 1, translated(launch.name));
  draw_text(list, theme.ui_small, {{rect.min.x + 8 * theme.scale, rect.min.y}, {rect.max.x, rect.max.y}},
            current ? theme.accent : theme.text_faint, text);
  const float right = std::min(rect.max.x - 4 * theme.scale, rect.min.x + 16 * theme.scale + text_width(theme.ui_small, text));
  const float y = std::floor(rect.center().y);
  list->AddRectFilled({right, y}, {rect.max.x - 4 * theme.scale, y + std::max(1.0F, std::floor(theme.scale))}, theme.panel_border);
}

/// Returns true while hovered.
bool draw_line(const View& view, Commands& commands, const ListingRow& row, const Rect& rect, bool dim) {
  const Theme& theme = *view.theme;
  const Lane& lane = view.lane();
  const Simulation& simulation = *lane.simulation;
  const ListingLine& line = simulation.info->listing[static_cast<std::size_t>(row.line) - 1];
  ImDrawList* list = ImGui::GetWindowDrawList();
  ImGui::PushID(row.line);
  ImGui::SetCursorScreenPos(rect.min);
  const bool pressed = ImGui::InvisibleButton("line", {rect.width(), rect.height()});
  const bool clicked = tab_stop(theme, rect, 4 * theme.scale) || pressed;
  const bool hovered = ImGui::IsItemHovered();
  ImGui::PopID();
  const StepIndex* steps = lane.timeline ? lane.timeline->steps.get() : nullptr;
  if (clicked && steps != nullptr) {
    if (const std::int64_t step = next_step_on_line(*steps, lane.step, row.line); step >= 0) commands.push(SeekStep{step});
  }
  if (hovered) {
    list->AddRect(rect.min, rect.max, with_alpha(theme.accent, 0.5F), 4 * theme.scale);
    const bool runs = steps == nullptr || next_step_on_line(*steps, 0, row.line) >= 0;
    std::string body = translated(line.why);
    if (!view.lesson.locked) add_line(body, line_traffic(simulation, row.line));  // it answers many a question of a lesson
    add_line(body, runs ? tr("Click: go to the next step on this line.") : tr("This SM has no step on this line."));
    item_tooltip(theme, listing_text(line.text), body);
  }
  const bool current = lane.operation && lane.operation->line == row.line;
  const bool lit = view.workspace->hovered_tensor && line.tensor == view.workspace->hovered_tensor;
  const float number_right = rect.min.x + 26 * theme.scale;
  draw_text(list, theme.mono_small, {{rect.min.x + 6 * theme.scale, rect.min.y}, {number_right, rect.max.y}},
            current ? theme.text_dim : theme.text_faint, fmt::format("{}", row.line), Align::right);
  const float swatch = std::round(8 * theme.scale), left = number_right + 8 * theme.scale;
  if (line.tensor) {
    const ImVec2 at = {left, std::floor(rect.center().y - swatch * 0.5F)};
    draw_swatch(list, theme, at, swatch, line.tensor);
    if (dim) list->AddRectFilled(at, {at.x + swatch, at.y + swatch}, with_alpha(theme.panel, 0.55F));
    if (lit) list->AddRect({at.x - 2, at.y - 2}, {at.x + swatch + 2, at.y + swatch + 2}, theme.text, 3 * theme.scale);
  }
  const float text_left = left + swatch + 8 * theme.scale + static_cast<float>(line.indent) * 14 * theme.scale;
  const Rect text = {{text_left, rect.min.y}, {rect.max.x - 2 * theme.scale, rect.max.y}};
  ImFont* const font = current ? theme.ui_bold : theme.ui;
  draw_text(list, font, text,
            dim       ? mix(theme.text_faint, theme.panel, 0.25F)
            : current ? theme.text
                      : theme.text_dim,
            first_that_fits(font, text.width(), {listing_text(line.text), listing_text(short_line(line.text))}));
  return hovered;
}

/// Returns the tensor of the line under the mouse.
std::optional<Tensor> draw_rows(const View& view, Commands& commands, ListingState& state, const std::vector<ListingRow>& rows,
                                float row_height) {
  std::optional<Tensor> under_mouse;
  const Theme& theme = *view.theme;
  const Lane& lane = view.lane();
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  move_light(state, view, rows, row_height);
  draw_light(ImGui::GetWindowDrawList(), theme, state, origin, width, row_height);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float top = origin.y + static_cast<float>(i) * row_height;
    const Rect rect = {{origin.x, top}, {origin.x + width, top + row_height}};
    const bool here = rows[i].launch == lane.rest.launch;
    if (rows[i].line == 0)
      draw_launch_heading(ImGui::GetWindowDrawList(), theme, *lane.simulation, rows[i], rect, here);
    else if (draw_line(view, commands, rows[i], rect, !here && lane.simulation->program->launches().size() > 1))
      under_mouse = lane.simulation->info->listing[static_cast<std::size_t>(rows[i].line) - 1].tensor;
  }
  ImGui::SetCursorScreenPos({origin.x, origin.y + static_cast<float>(rows.size()) * row_height});
  ImGui::Dummy({1, 0});
  if (state.scroll) {  // whole rows, so that none is cut; to the first before the first step
    const float middle = state.line > 0 ? state.to - 0.5F * (ImGui::GetWindowHeight() - row_height) : 0;
    ImGui::SetScrollY(std::max(0.0F, std::round(middle / row_height) * row_height));
  }
  state.scroll = false;
  return under_mouse;
}

/// Draws the lower part: the line's formula in symbols and in numbers, and why it exists.
struct Detail {
  std::string caption, formula, numbers, why;
  std::optional<Tensor> tensor;
};

/// Whether the step begins another round of the loop, so that it stands above the one before.
bool goes_back(const BlockOperations& block, std::int32_t at) {
  const Operation& now = block.operations[static_cast<std::size_t>(at)];
  while (--at >= 0) {
    const Operation& before = block.operations[static_cast<std::size_t>(at)];
    if (before.group != now.group) continue;
    return now.iteration > 0 && now.iteration < block.iterations && before.iteration < now.iteration && before.line > now.line;
  }
  return false;
}

/// What the step is of; where it stands above the step before, why.
std::string step_caption(const Lane& lane, int row) {
  const Operation& operation = *lane.operation;
  const BlockOperations& block = *lane.operations;
  const std::string back = goes_back(block, lane.rest.op)
                               ? say(tr("Back to the top of the loop, round {} of {}. "), operation.iteration + 1, block.iterations)
                               : std::string();
  // Steps come in the order in which operations end, so that a copy may stand above the line before it.
  if (operation.kind == OpKind::load) return back + tr("This step: a copy asked for earlier lands");
  return back + say(tr("This step, row {} of the tile"), row);
}

Detail detail_of(const View& view) {
  const Lane& lane = view.lane();
  Detail detail;
  if (!lane.operation || !lane.operations) {
    detail.caption = tr("Nothing has run yet");
    detail.why = program_summary(*lane.simulation->info, lane.simulation->request.problem);
    return detail;
  }
  const auto listing = lane.simulation->info->listing;
  const auto line = static_cast<std::size_t>(lane.operation->line);
  if (line < 1 || line > listing.size()) return detail;
  if (is_past_the_end(*lane.operation)) {
    detail.caption = tr("This step, of a group past the end");
    detail.formula = formula_text(listing[line - 1].formula);
    detail.why = tr("All rows, or all keys, of the group lie past the last one. It computes like the others, and stores nothing.");
    detail.tensor = listing[line - 1].tensor;
    return detail;
  }
  const std::int64_t rows = std::min<std::int64_t>(lane.operations->domain.count, lane.simulation->program->tile().block_q);
  const int row = std::clamp(view.workspace->row, 0, static_cast<int>(std::max<std::int64_t>(rows, 1)) - 1);
  detail.caption = step_caption(lane, row);
  detail.formula = formula_text(listing[line - 1].formula);
  detail.why = formula_text(translated(listing[line - 1].why));
  detail.tensor = listing[line - 1].tensor;
  if (lane.history) detail.numbers = formula_with_numbers(*lane.history, lane.rest.op, row, view.workspace->views.column);
  return detail;
}

/// Whether a lesson's page speaks of the lines: then as many of them as possible are on screen.
bool is_read_in_lesson(const View& view) {
  return view.lesson.lesson != nullptr && std::ranges::find(view.lesson.scene->look, "listing") != view.lesson.scene->look.end();
}

/// Returns a height for the program's longest line, so that stepping does not move the listing; where lines go first, for the line
/// of this step.
float detail_height(const View& view, float width) {
  const Theme& theme = *view.theme;
  if (view.lane().operation != nullptr && is_read_in_lesson(view)) {
    const Detail now = detail_of(view);
    float height = 5 * 5 * theme.scale + wrapped_height(theme.ui_small, now.caption, width) +
                   wrapped_height(theme.ui_bold, now.formula, width) + wrapped_height(theme.ui_small, now.why, width);
    if (!now.numbers.empty()) height += std::max(theme.mono->FontSize, wrapped_height(theme.mono_small, now.numbers, width));
    return height;
  }
  float why = wrapped_height(theme.ui_small,
                             program_summary(*view.lane().simulation->info, view.lane().simulation->request.problem), width);
  // Before the first step the summary is all there is, and a lesson speaks of lines further down.
  if (view.lane().operation == nullptr) return 3 * 5 * theme.scale + theme.ui_small->FontSize + why;
  for (const ListingLine& line : view.lane().simulation->info->listing)
    why = std::max(why, wrapped_height(theme.ui_small, translated(line.why), width));
  return 5 * 5 * theme.scale + theme.ui_small->FontSize + theme.ui_bold->FontSize + theme.mono->FontSize + why;
}

void draw_detail(const View& view) {
  const Theme& theme = *view.theme;
  const Detail detail = detail_of(view);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 5 * theme.scale});
  divider(theme);
  wrapped_text(theme.ui_small, theme.text_faint, detail.caption);
  if (!detail.formula.empty()) wrapped_text(theme.ui_bold, theme.text, detail.formula);
  if (!detail.numbers.empty()) {
    const float width = ImGui::GetContentRegionAvail().x;
    ImFont* const font = text_width(theme.mono, detail.numbers) <= width ? theme.mono : theme.mono_small;
    wrapped_text(font, detail.tensor ? theme.text_color(*detail.tensor) : theme.text, detail.numbers);
  }
  if (!detail.why.empty()) wrapped_text(theme.ui_small, theme.text_dim, detail.why);
  ImGui::PopStyleVar();
}

}  // namespace

void draw_listing_panel(const View& view, Commands& commands) {
  if (view.lanes.empty() || !view.lane().simulation) return;
  const Theme& theme = *view.theme;
  const Lane& lane = view.lane();
  auto& state = panel_state<ListingState>("listing");
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 4 * theme.scale});
  const std::string title = translated(lane.simulation->info->title);
  panel_heading(theme, first_that_fits(theme.heading, ImGui::GetContentRegionAvail().x,
                                       {title, short_algorithm_title(*lane.simulation->info)}));
  std::string about = program_summary(*lane.simulation->info, lane.simulation->request.problem);
  add_line(about, lane.simulation->info->source);
  item_tooltip(theme, title, about);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  draw_text(ImGui::GetWindowDrawList(), theme.ui_small, {at, {at.x + width, at.y + theme.ui_small->FontSize}}, theme.text_dim,
            block_text(lane, theme.ui_small, width));
  ImGui::Dummy({width, theme.ui_small->FontSize + 2 * theme.scale});

  const auto rows = listing_rows(*lane.simulation);
  const float room = ImGui::GetContentRegionAvail().y;
  const float smallest = theme.ui->FontSize + (is_read_in_lesson(view) ? 1 : 3) * theme.scale;
  const float detail = std::min(detail_height(view, width), room * (room < 320 * theme.scale ? 0.45F : 0.55F));
  const float lines_room = room - detail - 8 * theme.scale;
  const float row_height = std::floor(std::clamp(lines_room / static_cast<float>(rows.size()), smallest, theme.row_height));
  const float lines_height =
      std::min(std::max(1.0F, std::floor(lines_room / row_height)), static_cast<float>(rows.size())) * row_height;
  constexpr ImGuiWindowFlags flags = ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoNav;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  std::optional<Tensor> under_mouse;
  if (ImGui::BeginChild("lines", {width, lines_height}, ImGuiChildFlags_None, flags))
    under_mouse = draw_rows(view, commands, state, rows, row_height);
  ImGui::EndChild();
  if (ImGui::BeginChild("detail", {width, 0}, ImGuiChildFlags_None, flags)) draw_detail(view);
  ImGui::EndChild();
  light_tensor(view, commands, under_mouse);
  ImGui::PopStyleVar(2);
}

}  // namespace tilescope
