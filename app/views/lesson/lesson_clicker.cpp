// Nothing of a page stays hidden: it is turned once the end of its text was on screen, and the end of each of its pictures.
#include "app/views/lesson/lesson_clicker.h"

#include <algorithm>

#include <imgui.h>

#include "app/model/lessons/lecture.h"
#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/lesson_player.h"
#include "app/ui/panel_state.h"
#include "app/ui/say.h"

namespace tilescope {

namespace {

/// Of the part on screen; the rest of it stays, so that a reader finds the line.
constexpr float scrolled_part = 0.8F;

/// Whether a maximised panel or another view leaves no text to scroll.
bool is_drawn(const LessonPlace& place) {
  return place.frame >= ImGui::GetFrameCount() - 1;
}

bool has_more(const LessonPlace& place, int direction) {
  if (!is_drawn(place)) return false;
  return direction > 0 ? place.scroll + place.blank < place.most : place.scroll > 1;
}

/// The first panel beside the text with more below what it shows, or the last with more above; null where none has.
PicturePlace* picture_with_more(int direction) {
  std::vector<PicturePlace>& panels = picture_places().panels;
  const auto more = [&](const PicturePlace& place) {
    if (place.frame < ImGui::GetFrameCount() - 1) return false;
    return direction > 0 ? place.scroll + 1 < place.most : place.scroll > 1;
  };
  if (direction > 0) {
    const auto found = std::ranges::find_if(panels, more);
    return found != panels.end() ? &*found : nullptr;
  }
  const auto found = std::find_if(panels.rbegin(), panels.rend(), more);
  return found != panels.rend() ? &*found : nullptr;
}

/// The scroll after one press.
float scrolled(float scroll, float seen, float most, int direction) {
  return std::clamp(scroll + static_cast<float>(direction) * scrolled_part * seen, 0.0F, most);
}

bool shows_end(const LessonPlace& place, const LessonView& lesson) {
  return place.ended == lesson.lesson->id;
}

bool is_last_page(const LessonView& lesson) {
  return lesson.page + 1 == lesson.lesson->pages.size();
}

bool covers_answer(const View& view) {
  return view.lecture->asking && view.lesson.answer != nullptr;
}

}  // namespace

void turn_page(const View& view, int direction, Commands& commands) {
  if (view.lecture->shows(view.lesson)) return commands.push(TurnPage{direction});
  commands.push(TurnLessonPage{direction});
}

bool shows_lesson_text() {
  return is_drawn(lesson_place());
}

LessonPlace& lesson_place() {
  return panel_state<LessonPlace>("lesson place");
}

PicturePlaces& picture_places() {
  return panel_state<PicturePlaces>("picture places");
}

PicturePlace& PicturePlaces::of(const LessonView& view, std::string_view panel) {
  const bool turned = lesson != view.lesson || page != view.page;
  lesson = view.lesson;
  page = view.page;
  if (turned) panels.clear();
  const auto known = std::ranges::find(panels, panel, &PicturePlace::panel);
  if (known != panels.end()) return *known;
  PicturePlace& place = panels.emplace_back();
  place.panel = panel;
  place.wanted = 0;
  return place;
}

const LessonInfo* lesson_beside(const LessonView& view, int direction) {
  if (view.list == nullptr) return nullptr;
  const auto& all = view.list->lessons;
  const auto now = std::find_if(all.begin(), all.end(), [&](const LessonInfo& info) { return info.id == view.lesson->id; });
  if (now == all.end()) return nullptr;
  const auto wanted = now - all.begin() + direction;
  return wanted < 0 || wanted >= static_cast<std::ptrdiff_t>(all.size()) ? nullptr : &all[static_cast<std::size_t>(wanted)];
}

void click_lesson(const View& view, int direction, Commands& commands) {
  LessonPlace& place = lesson_place();
  const LessonView& lesson = view.lesson;
  const bool is_scene = view.lecture->shows(lesson);
  place.from_behind = false;
  // The question to the class covers the end of the text, where the answer stands.
  if (covers_answer(view) && direction > 0) return commands.push(AskClass{false});
  // Text, then pictures; back, the other way round.
  const bool text_has_more = has_more(place, direction) && !view.lecture->asking;
  PicturePlace* const picture = direction > 0 && text_has_more ? nullptr : picture_with_more(direction);
  if (picture != nullptr) {
    picture->wanted = scrolled(picture->scroll, picture->seen, picture->most, direction);
    return;
  }
  if (text_has_more) {
    place.wanted = scrolled(place.scroll, place.seen, place.most, direction);
    place.followed = -1;
    return;
  }
  if (direction > 0) {
    if (lesson.locked) {
      LessonAnswer none;
      none.given = false;
      return commands.push(AnswerLesson{std::make_shared<const LessonAnswer>(none)});
    }
    if (is_scene || !is_last_page(lesson)) return turn_page(view, 1, commands);
    if (!shows_end(place, lesson)) {
      place.ended = lesson.lesson->id;
      return;
    }
    if (const LessonInfo* after = lesson_beside(lesson, 1)) commands.push(OpenLesson{after->id, 0});
    return;
  }
  if (shows_end(place, lesson)) {
    place.ended.clear();
    place.from_behind = true;
  } else if (is_scene || lesson.page > 0) {
    place.from_behind = !is_scene;
    turn_page(view, -1, commands);
  } else if (const LessonInfo* before = lesson_beside(lesson, -1)) {
    place.from_behind = true;
    commands.push(OpenLesson{before->id, last_lesson_page});
  }
}

std::string next_click_in_lesson(const View& view) {
  const LessonPlace& place = lesson_place();
  const LessonView& lesson = view.lesson;
  if (covers_answer(view)) return tr("Page Down: back to the text");
  if (has_more(place, 1) && !view.lecture->asking) return tr("Page Down: more of this page ▾");
  if (picture_with_more(1) != nullptr) return tr("Page Down: more of the picture ▾");
  if (lesson.locked) return tr("Page Down: the answer");
  if (view.lecture->shows(lesson))
    return view.lecture->next() != nullptr ? tr("Page Down: the next scene") : tr("This is the last scene.");
  if (!is_last_page(lesson)) return tr("Page Down: the next page");
  if (!shows_end(place, lesson)) return tr("Page Down: the end of the lesson");
  const LessonInfo* after = lesson_beside(lesson, 1);
  return after != nullptr ? say(tr("Page Down: lesson {}"), after->number) : std::string(tr("This is the last lesson."));
}

}  // namespace tilescope
