// presented_text(): how a page of a presented lesson is set, so that the class sees its question with all answers at once.
#pragma once

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
/// `height` are those of the window. `plain` is the theme of the default text size, which alone decides the ReadingSize: a person's
/// own, larger one makes all text larger, and a page that is then too long scrolls.
PresentedText presented_text(const View& view, const Theme& theme, const Theme& plain, float width, float height);

}  // namespace tilescope
