// The sweep panel: bytes or time of each algorithm over a range of one value, with the theory.
#include <algorithm>
#include <array>
#include <cstring>

#include "app/model/lessons/lecture.h"
#include "app/model/measurements/compiled_kernel.h"
#include "app/model/measurements/error_sentences.h"
#include "app/model/measurements/time_errors.h"
#include "app/model/requests/assets.h"
#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/ui/tab_stops.h"
#include "app/views/algorithm_style.h"
#include "app/views/beside_run.h"
#include "app/views/chrome.h"
#include "app/views/error_words.h"
#include "app/views/outcome_words.h"
#include "app/views/panels.h"
#include "app/views/study_panel.h"
#include "app/views/sweep/sweep_figure.h"
#include "sim/analysis/format.h"
#include "sim/analysis/io_complexity.h"

namespace tilescope {
namespace {

struct SweepState {
  std::array<char, 160> text{};  // the range being typed
  std::string shown;             // what `text` was filled from
};

struct Preset {
  const char* label;
  std::string_view key;
};
constexpr std::array presets = {Preset{"N", "seq"},       Preset{"d", "head_dim"},     Preset{"Br", "block_q"},
                                Preset{"Bc", "block_kv"}, Preset{"M", "shared_bytes"}, Preset{"H", "heads"}};

/// Formats the range, for example "seq=64:8192:x2".
std::string short_form(const SweepAxis& axis) {
  const auto& v = axis.values;
  const bool doubles =
      v.size() > 2 && std::adjacent_find(v.begin(), v.end(), [](double a, double b) { return b != 2 * a; }) == v.end();
  return doubles ? fmt::format("{}={}:{}:x2", axis.key, v.front(), v.back()) : to_string(axis);
}

void draw_axis_choice(const View& view, Commands& commands, const SweepChoice& choice) {
  const Theme& theme = *view.theme;
  auto& state = panel_state<SweepState>("sweep");
  std::array<const char*, presets.size()> labels{};
  int selected = -1;
  for (std::size_t i = 0; i < presets.size(); ++i) {
    labels[i] = presets[i].label;
    if (presets[i].key == choice.axis.key) selected = static_cast<int>(i);
  }
  if (const auto clicked = segmented(theme, "axis", labels, selected, true))
    commands.push(SetSweep{usual_range(presets[static_cast<std::size_t>(*clicked)].key, view.lane().simulation->request),
                           choice.algorithms, choice.quantity});
  ImGui::SameLine();
  ImGui::PushFont(theme.mono_small);
  ImGui::SetNextItemWidth(std::round(70 * theme.scale));
  if (ImGui::BeginCombo("##spec", tr("GPU"), ImGuiComboFlags_NoArrowButton)) {
    for (const SpecKey& key : spec_keys())
      if (key.may_change_a_run() && ImGui::Selectable(std::string(key.key).c_str(), key.key == choice.axis.key))
        commands.push(SetSweep{usual_range(key.key, view.lane().simulation->request), choice.algorithms, choice.quantity});
    ImGui::EndCombo();
  } else {
    combo_stop(theme);
  }
  item_tooltip(theme, tr("Sweep any GPU value"));
  const std::string now = short_form(choice.axis);
  if (state.shown != now) {
    state.shown = now;
    const std::size_t length = std::min(now.size(), state.text.size() - 1);
    std::memcpy(state.text.data(), now.data(), length);
    state.text[length] = '\0';
  }
  ImGui::SameLine();
  ImGui::SetNextItemWidth(std::round(190 * theme.scale));
  if (ImGui::InputText("##range", state.text.data(), state.text.size(), ImGuiInputTextFlags_EnterReturnsTrue))
    commands.push(SetSweep{state.text.data(), choice.algorithms, choice.quantity});
  field_stop(theme, "##range");
  ImGui::PopFont();
  item_tooltip(theme, tr("Type a range, then Enter"),
               tr("seq=256:65536:x2 doubles, head_dim=32:128:+32 adds, block_q=16,32,128 lists."));
}

bool is_swept(const SweepChoice& choice, std::string_view algorithm) {
  return std::find(choice.algorithms.begin(), choice.algorithms.end(), algorithm) != choice.algorithms.end();
}

/// Takes a program into the sweep, or out of it; the last one stays.
void toggle_program(const SweepChoice& choice, std::string_view algorithm, Commands& commands) {
  std::vector<std::string> algorithms;
  for (const ProgramInfo& each : program_table())
    if (is_swept(choice, each.id) != (each.id == algorithm)) algorithms.emplace_back(each.id);
  if (!algorithms.empty()) commands.push(SetSweep{to_string(choice.axis), std::move(algorithms), choice.quantity});
}

/// Draws a button for every program of the current family.
void draw_program_buttons(const View& view, Commands& commands, const SweepChoice& choice) {
  const Theme& theme = *view.theme;
  bool first = true;
  const float right = ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x, gap = theme.gap * 0.5F;
  for (const ProgramInfo& row : program_table()) {
    if (row.family != view.lane().simulation->info->family) continue;
    const std::string label = fmt::format("{}##{}", translated(row.title), row.id);
    const float width = text_width(theme.ui_small, translated(row.title)) + 17 * theme.scale;
    if (!first && ImGui::GetItemRectMax().x + gap + width <= right) ImGui::SameLine(0, gap);
    first = false;
    const std::array one = {label.c_str()};
    if (segmented(theme, row.id.data(), one, is_swept(choice, row.id) ? 0 : -1, true)) toggle_program(choice, row.id, commands);
  }
}

/// Draws the same as a list that opens: beside a lesson the curves need the height of the buttons.
void draw_program_list(const View& view, Commands& commands, const SweepChoice& choice) {
  const Theme& theme = *view.theme;
  const std::string count = say(tr("Programs: {}"), choice.algorithms.size());
  const float width = text_width(theme.ui_small, count) + 40 * theme.scale;
  if (ImGui::GetItemRectMax().x + theme.gap + width <= ImGui::GetWindowPos().x + ImGui::GetWindowContentRegionMax().x)
    ImGui::SameLine();
  ImGui::PushFont(theme.ui_small);
  ImGui::SetNextItemWidth(std::round(width));
  if (ImGui::BeginCombo("##programs", count.c_str(), ImGuiComboFlags_HeightLargest)) {
    for (const ProgramInfo& row : program_table()) {
      if (row.family != view.lane().simulation->info->family) continue;
      const std::string label = fmt::format("{}##{}", translated(row.title), row.id);
      if (ImGui::Selectable(label.c_str(), is_swept(choice, row.id), ImGuiSelectableFlags_DontClosePopups))
        toggle_program(choice, row.id, commands);
    }
    ImGui::EndCombo();
  } else {
    combo_stop(theme);
  }
  ImGui::PopFont();
}

void draw_choices(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const SweepChoice& choice = view.studies->sweep_choice;
  draw_axis_choice(view, commands, choice);
  const std::array quantities = {tr("HBM"), tr("L2↔SM"), tr("Time"), tr("Memory")};
  ImGui::SameLine();
  if (const auto clicked = segmented(theme, "quantity", quantities, static_cast<int>(choice.quantity), true))
    commands.push(SetSweep{to_string(choice.axis), choice.algorithms, static_cast<SweepQuantity>(*clicked)});
  view.lesson.lesson != nullptr ? draw_program_list(view, commands, choice) : draw_program_buttons(view, commands, choice);
  study_message(view, "sweep");
}

void show_point(const View& view, const SweepResult& result, const SweepHover& hover) {
  const Outcome& point = *result.at(hover.algorithm, hover.value);
  const double value = result.request.axis.values[hover.value];
  std::string body = say(tr("HBM {}, L2↔SM {}"), format_bytes(point.hbm()), format_bytes(point.sm_link()));
  add_line(body, written_after_text(point.dirty()));
  const std::string& algorithm = result.request.algorithms[hover.algorithm];
  const auto request = request_at(result.request, algorithm, value);
  if (const auto theory = theory_at(result.request, algorithm, value); theory && request)
    add_line(body,
             say(tr("{} in the paper's count, {}"), format_bytes(theory->bytes), say(order_text(theory->order, request->problem))));
  add_line(body, say(tr("{}, busiest: {}"), format_time(Nanoseconds(point.wall_ns())), bound_text(point.bound, point.sms)));
  if (const UnderLoad& load = point.under_load; load.clock_hz > 0)
    add_line(body, say(tr("at {}, its clock under load"), format_clock(load.clock_hz)));
  const bool is_open = l2_may_decide(result, hover.algorithm, hover.value);
  if (is_open) add_line(body, unshared_text(point));
  if (const Result<FigureErrors>* const errors = errors_at(view, hover.algorithm, hover.value); errors && request && !is_open)
    add_line(body, time_errors_text(*errors, *request));
  add_line(body, point.buffers > 0 ? say(point.buffers == 1 ? tr("tile {}×{}, {} buffer") : tr("tile {}×{}, {} buffers"),
                                         point.tile.block_q, point.tile.block_kv, point.buffers)
                                   : say(tr("tile {}×{}"), point.tile.block_q, point.tile.block_kv));
  if (const auto compiled = request ? compiled_kernel(*request) : std::nullopt)
    for (const Sentence& warning : compiled->warnings()) add_line(body, say(warning));
  show_tooltip(
      *view.theme,
      fmt::format("{}, {} = {}", algorithm_title(result.request.algorithms[hover.algorithm], result.request.base.problem.pass),
                  axis_symbol(result.request.axis.key), value),
      body);
}

/// How far the times of each program were off; empty for bytes, and where the legend has it.
std::string errors_text(const View& view, const SweepResult& result, SweepQuantity quantity) {
  if (quantity != SweepQuantity::time) return {};
  const std::string& gpu = result.request.base.gpu.id;
  if (is_imagined(gpu)) return ' ' + say(imagined_gpu_sentence(gpu));
  std::string known;
  for (std::size_t a = 0; a < result.request.algorithms.size(); ++a) {
    std::string of_long, of_short;
    for (std::size_t v = 0; v < result.request.axis.values.size(); ++v)
      if (const Result<FigureErrors>* const errors = errors_at(view, a, v); errors && *errors)
        ((*errors)->is_short ? of_short : of_long) = "±" + format_percent((*errors)->mean);
    if (of_long.empty() && of_short.empty()) continue;
    const std::string title = algorithm_title(result.request.algorithms[a], result.request.base.problem.pass);
    if (!of_short.empty()) of_short = say(tr("{} under 20 µs"), of_short);
    known += fmt::format("{}{} {}{}{}", known.empty() ? "" : "; ", title, of_long, of_long.empty() || of_short.empty() ? "" : ", ",
                         of_short);
  }
  if (has_legend(result) && !known.empty()) return {};
  return ' ' + (known.empty() ? std::string(tr("How far these times are off is unknown: no such run is recorded."))
                              : say(tr("Mean errors of recorded runs: {}."), known));
}

/// Explains the first point that could not be simulated.
std::string refused(const SweepResult& result) {
  std::size_t count = 0;
  std::string first;
  for (std::size_t a = 0; a < result.request.algorithms.size(); ++a)
    for (std::size_t i = 0; i < result.request.axis.values.size(); ++i) {
      const auto& point = result.at(a, i);
      if (!point || point->done()) continue;
      if (count++ == 0)
        first = fmt::format("{}, {} = {}: {}", algorithm_title(result.request.algorithms[a], result.request.base.problem.pass),
                            axis_symbol(result.request.axis.key), result.request.axis.values[i], say(point->refusal));
    }
  return count == 0 ? std::string() : say(tr("{} points cannot be simulated: {}"), count, first);
}

}  // namespace

void draw_sweep_panel(const View& shown, Commands& commands) {
  if (shown.studies->sweep == nullptr) return study_empty(shown, tr("Nothing simulated yet."));
  const Theme theme = shown.workspace->present ? without_small_text(*shown.theme) : *shown.theme;
  const View view{shown, &theme};
  const SweepResult& result = *view.studies->sweep;
  const SweepQuantity quantity = view.studies->sweep_choice.quantity;
  const SweepWords words =
      sweep_words(result, quantity, view.lanes.empty() ? result.request.base.algorithm : view.lane().simulation->request.algorithm);
  study_head(view, words.finding, words.detail + errors_text(view, result, quantity));
  draw_beside_line(view);
  const bool class_answers = view.workspace->present && view.lecture->asking;  // and the curves need the height
  if (!view.studies->given && !class_answers) draw_choices(view, commands);
  if (const std::string sentence = refused(result); !sentence.empty()) wrapped_text(theme.ui_small, theme.text_faint, sentence);
  study_progress(view, commands, result.done(), result.points.size());
  const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  const auto hover = draw_sweep_figure(view, result, quantity, {at, {at.x + room.x, at.y + room.y}});
  if (hover && ImGui::IsWindowHovered()) show_point(view, result, *hover);
}

}  // namespace tilescope
