// Fuzzes the reader of lessons: Markdown, blocks, links and expressions.
#include <string_view>

#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_expression.h"
#include "app/model/lessons/lesson_parser.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilescope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto lesson = parse_lesson(text, "fuzz", "fuzz.md");
  if (!lesson) {
    fuzz_check_sentence(lesson.error().sentence.text());
    return 0;
  }
  fuzz_check(!(*lesson)->pages.empty(), "a lesson has a page");
  for (std::size_t i = 0; i < (*lesson)->pages.size(); ++i) {
    const LessonPage& page = (*lesson)->pages[i];
    fuzz_check((*lesson)->scene_of(i).line > 0, "a page has a scene");
    fuzz_check(page.ask.has_value() == page.reveal.has_value(), "a question has a reveal");
    if (page.ask)
      for (const LessonWrong& wrong : page.ask->wrong) {
        fuzz_check(wrong.option < static_cast<int>(page.ask->options.size()), "a reason belongs to an option that is there");
        fuzz_check(&wrong == &page.ask->wrong.back() || !wrong.takes_all(), "the reason for all other answers is the last");
      }
    for (const FigureText* figure : figures_of(page.prose))
      fuzz_check(static_cast<bool>(names_in(figure->expression)), "an expression that was taken can be read");
  }
  return 0;
}
