// Heights of a page, added up as draw_lesson_panel() adds its items.
#include "app/views/lesson/presented_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_runs.h"
#include "app/views/lesson/page_measures.h"
#include "app/views/lesson/prose_text.h"
#include "app/views/lesson/question.h"
#include "app/views/lesson/task_field.h"

namespace tilescope {

namespace {

/// The box of a task, as draw_task() adds its items.
float task_height(const View& view, const LessonTry& task, float width) {
  const Theme& theme = *view.theme;
  const PageMeasures of(theme);
  const ExpressionValues* values = view.lesson.task != nullptr ? &view.lesson.task->shown : nullptr;
  float height = 2 * of.pad + theme.ui_bold->FontSize + prose_height(theme, task.say, values, width - 2 * of.pad) +
                 theme.ui_small->FontSize + of.verdict_lines * theme.ui->FontSize + 4 * of.between;
  for (const std::string& key : task.free)
    height += theme.ui->FontSize + 2 * theme.scale + of.between +
              static_cast<float>(task_field_lines(view, key)) * (of.button + of.between);
  return height;
}

float page_height(const View& view, float width) {
  const Theme& theme = *view.theme;
  const LessonPage& page = view.lesson.lesson->pages[view.lesson.page];
  const ExpressionValues* values = view.lesson.figures != nullptr ? &view.lesson.figures->shown : nullptr;
  const PageMeasures of(theme);
  const float below = of.between + of.gap + of.between;
  float height = 2 * of.edge;
  if (!page.prose.empty()) height += prose_height(theme, page.prose, values, width) + below;
  if (page.ask) height += of.pad + question_height(view, width - 2 * of.pad) + of.pad + 1 + below;
  // Below a question it comes once there is an answer, and then the page scrolls to it.
  if (page.task && !page.ask) height += task_height(view, *page.task, width);
  return height;
}

/// Its question with the answer, which a class sees at once after the text has scrolled away; 0 without a question.
float answer_height(const View& view, float width) {
  const Theme& theme = *view.theme;
  const LessonPage& page = view.lesson.lesson->pages[view.lesson.page];
  if (!page.ask) return 0;
  const ExpressionValues* values = view.lesson.figures != nullptr ? &view.lesson.figures->revealed : nullptr;
  const PageMeasures of(theme);
  const float inside = width - 2 * of.pad;
  return question_height(view, inside) + prose_height(theme, page.reveal->say, values, inside) + 4 * of.pad;
}

/// What stands above and below the page.
float around_page(const View& view, float width) {
  const Theme& theme = *view.theme;
  const PageMeasures of(theme);
  const float title = wrapped_height(theme.heading, view.lesson.lesson->pages[view.lesson.page].title, width);
  return of.title + of.progress + of.below_progress + title + 4 * of.between + of.way + of.told;
}

/// Whether the page shows the stage of a run that has not begun.
bool opens_before_first_step(const View& view) {
  const LessonScene& scene = view.lesson.lesson->scene_of(view.lesson.page);
  const auto* step = std::get_if<WindowState::Step>(&scene.state.position);
  return step != nullptr && step->number == 0 && std::ranges::find(scene.look, "stage") != scene.look.end();
}

/// What fits: the largest size that does, in the narrowest column; what hides least where none does. `sizes` are tried in turn.
PresentedText fitting(const View& view, const Theme& theme, float width, float height, std::span<const ReadingSize> sizes) {
  constexpr std::array wider = {usual_lesson_share, 0.33F, 0.38F, 0.43F, 0.48F, 0.53F};
  constexpr float widest_beside_run = 0.43F;
  // While a stage waits where nothing has run yet, the question is what there is to look at.
  const bool waits = view.lesson.locked && opens_before_first_step(view);
  PresentedText last;
  for (const ReadingSize size : sizes) {
    const Theme used = reading_theme(theme, size);
    const View shown{view, &used};
    for (const float share : wider) {
      if (share > widest_beside_run && !(waits && size == ReadingSize::lecture)) continue;
      last = {share, size};
      const Rect column = present_lesson_layout(width, height, theme.scale, {.lesson_share = share}).lesson;
      const float inside = column.width() - 2 * theme.padding;
      const float room = column.height() - 2 * theme.padding - around_page(shown, inside);
      const float text = inside - 2 * PageMeasures(used).side;
      // Larger words break lines where the estimate does not: a line is spare.
      const float spare = size != ReadingSize::usual ? std::round(1.3F * used.ui->FontSize) : 0;
      const bool answer_fits = size != ReadingSize::lecture || waits || answer_height(shown, text) <= room;
      if (answer_fits && page_height(shown, text) + spare <= room) return last;
    }
  }
  return last;
}

}  // namespace

PresentedText presented_text(const View& view, const Theme& theme, const Theme& plain, float width, float height) {
  constexpr std::array all = {ReadingSize::lecture, ReadingSize::reading, ReadingSize::usual};
  // Fonts are rounded to pixels: what fits at the default size is measured with the fonts of that size, not with others in a window
  // that is larger by as much.
  const PresentedText usual = fitting(view, plain, width, height, all);
  return plain.scale == theme.scale ? usual : fitting(view, theme, width, height, std::array{usual.size});
}

}  // namespace tilescope
