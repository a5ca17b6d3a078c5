// Find: operations of the run and words of the glossary, by what a person types.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <misc/cpp/imgui_stdlib.h>

#include "app/model/lessons/glossary.h"
#include "app/model/run_data/timeline_data.h"
#include "app/model/run_data/timeline_search.h"
#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/ui/short_line.h"
#include "app/views/chrome.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

struct FindState {
  std::string text;
  std::optional<std::string> asked;  // by whoever opened it
  bool open = false;
  std::string found_text;  // what `steps` were found for, and in which run
  std::weak_ptr<const TimelineData> found_in;
  std::vector<std::int64_t> steps;
  std::map<std::string, float> heights;  // of entries as they were drawn last, in a list of `width`
  float width = 0;
  std::string language;
};

void refresh_steps(FindState& state, const View& view) {
  const auto& data = view.lane().timeline;
  if (!data) return state.steps.clear();
  if (state.found_text == state.text && state.found_in.lock() == data) return;
  state.found_text = state.text;
  state.found_in = data;
  state.steps = steps_named(*view.lane().simulation, *data->steps, state.text);
}

/// To the next step that fits, from the first again after the last.
void go_to_step(const FindState& state, const View& view, int direction, Commands& commands) {
  if (state.steps.empty()) return;
  const std::int64_t now = view.lane().step;
  if (direction > 0) {
    const auto after = std::upper_bound(state.steps.begin(), state.steps.end(), now);
    commands.push(SeekStep{after == state.steps.end() ? state.steps.front() : *after});
  } else {
    const auto from = std::lower_bound(state.steps.begin(), state.steps.end(), now);
    commands.push(SeekStep{from == state.steps.begin() ? state.steps.back() : *(from - 1)});
  }
}

void draw_steps(const FindState& state, const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  if (state.steps.empty())
    return wrapped_text(theme.ui_small, theme.text_dim, tr("No operation of the SM in focus has this in its name or its line."));
  const std::int64_t now = view.lane().step;
  const auto at = std::lower_bound(state.steps.begin(), state.steps.end(), now);
  const bool on_one = at != state.steps.end() && *at == now;
  const std::string count = on_one ? say(tr("Operation {} of {}"), format_count(at - state.steps.begin() + 1),
                                         format_count(static_cast<std::int64_t>(state.steps.size())))
                                   : say(tr("Operations found: {}"), format_count(static_cast<std::int64_t>(state.steps.size())));
  ImGui::AlignTextToFramePadding();
  text_item(theme.ui, theme.text, count);
  ImGui::SameLine();
  if (pill(theme, tr("Previous##step"), false, tr("The operation before (Shift Enter)"))) go_to_step(state, view, -1, commands);
  ImGui::SameLine(0, theme.gap * 0.5F);
  if (pill(theme, tr("Next##step"), false, tr("The next operation (Enter)"))) go_to_step(state, view, 1, commands);
}

/// An entry: term, meaning, and the terms that it is about.
void draw_entry(const View& view, const GlossaryEntry& entry, FindState& state) {
  const Theme& theme = *view.theme;
  const std::string& language = view.workspace->language;
  const GlossaryEntry::Text& text = entry.text(language);
  text_item(theme.ui_bold, theme.text, formula_text(text.term));
  if (language != "en" && text.term != entry.text("en").term) {
    ImGui::SameLine();
    text_item(theme.ui_small, theme.text_faint, entry.text("en").term);
  }
  wrapped_text(theme.ui, theme.text_dim, formula_text(text.meaning));
  ImGui::PushID(entry.id.c_str());
  bool first = true;
  for (const std::string& id : entry.see) {
    const GlossaryEntry* other = view.glossary->find(id);
    if (other == nullptr) continue;
    const std::string& term = other->text(language).term;
    const std::string shown = formula_text(term);
    const float needed = text_width(theme.ui_bold, shown) + 22 * theme.scale;
    if (!first && ImGui::GetItemRectMax().x + theme.gap + needed < ImGui::GetWindowPos().x + ImGui::GetWindowContentRegionMax().x)
      ImGui::SameLine(0, theme.gap * 0.5F);
    first = false;
    if (pill(theme, fmt::format("{}##{}", shown, id).c_str(), false)) state.asked = term;
  }
  ImGui::PopID();
  ImGui::Dummy({1, std::round(3 * theme.scale)});
}

void draw_words(const View& view, FindState& state) {
  const Theme& theme = *view.theme;
  const auto entries = view.glossary->search(state.text, view.workspace->language);
  if (entries.empty()) return wrapped_text(theme.ui_small, theme.text_dim, tr("The glossary has no such word."));
  const float width = ImGui::GetContentRegionAvail().x;
  if (state.width != width || state.language != view.workspace->language) state.heights.clear();
  state.width = width;
  state.language = view.workspace->language;
  // What is not seen keeps its place: to lay out all entries would take longer than a frame may.
  const float margin = ImGui::GetWindowHeight(), low = ImGui::GetWindowPos().y - margin, high = low + 3 * margin;
  for (const GlossaryEntry* entry : entries) {
    const float top = ImGui::GetCursorScreenPos().y;
    const auto known = state.heights.find(entry->id);
    if (known != state.heights.end() && (top + known->second < low || top > high)) {
      ImGui::SetCursorScreenPos({ImGui::GetCursorScreenPos().x, top + known->second});
      continue;
    }
    draw_entry(view, *entry, state);
    state.heights[entry->id] = ImGui::GetCursorScreenPos().y - top;
  }
  ImGui::Dummy({1, 1});
}

}  // namespace

void draw_find(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  auto& state = panel_state<FindState>("find");
  const bool opening = !state.open;
  if (opening) state.asked = *view.workspace->find;
  state.open = true;
  const ImVec2 screen = ImGui::GetMainViewport()->Size;
  const float width = std::min(std::round(430 * theme.scale), screen.x - 2 * theme.gap), top = std::round(54 * theme.scale);
  ImGui::SetNextWindowPos({screen.x - width - theme.gap, top});
  ImGui::SetNextWindowSize({width, std::round(std::min(620 * theme.scale, screen.y - top - 60 * theme.scale))});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, theme.inset);
  constexpr ImGuiWindowFlags flags = ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoMove |
                                     ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoCollapse;
  if (ImGui::Begin("##find", nullptr, flags)) {
    panel_heading(theme, tr("Find"), tr("Esc to close"));
    if (state.asked || ImGui::IsWindowAppearing()) {
      if (state.asked) state.text = *state.asked;
      state.asked.reset();
      ImGui::SetKeyboardFocusHere();
    }
    ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x);
    const bool entered = ImGui::InputTextWithHint("##text", tr("An operation, such as K3 or max, or a word"), &state.text,
                                                  ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll);
    const bool has_run = !view.lanes.empty() && view.lane().simulation && !view.lesson.locked;
    if (has_run) refresh_steps(state, view);
    if (entered) {
      if (has_run) go_to_step(state, view, ImGui::GetIO().KeyShift ? -1 : 1, commands);
      ImGui::SetKeyboardFocusHere(-1);
    }
    if (has_run && !state.text.empty()) {
      text_item(theme.ui_small, theme.text_faint, tr("On the timeline"));
      draw_steps(state, view, commands);
      divider(theme);
    }
    text_item(theme.ui_small, theme.text_faint, tr("Glossary"));
    if (ImGui::BeginChild("words", {0, 0}, ImGuiChildFlags_None)) draw_words(view, state);
    ImGui::EndChild();
    if (ImGui::IsKeyPressed(ImGuiKey_Escape, false)) commands.push(ShowFind{false});
  }
  ImGui::End();
  ImGui::PopStyleColor();
}

/// Forgets that it was open, so that the next opening begins with what is asked for.
void close_find() {
  panel_state<FindState>("find").open = false;
}

}  // namespace tilescope
