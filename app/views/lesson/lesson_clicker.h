// The clicker in a presented lesson: Page Down and Page Up show all of a text, then turn the page, then go to the next lesson.
#pragma once

#include <optional>
#include <string>

#include "app/model/lessons/lesson_list.h"
#include "app/views/view.h"

namespace tilescope {

/// Where the text of the page stands, kept between frames.
struct LessonPlace {
  std::string ended;            // the lesson whose end is shown, by its id
  float scroll = 0, most = 0;   // of the text
  float seen = 0;               // height of the part that is on screen, below what is pinned over it
  int frame = -1;               // that drew it last
  std::optional<float> wanted;  // scroll of the next frame
  bool from_behind = false;     // the page was turned to from the one after it, and stands at its end
  /// What the size of presented text is chosen for.
  struct Sized {
    const Lesson* lesson = nullptr;
    std::size_t page = 0;
    const PageFigures* figures = nullptr;
    bool locked = false;
    float width = 0, height = 0;  // of the window
    bool operator==(const Sized&) const = default;
  };
  Sized sized;
  ReadingSize size = ReadingSize::reading;  // of the text, presented
  float followed = -1;                      // the scroll that last brought the answer into view; below 0: none is to be
};
LessonPlace& lesson_place();

/// The lesson before or after the open one; null where there is none.
const LessonInfo* lesson_beside(const LessonView& view, int direction);

/// Does what Page Down (1) or Page Up (-1) means: more of the text, the answer, another page, another lesson.
void click_lesson(const View& view, int direction, Commands& commands);
/// Says what the next Page Down does.
std::string next_click_in_lesson(const View& view);

}  // namespace tilescope
