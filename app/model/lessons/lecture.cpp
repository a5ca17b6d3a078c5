// Edits the deck and turns its pages.
#include "app/model/lessons/lecture.h"

#include <algorithm>
#include <utility>

namespace tilescope {

const Scene* Lecture::at(int index) const {
  return index >= 0 && index < count() ? &deck_.scenes[static_cast<std::size_t>(index)] : nullptr;
}

void Lecture::take(Deck deck, std::string path) {
  deck_ = std::move(deck);
  path_ = std::move(path);
  changed_ = false;
  go(-1);
}

void Lecture::saved(std::string path) {
  path_ = std::move(path);
  changed_ = false;
}

void Lecture::bookmark(Scene scene) {
  if (deck_.scenes.size() >= most_scenes) return;
  const int place = std::clamp(scene_ + 1, 0, count());
  deck_.scenes.insert(deck_.scenes.begin() + place, std::move(scene));
  changed_ = true;
  go(place);
}

void Lecture::rename(std::string title) {
  if (deck_.title == title) return;
  deck_.title = std::move(title);
  changed_ = true;
}

void Lecture::edit(int index, Scene scene) {
  if (at(index) == nullptr || *at(index) == scene) return;
  deck_.scenes[static_cast<std::size_t>(index)] = std::move(scene);
  changed_ = true;
}

void Lecture::move(int index, int to) {
  if (at(index) == nullptr || at(to) == nullptr || index == to) return;
  const auto from = deck_.scenes.begin() + index, place = deck_.scenes.begin() + to;
  index < to ? std::rotate(from, from + 1, place + 1) : std::rotate(place, from, from + 1);
  if (scene_ == index)
    scene_ = to;
  else if (index < scene_ && scene_ <= to)
    --scene_;
  else if (to <= scene_ && scene_ < index)
    ++scene_;
  changed_ = true;
}

void Lecture::remove(int index) {
  if (at(index) == nullptr) return;
  deck_.scenes.erase(deck_.scenes.begin() + index);
  if (scene_ > index || scene_ >= count()) --scene_;
  changed_ = true;
}

Lecture::Turn Lecture::turn(int direction, std::int64_t step) const {
  if (const Scene* scene = shown(); scene != nullptr && scene->steps)
    if (direction > 0 ? step < scene->steps->last : step > scene->steps->first) return Turn::step;
  return at(scene_ + direction) != nullptr ? Turn::scene : Turn::none;
}

WindowState Lecture::state_of(int index, bool from_behind) const {
  const Scene& scene = deck_.scenes[static_cast<std::size_t>(index)];
  WindowState state = scene.state;
  if (scene.steps && !state.race) {
    const auto* step = std::get_if<WindowState::Step>(&state.position);
    const bool within = step != nullptr && step->number >= scene.steps->first && step->number <= scene.steps->last;
    if (from_behind || !within) state.position = WindowState::Step{from_behind ? scene.steps->last : scene.steps->first};
  }
  return state;
}

void Lecture::go(int index) {
  scene_ = index;
  stop_asking();
}

void Lecture::stop_asking() {
  asking = answered = false;
  counts = {};
}

ClassQuestion question_of(const Scene* scene) {
  ClassQuestion question;
  if (scene != nullptr && scene->question) question = *scene->question;
  if (question.choices.empty()) question.choices = {"A", "B", "C", "D"};
  return question;
}

}  // namespace tilescope
