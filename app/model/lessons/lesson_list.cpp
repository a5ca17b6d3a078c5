// Finds the lessons among the assets.
#include "app/model/lessons/lesson_list.h"

#include <charconv>
#include <filesystem>
#include <set>
#include <system_error>

#include "app/model/lessons/lesson_parser.h"
#include "app/model/requests/assets.h"
#include "app/model/session/opening.h"
#include "app/platform/asset_files.h"
#include "app/platform/files.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace fs = std::filesystem;

namespace {

int number_of(std::string_view id) {
  int number = 0;
  std::from_chars(id.data(), id.data() + id.size(), number);
  return number;
}

/// Adds the characters beyond ASCII, one string each.
void add_characters(std::string_view text, std::set<std::string>& into) {
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const std::size_t count = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (count > 1) into.emplace(text.substr(i, count));
    i += count;
  }
}

/// "01-why-memory.ko.md" in its pieces; an empty id where the name is another.
std::pair<std::string, std::string> id_and_language(const fs::path& path) {
  const std::string stem = path.stem().native();  // without .md
  const std::size_t dot = stem.rfind('.');
  if (dot == std::string::npos || dot == 0 || dot + 1 == stem.size()) return {};
  return {stem.substr(0, dot), stem.substr(dot + 1)};
}

}  // namespace

const LessonInfo::Text& LessonInfo::text(std::string_view language) const {
  for (const std::string_view wanted : {language, std::string_view("en")})
    if (const auto found = languages.find(wanted); found != languages.end()) return found->second;
  return languages.begin()->second;
}

const LessonInfo* LessonList::find(std::string_view id) const {
  const bool numbered = !id.empty() && id.find_first_not_of("0123456789") == std::string_view::npos;
  for (const LessonInfo& lesson : lessons) {
    const std::size_t dash = lesson.id.find('-');
    if (lesson.id == id || (numbered && lesson.number == number_of(id)) ||
        (dash != std::string::npos && std::string_view(lesson.id).substr(dash + 1) == id))
      return &lesson;
  }
  return nullptr;
}

LessonList load_lesson_list() {
  LessonList list;
  std::map<std::string, std::set<std::string>> characters;
  for (const fs::path& path : find_assets("lessons", ".md")) {
    const auto [id, language] = id_and_language(path);
    if (id.empty()) continue;
    const Result<std::string> text = read_text_file(path, largest_lesson_bytes);
    const Result<LessonHead> head = text ? parse_lesson_head(*text, path.native()) : text.error();
    if (!head) {
      if (list.problem.empty()) list.problem = head.error().sentence;
      continue;
    }
    if (list.lessons.empty() || list.lessons.back().id != id) {
      LessonInfo& lesson = list.lessons.emplace_back();
      lesson.id = id;
      lesson.number = number_of(id);
    }
    list.lessons.back().languages.emplace(
        language, LessonInfo::Text{path.native(), head->title, head->minutes, plain_text(head->goal), head->group});
    add_characters(*text, characters[language]);
  }
  for (const auto& [language, found] : characters)
    for (const std::string& character : found) list.characters[language] += character;
  return list;
}

Result<std::shared_ptr<const Lesson>> load_lesson(const LessonList& list, std::string_view id_or_path, std::string_view language) {
  fs::path path(id_or_path);
  std::string id = id_and_language(path).first;
  if (!id_or_path.ends_with(".md")) {
    const LessonInfo* info = list.find(id_or_path);
    if (info == nullptr) {
      if (list.lessons.empty()) return refuse("no lesson was found: set TILESCOPE_ASSETS to the folder of GPU specs and lessons");
      std::vector<std::string_view> names;
      for (const LessonInfo& lesson : list.lessons) names.push_back(lesson.id);
      return refuse("there is no lesson '{}': {}", printable(id_or_path), name_hint(id_or_path, names));
    }
    path = info->text(language).path;
    id = info->id;
  }
  const Result<std::string> text = read_text_file(path, largest_lesson_bytes);
  if (!text) return text.error();
  return parse_lesson(*text, id.empty() ? path.stem().native() : id, path.native());
}

Result<NamedLesson> named_lesson(const LessonList& list, std::string_view id_or_path, std::string_view language) {
  const auto lesson = load_lesson(list, id_or_path, language);
  if (!lesson) return lesson.error();
  const auto check = [opened = *lesson](std::size_t page) -> Status {
    const LessonScene& scene = opened->scene_of(page);
    const Result<StateRequest> asked = request_of(scene.state, &load_gpu);
    if (asked) return Done{};
    return refuse("{}:{}: {}", printable(opened->origin, 200), scene.line, asked.error().sentence);
  };
  return NamedLesson{id_or_path.ends_with(".md") ? std::string(id_or_path) : (*lesson)->id, (*lesson)->pages.size(), check};
}

std::optional<LessonAt> lesson_at(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  LessonAt at{std::string(text.substr(0, colon)), 0};
  if (at.id.empty()) return std::nullopt;
  if (colon == std::string_view::npos) return at;
  const std::string_view page = text.substr(colon + 1);
  const auto [end, code] = std::from_chars(page.data(), page.data() + page.size(), at.page);
  if (code != std::errc() || end != page.data() + page.size() || at.page == 0) return std::nullopt;
  --at.page;
  return at;
}

}  // namespace tilescope
