// LessonKeys: the lesson by keyboard alone. Tab goes from item to item, Enter does what the item does.
#pragma once

#include <vector>

#include <imgui.h>

#include "app/ui/theme.h"
#include "app/ui/widgets.h"

namespace tilescope {

/// Where the keyboard is in the panel, kept between frames.
struct LessonFocus {
  int item = 0;        // of the items of the last frame
  int count = 0;       // items of the last frame
  bool moved = true;   // since the last frame: bring the item into view
  bool stays = false;  // but the text stays where it is: a class reads it from its beginning
  bool shown = false;  // the ring: once a key was used
};

/// True while Space does what Enter does: a question waits, and a key has chosen an item of the lesson.
bool lesson_takes_space();

/// One frame's items, in the order of Tab. Each is asked for once.
class LessonKeys {
 public:
  /// `active`: no menu or other field has the keyboard. `asks`: a question waits, so that Space has no run to play.
  LessonKeys(LessonFocus& focus, const Theme& theme, bool active, bool asks);
  ~LessonKeys();
  LessonKeys(const LessonKeys&) = delete;
  LessonKeys& operator=(const LessonKeys&) = delete;

  /// Declares the next item and draws its ring around `rect`. True while it has the keyboard.
  bool item(const Rect& rect);
  /// Enter was pressed on the item declared last, or Space while it belongs to the lesson.
  bool entered() const { return here_ && enter_; }
  /// The arrows and other keys belong to the item declared last.
  bool here() const { return here_; }
  bool pressed(ImGuiKey key) const { return here_ && active_ && ImGui::IsKeyPressed(key, true); }
  /// The number of the item declared last.
  int last() const { return next_ - 1; }
  /// Moves the keyboard to an item of this frame.
  void go(int item);
  /// Keeps Up and Down for the item declared last.
  void take_arrows() { arrows_taken_ = arrows_taken_ || here_; }
  bool just_moved() const { return moved_; }

 private:
  LessonFocus& focus_;
  const Theme& theme_;
  int current_;  // of this frame: go() is for the next one
  bool active_, enter_ = false, here_ = false, arrows_taken_ = false, moved_ = false, stays_ = false;
  int next_ = 0;
};

}  // namespace tilescope
