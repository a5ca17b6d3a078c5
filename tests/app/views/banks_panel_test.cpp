// The Banks view: it draws every access, lights what bank_use() serves, follows keys and clicks, and travels in links.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "app/model/state/window_state.h"
#include "app/ui/language.h"
#include "app/ui/text_record.h"
#include "app/views/banks/banks_picture.h"
#include "tests/app/model/session/opened_session.h"
#include "tests/app/views/panel_screen.h"
#include "tests/app/views/window_script.h"

namespace tilescope {

namespace {

/// Every choice of access and layout, at its first wavefront.
std::vector<BankChoice> all_choices() {
  std::vector<BankChoice> all;
  for (const AccessPattern& pattern : access_patterns()) {
    all.push_back({std::string(pattern.id), false, 1});
    if (pattern.has_swizzle) all.push_back({std::string(pattern.id), true, 1});
  }
  return all;
}

View shown(const SessionView& view) {
  View out;
  static_cast<SessionView&>(out) = view;
  return out;
}

/// Corners of untextured shapes in a colour, in the last frame.
int corners_in(ImU32 color) {
  const ImDrawData* data = ImGui::GetDrawData();
  const ImVec2 white = ImGui::GetIO().Fonts->TexUvWhitePixel;
  int count = 0;
  for (const ImDrawList* list : data->CmdLists)
    for (const ImDrawVert& vertex : list->VtxBuffer)
      count += vertex.col == color && vertex.uv.x == white.x && vertex.uv.y == white.y ? 1 : 0;
  return count;
}

std::optional<BankChoice> asked(const std::vector<Command>& commands) {
  for (const Command& command : commands)
    if (const auto* set = std::get_if<SetBanks>(&command)) return set->choice;
  return std::nullopt;
}

std::optional<BankChoice> after_key(PanelScreen& screen, const View& view, ImGuiKey key, bool shift = false) {
  ImGuiIO& io = ImGui::GetIO();
  io.AddKeyEvent(ImGuiMod_Shift, shift);
  io.AddKeyEvent(key, true);
  const auto choice = asked(screen.frame(view, draw_banks_panel));
  io.AddKeyEvent(key, false);
  io.AddKeyEvent(ImGuiMod_Shift, false);
  screen.frame(view, draw_banks_panel);
  return choice;
}

}  // namespace

TEST_CASE("banks panel: draws every access, swizzled or not, in both themes and small windows") {
  Opened opened;
  for (const ThemeKind theme : {ThemeKind::dark, ThemeKind::light}) {
    for (const ImVec2 size : {ImVec2{1200, 700}, ImVec2{500, 385}}) {
      PanelScreen screen(size, theme);
      for (const BankChoice& choice : all_choices()) {
        CAPTURE(choice.pattern);
        const View view = shown(opened.after(SetBanks{choice}));
        CHECK(screen.frame(view, draw_banks_panel).empty());
        CHECK(screen.vertices() > 300);
      }
    }
  }
}

TEST_CASE("banks panel: the picture lights each word of bank_use() in one wavefront, and no other") {
  for (const BankChoice& choice : all_choices()) {
    const AccessPattern& pattern = pattern_of(choice);
    if (pattern.is_global) continue;
    CAPTURE(choice.pattern);
    CAPTURE(choice.swizzled);
    const WarpAccess access = pattern.access(choice.swizzled);
    const BankUse use = bank_use(access);
    const BankPicture picture = bank_picture(access);
    std::array<int, shared_banks> words{};
    std::array<std::set<int>, shared_banks> lanes;
    for (int wavefront = 1; wavefront <= use.total; ++wavefront) {
      std::array<std::set<std::int64_t>, shared_banks> lit;
      for (const BankCell& cell : picture.cells) {
        if (cell.served(wavefront) != Served::now) continue;
        lit[static_cast<std::size_t>(cell.word.bank())].insert(cell.word.word);
        lanes[static_cast<std::size_t>(cell.word.bank())].insert(cell.word.lane);
      }
      for (std::size_t bank = 0; bank < lit.size(); ++bank) {
        CHECK(lit[bank].size() <= 1);
        words[bank] += static_cast<int>(lit[bank].size());
      }
    }
    CHECK(words == use.wavefronts);
    bool meets = false;
    for (const BankCell& cell : picture.cells) meets = meets || cell.meets_another;
    CHECK(meets == (use.conflicts() > 0));
    for (std::size_t bank = 0; bank < lanes.size(); ++bank)
      CHECK(lanes[bank] == std::set<int>(use.lanes[bank].begin(), use.lanes[bank].end()));
  }
}

TEST_CASE("banks panel: as many cells are filled on screen as the wavefront serves words") {
  Opened opened;
  PanelScreen screen({1200, 700});
  std::optional<int> others;  // corners of the strip, the legend and the buttons
  for (const BankChoice& first : all_choices()) {
    if (!pattern_of(first).has_swizzle) continue;
    const BankPicture picture = bank_picture(pattern_of(first).access(first.swizzled));
    for (int wavefront : {1, 2, 3, picture.use.total}) {
      if (wavefront > picture.use.total) continue;
      CAPTURE(first.pattern);
      CAPTURE(wavefront);
      BankChoice choice = first;
      choice.wavefront = wavefront;
      screen.frame(shown(opened.after(SetBanks{choice})), draw_banks_panel);
      const auto served = picture.wavefronts[static_cast<std::size_t>(wavefront) - 1].served.size();
      const int rest = corners_in(screen.theme().accent) - 4 * static_cast<int>(served);
      if (!others) others = rest;
      CHECK(rest == *others);
    }
  }
}

TEST_CASE("banks panel: arrows step the wavefront and choose the access, X swizzles, a click on the strip goes to a wavefront") {
  Opened opened;
  PanelScreen screen({1200, 700});
  View view = shown(opened.after(SetBanks{{"ldmatrix", false, 3}}));
  screen.frame(view, draw_banks_panel);
  CHECK(after_key(screen, view, ImGuiKey_RightArrow) == BankChoice{"ldmatrix", false, 4});
  CHECK(after_key(screen, view, ImGuiKey_LeftArrow) == BankChoice{"ldmatrix", false, 2});
  CHECK(after_key(screen, view, ImGuiKey_End) == BankChoice{"ldmatrix", false, 32});
  CHECK(after_key(screen, view, ImGuiKey_Home) == BankChoice{"ldmatrix", false, 1});
  CHECK(after_key(screen, view, ImGuiKey_X) == BankChoice{"ldmatrix", true, 1});
  CHECK(after_key(screen, view, ImGuiKey_DownArrow) == BankChoice{"store_pairs", false, 1});
  CHECK_FALSE(after_key(screen, view, ImGuiKey_UpArrow).has_value());
  CHECK_FALSE(after_key(screen, view, ImGuiKey_DownArrow, true).has_value());  // a lane
  view = shown(opened.after(SetBanks{{"broadcast", false, 1}}));
  CHECK_FALSE(after_key(screen, view, ImGuiKey_RightArrow).has_value());
  CHECK_FALSE(after_key(screen, view, ImGuiKey_X).has_value());

  view = shown(opened.after(SetBanks{{"ldmatrix", false, 1}}));
  std::set<int> reached;
  for (float y = 30; y < 140; y += 10)
    for (float x = 400; x < 1190; x += 6)
      if (const auto choice = asked(screen.click(view, draw_banks_panel, {x, y}))) reached.insert(choice->wavefront);
  CHECK(reached.contains(7));
  CHECK(reached.contains(32));
}

TEST_CASE("banks panel: Shift and an arrow describe a lane with its bytes, words and banks") {
  Opened opened;
  PanelScreen screen({1200, 700});
  const View view = shown(opened.after(SetBanks{{"rows", true, 1}}));
  screen.frame(view, draw_banks_panel);
  for (int i = 0; i < 10; ++i) after_key(screen, view, ImGuiKey_DownArrow, true);
  const TextRecording recording;
  screen.frame(view, draw_banks_panel);
  // Lane 9 reads chunk 1 of row 1, which is stored as chunk 0.
  CHECK(recording.text().find("Lane 9: bytes 128–143, words 32–35, banks 0–3, wavefront 2") != std::string::npos);
}

TEST_CASE("banks panel: the hardware's counts stand beside the model's, with GPU and date") {
  Opened opened;
  PanelScreen screen({1200, 700});
  const auto text_of = [&](BankChoice choice) {
    const View view = shown(opened.after(SetBanks{std::move(choice)}));
    screen.frame(view, draw_banks_panel);
    const TextRecording recording;
    screen.frame(view, draw_banks_panel);
    return recording.text();
  };
  CHECK(text_of({"store_pairs", false, 1}).find("Measured on H200, 2026-11-24: wavefronts 8, bank conflicts 7") !=
        std::string::npos);
  CHECK(text_of({"shifted", false, 1}).find("Measured on H200, 2026-11-24: sectors 5") != std::string::npos);
}

TEST_CASE("banks panel: a choice that cannot be is refused with one sentence") {
  Opened opened;
  for (const BankChoice& choice : {BankChoice{"nonsense", false, 1}, BankChoice{"broadcast", true, 1}, BankChoice{"rows", false, 5},
                                   BankChoice{"rows", false, 0}}) {
    CAPTURE(choice.pattern);
    const SessionView view = opened.after(SetBanks{choice});
    CHECK(view.workspace->banks == BankChoice{});
    REQUIRE(view.workspace->message.has_value());
    CHECK(view.workspace->message->control == "banks");
  }
  CHECK_FALSE(opened.after(SetBanks{{"rows", true, 4}}).workspace->message.has_value());
}

TEST_CASE("banks panel: a link has the access, the layout and the wavefront") {
  const auto state = from_link("view=banks&access=column&swizzled=1&wavefront=3");
  REQUIRE(static_cast<bool>(state));
  CHECK(state->banks == BankChoice{"column", true, 3});
  CHECK(to_link(*state) == "view=banks&access=column&swizzled=1&wavefront=3");
  CHECK_FALSE(static_cast<bool>(from_link("access=colum")));
  CHECK_FALSE(static_cast<bool>(from_link("access=broadcast&swizzled=1")));
  CHECK_FALSE(static_cast<bool>(from_link("access=rows&wavefront=5")));
}

TEST_CASE("banks panel: in the window the arrows step wavefronts, not the run") {
  const auto script = WindowScript::open();
  if (script == nullptr) return;
  script->command(SetCenter{CenterView::banks});
  const auto step = script->view().playback.step;
  script->press(ImGuiKey_RightArrow);
  script->press(ImGuiKey_RightArrow);
  CHECK(script->view().workspace->banks.wavefront == 3);
  CHECK(script->view().playback.step == step);
  script->command(SetCenter{CenterView::stage});
  script->press(ImGuiKey_RightArrow);
  CHECK(script->view().workspace->banks.wavefront == 3);
  CHECK(script->view().playback.step == step + 1);
}

TEST_CASE("banks panel: Korean has the title and the reason of every access") {
  const auto korean = load_language("ko");
  REQUIRE(static_cast<bool>(korean));
  for (const AccessPattern& pattern : access_patterns()) {
    CAPTURE(std::string(pattern.id));
    CHECK((*korean)->find(pattern.title) != nullptr);
    CHECK((*korean)->find(pattern.why) != nullptr);
  }
}

TEST_CASE("banks picture: numbers in a row are written as ranges") {
  CHECK(ranges_text({}).empty());
  CHECK(ranges_text(std::array{4}) == "4");
  CHECK(ranges_text(std::array{0, 1, 2, 8, 12, 13}) == "0–2, 8, 12–13");
}

}  // namespace tilescope
