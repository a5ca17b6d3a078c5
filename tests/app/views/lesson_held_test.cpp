// While a question of a lesson is held, no panel answers it; the presenter's window has the notes.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/lesson_list.h"
#include "app/model/lessons/page_figures.h"
#include "app/model/lessons/typed_quantity.h"
#include "app/model/measurements/measurements.h"
#include "app/model/state/deck.h"
#include "app/ui/language.h"
#include "app/ui/text_record.h"
#include "app/views/compare/result_maps.h"
#include "app/views/lesson/figure_words.h"
#include "app/views/lesson/lesson_menu.h"
#include "app/views/measured_case.h"
#include "sim/analysis/format.h"
#include "sim/analysis/outcome.h"
#include "tests/app/model/lessons/lesson_fixture.h"
#include "tests/app/model/session/opened_session.h"
#include "tests/app/temporary_folder.h"
#include "tests/app/views/panel_screen.h"

using namespace tilescope;

namespace {

Session::Start start_held(const std::string& path) {
  Session::Start start = opening_start();
  start.lessons = list_of_small_lesson(path);
  return start;
}

/// What a panel writes.
std::string text_of(PanelScreen& screen, const Session& session, DrawPanel draw) {
  const View view{session.view(), nullptr};
  screen.frame(view, draw);
  const TextRecording recording;
  screen.frame(view, draw);
  return recording.text();
}

std::int64_t read_by_sms(const Simulation& run) {
  std::int64_t bytes = 0;
  for (const auto& tensor : run.ledger.table()) bytes += tensor[static_cast<std::size_t>(Link::l2_to_sm)];
  return bytes;
}

void show_answer(Opened& opened) {
  LessonAnswer none;
  none.given = false;
  opened.after(AnswerLesson{std::make_shared<const LessonAnswer>(none)});
}

}  // namespace

TEST_CASE("verdict words: a share is off by percentage points, other figures by their own share") {
  CHECK(verdict_words(1, 0.625, false, FigureUnit::percent, 0.2) ==
        "37.5 percentage points too high. Up to 12.5 percentage points counts as right.");
  CHECK(verdict_words(0.6, 0.625, true, FigureUnit::percent, 0.2) ==
        "Right: your answer is 2.5 percentage points below 62.5 %. Up to 12.5 percentage points counts as right.");
  CHECK(verdict_words(0.86, -0.859, false, FigureUnit::number, 0.02) ==
        "It is negative: the sign is wrong. Up to 2 % counts as right.");
  CHECK(verdict_words(-3, 4, false, FigureUnit::number, 0).starts_with("It is not negative: the sign is wrong."));
  CHECK(verdict_words(130, 100, false, FigureUnit::number, 0.1) == "30 % too high. Up to 10 % counts as right.");
  CHECK(verdict_words(100, 100, true, FigureUnit::number, 0.1) == "Exactly right.");
}

TEST_CASE("lesson: beside the field of a ratio stands a word, for a cross there looks like a button that closes") {
  CHECK(std::string(unit_label(FigureUnit::times)) == "times");
  CHECK(typed_quantity(std::string("4 ") + unit_label(FigureUnit::times), FigureUnit::times) == 4);
}

TEST_CASE("lesson: Korean reads a ratio with its own word") {
  CHECK(figure_words(8, FigureUnit::times) == "8.0×");
  const auto korean = load_language("ko");
  REQUIRE(korean);
  use_language(*korean);
  CHECK(figure_words(8, FigureUnit::times) == "8.0배");
  CHECK(std::string(unit_label(FigureUnit::times)) == "배");
  use_language(nullptr);
}

TEST_CASE("lesson: the traffic panel has no figure of the whole run until the question is answered") {
  const TemporaryFolder folder;
  Opened opened(start_held(folder.file("00-small.en.md", small_lesson)));
  PanelScreen screen({700, 420});
  opened.after(OpenLesson{"00-small"});
  REQUIRE(opened.view().lesson.locked);
  const std::string total = format_count(read_by_sms(*opened.view().lane().simulation));
  const std::string held = text_of(screen, opened.session, &draw_traffic_panel);
  CAPTURE(held);
  CHECK(held.find("So far") != std::string::npos);
  CHECK(held.find(total) == std::string::npos);
  CHECK(held.find("after the answer") != std::string::npos);
  show_answer(opened);
  const std::string answered = text_of(screen, opened.session, &draw_traffic_panel);
  CAPTURE(answered);
  CHECK(answered.find(total) != std::string::npos);
  CHECK(answered.find("after the answer") == std::string::npos);
}

TEST_CASE("lesson: the timeline shows nothing after the playhead until the question is answered") {
  const TemporaryFolder folder;
  Opened opened(start_held(folder.file("00-small.en.md", small_lesson)));
  PanelScreen screen({900, 260});
  opened.after(OpenLesson{"00-small"});
  CHECK(text_of(screen, opened.session, &draw_timeline_panel).find("after the answer") != std::string::npos);
  show_answer(opened);
  CHECK(text_of(screen, opened.session, &draw_timeline_panel).find("after the answer") == std::string::npos);
}

TEST_CASE("lesson: a page that looks at Compare names its runs, shows its own, and the figures of the others after the answer") {
  const TemporaryFolder folder;
  std::string text = small_lesson;
  const std::string_view before = "&step=1\"\nlook = [\"stage\", \"traffic\"]";
  text.replace(text.find(before), before.size(), "&step=1&view=compare\"\nlook = [\"compare\"]");
  Opened opened(start_held(folder.file("00-small.en.md", text)));
  PanelScreen screen({900, 500});
  opened.after(OpenLesson{"00-small"});
  REQUIRE(opened.view().lesson.figures != nullptr);
  REQUIRE(opened.view().lesson.figures->runs.size() == 2);
  const Simulation& shown = *opened.view().lesson.figures->runs[0].simulation;
  const Simulation& other = *opened.view().lesson.figures->runs[1].simulation;
  CHECK(other.info->id == "standard");
  const std::string held = text_of(screen, opened.session, &draw_compare_panel);
  CAPTURE(held);
  CHECK(held.find("FlashAttention-2") != std::string::npos);
  CHECK(held.find("Standard attention") != std::string::npos);
  // The question asks how the other run differs from the page's own: that one is the picture before the answer.
  CHECK(held.find(format_time(shown.time)) != std::string::npos);
  // Of the other run the bytes that are asked for wait, and nothing else does.
  CHECK(held.find(format_time(other.time)) != std::string::npos);
  CHECK(std::ranges::count(held, '?') == 1);
  const std::string asked = format_bytes(other.ledger.total(Link::l2_to_sm) + other.ledger.total(Link::sm_to_l2));
  CHECK(held.find(asked) == std::string::npos);
  show_answer(opened);
  CHECK(text_of(screen, opened.session, &draw_compare_panel).find(asked) != std::string::npos);
  const std::string answered = text_of(screen, opened.session, &draw_compare_panel);
  CAPTURE(answered);
  for (const Simulation* run : {&shown, &other}) {
    CHECK(answered.find(format_time(run->time)) != std::string::npos);
    CHECK(answered.find(format_bytes(Bytes(hbm_bytes(*run)))) != std::string::npos);
  }
}

TEST_CASE("lesson: a page that looks at Compare shows before the answer what its text says, and no more") {
  const TemporaryFolder folder;
  std::string text = small_lesson;
  const std::string_view before = "&step=1\"\nlook = [\"stage\", \"traffic\"]", said = "moves {= standard.hbm / hbm : times}";
  text.replace(text.find(before), before.size(), "&step=1&view=compare\"\nlook = [\"compare\"]");
  text.replace(text.find(said), said.size(), "takes {= standard.us : us} and moves {= standard.hbm / hbm : times}");
  Opened opened(start_held(folder.file("00-small.en.md", text)));
  PanelScreen screen({900, 500});
  opened.after(OpenLesson{"00-small"});
  REQUIRE(opened.view().lesson.figures != nullptr);
  const Simulation& shown = *opened.view().lesson.figures->runs[0].simulation;
  const Simulation& other = *opened.view().lesson.figures->runs[1].simulation;
  const std::string held = text_of(screen, opened.session, &draw_compare_panel);
  CAPTURE(held);
  for (const Simulation* run : {&shown, &other}) CHECK(held.find(format_bytes(Bytes(hbm_bytes(*run)))) != std::string::npos);
  CHECK(held.find(format_time(other.time)) != std::string::npos);
  CHECK(held.find('?') != std::string::npos);  // L2↔SM of the other run, which the question asks for
}

TEST_CASE("lesson: a page that looks at Compare and asks for a time shows the bytes before the answer") {
  const TemporaryFolder folder;
  std::string text = small_lesson;
  const auto replace = [&](std::string_view from, std::string_view to) { text.replace(text.find(from), from.size(), to); };
  replace("&step=1\"\nlook = [\"stage\", \"traffic\"]", "&step=1&view=compare\"\nlook = [\"compare\"]");
  replace("[\"l2_to_sm + sm_to_l2\", \"standard.l2_to_sm + standard.sm_to_l2\"]", "[\"us\", \"standard.us\"]");
  Opened opened(start_held(folder.file("00-small.en.md", text)));
  PanelScreen screen({900, 500});
  opened.after(OpenLesson{"00-small"});
  REQUIRE(opened.view().lesson.figures != nullptr);
  const std::string held = text_of(screen, opened.session, &draw_compare_panel);
  CAPTURE(held);
  for (const PageRun& run : opened.view().lesson.figures->runs)
    CHECK(held.find(format_bytes(Bytes(hbm_bytes(*run.simulation)))) != std::string::npos);
  CHECK(held.find(format_time(opened.view().lesson.figures->runs[1].simulation->time)) == std::string::npos);
}

TEST_CASE("lesson: a scene that is shown covers nothing of its timeline before the answer") {
  const TemporaryFolder folder;
  std::string text = small_lesson;
  const std::string_view before = "others = {";
  text.replace(text.find(before), before.size(), "shown = true\nothers = {");
  Opened opened(start_held(folder.file("00-small.en.md", text)));
  PanelScreen screen({900, 260});
  opened.after(OpenLesson{"00-small"});
  REQUIRE(opened.view().lesson.locked);
  CHECK(text_of(screen, opened.session, &draw_timeline_panel).find("after the answer") == std::string::npos);
}

namespace {

/// Pixels of a colour in a part of a picture.
int count_pixels(const Picture& picture, const Rect& part, ImU32 color) {
  int count = 0;
  for (int y = static_cast<int>(part.min.y); y < static_cast<int>(part.max.y); ++y)
    for (int x = static_cast<int>(part.min.x); x < static_cast<int>(part.max.x); ++x) {
      const std::uint8_t* const pixel = picture.rgba.data() + 4 * (static_cast<std::size_t>(y) * picture.width + x);
      count += IM_COL32(pixel[0], pixel[1], pixel[2], 255) == color ? 1 : 0;
    }
  return count;
}

}  // namespace

TEST_CASE("lesson 1: the bars of Compare have their length before the answer, or come with it") {
  Session::Start start = opening_start();
  start.lessons = std::make_shared<const LessonList>(load_lesson_list());
  const auto script = WindowScript::open(std::move(start), 1280, 720);
  if (script == nullptr) return;
  script->command(OpenLesson{"01-why-memory", 5});
  REQUIRE(script->view().workspace->center == CenterView::compare);
  // Time is the last column, and no figure of the other run is known; HBM bytes, the first, are in the text.
  const Theme& theme = *script->view().theme;
  const Rect& all = script->frame().layout().alone;
  const float middle = all.min.y + 0.5F * all.height();
  const Rect time = {{all.min.x + 0.72F * all.width(), all.min.y + 0.1F * all.height()}, {all.max.x - 10, middle}},
             hbm = {{all.min.x, all.min.y + 0.1F * all.height()}, {all.min.x + 0.2F * all.width(), middle}};
  const ImU32 of_k = theme.color(Meaning::key);
  const Picture held = script->picture();
  CHECK(count_pixels(held, time, theme.accent) == 0);
  CHECK(count_pixels(held, hbm, of_k) > 0);
  LessonAnswer none;
  none.given = false;
  script->command(AnswerLesson{std::make_shared<const LessonAnswer>(none)});
  const Picture answered = script->picture();
  CHECK(count_pixels(answered, time, theme.accent) > 1000);
  CHECK(count_pixels(answered, hbm, of_k) == count_pixels(held, hbm, of_k));
}

TEST_CASE("lesson 10: before a recording shows, bars end where they do beside it, and a small run has a scale of its own") {
  Session::Start start = opening_start();
  start.lessons = std::make_shared<const LessonList>(load_lesson_list());
  start.measurements = load_measurements();
  const auto script = WindowScript::open(std::move(start), 1280, 720);
  if (script == nullptr) return;
  script->command(OpenLesson{"10-simulated-and-measured", 2});
  const Theme& theme = *script->view().theme;
  const Rect& all = script->frame().layout().alone;
  // The time of the small run, in the lower half.
  const Rect small = {{all.min.x + 0.65F * all.width(), all.min.y + 0.55F * all.height()}, {all.max.x, all.max.y}};
  const int held = count_pixels(script->picture(), small, theme.accent);
  CHECK(held > 0.05 * small.width() * small.height());
  const auto text = [&] {
    const TextRecording recording;
    script->settle();
    return recording.text();
  };
  CHECK(text().find("each size has its own scale") != std::string::npos);
  CHECK(text().find("recorded:") == std::string::npos);
  LessonAnswer none;
  none.given = false;
  script->command(AnswerLesson{std::make_shared<const LessonAnswer>(none)});
  CHECK(text().find("recorded:") != std::string::npos);
  // The line of the recording takes a few pixels of a bar.
  CHECK(count_pixels(script->picture(), small, theme.accent) == doctest::Approx(held).epsilon(0.05));
}

TEST_CASE("lesson 1: a question about FLOP has their column, with those of the page's own run") {
  Opened opened([] {
    Session::Start start = opening_start();
    start.lessons = std::make_shared<const LessonList>(load_lesson_list());
    return start;
  }());
  PanelScreen screen({900, 500});
  opened.after(OpenLesson{"01-why-memory", 4});
  const std::string held = text_of(screen, opened.session, &draw_compare_panel);
  CAPTURE(held);
  const std::string flops = format_short(static_cast<double>(opened.view().lane().simulation->flops), "FLOP");
  const std::size_t own = held.find(flops);
  REQUIRE(own != std::string::npos);
  CHECK(held.find(flops, own + 1) == std::string::npos);
  show_answer(opened);
  const std::string answered = text_of(screen, opened.session, &draw_compare_panel);
  CHECK(answered.find(flops, answered.find(flops) + 1) != std::string::npos);
}

TEST_CASE("lesson: the Mask view has no figure until the question is answered") {
  const TemporaryFolder folder;
  std::string text = small_lesson;
  const std::string_view before = "&step=1\"\nlook = [\"stage\", \"traffic\"]";
  text.replace(text.find(before), before.size(), "&causal=1&view=mask\"\nlook = [\"mask\"]\nshown = true");
  Opened opened(start_held(folder.file("00-small.en.md", text)));
  PanelScreen screen({1200, 800});
  opened.after(OpenLesson{"00-small"});
  REQUIRE(opened.view().lesson.locked);
  const std::string held = text_of(screen, opened.session, &draw_mask_panel);
  CAPTURE(held);
  CHECK(held.find("after the answer") != std::string::npos);
  CHECK(held.find("Empty tiles") == std::string::npos);
  show_answer(opened);
  CHECK(text_of(screen, opened.session, &draw_mask_panel).find("Empty tiles") != std::string::npos);
}

TEST_CASE("lesson: the Banks view tells the page's access alone until the question is answered") {
  const TemporaryFolder folder;
  Opened opened(start_held(folder.file("00-small.en.md", small_lesson)));
  PanelScreen screen({900, 500});
  opened.after(OpenLesson{"00-small"});
  const std::string held = text_of(screen, opened.session, &draw_banks_panel);
  CAPTURE(held);
  CHECK(held.find('?') != std::string::npos);
  CHECK(held.find("Measured") == std::string::npos);
  const BankChoice first = opened.view().workspace->banks;
  BankChoice swizzled = first, next = first;
  swizzled.swizzled = true;
  next.wavefront = 2;
  opened.after(SetBanks{swizzled});
  CHECK(opened.view().workspace->banks == first);
  opened.after(SetBanks{next});
  CHECK(opened.view().workspace->banks == next);
  show_answer(opened);
  opened.after(SetBanks{swizzled});
  CHECK(opened.view().workspace->banks == swizzled);
  CHECK(text_of(screen, opened.session, &draw_banks_panel).find('?') == std::string::npos);
}

TEST_CASE("lesson: the menu has every lesson below the name of its group") {
  Session::Start start = opening_start();
  start.lessons = std::make_shared<const LessonList>(load_lesson_list());
  const LessonList& list = *start.lessons;
  Opened opened(std::move(start));
  PanelScreen screen({600, 900});
  const std::string menu = text_of(screen, opened.session, &draw_lesson_menu);
  CAPTURE(menu);
  std::size_t at = 0;
  const auto comes_next = [&](const std::string& text) {
    CAPTURE(text);
    const std::size_t found = menu.find(text, at);
    REQUIRE(found != std::string::npos);
    at = found + text.size();
  };
  int groups = 0;
  for (const LessonInfo& info : list.lessons) {
    const LessonInfo::Text& text = info.text("en");
    CHECK_FALSE(text.goal.empty());
    CHECK(text.group.empty() == info.text("ko").group.empty());
    groups += text.group.empty() ? 0 : 1;
    if (!text.group.empty()) comes_next(text.group);
    comes_next(text.title);
  }
  comes_next("Symbols and words");
  CHECK(groups > 1);
  CHECK_FALSE(list.lessons.front().text("en").group.empty());
}

TEST_CASE("lesson: the menu says how many answers of a lesson were right") {
  const TemporaryFolder folder;
  Opened opened(start_held(folder.file("00-small.en.md", small_lesson)));
  PanelScreen screen({600, 900});
  opened.after(OpenLesson{"00-small"});
  LessonAnswer right;
  right.option = 1;
  opened.after(AnswerLesson{std::make_shared<const LessonAnswer>(right)});
  REQUIRE(opened.view().lesson.right == 1);
  CHECK(text_of(screen, opened.session, &draw_lesson_menu).find("1 of 5 right") != std::string::npos);
}

TEST_CASE("lesson 9: the page about bytes leaves the times to the page that asks for them") {
  Session::Start start = opening_start();
  start.lessons = std::make_shared<const LessonList>(load_lesson_list());
  Opened opened(std::move(start));
  PanelScreen screen({900, 700});
  opened.after(OpenLesson{"09-causal-balance", 1});
  show_answer(opened);
  const std::string bytes = text_of(screen, opened.session, &draw_compare_panel);
  CAPTURE(bytes);
  CHECK(bytes.find(" MB") != std::string::npos);
  CHECK(bytes.find("µs") == std::string::npos);
  CHECK(bytes.find("asked on page 3") != std::string::npos);
  CHECK(bytes.find('?') == std::string::npos);  // its own answer was given
  opened.after(TurnLessonPage{1});
  show_answer(opened);
  CHECK(text_of(screen, opened.session, &draw_compare_panel).find("µs") != std::string::npos);
  opened.after(TurnLessonPage{-1});
  CHECK(text_of(screen, opened.session, &draw_compare_panel).find("µs") != std::string::npos);
}

TEST_CASE("lesson: the presenter's window has the page's notes, the answer and the next page") {
  const TemporaryFolder folder;
  Opened opened(start_held(folder.file("00-small.en.md", small_lesson)));
  PanelScreen screen({960, 640});
  opened.after(OpenLesson{"00-small"});
  const std::string first = text_of(screen, opened.session, &draw_presenter_panel);
  CAPTURE(first);
  CHECK(first.find("page 1 of 5") != std::string::npos);
  CHECK(first.find("Which moves more?") != std::string::npos);
  CHECK(first.find("Answer: standard") != std::string::npos);
  CHECK(first.find("Next: Number") != std::string::npos);
  opened.after(OpenLesson{"00-small", 4});
  const std::string last = text_of(screen, opened.session, &draw_presenter_panel);
  CAPTURE(last);
  CHECK(last.find("lecturer,") != std::string::npos);
  CHECK(last.find("This is the last page.") != std::string::npos);
}

namespace {

Session::Start start_with_all_lessons() {
  Session::Start start = opening_start();
  start.lessons = std::make_shared<const LessonList>(load_lesson_list());
  return start;
}

}  // namespace

TEST_CASE("lesson 21: before the answer the access on screen has neither its minimum nor its conflicts") {
  Opened opened(start_with_all_lessons());
  PanelScreen screen({1200, 800});
  opened.after(OpenLesson{"21-why-swizzle", 0});
  const auto row = [&] { return text_of(screen, opened.session, &draw_banks_panel); };
  CAPTURE(row());
  CHECK(row().find("32\t4\t28") == std::string::npos);
  show_answer(opened);
  CAPTURE(row());
  CHECK(row().find("ldmatrix.x4 of a tile\t4\t4\t0") != std::string::npos);  // the swizzled tile, of which the answer speaks
}

TEST_CASE("lesson 9: presented, the Mask view has its map and no control of masks") {
  Opened opened(start_with_all_lessons());
  PanelScreen screen({1200, 800});
  opened.after(OpenLesson{"09-causal-balance", 0});
  CHECK(text_of(screen, opened.session, &draw_mask_panel).find("Mask block") != std::string::npos);
  opened.after(SetPresent{true});
  const std::string held = text_of(screen, opened.session, &draw_mask_panel);
  CAPTURE(held);
  for (const char* control : {"Mask block", "Decided by", "Empty tiles"}) CHECK(held.find(control) == std::string::npos);
  CHECK(held.find("partial tile") != std::string::npos);
  show_answer(opened);
  CHECK(text_of(screen, opened.session, &draw_mask_panel).find("Empty tiles") != std::string::npos);
}

TEST_CASE("lesson 1: the share that the last answer says is that of the roofline beside it") {
  Opened opened(start_with_all_lessons());
  PanelScreen screen({1200, 800});
  opened.after(OpenLesson{"01-why-memory", 6});
  show_answer(opened);
  const std::string share = format_percent(opened.view().lesson.figures->revealed.at("busy.tensor"));
  const std::string roofline = text_of(screen, opened.session, &draw_roofline_panel);
  CAPTURE(share);
  CAPTURE(roofline);
  CHECK(roofline.find(share) != std::string::npos);
}

TEST_CASE("lesson: bars beside a question have what its text says and what cannot answer it") {
  Opened opened(start_with_all_lessons());
  PanelScreen screen({1200, 700});
  opened.after(OpenLesson{"09-causal-balance", 2});
  const std::string half = text_of(screen, opened.session, &draw_compare_panel);
  CAPTURE(half);
  CHECK(half.find("17.7 GFLOP") != std::string::npos);  // of the causal run, as in the text
  CHECK(half.find('?') != std::string::npos);           // its time
  opened.after(OpenLesson{"12-not-the-same-twice", 7});
  const std::string blocks = text_of(screen, opened.session, &draw_compare_panel);
  CAPTURE(blocks);
  CHECK(blocks.find("GFLOP") != std::string::npos);
  CHECK(std::ranges::count(blocks, '?') == 2);  // the times of the other two runs
}

TEST_CASE("lesson 15: what does not answer the question of bytes is there, and the time names the page that asks for it") {
  Opened opened(start_with_all_lessons());
  PanelScreen screen({1200, 800});
  opened.after(OpenLesson{"15-why-128", 2});
  const std::string bars = text_of(screen, opened.session, &draw_compare_panel);
  CAPTURE(bars);
  const std::vector<PageRun>& runs = opened.view().lesson.figures->runs;
  for (const PageRun& run : runs) {
    CHECK(bars.find(format_short(static_cast<double>(run.simulation->flops), "FLOP")) != std::string::npos);
    CHECK(bars.find(format_bytes(run.simulation->extra_hbm)) != std::string::npos);
  }
  // Those of the page's own run alone are on screen.
  CHECK(std::ranges::count(bars, '?') == static_cast<std::ptrdiff_t>(runs.size()) - 1);
  CHECK(bars.find("asked on page 5") != std::string::npos);
}

TEST_CASE("lesson 10: the number that was recorded is not called simulated") {
  Session::Start start = start_with_all_lessons();
  start.measurements = load_measurements();
  Opened opened(std::move(start));
  PanelScreen screen({400, 800});
  opened.after(OpenLesson{"10-simulated-and-measured", 0});
  REQUIRE(opened.view().lesson.locked);
  show_answer(opened);
  const std::string page = text_of(screen, opened.session, &draw_lesson_panel);
  CAPTURE(page);
  CHECK(page.find("Measured") != std::string::npos);
  CHECK(page.find("Simulated\n") == std::string::npos);
}

TEST_CASE("bars of runs: like stands beside like, two totals or the parts of both") {
  Session::Start start = start_with_all_lessons();
  start.measurements = load_measurements();
  Opened opened(std::move(start));
  opened.after(OpenLesson{"10-simulated-and-measured", 1});
  show_answer(opened);
  const PageRun& run = opened.view().lesson.figures->runs.front();
  REQUIRE(run.recorded);
  const auto parts = [](double read, double written) {
    return format_bytes(read) + " read, " + format_bytes(written) + " written";
  };
  const double read = *counter(run.recorded->measured(), "l2_to_sm_bytes"),
               written = *counter(run.recorded->measured(), "sm_to_l2_bytes");
  const std::string of_recording = parts(read, written);
  const std::string of_run = parts(static_cast<double>(run.simulation->ledger.total(Link::l2_to_sm).value),
                                   static_cast<double>(run.simulation->ledger.total(Link::sm_to_l2).value));
  for (const float width : {600.0F, 900.0F, 1200.0F, 2000.0F, 2800.0F}) {
    PanelScreen screen({width, 800});
    std::string bars = text_of(screen, opened.session, &draw_compare_panel);
    CAPTURE(bars);
    const std::size_t split = bars.find("recorded: " + of_recording);
    if (split == std::string::npos) {
      CHECK(bars.find("recorded: " + format_bytes(read + written)) != std::string::npos);
      continue;
    }
    bars.erase(split, 10 + of_recording.size());
    CHECK(bars.find(of_run) != std::string::npos);
  }
}

namespace {

/// Where pixels of a colour stand in a row of a picture: the middle of each group.
std::vector<double> groups_in_row(const Picture& picture, int y, ImU32 color) {
  std::vector<double> groups;
  int from = -1;
  for (int x = 0; x <= picture.width; ++x) {
    const std::uint8_t* const pixel = picture.rgba.data() + 4 * (static_cast<std::size_t>(y) * picture.width + x);
    const bool is_of_it = x < picture.width && IM_COL32(pixel[0], pixel[1], pixel[2], 255) == color;
    if (is_of_it && from < 0) from = x;
    if (!is_of_it && from >= 0) groups.push_back(0.5 * (from + x));
    if (!is_of_it) from = -1;
  }
  return groups;
}

}  // namespace

TEST_CASE("bars of runs: one run has its bytes and its time on scales of their own, and recorded reads stand over its reads") {
  Session::Start start = start_with_all_lessons();
  start.measurements = load_measurements();
  const auto script = WindowScript::open(std::move(start), 1600, 900);
  if (script == nullptr) return;
  script->command(OpenLesson{"10-simulated-and-measured", 3});
  LessonAnswer none;
  none.given = false;
  script->command(AnswerLesson{std::make_shared<const LessonAnswer>(none)});
  const PageRun& run = script->view().lesson.figures->runs.front();
  REQUIRE(run.recorded);
  const TextRecording recording;
  script->settle();
  CHECK(recording.text().find("Each bar has a scale of its own.") != std::string::npos);
  CHECK(recording.text().find("All bars of a column have one scale.") == std::string::npos);

  const Rect& panel = script->frame().layout().alone;
  const double left = panel.min.x + script->view().theme->padding;
  const double read = *counter(run.recorded->measured(), "hbm_read_bytes"),
               written = *counter(run.recorded->measured(), "hbm_write_bytes");
  const Picture picture = script->picture();
  // The first row with two lines and nothing else in the colour of text crosses the bar of HBM bytes.
  for (int y = static_cast<int>(panel.min.y); y < static_cast<int>(panel.max.y); ++y) {
    const std::vector<double> lines = groups_in_row(picture, y, script->view().theme->text);
    if (lines.size() != 2 || lines[0] < left) continue;
    CHECK((lines[0] - left) / (lines[1] - left) == doctest::Approx(read / (read + written)).epsilon(0.01));
    return;
  }
  FAIL("no bar has two lines");
}

TEST_CASE("lesson 12: after the answer each result has a map of the elements that differ between the two runs") {
  Opened opened(start_with_all_lessons());
  opened.after(OpenLesson{"12-not-the-same-twice", 3});
  show_answer(opened);
  const PageFigures& figures = *opened.view().lesson.figures;
  REQUIRE(figures.results.size() == 4);  // dQ, dK and dV, and dQ of two key tiles
  PanelScreen screen({1000, 700});
  const std::string text = text_of(screen, opened.session, &draw_compare_panel);
  CAPTURE(text);
  for (const ComparedResult& result : figures.results) {
    const Difference& difference = result.difference;
    const bool changes = to_string(result.tensor) == "dQ" && &result != &figures.results.back();
    CHECK((difference.elements > 0) == changes);
    CHECK(text.find(difference_text(difference)) != std::string::npos);
  }
  const Difference& of_dq = figures.results.front().difference;
  CHECK(static_cast<double>(of_dq.elements) == figures.revealed.at("differ.again.dQ"));
  CHECK(of_dq.largest == figures.revealed.at("apart.again.dQ"));
}

TEST_CASE("lesson 6: a page that looks at the listing and at nothing else beside the stage gives it the whole column") {
  const auto script = WindowScript::open(start_with_all_lessons(), 1600, 900);
  if (script == nullptr) return;
  script->command(OpenLesson{"06-flashattention-tile-by-tile", 1});
  const Layout& layout = script->frame().layout();
  CHECK(layout.softmax.height() == layout.stage.height());
  CHECK(layout.traffic.height() == 0);
  script->command(OpenLesson{"06-flashattention-tile-by-tile", 2});  // it looks at the row
  CHECK(script->frame().layout().traffic.height() > 0);
}

TEST_CASE("bars of runs: in a narrow room the words for dashed parts take a second line") {
  Opened opened(start_with_all_lessons());
  PanelScreen screen({430, 900});
  opened.after(OpenLesson{"09-causal-balance", 2});
  show_answer(opened);
  const std::string key = text_of(screen, opened.session, &draw_compare_panel);
  CAPTURE(key);
  CHECK(key.find("Dashed: written") != std::string::npos);
}

TEST_CASE("lesson 5: the axis of a share ends at the whole") {
  Opened opened(start_with_all_lessons());
  PanelScreen screen({1000, 700});
  opened.after(OpenLesson{"05-six-trips", 5});
  const std::string axis = text_of(screen, opened.session, &draw_curve_panel);
  CAPTURE(axis);
  CHECK(axis.find("100 %") != std::string::npos);
  for (const char* beyond : {"120 %", "150 %"}) CHECK(axis.find(beyond) == std::string::npos);
}

TEST_CASE("lesson 7: the times that the answer says are in the picture, and a bar has the name of its program") {
  Opened opened(start_with_all_lessons());
  PanelScreen screen({1200, 800});
  opened.after(OpenLesson{"07-theory-and-chip", 4});
  show_answer(opened);
  const std::string times = text_of(screen, opened.session, &draw_compare_panel);
  CHECK(times.find("µs") != std::string::npos);
  CHECK(times.find("Time at 1.98 GHz") != std::string::npos);  // the clock of this GPU depends on the run
  opened.after(OpenLesson{"07-theory-and-chip", 2});
  const std::string bars = text_of(screen, opened.session, &draw_compare_panel);
  CAPTURE(bars);
  CHECK(bars.find("Time at") == std::string::npos);
  const std::size_t first = bars.find("FlashAttention-1");
  REQUIRE(first != std::string::npos);
  CHECK(bars.find("FlashAttention-1", first + 1) != std::string::npos);
  CHECK(bars.find("FlashAttention-1, shared memory per block: 8 KiB") != std::string::npos);
}

TEST_CASE("lesson 16: the Mask view has the times that the text says, and their clock") {
  Opened opened(start_with_all_lessons());
  PanelScreen screen({1200, 800});
  opened.after(OpenLesson{"16-packed-documents", 3});
  show_answer(opened);
  opened.session.finish();
  const PageFigures& figures = *opened.view().lesson.figures;
  const std::string masked = figure_words(figures.revealed.at("us"), FigureUnit::us),
                    dense = figure_words(figures.shown.at("dense.us"), FigureUnit::us);
  const std::string panel = text_of(screen, opened.session, &draw_mask_panel);
  CAPTURE(panel);
  CHECK(panel.find(masked + ", dense " + dense) != std::string::npos);
  CHECK(panel.find("Time at 1.98 GHz") != std::string::npos);
}

TEST_CASE("lesson 16: presented, nothing beside the map is cut, and the bars of the SMs are below it") {
  Opened opened(start_with_all_lessons());
  opened.after(OpenLesson{"16-packed-documents", 5});
  opened.after(SetPresent{true});
  show_answer(opened);
  opened.session.finish();
  for (const ImVec2 size : {ImVec2{620, 520}, ImVec2{880, 700}}) {
    PanelScreen screen(size);
    const std::string panel = text_of(screen, opened.session, &draw_mask_panel);
    CAPTURE(panel);
    CHECK(panel.find("…") == std::string::npos);
    CHECK(panel.find("Full tiles") != std::string::npos);
    CHECK(panel.find("SM busy time: ") != std::string::npos);
    CHECK(panel.find("mean ") != std::string::npos);
  }
}

TEST_CASE("lecture: while the class is asked by a scene, the Mask view keeps its figures back") {
  Session::Start start = opening_start();
  Deck deck;
  deck.scenes.resize(1);
  deck.scenes[0].state = *from_link("causal=1&view=mask&step=0");
  deck.scenes[0].question = ClassQuestion{"Half the time?", {"Yes", "No"}, 2};
  start.deck = std::make_shared<const Deck>(deck);
  start.state = std::make_shared<const WindowState>(deck.scenes[0].state);
  Opened opened(std::move(start));
  opened.session.finish();
  opened.after(SetPresent{true});
  PanelScreen screen({1200, 800});
  CHECK(text_of(screen, opened.session, &draw_mask_panel).find("Empty tiles") == std::string::npos);
  opened.after(AskClass{true, true});
  CHECK(text_of(screen, opened.session, &draw_mask_panel).find("Empty tiles") != std::string::npos);
}

TEST_CASE("lesson 14: the busy share that the question asks for has its bars") {
  Opened opened(start_with_all_lessons());
  PanelScreen screen({1200, 800});
  opened.after(OpenLesson{"14-numbers-not-bytes", 2});
  const std::string share = format_percent(opened.view().lesson.figures->revealed.at("softcap.busy.l2"));
  const std::string held = text_of(screen, opened.session, &draw_compare_panel);
  CHECK(held.find("Busy: L2") != std::string::npos);
  CHECK(held.find(share) == std::string::npos);
  CHECK(held.find("Hatched: written") != std::string::npos);  // the legend does not wait for the answer
  show_answer(opened);
  CHECK(text_of(screen, opened.session, &draw_compare_panel).find(share) != std::string::npos);
}

TEST_CASE("lesson 7: a machine without an L2 has no column and no legend of one") {
  Opened opened(start_with_all_lessons());
  PanelScreen screen({1200, 800});
  opened.after(OpenLesson{"07-theory-and-chip", 1});
  show_answer(opened);
  const std::string bars = text_of(screen, opened.session, &draw_compare_panel);
  CAPTURE(bars);
  CHECK(bars.find("HBM traffic") != std::string::npos);
  CHECK(bars.find("L2") == std::string::npos);
}

TEST_CASE("lesson 9: what limits the run stands in the header after the answer alone") {
  const auto script = WindowScript::open(start_with_all_lessons(), 1280, 720);
  if (script == nullptr) return;
  const auto text = [&] {
    const TextRecording recording;
    script->settle();
    return recording.text();
  };
  script->command(OpenLesson{"09-causal-balance", 0});
  REQUIRE(script->view().lesson.locked);
  CHECK(text().find("Bottleneck") == std::string::npos);
  LessonAnswer none;
  none.given = false;
  script->command(AnswerLesson{std::make_shared<const LessonAnswer>(none)});
  CHECK(text().find("Bottleneck") != std::string::npos);
}

TEST_CASE("lesson 3: how far O is from float64 shows after the question about it") {
  Opened opened(start_with_all_lessons());
  PanelScreen screen({400, 500});
  constexpr const char* later = "O against float64: after the answer";
  opened.after(OpenLesson{"03-one-pass", 4});
  CHECK(text_of(screen, opened.session, &draw_softmax_panel).find(later) != std::string::npos);
  REQUIRE(opened.view().lesson.locked);
  show_answer(opened);
  opened.session.finish();
  const std::string answered = text_of(screen, opened.session, &draw_softmax_panel);
  CAPTURE(answered);
  CHECK(answered.find(later) == std::string::npos);
  CHECK(answered.find("O against float64") != std::string::npos);
}

TEST_CASE("lesson 18: bars of runs of which one was recorded have one scale") {
  Session::Start start = start_with_all_lessons();
  start.measurements = load_measurements();
  Opened opened(std::move(start));
  PanelScreen screen({1200, 800});
  opened.after(OpenLesson{"18-ignored-mask", 2});
  show_answer(opened);
  const std::string bars = text_of(screen, opened.session, &draw_compare_panel);
  CAPTURE(bars);
  CHECK(bars.find("recorded:") != std::string::npos);
  CHECK(bars.find("its own scale") == std::string::npos);
}

TEST_CASE("lesson 5: the programs beside a lesson's run have names that are not cut") {
  const auto script = WindowScript::open(start_with_all_lessons(), 1280, 720);
  if (script == nullptr) return;
  script->command(OpenLesson{"05-six-trips", 2});
  script->command(SetPresent{true});
  LessonAnswer none;
  none.given = false;
  script->command(AnswerLesson{std::make_shared<const LessonAnswer>(none)});
  const TextRecording recording;
  script->settle();
  CHECK(recording.text().find("FlashAttention-1") != std::string::npos);
  for (const std::string& text : recording.cut()) CHECK(text.find("tention") == std::string::npos);
}

TEST_CASE("lesson 23: beside a sweep its programs are in a list, and the curves have the height") {
  Opened opened(start_with_all_lessons());
  PanelScreen screen({900, 600});
  opened.after(OpenLesson{"23-five-or-seven", 2});
  show_answer(opened);
  opened.session.finish();
  const std::string beside = text_of(screen, opened.session, &draw_sweep_panel);
  CAPTURE(beside);
  CHECK(beside.find("deterministic") == std::string::npos);  // a program that is not swept
  opened.after(CloseLesson{});
  opened.after(SetAlgorithm{"flash2_backward"});
  opened.after(SetCenter{CenterView::sweep});
  opened.session.finish();
  CHECK(text_of(screen, opened.session, &draw_sweep_panel).find("deterministic") != std::string::npos);
}

TEST_CASE("lesson 2: the scores that the text speaks of stand on their bars") {
  Opened opened(start_with_all_lessons());
  PanelScreen screen({840, 360});
  opened.after(OpenLesson{"02-softmax-without-overflow", 0});
  const std::string scores = text_of(screen, opened.session, &draw_softmax_panel);
  CAPTURE(scores);
  for (const char* score : {"99", "93"}) CHECK(scores.find(score) != std::string::npos);
}
