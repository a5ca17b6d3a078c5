// `tilescope lesson list` and `lesson check`.
#include "app/cli/lesson.h"

#include <vector>

#include <fmt/format.h>

#include "app/cli/output.h"
#include "app/cli/progress.h"
#include "app/cli/text_table.h"
#include "app/model/lessons/lesson_check.h"
#include "app/model/lessons/lesson_parser.h"
#include "app/model/measurements/measurements.h"
#include "app/model/requests/assets.h"
#include "app/platform/files.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

Result<LessonList> list_with_lessons() {
  LessonList list = load_lesson_list();
  if (!list.problem.empty()) return Error{list.problem};
  if (list.lessons.empty()) return Error{"no lesson was found: set TILESCOPE_ASSETS to the folder of GPU specs and lessons"};
  return list;
}

/// A file of one language alone.
std::vector<std::string> check_file(const std::string& path, const LessonList& list, const Measurements& measured) {
  const auto lesson = load_lesson(list, path, "en");
  if (!lesson) return {lesson.error().sentence};
  std::vector<std::string> found = check_digits(**lesson);
  StateRuns runs(&load_gpu);
  const std::vector<std::string> pages = check_pages(**lesson, runs, measured);
  found.insert(found.end(), pages.begin(), pages.end());
  return found;
}

}  // namespace

Status run_lesson_list(const CommandLine& line, std::FILE* out) {
  const Result<LessonList> list = list_with_lessons();
  if (!list) return list.error();
  TextTable table("rllrl");
  table.row({"", "lesson", "title", "minutes", "languages"});
  for (const LessonInfo& lesson : list->lessons) {
    std::string languages;
    for (const auto& [id, text] : lesson.languages) languages += (languages.empty() ? "" : ", ") + id;
    const LessonInfo::Text& text = lesson.text(line.language.value_or("en"));
    table.row({fmt::format("{}", lesson.number), lesson.id, printable(text.title, 80), fmt::format("{}", text.minutes), languages});
  }
  return print(out, table.text(""));
}

Result<int> run_lesson_check(const CommandLine& line, std::FILE* out, std::FILE* err) {
  const Measurements measured = load_measurements();
  if (line.lesson.ends_with(".md")) {
    if (const auto text = read_text_file(line.lesson, largest_lesson_bytes); !text) return text.error();
    const std::vector<std::string> found = check_file(line.lesson, {}, measured);
    std::string text;
    for (const std::string& each : found) text += each + '\n';
    if (found.empty()) text = fmt::format("{} holds\n", printable(line.lesson, 200));
    if (const Status printed = print(out, text); !printed) return printed.error();
    return found.empty() ? exit_done : exit_did_not_hold;
  }
  const Result<LessonList> list = list_with_lessons();
  if (!list) return list.error();
  std::vector<LessonInfo> lessons = list->lessons;
  if (!line.lesson.empty()) {
    const LessonInfo* one = list->find(line.lesson);
    if (one == nullptr) return load_lesson(*list, line.lesson, "en").error();
    lessons = {*one};
  }
  ProgressPrinter progress(err, line.quiet);
  std::string text;
  std::size_t failed = 0;
  for (std::size_t i = 0; i < lessons.size(); ++i) {
    progress.show(fmt::format("lesson check: {}, {} of {}", lessons[i].id, i + 1, lessons.size()));
    const std::vector<std::string> found = check_lesson(*list, lessons[i], &load_gpu, measured);
    for (const std::string& each : found) text += each + '\n';
    if (!found.empty()) ++failed;
  }
  progress.end();
  text += failed == 0 ? fmt::format("{} {}\n", lessons.size(), lessons.size() == 1 ? "lesson holds" : "lessons hold")
                      : fmt::format("{} of {} lessons do not hold\n", failed, lessons.size());
  if (const Status printed = print(out, text); !printed) return printed.error();
  return failed == 0 ? exit_done : exit_did_not_hold;
}

}  // namespace tilescope
