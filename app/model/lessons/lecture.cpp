// Edits the deck and turns its pages.
#include "app/model/lessons/lecture.h"

#include <algorithm>
#include <utility>

#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_view.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

const Scene* Lecture::at(int index) const {
  return index >= 0 && index < count() ? &deck().scenes[static_cast<std::size_t>(index)] : nullptr;
}

bool Lecture::shows_page(const std::string& lesson, std::size_t page) const {
  const Scene* const scene = shown();
  return scene != nullptr && scene->lesson == ScenePage{lesson, page};
}

bool Lecture::shows(const LessonView& lesson) const {
  return lesson.lesson != nullptr && shows_page(lesson.lesson->id, lesson.page);
}

void Lecture::change_to(Deck deck) {
  now_.deck = std::make_shared<const Deck>(std::move(deck));
}

void Lecture::take(Deck deck, std::string path) {
  set_aside();
  change_to(std::move(deck));
  of_scenes_.assign(this->deck().scenes.size(), {});
  now_.path = std::move(path);
  saved_ = now_.deck;
  go(-1);
}

void Lecture::saved(std::string path) {
  now_.path = std::move(path);
  saved_ = now_.deck;
}

void Lecture::restore(const DeckEdition& edition) {
  if (edition.deck == now_.deck) return;
  set_aside();
  now_ = edition;
  of_scenes_.assign(deck().scenes.size(), {});
  bring_back();
}

void Lecture::bookmark(Scene scene) {
  if (deck().scenes.size() >= most_scenes) return;
  Deck deck = this->deck();
  const int place = std::clamp(now_.scene + 1, 0, count());
  deck.scenes.insert(deck.scenes.begin() + place, std::move(scene));
  of_scenes_.insert(of_scenes_.begin() + place, page_ ? Hands{counts, written_} : Hands{});  // a page becomes a scene
  change_to(std::move(deck));
  go(place);
}

void Lecture::rename(std::string title) {
  if (deck().title == title) return;
  Deck deck = this->deck();
  deck.title = std::move(title);
  change_to(std::move(deck));
}

void Lecture::edit(int index, Scene scene) {
  if (at(index) == nullptr || *at(index) == scene) return;
  const auto choices_of = [](const Scene& each) { return each.question ? each.question->choices : std::vector<std::string>(); };
  if (choices_of(*at(index)) != choices_of(scene)) {  // hands were raised for other choices
    of_scenes_[static_cast<std::size_t>(index)].counts = {};
    if (index == now_.scene && !page_) counts = {};
  }
  Deck deck = this->deck();
  deck.scenes[static_cast<std::size_t>(index)] = std::move(scene);
  change_to(std::move(deck));
}

void Lecture::move(int index, int to) {
  if (at(index) == nullptr || at(to) == nullptr || index == to) return;
  Deck deck = this->deck();
  const auto move_in = [&](auto& list) {
    const auto from = list.begin() + index, place = list.begin() + to;
    index < to ? std::rotate(from, from + 1, place + 1) : std::rotate(place, from, from + 1);
  };
  move_in(deck.scenes);
  move_in(of_scenes_);
  int& scene = now_.scene;
  if (scene == index)
    scene = to;
  else if (index < scene && scene <= to)
    --scene;
  else if (to <= scene && scene < index)
    ++scene;
  change_to(std::move(deck));
}

void Lecture::remove(int index) {
  if (at(index) == nullptr) return;
  const bool goes_on = page_ || index != now_.scene, asked = asking && goes_on, told = answered && goes_on;
  set_aside();
  Deck deck = this->deck();
  deck.scenes.erase(deck.scenes.begin() + index);
  of_scenes_.erase(of_scenes_.begin() + index);
  change_to(std::move(deck));
  if (now_.scene > index || now_.scene >= count()) --now_.scene;
  bring_back();
  asking = asked;
  answered = told;
}

bool Lecture::holds_answer() const {
  if (!asking || answered) return false;
  const ClassQuestion* const question = shown() != nullptr && shown()->question ? &*shown()->question : written();
  return question != nullptr && question->answer > 0;
}

Lecture::Turn Lecture::turn(int direction, std::int64_t step) const {
  if (const Scene* scene = shown(); scene != nullptr && scene->steps)
    if (direction > 0 ? step < scene->steps->last : step > scene->steps->first) return Turn::step;
  if (direction > 0 && holds_answer()) return Turn::answer;
  return at(now_.scene + direction) != nullptr ? Turn::scene : Turn::none;
}

Status Lecture::check_steps(std::int64_t last) const {
  const Scene* const scene = shown();
  if (scene == nullptr || !scene->steps || scene->steps->last <= last) return Done{};
  const Sentence what =
      phrase("scene {}: steps {} go beyond the run, whose last step is {}", now_.scene + 1, to_string(*scene->steps), last);
  if (path().empty()) return Error{what};
  return refuse("{}, {}", printable(path(), 100), what);
}

WindowState Lecture::state_of(int index, bool from_behind) const {
  const Scene& scene = deck().scenes[static_cast<std::size_t>(index)];
  WindowState state = scene.state;
  if (scene.steps && !state.race) {
    const auto* step = std::get_if<WindowState::Step>(&state.position);
    const bool within = step != nullptr && step->number >= scene.steps->first && step->number <= scene.steps->last;
    if (from_behind || !within) state.position = WindowState::Step{from_behind ? scene.steps->last : scene.steps->first};
  }
  return state;
}

void Lecture::go(int index) {
  set_aside();
  page_.reset();
  now_.scene = index;
  bring_back();
  asking = shown() != nullptr && shown()->raised && (shown()->question || shown()->lesson);
}

void Lecture::go_to_page(const std::string& lesson, std::size_t page) {
  set_aside();
  page_.reset();
  if (!shows_page(lesson, page)) page_.emplace(lesson, page);
  bring_back();
}

void Lecture::leave_lesson() {
  set_aside();
  page_.reset();
  of_pages_.clear();
  bring_back();
}

Lecture::Hands* Lecture::hands() {
  if (page_) return &of_pages_[*page_];
  return shown() != nullptr ? &of_scenes_[static_cast<std::size_t>(now_.scene)] : nullptr;
}

void Lecture::set_aside() {
  if (Hands* const kept = hands()) *kept = {counts, written_};
  asking = answered = false;
  counts = {};
  written_.reset();
}

void Lecture::bring_back() {
  const Hands* const kept = hands();
  if (kept == nullptr) return;
  counts = kept->counts;
  written_ = kept->written;
}

void Lecture::write(std::optional<ClassQuestion> question) {
  const auto choices_of = [](const std::optional<ClassQuestion>& asked) {
    return asked ? asked->choices : std::vector<std::string>();
  };
  if (choices_of(question) != choices_of(written_)) counts = {};
  written_ = std::move(question);
  asking = true;
  answered = false;
}

ClassQuestion plain_question() {
  return {{}, {"A", "B", "C", "D"}, 0};
}

}  // namespace tilescope
