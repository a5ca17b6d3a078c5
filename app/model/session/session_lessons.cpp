// Lessons in a running session: a page's scene is a state that opens.
#include <utility>

#include "app/model/lessons/lesson.h"
#include "app/model/session/session_state.h"
#include "sim/analysis/outcome.h"

namespace tilescope {

void Session::State::show_scene(std::shared_ptr<const WindowState> scene) {
  if (scene != nullptr) (*this)(OpenState{std::move(scene)});
}

/// What the window shows; null while nothing is, or while another state is on its way.
std::shared_ptr<WindowState> Session::State::settled_state() const {
  return !playback.empty() && !opening_state ? std::make_shared<WindowState>(window_state_of(view())) : nullptr;
}

/// What is asked is the question of the page that has just opened.
void Session::State::ask_of_page() {
  const LessonView open = lessons.view();
  if (open.lesson != nullptr) lecture.go_to_page(open.lesson->id, open.page);
}

void Session::State::operator()(const OpenLesson& command) {
  const bool first = lessons.view().lesson == nullptr;
  std::shared_ptr<WindowState> settled = settled_state();
  auto scene = lessons.open(command.id, command.page, settled);
  if (!scene) return workspace.notify(scene.error());
  // From lesson to lesson it stays what it was.
  if (first) before_lesson = std::move(settled);
  if (first) timer.since = clock.now();  // lessons have a time of their own, all of them together
  ask_of_page();
  show_scene(std::move(*scene));
}

void Session::State::operator()(const TurnLessonPage& command) {
  auto scene = lessons.turn_page(command.direction, settled_state());
  if (scene != nullptr) ask_of_page();
  show_scene(std::move(scene));
}

void Session::State::operator()(const AnswerLesson& command) {
  if (command.answer != nullptr) show_scene(lessons.answer(*command.answer));
}

void Session::State::operator()(const RetryLesson&) {
  show_scene(lessons.retry());
}

void Session::State::operator()(const CloseLesson&) {
  if (lessons.view().lesson == nullptr) return;
  lessons.close();
  lecture.leave_lesson();
  timer.since.reset();  // the lesson's time is over
  const auto before = std::exchange(before_lesson, nullptr);
  // Opened on a lesson, the window has nothing to return to; still, no task's GPU stays by accident.
  if (before == nullptr) {
    if (!same_numbers(requested.request.gpu, requested.gpu_base)) (*this)(ResetSpecValue{});
    return;
  }
  auto state = std::make_shared<WindowState>(*before);
  keep_room(*state, workspace);
  show_scene(std::move(state));
}

void Session::State::operator()(const DeclineLessons&) {
  lessons.decline_offer();
}

}  // namespace tilescope
