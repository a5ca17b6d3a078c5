// The session's commands for a deck: turning pages, keeping scenes, asking the class.
#include <algorithm>
#include <utility>

#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_list.h"
#include "app/model/session/session_state.h"

namespace tilescope {

void Session::State::open_scene(int index, bool from_behind) {
  if (lecture.at(index) == nullptr) return;
  lessons.set_aside(settled_state());
  before_lesson.reset();  // the scene before is a key away
  lecture.go(index);
  timer.start(clock.now());
  if (const auto& page = lecture.shown()->lesson) {
    auto shown = lessons.open(page->lesson, page->page);
    // Like that of any scene, its answer is hidden again.
    if (auto asked_again = lessons.retry(); shown && asked_again != nullptr) shown = std::move(asked_again);
    const LessonView open = lessons.view();
    if (!shown || !open.lesson->pages[open.page].ask) lecture.asking = lecture.shown()->raised && lecture.shown()->question;
    if (shown) return open_state(*shown, true);
    workspace.notify(shown.error());  // its state stands in for it
  }
  WindowState state = lecture.state_of(index, from_behind);
  keep_room(state, workspace);
  open_state(std::make_shared<const WindowState>(std::move(state)), true);
}

void Session::State::say_missing_steps() {
  if (const Status there = lecture.check_steps(playback.last_step()); !there) workspace.notify(there.error());
}

void Session::State::tick_lecture() {
  if (clock.time_of_day) lecture.clock = clock.time_of_day();
  if (!clock.seconds) return;
  if (workspace.present) timer.start(clock.now());
  lecture.seconds = timer.since ? clock.now() - *timer.since : 0;
}

void Session::State::operator()(const SetBlank& command) {
  workspace.blank = command.on;
}

void Session::State::operator()(const OpenDeck& command) {
  if (files.load_text == nullptr) return;
  const Result<std::string> text = files.load_text(command.path);
  if (!text) return workspace.refuse("deck", text.error());
  Result<Deck> deck = parse_deck(*text, command.path, [&](const std::string& lesson) {
    const LessonList none;
    const LessonList* const list = lessons.view().list;
    return named_lesson(list != nullptr ? *list : none, lesson, workspace.language);
  });
  if (!deck) return workspace.refuse("deck", deck.error());
  if (workspace.message && workspace.message->control == "deck") workspace.message.reset();
  lecture.take(std::move(*deck), command.path);
  open_scene(0, false);
}

void Session::State::operator()(const SaveDeck& command) {
  if (files.save_text == nullptr) return;
  if (const Status saved = files.save_text(command.path, format_deck(lecture.deck())); !saved)
    return workspace.refuse("deck", saved.error());
  if (workspace.message && workspace.message->control == "deck") workspace.message.reset();
  lecture.saved(command.path);
  workspace.notify(Notice::deck_saved);
}

void Session::State::operator()(const ShowScenes& command) {
  lecture.listed = command.on;
}

void Session::State::operator()(const ShowPresenter& command) {
  lecture.presenter = command.on;
}

void Session::State::operator()(const RestartTimer&) {
  timer.since = clock.now();
  lecture.seconds = 0;
}

void Session::State::operator()(const BookmarkState&) {
  if (playback.empty()) return;
  Scene scene;
  scene.state = window_state_of(view());
  // The row that the window chose is what is seen: another program version may choose another.
  if (workspace.row_chosen) scene.state.row = workspace.row;
  if (const LessonView open = lessons.view(); open.lesson != nullptr) {
    scene.title = open.lesson->pages[open.page].title;
    scene.lesson = ScenePage{open.lesson->id, open.page};
  }
  lecture.bookmark(std::move(scene));
  workspace.notify(Notice::scene_kept);
}

void Session::State::operator()(const GoToScene& command) {
  open_scene(command.scene, false);
}

void Session::State::operator()(const TurnPage& command) {
  if (workspace.blank) {
    workspace.blank = false;
    return;
  }
  if (playback.empty()) return;
  timer.start(clock.now());
  if (lecture.count() == 0) return (*this)(Step{command.direction, playback.view().grain});
  // A scene that is still on its way is passed over.
  Lecture::Turn turn = opening_state ? Lecture::Turn::scene : lecture.turn(command.direction, playback.chosen().step);
  // The steps of the scene may go on beyond the run.
  const bool at_end = command.direction > 0 && playback.chosen().step >= playback.last_step();
  if (turn == Lecture::Turn::step && at_end)
    turn = lecture.at(lecture.scene() + 1) != nullptr ? Lecture::Turn::scene : Lecture::Turn::none;
  if (turn == Lecture::Turn::none) return;
  if (turn == Lecture::Turn::answer) {
    lecture.answered = true;
    return;
  }
  if (turn == Lecture::Turn::scene) return open_scene(lecture.scene() + command.direction, command.direction < 0);
  (*this)(Step{command.direction, playback.view().grain});
  const StepRange& steps = *lecture.shown()->steps;
  const std::int64_t step = playback.chosen().step, within = std::clamp(step, steps.first, steps.last);
  if (step != within) playback.seek_step(within);
}

void Session::State::operator()(const NameDeck& command) {
  lecture.rename(command.title);
}

void Session::State::operator()(const EditScene& command) {
  if (command.to != nullptr) lecture.edit(command.scene, *command.to);
}

void Session::State::operator()(const MoveScene& command) {
  lecture.move(command.scene, command.to);
}

void Session::State::operator()(const DeleteScene& command) {
  lecture.remove(command.scene);
}

void Session::State::operator()(const AskClass& command) {
  lecture.asking = command.on;
  lecture.answered = command.on && command.answered;
}

void Session::State::operator()(const CountAnswer& command) {
  if (command.choice < 0 || command.choice >= static_cast<int>(most_choices)) return;
  lecture.counts[static_cast<std::size_t>(command.choice)] = std::clamp(command.count, 0, 100000);
}

void Session::State::operator()(const WriteQuestion& command) {
  lecture.write(command.question != nullptr ? std::optional(*command.question) : std::nullopt);
}

}  // namespace tilescope
