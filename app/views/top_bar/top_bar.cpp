// The top bar: what is simulated, on what, and how it is shown.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "app/model/lessons/lecture.h"
#include "app/model/session/export_job.h"
#include "app/model/state/playhead.h"
#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/views/chrome.h"
#include "app/views/keys.h"
#include "app/views/lesson/lesson_menu.h"
#include "app/views/mask/mask_words.h"
#include "app/views/work_words.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

constexpr std::array<std::string_view, 10> problem_controls = {"batch",    "heads", "kv_heads", "seq",       "seq_kv",
                                                               "head_dim", "dtype", "causal",   "page_size", "page_order"};
constexpr std::array<std::string_view, 6> tile_controls = {"block_q",       "block_kv",    "stages",
                                                           "blocks_per_sm", "block_order", "key_order"};
constexpr std::array<std::string_view, 4> input_controls = {"inputs", "inputs.Q", "inputs.K", "inputs.V"};

/// In the Mask view.
constexpr std::array<std::string_view, 4> mask_view_controls = {"mask", "preset", "score", "mask_block"};

/// How much is left out where the window is narrow.
struct Detail {
  bool captions = true, causal = true, blocks = true, title = true, sizes = true, chip = true, inputs = true, algorithms = true,
       problem = true, gpu = true;
  /// Pills that nothing else leads to: they are in a list behind one of their own then.
  bool some_in_list() const { return !blocks || !inputs || !problem || !gpu; }
};

std::string gpu_label(const View& view, const Detail& detail) {
  const GpuSpec& gpu = view.requested->request.gpu;
  const bool changed =
      std::any_of(gpu.provenance.begin(), gpu.provenance.end(), [](const auto& p) { return p.second.source == Source::user; });
  if (!detail.chip) return fmt::format("{}{} ▾", gpu.id, changed ? "*" : "");
  return fmt::format("{}{} · {:.0f} {} ▾", gpu.id, changed ? "*" : "", gpu.sm_count, gpu.sm_count == 1 ? tr("SM") : tr("SMs"));
}

std::string problem_label(const SimulationRequest& request, const Detail& detail) {
  const AttentionProblem& p = request.problem;
  std::string heads = p.heads == p.kv_heads ? fmt::format("{}", p.heads) : fmt::format("{}/{}", p.heads, p.kv_heads);
  std::string rows = p.seq_q == p.seq_kv ? fmt::format("{}", p.seq_q) : fmt::format("{}×{}", p.seq_q, p.seq_kv);
  std::string masked;
  if (const std::string mask = brief_mask_words(request); !detail.causal && !mask.empty()) masked += "  · " + mask;
  if (p.score_change) masked += fmt::format("  · {}", tr("score"));
  if (p.page_size > 0) masked += fmt::format("  · {}", tr("pages"));
  if (!detail.sizes) return fmt::format("N {}  d {}{}", rows, p.head_dim, masked);
  return fmt::format("B {}  H {}  N {}  d {}  {}{}", p.batch, heads, rows, p.head_dim, to_string(p.dtype), masked);
}

/// The name of the mask that is shown; without one of its own, whether the causal one is on.
std::string mask_label(const View& view) {
  const SimulationRequest& request = view.requested->request;
  if (has_own_mask(request)) return brief_mask_words(request);
  return request.problem.causal ? tr("Causal on") : tr("Causal off");
}

std::string tile_label(const View& view) {
  std::optional<ProgramTile> tile = view.requested->request.tile;
  const bool automatic = !tile;
  if (!tile && !view.lanes.empty()) tile = view.lane().simulation->request.tile;
  if (!tile) return tr("tile auto");
  std::string label = fmt::format("Br {}  Bc {}", tile->block_q, tile->block_kv);
  // What the run has says more than what was asked for: two buffers may not have fitted.
  if (tile->stages > 0)
    label += fmt::format("  ×{}", tile->stages);
  else if (!view.lanes.empty() && drops_to_one_buffer(*view.lane().simulation->program))
    label += "  ×1";
  if (automatic) label += tr(" auto");
  if (view.requested->request.block_order != BlockOrder::launch)
    label += fmt::format(" · {}", to_string(view.requested->request.block_order));
  if (!kernel_warnings(view).empty()) label += " !";
  return label;
}

/// What the tile is, and how it differs from the compiled kernel.
std::string tile_tip(const View& view) {
  std::string tip = tr("Tile rows of Q and of K, V; blocks per SM");
  for (const std::string& warning : kernel_warnings(view)) add_line(tip, warning);
  return tip;
}

}  // namespace

std::string short_algorithm_title(const ProgramInfo& info) {
  if (info.pass == Pass::forward && !info.button.empty()) return translated(info.button);
  return translated(info.label.empty() ? info.title : info.label);
}

namespace {

/// Whether the program of that id, and only its own pass, is on the stage.
bool is_shown(const View& view, std::string_view id) {
  const SimulationRequest& request = view.requested->request;
  return request.algorithm == id && request.problem.pass != Pass::both;
}

/// The algorithm pills' place is taken by the name of the program while one of the others is shown, or all are in the list.
std::string more_label(const View& view, const Detail& detail) {
  const SimulationRequest& request = view.requested->request;
  const Result<const ProgramInfo*> info = find_program(request.algorithm, request.problem.pass);
  if (info && !(*info)->button.empty() && detail.algorithms) return std::string(tr("More")) + " ▾";
  return (info ? short_algorithm_title(**info) : view.requested->request.algorithm) + " ▾";
}

struct PopoverPlace {
  float left = 0, width = 0;
  bool open = false;
};

/// The last message that stood in an open popover: who closed it has read it, and a box over the panels would only be in the way.
struct ReadMessage {
  std::string sentence;
};

/// A control whose popover is to open: at its next frame.
struct AskedControl {
  std::string control;
  int frame = 0;  // in which it was asked for
};

AskedControl& asked_control() {
  auto& asked = panel_state<AskedControl>("asked control");
  constexpr int frames = 4;  // a control without a field of its own takes nothing
  if (ImGui::GetFrameCount() - asked.frame > frames) asked.control.clear();
  return asked;
}

/// The bar's items from left to right; each is placed at `x_`.
class Bar {
 public:
  Bar(const Rect& rect, const View& view) : rect_(rect), view_(view), theme_(*view.theme) {
    x_ = rect.min.x + std::round(18 * theme_.scale);
  }

  float left() const { return x_; }
  void skip(float points) { x_ += std::round(points * theme_.scale); }

  void caption(const char* text, ImFont* font, ImU32 color) {
    const float width = text_width(font, text);
    draw_text(ImGui::GetWindowDrawList(), font, {{x_, rect_.min.y}, {x_ + width + 1, rect_.max.y}}, color, text);
    x_ += width + std::round(12 * theme_.scale);
  }

  bool button(const std::string& label, bool on, const char* tooltip) {
    place(26);
    const bool clicked = pill(theme_, label.c_str(), on, tooltip);
    advance(6);
    return clicked;
  }

  bool icon(const char* id, Icon kind, const char* tooltip, bool on = false, bool enabled = true) {
    place(28);
    const bool clicked = icon_button(theme_, id, kind, tooltip, enabled, on);
    last_ = item_rect();
    advance(icon_gap_);
    return clicked;
  }

  /// A pill that opens a popover under itself. Returns true while the popover is open; then end_popover() must follow.
  bool popover(const std::string& label, const char* id, const char* tooltip, std::span<const std::string_view> controls) {
    const bool refused = message_is_for(view_, controls) && !is_good(*view_.workspace->message);
    const std::string why = refused ? words_of(*view_.workspace->message) : std::string();
    if (button(label + "##" + id, ImGui::IsPopupOpen(id), refused ? why.c_str() : tooltip)) ImGui::OpenPopup(id);
    last_ = item_rect();
    if (refused)  // what is shown is of the setting before: the mark stays when the sentence was read
      ImGui::GetWindowDrawList()->AddRect(last_.min, last_.max, theme_.bad, last_.height() * 0.5F, 0,
                                          std::max(1.5F, 1.5F * theme_.scale));
    return popover_here(id, controls);
  }

  /// The same under the pill before: for what is opened from a list.
  bool popover_here(const char* id, std::span<const std::string_view> controls) {
    const std::string& asked = asked_control().control;
    if (!asked.empty() && !ImGui::IsPopupOpen(id) && std::ranges::find(controls, asked) != controls.end()) ImGui::OpenPopup(id);
    const bool open = ImGui::IsPopupOpen(id);
    if (message_is_for(view_, controls)) {
      auto& read = panel_state<ReadMessage>("read message");
      if (open) read.sentence = words_of(*view_.workspace->message);
      if (!open && read.sentence != words_of(*view_.workspace->message)) toast(last_);
    }
    const ImVec2 screen = ImGui::GetMainViewport()->Size;
    const float y = last_.max.y + std::round(8 * theme_.scale);
    // Wider than the window is from here on, it begins further left. It is moved before it is filled: what fills it is as wide as
    // it is. While one types in it, it stays where it is, whatever its pill does.
    auto& place = panel_state<PopoverPlace>(std::string("popover ") + id);
    if (!place.open) place.left = last_.min.x;
    place.open = ImGui::IsPopupOpen(id);
    ImGui::SetNextWindowPos({std::max(theme_.gap, std::min(place.left, screen.x - place.width - theme_.gap)), y});
    ImGui::SetNextWindowSizeConstraints({0, 0}, {screen.x - 2 * theme_.gap, std::max(40.0F, screen.y - y - theme_.gap)});
    if (!ImGui::BeginPopup(id, ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoMove)) return false;
    place.width = ImGui::GetWindowWidth();
    if (ImGui::IsKeyPressed(ImGuiKey_Escape, false) && !ImGui::IsAnyItemActive()) ImGui::CloseCurrentPopup();
    return true;
  }

  /// The view's message in a box under `anchor`.
  void toast(const Rect& anchor) const {
    const ImGuiViewport& screen = *ImGui::GetMainViewport();
    const float width = std::round(420 * theme_.scale);
    const float x = std::min(anchor.min.x, screen.Size.x - width - theme_.gap);
    const ImVec2 at = {std::max(theme_.gap, x), anchor.max.y + std::round(8 * theme_.scale)};
    message_box(theme_, "##message", at, width, words_of(*view_.workspace->message), is_good(*view_.workspace->message));
  }

  /// An icon that opens a popover under itself, as popover().
  bool icon_popover(const char* id, Icon kind, const char* tooltip, std::span<const std::string_view> controls) {
    if (icon((std::string("##") + id).c_str(), kind, tooltip, ImGui::IsPopupOpen(id))) ImGui::OpenPopup(id);
    last_ = item_rect();
    return popover_here(id, controls);
  }

  void place_right(float width) { x_ = rect_.max.x - width; }
  void set_icon_gap(float points) { icon_gap_ = points; }

 private:
  void place(float height) const {
    ImGui::SetCursorScreenPos({x_, std::round(rect_.center().y - std::round(height * theme_.scale) * 0.5F)});
  }
  void advance(float gap) { x_ = ImGui::GetItemRectMax().x + std::round(gap * theme_.scale); }

  Rect rect_, last_{};
  const View& view_;
  const Theme& theme_;
  float x_, icon_gap_ = 6;
};

/// The programs without a pill.
void draw_more_menu(const View& view, Commands& commands, const Detail& detail) {
  std::string_view family;
  for (const ProgramInfo& info : program_table()) {
    if (!info.button.empty() && detail.algorithms) continue;
    if (info.family != family) {
      if (!family.empty()) ImGui::Separator();
      family = info.family;
      text_item(view.theme->ui_small, view.theme->text_faint, translated(family_of(info)->title));
    }
    const std::string label = fmt::format("{}##{}", translated(info.title), info.id);
    if (ImGui::Selectable(label.c_str(), is_shown(view, info.id))) {
      commands.push(SetAlgorithm{std::string(info.id)});
      ImGui::CloseCurrentPopup();
    }
    item_tooltip(*view.theme, translated(info.title), translated(info.summary));
  }
}

void draw_algorithms(Bar& bar, const View& view, Commands& commands, const Detail& detail) {
  constexpr std::array<std::string_view, 3> controls = {"algorithm", "race", "focus_sm"};
  if (detail.algorithms)
    for (const ProgramInfo& info : program_table())
      if (!info.button.empty() && bar.button(translated(info.button), is_shown(view, info.id), translated(info.tooltip).c_str()))
        commands.push(SetAlgorithm{std::string(info.id)});
  if (bar.button(tr("Race"), view.playback.race, tr("Side by side on one clock (R)"))) push_race(view, commands);
  const char* const tooltip = detail.algorithms ? tr("Backward, softmax and matrix product programs") : tr("Program to run");
  if (bar.popover(more_label(view, detail), "more", tooltip, controls)) {
    draw_more_menu(view, commands, detail);
    ImGui::EndPopup();
  }
}

std::vector<std::string_view> gpu_message_controls() {
  std::vector<std::string_view> controls = {"gpu"};
  for (const SpecKey& key : spec_keys()) controls.push_back(key.key);
  return controls;
}

void draw_what(Bar& bar, const View& view, Commands& commands, const Detail& detail) {
  const Theme& theme = *view.theme;
  bar.skip(12);
  if (detail.captions) bar.caption(tr("GPU"), theme.ui_small, theme.text_dim);
  const std::vector<std::string_view> gpu_controls = gpu_message_controls();
  const auto show_gpu = [&](bool open) {
    if (!open) return;
    draw_gpu_controls(view, commands);
    ImGui::EndPopup();
  };
  const auto show_problem = [&](bool open) {
    if (!open) return;
    draw_problem_controls(view, commands);
    ImGui::EndPopup();
  };
  const std::string of_gpu = gpu_label(view, detail), of_problem = problem_label(view.requested->request, detail);
  if (detail.gpu) show_gpu(bar.popover(of_gpu, "gpu", tr("The simulated GPU and all its numbers"), gpu_controls));
  bar.skip(8);
  if (detail.captions) bar.caption(tr("Problem"), theme.ui_small, theme.text_dim);
  if (detail.problem) show_problem(bar.popover(of_problem, "problem", tr("Sizes, type and mask"), problem_controls));
  const auto tile = [&](bool open) {
    if (!open) return;
    draw_tile_controls(view, commands);
    ImGui::EndPopup();
  };
  const auto inputs = [&](bool open) {
    if (!open) return;
    draw_input_controls(view, commands);
    ImGui::EndPopup();
  };
  if (detail.blocks) tile(bar.popover(tile_label(view), "tile", tile_tip(view).c_str(), tile_controls));
  if (detail.causal && has_own_mask(view.requested->request)) {
    if (bar.button(mask_label(view) + "##mask", true,
                   fmt::format("{}. {}", mask_words(view.requested->request), tr("Open the Mask view")).c_str()))
      commands.push(SetCenter{CenterView::mask});
  } else if (detail.causal) {
    AttentionProblem problem = view.requested->request.problem;
    if (bar.button(mask_label(view), problem.causal, tr("Causal mask: query i sees keys 0 to i only"))) {
      problem.causal = !problem.causal;
      commands.push(SetProblem{problem, "causal"});
    }
  }
  if (detail.inputs) inputs(bar.popover(tr("Inputs"), "inputs", tr("Source of Q, K and V"), input_controls));
  if (!detail.some_in_list()) return;
  const char* chosen = nullptr;
  if (bar.popover("…", "rest", tr("More controls"), {})) {
    if (!detail.gpu && ImGui::Selectable(of_gpu.c_str())) chosen = "gpu";
    if (!detail.problem && ImGui::Selectable(of_problem.c_str())) chosen = "problem";
    if (!detail.blocks && ImGui::Selectable(tile_label(view).c_str())) chosen = "tile";
    if (!detail.inputs && ImGui::Selectable(tr("Inputs"))) chosen = "inputs";
    ImGui::EndPopup();
  }
  if (chosen != nullptr) ImGui::OpenPopup(chosen);
  if (!detail.gpu) show_gpu(bar.popover_here("gpu", gpu_controls));
  if (!detail.problem) show_problem(bar.popover_here("problem", problem_controls));
  if (!detail.blocks) tile(bar.popover_here("tile", tile_controls));
  if (!detail.inputs) inputs(bar.popover_here("inputs", input_controls));
}

/// Links, undo and scenes, each with its key.
void draw_share_menu(const View& view, Commands& commands) {
  const auto entry = [&](const char* text, const char* key, bool enabled = true) {
    return ImGui::MenuItem(text, key, false, enabled);
  };
  if (entry(tr("Copy the link to this state"), "Ctrl C", !view.lanes.empty())) copy_link(view, commands);
  if (entry(tr("Open the copied link"), "Ctrl V")) paste_link(commands);
  ImGui::Separator();
  if (entry(tr("Undo"), "Ctrl Z", view.can_undo)) commands.push(Undo{});
  if (entry(tr("Redo"), "Ctrl Y", view.can_redo)) commands.push(Redo{});
  ImGui::Separator();
  if (entry(tr("Keep this state as a scene"), "Ctrl D", !view.lanes.empty())) commands.push(BookmarkState{});
  if (entry(tr("List of scenes"), "D")) commands.push(ShowScenes{!view.lecture->listed});
  if (entry(tr("Question to the class"), "Q")) commands.push(AskClass{true});
  if (entry(view.lecture->presenter ? tr("Close the presenter's window") : tr("Presenter's window"), "P"))
    commands.push(ShowPresenter{!view.lecture->presenter});
}

std::string lessons_label() {
  return std::string(tr("Lessons")) + " ▾";
}

void draw_how(Bar& bar, const View& view, Commands& commands, std::span<const std::string> languages, bool undo) {
  constexpr std::array<std::string_view, 1> controls = {"deck"};
  if (view.lesson.list != nullptr && bar.popover(lessons_label(), "lessons", tr("Ten-minute lessons, each with questions"), {})) {
    draw_lesson_menu(view, commands);
    ImGui::EndPopup();
  }
  if (undo) {
    if (bar.icon("##undo", Icon::undo, tr("Undo (Ctrl Z)"), false, view.can_undo)) commands.push(Undo{});
    if (bar.icon("##redo", Icon::redo, tr("Redo (Ctrl Y)"), false, view.can_redo)) commands.push(Redo{});
  }
  // The list of scenes says it beside the deck's path.
  const std::span<const std::string_view> said = view.lecture->listed ? std::span<const std::string_view>() : controls;
  if (bar.icon_popover("share", Icon::share, tr("Links, undo, scenes"), said)) {
    draw_share_menu(view, commands);
    ImGui::EndPopup();
  }
  if (languages.size() > 1) {
    // The button names the language in use; a click goes on to the next one.
    const std::string_view now = tr("EN");
    const auto same = [&](const std::string& id) {
      return id.size() == now.size() &&
             std::equal(id.begin(), id.end(), now.begin(), [](char a, char b) { return std::toupper(a) == b; });
    };
    const auto at = std::find_if(languages.begin(), languages.end(), same);
    const std::size_t next = at == languages.end() ? 0 : (static_cast<std::size_t>(at - languages.begin()) + 1) % languages.size();
    if (bar.button(std::string(now) + "##language", false, tr("language"))) commands.push(SetLanguage{languages[next]});
  }
  const bool dark = view.theme->kind == ThemeKind::dark;
  if (bar.icon("##theme", Icon::moon, tr("Dark or light (T)")))
    commands.push(SetThemeKind{dark ? ThemeKind::light : ThemeKind::dark});
  const bool exporting = view.exporting != nullptr && view.exporting->running;
  if (bar.icon("##export", Icon::save, tr("Export: pictures, films, pages, tables"), exporting || ImGui::IsPopupOpen("export")))
    ImGui::OpenPopup("export");
  if (bar.popover_here("export", {})) {
    draw_export_controls(view, commands);
    ImGui::EndPopup();
  }
  if (bar.icon("##present", Icon::present, tr("Present (F5)"))) begin_presenting(view, commands);
  if (bar.icon("##help", Icon::help, tr("Keys (?)"), view.workspace->help)) commands.push(ShowHelp{!view.workspace->help});
}

/// Widths of what draw_what and draw_algorithms would take, to choose how much detail fits.
float width_with(const View& view, const Detail& detail) {
  const Theme& t = *view.theme;
  const auto pill_width = [&](std::string_view text) { return text_width(t.ui_bold, text) + 28 * t.scale; };
  float width = 18 * t.scale + pill_width(tr("Race")) + pill_width(more_label(view, detail)) + 20 * t.scale;
  if (detail.title) width += text_width(t.heading, "TileScope") + 30 * t.scale;
  if (detail.algorithms)
    for (const ProgramInfo& info : program_table())
      if (!info.button.empty()) width += pill_width(translated(info.button));
  if (detail.some_in_list()) width += pill_width("…");
  if (detail.captions) width += text_width(t.ui_small, tr("GPU")) + text_width(t.ui_small, tr("Problem")) + 24 * t.scale;
  if (detail.gpu) width += pill_width(gpu_label(view, detail));
  if (detail.problem) width += pill_width(problem_label(view.requested->request, detail));
  if (detail.inputs) width += pill_width(tr("inputs"));
  if (detail.blocks) width += pill_width(tile_label(view));
  if (detail.causal) width += pill_width(mask_label(view));
  return width;
}

}  // namespace

bool can_open_control(std::string_view control) {
  const auto has = [&](std::span<const std::string_view> controls) {
    return std::ranges::find(controls, control) != controls.end();
  };
  return control == "algorithm" || has(problem_controls) || has(tile_controls) || has(gpu_message_controls()) ||
         has(mask_view_controls);
}

void open_control(std::string_view control, Commands& commands) {
  if (std::ranges::find(mask_view_controls, control) != mask_view_controls.end()) return commands.push(SetCenter{CenterView::mask});
  asked_control() = {std::string(control), ImGui::GetFrameCount()};
}

bool take_asked_control(std::string_view control) {
  AskedControl& asked = asked_control();
  if (asked.control != control) return false;
  asked.control.clear();
  return true;
}

bool message_is_for(const View& view, std::span<const std::string_view> controls) {
  return view.workspace->message && std::find(controls.begin(), controls.end(), view.workspace->message->control) != controls.end();
}

void control_message(const View& view, std::string_view control) {
  if (!view.workspace->message || view.workspace->message->control != control) return;
  const float right = std::round(346 * view.theme->scale);  // left of what note_limits() says beside a field
  wrapped_text(view.theme->ui_small, view.theme->bad, words_of(*view.workspace->message), right - ImGui::GetCursorPosX());
}

void draw_top_bar(const Rect& rect, const View& view, Commands& commands, std::span<const std::string> languages) {
  const Theme& theme = *view.theme;
  ImGui::GetWindowDrawList()->AddRectFilled(rect.min, rect.max, theme.panel);
  constexpr float width_for_undo = 1500, wide_gap = 6, narrow_gap = 2, fewest_icons = 5, icons_with_undo = 7;
  const auto width_of_icons = [&](float icons, float gap) {
    return icons * (std::round(28 * theme.scale) + std::round(gap * theme.scale)) + std::round(8 * theme.scale);
  };
  bool undo = rect.width() >= width_for_undo * theme.scale;
  const float icons = width_of_icons(undo ? icons_with_undo : fewest_icons, wide_gap);
  float right = icons;
  if (languages.size() > 1) right += text_width(theme.ui_bold, tr("EN")) + std::round(28 * theme.scale);

  if (view.lesson.list != nullptr) right += text_width(theme.ui_bold, lessons_label()) + std::round(28 * theme.scale);

  if (!view.workspace->message) panel_state<ReadMessage>("read message").sentence.clear();

  Detail detail;
  const float room = rect.width() - right - 8 * theme.scale;
  for (bool Detail::*part : {&Detail::captions, &Detail::causal, &Detail::title, &Detail::blocks, &Detail::sizes, &Detail::chip,
                             &Detail::inputs, &Detail::algorithms, &Detail::problem, &Detail::gpu})
    if (width_with(view, detail) > room) detail.*part = false;

  Bar bar(rect, view);
  // In a narrower window the icons move together, and take the name's place, where that makes room for two more; else they are in
  // the menu.
  const float closer = width_of_icons(icons_with_undo, narrow_gap) - icons + std::round(12 * theme.scale);
  if (Detail nameless = detail; !undo && width_with(view, detail) + closer > room) {
    nameless.title = false;
    if (width_with(view, nameless) + closer <= room) detail = nameless;
  }
  if (!undo && width_with(view, detail) + closer <= room) {
    undo = true;
    right += width_of_icons(icons_with_undo, narrow_gap) - icons;
    bar.set_icon_gap(narrow_gap);
  }
  if (detail.title) {
    bar.caption("TileScope", theme.heading, theme.text);
    bar.skip(10);
  }
  draw_algorithms(bar, view, commands, detail);
  draw_what(bar, view, commands, detail);
  bar.place_right(right);
  draw_how(bar, view, commands, languages, undo);
}

void draw_notice(const View& view, ImVec2 at) {
  const auto& message = view.workspace->message;
  if (!message || (!message->control.empty() && !view.workspace->present)) return;
  const Theme& theme = *view.theme;
  message_box(theme, "##message", at, std::round(640 * theme.scale), words_of(*message), is_good(*message), {1, 1});
}

void draw_presenting_bar(const Rect& rect, const View& view) {
  Theme theme = *view.theme;
  if (view.lesson.lesson == nullptr) theme.ui_bold = theme.reading_bold;
  const SimulationRequest& request = view.requested->request;
  const AttentionProblem& p = request.problem;
  const Result<const ProgramInfo*> info = find_program(request.algorithm, p.pass);
  std::string text = info ? short_algorithm_title(**info) : request.algorithm;
  if (view.playback.race) text = std::string(tr("Race")) + " · " + text;
  text += fmt::format("   {}   {}", gpu_label(view, Detail{}), problem_label(request, Detail{}));
  if (const std::size_t arrow = text.find(" ▾"); arrow != std::string::npos) text.erase(arrow, std::string_view(" ▾").size());
  if (const std::string mask = mask_words(request); !mask.empty()) {
    const float most = 0.3F * rect.width();
    text += "   " + elide(theme.ui_bold, mask, most);
  }
  text += fmt::format("   {}", tile_label(view));
  const float inset = theme.gap + theme.padding;
  Rect line = {{rect.min.x + inset, rect.min.y}, {rect.max.x - inset, rect.max.y}};
  ImDrawList* list = ImGui::GetWindowDrawList();
  const LessonView& lesson = view.lesson;
  const bool in_deck = lesson.lesson == nullptr || view.lecture->shows(lesson);
  const Scene* scene = in_deck ? view.lecture->shown() : nullptr;
  if (scene != nullptr) {
    const std::string count = scene_count(view);
    draw_text(list, theme.ui_bold, line, theme.text_dim, count, Align::right);
    line.max.x -= text_width(theme.ui_bold, count) + 2 * theme.gap;
  }
  if (scene == nullptr) return draw_text(list, theme.ui_bold, line, theme.text_dim, text);
  // The name of the scene comes first, as large as the bar; what is simulated takes the room that is left.
  const std::string name = scene_name(*scene);
  ImFont* const font = text_width(theme.display, name) <= line.width() && theme.display->FontSize <= line.height() ? theme.display
                       : theme.heading->FontSize <= line.height()                                                  ? theme.heading
                                                                                                                   : theme.ui;
  draw_text(list, font, line, theme.text, elide(font, name, line.width()));
  line.min.x += text_width(font, name) + 3 * theme.gap;
  if (text_width(view.theme->ui, text) <= line.width()) draw_text(list, view.theme->ui, line, theme.text_dim, text, Align::right);
}

}  // namespace tilescope
