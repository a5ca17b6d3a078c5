// Rows are as wide as the widest one, so that minutes and marks are in line.
#include "app/views/lesson/lesson_menu.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>
#include <imgui.h>

#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_list.h"
#include "app/ui/say.h"
#include "app/ui/widgets.h"
#include "app/views/lesson/question.h"

namespace tilescope {

void draw_lesson_menu(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const LessonView& lesson = view.lesson;
  const auto text = [&](const LessonInfo& info) -> const LessonInfo::Text& { return info.text(view.workspace->language); };
  const auto minutes = [&](const LessonInfo& info) { return say(tr("{} min"), text(info).minutes); };
  float widest = 0, numbers = 0;  // numbers: a column of their own, so that the titles are in line
  for (const LessonInfo& info : lesson.list->lessons)
    numbers = std::max(numbers, text_width(theme.ui, fmt::format("{}", info.number)));
  const float indent = numbers + std::round(12 * theme.scale);
  for (const LessonInfo& info : lesson.list->lessons)
    widest =
        std::max(widest, indent + text_width(theme.ui, text(info).title) + text_width(theme.ui, minutes(info)) + 52 * theme.scale);
  for (const LessonInfo& info : lesson.list->lessons) {
    if (!text(info).group.empty()) text_item(theme.ui_small, theme.text_dim, text(info).group);
    const bool open = lesson.lesson != nullptr && lesson.lesson->id == info.id;
    if (ImGui::Selectable(fmt::format("##{}", info.id).c_str(), open, 0, {widest, 0})) {
      commands.push(OpenLesson{info.id, 0});
      ImGui::CloseCurrentPopup();
    }
    const Rect row = item_rect();
    const float mark = std::round(10 * theme.scale);
    ImDrawList* list = ImGui::GetWindowDrawList();
    draw_text(list, theme.ui, {row.min, {row.min.x + numbers, row.max.y}}, theme.text_dim, fmt::format("{}", info.number),
              Align::right);
    draw_text(list, theme.ui, {{row.min.x + indent, row.min.y}, row.max}, theme.text, text(info).title);
    draw_text(list, theme.ui, {row.min, {row.max.x - 2.2F * mark, row.max.y}}, theme.text_dim, minutes(info), Align::right);
    const auto score = lesson.scores->find(info.id);
    const bool begun = score != lesson.scores->end(), missed = begun && score->second.right < score->second.questions;
    if (missed && (score->second.right > 0 || lesson.done->contains(info.id))) {
      draw_text(list, theme.ui_small, {row.min, row.max}, theme.text_dim,
                fmt::format("{}/{}", score->second.right, score->second.questions), Align::right);
      item_tooltip(theme, say(tr("Right answers: {} of {}"), score->second.right, score->second.questions), text(info).goal);
      continue;
    }
    const bool done = !missed && lesson.done->contains(info.id);
    if (done) check_mark(list, {row.max.x - mark, row.center().y}, mark, theme.good, true);
    done ? item_tooltip(theme, tr("Done"), text(info).goal) : item_tooltip(theme, text(info).goal);
  }
  if (lesson.lesson == nullptr) return;
  ImGui::Separator();
  if (ImGui::Selectable(tr("Close the lesson"))) commands.push(CloseLesson{});
}

}  // namespace tilescope
