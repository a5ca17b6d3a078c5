// Puts links together, key by key.
#include "app/model/lessons/lesson.h"

#include <algorithm>
#include <functional>
#include <set>

namespace tilescope {

std::string_view to_string(DrawnWay way) {
  return drawn_way_names[static_cast<std::size_t>(way)];
}

std::string_view to_string(QuestionKind kind) {
  return question_kind_names[static_cast<std::size_t>(kind)];
}

const LessonScene& Lesson::scene_of(std::size_t page) const {
  while (page > 0 && !pages[page].scene) --page;
  return *pages[page].scene;
}

namespace {

std::string_view key_of(std::string_view pair) {
  return pair.substr(0, pair.find('='));
}

}  // namespace

std::string changed_link(std::string_view link, std::string_view changes) {
  std::set<std::string_view, std::less<>> changed;
  for (std::string_view rest = changes; !rest.empty();) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    changed.insert(key_of(pair));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
  }
  // Where one stands is one of two keys.
  if (changed.contains("step")) changed.insert("cycle");
  if (changed.contains("cycle")) changed.insert("step");
  std::string out;
  while (!link.empty()) {
    const std::string_view pair = link.substr(0, link.find('&'));
    link.remove_prefix(std::min(link.size(), pair.size() + 1));
    if (changed.contains(key_of(pair))) continue;
    if (!out.empty()) out += '&';
    out += pair;
  }
  while (!changes.empty()) {
    const std::string_view pair = changes.substr(0, changes.find('&'));
    changes.remove_prefix(std::min(changes.size(), pair.size() + 1));
    if (pair.ends_with('=')) continue;
    if (!out.empty()) out += '&';
    out += pair;
  }
  return out;
}

}  // namespace tilescope
