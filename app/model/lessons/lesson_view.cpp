// Finds the option that stands for a tensor.
#include "app/model/lessons/lesson_view.h"

#include <algorithm>

#include "app/model/lessons/lesson.h"

namespace tilescope {

int option_pointed_at(const LessonView& view, Tensor tensor) {
  if (!view.locked || view.lesson->pages[view.page].ask->kind != QuestionKind::point) return -1;
  const auto& options = view.lesson->pages[view.page].ask->options;
  const auto found =
      std::find_if(options.begin(), options.end(), [&](const Prose& option) { return plain_text(option) == to_string(tensor); });
  return found == options.end() ? -1 : static_cast<int>(found - options.begin());
}

}  // namespace tilescope
