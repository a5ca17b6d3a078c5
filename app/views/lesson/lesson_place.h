// LessonPlace: where the text of a lesson's page stands in its panel.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "app/views/view.h"

namespace tilescope {

/// Kept between frames.
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

}  // namespace tilescope
