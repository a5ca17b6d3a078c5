// The traffic panel: bytes by tensor on one link, and what other programs would move for the same problem.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/ui/tab_stops.h"
#include "app/ui/widgets.h"
#include "app/views/beside_run.h"
#include "app/views/chrome.h"
#include "app/views/light_tensor.h"
#include "app/views/panels.h"
#include "app/views/traffic/traffic_sheet.h"
#include "app/views/traffic/traffic_table.h"
#include "sim/analysis/format.h"
#include "sim/analysis/io_complexity.h"

namespace tilescope {
namespace {

struct TrafficState {
  std::weak_ptr<const Simulation> known;
  LinkChoice link = LinkChoice::l2_to_sm;  // that the rivals are compared on
  std::optional<ClosedForm> form;
  std::vector<Rival> rivals;
  NoRivals none;  // why there is no rival beside the program itself
  std::string theory, theory_details;
  std::string language;  // that they are in: its own name for itself
};

const char* choice_meaning(LinkChoice choice) {
  switch (choice) {
    case LinkChoice::l2_to_sm:
      return tr("Bytes read by SMs from the L2. Exact to the 32-byte sector.");
    case LinkChoice::sm_to_l2:
      return tr("Bytes written by SMs to the L2. Exact to the 32-byte sector.");
    case LinkChoice::hbm_read:
      return tr("L2 misses, fetched from HBM.");
    case LinkChoice::hbm_write:
      return tr("Dirty lines written back by the L2. Lines still in the L2 at the end are not included.");
    case LinkChoice::shared:
      return tr("Shared-memory reads plus writes.");
  }
  return "";
}

/// A bar of what a program moves, in the colours of the tensors: what one program has and another has not is seen, not only its
/// sum.
void draw_by_tensor(ImDrawList* list, const Theme& theme, const Rival& rival, const Rect& bar, bool bright) {
  double before = 0;
  const auto all = static_cast<double>(std::max<std::int64_t>(1, rival.bytes));
  for (const auto& [tensor, moved] : rival.by_tensor) {
    const auto part = static_cast<double>(moved);
    if (part <= 0) continue;
    const auto x = [&](double bytes) { return bar.min.x + bar.width() * static_cast<float>(bytes / all); };
    list->AddRectFilled({x(before), bar.min.y}, {x(before + part), bar.max.y},
                        with_alpha(theme.color(tensor), bright ? 1.0F : 0.8F));
    before += part;
  }
}

/// The titles of the backward programs begin alike, so theirs are short; so are all of them where one would be cut.
std::string rival_title(const Rival& rival, bool brief) {
  const auto info = find_program(rival.id);
  return info && (brief || (*info)->pass == Pass::backward) ? short_algorithm_title(**info) : translated(rival.title);
}

/// "128×64": the tile of a program's bar.
std::string tile_text(const Rival& rival) {
  return fmt::format("{}×{}", rival.tile.block_q, rival.tile.block_kv);
}

/// "S 2.05 kB, P 4.10 kB", the tensors of a program by what they move.
std::string by_tensor_text(const Rival& rival) {
  std::string text;
  for (const auto& [tensor, bytes] : rival.by_tensor)
    if (bytes > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(tensor), format_bytes(Bytes(bytes)));
  return text;
}

void draw_rivals(const View& view, Commands& commands, const TrafficState& state, float row_height) {
  const std::vector<Rival>& rivals = state.rivals;
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  std::int64_t most = 1;
  float name_width = 0, tile_width = 0, figure_width = 0;
  for (const Rival& rival : rivals) {
    most = std::max(most, rival.bytes);
    name_width = std::max(name_width, text_width(theme.ui_small, rival_title(rival, false)));
    tile_width = std::max(tile_width, text_width(theme.ui_small, tile_text(rival)));
    figure_width = std::max(figure_width, text_width(theme.mono_small, format_bytes(Bytes(rival.bytes))));
  }
  const float width = ImGui::GetContentRegionAvail().x;
  tile_width += 8 * theme.scale;
  // A name may be cut short for the tile, a bar not: there the tooltip alone has the tile.
  const bool has_tiles = width - tile_width - figure_width >= 190 * theme.scale;
  if (!has_tiles) tile_width = 0;
  const float most_of_name = width * 0.42F - 0.5F * tile_width;
  const bool brief = name_width + 2 * theme.scale > most_of_name;
  if (brief) {
    name_width = 0;
    for (const Rival& rival : rivals) name_width = std::max(name_width, text_width(theme.ui_small, rival_title(rival, true)));
  }
  name_width = std::min(name_width, most_of_name) + 8 * theme.scale;
  for (const Rival& rival : rivals) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::PushID(rival.id.c_str());
    const bool pressed = ImGui::InvisibleButton("rival", {width, row_height});
    const bool clicked = tab_stop(theme, {at, {at.x + width, at.y + row_height}}, 3 * theme.scale) || pressed;
    ImGui::PopID();
    const bool hovered = ImGui::IsItemHovered();
    if (clicked && !rival.current) commands.push(SetAlgorithm{rival.id});
    if (hovered) {
      std::string body = say(tr("{} {}, tile {}×{}"), choice_name(state.link), format_exact_bytes(Bytes(rival.bytes)),
                             rival.tile.block_q, rival.tile.block_kv);
      add_line(body, by_tensor_text(rival));
      if (rival.current && !state.theory.empty()) add_line(body, state.theory);
      if (rival.current && !state.theory_details.empty()) add_line(body, state.theory_details);
      if (!rival.current && !rival.order.empty()) add_line(body, rival.order);
      add_line(body, rivals.front().default_tile ? tr("Each program has its own default tile.")
                                                 : tr("All programs have the tile that was chosen for this run."));
      if (!rival.current) add_line(body, tr("Click: run this program."));
      show_tooltip(theme, translated(rival.title), body);
    }
    const float bottom = at.y + row_height;
    draw_text(list, theme.ui_small, {at, {at.x + name_width - 6 * theme.scale, bottom}},
              rival.current || hovered ? theme.text : theme.text_dim, rival_title(rival, brief));
    if (has_tiles)
      draw_text(list, theme.ui_small, {{at.x + name_width, at.y}, {at.x + name_width + tile_width - 8 * theme.scale, bottom}},
                theme.text_faint, tile_text(rival), Align::right);
    const float bar_left = at.x + name_width + tile_width, bar_right = at.x + width - figure_width - 8 * theme.scale;
    const float share = static_cast<float>(static_cast<double>(rival.bytes) / static_cast<double>(most));
    const float height = std::min(9 * theme.scale, row_height - 4);
    const float y = std::floor(at.y + (row_height - height) * 0.5F);
    if (bar_right > bar_left)
      draw_by_tensor(list, theme, rival, {{bar_left, y}, {bar_left + std::max(2.0F, (bar_right - bar_left) * share), y + height}},
                     rival.current || hovered);
    draw_text(list, theme.mono_small, {{bar_right, at.y}, {at.x + width, bottom}}, rival.current ? theme.text : theme.text_dim,
              format_bytes(Bytes(rival.bytes)), Align::right);
  }
}

/// In place of rivals, why there are none.
void draw_no_rivals(const Theme& theme, const NoRivals& none, float row_height) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  ImGui::InvisibleButton("no rivals", {width, row_height});
  item_tooltip(theme, none.brief, none.sentence);
  draw_text(ImGui::GetWindowDrawList(), theme.ui_small, {at, {at.x + width, at.y + row_height}}, theme.text_faint, none.brief);
}

/// How the theory's count grows, and what it is here: "Theory, both ways: 4.57 × N²d²/M + O(Nd) elements".
void find_theory(TrafficState& state, const Simulation& simulation) {
  const AttentionProblem& problem = simulation.program->problem();
  const bool holds = state.form && order_holds(state.form->order, problem, simulation.request.gpu);
  state.theory = holds ? say(order_text(state.form->order, problem)) : std::string();
  state.theory_details.clear();
  if (!family_of(*simulation.info)->computes_attention) return;
  // The counts are those of the fast memory, the shared one: behind an L2 they say nothing of HBM.
  const bool hbm = state.link == LinkChoice::hbm_read || state.link == LinkChoice::hbm_write;
  if (state.link == LinkChoice::shared || (hbm && simulation.request.gpu.has_l2())) return state.theory.clear();
  if (problem.mask) return;  // constant and lower bound are of dense attention too
  const IoComplexity theory = io_complexity(problem, simulation.program->tile(), simulation.request.gpu);
  for (const AccessCount& count : theory.counts) {
    if (count.algorithm != simulation.info->id) continue;
    if (!order_holds(count.order, problem, simulation.request.gpu)) {
      state.theory.clear();  // outside its domain the constant says nothing
      add_line(state.theory_details, say(tr("{} holds for d ≤ M ≤ N·d only"), count.order));
      continue;
    }
    state.theory = say(tr("Theory, both ways: {} × {} + O(Nd) elements"), format_value(count.leading_constant), count.leading);
    add_line(state.theory_details, say(tr("As an order, without the factor: {}"), count.order));
    add_line(state.theory_details, tr("Read and written together"));
    if (!count.constant_formula.empty()) add_line(state.theory_details, say(tr("the constant is {}"), count.constant_formula));
    add_line(state.theory_details, say(tr("{} FLOP per byte"), format_value(count.intensity)));
  }
  add_line(state.theory_details,
           say(tr("M = {} elements of shared memory; N²d²/M = {} elements, the lower bound's order"),
               format_count(static_cast<std::int64_t>(theory.fast_memory_elements)), format_short(theory.lower_bound_elements)));
}

void refresh(TrafficState& state, const View& view) {
  const auto& simulation = view.lane().simulation;
  if (state.known.lock() == simulation && state.language == tr("EN") && state.link == view.workspace->traffic) return;
  state.link = view.workspace->traffic;
  state.known = simulation;
  state.language = tr("EN");
  state.form = simulation->program->closed_form();
  state.rivals = find_rivals(*simulation, state.link);
  state.none = state.rivals.size() > 1 ? NoRivals() : no_rivals(*simulation, state.link);
  find_theory(state, *simulation);
}

/// In a narrow panel arrows say it: up is towards the SMs, as on the stage.
const char* short_choice_name(LinkChoice choice) {
  switch (choice) {
    case LinkChoice::l2_to_sm:
      return "L2 ↑";
    case LinkChoice::sm_to_l2:
      return "L2 ↓";
    case LinkChoice::hbm_read:
      return "HBM ↑";
    case LinkChoice::hbm_write:
      return "HBM ↓";
    case LinkChoice::shared:
      return tr("shared");
  }
  return "";
}

/// Of the pills [from, to) of the switch.
float switch_width(const Theme& theme, const char* (*name)(LinkChoice), std::size_t from = 0,
                   std::size_t to = link_choices.size()) {
  float width = 0;
  for (std::size_t i = from; i < to; ++i) width += text_width(theme.ui_small, name(link_choices[i])) + 17 * theme.scale;
  return width;
}

/// The pills [from, to) of the switch.
void switch_part(const View& view, Commands& commands, const char* (*name)(LinkChoice), std::size_t from, std::size_t to) {
  const Theme& theme = *view.theme;
  std::array<const char*, link_choices.size()> labels{};
  int selected = -1;
  for (std::size_t i = from; i < to; ++i) {
    labels[i - from] = name(link_choices[i]);
    if (link_choices[i] == view.workspace->traffic) selected = static_cast<int>(i - from);
  }
  ImGui::PushID(static_cast<int>(from));
  const auto chosen = segmented(theme, "link", {labels.data(), to - from}, selected, true);
  ImGui::PopID();
  if (chosen) commands.push(SetTrafficLink{link_choices[from + static_cast<std::size_t>(*chosen)]});
}

/// The panel's title with the link switch: beside it, or below it on as many lines as it needs.
void draw_heading(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, title = text_width(theme.heading, tr("Traffic")) + 12 * theme.scale;
  const auto name = switch_width(theme, choice_name) <= width ? choice_name : short_choice_name;
  const bool beside = title + switch_width(theme, short_choice_name) <= width;
  panel_heading(theme, tr("Traffic"));
  if (beside) {
    const auto beside_name = title + switch_width(theme, choice_name) <= width ? choice_name : short_choice_name;
    ImGui::SetCursorScreenPos({at.x + width - switch_width(theme, beside_name), at.y - 2 * theme.scale});
    ImGui::BeginGroup();
    switch_part(view, commands, beside_name, 0, link_choices.size());
    ImGui::EndGroup();
  } else {
    ImGui::Dummy({1, 3 * theme.scale});
    ImGui::BeginGroup();
    for (std::size_t from = 0, to = 0; from < link_choices.size(); from = to) {  // as many a line as there is room for
      for (to = from + 1; to < link_choices.size() && switch_width(theme, name, from, to + 1) <= width;) ++to;
      // Up and down of a link stay together.
      if (from == 0 && to > 2 && to < link_choices.size()) to = 2;
      if (from > 0) ImGui::Dummy({1, 2 * theme.scale});
      switch_part(view, commands, name, from, to);
    }
    ImGui::EndGroup();
  }
  item_tooltip(theme, choice_name(view.workspace->traffic), choice_meaning(view.workspace->traffic));
  ImGui::SetCursorScreenPos({at.x, ImGui::GetCursorScreenPos().y + 3 * theme.scale});
}

/// A quiet line over the rivals: what they are compared in, in the first words that have room, and the theory at the right.
void caption_line(const Theme& theme, std::span<const std::string_view> texts, std::string_view theory, std::string_view details,
                  float height) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float right = at.x + ImGui::GetContentRegionAvail().x, top = at.y + 2 * theme.scale, bottom = at.y + height;
  ImGui::InvisibleButton("theory", {right - at.x, height});
  if (!details.empty()) item_tooltip(theme, theory, details);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float width = std::min(text_width(theme.ui_small, theory), right - at.x);
  draw_text(list, theme.ui_small, {{right - width - 1, top}, {right, bottom}}, theme.text_dim, theory, Align::right);
  const Rect before = {{at.x, top}, {right - width - 8 * theme.scale, bottom}};
  for (const std::string_view text : texts) {
    if (text_width(theme.ui_small, text) > before.width()) continue;
    draw_text(list, theme.ui_small, before, theme.text_faint, text);
    return;
  }
}

}  // namespace

void draw_traffic_panel(const View& shown, Commands& commands) {
  if (shown.lanes.empty() || !shown.lane().simulation) return;
  View view = shown;
  const Lane& lane = view.lane();
  auto& state = panel_state<TrafficState>("traffic");
  refresh(state, view);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {4 * shown.theme->scale, 0});
  const float bottom = ImGui::GetCursorPosY() + ImGui::GetContentRegionAvail().y;
  draw_heading(view, commands);

  const BesideRun* const beside = beside_run(view);
  const TrafficSheet sheet = traffic_sheet(*lane.simulation, state.form, lane.state.traffic, view.workspace->traffic,
                                           beside != nullptr ? beside->simulation.get() : nullptr);
  const bool held = view.lesson.locked;  // what others move answers many a question
  const auto count = static_cast<float>(sheet.rows.size() + state.rivals.size() + (state.none.brief.empty() ? 1 : 2));
  // For a class the numbers are as large as those of the other panels, where all rows then have room.
  const Theme large = without_small_text(*shown.theme);
  const float free = bottom - ImGui::GetCursorPosY() - 2 * large.ui_small->FontSize - 5 * large.scale - total_gap(large);
  if (view.workspace->present && free >= large.mono_small->FontSize * count) view.theme = &large;
  const Theme& theme = *view.theme;
  const float smallest = theme.mono_small->FontSize;
  const float header = theme.ui_small->FontSize + 2 * theme.scale;
  float caption = theme.ui_small->FontSize + 3 * theme.scale,
        room = bottom - ImGui::GetCursorPosY() - header - caption - total_gap(theme);
  if (room < smallest * count) room += caption, caption = 0;  // the rivals' tooltips have the theory too
  const float row_height = std::floor(std::clamp(room / count, smallest, theme.row_height));
  const std::optional<Tensor> under_mouse = draw_traffic_table(view, sheet, view.workspace->traffic, header, row_height);
  const std::string link = choice_name(state.link), with_problem = say(tr("{}, same problem"), link),
                    with_tiles = say(tr("{}, same problem, own tiles"), link);
  const std::array<std::string_view, 3> compared = {with_tiles, with_problem, link};
  if (held) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    wrapped_text(theme.ui_small, theme.text_faint, tr("The whole run and the other programs show after the answer."));
    ImGui::Dummy({1, std::max(0.0F, at.y + caption - ImGui::GetCursorScreenPos().y)});
    light_tensor(view, commands, under_mouse);
    return ImGui::PopStyleVar();
  }
  if (caption > 0) caption_line(theme, compared, state.theory, state.theory_details, caption);
  draw_rivals(view, commands, state, row_height);
  if (!state.none.brief.empty()) draw_no_rivals(theme, state.none, row_height);
  light_tensor(view, commands, under_mouse);
  ImGui::PopStyleVar();
}

}  // namespace tilescope
