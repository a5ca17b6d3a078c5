// Heights of a page, added up as draw_lesson_panel() adds its items.
#include "app/views/lesson/presented_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_runs.h"
#include "app/views/lesson/prose_text.h"
#include "app/views/lesson/question.h"

namespace tilescope {

namespace {

float page_height(const View& view, float width) {
  const Theme& theme = *view.theme;
  const LessonPage& page = view.lesson.lesson->pages[view.lesson.page];
  const ExpressionValues* values = view.lesson.figures != nullptr ? &view.lesson.figures->shown : nullptr;
  const float between = std::round(5 * theme.scale), gap = std::round(4 * theme.scale) + between,
              pad = std::round(10 * theme.scale);
  float height = 2 * std::round(4 * theme.scale);
  if (!page.prose.empty()) height += prose_height(theme, page.prose, values, width) + between + gap;
  if (page.ask) height += pad + question_height(view, width - 2 * pad) + pad + 1 + between + gap;
  return height;
}

/// Its question with the answer, which a class sees at once after the text has scrolled away; 0 without a question.
float answer_height(const View& view, float width) {
  const Theme& theme = *view.theme;
  const LessonPage& page = view.lesson.lesson->pages[view.lesson.page];
  if (!page.ask) return 0;
  const ExpressionValues* values = view.lesson.figures != nullptr ? &view.lesson.figures->revealed : nullptr;
  const float pad = std::round(10 * theme.scale);
  return question_height(view, width - 2 * pad) + prose_height(theme, page.reveal->say, values, width - 2 * pad) + 4 * pad;
}

/// What stands above and below the page.
float around_page(const View& view, float width) {
  const Theme& theme = *view.theme;
  const float between = std::round(5 * theme.scale);
  const float head = std::round(22 * theme.scale) + std::max(3.0F, std::round(4 * theme.scale)) + std::round(2 * theme.scale) +
                     wrapped_height(theme.heading, view.lesson.lesson->pages[view.lesson.page].title, width) + 4 * between;
  const float way = std::round(26 * theme.scale) + std::round(10 * theme.scale) + std::round(theme.ui_small->FontSize * 1.3F);
  return head + way;
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
      const float text = inside - 2 * std::round(2 * used.scale);
      // Larger words break lines where the estimate does not: a line is spare.
      const float spare = size != ReadingSize::usual ? std::round(1.3F * used.ui->FontSize) : 0;
      const bool answer_fits = size != ReadingSize::lecture || waits || answer_height(shown, text) <= room;
      if (answer_fits && page_height(shown, text) + spare <= room) return last;
    }
  }
  return last;
}

}  // namespace

PresentedText presented_text(const View& view, const Theme& theme, float width, float height, float chosen,
                             std::optional<ReadingSize> kept) {
  constexpr std::array all = {ReadingSize::lecture, ReadingSize::reading, ReadingSize::usual};
  // Text of the default size in this window fits as text of the chosen size does in one that is larger by as much.
  const ReadingSize size = kept ? *kept : fitting(view, theme, width * chosen, height * chosen, all).size;
  return fitting(view, theme, width, height, std::array{size});
}

}  // namespace tilescope
