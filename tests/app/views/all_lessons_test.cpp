// Every lesson of the program from its first page to its last, once by keyboard without a mouse, once by the two keys of a clicker.
#include <algorithm>
#include <cctype>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <imgui_internal.h>

#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/lesson_list.h"
#include "app/model/lessons/page_figures.h"
#include "app/model/measurements/measurements.h"
#include "app/model/requests/mask_tables.h"
#include "app/ui/language.h"
#include "app/ui/text_record.h"
#include "app/views/lesson/figure_words.h"
#include "app/views/lesson/lesson_clicker.h"
#include "app/views/lesson/lesson_place.h"
#include "tests/app/views/window_script.h"

using namespace tilescope;

namespace {

Session::Start start_with_lessons() {
  Session::Start start = opening_start();
  start.lessons = std::make_shared<const LessonList>(load_lesson_list());
  start.measurements = load_measurements();
  start.load_table = &load_table;
  return start;
}

/// Answers the page's question as a person does who has no mouse.
void answer(WindowScript& script, const LessonQuestion& ask) {
  const auto press = [&](ImGuiKey key, int times = 1) {
    for (int i = 0; i < times; ++i) script.press(key);
  };
  switch (ask.kind) {
    case QuestionKind::choice:
    case QuestionKind::point:
      press(ImGuiKey_Enter, 2);  // the first option, then "Answer", to which the keyboard goes on
      break;
    case QuestionKind::number:
      script.type("1");
      press(ImGuiKey_Enter);
      break;
    case QuestionKind::order:
      press(ImGuiKey_Enter);  // takes the first row,
      press(ImGuiKey_DownArrow);
      press(ImGuiKey_Enter);  // lets it go one place on,
      press(ImGuiKey_DownArrow, static_cast<int>(ask.options.size()) - 1);
      press(ImGuiKey_Enter);  // and answers
      break;
    case QuestionKind::draw:
      press(ImGuiKey_UpArrow);
      for (std::size_t i = 1; i < ask.xs.size(); ++i) press(ImGuiKey_RightArrow);
      press(ImGuiKey_UpArrow);
      press(ImGuiKey_Enter, 2);
      break;
  }
}

/// Whether `text` has `figure` as one of its own: no part of a longer number, and no bare number that has a unit there.
bool says_figure(std::string_view text, std::string_view figure) {
  const auto goes_on = [](char c) {
    return (c >= '0' && c <= '9') || c == '.' || c == '%' || (static_cast<unsigned char>(c) & 0x80U) != 0;
  };
  const bool bare = figure.back() >= '0' && figure.back() <= '9';
  for (std::size_t at = text.find(figure); at != std::string_view::npos; at = text.find(figure, at + 1)) {
    const std::string_view after = text.substr(at + figure.size());
    const bool ends = after.empty() || after.starts_with(". ") || after.starts_with(".\n") || after.starts_with(".\t");
    const bool other = !ends && (goes_on(after.front()) || (bare && after.front() == ' '));
    if ((at == 0 || !goes_on(text[at - 1])) && !other) return true;
  }
  return false;
}

/// The figures that answer the page's question, of at least three digits, since others stand anywhere; without those that the page
/// says itself, the whole of a share, and those that Compare shows of the page's own run.
std::vector<std::string> answering_figures(const LessonView& lesson) {
  const LessonPage& page = lesson.lesson->pages[lesson.page];
  const LessonQuestion& ask = *page.ask;
  const PageFigures& figures = *lesson.figures;
  const bool compares = std::ranges::find(lesson.scene->look, "compare") != lesson.scene->look.end();
  const bool chooses = ask.kind == QuestionKind::choice || ask.kind == QuestionKind::point;
  const int right = chooses ? right_option(ask, figures) : -1;  // the others may be as the page's own run, which is shown
  std::vector<double> values;
  for (std::size_t i = 0; ask.shows_values && i < figures.values.size(); ++i)
    if ((!chooses || static_cast<int>(i) == right) && (!compares || ask.values[i].text.find('.') != std::string::npos))
      values.push_back(figures.values[i]);
  if (ask.kind == QuestionKind::number) values.push_back(figures.answer);
  if (ask.kind == QuestionKind::draw) values.insert(values.end(), figures.curve.begin(), figures.curve.end());
  std::string said = prose_words(page.prose, &figures.shown) + "\n" + prose_words(ask.question, &figures.shown);
  for (const Prose& option : ask.options) said += "\n" + prose_words(option, &figures.shown);
  std::vector<std::string> out;
  for (const double value : values) {
    const std::string words = figure_words(value, ask.unit);
    const auto digits = std::ranges::count_if(words, [](unsigned char c) { return std::isdigit(c) != 0; });
    const bool whole = ask.unit == FigureUnit::percent && value == 1;
    if (digits >= 3 && !whole && said.find(words) == std::string::npos) out.push_back(words);
  }
  return out;
}

/// What the window writes must not have an answer that is still asked for.
void check_hides_answer(const LessonView& lesson, const std::string& written) {
  if (!lesson.locked || lesson.figures == nullptr) return;
  for (const std::string& figure : answering_figures(lesson)) {
    CAPTURE(written);
    CHECK_MESSAGE(!says_figure(written, figure), figure);
  }
}

}  // namespace

TEST_CASE("lessons: all of them are gone through without a mouse, and none shows a figure that it asks for") {
  const auto script = WindowScript::open(start_with_lessons(), 960, 600);
  if (script == nullptr) return;
  const LessonView first = script->view().lesson;
  REQUIRE(first.list != nullptr);
  REQUIRE(first.list->lessons.size() >= 10);
  for (const LessonInfo& info : first.list->lessons) {
    CAPTURE(info.id);
    script->command(OpenLesson{info.id});
    REQUIRE(script->view().lesson.lesson != nullptr);
    const std::size_t pages = script->view().lesson.lesson->pages.size();
    for (std::size_t page = 0; page < pages; ++page) {
      CAPTURE(page);
      REQUIRE(script->view().lesson.page == page);
      REQUIRE(script->view().lesson.problem == nullptr);
      const LessonPage& shown = script->view().lesson.lesson->pages[page];
      if (shown.ask) {
        script->press(ImGuiKey_PageDown);
        REQUIRE(script->view().lesson.page == page);  // held
        {
          const TextRecording recording;
          script->settle();
          check_hides_answer(script->view().lesson, recording.text());
        }
        answer(*script, *shown.ask);
        REQUIRE(script->view().lesson.answer != nullptr);
        CHECK(script->view().lesson.answer->given);
        if (shown.ask->kind == QuestionKind::draw) {
          const TextRecording recording;
          script->settle();
          const std::string text = recording.text();
          CAPTURE(text);
          int verdicts = 0;
          for (const char* verdict : {"Right: every point", "Farthest: ", ". But the curve "})
            verdicts += text.find(verdict) != std::string::npos ? 1 : 0;
          CHECK(verdicts == 1);
        }
      }
      script->press(ImGuiKey_Enter);  // "Next" or "Finish" has the keyboard
    }
    script->press(ImGuiKey_Enter);  // at the end "Next lesson" or "Close"
    if (&info == &first.list->lessons.back()) {
      CHECK(script->view().lesson.lesson == nullptr);
    } else {
      REQUIRE(script->view().lesson.lesson != nullptr);
      CHECK(script->view().lesson.lesson->id == (&info + 1)->id);
      CHECK(script->view().lesson.page == 0);
    }
    CHECK(script->view().lesson.done->contains(info.id));
  }
}

/// The scrolled text of the page that a frame shows.
const ImGuiWindow* page_text(AppFrame& frame) {
  frame.select();
  for (const ImGuiWindow* window : ImGui::GetCurrentContext()->Windows)
    if (window->Active && std::string_view(window->Name).find("/page_") != std::string_view::npos) return window;
  return nullptr;
}

namespace {

/// Another window on the same lecture. Each keeps its fonts: to bake them anew for each page would take most of the test's time.
struct WindowBeside {
  const char* language;
  int width, height;
  float text_size;
  std::unique_ptr<AppFrame> frame;
};

class WindowsBeside {
 public:
  explicit WindowsBeside(WindowScript& script) : script_(script) {
    for (WindowBeside& window : windows_) {
      AppFrame::Options options;
      options.scale = window.text_size;
      options.follows = true;
      Result<std::unique_ptr<AppFrame>> frame = AppFrame::make(script.session(), options);
      REQUIRE(static_cast<bool>(frame));
      window.frame = std::move(*frame);
    }
  }

  /// The page asks, and its question is not answered yet.
  void check_question() {
    float before = 0;
    for (WindowBeside& window : windows_) {
      const std::string where =
          fmt::format("{}, {} x {}, text size {}", window.language, window.width, window.height, window.text_size);
      CAPTURE(where);
      show(window);
      const ImGuiWindow* const page = page_text(*window.frame);
      REQUIRE(page != nullptr);
      const float text = window.frame->theme().scale * reading_scales[static_cast<std::size_t>(lesson_place().size)];
      if (window.text_size == 1)
        CHECK(page->ScrollMax.y <= 1);
      else
        CHECK(text >= before);  // of the same window with smaller text, which is the one before
      before = text;
    }
    choose("en");
  }

 private:
  void choose(const char* language) {
    if (script_.view().workspace->language == language) return;
    script_.session().apply(SetLanguage{language});
    script_.session().finish();
    use_language(*load_language(language));
  }
  void show(WindowBeside& window) {
    choose(window.language);
    int quiet = 0;
    for (int i = 0; i < 200 && quiet < 3; ++i) {
      window.frame->build(window.width, window.height, 0.25);
      quiet = window.frame->wants_frame() ? 0 : quiet + 1;
    }
  }

  WindowScript& script_;
  // In English only with larger text: sizes of text are alike in both languages.
  WindowBeside windows_[6] = {{"en", 1600, 900, 1, nullptr},     {"en", 1280, 720, 1, nullptr}, {"en", 1280, 720, 1.1F, nullptr},
                              {"en", 1280, 720, 1.21F, nullptr}, {"ko", 1280, 720, 1, nullptr}, {"ko", 1600, 900, 1, nullptr}};
};

}  // namespace

TEST_CASE(
    "lessons: a lecture of all of them is given with Page Down alone: all of a text is on screen before it goes on, a question "
    "with its "
    "answers is at two sizes of window, and a larger text size shrinks no text") {
  const auto script = WindowScript::open(start_with_lessons(), 1280, 720);
  if (script == nullptr) return;
  const auto lesson = [&] { return script->view().lesson; };
  script->command(SetPresent{true});
  script->command(OpenLesson{lesson().list->lessons.front().id});
  float seen = 0;  // of the text, from its beginning
  int scrolled = 0, questions = 0;
  WindowsBeside beside(*script);
  constexpr int most_presses = 4000;
  for (int press = 0; press < most_presses; ++press) {
    const std::string id = lesson().lesson->id;
    const std::size_t page = lesson().page;
    const bool locked = lesson().locked;
    CAPTURE(id);
    CAPTURE(page);
    CAPTURE(locked);
    if (locked && seen == 0) {
      beside.check_question();
      ++questions;
    }
    const ImGuiWindow* text = page_text(script->frame());
    REQUIRE(text != nullptr);
    const float from = text->Scroll.y, whole = text->ScrollMax.y + text->Size.y;
    CHECK(from <= seen + 1);
    seen = std::max(seen, from + text->Size.y);
    const std::string told = next_click_in_lesson(script->view());
    script->press(ImGuiKey_PageDown);
    text = page_text(script->frame());
    REQUIRE(text != nullptr);
    const bool same_page = lesson().lesson->id == id && lesson().page == page && lesson().locked == locked;
    const bool moved = same_page && text->Scroll.y > from + 1;
    scrolled += moved ? 1 : 0;
    CHECK((told == "Page Down: more of this page ▾") == moved);
    if (moved) continue;
    CHECK(seen + lesson_place().blank >= whole);
    if (told == "Page Down: more of the picture ▾") {
      CHECK(same_page);
      continue;
    }
    CHECK((told == "Page Down: the answer") == locked);
    if (told == "This is the last lesson.") break;
    if (!locked) seen = 0;  // another page, or the end of the lesson
  }
  CHECK(scrolled > 0);
  CHECK(questions > 40);
  CHECK(lesson().lesson->id == lesson().list->lessons.back().id);
  for (const LessonInfo& info : lesson().list->lessons) CHECK(lesson().done->contains(info.id));

  // And back: the end, the last page from its end, and at last the lesson before.
  const std::size_t pages = lesson().lesson->pages.size();
  std::size_t page = pages - 1;
  for (int press = 0; press < 100 && lesson().lesson->id == lesson().list->lessons.back().id; ++press) {
    script->press(ImGuiKey_PageUp);
    CHECK(lesson().page + 1 >= page);
    page = lesson().page;
  }
  CHECK(lesson().lesson->id == (lesson().list->lessons.end() - 2)->id);
  CHECK(lesson().page + 1 == lesson().lesson->pages.size());
  CHECK(page_text(script->frame())->Scroll.y + 1 >= page_text(script->frame())->ScrollMax.y);
}

TEST_CASE("lessons: a task without a question stands whole on its page before a class, with its fields and what came of a change") {
  const auto script = WindowScript::open(start_with_lessons(), 1920, 1080);
  if (script == nullptr) return;
  script->command(SetPresent{true});
  int tasks = 0;
  for (const char* id : {"14", "15", "16", "17"}) {
    CAPTURE(id);
    script->command(OpenLesson{id});
    REQUIRE(script->view().lesson.lesson != nullptr);
    const std::vector<LessonPage> pages = script->view().lesson.lesson->pages;  // opening a page reads the lesson anew
    for (std::size_t page = 0; page < pages.size(); ++page) {
      if (!pages[page].task || pages[page].ask) continue;
      CAPTURE(page);
      script->command(OpenLesson{id, page});
      script->settle();
      const ImGuiWindow* const text = page_text(script->frame());
      REQUIRE(text != nullptr);
      CHECK(text->ScrollMax.y <= 1);
      ++tasks;
    }
  }
  CHECK(tasks == 4);
}
