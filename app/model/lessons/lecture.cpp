// Edits the deck and turns its pages.
#include "app/model/lessons/lecture.h"

#include <algorithm>
#include <utility>

namespace tilescope {

const Scene* Lecture::at(int index) const {
  return index >= 0 && index < count() ? &deck().scenes[static_cast<std::size_t>(index)] : nullptr;
}

bool Lecture::shows_page(const std::string& lesson, std::size_t page) const {
  const Scene* const scene = shown();
  return scene != nullptr && scene->lesson == ScenePage{lesson, page};
}

void Lecture::change_to(Deck deck) {
  now_.deck = std::make_shared<const Deck>(std::move(deck));
}

void Lecture::take(Deck deck, std::string path) {
  change_to(std::move(deck));
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
  now_ = edition;
  stop_asking();
}

void Lecture::bookmark(Scene scene) {
  if (deck().scenes.size() >= most_scenes) return;
  Deck deck = this->deck();
  const int place = std::clamp(now_.scene + 1, 0, count());
  deck.scenes.insert(deck.scenes.begin() + place, std::move(scene));
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
  Deck deck = this->deck();
  deck.scenes[static_cast<std::size_t>(index)] = std::move(scene);
  change_to(std::move(deck));
}

void Lecture::move(int index, int to) {
  if (at(index) == nullptr || at(to) == nullptr || index == to) return;
  Deck deck = this->deck();
  const auto from = deck.scenes.begin() + index, place = deck.scenes.begin() + to;
  index < to ? std::rotate(from, from + 1, place + 1) : std::rotate(place, from, from + 1);
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
  Deck deck = this->deck();
  deck.scenes.erase(deck.scenes.begin() + index);
  change_to(std::move(deck));
  if (now_.scene > index || now_.scene >= count()) --now_.scene;
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
  now_.scene = index;
  stop_asking();
}

void Lecture::stop_asking() {
  asking = answered = false;
  counts = {};
  written_.reset();
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
