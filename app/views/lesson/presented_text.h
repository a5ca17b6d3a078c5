// presented_text(): how a page of a presented lesson is set, so that the class sees its question with all answers at once.
#pragma once

#include <optional>

#include "app/ui/layout.h"
#include "app/views/view.h"

namespace tilescope {

/// The column's part of the window's width, and how large its text is.
struct PresentedText {
  float share = usual_lesson_share;
  ReadingSize size = ReadingSize::reading;
};

/// Returns the largest text in the narrowest column that shows the page whole until it is answered. The very largest also leaves
/// room for the whole answer, so that the text does not change its size when it comes; not so while the page waits before the first
/// step of a stage. A page that no column shows whole gets the one that hides least. `theme` is that of the panels, `width` and
/// `height` are those of the window. `chosen` is the person's own text size, 1 the default: a larger one makes the text larger, and
/// a page that is then too long scrolls. `kept` is the ReadingSize of a page whose text size alone has changed: fonts are rounded
/// to pixels, so that another size could break lines elsewhere and seem not to fit.
PresentedText presented_text(const View& view, const Theme& theme, float width, float height, float chosen,
                             std::optional<ReadingSize> kept);

}  // namespace tilescope
