// LessonList: the lessons that come with the program, by number, in each language.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_parser.h"
#include "app/model/state/deck.h"

namespace tilescope {

struct LessonInfo {
  struct Text {
    std::string path, title;
    int minutes = 0;
    std::string goal, group;  // group: empty where it is that of the lesson before
  };
  std::string id;                                      // "01-why-memory"
  int number = 0;                                      // 1
  std::map<std::string, Text, std::less<>> languages;  // by id: "en"

  /// In a language, else in English, else in the first there is.
  const Text& text(std::string_view language) const;
};

struct LessonList {
  std::vector<LessonInfo> lessons;  // by id
  std::string problem;              // the first file that could not be read, as a sentence; empty if none
  std::map<std::string, std::string, std::less<>> characters;  // by language: every character beyond ASCII, for the fonts

  const LessonInfo* find(std::string_view id) const;
};

/// Reads the heads of assets/lessons/*.md.
LessonList load_lesson_list();

/// Loads a lesson by id ("01-why-memory"), number ("1") or path (ends in .md), in a language where it has it.
/// Errors  no such lesson (with the nearest); those of read_text_file() and parse_lesson().
Result<std::shared_ptr<const Lesson>> load_lesson(const LessonList& list, std::string_view id_or_path, std::string_view language);

/// Returns the lesson that a deck's scene names as load_lesson() takes it. One that has a path keeps it as its name.
/// Errors  those of load_lesson()
Result<NamedLesson> named_lesson(const LessonList& list, std::string_view id_or_path, std::string_view language);

/// A lesson, and which of its pages, 0 first.
struct LessonAt {
  std::string id;
  std::size_t page = 0;
};
/// Reads "6" or "6:2", where pages count from 1. nullopt where it is neither.
std::optional<LessonAt> lesson_at(std::string_view text);

}  // namespace tilescope
