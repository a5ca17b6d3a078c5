// The list of scenes: opening and saving the deck, turning to a scene, putting them in order, and what one of them says.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <variant>

#include <fmt/format.h>
#include <misc/cpp/imgui_stdlib.h>

#include "app/model/lessons/lecture.h"
#include "app/model/state/center_views.h"
#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/views/chrome.h"
#include "app/views/lecture/question_fields.h"
#include "app/views/work_words.h"

namespace tilescope {

namespace {

/// The fields while they are typed into; `of` is the scene that they were filled from.
struct SceneFields {
  int index = -1;
  Scene of;
  std::string title, notes, steps;
  QuestionFields question;
  bool raised = false, fresh = true;
  std::string path, deck_title, known_title;  // of the deck: as typed, and as it was when the field was filled
  bool warned = false;                        // that opening a deck drops scenes that no file has

  void fill(int scene, const Scene& from) {
    index = scene;
    of = from;
    title = from.title;
    notes = from.notes;
    steps = from.steps ? to_string(*from.steps) : std::string();
    question.fill(from.question.value_or(ClassQuestion{}));
    raised = from.raised;
    fresh = false;
  }
  /// The scene with what is typed; steps that are no range leave those of before.
  std::shared_ptr<const Scene> scene() const {
    auto out = std::make_shared<Scene>();
    out->title = title;
    out->notes = notes;
    out->state = of.state;
    out->lesson = of.lesson;
    if (!steps.empty()) out->steps = step_range_from(steps) ? step_range_from(steps) : of.steps;
    out->question = question.question();
    out->raised = raised && (out->question || out->lesson);
    return out;
  }
};

void draw_file(const View& view, Commands& commands, SceneFields& fields) {
  const Theme& theme = *view.theme;
  if (fields.path.empty()) fields.path = view.lecture->path();
  const float buttons = std::round((fields.warned ? 212 : 150) * theme.scale);  // "Open anyway" is longer
  ImGui::SetNextItemWidth(std::max(80 * theme.scale, ImGui::GetContentRegionAvail().x - buttons));
  ImGui::InputTextWithHint("##deck path", tr("Path of a deck, such as lecture.toml"), &fields.path);
  ImGui::SameLine();
  fields.warned = fields.warned && view.lecture->changed();
  if (pill(theme, fields.warned ? tr("Open anyway") : tr("Open"), false,
           fields.warned ? tr("Drops the scenes that are not saved") : tr("Read this deck"))) {
    const bool asks = view.lecture->changed() && !fields.warned;
    fields.warned = asks;
    if (!asks) commands.push(OpenDeck{fields.path});
  }
  ImGui::SameLine();
  if (pill(theme, tr("Save"), view.lecture->changed(), tr("Write the deck to this file"))) commands.push(SaveDeck{fields.path});
  if (fields.warned)
    wrapped_text(theme.ui_small, theme.bad, tr("The scenes in the list are not saved. Save them, or open anyway."));
  control_message(view, "deck");
}

void draw_deck_title(const View& view, Commands& commands, SceneFields& fields) {
  const std::string& title = view.lecture->deck().title;
  if (fields.known_title != title) fields.deck_title = fields.known_title = title;
  ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x);
  const std::string typed = fields.deck_title;
  ImGui::InputTextWithHint("##deck title", tr("Title of the deck"), &fields.deck_title);
  if (leaves_field(fields.deck_title, typed)) commands.push(NameDeck{fields.deck_title});
  item_tooltip(*view.theme, tr("Title of the deck"));
}

void draw_rows(const View& view, Commands& commands) {
  const Lecture& lecture = *view.lecture;
  const float side = text_width(view.theme->ui, "↓") + 2 * ImGui::GetStyle().FramePadding.x;
  for (int i = 0; i < lecture.count(); ++i) {
    ImGui::PushID(i);
    const Scene& scene = *lecture.at(i);
    const std::string label = fmt::format("{}  {}##row", i + 1, scene_name(scene));
    const float width = ImGui::GetContentRegionAvail().x - 3 * (side + ImGui::GetStyle().ItemSpacing.x);
    if (ImGui::Selectable(label.c_str(), i == lecture.scene(), 0, {width, 0})) commands.push(GoToScene{i});
    ImGui::SameLine();
    if (ImGui::SmallButton("↑")) commands.push(MoveScene{i, i - 1});
    item_tooltip(*view.theme, tr("One place up"));
    ImGui::SameLine();
    if (ImGui::SmallButton("↓")) commands.push(MoveScene{i, i + 1});
    item_tooltip(*view.theme, tr("One place down"));
    ImGui::SameLine();
    if (ImGui::SmallButton("×")) commands.push(DeleteScene{i});
    item_tooltip(*view.theme, tr("Remove this scene (Ctrl Z brings it back)"));
    ImGui::PopID();
  }
}

void draw_fields(const View& view, Commands& commands, SceneFields& fields) {
  const Theme& theme = *view.theme;
  const float width = ImGui::GetContentRegionAvail().x;
  bool done = false;
  const auto line = [&](const char* id, const char* hint, std::string& text) {
    const std::string typed = text;
    ImGui::SetNextItemWidth(width);
    ImGui::InputTextWithHint(id, hint, &text);
    done = leaves_field(text, typed) || done;
  };
  const auto lines = [&](const char* id, const char* label, std::string& text, float height) {
    const std::string typed = text;
    text_item(theme.ui_small, theme.text_dim, label);
    ImGui::InputTextMultiline(id, &text, {width, std::round(height * theme.scale)});
    done = leaves_field(text, typed) || done;
  };
  line("##title", tr("Title"), fields.title);
  lines("##notes", tr("Notes for the presenter"), fields.notes, 96);
  line("##steps", tr("Steps that Page Down walks through, such as 3:12"), fields.steps);
  if (!fields.steps.empty() && !step_range_from(fields.steps))
    wrapped_text(theme.ui_small, theme.bad, say(tr("'{}' is no range of steps: write first and last, such as 3:12"), fields.steps));
  line("##question", tr("Question to the class"), fields.question.text);
  if (!fields.question.text.empty()) {
    done = choices_field(theme, fields.question, width, std::round(72 * theme.scale)) || done;
    done = right_choice_buttons(theme, fields.question) || done;
  }
  if (!fields.question.text.empty() || fields.of.lesson) {
    if (pill(theme, tr("Ask when the scene opens"), fields.raised, tr("Without it the question waits for the key Q"))) {
      fields.raised = !fields.raised;
      done = true;
    }
  }
  if (done) {
    commands.push(EditScene{fields.index, fields.scene()});
    fields.fresh = true;
  }
}

}  // namespace

std::string scene_name(const Scene& scene) {
  if (!scene.title.empty()) return scene.title;
  if (scene.lesson) return fmt::format("{}:{}", scene.lesson->lesson, scene.lesson->page + 1);
  const WindowState& state = scene.state;
  const Result<const ProgramInfo*> info = find_program(state.algorithm, state.problem.pass);
  std::string name = state.race ? std::string(tr("Race")) + " · " : std::string();
  name += fmt::format("{} · {}{} · N {} · d {}", info ? short_algorithm_title(**info) : state.algorithm, state.gpu,
                      state.spec_values.empty() ? "" : "*", state.problem.seq_q, state.problem.head_dim);
  if (!state.masks.empty() || !state.presets.empty())
    name += std::string(" · ") + tr("masked");
  else if (state.problem.causal)
    name += std::string(" · ") + tr("causal");
  for (const CenterViewInfo& view : center_views())
    if (view.view == state.center && view.view != CenterView::stage) return name + " · " + tr(view.title);
  if (const auto* step = std::get_if<WindowState::Step>(&state.position)) name += fmt::format(" · {} {}", tr("Step"), step->number);
  return name;
}

std::string scene_count(const View& view) {
  return say(tr("Scene {}/{}"), view.lecture->scene() + 1, view.lecture->count());
}

void draw_scenes(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const Lecture& lecture = *view.lecture;
  auto& fields = panel_state<SceneFields>("scenes");
  if (const Scene* scene = lecture.shown(); scene != nullptr && (fields.index != lecture.scene() || !(fields.of == *scene)))
    fields.fill(lecture.scene(), *scene);

  const ImVec2 screen = ImGui::GetMainViewport()->Size;
  const float width = std::min(std::round(430 * theme.scale), screen.x - 2 * theme.gap);
  ImGui::SetNextWindowPos({screen.x - width - theme.gap, std::round(54 * theme.scale)});
  ImGui::SetNextWindowSizeConstraints({width, 0}, {width, screen.y - std::round(110 * theme.scale)});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, theme.inset);
  constexpr ImGuiWindowFlags flags = ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoMove |
                                     ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_AlwaysAutoResize |
                                     ImGuiWindowFlags_NoCollapse;
  if (ImGui::Begin("##scenes", nullptr, flags)) {
    panel_heading(theme, tr("Scenes"), tr("Esc to close"));
    draw_file(view, commands, fields);
    draw_deck_title(view, commands, fields);
    divider(theme);
    if (lecture.count() == 0)
      wrapped_text(theme.ui, theme.text_dim, tr("No scene yet. Ctrl+D keeps what the window shows as one."));
    draw_rows(view, commands);
    if (pill(theme, tr("Keep this state as a scene"), false, tr("Adds a scene after the one that is shown (Ctrl+D)")))
      commands.push(BookmarkState{});
    if (lecture.shown() != nullptr) {
      divider(theme);
      draw_fields(view, commands, fields);
    }
  }
  ImGui::End();
  ImGui::PopStyleColor();
}

}  // namespace tilescope
