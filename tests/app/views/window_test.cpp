// The window driven without a display through a session, its pictures compared with those in tests/app/pictures.
// TILESCOPE_UPDATE_PICTURES=1 writes the pictures anew instead of comparing; look at them before committing.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <imgui_internal.h>

#include "app/model/lessons/lecture.h"
#include "app/model/lessons/lesson_list.h"
#include "app/model/run_data/sm_lanes.h"
#include "app/model/state/window_state.h"
#include "app/platform/files.h"
#include "app/platform/png.h"
#include "app/ui/text_record.h"
#include "app/ui/widgets.h"
#include "app/window.h"
#include "sim/analysis/format.h"
#include "tests/app/model/lessons/lesson_fixture.h"
#include "tests/app/picture_compare.h"
#include "tests/app/temporary_folder.h"
#include "tests/app/views/window_script.h"
#include "tests/skip.h"

using namespace tilescope;

namespace {

// Versions of fonts and rasterisers move edges and glyphs by fractions of a pixel; a panel that is missing moves far more.
constexpr double tolerated_mean = 4, tolerated_blurred = 60;

void check_picture(WindowScript& script, const std::string& name) {
  CAPTURE(name);
  const Picture picture = script.picture();
  const std::string path = fmt::format("{}/tests/app/pictures/{}.png", TILESCOPE_SOURCE_DIR, name);
  if (std::getenv("TILESCOPE_UPDATE_PICTURES") != nullptr) {
    REQUIRE(static_cast<bool>(write_file(path, encode_png(picture))));
    return;
  }
  const Result<std::string> bytes = [&]() -> Result<std::string> {
    std::ifstream file(path, std::ios::binary);
    if (!file) return Error{path + " is missing: run this test with TILESCOPE_UPDATE_PICTURES=1"};
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  REQUIRE_MESSAGE(static_cast<bool>(bytes), (bytes ? "" : bytes.error().sentence));
  const Result<Picture> expected = decode_png(*bytes, path);
  REQUIRE(static_cast<bool>(expected));
  REQUIRE(expected->width == picture.width);
  REQUIRE(expected->height == picture.height);
  const PictureDifference difference = compare_pictures(picture, *expected);
  CHECK(difference.mean <= tolerated_mean);
  CHECK(difference.blurred <= tolerated_blurred);
}

/// Clicks along the bar until a popover opens: that of the problem.
void open_problem(WindowScript& script) {
  for (float x = 620; x < 900 && !ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel); x += 20)
    script.click(x, 22);
}

void ask_for_2048_keys(WindowScript& script) {
  AttentionProblem problem = script.view().requested->request.problem;
  problem.heads = problem.kv_heads = 16;
  problem.seq_q = problem.seq_kv = 2048;
  problem.head_dim = 64;
  script.command(SetTile{std::nullopt, "block_q"});
  script.command(SetProblem{problem, "seq"});
}

}  // namespace

TEST_CASE("window: a scripted session matches its committed pictures") {
  const auto script = WindowScript::open();
  if (script == nullptr) return;
  check_picture(*script, "opening");

  const std::int64_t step = script->view().lane().step;
  script->press(ImGuiKey_RightArrow);
  CHECK(script->view().lane().step == step + 1);
  check_picture(*script, "step");

  script->press(ImGuiKey_End);
  CHECK(script->view().lane().step == script->view().lane().step_count);
  check_picture(*script, "end");

  script->press(ImGuiKey_R);
  CHECK(script->view().playback.race);
  script->command(SeekCycle{script->view().lane().simulation->trace->end_cycle() * 0.6});
  check_picture(*script, "race");
  script->press(ImGuiKey_T);
  check_picture(*script, "race_light");
  script->press(ImGuiKey_T);
  script->press(ImGuiKey_R);
  CHECK_FALSE(script->view().playback.race);

  script->command(SetGpu{"h200"});
  CHECK(script->view().lane().simulation->request.gpu.sm_count == 132);
  ask_for_2048_keys(*script);
  CHECK(script->view().lane().simulation->request.problem.seq_q == 2048);
  check_picture(*script, "h200");

  script->resize(1280, 720);
  check_picture(*script, "resized");
  script->press(ImGuiKey_T);
  CHECK(script->view().theme->kind == ThemeKind::light);
  check_picture(*script, "light");
}

TEST_CASE("window: standard attention keeps S and P in HBM, in the light theme") {
  const auto script = WindowScript::open();
  if (script == nullptr) return;
  script->command(SetAlgorithm{"standard"});
  script->command(SetThemeKind{ThemeKind::light});
  check_picture(*script, "standard_light");
}

TEST_CASE("window: SM rows match their committed pictures, alone and in a race") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  script->press(ImGuiKey_L);
  CHECK(script->view().workspace->by_sm);
  check_picture(*script, "sms");
  script->command(SetGpu{"h200"});
  ask_for_2048_keys(*script);
  script->command(SetRace{true});
  script->command(SetThemeKind{ThemeKind::light});
  check_picture(*script, "sms_race_light");
  script->command(SetRace{false});
  script->command(SetThemeKind{ThemeKind::dark});

  // A few SMs, a few thousand cycles: what was done inside the blocks of SMs out of focus.
  const ImVec2 middle = script->frame().layout().timeline.center();
  const auto scroll = [&](ImGuiKey modifier, int notches) {
    script->move(middle.x, middle.y + 10);
    if (modifier != ImGuiKey_None) script->frame().io().AddKeyEvent(modifier, true);
    for (int i = 0; i < notches; ++i) {
      script->frame().io().AddMouseWheelEvent(0, 1);
      script->frame().build(script->width(), script->height(), 1.0 / 60);
    }
    if (modifier != ImGuiKey_None) script->frame().io().AddKeyEvent(modifier, false);
    script->settle();
  };
  scroll(ImGuiMod_Ctrl, 18);
  scroll(ImGuiKey_None, 12);
  REQUIRE(script->view().lane().sm_works != nullptr);
  CHECK(script->view().lane().sm_works->of(66) != nullptr);
  check_picture(*script, "sms_zoomed");
}

TEST_CASE("window: in a race, high SM rows show the operations of both runs") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  script->command(SetGpu{"h200"});
  ask_for_2048_keys(*script);
  script->command(SetRace{true});
  script->command(SetLanes{true});
  script->settle();
  const Rect& timeline = script->frame().layout().timeline;
  script->move(timeline.min.x + 0.2F * timeline.width(), timeline.min.y + 0.35F * timeline.height());
  for (const bool rows : {true, false}) {
    if (rows) script->frame().io().AddKeyEvent(ImGuiMod_Ctrl, true);
    for (int i = 0; i < (rows ? 24 : 13); ++i) {
      script->frame().io().AddMouseWheelEvent(0, 1);
      script->frame().build(script->width(), script->height(), 1.0 / 60);
    }
    if (rows) script->frame().io().AddKeyEvent(ImGuiMod_Ctrl, false);
  }
  script->settle();
  for (const Lane& lane : script->view().lanes) CHECK(lane.sm_works != nullptr);
  check_picture(*script, "sms_race_zoomed");
}

TEST_CASE("window: Ctrl+C copies the link to what is shown, Ctrl+V opens it, Ctrl+Z and Ctrl+Y go back and forth") {
  const auto script = WindowScript::open();
  if (script == nullptr) return;
  const WindowState first = window_state_of(script->view());
  script->press(ImGuiKey_C, ImGuiMod_Ctrl);
  script->frame().select();
  const std::string link = ImGui::GetClipboardText();
  CHECK(link == "tilescope:" + to_link(first));
  script->press(ImGuiKey_RightArrow);
  script->press(ImGuiKey_RightArrow);
  script->press(ImGuiKey_T);
  const WindowState later = window_state_of(script->view());
  script->press(ImGuiKey_V, ImGuiMod_Ctrl);
  CHECK(window_state_of(script->view()) == first);
  script->press(ImGuiKey_Z, ImGuiMod_Ctrl);
  CHECK(window_state_of(script->view()) == later);
  script->press(ImGuiKey_Z, ImGuiMod_Ctrl);
  script->press(ImGuiKey_Z, ImGuiMod_Ctrl);
  CHECK(window_state_of(script->view()) == first);
  script->press(ImGuiKey_Y, ImGuiMod_Ctrl);
  script->press(ImGuiKey_Y, ImGuiMod_Ctrl);
  CHECK(window_state_of(script->view()) == later);
  ImGui::SetClipboardText("lunch at twelve");
  script->press(ImGuiKey_V, ImGuiMod_Ctrl);
  CHECK(window_state_of(script->view()) == later);
  REQUIRE(script->view().workspace->message.has_value());
}

TEST_CASE("window: a panel and a tooltip copy as text, a row a line and a column a tab") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  const auto copied = [&] {
    script->frame().io().AddKeyEvent(ImGuiMod_Shift, true);
    script->press(ImGuiKey_C, ImGuiMod_Ctrl);
    script->frame().io().AddKeyEvent(ImGuiMod_Shift, false);
    script->settle();
    script->frame().select();
    return std::string(ImGui::GetClipboardText());
  };
  const Rect traffic = script->frame().layout().traffic;
  script->move(traffic.max.x - 12, traffic.max.y - 6);
  const std::string text = copied();
  CAPTURE(text);
  CHECK(text.find("Total\t") != std::string::npos);
  CHECK(text.find("\nQ\t") != std::string::npos);
  CHECK(text.find("tilescope:") == std::string::npos);
}

TEST_CASE("window: Tab goes through the buttons, Enter presses one, Esc leaves them") {
  const auto script = WindowScript::open(1600, 900);
  if (script == nullptr) return;
  script->press(ImGuiKey_Tab);
  script->press(ImGuiKey_Enter);
  CHECK(script->view().requested->request.algorithm == "standard");
  script->press(ImGuiKey_Tab);
  script->press(ImGuiKey_Enter);
  CHECK(script->view().requested->request.algorithm == "flash1");
  const std::int64_t step = script->view().lane().step;
  script->press(ImGuiKey_RightArrow);
  CHECK(script->view().lane().step == step + 1);
  script->press(ImGuiKey_Escape);
  script->press(ImGuiKey_Enter);
  CHECK(script->view().requested->request.algorithm == "flash1");
  // To the GPU: three algorithms, Race, More.
  for (int i = 0; i < 6; ++i) script->press(ImGuiKey_Tab);
  script->press(ImGuiKey_Enter);
  CHECK(ImGui::IsPopupOpen("gpu", ImGuiPopupFlags_AnyPopupId));
  script->press(ImGuiKey_Escape);
}

TEST_CASE("window: any key or click brings the picture back from a black screen and reaches nothing under it") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  script->command(SetBlank{true});
  script->press(ImGuiKey_R);
  CHECK_FALSE(script->view().workspace->blank);
  CHECK_FALSE(script->view().playback.race);
  script->command(SetBlank{true});
  script->click(script->frame().layout().top_bar.min.x + 140, script->frame().layout().top_bar.center().y);  // an algorithm
  CHECK_FALSE(script->view().workspace->blank);
  CHECK(script->view().requested->request.algorithm == "flash2");
  script->command(AskClass{true});
  script->command(SetBlank{true});
  script->type("4");
  script->press(ImGuiKey_4);
  CHECK_FALSE(script->view().workspace->blank);
  CHECK(script->view().lecture->counts[0] == 0);
}

TEST_CASE("window: a question to the class lies below the picture, and presented beside it, at every size") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  for (const bool present : {false, true})
    for (const auto& size : {std::pair{1280, 720}, {1600, 900}, {2560, 1440}}) {
      const auto height = static_cast<float>(size.second);
      INFO(present, " ", height);
      script->resize(size.first, size.second);
      script->command(SetPresent{present});
      script->command(AskClass{true});
      const ImGuiWindow* question = ImGui::FindWindowByName("##question");
      REQUIRE(question != nullptr);
      const Layout& layout = script->frame().layout();
      CHECK(present ? layout.stage.max.x <= question->Pos.x : layout.transport.max.y <= question->Pos.y);
      CHECK(question->Pos.y + question->Size.y <= height);
      CHECK(layout.stage.height() > 200);
      script->command(AskClass{false});
      CHECK(script->frame().layout().transport.max.y > height - 20 * script->frame().theme().scale);
    }
}

TEST_CASE("window: Esc leaves the title of a scene, and keeps what was typed") {
  const auto script = WindowScript::open(1600, 900);
  if (script == nullptr) return;
  script->command(BookmarkState{});
  script->command(ShowScenes{true});
  ImGuiWindow* const list = ImGui::FindWindowByName("##scenes");
  REQUIRE(list != nullptr);
  const auto hint_at = [&](float y) {
    script->hover(list->Pos.x + 40, y);
    return ImGui::GetCurrentContext()->HoveredId == list->GetID("##title");
  };
  float y = list->Pos.y;
  while (y < list->Pos.y + list->Size.y && !hint_at(y)) y += 6;
  REQUIRE(hint_at(y));
  script->click(list->Pos.x + 40, y);
  script->type("Four SMs");
  script->press(ImGuiKey_Escape);
  CHECK(script->view().lecture->at(0)->title == "Four SMs");
  CHECK(script->view().lecture->listed);
  script->command(Undo{});
  CHECK(script->view().lecture->at(0)->title.empty());
}

TEST_CASE("window: the tabs of the middle stay where they are in every view") {
  const auto script = WindowScript::open(1600, 900);
  if (script == nullptr) return;
  const Layout& layout = script->frame().layout();
  const float y = layout.stage.min.y + 18 * script->frame().theme().scale;
  const auto tab_at = [&](float x) {
    script->hover(x, y);
    const std::optional<TextAt> text = text_under_mouse();
    return text ? text->text : std::string();
  };
  float sweep = layout.stage.min.x;
  while (sweep < layout.stage.max.x && tab_at(sweep) != "Sweep") sweep += 4;
  REQUIRE(tab_at(sweep) == "Sweep");
  for (const CenterView view : {CenterView::roofline, CenterView::banks, CenterView::stage}) {
    script->command(SetCenter{view});
    CHECK(tab_at(sweep) == "Sweep");
  }
}

TEST_CASE("window: the top bar of 1280x720 has undo and redo") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  const Rect bar = script->frame().layout().top_bar;
  std::set<std::string> found;
  for (float x = bar.max.x - 260; x < bar.max.x; x += 6) {
    script->hover(x, bar.center().y);
    script->hover(x, bar.center().y);
    found.insert(shown_tooltip());
  }
  const auto has = [&](std::string_view start) {
    return std::ranges::any_of(found, [&](const std::string& each) { return each.starts_with(start); });
  };
  CHECK(has("Undo"));
  CHECK(has("Redo"));
  CHECK(has("Links"));
}

TEST_CASE("window: F5 begins a deck at its first scene; Shift and F5, and F11, present what is on screen") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  script->command(BookmarkState{});
  script->command(SetAlgorithm{"flash1"});
  script->command(BookmarkState{});
  CHECK(script->view().lecture->scene() == 1);
  for (const bool shift : {true, false}) {
    shift ? script->press(ImGuiKey_F5, ImGuiMod_Shift) : script->press(ImGuiKey_F11);
    CHECK(script->view().workspace->present);
    CHECK(script->view().lecture->scene() == 1);
    CHECK(script->view().requested->request.algorithm == "flash1");
    script->press(ImGuiKey_Escape);
  }
  script->press(ImGuiKey_F5);
  CHECK(script->view().workspace->present);
  CHECK(script->view().lecture->scene() == 0);
  CHECK(script->view().requested->request.algorithm == "flash2");
  script->press(ImGuiKey_PageDown);
  script->press(ImGuiKey_F5);  // of one who presents already
  CHECK(script->view().lecture->scene() == 1);
}

TEST_CASE("window: presenting keeps the numbers of the row at 1280x720 and 1600x900") {
  for (const auto& [width, height] : {std::pair{1280, 720}, {1600, 900}}) {
    const auto script = WindowScript::open(width, height);
    if (script == nullptr) return;
    script->press(ImGuiKey_F5);
    const Layout& layout = script->frame().layout();
    CHECK(layout.softmax.height() > 0.4F * static_cast<float>(height));
    CHECK(layout.stage.width() > 0.6F * static_cast<float>(width));
    script->move(layout.softmax.center().x, layout.softmax.max.y - 6);
    script->frame().io().AddKeyEvent(ImGuiMod_Shift, true);
    script->press(ImGuiKey_C, ImGuiMod_Ctrl);
    script->frame().select();
    const std::string text = ImGui::GetClipboardText();
    CAPTURE(text);
    for (const char* label : {"\nm\t", "\nα\t", "\nℓ\t", "\nO["}) CHECK(text.find(label) != std::string::npos);
  }
}

TEST_CASE("window: a notice stands in the transport bar, over no panel, and the list of scenes says what is wrong with a deck") {
  const TemporaryFolder folder;
  Session::Start start = opening_start();
  start.lessons = list_of_small_lesson(folder.file("00-small.en.md", small_lesson));
  const auto script = WindowScript::open(std::move(start), 1280, 720);
  if (script == nullptr) return;
  const auto notice = [] {
    const ImGuiWindow* window = ImGui::FindWindowByName("##message");
    return window != nullptr && window->Active ? window : nullptr;
  };
  script->command(OpenLesson{"00-small"});
  CHECK(notice() == nullptr);
  script->command(SetRace{true});  // the question waits
  REQUIRE(notice() != nullptr);
  const Layout& layout = script->frame().layout();
  CHECK(notice()->Pos.x >= layout.lesson.max.x);
  CHECK(notice()->Pos.y >= layout.transport.min.y - 0.25F * layout.transport.height());
  CHECK(notice()->Pos.y + notice()->Size.y <= layout.transport.max.y);
  CHECK(notice()->Pos.x + notice()->Size.x <= layout.transport.max.x);
  script->command(CloseLesson{});
  script->command(OpenDeck{"/nonexistent/deck.toml"});
  CHECK(notice() != nullptr);
  script->command(ShowScenes{true});
  CHECK(notice() == nullptr);
}

TEST_CASE("window: the offer to go on where the last window was covers no panel") {
  const auto script = WindowScript::open(opening_start(), 1280, 720, 1, std::make_shared<const WindowState>());
  if (script == nullptr) return;
  const auto offer = [] {
    const ImGuiWindow* window = ImGui::FindWindowByName("##left over");
    return window != nullptr && window->Active ? window : nullptr;
  };
  for (const CenterView view : {CenterView::stage, CenterView::fit}) {
    script->command(SetCenter{view});
    REQUIRE(offer() != nullptr);
    CHECK(offer()->Pos.y >= script->frame().layout().transport.max.y);
    CHECK(offer()->Pos.y + offer()->Size.y <= 720);
  }
}

TEST_CASE("window: in a race the bytes are on the cards, and the bar below names the run whose time it says") {
  const auto script = WindowScript::open(opening_start(), 1600, 900);
  if (script == nullptr) return;
  const auto bar_text = [&] {
    const TextRecording recording;
    script->hover(5, 5);
    const std::string all = recording.text();
    return all.substr(all.rfind("Step "));
  };
  CHECK(bar_text().find("HBM ") != std::string::npos);
  script->command(SetRace{true});
  const std::string raced = bar_text();
  CAPTURE(raced);
  CHECK(raced.find("HBM ") == std::string::npos);
  CHECK(raced.find("Flash-2 · Whole run: ") != std::string::npos);
}

TEST_CASE("window: a finished race says of both runs what limits them") {
  const auto script = WindowScript::open(opening_start(), 1280, 720);
  if (script == nullptr) return;
  script->command(SetRace{true});
  script->command(SetPresent{true});
  const auto limits = [&] {
    const TextRecording recording;
    script->hover(5, 5);
    const std::string text = recording.text();
    int found = 0;
    for (std::size_t at = text.find("Bottleneck: "); at != std::string::npos; at = text.find("Bottleneck: ", at + 1)) ++found;
    return found;
  };
  CHECK(limits() == 0);  // a class still guesses
  script->command(SeekCycle{1e12});
  CHECK(limits() == 2 * 2);  // in two frames
}

TEST_CASE("window: rows of SMs and the bar below add up to one time, with the first launch") {
  const auto script = WindowScript::open(opening_start(), 1600, 900);
  if (script == nullptr) return;
  script->command(SetGpu{"h200"});
  ask_for_2048_keys(*script);
  script->command(SetLanes{true});
  script->settle();
  const Simulation& run = *script->view().lane().simulation;
  const double first = run.request.gpu.launch_first_ns, blocks = run.trace->end_cycle() / run.request.gpu.sm_clock_hz * 1e9;
  REQUIRE(first > 0);
  CHECK(run.time.value == doctest::Approx(blocks + first).epsilon(1e-3));
  const TextRecording recording;
  script->hover(5, 5);
  const std::string text = recording.text(),
                    both = format_time(Nanoseconds(blocks)) + " + " + format_time(Nanoseconds(first)) + " to launch";
  CAPTURE(text);
  CHECK(text.find(both) != std::string::npos);
  // The bar has the time of the other views, with its clock; the rows have the clock that they are drawn at.
  const RunUnderLoad* const loaded = script->view().studies->under_load.get();
  REQUIRE(loaded != nullptr);
  CHECK(text.find("Whole run: " + format_time(loaded->simulation->time)) != std::string::npos);
  CHECK(text.find(both + " at " + format_clock(run.request.gpu.sm_clock_hz)) != std::string::npos);
}

TEST_CASE("window: presented, the rows of a tile of 16 keep the digits of m, m′, α and ℓ, and the chosen row all of its figures") {
  for (const auto& [width, height] : {std::pair{1280, 720}, {1600, 900}, {2560, 1440}}) {
    CAPTURE(width);
    const auto script = WindowScript::open(opening_start(), width, height);
    if (script == nullptr) return;
    script->command(SetPresent{true});
    script->command(SelectRow{2});
    script->command(SeekStep{20});
    const TextRecording recording;
    script->hover(5, 5);
    const std::string text = recording.text();
    CAPTURE(text);
    for (const char* each : {"m = 2.039", "m′ = 2.663", "scores, grey: still to come", "Never"})
      CHECK(text.find(each) != std::string::npos);
    // "1.72", ".293" and "10.3", in the two frames of hover().
    int numbers = 0;
    std::istringstream words(text);
    for (std::string word; words >> word;)
      numbers += word.size() == 4 && word.find_first_not_of("0123456789.") == std::string::npos ? 1 : 0;
    CHECK(numbers >= 2 * 4 * 16);
  }
}

TEST_CASE("window: a race gives both largest differences from float64 at 1280x720 and 1600x900") {
  for (const auto& [width, height] : {std::pair{1280, 720}, {1600, 900}}) {
    CAPTURE(width);
    const auto script = WindowScript::open(opening_start(), width, height);
    if (script == nullptr) return;
    script->command(SetRace{true});
    script->command(SeekCycle{1e12});
    const Exactness* const exact = script->view().studies->exactness.get();
    REQUIRE(exact != nullptr);
    const TextRecording recording;
    script->hover(5, 5);
    const std::string text = recording.text();
    CAPTURE(text);
    const std::size_t at = text.find("float64");
    REQUIRE(at != std::string::npos);
    const std::string line = text.substr(at, text.find('\n', at) - at);
    CHECK(line.find(format_value(exact->first_error)) != std::string::npos);
    CHECK(line.find(format_value(exact->second_error)) != std::string::npos);
  }
}

TEST_CASE("window: a race that is too large to execute says so, and with how many queries O would be compared") {
  Session::Start start = opening_start();
  start.request.problem.seq_q = start.request.problem.seq_kv = 2048;
  const auto script = WindowScript::open(std::move(start), 1600, 900);
  if (script == nullptr) return;
  script->command(SetRace{true});
  script->command(SeekCycle{1e12});
  CHECK(script->view().studies->exactness == nullptr);
  const auto fits = queries_that_can_be_compared(*script->view().lanes.front().simulation, *script->view().lanes.back().simulation);
  REQUIRE(fits == 1024);
  const TextRecording recording;
  script->hover(5, 5);
  const std::string text = recording.text();
  CHECK(text.find("would take too long. Choose N " + format_count(1024) + " or less.") != std::string::npos);
}

TEST_CASE("window: presented, a lecture of scenes says what the next press of the clicker does") {
  const auto script = WindowScript::open(opening_start(), 1280, 720);
  if (script == nullptr) return;
  const auto text = [&] {
    const TextRecording recording;
    script->hover(5, 5);
    return recording.text();
  };
  const auto told = [&] {
    const std::string all = text();
    for (const char* each :
         {"Page Down: the first scene", "Page Down: the next step", "Page Down: the next scene", "This is the last scene."})
      if (all.find(each) != std::string::npos) return std::string(each);
    return std::string();
  };
  script->command(SetPresent{true});
  CHECK(told().empty());
  script->command(BookmarkState{});
  Scene walked = *script->view().lecture->shown();
  walked.steps = StepRange{script->view().lane().step, script->view().lane().step + 1};
  script->command(EditScene{0, std::make_shared<const Scene>(walked)});
  script->command(BookmarkState{});
  CHECK(told() == "This is the last scene.");
  script->command(GoToScene{0});
  CHECK(told() == "Page Down: the next step");
  CHECK(text().find("Ctrl+Page Down: the next scene") != std::string::npos);
  script->press(ImGuiKey_PageDown, ImGuiMod_Ctrl);  // whatever steps are left
  CHECK(script->view().lecture->scene() == 1);
  script->press(ImGuiKey_PageDown, ImGuiMod_Ctrl);  // there is none
  CHECK(script->view().lecture->scene() == 1);
  script->press(ImGuiKey_PageUp, ImGuiMod_Ctrl);
  CHECK(script->view().lecture->scene() == 0);
  script->press(ImGuiKey_PageDown);
  CHECK(told() == "Page Down: the next scene");
  script->press(ImGuiKey_PageDown);
  CHECK(script->view().lecture->scene() == 1);
}

TEST_CASE("window: at 1280x720 a race keeps the pictures of both runs while the class is asked") {
  const auto script = WindowScript::open(opening_start(), 1280, 720);
  if (script == nullptr) return;
  script->command(SetRace{true});
  script->command(BookmarkState{});
  Scene asks = *script->view().lecture->shown();
  asks.question =
      ClassQuestion{"Which run moves fewer bytes between HBM and the L2?", {"Standard", "FlashAttention-2", "Neither"}, 2};
  script->command(EditScene{0, std::make_shared<const Scene>(asks)});
  script->press(ImGuiKey_F5);
  const auto text = [&] {
    const TextRecording recording;
    script->hover(5, 5);
    return recording.text();
  };
  CHECK(text().find("SM 0 · scores") != std::string::npos);
  script->press(ImGuiKey_Q);
  REQUIRE(script->view().lecture->asking);
  CHECK(text().find("SM 0 · scores") != std::string::npos);
  const ImGuiWindow* question = ImGui::FindWindowByName("##question");
  REQUIRE(question != nullptr);
  CHECK(question->ScrollMax.y == 0);
  CHECK(question->Pos.x >= script->frame().layout().stage.max.x);
}

TEST_CASE("window: every key of the help sheet does what it says") {
  const auto script = WindowScript::open();
  if (script == nullptr) return;
  const std::int64_t step = script->view().lane().step;
  script->press(ImGuiKey_PageDown);
  CHECK(script->view().lane().step == step + 1);
  script->press(ImGuiKey_PageUp);
  script->press(ImGuiKey_LeftArrow);
  CHECK(script->view().lane().step == step - 1);
  script->press(ImGuiKey_Home);
  CHECK(script->view().lane().step == 0);
  script->press(ImGuiKey_RightArrow, ImGuiMod_Shift);
  const std::int64_t tile = script->view().lane().step;
  CHECK(tile >= 1);
  script->press(ImGuiKey_RightArrow, ImGuiMod_Shift);
  CHECK(script->view().lane().step > tile + 1);
  script->press(ImGuiKey_End);
  CHECK(script->view().lane().step == script->view().lane().step_count);
  script->press(ImGuiKey_LeftArrow, ImGuiMod_Ctrl);
  CHECK(script->view().lane().step < script->view().lane().step_count);

  script->type("+");
  CHECK(script->view().playback.speed == 2);
  script->type("-");
  script->type("-");
  CHECK(script->view().playback.speed == 0.5);
  script->type("?");
  CHECK(script->view().workspace->help);
  script->press(ImGuiKey_Escape);
  CHECK_FALSE(script->view().workspace->help);
  for (const ImGuiKey key : {ImGuiKey_F5, ImGuiKey_F11}) {
    script->press(key);
    CHECK(script->view().workspace->present);
    script->press(ImGuiKey_Escape);
    CHECK_FALSE(script->view().workspace->present);
  }
  for (const ImGuiKey key : {ImGuiKey_B, ImGuiKey_Period}) {
    if (key == ImGuiKey_Period)
      script->type(".");
    else
      script->press(key);
    CHECK(script->view().workspace->blank);
    script->press(ImGuiKey_PageDown);
    CHECK_FALSE(script->view().workspace->blank);
  }
  script->press(ImGuiKey_Q);
  CHECK(script->view().lecture->asking);
  script->type("4");  // raised hands
  script->press(ImGuiKey_4);
  CHECK(script->view().lecture->counts[0] == 4);
  CHECK(script->view().workspace->center == CenterView::stage);
  script->press(ImGuiKey_Q);
  CHECK_FALSE(script->view().lecture->asking);
  script->press(ImGuiKey_Q);
  CHECK(script->view().lecture->asking);
  script->press(ImGuiKey_Escape);
  CHECK_FALSE(script->view().lecture->asking);
  script->press(ImGuiKey_D);
  CHECK(script->view().lecture->listed);
  script->press(ImGuiKey_Escape);
  CHECK_FALSE(script->view().lecture->listed);
  script->press(ImGuiKey_D, ImGuiMod_Ctrl);
  CHECK(script->view().lecture->count() == 1);
  CHECK_FALSE(script->view().lecture->listed);
  script->press(ImGuiKey_T);
  CHECK(script->view().theme->kind == ThemeKind::light);
}

TEST_CASE("window: a Ctrl shortcut works even if Ctrl is released first within a frame") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  script->press(ImGuiKey_End);
  const std::int64_t last = script->view().lane().step;
  const auto ctrl_first = [&](ImGuiKey key) {
    ImGuiIO& io = script->frame().io();
    io.AddKeyEvent(ImGuiMod_Ctrl, true);
    script->frame().build(1280, 720, 0.01);
    io.AddKeyEvent(key, true);
    io.AddKeyEvent(ImGuiMod_Ctrl, false);
    io.AddKeyEvent(key, false);
    script->settle();
  };
  ctrl_first(ImGuiKey_LeftArrow);
  CHECK(script->view().lane().step < last - 1);
  ctrl_first(ImGuiKey_Equal);
  CHECK(script->frame().take_text_scale_change() > 1);
}

TEST_CASE("window: after a key press, tooltips are hidden until the mouse moves") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  const auto tooltips = [] {
    return std::ranges::count_if(ImGui::GetCurrentContext()->Windows, [](const ImGuiWindow* window) {
      return std::string_view(window->Name).starts_with("##Tooltip") && window->WasActive && !window->Hidden;
    });
  };
  const Rect transport = script->frame().layout().transport;
  script->move(transport.min.x + 36, transport.center().y);
  REQUIRE(tooltips() == 1);
  script->press(ImGuiKey_RightArrow);
  CHECK(tooltips() == 0);
  script->move(transport.min.x + 38, transport.center().y);
  CHECK(tooltips() == 1);
  // The laser pointer points at what a tooltip would cover.
  script->frame().io().AddMouseButtonEvent(ImGuiMouseButton_Middle, true);
  script->hover(transport.min.x + 37, transport.center().y);
  CHECK(tooltips() == 0);
  script->frame().io().AddMouseButtonEvent(ImGuiMouseButton_Middle, false);
  script->move(transport.min.x + 38, transport.center().y);
  CHECK(tooltips() == 1);
}

TEST_CASE("window: space plays and stops") {
  const auto script = WindowScript::open();
  if (script == nullptr) return;
  script->session().apply(SetSpeed{0.05});
  ImGuiIO& io = script->frame().io();
  io.AddKeyEvent(ImGuiKey_Space, true);
  script->frame().build(960, 540, 0.01);
  io.AddKeyEvent(ImGuiKey_Space, false);
  script->frame().build(960, 540, 0.01);
  CHECK(script->view().playback.playing);
  CHECK(script->frame().wants_frame());
  io.AddKeyEvent(ImGuiKey_Space, true);
  script->frame().build(960, 540, 0.01);
  script->frame().build(960, 540, 0.01);
  CHECK_FALSE(script->view().playback.playing);
}

TEST_CASE("window: a settled window requests no frames") {
  const auto script = WindowScript::open();
  if (script == nullptr) return;
  CHECK_FALSE(script->frame().wants_frame());
}

TEST_CASE("window: fast typing is processed in full before frames stop") {
  const auto script = WindowScript::open(1600, 900);
  if (script == nullptr) return;
  script->settle();
  const double speed = script->view().playback.speed;
  for (int i = 0; i < 12; ++i) {
    ImGuiIO& io = script->frame().io();
    io.AddKeyEvent(ImGuiKey_Equal, true);
    io.AddInputCharacter('+');
    io.AddKeyEvent(ImGuiKey_Equal, false);
  }
  int frames = 0;
  for (; frames < 500 && script->frame().wants_frame(); ++frames) script->frame().build(1600, 900, 0.1);  // slow ones
  CHECK(frames < 500);
  CHECK(ImGui::GetCurrentContext()->InputEventsQueue.Size == 0);
  CHECK(script->view().playback.speed > speed);
}

TEST_CASE("window: changing the language rebuilds the fonts") {
  const auto script = WindowScript::open(1600, 900);
  if (script == nullptr) return;
  for (const char* language : {"ko", "en", "ko"}) {
    const Picture before = script->picture();
    script->command(SetLanguage{language});
    CHECK(script->picture().rgba != before.rgba);
  }
}

TEST_CASE("window: clicking an algorithm's pill simulates it") {
  const auto script = WindowScript::open(1600, 900);
  if (script == nullptr) return;
  // The pills start right of the title: click along the bar until the first one answers.
  for (float x = 110; x < 300 && script->view().requested->request.algorithm == "flash2"; x += 20) script->click(x, 22);
  CHECK(script->view().requested->request.algorithm == "standard");
  CHECK(script->view().lane().simulation->request.algorithm == "standard");
}

TEST_CASE("window: digits do not change the view over a popover, and one click edits a number") {
  const auto script = WindowScript::open(1600, 900);
  if (script == nullptr) return;
  open_problem(*script);
  script->press(ImGuiKey_2);
  CHECK(script->view().workspace->center == CenterView::stage);
  // The rows of the popover from the top down: the one that answers with N is the one that is meant.
  for (float y = 204; y < 340 && script->view().requested->request.problem.seq_q != 32; y += 8) {
    script->click(924, y);
    if (!ImGui::GetIO().WantTextInput) continue;
    script->type("32");
    script->press(ImGuiKey_Enter);
  }
  CHECK(script->view().requested->request.problem.seq_q == 32);
  CHECK(script->view().workspace->center == CenterView::stage);
}

TEST_CASE("window: Esc takes back a half-typed number, and the playhead stays at its step") {
  const auto script = WindowScript::open(1600, 900);
  if (script == nullptr) return;
  const std::int64_t step = script->view().lane().step_count - 1;
  script->command(SeekStep{step});
  open_problem(*script);
  for (float y = 204; y < 340 && script->view().requested->request.problem.seq_q != 16; y += 8) {
    script->click(924, y);
    if (!ImGui::GetIO().WantTextInput) continue;
    script->type("16");
    if (script->view().requested->request.problem.seq_q != 16) script->press(ImGuiKey_Escape);
  }
  REQUIRE(script->view().lane().step_count < step);  // simulated while it was typed
  script->press(ImGuiKey_Escape);
  CHECK(script->view().requested->request.problem.seq_q == 64);
  CHECK(script->view().lane().step == step);
}

TEST_CASE("window: a typed number that was kept leaves the playhead where it is when the next one makes the run longer") {
  const auto script = WindowScript::open(1600, 900);
  if (script == nullptr) return;
  const std::int64_t step = script->view().lane().step_count - 1;
  script->command(SeekStep{step});
  open_problem(*script);
  const auto keep_rows = [&](const std::string& text) {
    const auto typed = [&] { return std::to_string(script->view().requested->request.problem.seq_q) == text; };
    for (float y = 204; y < 340 && !typed(); y += 8) {
      script->click(924, y);
      if (!ImGui::GetIO().WantTextInput) continue;
      script->type(text.c_str());
      script->press(typed() ? ImGuiKey_Enter : ImGuiKey_Escape);
    }
    return typed();
  };
  REQUIRE(keep_rows("16"));
  const std::int64_t shown = script->view().lane().step;
  REQUIRE(shown < step);
  REQUIRE(keep_rows("64"));
  CHECK(script->view().lane().step == shown);
}

TEST_CASE("window: a splitter can be dragged, and a double click resets it") {
  const auto script = WindowScript::open(1600, 900);
  if (script == nullptr) return;
  const Rect splitter = script->frame().layout().splitters[0];
  script->drag(splitter.center(), {splitter.center().x + 80, splitter.center().y});
  CHECK(script->frame().layout().listing.width() == doctest::Approx(380).epsilon(0.02));
}

TEST_CASE("window: every panel draws alone, at every step, in every program, small and large") {
  const auto script = WindowScript::open();
  if (script == nullptr) return;
  for (const ProgramInfo& info : program_table()) {
    CAPTURE(info.id);
    script->command(SetAlgorithm{std::string(info.id)});
    const std::int64_t last = script->view().lane().step_count;
    for (const auto& [width, height] : {std::pair{1600, 900}, std::pair{640, 400}}) {
      for (std::int64_t step = 0; step <= last; step += std::max<std::int64_t>(1, last / 6)) {
        script->session().apply(SeekStep{step});
        script->frame().build(width, height, 0.05);
      }
    }
    CHECK(script->view().lanes.size() == 1);
  }
}

TEST_CASE("render: the same step gives the same bytes, in both themes, for every panel") {
  RenderOptions options;
  options.request = opening_start().request;
  options.width = 800;
  options.height = 500;
  options.step = 12;
  std::set<std::string> different;
  for (std::string panel : {"", "listing", "stage", "softmax", "traffic", "timeline", "race"}) {
    for (ThemeKind theme : {ThemeKind::dark, ThemeKind::light}) {
      CAPTURE(panel);
      options.panel = panel;
      options.theme = theme;
      std::array<std::string, 2> bytes;
      for (std::string& one : bytes) {
        const Result<RenderedPicture> done = render_picture(options);
        if (!done && done.error().kind == Error::Kind::machine_lacks) {
          skip_test(done.error().sentence);
          return;
        }
        REQUIRE(static_cast<bool>(done));
        one = done->png;
      }
      CHECK(bytes[0] == bytes[1]);
      CHECK(bytes[0].size() > 1000);
      different.insert(bytes[0]);
    }
  }
  CHECK(different.size() == 14);
}

TEST_CASE("render: an impossible picture is one sentence") {
  RenderOptions options;
  options.request = opening_start().request;
  const auto sentence = [](const RenderOptions& asked) {
    const Result<RenderedPicture> done = render_picture(asked);
    return done ? std::string() : done.error().sentence.text();
  };
  RenderOptions panel = options;
  panel.panel = "nowhere";
  CHECK(sentence(panel).find("stage") != std::string::npos);
  RenderOptions step = options;
  step.step = 1000000;
  CHECK(sentence(step).find("1000000") != std::string::npos);
  RenderOptions tile = options;
  tile.request.tile = TileShape{0, 16};
  CHECK_FALSE(sentence(tile).empty());
  RenderOptions language = options;
  language.language = "xx";
  CHECK_FALSE(sentence(language).empty());
  RenderOptions size = options;
  size.width = 1000000;
  CHECK(sentence(size).find("1000000") != std::string::npos);
}

TEST_CASE("window: a small window needs no scrolling, in any program and in a race") {
  const auto script = WindowScript::open(1024, 640);
  if (script == nullptr) return;
  for (const auto& [width, height] : {std::pair(1024, 640), {960, 600}, {800, 500}}) {
    const int wide = width;  // a lambda of Clang captures no structured binding
    CAPTURE(wide);
    script->resize(width, height);
    for (const ProgramInfo& info : program_table()) {
      CAPTURE(info.id);
      script->command(SetAlgorithm{std::string(info.id)});
      for (const bool race : {false, true}) {
        script->command(SetRace{race});
        CAPTURE(race);
        script->frame().io();  // makes its context the current one
        for (const ImGuiWindow* window : ImGui::GetCurrentContext()->Windows) {
          const std::string_view name = window->Name;
          CAPTURE(name);
          if (!window->WasActive || (name.find("stage") == name.npos && name.find("race") == name.npos)) continue;
          CHECK(window->ScrollMax.x <= 1);
          CHECK(window->ScrollMax.y <= 1);
        }
      }
      script->command(SetRace{false});
    }
  }
}
