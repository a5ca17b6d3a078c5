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
  const auto score_of = [&](const LessonInfo& info) -> const LessonScore* {
    const auto found = lesson.scores->find(info.id);
    const bool missed = found != lesson.scores->end() && found->second.right < found->second.questions;
    return missed && (found->second.right > 0 || lesson.done->contains(info.id)) ? &found->second : nullptr;
  };
  const auto score_text = [](const LessonScore& score) { return say(tr("{} of {} right"), score.right, score.questions); };
  const float mark = std::round(10 * theme.scale), gap = std::round(12 * theme.scale);
  float widest = 0, numbers = 0;  // numbers: a column of their own, so that the titles are in line
  float last = mark;              // the column of scores and check marks
  for (const LessonInfo& info : lesson.list->lessons) {
    numbers = std::max(numbers, text_width(theme.ui, fmt::format("{}", info.number)));
    if (const LessonScore* const score = score_of(info)) last = std::max(last, text_width(theme.ui_small, score_text(*score)));
  }
  const float indent = numbers + std::round(12 * theme.scale);
  for (const LessonInfo& info : lesson.list->lessons)
    widest = std::max(widest, indent + text_width(theme.ui, text(info).title) + text_width(theme.ui, minutes(info)) + last + gap +
                                  30 * theme.scale);
  for (const LessonInfo& info : lesson.list->lessons) {
    if (!text(info).group.empty()) text_item(theme.ui_small, theme.text_dim, text(info).group);
    const bool open = lesson.lesson != nullptr && lesson.lesson->id == info.id;
    if (ImGui::Selectable(fmt::format("##{}", info.id).c_str(), open, 0, {widest, 0})) {
      commands.push(OpenLesson{info.id, 0});
      ImGui::CloseCurrentPopup();
    }
    const Rect row = item_rect();
    ImDrawList* list = ImGui::GetWindowDrawList();
    draw_text(list, theme.ui, {row.min, {row.min.x + numbers, row.max.y}}, theme.text_dim, fmt::format("{}", info.number),
              Align::right);
    draw_text(list, theme.ui, {{row.min.x + indent, row.min.y}, row.max}, theme.text, text(info).title);
    draw_text(list, theme.ui, {row.min, {row.max.x - last - gap, row.max.y}}, theme.text_dim, minutes(info), Align::right);
    if (const LessonScore* const score = score_of(info)) {
      draw_text(list, theme.ui_small, {row.min, row.max}, theme.text_dim, score_text(*score), Align::right);
      item_tooltip(theme, say(tr("Right answers: {} of {}"), score->right, score->questions), text(info).goal);
      continue;
    }
    const bool done = lesson.done->contains(info.id);
    if (done) check_mark(list, {row.max.x - mark, row.center().y}, mark, theme.good, true);
    done ? item_tooltip(theme, tr("Done"), text(info).goal) : item_tooltip(theme, text(info).goal);
  }
  ImGui::Separator();
  const float left = ImGui::GetCursorScreenPos().x;
  if (ImGui::Selectable("##symbols", false, 0, {widest, 0})) commands.push(ShowFind{});
  draw_text(ImGui::GetWindowDrawList(), theme.ui, {{left, item_rect().min.y}, item_rect().max}, theme.text,
            tr("Symbols and words"));
  item_tooltip(theme, tr("Symbols and words"), tr("What m, l, α, Br and all other words of the window mean (Ctrl F)"));
  if (lesson.lesson == nullptr) return;
  if (ImGui::Selectable(tr("Close the lesson"))) commands.push(CloseLesson{});
}

}  // namespace tilescope
