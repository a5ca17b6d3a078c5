// Presenter: what the audience does not see. Notes, the next scene, the time of day and the time since the first page; and, small,
// what the audience sees.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "app/model/lessons/lecture.h"
#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_runs.h"
#include "app/model/state/center_views.h"
#include "app/ui/say.h"
#include "app/ui/widgets.h"
#include "app/views/chrome.h"
#include "app/views/lecture/small_picture.h"
#include "app/views/lesson/figure_words.h"
#include "app/views/lesson/prose_text.h"
#include "app/views/panel_table.h"
#include "app/views/panels.h"

namespace tilescope {

namespace {

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds);
  return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                      : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

/// Where a scene is in the steps that it walks through, and how to leave them.
std::string steps_text(const View& view, const Scene& scene) {
  if (!scene.steps || view.lanes.empty()) return {};
  const std::int64_t last = std::min(scene.steps->last, view.lane().step_count);
  if (view.lecture->next() == nullptr) return say(tr("Step {}. The scene ends with step {}."), view.lane().step, last);
  return say(tr("Step {}. Page Down turns after step {}, Ctrl+Page Down at once."), view.lane().step, last);
}

void draw_counts(const View& view, const ClassQuestion& question) {
  const Theme& theme = *view.theme;
  text_item(theme.ui_bold, theme.text, question.text.empty() ? tr("Question to the class") : question.text);
  for (std::size_t i = 0; i < question.choices.size() && i < most_choices; ++i) {
    const bool right = question.answer == static_cast<int>(i) + 1;
    key_value_row(theme, fmt::format("{}  {}{}", i + 1, question.choices[i], right ? "  ✓" : ""),
                  fmt::format("{}", view.lecture->counts[i]));
  }
}

/// The title of what comes next, what it shows, and its first words.
struct Next {
  std::string title, shows;
  const Prose* question = nullptr;  // null: none, or one whose figures are not known yet
  std::string words = {};
};

std::string panel_title(std::string_view id) {
  const auto found = std::ranges::find(panel_table(), id, &PanelInfo::id);
  return found != panel_table().end() ? translated(found->title) : std::string(id);
}

Next next_page(const LessonView& lesson) {
  const std::size_t index = lesson.page + 1;
  const LessonPage& page = lesson.lesson->pages[index];
  Next next{page.title, {}};
  for (const std::string& panel : lesson.lesson->scene_of(index).look)
    next.shows += fmt::format("{}{}", next.shows.empty() ? "" : ", ", panel_title(panel));
  if (page.ask && is_known(page.ask->question, nullptr)) next.question = &page.ask->question;
  return next;
}

Next next_scene(const Scene& scene) {
  Next next{scene_name(scene), scene.state.race ? std::string(tr("Race")) : std::string()};
  for (const CenterViewInfo& view : center_views())
    if (view.view == scene.state.center && next.shows.empty()) next.shows = tr(view.title);
  next.words = scene.question ? scene.question->text : scene.notes.substr(0, scene.notes.find('\n'));
  return next;
}

void draw_next(const Theme& theme, const Next& next) {
  wrapped_text(theme.heading, theme.text, say(tr("Next: {}"), next.title));
  if (!next.shows.empty()) wrapped_text(theme.ui, theme.text_dim, say(tr("Shows: {}"), next.shows));
  if (next.question != nullptr) draw_prose(theme, *next.question, nullptr, ImGui::GetContentRegionAvail().x, theme.text_dim);
  if (!next.words.empty()) wrapped_text(theme.ui, theme.text_dim, next.words);
}

/// What the class sees, and beside it what comes next, each with its picture once there is one; `last` says that nothing does.
void draw_now_and_next(const Theme& theme, const std::optional<Next>& next, const char* last) {
  const auto draw = [&] { next ? draw_next(theme, *next) : wrapped_text(theme.heading, theme.text_dim, last); };
  if (class_picture().empty()) return draw();
  const bool both = next && !next_picture().empty();
  const float room = ImGui::GetContentRegionAvail().x, share = both ? 0.34F : 0.38F, width = std::round(share * room);
  const auto draw_picture = [&](const SmallPicture& picture, const char* title) {
    ImGui::BeginGroup();
    text_item(theme.ui_small, theme.text_dim, title);
    picture.draw(width);
    ImGui::EndGroup();
  };
  draw_picture(class_picture(), tr("The class sees"));
  ImGui::SameLine(0, 2 * theme.gap);
  if (both) {
    draw_picture(next_picture(), tr("Then it sees"));
    ImGui::SameLine(0, 2 * theme.gap);
  }
  ImGui::BeginGroup();
  draw();
  ImGui::EndGroup();
}

/// For reading at a distance: the largest text in which the page's title, its notes, its question and the answer fit the window.
Theme large_text(const Theme& theme, const std::string& of_scene, const LessonPage& page, const ExpressionValues* values,
                 float width) {
  Theme large = theme;
  large.ui = theme.display;
  constexpr float line = 1.4F;  // of a font's size
  float needed = line * (theme.display->FontSize + theme.ui->FontSize) + 3 * theme.gap;
  if (!of_scene.empty()) needed += wrapped_height(large.ui, of_scene, width) + theme.gap;
  for (const Prose& note : page.notes) needed += prose_height(large, note, values, width) + theme.gap;
  if (page.ask) needed += prose_height(large, page.ask->question, values, width) + line * theme.display->FontSize + 3 * theme.gap;
  if (needed > ImGui::GetContentRegionAvail().y) large.ui = theme.heading;
  return large;
}

/// Notes of the scene that shows the lesson's page, null for none, then those of the page, and its question with the answer.
void draw_lesson_notes(const View& view, const Scene* scene) {
  const Theme& theme = *view.theme;
  const LessonView& lesson = view.lesson;
  const LessonPage& page = lesson.lesson->pages[lesson.page];
  const float width = ImGui::GetContentRegionAvail().x;
  const ExpressionValues* values = lesson.figures != nullptr ? &lesson.figures->shown : nullptr;
  const std::string of_scene = scene != nullptr ? scene->notes : std::string();
  const Theme large = large_text(theme, of_scene, page, values, width);
  const bool last = lesson.page + 1 == lesson.lesson->pages.size();
  const bool last_scene = scene != nullptr && view.lecture->next() == nullptr;
  wrapped_text(theme.display, theme.text, page.title);
  wrapped_text(theme.ui, theme.text_dim,
               lesson.locked      ? tr("The class has not answered yet. Page Down: the rest of the text, then the answer.")
               : lesson.revealing ? tr("The run plays.")
               : last_scene       ? tr("Page Down: the rest of the text. This is the last scene.")
               : scene != nullptr ? tr("Page Down: the rest of the text, then the next scene.")
               : last             ? tr("Page Down: the rest of the text, the end, then the next lesson.")
                                  : tr("Page Down: the rest of the text, then the next page."));
  ImGui::Dummy({0, theme.gap});
  if (!of_scene.empty()) {
    wrapped_text(large.ui, theme.text, of_scene);
    ImGui::Dummy({0, theme.gap});
  }
  for (const Prose& note : page.notes) {
    draw_prose(large, note, values, width, theme.text);
    ImGui::Dummy({0, theme.gap});
  }
  if (page.notes.empty() && of_scene.empty()) wrapped_text(theme.heading, theme.text_dim, tr("This page has no notes."));
  if (page.ask) {
    divider(theme);
    draw_prose(large, page.ask->question, values, width, theme.text_dim);
    if (lesson.figures != nullptr)
      wrapped_text(large.ui, theme.good, say(tr("Answer: {}"), answer_words(*page.ask, *lesson.figures)));
  }
  if (view.lecture->asking) {
    divider(theme);
    draw_counts(view, class_question(view));
  }
}

/// The timer, which a click starts from zero, and the time of day, each below what it is.
void draw_clocks(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const Lecture& lecture = *view.lecture;
  const float label = std::ceil(theme.ui_small->FontSize + 3 * theme.scale), line = theme.display->FontSize * 1.4F;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const Rect labels = {at, {at.x + width, at.y + label}}, times = {{at.x, labels.max.y}, {at.x + width, labels.max.y + line}};
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::string since = duration_text(lecture.seconds);
  draw_text(list, theme.ui_small, labels, theme.text_dim, tr("Since the start"));
  draw_text(list, theme.display, times, theme.text, since);
  if (!lecture.clock.empty()) {
    draw_text(list, theme.ui_small, labels, theme.text_dim, tr("Time of day"), Align::right);
    draw_text(list, theme.display, times, theme.text_dim, lecture.clock, Align::right);
  }
  const float timer = std::max(text_width(theme.display, since), text_width(theme.ui_small, tr("Since the start")));
  if (hit_area("timer", {at, {at.x + timer, times.max.y}})) commands.push(RestartTimer{});
  item_tooltip(theme, tr("Click: from zero (⇧ P in the window of the class)"));
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({width, label + line});
}

}  // namespace

void draw_presenter_panel(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const Lecture& lecture = *view.lecture;
  const Scene* scene = lecture.shown();
  const bool in_lesson = view.lesson.lesson != nullptr;
  const bool of_deck = lecture.shows(view.lesson);
  panel_heading(theme, in_lesson ? view.lesson.lesson->title : std::string(tr("Presenter")),
                in_lesson && !of_deck ? say(tr("page {} of {}"), view.lesson.page + 1, view.lesson.lesson->pages.size())
                : scene != nullptr    ? say(tr("scene {} of {}"), lecture.scene() + 1, lecture.count())
                                      : std::string());
  const float width = ImGui::GetContentRegionAvail().x;
  draw_clocks(view, commands);
  divider(theme);
  if (in_lesson) {
    const bool last = view.lesson.page + 1 == view.lesson.lesson->pages.size();
    std::optional<Next> next;
    if (of_deck && lecture.next() != nullptr) next = next_scene(*lecture.next());
    if (!of_deck && !last) next = next_page(view.lesson);
    draw_now_and_next(theme, next, of_deck ? tr("This is the last scene.") : tr("This is the last page."));
    divider(theme);
    return draw_lesson_notes(view, of_deck ? scene : nullptr);
  }
  const Scene* const next = lecture.next();
  if (scene != nullptr || next != nullptr || !class_picture().empty()) {
    draw_now_and_next(theme, next != nullptr ? std::optional(next_scene(*next)) : std::nullopt,
                      scene != nullptr ? tr("This is the last scene.") : "");
    divider(theme);
  }
  if (scene == nullptr) {
    wrapped_text(theme.heading, theme.text_dim,
                 lecture.count() == 0 ? tr("No deck is open. Ctrl+D keeps what the window shows as a scene.")
                                      : tr("Page Down shows the first scene."));
    return;
  }
  wrapped_text(theme.heading, theme.text_dim, scene_name(*scene));
  if (const std::string steps = steps_text(view, *scene); !steps.empty()) text_item(theme.ui, theme.text_dim, steps);
  ImGui::Dummy({0, theme.gap});
  constexpr float most = 0.7F;  // of the room that is left: the question follows
  const bool fits = wrapped_height(theme.display, scene->notes, width) < most * ImGui::GetContentRegionAvail().y;
  wrapped_text(fits ? theme.display : theme.heading, theme.text, scene->notes);
  if (lecture.asking || scene->question) {
    divider(theme);
    draw_counts(view, class_question(view));
  }
}

}  // namespace tilescope
