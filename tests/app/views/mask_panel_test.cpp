// The Mask view: averages are true, texts complete and wrap, and the panel draws every preset.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <imgui_internal.h>

#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/lesson_list.h"
#include "app/views/mask/mask_cuda.h"
#include "app/views/mask/mask_editor.h"
#include "app/views/mask/mask_picture.h"
#include "app/views/panels.h"
#include "sim/analysis/format.h"
#include "sim/masks/expression.h"
#include "sim/masks/expression_mask.h"
#include "sim/masks/score_change.h"
#include "sim/programs/attention_tensors.h"
#include "tests/app/model/session/opened_session.h"
#include "tests/app/views/panel_screen.h"

namespace tilescope {

namespace {

MaskChoice of_preset(std::string request) {
  MaskChoice choice;
  choice.presets = {std::move(request)};
  return choice;
}

}  // namespace

TEST_CASE("mask picture: where blocks are smaller than a pixel, a pixel is the mean of its blocks") {
  const Theme theme = make_theme(ThemeKind::dark, 1);
  AttentionProblem p;
  p.seq_q = p.seq_kv = 256;
  MaskChoice choice;
  choice.masks = {"kv // 4 % 4 == 0"};  // one block column of four is full
  const auto made = make_mask_picture(choice, p, {4, 4}, 0);
  REQUIRE(made);
  const Rect canvas = {{0, 0}, {16, 16}};
  const std::vector<ImU32> pixels = average_colors(**made, theme, MaskColors::state, whole_plane(p, canvas), 16, 16);
  const ImVec4 full = ImGui::ColorConvertU32ToFloat4(mask_color(theme, MaskColors::state, TileVisibility::full, true, 0)),
               empty = ImGui::ColorConvertU32ToFloat4(mask_color(theme, MaskColors::state, TileVisibility::empty, true, 0));
  for (const ImU32 pixel : pixels) {
    const ImVec4 mean = ImGui::ColorConvertU32ToFloat4(pixel);
    CHECK(mean.x == doctest::Approx(0.25F * full.x + 0.75F * empty.x).epsilon(0.02));
    CHECK(mean.y == doctest::Approx(0.25F * full.y + 0.75F * empty.y).epsilon(0.02));
    CHECK(mean.w == 1);
  }
}

TEST_CASE("mask picture: empty, partial and full differ in brightness, in both themes") {
  for (const ThemeKind kind : {ThemeKind::dark, ThemeKind::light}) {
    const Theme theme = make_theme(kind, 1);
    const auto color = [&](TileVisibility visibility) { return mask_color(theme, MaskColors::state, visibility, true, 0); };
    const ImU32 empty = color(TileVisibility::empty), partial = color(TileVisibility::partial), full = color(TileVisibility::full);
    CHECK(contrast_ratio(empty, partial) >= 2.5);
    CHECK(contrast_ratio(partial, full) >= 3);
    CHECK(contrast_ratio(empty, full) >= 7);
  }
}

TEST_CASE("mask picture: zooming keeps the point under the mouse, and never leaves the plane") {
  AttentionProblem p;
  p.seq_q = p.seq_kv = 1000;
  const Rect canvas = {{10, 20}, {510, 520}};
  MaskWindow window = whole_plane(p, canvas);
  CHECK(window.pixels == 0.5);
  const ImVec2 at = {260, 120};
  const double key = window.key_at(canvas, at.x), query = window.query_at(canvas, at.y);
  window = zoomed(window, p, canvas, at, 4);
  CHECK(window.key_at(canvas, at.x) == doctest::Approx(key));
  CHECK(window.query_at(canvas, at.y) == doctest::Approx(query));
  window = moved(window, p, canvas, {1e6F, 1e6F});
  CHECK(window.key == 0);
  CHECK(window.query == 0);
  CHECK(zoomed(window, p, canvas, at, 1e-6) == whole_plane(p, canvas));
}

TEST_CASE("mask difference: elements that one of two masks alone leaves visible are counted by block and drawn") {
  // An element-wise mistake: one key too many in each row, and the first key of the later rows missing.
  Session::Start start = opening_start();
  start.request.algorithm = "flex";
  start.request.masking.masks = {"q >= kv"};
  const Opened right(start);
  MaskChoice wrong;
  wrong.masks = {"q + 1 >= kv && (q < 32 || kv > 0)"};
  const SimulationRequest& request = right.view().lane().simulation->request;
  AttentionProblem problem = request.problem;
  problem.mask = nullptr;
  const auto picture = *make_mask_picture(wrong, problem, {16, 16}, 0);
  const auto difference = compare_masks(picture, right.view().lane().simulation);
  REQUIRE(difference);
  const std::int64_t n = problem.seq_q;
  REQUIRE(n == 64);
  CHECK(difference->only_here == n - 1);
  CHECK(difference->only_there == 32);
  CHECK(difference->blocks.size() == 4 + 3 + 2);  // on the diagonal, right of it, and in the first column of the later rows
  for (const MaskDifference::Block& block : difference->blocks) CHECK(block.here + block.there > 0);

  const Theme theme = make_theme(ThemeKind::dark, 1);
  const Rect canvas = {{0, 0}, {64, 64}};
  const MaskWindow window = whole_plane(problem, canvas);
  const auto faint = make_mask_quads(*picture, nullptr, theme, MaskColors::difference, window, canvas);
  CHECK(make_difference_quads(*difference, nullptr, theme, window, canvas)->size() == faint->size() + difference->blocks.size());
  const auto legend = mask_legend(*difference, theme);
  CHECK(legend[0].text == "only here: 63");
  CHECK(legend[1].text == "only in the other mask: 32");
}

TEST_CASE("mask view: a pinned run with another mask gives a map of where the two differ") {
  Opened opened;
  opened.after(PinRun{});
  opened.after(SetCenter{CenterView::mask});
  CHECK(opened.view().mask.difference == nullptr);
  AttentionProblem causal = opened.view().requested->request.problem;
  causal.causal = true;
  opened.after(SetProblem{causal, "causal"});
  View view;
  static_cast<SessionView&>(view) = opened.view();
  REQUIRE(view.mask.difference != nullptr);
  CHECK(view.mask.difference->only_here == 0);
  CHECK(view.mask.difference->only_there == 64 * 63 / 2);
  PanelScreen screen({1200, 800});
  CHECK(screen.text(view, draw_mask_panel).find("The masks differ in") == std::string::npos);
  ViewChoices views = view.workspace->views;
  views.mask.shows = MaskShows::difference;
  static_cast<SessionView&>(view) = opened.after(SetViews{views});
  const std::string text = screen.text(view, draw_mask_panel);
  CAPTURE(text);
  CHECK(text.find("0 are visible only here, " + format_count(64 * 63 / 2) + " only in the other mask") != std::string::npos);
  CHECK(text.find("The other mask is that of pinned 1: no mask.") != std::string::npos);
}

TEST_CASE("lesson 17: after the answer the map shows where the mistaken mask differs from the right one") {
  Session::Start start = opening_start();
  start.lessons = std::make_shared<const LessonList>(load_lesson_list());
  Opened opened(std::move(start));
  opened.after(OpenLesson{"17-find-the-bug", 0});
  CHECK(opened.view().mask.difference == nullptr);  // the question asks for it
  LessonAnswer none;
  none.given = false;
  View view;
  static_cast<SessionView&>(view) = opened.after(AnswerLesson{std::make_shared<const LessonAnswer>(none)});
  REQUIRE(view.mask.difference != nullptr);
  CHECK(view.mask.difference->only_here > 0);
  CHECK(view.mask.difference->only_there == 0);
  PanelScreen screen({1200, 800});
  CHECK(screen.text(view, draw_mask_panel).find("The masks differ in ") != std::string::npos);
}

TEST_CASE("mask picture: more quads appear where elements are drawn, and none lie outside the canvas") {
  const Theme theme = make_theme(ThemeKind::dark, 1);
  AttentionProblem p;
  p.seq_q = p.seq_kv = 64;
  MaskChoice choice;
  choice.masks = {"q >= kv"};
  const auto picture = *make_mask_picture(choice, p, {16, 16}, 0);
  MaskElements elements;
  elements.of = picture;
  elements.queries = elements.keys = {0, 64};
  for (int q = 0; q < 64; ++q)
    for (int kv = 0; kv < 64; ++kv) elements.visible.push_back(q >= kv ? 1 : 0);
  const Rect canvas = {{0, 0}, {320, 320}};
  const MaskWindow window = whole_plane(p, canvas);
  const auto blocks = make_mask_quads(*picture, nullptr, theme, MaskColors::state, window, canvas);
  const auto both = make_mask_quads(*picture, &elements, theme, MaskColors::state, window, canvas);
  CHECK(both->size() > blocks->size() + 4 * 15);
  for (const QuadInstance& quad : both->instances()) {
    CHECK(quad.rect[0] >= 0);
    CHECK(quad.rect[3] <= 320);
  }
}

TEST_CASE("mask editor: completion knows the language, the tables and the text's own names") {
  const TableList tables = {std::make_shared<const CapturedTable>(make_table("document", {0}))};
  const auto words = [&](std::string_view begun, bool score) {
    std::string all;
    for (const MaskWord& word : completions(begun, "let window = 3; any(i in 0..2: q == i)", tables, score)) all += word.word + " ";
    return all;
  };
  CHECK(words("wi", false) == "window ");
  CHECK(words("doc", false) == "document ");
  CHECK(words("sc", false) == "scale ");
  CHECK(words("sc", true) == "score scale ");
  CHECK(words("tan", false) == "tanh ");
  CHECK(words("kv", false).empty());
}

TEST_CASE("mask editor: a wrapped text means the same, and its lines keep to the width") {
  for (const Preset& preset : presets()) {
    const auto text = preset_text(preset.name);
    REQUIRE(text);
    const std::string& plain = text->mask.empty() ? text->score : text->mask;
    const std::string wrapped = wrapped_expression(plain, 40);
    CAPTURE(wrapped);
    std::string back = wrapped;
    std::replace(back.begin(), back.end(), '\n', ' ');
    CHECK(back == plain);
    for (std::size_t at = 0; at < wrapped.size();) {
      const std::size_t end = std::min(wrapped.find('\n', at), wrapped.size());
      CHECK(end - at <= 60);  // a word may be longer than what is left of a line
      at = end + 1;
    }
  }
}

TEST_CASE("mask editor: a refusal names line and column where the text has line breaks before the fault") {
  const std::string text = "let window = 8;\nq - kv < windw";
  const std::string words = "column 26: unknown name 'windw': did you mean window?";
  CHECK(with_line_of(words, text, 26) == "line 2, column 10: unknown name 'windw': did you mean window?");
  CHECK(with_line_of(words, "q - kv < windw", 10) == words);
  CHECK(with_line_of("a refusal without a place", text, 0) == "a refusal without a place");
}

TEST_CASE("mask editor: a slider's value goes into the preset's request") {
  CHECK(preset_with("sliding_window", "window", "8") == "sliding_window:window=8");
  CHECK(preset_with("natten:width=8,kernel=3", "kernel", "5") == "natten:width=8,kernel=5");
  CHECK(preset_with("natten:width=8", "height", "4") == "natten:width=8,height=4");
}

TEST_CASE("mask editor: a preset is put in with parameters that suit the problem") {
  for (const std::int64_t length : {16, 64, 1024, 4096}) {
    AttentionProblem p;
    p.seq_q = p.seq_kv = length;
    for (const Preset& preset : presets()) {
      if (!preset.tables.empty()) continue;
      MaskChoice choice = of_preset(suited_preset(preset, p));
      CAPTURE(choice.presets.front());
      CAPTURE(length);
      const auto fault = find_mask_fault(choice, p);
      CHECK_MESSAGE(!fault, (fault ? error_of(*fault).sentence.text() : std::string()));
    }
  }
  AttentionProblem p;
  p.seq_q = p.seq_kv = 64;
  for (const Preset& preset : presets())
    if (preset.name == "sliding_window") CHECK(suited_preset(preset, p) == "sliding_window:window=16");
}

namespace {

/// Opens the first text of the mask editor for typing.
bool open_text(WindowScript& script) {
  for (const ImGuiWindow* window : ImGui::GetCurrentContext()->Windows) {
    const std::string_view name = window->Name;
    if (!window->WasActive || !name.substr(name.rfind('/') + 1).starts_with("editor_")) continue;
    const ImVec2 from = window->Pos, size = window->Size;
    for (float y = from.y + 30; y < from.y + size.y; y += 8) {
      script.click(from.x + size.x * 0.3F, y);
      if (ImGui::GetIO().WantTextInput) return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("mask editor: Esc undoes the typing, and a mask that was applied before stays") {
  for (const bool preset : {false, true}) {
    CAPTURE(preset);
    const auto script = WindowScript::open(1600, 900);
    if (script == nullptr) return;
    script->command(SetCenter{CenterView::mask});
    MaskChoice choice;
    (preset ? choice.presets : choice.masks) = {preset ? "sliding_window:window=8" : "q - kv < 8"};
    script->command(SetMasking{choice});
    REQUIRE(open_text(*script));
    for (const char* letter : {"q", " ", ">", " ", "k", "v"}) {
      script->frame().io().AddInputCharactersUTF8(letter);
      for (int i = 0; i < 3; ++i) script->frame().build(1600, 900, 1.0 / 60);
    }
    CHECK(ImGui::GetIO().WantTextInput);
    script->press(ImGuiKey_Escape);
    CHECK_FALSE(ImGui::GetIO().WantTextInput);
    CHECK(script->view().requested->request.masking == choice);
  }
}

TEST_CASE("mask editor: a text that was typed and left stays, and Esc in the field later keeps it") {
  const auto script = WindowScript::open(1600, 900);
  if (script == nullptr) return;
  script->command(SetCenter{CenterView::mask});
  MaskChoice choice;
  choice.masks = {"q - kv < 8"};
  script->command(SetMasking{choice});
  REQUIRE(open_text(*script));
  script->press(ImGuiKey_A, ImGuiMod_Ctrl);
  script->type("q > kv");
  script->press(ImGuiKey_Enter, ImGuiMod_Ctrl);
  CHECK(script->view().requested->request.masking.masks == std::vector<std::string>{"q > kv"});
  REQUIRE(open_text(*script));
  for (const bool at_once : {true, false}) {
    script->press(ImGuiKey_End, ImGuiMod_Ctrl);
    script->frame().io().AddInputCharactersUTF8(" && q < 40");
    for (int i = 0; i < (at_once ? 5 : 60); ++i) script->frame().build(1600, 900, 1.0 / 60);
    const std::string applied = script->view().requested->request.masking.masks.at(0);
    CHECK(applied == (at_once ? "q > kv" : "q > kv && q < 40"));
    script->press(ImGuiKey_Escape);
    CHECK(script->view().requested->request.masking.masks == std::vector<std::string>{applied});
    REQUIRE(open_text(*script));
  }
}

TEST_CASE("mask editor: a preset that is typed over becomes a condition once its field is left") {
  const auto script = WindowScript::open(1600, 900);
  if (script == nullptr) return;
  script->command(SetCenter{CenterView::mask});
  MaskChoice choice;
  choice.presets = {"sliding_window:window=8"};
  script->command(SetMasking{choice});
  REQUIRE(open_text(*script));
  script->press(ImGuiKey_A, ImGuiMod_Ctrl);
  script->type("q > kv");
  CHECK(script->view().requested->request.masking == choice);
  script->press(ImGuiKey_Enter, ImGuiMod_Ctrl);
  CHECK(script->view().requested->request.masking.presets.empty());
  CHECK(script->view().requested->request.masking.masks == std::vector<std::string>{"q > kv"});
}

TEST_CASE("mask panel: while a condition cannot be read, the headline says that it is of the last one that could") {
  PanelScreen screen({1200, 800});
  Opened opened;
  opened.after(SetCenter{CenterView::mask});
  MaskChoice choice;
  for (const auto& [text, is_read] : {std::pair("q >= kv", true), std::pair("q >= kw", false), std::pair("q > kv", true)}) {
    const std::string typed = text;
    CAPTURE(typed);
    choice.masks = {text};
    View view;
    static_cast<SessionView&>(view) = opened.after(SetMasking{choice});
    const std::string said = screen.text(view, draw_mask_panel);
    CHECK((said.find("Of the last mask that could be read") == std::string::npos) == is_read);
    CHECK((said.find("Picture of the last mask that could be read") == std::string::npos) == is_read);
  }
}

TEST_CASE("mask legend: each entry looks as the map draws it, at any zoom") {
  const Theme theme = make_theme(ThemeKind::dark, 1);
  AttentionProblem p;
  p.seq_q = p.seq_kv = 128;
  MaskChoice choice;
  choice.masks = {"q >= kv"};
  const auto picture = *make_mask_picture(choice, p, {16, 16}, 0);
  for (const double pixels : {0.01, 0.2, 1.0, 4.0})
    for (const MaskColors colors : {MaskColors::state, MaskColors::decided})
      for (const bool elements : {false, true}) {
        MaskWindow window;
        window.pixels = pixels;
        CAPTURE(pixels);
        const double size = pixels * 16;
        std::vector<MaskLook> of_map, of_legend;
        for (const TileBox& box : picture->boxes)
          of_map.push_back(mask_look(theme, colors, box, depth_of(*picture, box), size, elements));
        for (const MaskLegendEntry& entry : mask_legend(*picture, theme, colors, window, elements)) of_legend.push_back(entry.look);
        // A block lies between the least and the most cuts of the legend; the least and the most are blocks.
        for (const MaskLook& look : of_legend) CHECK(std::ranges::find(of_map, look) != of_map.end());
        if (colors == MaskColors::state)
          for (const MaskLook& look : of_map) CHECK(std::ranges::find(of_legend, look) != of_legend.end());
      }
}

TEST_CASE("mask panel: draws every preset that needs no table, in both themes") {
  for (const ThemeKind theme : {ThemeKind::dark, ThemeKind::light}) {
    PanelScreen screen({800, 560}, theme);
    Opened opened;
    opened.after(SetCenter{CenterView::mask});
    for (const Preset& preset : presets()) {
      if (!preset.tables.empty()) continue;
      CAPTURE(preset.name);
      const SessionView view = opened.after(SetMasking{of_preset(suited_preset(preset, opened.view().requested->request.problem))});
      CHECK_FALSE(view.mask.fault.has_value());
      View shown;
      static_cast<SessionView&>(shown) = view;
      screen.frame(shown, draw_mask_panel);
      CHECK(screen.vertices() > 100);
    }
  }
}

TEST_CASE("mask panel: what is saved names its link, and HBM reads stand beside it, from the ledger") {
  PanelScreen screen({900, 1000});
  Opened opened;
  opened.after(SetMasking{of_preset("sliding_window:window=4")});
  View shown;
  static_cast<SessionView&>(shown) = opened.after(SetCenter{CenterView::mask});
  const std::string text = screen.text(shown, draw_mask_panel);
  CAPTURE(text);
  const Simulation& run = *shown.lane().simulation;
  const Bytes read(run.ledger.total(tensors::k, Link::hbm_read).value + run.ledger.total(tensors::v, Link::hbm_read).value);
  CHECK(text.find("K and V saved, L2→SM") != std::string::npos);
  CHECK(text.find("of the dense K and V traffic L2→SM") != std::string::npos);
  CHECK(text.find("HBM reads of K and V: " + format_bytes(read) + ", without the mask at least ") != std::string::npos);
  CHECK(text.find("not compared") == std::string::npos);
  // The lists of blocks cost bytes too.
  std::int64_t lists = 0;
  for (const Tensor tensor : run.program->tensors())
    for (const char* of_lists : {"kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices"})
      if (to_string(tensor) == of_lists) lists += run.ledger.total(tensor, Link::l2_to_sm).value;
  REQUIRE(lists > 0);
  const std::size_t row = text.find("Block lists read, L2→SM");
  REQUIRE(row != std::string::npos);
  CHECK(text.substr(row, text.find('\n', row) - row).ends_with(format_bytes(Bytes(lists))));
  // A simulation of another mask is not compared.
  Requested other = *shown.requested;
  other.request.masking = {};
  shown.requested = &other;
  CHECK(screen.text(shown, draw_mask_panel).find("not compared") != std::string::npos);
}

TEST_CASE("mask panel: a block of the mask is called a tile where it is one, and else a mask block") {
  PanelScreen screen({1600, 1000});
  Opened opened;
  opened.after(SetMasking{of_preset("sliding_window:window=4")});
  opened.after(SetCenter{CenterView::mask});
  for (const bool coarse : {false, true}) {
    CAPTURE(coarse);
    AttentionProblem problem = opened.view().requested->request.problem;
    problem.mask_block = coarse ? 32 : 0;
    View shown;
    static_cast<SessionView&>(shown) = opened.after(SetProblem{problem, "mask_block"});
    REQUIRE(shown.mask.picture != nullptr);
    CHECK(shown.mask.picture->blocks_are_tiles() != coarse);
    const std::string text = screen.text(shown, draw_mask_panel);
    CAPTURE(text);
    const std::string name = coarse ? "mask blocks" : "tiles";
    for (const std::string& words : {" of the " + name + " are empty", "keys in " + name + " of", "Empty " + name, "Full " + name})
      CHECK(text.find(words) != std::string::npos);
    CHECK(text.find(coarse ? "partial mask block" : "partial tile") != std::string::npos);
    CHECK((text.find("tiles") == std::string::npos) == coarse);
  }
}

TEST_CASE("mask panel: the wheel zooms until elements are asked for, and a block under the mouse asks who visits it") {
  PanelScreen screen({800, 560});
  Opened opened;
  opened.after(SetMasking{of_preset("sliding_window:window=4")});
  opened.after(SetCenter{CenterView::mask});
  View shown;
  static_cast<SessionView&>(shown) = opened.view();
  bool looked = false, asked = false;
  for (int i = 0; i < 6; ++i) {
    screen.mouse({150, 300});
    screen.wheel(i < 3 ? 1.0F : 0.0F);
    for (const Command& command : screen.frame(shown, draw_mask_panel)) {
      if (const auto* look = std::get_if<LookAtMask>(&command)) looked = looked || look->keys.count > 0;
      asked = asked || std::holds_alternative<AskVisit>(command);
    }
  }
  CHECK(looked);
  CHECK(asked);
}

TEST_CASE("mask panel: the timeline outlines what the SM in focus does with the block under the mouse, until the mouse leaves") {
  Opened opened;
  opened.after(SetMasking{of_preset("sliding_window:window=4")});
  opened.after(SetCenter{CenterView::mask});
  PanelScreen screen({800, 560});
  const auto vertices = [&](const SessionView& of) {
    View shown;
    static_cast<SessionView&>(shown) = of;
    screen.frame(shown, draw_timeline_panel);
    screen.frame(shown, draw_timeline_panel);
    return screen.vertices();
  };
  const int without = vertices(opened.view());
  // The timeline has rows of the SM in focus alone: it outlines what visits a tile there, and nothing that another SM does.
  int here = -1;
  bool elsewhere = false;
  for (int q = 0; q < 64; ++q) {
    const SessionView visited = opened.after(AskVisit{0, q, q});
    REQUIRE(visited.mask.visit);
    REQUIRE(visited.mask.visit->op >= 0);
    const bool in_focus = visited.mask.visit->sm == visited.lanes.back().focus_sm;
    CHECK((vertices(visited) > without) == in_focus);
    if (in_focus) here = q;
    elsewhere = elsewhere || !in_focus;
  }
  REQUIRE(here >= 0);
  CHECK(elsewhere);
  CHECK(vertices(opened.after(AskVisit{0, 63, 0})) == without);  // no block visits a hidden tile
  // The mouse leaves the mask: the panel asks for no visit.
  View shown;
  static_cast<SessionView&>(shown) = opened.after(AskVisit{0, here, here});
  bool left = false;
  for (int i = 0; i < 3; ++i)
    for (const Command& command : screen.frame(shown, draw_mask_panel, {-1, -1}))
      if (const auto* asked = std::get_if<AskVisit>(&command)) left = left || asked->plane < 0;
  CHECK(left);
  CHECK(vertices(opened.after(AskVisit{-1, 0, 0})) == without);
}

TEST_CASE("mask panel: CUDA shows both expressions line against line, and a pointed word lights the lines that compute it") {
  PanelScreen screen({900, 1600});
  Opened opened;
  MaskChoice choice;
  choice.masks = {"q >= kv && q - kv < 6"};
  choice.score = "score - 0.5 * abs(q - kv)";
  opened.after(SetAlgorithm{"flex"});
  opened.after(SetMasking{choice});
  opened.after(SetCenter{CenterView::mask});
  View shown;
  static_cast<SessionView&>(shown) = opened.view();
  const AttentionProblem& problem = shown.lane().simulation->request.problem;
  REQUIRE(problem.score_change);
  static MaskCuda state;
  const auto frame = [&] {
    screen.frame(shown, [](const View& view, Commands&) {
      draw_mask_cuda(view, view.lane().simulation->request.problem, state, {{0, 0}, {900, 1600}});
    });
  };
  screen.mouse({-1, -1});
  frame();
  REQUIRE(state.source);
  CHECK(
      state.source->text() ==
      kernel_source(&dynamic_cast<const ExpressionMask&>(*problem.mask).expression(), &problem.score_change->expression()).text());
  CHECK(state.column == 0);
  // Somewhere in the panel stand words and lines of either expression.
  std::set<std::pair<MaskCuda::Part, std::uint32_t>> pointed;
  for (float y = 4; y < 1600; y += 9)
    for (float x = 8; x < 400; x += 40) {
      screen.mouse({x, y});
      frame();
      frame();
      if (state.column != 0) pointed.insert({state.part, state.column});
    }
  for (const MaskCuda::Part part : {MaskCuda::Part::mask, MaskCuda::Part::score}) {
    std::set<std::uint32_t> computed;
    for (const KernelSourceLine& line : part == MaskCuda::Part::score ? state.source->score : state.source->mask)
      if (line.column != 0) computed.insert(line.column);
    CHECK(computed.size() > 2);
    for (const auto& [of, column] : pointed)
      if (of == part) CHECK(computed.contains(column));
    CHECK(std::any_of(pointed.begin(), pointed.end(), [&](const auto& at) { return at.first == part; }));
  }
  // A backward pass has the derivative too.
  CHECK(state.source->slope.empty());
  screen.frame(shown, [](const View& view, Commands&) {
    AttentionProblem backward = view.lane().simulation->request.problem;
    backward.pass = Pass::backward;
    draw_mask_cuda(view, backward, state, {{0, 0}, {900, 1600}});
  });
  CHECK_FALSE(state.source->slope.empty());
  CHECK(state.source->table_reads.empty());
  // And with gradients of tables their reads.
  screen.frame(shown, [](const View& view, Commands&) {
    AttentionProblem backward = view.lane().simulation->request.problem;
    backward.pass = Pass::backward;
    CapturedTable bias;
    bias.name = "bias";
    bias.type = ValueType::real;
    bias.shape = {backward.seq_kv};
    bias.reals.assign(static_cast<std::size_t>(backward.seq_kv), 0.5F);
    const MaskChoice with_table{
        .score = "score + bias[kv]", .tables = {std::make_shared<const CapturedTable>(bias)}, .table_gradients = {"bias"}};
    REQUIRE(settle_masks(with_table, backward));
    draw_mask_cuda(view, backward, state, {{0, 0}, {900, 1600}});
  });
  CHECK_FALSE(state.source->table_reads.empty());
}

}  // namespace tilescope
