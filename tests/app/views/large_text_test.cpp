// Text made large in a small window: lanes keep their names, and what has no room is still led to.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <imgui_internal.h>

#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/lesson_list.h"
#include "app/model/requests/assets.h"
#include "app/ui/panel_state.h"
#include "app/ui/short_line.h"
#include "app/ui/svg.h"
#include "app/ui/text_record.h"
#include "app/views/lesson/lesson_place.h"
#include "app/views/timeline/timeline_marks.h"
#include "sim/analysis/format.h"
#include "sim/analysis/outcome.h"
#include "tests/app/model/lessons/lesson_fixture.h"
#include "tests/app/temporary_folder.h"
#include "tests/app/views/window_script.h"
#include "tests/synthetic_measurements.h"

namespace tilescope {

namespace {

/// The first place of `area`, row by row, where the pointer is over an item.
std::optional<ImVec2> place_of(WindowScript& script, const Rect& area, ImGuiID id) {
  for (float y = area.min.y + 4; y < area.max.y; y += 9)
    for (float x = area.min.x + 6; x < area.max.x; x += 12) {
      script.hover(x, y);
      if (ImGui::GetCurrentContext()->HoveredId == id) return ImVec2(x, y);
    }
  return std::nullopt;
}

/// Two clicks with no more than frames between them: settling would take longer than a double click may.
void double_click(WindowScript& script, ImVec2 at) {
  script.move(at.x, at.y);
  for (const bool down : {true, false, true, false}) {
    script.frame().io().AddMouseButtonEvent(0, down);
    script.frame().build(script.width(), script.height(), 1.0 / 60);
  }
  script.settle();
}

/// The panel in the middle of the middle. While one presents, a pointer that rests is hidden and is over nothing: so no long look.
const ImGuiWindow* middle_panel(WindowScript& script) {
  const Rect stage = script.frame().layout().stage;
  script.hover(stage.center().x, stage.center().y);
  return ImGui::GetCurrentContext()->HoveredWindow;
}

const ImGuiWindow* open_popup() {
  const auto& open = ImGui::GetCurrentContext()->OpenPopupStack;
  return open.empty() ? nullptr : open.back().Window;
}

ImGuiID in_window(const char* label) {
  return ImHashStr(label, 0, ImGui::FindWindowByName("##tilescope")->ID);
}

}  // namespace

TEST_CASE("large text: no line of a listing is cut") {
  const auto script = WindowScript::open(1280, 720, 2);
  if (script == nullptr) return;
  const Theme& theme = script->frame().theme();
  for (const ProgramInfo& info : program_table())
    for (const ListingLine& line : info.listing) {
      CAPTURE(info.id);
      CAPTURE(line.text);
      const float before = static_cast<float>(52 + 14 * line.indent) * theme.scale;  // number, swatch and indent
      const float room = script->frame().layout().listing.width() - 2 * theme.padding - ImGui::GetStyle().ScrollbarSize - before;
      CHECK(text_width(theme.ui_bold, short_line(line.text)) <= room);
    }
}

TEST_CASE("large text: every timeline row has a readable name, in Race too") {
  for (const float scale : {1.0F, 1.25F, 1.5F, 2.0F})
    for (const auto& [width, height] : {std::pair{1600, 900}, {1280, 720}})
      for (const bool race : {false, true}) {
        CAPTURE(scale);
        const int wide = width;  // a lambda of Clang captures no structured binding
        CAPTURE(wide);
        CAPTURE(race);
        Session::Start start = opening_start();
        start.race = race;
        const auto script = WindowScript::open(std::move(start), width, height, scale);
        if (script == nullptr) return;
        const Theme& theme = script->frame().theme();
        const Rect body = script->frame().layout().timeline.inset(theme.padding);
        const std::size_t groups = race ? 2 : 1;
        const float least = least_lane_height(theme.ui_small->FontSize, groups);
        const int tracks = script->view().lane().timeline->lanes.front().tracks;
        const TimelineLayout layout = lay_out_timeline(body, {groups, tracks, false, 100, theme.scale, least});
        // As large a part of the text's size as at scale 1; nothing of one SM is hidden, of two groups it can be scrolled to.
        CHECK(lane_name_size(theme.ui_small, layout.lane_height) >= (race ? 0.71F : 0.99F) * theme.ui_small->FontSize);
        if (!race || scale == 1) CHECK(layout.hidden == 0);
      }
}

TEST_CASE("large text: pills that do not fit move into a list and work from there") {
  const auto script = WindowScript::open(1280, 720, 2);
  if (script == nullptr) return;
  const Rect bar = script->frame().layout().top_bar;
  for (const char* lost : {"Standard", "Br 16  Bc 16##tile", "Inputs##inputs"}) {
    CAPTURE(lost);
    CHECK_FALSE(place_of(*script, bar, in_window(lost)));
  }
  const auto rest = place_of(*script, bar, in_window("…##rest"));
  REQUIRE(rest);
  script->click(rest->x, rest->y);
  const ImGuiWindow* list = open_popup();
  REQUIRE(list != nullptr);
  const Rect inside = {list->Pos, {list->Pos.x + list->Size.x, list->Pos.y + list->Size.y}};
  const auto inputs = place_of(*script, inside, ImHashStr("Inputs", 0, list->ID));
  REQUIRE(inputs);
  script->click(inputs->x, inputs->y);
  const ImGuiWindow* opened = open_popup();
  REQUIRE(opened != nullptr);
  CHECK(opened != list);
  // All of it is in the window, or can be scrolled to.
  CHECK(opened->Pos.x >= 0);
  CHECK(opened->Pos.x + opened->Size.x <= 1280);
  CHECK(opened->Pos.y + opened->Size.y <= 720);
}

TEST_CASE("popover: it stays inside the window and keeps its width while open") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  const auto inputs = place_of(*script, script->frame().layout().top_bar, in_window("Inputs##inputs"));
  REQUIRE(inputs);
  script->click(inputs->x, inputs->y);
  const ImGuiWindow* opened = open_popup();
  REQUIRE(opened != nullptr);
  const float width = opened->Size.x;
  for (int i = 0; i < 5; ++i) script->hover(100, 300.0F + static_cast<float>(i));
  CHECK(opened->Size.x == width);
  CHECK(opened->Size.x < 520);
  CHECK(opened->Pos.x + opened->Size.x <= 1280);
}

TEST_CASE("large text: tabs that do not fit become a list") {
  const auto script = WindowScript::open(1280, 720, 3);
  if (script == nullptr) return;
  const Rect tabs = script->frame().layout().stage;
  script->click(tabs.min.x + 90, tabs.min.y + 54);
  const ImGuiWindow* list = open_popup();
  REQUIRE(list != nullptr);
  const Rect inside = {list->Pos, {list->Pos.x + list->Size.x, list->Pos.y + list->Size.y}};
  const auto fit = place_of(*script, inside, ImHashStr("Fit", 0, list->ID));
  REQUIRE(fit);
  script->click(fit->x, fit->y);
  CHECK(script->view().workspace->center == CenterView::fit);
}

TEST_CASE("large text: a view that does not fit scrolls both ways") {
  const auto script = WindowScript::open(800, 500, 3);
  if (script == nullptr) return;
  for (const CenterView center : {CenterView::sweep, CenterView::what_if}) {
    script->command(SetCenter{center});
    const ImGuiWindow* panel = middle_panel(*script);
    REQUIRE(panel != nullptr);
    CHECK(panel->ScrollMax.x > 0);
    CHECK(panel->ScrollMax.y > 0);
  }
}

TEST_CASE("large text: the roofline has its legend outside the plot, whole labels, and both axes in sight") {
  enum class As { view, page, presented };
  for (const As as : {As::view, As::page, As::presented})
    for (const auto& [width, height] : {std::pair{1280, 720}, {1600, 900}})
      for (const float scale : {1.0F, 1.46F, 2.0F}) {
        const std::string where = fmt::format("{} {}x{} at {}", static_cast<int>(as), width, height, scale);
        CAPTURE(where);
        Session::Start start = opening_start();
        start.lessons = std::make_shared<const LessonList>(load_lesson_list());
        const auto script = WindowScript::open(std::move(start), width, height, scale);
        if (script == nullptr) return;
        if (as == As::presented) script->command(SetPresent{true});
        if (as == As::view)
          script->command(SetCenter{CenterView::roofline});
        else
          script->command(OpenLesson{"01-why-memory", 2});
        const ImGuiWindow* panel = middle_panel(*script);
        REQUIRE(panel != nullptr);
        CHECK(panel->ScrollMax.x <= 1);                      // a wrapped line is rounded up
        if (as != As::view) CHECK(panel->ScrollMax.y == 0);  // else only sentences are scrolled to
        script->hover(2, 2);
        const TextRecording recording;
        script->frame().build(script->width(), script->height(), 1.0 / 60);
        const std::string text = recording.text();
        CAPTURE(text);
        for (const std::string& pair : recording.overlapping()) FAIL_CHECK(pair);
        for (const char* label : {"HBM 4 GB/s", "Arithmetic intensity", "ridge 512", "10.0 G"})
          CHECK(text.find(label) != std::string::npos);
        // The largest text leaves room for some of the names; none of those is cut.
        if (as != As::presented || scale < 2)
          for (const char* label : {"tensor cores", "FlashAttention-2"}) CHECK(text.find(label) != std::string::npos);
        if (as != As::view && scale < 2)
          for (const char* launch : {"scores", "softmax", "output"}) CHECK(text.find(launch) != std::string::npos);
        // The roof is the highest line of the plot.
        const std::size_t legend = text.find("shared memory");
        CHECK(legend < text.find("1.00 T"));
        CHECK(legend < text.find("tensor cores 2"));
      }
}

TEST_CASE("large text: stage and Race show everything from the SM in focus to HBM") {
  for (const auto& [width, height] : {std::pair{1600, 900}, {1280, 720}})
    for (const bool race : {false, true}) {
      const int wide = width;  // a lambda of Clang captures no structured binding
      CAPTURE(wide);
      CAPTURE(race);
      Session::Start start = h200_start({.heads = 4, .kv_heads = 4, .seq_q = 1024, .seq_kv = 1024, .head_dim = 64});
      start.race = race;
      const auto script = WindowScript::open(std::move(start), width, height, 2);
      if (script == nullptr) return;
      const ImGuiWindow* panel = middle_panel(*script);
      REQUIRE(panel != nullptr);
      CHECK(panel->ScrollMax.x == 0);
      CHECK(panel->ScrollMax.y == 0);
    }
}

TEST_CASE("large text: Validate scrolls down, not sideways") {
  const Result<GpuSpec> toy = load_gpu("toy");
  REQUIRE(static_cast<bool>(toy));
  Session::Start start = opening_start();
  start.measurements.bundles.push_back(
      std::make_shared<const KnownBundle>(KnownBundle{synthetic_bundle(*toy), "synthetic.json", false}));
  start.center = CenterView::validate;
  const auto script = WindowScript::open(std::move(start), 1280, 720, 2);
  if (script == nullptr) return;
  const Rect stage = script->frame().layout().stage;
  script->move(stage.center().x, stage.min.y + 120);
  const ImGuiWindow* panel = ImGui::GetCurrentContext()->HoveredWindow;
  REQUIRE(panel != nullptr);
  CHECK(panel->ScrollMax.x == 0);
  CHECK(panel->ScrollMax.y > 0);
}

TEST_CASE("large text: in Race the timeline rows follow the step, and otherwise stay as scrolled") {
  Session::Start start = opening_start();
  start.race = true;
  const auto script = WindowScript::open(std::move(start), 1280, 720, 2);
  if (script == nullptr) return;
  auto& state = panel_state<TimelineState>("timeline");
  int followed = 0;
  script->press(ImGuiKey_Home);
  for (int step = 0; step < 40; ++step) {
    state.scroll = step % 2 == 0 ? 1000.0F : 0.0F;  // the end of the rows, or their beginning
    script->settle();
    const float scrolled = state.scroll;
    CHECK(scrolled < 1000);
    script->press(ImGuiKey_RightArrow);
    followed += state.scroll != scrolled ? 1 : 0;
  }
  CHECK(followed > 0);
  state.scroll = 3;
  script->settle();
  CHECK(state.scroll == 3);
}

TEST_CASE("large text: one side panel is left; tabs and S choose it") {
  const auto script = WindowScript::open(1280, 720, 1.5F);
  if (script == nullptr) return;
  CHECK(script->view().workspace->side == "listing");
  const Rect tabs = script->frame().layout().side_tabs;
  const Theme& theme = script->frame().theme();
  script->click(tabs.min.x + theme.padding + text_width(theme.ui_small, "Algorithm") + 30 * theme.scale,
                tabs.max.y - 8 * theme.scale);
  CHECK(script->view().workspace->side == "softmax");
  script->press(ImGuiKey_S);
  CHECK(script->view().workspace->side == "traffic");
  script->press(ImGuiKey_S);
  CHECK(script->view().workspace->side == "listing");
}

TEST_CASE("maximise: Z or a double click maximises a panel, Z or Esc restores it") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  const Layout layout = script->frame().layout();
  for (const auto& [panel, rect] : {std::pair{"listing", layout.listing},
                                    {"softmax", layout.softmax},
                                    {"traffic", layout.traffic},
                                    {"timeline", layout.timeline},
                                    {"stage", layout.stage}}) {
    const char* const shown = panel;  // a lambda of Clang captures no structured binding
    CAPTURE(shown);
    script->move(rect.center().x, rect.center().y);
    script->press(ImGuiKey_Z);
    CHECK(script->view().workspace->alone == panel);
    CHECK(script->picture().width == 1280);
    script->press(std::string_view(panel) == "stage" ? ImGuiKey_Escape : ImGuiKey_Z);
    CHECK(script->view().workspace->alone.empty());
  }
  const ImVec2 title = {layout.traffic.center().x, layout.traffic.min.y + 8};
  double_click(*script, title);
  CHECK(script->view().workspace->alone == "traffic");
}

TEST_CASE("large text: a presented page with the bars of its runs cuts none of its words, and none of the playback bar") {
  constexpr const char* lesson = R"(```lesson
title = "Two"
minutes = 1
goal = "You can compare."
```

## Two runs

```scene
link = "algorithm=flash2_backward_two_pass&view=compare&step=0"
look = ["compare"]
others = { adding = "algorithm=flash2_backward" }
```

```ask
kind = "choice"
question = "Which moves more?"
options = ["two passes", "adding"]
values = ["hbm", "adding.hbm"]
pick = "largest"
```

```reveal
say = "Adding."
play = "none"
```
)";
  const TemporaryFolder folder;
  for (const float scale : {1.0F, 1.25F, 1.5F}) {
    CAPTURE(scale);
    Session::Start start = opening_start();
    start.lessons = list_of_small_lesson(folder.file("00-small.en.md", lesson));
    const auto script = WindowScript::open(std::move(start), 1280, 720, scale);
    if (script == nullptr) return;
    script->command(OpenLesson{"00-small"});
    script->command(SetPresent{true});
    for (const bool answered : {false, true}) {
      CAPTURE(answered);
      LessonAnswer none;
      none.given = false;
      if (answered) script->command(AnswerLesson{std::make_shared<const LessonAnswer>(none)});
      const TextRecording recording;
      script->hover(5, 5);
      CHECK(recording.text().find("Work") != std::string::npos);
      if (answered && scale == 1) CHECK(recording.text().find("HBM bandwidth") != std::string::npos);
      for (const std::string& text : recording.cut()) FAIL_CHECK(text);
      // Tensors whose parts are too narrow for their names are named below the bars.
      CHECK(recording.text().find("dQ_acc") != std::string::npos);
    }
  }
}

TEST_CASE("large text: in HBM the sum dQ_acc is not named as the part that a tile adds to it") {
  Session::Start start = opening_start();
  start.state = std::make_shared<const WindowState>(*from_link("algorithm=flash2_backward&step=60"));
  const auto script = WindowScript::open(std::move(start), 1280, 720, 1.5F);
  if (script == nullptr) return;
  script->frame().set_vector(true);
  script->hover(5, 5);
  const Rect stage = script->frame().layout().stage;
  int parts = 0, sums = 0;
  for (const SvgText& text : script->frame().draw_svg().texts) {
    if (!stage.contains(text.min)) continue;
    parts += text.text == "dSK" ? 1 : 0;
    sums += text.text == "dQ_acc" ? 1 : 0;
  }
  CHECK(parts == 1);  // on the SM
  CHECK(sums == 1);
}

TEST_CASE("stage: where names of copies are too long, what tells them apart stands in full") {
  Session::Start start = opening_start();
  start.state = std::make_shared<const WindowState>(*from_link("algorithm=flash2_backward_deterministic"));
  const auto script = WindowScript::open(std::move(start), 1280, 720);
  if (script == nullptr) return;
  script->frame().set_vector(true);
  script->hover(5, 5);
  const Rect stage = script->frame().layout().stage;
  for (const char* name : {"acc", "acc₂", "acc₃", "acc₄"}) {
    INFO(name);
    const auto is_name = [&](const SvgText& text) { return text.text == name && stage.contains(text.min); };
    CHECK(std::ranges::count_if(script->frame().draw_svg().texts, is_name) == 1);
  }
}

TEST_CASE("large text: a presented page shows the bars of all its runs") {
  struct Case {
    const char* id;
    std::size_t page;
    float scale;
  };
  for (const char* const language : {"en", "ko"})
    for (const Case& each : {Case{"01-why-memory", 4, 1.5F}, {"09-causal-balance", 2, 1.5F}, {"15-why-128", 4, 1}}) {
      const std::string where = fmt::format("{}:{} at {}, {}", each.id, each.page + 1, each.scale, language);
      CAPTURE(where);
      Session::Start start = opening_start();
      start.lessons = std::make_shared<const LessonList>(load_lesson_list());
      start.language = language;
      const auto script = WindowScript::open(std::move(start), 1280, 720, each.scale);
      if (script == nullptr) return;
      script->command(SetPresent{true});
      script->command(OpenLesson{each.id, each.page});
      const ImGuiWindow* const panel = middle_panel(*script);
      REQUIRE(panel != nullptr);
      CHECK(panel->ScrollMax.y == 0);
    }
}

TEST_CASE(
    "large text: Page Down scrolls what a page looks at to its end before the answer comes, and the next page begins at its top") {
  Session::Start start = opening_start();
  start.lessons = std::make_shared<const LessonList>(load_lesson_list());
  const auto script = WindowScript::open(std::move(start), 1280, 720, 2);
  if (script == nullptr) return;
  script->command(SetPresent{true});
  script->command(OpenLesson{"09-causal-balance", 2});
  const ImGuiWindow* const panel = middle_panel(*script);
  REQUIRE(panel != nullptr);
  REQUIRE(panel->ScrollMax.y > 0);
  CHECK(panel->Scroll.y == 0);
  bool said = false;
  for (int press = 0; press < 30 && script->view().lesson.answer == nullptr; ++press) {
    const TextRecording recording;
    script->hover(2, 2);
    said = said || recording.text().find("more of the picture") != std::string::npos;
    script->press(ImGuiKey_PageDown);
  }
  REQUIRE(script->view().lesson.answer != nullptr);
  CHECK(said);
  CHECK(panel->Scroll.y + 1 >= panel->ScrollMax.y);
  // Back goes up again before it turns the page.
  for (int press = 0; press < 30 && panel->Scroll.y > 0; ++press) {
    script->press(ImGuiKey_PageUp);
    CHECK(script->view().lesson.page == 2);
  }
  CHECK(panel->Scroll.y == 0);
}

TEST_CASE("large text: in a small window the options of a question are on screen, and the text above them scrolls") {
  Session::Start start = opening_start();
  start.lessons = std::make_shared<const LessonList>(load_lesson_list());
  const auto script = WindowScript::open(std::move(start), 1280, 720, 1.5F);
  if (script == nullptr) return;
  script->command(OpenLesson{"09-causal-balance", 2});
  REQUIRE(script->view().lesson.locked);
  const auto window = [](std::string_view name) -> const ImGuiWindow* {
    for (const ImGuiWindow* each : ImGui::GetCurrentContext()->Windows)
      if (each->WasActive && std::string_view(each->Name).substr(std::string_view(each->Name).rfind('/') + 1).starts_with(name))
        return each;
    return nullptr;
  };
  REQUIRE(window("page_") != nullptr);
  CHECK(window("page_")->ScrollMax.y == 0);
  REQUIRE(window("text_") != nullptr);
  CHECK(window("text_")->ScrollMax.y > 0);
  LessonAnswer none;
  none.given = false;
  script->command(AnswerLesson{std::make_shared<const LessonAnswer>(none)});
  CHECK(window("text_") == nullptr);
}

TEST_CASE("lesson: the panel beside the stage that a page looks at alone has most of the column's height") {
  Session::Start start = opening_start();
  start.lessons = std::make_shared<const LessonList>(load_lesson_list());
  const auto script = WindowScript::open(std::move(start), 1280, 720);
  if (script == nullptr) return;
  const auto heights = [&] {
    const Layout& layout = script->frame().layout();
    return std::pair(layout.softmax.height(), layout.traffic.height());
  };
  script->command(OpenLesson{"03-one-pass", 4});  // looks at the row
  CHECK(heights().first > 1.5F * heights().second);
  script->command(OpenLesson{"01-why-memory", 1});  // looks at the traffic
  CHECK(heights().second > 1.5F * heights().first);
}

TEST_CASE("large text: on a page of a lesson no text is over another, and what scrolls says so") {
  for (const float scale : {1.0F, 1.5F, 2.0F}) {
    Session::Start start = opening_start();
    start.lessons = std::make_shared<const LessonList>(load_lesson_list());
    const auto script = WindowScript::open(std::move(start), 1280, 720, scale);
    if (script == nullptr) return;
    for (const auto& [id, page] : {std::pair{"03-one-pass", 2}, {"09-causal-balance", 2}, {"23-five-or-seven", 2}}) {
      const std::string where = fmt::format("{}:{} at {}", id, page + 1, scale);
      CAPTURE(where);
      script->command(OpenLesson{id, static_cast<std::size_t>(page)});
      script->hover(2, 2);  // no tooltip
      const TextRecording recording;
      script->frame().build(script->width(), script->height(), 1.0 / 60);
      for (const std::string& pair : recording.overlapping()) FAIL_CHECK(pair);
      const LessonPlace& place = lesson_place();
      CHECK((recording.text().find("more ▾") != std::string::npos) == (place.scroll + 1 < place.most));
      const ImGuiWindow* panel = middle_panel(*script);
      REQUIRE(panel != nullptr);
      CHECK(panel->ScrollMax.x == 0);
    }
  }
}

namespace {

/// Presents a page after its question, and returns what is on screen.
std::string answered_page(WindowScript& script, const char* id, std::size_t page) {
  script.command(OpenLesson{id, page});
  LessonAnswer none;
  none.given = false;
  script.command(AnswerLesson{std::make_shared<const LessonAnswer>(none)});
  const TextRecording recording;
  script.hover(5, 5);
  return recording.text();
}

/// Whether one of the texts is on screen, or all words of one of them, below each other.
bool says_bytes(const std::string& text, const std::string& bytes) {
  return text.find(bytes.substr(0, bytes.rfind(' '))) != std::string::npos;
}

std::int64_t moved(const Lane& lane, Tensor tensor, Link link) {
  return lane.state.traffic[tensor.index()][static_cast<std::size_t>(link)];
}

}  // namespace

TEST_CASE("large text: a presented stage and race keep every figure and do not scroll sideways") {
  for (const char* const language : {"en", "ko"})
    for (const auto& [width, height] : {std::pair{1920, 1080}, {1280, 720}})
      for (const float scale : {1.0F, 1.25F, 1.5F, 1.75F, 2.0F}) {
        const std::string where = fmt::format("{} {}x{} at {}", language, width, height, scale);
        CAPTURE(where);
        Session::Start start = opening_start();
        start.lessons = std::make_shared<const LessonList>(load_lesson_list());
        const auto script = WindowScript::open(std::move(start), width, height, scale);
        if (script == nullptr) return;
        script->command(SetPresent{true});
        script->command(SetLanguage{language});

        const std::string stage = answered_page(*script, "05-six-trips", 3);
        const ImGuiWindow* panel = middle_panel(*script);
        REQUIRE(panel != nullptr);
        CHECK(panel->ScrollMax.x == 0);
        const Lane& lane = script->view().lane();
        int tensors = 0;
        for (const Tensor tensor : lane.simulation->program->tensors()) {
          const std::int64_t up = moved(lane, tensor, Link::hbm_read), down = moved(lane, tensor, Link::hbm_write);
          if (up + down == 0) continue;
          CAPTURE(to_string(tensor));
          CHECK((says_bytes(stage, format_bytes(Bytes(up + down))) ||
                 (says_bytes(stage, format_bytes(Bytes(up))) && says_bytes(stage, format_bytes(Bytes(down))))));
          ++tensors;
        }
        CHECK(tensors >= 5);

        const std::string race = answered_page(*script, "06-flashattention-tile-by-tile", 4);
        panel = middle_panel(*script);
        REQUIRE(panel != nullptr);
        CHECK(panel->ScrollMax.x == 0);
        CAPTURE(race);
        for (const Lane& each : script->view().lanes) {
          std::int64_t bytes = 0, dirty = 0;
          for (const Tensor tensor : each.simulation->program->tensors()) {
            bytes += moved(each, tensor, Link::hbm_read) + moved(each, tensor, Link::hbm_write);
            dirty += each.state.l2.dirty[tensor.index()];
          }
          REQUIRE(dirty > 0);
          CHECK(says_bytes(race, format_bytes(Bytes(bytes))));
          CHECK(race.find("+ " + format_bytes(Bytes(dirty))) != std::string::npos);
          CHECK(race.find(format_time(each.simulation->time)) != std::string::npos);
        }
        if (std::string_view(language) != "en") continue;
        // What the first figure counts: not the one that has what is written later.
        const std::size_t during = race.find("during");
        CHECK(during != std::string::npos);
      }
}

TEST_CASE("large text: in a race a link has its bytes whole or not at all") {
  Session::Start start = opening_start();
  start.lessons = std::make_shared<const LessonList>(load_lesson_list());
  const auto script = WindowScript::open(std::move(start), 1280, 720, 1.25F);
  if (script == nullptr) return;
  answered_page(*script, "06-flashattention-tile-by-tile", 4);
  const TextRecording recording;
  script->frame().build(script->width(), script->height(), 1.0 / 60);
  const std::string text = recording.text(), each = format_bytes(Bytes(64 * 16 * 2));  // Q, K and V of both runs
  CAPTURE(text);
  int said = 0;
  for (std::size_t at = text.find(each); at != std::string::npos; at = text.find(each, at + 1)) ++said;
  CHECK(said == 1);  // the counter of what is written later, which is as much
}

TEST_CASE("bars of runs: every one says what is written after the run, and cycles with the launch say so") {
  for (const bool present : {false, true}) {
    CAPTURE(present);
    Session::Start start = opening_start();
    start.lessons = std::make_shared<const LessonList>(load_lesson_list());
    const auto script = WindowScript::open(std::move(start), 1600, 900);
    if (script == nullptr) return;
    script->command(SetPresent{present});
    answered_page(*script, "18-ignored-mask", 3);
    const TextRecording recording;
    script->frame().build(script->width(), script->height(), 1.0 / 60);
    const std::string text = recording.text();
    CAPTURE(text);
    int said = 0, owed = 0;
    for (const PageRun& run : script->view().lesson.figures->runs) owed += dirty_bytes_at_end(*run.simulation) > 0 ? 1 : 0;
    for (std::size_t at = text.find("+ 8.6"); at != std::string::npos; at = text.find("+ 8.6", at + 1)) ++said;
    CHECK(owed == 4);
    CHECK(said == owed);
    if (!present) CHECK(text.find("cycles with the launch") != std::string::npos);
  }
}

TEST_CASE("large text: a presented page that is opened at a larger size has the class of text that it has at the default size") {
  // Pages of more and more words: where the class changes, one word decides, and fonts are rounded to pixels.
  std::string lesson = "```lesson\ntitle = \"Words\"\nminutes = 1\ngoal = \"You can read.\"\n```\n";
  constexpr int pages = 40;
  std::string words;
  for (int page = 0; page < pages; ++page) {
    words += page % 2 == 0 ? "FlashAttention moves fewer " : "bytes through the ";
    lesson += fmt::format("\n## Page {}\n\n{}\n", page + 1, words);
    if (page == 0) lesson += "\n```scene\nlink = \"step=4\"\nlook = [\"stage\"]\n```\n";
    lesson +=
        "\n```ask\nkind = \"choice\"\nquestion = \"Which moves more bytes over the whole run?\"\n"
        "options = [\"The first of the two\", \"The second of the two\"]\nanswer = \"1\"\n```\n\n"
        "```reveal\nsay = \"The first.\"\nplay = \"none\"\n```\n";
  }
  const TemporaryFolder folder;
  Session::Start start = opening_start();
  start.lessons = list_of_small_lesson(folder.file("00-small.en.md", lesson));
  const auto script = WindowScript::open(std::move(start), 1280, 720);
  if (script == nullptr) return;
  script->command(SetPresent{true});
  std::vector<ReadingSize> usual;
  for (const float chosen : {1.0F, 1.1F, 1.21F}) {
    CAPTURE(chosen);
    script->command(OpenLesson{"00-small", 0});
    script->frame().set_scale(1, chosen);
    for (std::size_t page = 0; page < pages; ++page) {
      CAPTURE(page);
      script->command(OpenLesson{"00-small", page});
      REQUIRE(script->view().lesson.page == page);
      if (chosen == 1) usual.push_back(lesson_place().size);
      CHECK(lesson_place().size == usual[page]);
    }
  }
  CHECK(usual.front() != usual.back());
}

TEST_CASE("row of the softmax: in a low window its captions take fewer words, and none is cut") {
  for (const char* const link : {"step=12", "algorithm=flash2_backward&step=60"}) {
    CAPTURE(link);
    Session::Start start = opening_start();
    start.state = std::make_shared<const WindowState>(*from_link(link));
    const auto script = WindowScript::open(std::move(start), 1280, 720);
    if (script == nullptr) return;
    const TextRecording recording;
    script->hover(5, 5);
    const auto is_of_row = [](const std::string& text) {
      return text.find("still to come") != std::string::npos || text.find("seen so far") != std::string::npos ||
             text.find("whole row") != std::string::npos || text == "FlashAttention-2 backward";
    };
    for (const std::string& text : recording.cut())
      if (is_of_row(text)) FAIL_CHECK(text);
  }
}

}  // namespace tilescope
