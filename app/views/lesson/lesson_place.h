// LessonPlace and PicturePlaces: where the text of a lesson's page stands in its panel, and where the panels that it looks at
// stand.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/views/view.h"

namespace tilescope {

/// Kept between frames.
struct LessonPlace {
  std::string ended;            // the lesson whose end is shown, by its id
  float scroll = 0, most = 0;   // of the text
  float blank = 0;              // below its last line
  float pinned = 0;             // height of what is pinned over it
  float seen = 0;               // height of the part that is on screen, below what is pinned or may be after the next scroll
  int frame = -1;               // that drew it last
  std::optional<float> wanted;  // scroll of the next frame
  bool from_behind = false;     // the page was turned to from the one after it, and stands at its end
  ReadingSize size = ReadingSize::reading;  // of the text, presented
  float followed = -1;                      // the scroll that last brought the answer into view; below 0: none is to be
};
LessonPlace& lesson_place();

/// Where a panel stands that a presented page looks at: it may have more than its room shows.
struct PicturePlace {
  std::string panel;
  float scroll = 0, most = 0;   // of the panel
  float seen = 0;               // height of the part that is on screen
  int frame = -1;               // that drew it last
  std::optional<float> wanted;  // scroll of the next frame
};

/// Kept between frames. Another page begins at the top of its panels.
struct PicturePlaces {
  const Lesson* lesson = nullptr;
  std::size_t page = 0;
  std::vector<PicturePlace> panels;

  PicturePlace& of(const LessonView& view, std::string_view panel);
};
PicturePlaces& picture_places();

}  // namespace tilescope
