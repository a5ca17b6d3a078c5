// docs/lecture.md: its times and titles are those of the lessons, whose times are those of their notes.
#include <algorithm>
#include <cstddef>
#include <map>
#include <regex>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include "app/model/lessons/lesson_list.h"
#include "app/platform/files.h"

using namespace tilescope;

namespace {

std::string lecture_page() {
  const auto text = read_text_file(TILESCOPE_SOURCE_DIR "/docs/lecture.md");
  REQUIRE(text);
  return *text;
}

const LessonInfo& lesson_of(const LessonList& list, int number) {
  const auto found = std::ranges::find(list.lessons, number, &LessonInfo::number);
  REQUIRE(found != list.lessons.end());
  return *found;
}

/// What the notes of a page begin with: "Two minutes."
int minutes_of(const Prose& notes) {
  static const std::map<std::string, int> numbers = {{"One", 1}, {"Two", 2}, {"Three", 3}, {"Four", 4}};
  const std::string text = plain_text(notes);
  const auto found = numbers.find(text.substr(0, text.find(' ')));
  return found != numbers.end() ? found->second : 0;
}

/// What a row of the plan takes: its pages, "1, **3**", and two minutes more for each in bold, which the class discusses.
int minutes_of(const Lesson& lesson, const std::string& pages) {
  static const std::regex page(R"((\*\*)?(\d+))");
  int sum = 0;
  for (std::sregex_iterator found(pages.begin(), pages.end(), page), end; found != end; ++found) {
    const auto number = static_cast<std::size_t>(std::stoi((*found)[2]));
    CAPTURE(number);
    REQUIRE(number >= 1);
    REQUIRE(number <= lesson.pages.size());
    sum += minutes_of(lesson.pages[number - 1].notes.front()) + ((*found)[1].matched ? 2 : 0);
  }
  return sum;
}

}  // namespace

TEST_CASE("lecture plan: the minutes of a lesson are those of its notes") {
  const LessonList list = load_lesson_list();
  for (const LessonInfo& info : list.lessons) {
    CAPTURE(info.id);
    const auto lesson = load_lesson(list, info.id, "en");
    REQUIRE(lesson);
    int sum = 0;
    for (const LessonPage& page : (*lesson)->pages) {
      CAPTURE(page.title);
      REQUIRE_FALSE(page.notes.empty());
      CHECK(minutes_of(page.notes.front()) == (page.ask && page.task ? 3 : 2));
      sum += minutes_of(page.notes.front());
    }
    CHECK(info.text("en").minutes == sum);
    CHECK(info.text("ko").minutes == sum);
  }
}

TEST_CASE("lecture plan: two hours have the first ten lessons by title, each with the minutes of its pages") {
  const LessonList list = load_lesson_list();
  const std::regex row(R"(\| (\d+)–(\d+) \| (?:(\d+) )?([^|]+) \| ([^|]+) \|)");
  std::istringstream lines(lecture_page());
  int end = 0, next = 1;
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (!std::regex_search(line, found, row)) continue;
    CAPTURE(line);
    CHECK(std::stoi(found[1]) == end);
    end = std::stoi(found[2]);
    if (!found[3].matched) continue;
    const LessonInfo& lesson = lesson_of(list, std::stoi(found[3]));
    CHECK(lesson.number == next++);
    CHECK(lesson.text("en").title == found[4]);
    const auto pages = load_lesson(list, lesson.id, "en");
    REQUIRE(pages);
    CHECK(end - std::stoi(found[1]) == minutes_of(**pages, found[5]));
  }
  CHECK(next == 11);
  CHECK(end == 120);
}

TEST_CASE("lecture plan: a shorter plan takes the sum of its lessons") {
  const LessonList list = load_lesson_list();
  const std::regex row(R"(\| (\d+) minutes \| ([\d, ]+) \|)");
  std::istringstream lines(lecture_page());
  int plans = 0;
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (!std::regex_search(line, found, row)) continue;
    CAPTURE(line);
    ++plans;
    int sum = 0;
    std::istringstream numbers(found[2]);
    for (std::string number; std::getline(numbers, number, ',');) sum += lesson_of(list, std::stoi(number)).text("en").minutes;
    CHECK(std::stoi(found[1]) == sum);
  }
  CHECK(plans == 8);
}
