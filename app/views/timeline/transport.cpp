// The transport bar: stepping, grain, speed, where one is, and the bytes so far.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/model/lessons/lecture.h"
#include "app/model/measurements/error_sentences.h"
#include "app/model/requests/assets.h"
#include "app/model/state/playhead.h"
#include "app/ui/say.h"
#include "app/views/chrome.h"
#include "app/views/error_words.h"
#include "app/views/lesson/lesson_clicker.h"
#include "app/views/work_words.h"
#include "sim/analysis/format.h"
#include "sim/analysis/validation.h"

namespace tilescope {

namespace {

/// Work shorter than this shows no progress bar: it would only flicker.
constexpr double quiet_seconds = 0.15;

std::string speed_label(double speed) {
  return speed <= 0.06 ? tr("slow") : fmt::format("{:g}×", speed);
}

float between_figures(const Theme& theme) {
  return std::round(26 * theme.scale);
}

/// Items from left to right on the bar's middle line.
class Row {
 public:
  Row(const Rect& rect, const Theme& theme) : rect_(rect), theme_(theme), x_(rect.min.x + theme.padding) {}

  void place(float height) const {
    ImGui::SetCursorScreenPos({x_, std::round(rect_.center().y - std::round(height * theme_.scale) * 0.5F)});
  }
  void advance(float gap) { x_ = ImGui::GetItemRectMax().x + std::round(gap * theme_.scale); }
  void skip(float points) { x_ += std::round(points * theme_.scale); }

  bool icon(const char* id, Icon kind, const char* tooltip, bool enabled) {
    place(28);
    const bool clicked = icon_button(theme_, id, kind, tooltip, enabled);
    advance(6);
    return clicked;
  }

  /// Text in a field at least as wide as `reserve`, so that changing digits move nothing. False where it does not fit.
  bool text(ImFont* font, ImU32 color, std::string_view shown, std::string_view reserve, float right,
            const char* meaning = nullptr) {
    const float width = std::max(text_width(font, shown), text_width(font, reserve));
    if (x_ + width > right) return false;
    draw_text(ImGui::GetWindowDrawList(), font, {{x_, rect_.min.y}, {x_ + width + 1, rect_.max.y}}, color, shown);
    if (meaning != nullptr) {
      hit_area(meaning, {{x_, rect_.min.y}, {x_ + width, rect_.max.y}});
      item_tooltip(theme_, meaning);
    }
    x_ += width + between_figures(theme_);
    return true;
  }

  float x() const { return x_; }

 private:
  Rect rect_;
  const Theme& theme_;
  float x_;
};

void draw_buttons(Row& row, const View& view, Commands& commands) {
  const bool there = !view.lanes.empty();
  const std::int64_t last = there ? view.lane().step_count : 0;
  if (row.icon("##first", Icon::first, tr("First step (Home)"), there)) commands.push(SeekStep{0});
  if (row.icon("##back", Icon::back, tr("Step back (←)"), there)) commands.push(Step{-1, view.playback.grain});
  if (row.icon("##play", view.playback.playing ? Icon::pause : Icon::play,
               view.playback.playing ? tr("Pause (Space)") : tr("Play (Space)"), there))
    commands.push(SetPlaying{!view.playback.playing});
  if (row.icon("##forward", Icon::forward, tr("Step forward (→)"), there)) commands.push(Step{1, view.playback.grain});
  if (row.icon("##last", Icon::last, tr("Last step (End)"), there)) commands.push(SeekStep{last});
}

/// How the step size and the speed are shown: whole, or, with less room, in shorter words and as lists.
struct ControlsLook {
  bool named_speed = true, grain_list = false, speed = true, grain = true;
};
constexpr std::array controls_looks = {
    ControlsLook{}, ControlsLook{.named_speed = false}, ControlsLook{.named_speed = false, .grain_list = true},
    ControlsLook{.named_speed = false, .grain_list = true, .speed = false}, ControlsLook{.speed = false, .grain = false}};

std::array<const char*, 3> grain_names() {
  return {tr("Operation"), tr("Tile"), tr("Phase")};
}

float grain_list_width(const Theme& theme) {
  float width = 0;
  for (const char* name : grain_names()) width = std::max(width, text_width(theme.ui_bold, fmt::format("{} ▾", name)));
  return std::round(width + 22 * theme.scale);
}

float speed_width(const Theme& theme, bool named) {
  const float name = named ? text_width(theme.ui_bold, tr("Speed")) : 0;
  return std::round(name + text_width(theme.ui_bold, " 0.25×") + 24 * theme.scale);
}

float controls_width(const Theme& theme, const ControlsLook& look) {
  const float grain = look.grain_list ? grain_list_width(theme) : segmented_width(theme, grain_names());
  return (look.grain ? std::round(6 * theme.scale) + grain + std::round(12 * theme.scale) : 0) +
         (look.speed ? speed_width(theme, look.named_speed) + std::round(18 * theme.scale) : 0);
}

std::string step_text(const Lane& lane, std::int64_t step) {
  return fmt::format(fmt::runtime(tr("Step {} of {}")), format_count(step), format_count(lane.step_count));
}

/// The widest look that leaves room for the step; where none does, the widest that is not cut.
ControlsLook controls_look(const Row& row, const View& view, float right) {
  const Theme& theme = *view.theme;
  const float room = right - row.x();
  const float step = view.lanes.empty() ? 0 : text_width(theme.ui_bold, step_text(view.lane(), view.lane().step_count));
  for (const float beside : {step, 0.0F})
    for (const ControlsLook& look : controls_looks)
      if (controls_width(theme, look) + beside <= room && (look.grain || beside == 0)) return look;
  return controls_looks.back();
}

void draw_grain(Row& row, const View& view, Commands& commands, bool list) {
  const Theme& theme = *view.theme;
  const auto names = grain_names();
  const auto now = static_cast<std::size_t>(view.playback.grain);
  row.skip(6);
  row.place(26);
  std::optional<int> chosen;
  if (list) {
    if (pill(theme, fmt::format("{} ▾##grain", names[now]).c_str(), false, tr("Step size"), grain_list_width(theme)))
      ImGui::OpenPopup("grains");
    row.advance(12);
    if (ImGui::BeginPopup("grains")) {
      for (std::size_t i = 0; i < names.size(); ++i)
        if (ImGui::Selectable(names[i], i == now)) chosen = static_cast<int>(i);
      ImGui::EndPopup();
    }
  } else {
    ImGui::BeginGroup();
    chosen = segmented(theme, "grain", names, static_cast<int>(now));
    ImGui::EndGroup();
    item_tooltip(theme, tr("Step size"),
                 tr("operation: one line of the listing\ntile: one iteration of its loop\nphase: one kernel launch"));
    row.advance(12);
  }
  if (chosen) commands.push(SetGrain{static_cast<Grain>(*chosen)});
}

void draw_speed(Row& row, const View& view, Commands& commands, bool named) {
  const Theme& theme = *view.theme;
  row.place(26);
  const std::string speed = speed_label(view.playback.speed);
  const std::string label = named ? fmt::format("{} {}##speed", tr("Speed"), speed) : fmt::format("{}##speed", speed);
  if (pill(theme, label.c_str(), false, tr("Playback speed (+ and −)"), speed_width(theme, named))) ImGui::OpenPopup("speeds");
  row.advance(18);
  if (ImGui::BeginPopup("speeds")) {
    for (double each : playing_speeds)
      if (ImGui::Selectable(speed_label(each).c_str(), std::fabs(each - view.playback.speed) < 1e-6)) commands.push(SetSpeed{each});
    ImGui::EndPopup();
  }
}

void draw_grain_and_speed(Row& row, const View& view, Commands& commands, float right) {
  const ControlsLook look = controls_look(row, view, right);
  if (look.grain) draw_grain(row, view, commands, look.grain_list);
  if (look.speed) draw_speed(row, view, commands, look.named_speed);
}

std::int64_t sum(const TrafficTable& table, std::initializer_list<Link> links) {
  std::int64_t total = 0;
  for (const auto& by_link : table)
    for (Link link : links) total += by_link[static_cast<std::size_t>(link)];
  return total;
}

/// Grouped to the byte while that is short, else shortened.
std::string bytes_text(std::int64_t bytes) {
  return bytes < 100000 ? format_exact_bytes(Bytes(bytes)) : format_bytes(Bytes(bytes));
}

/// Says what of the run's time is not on the axis of the timeline; empty where all of it is.
std::string launch_text(const Simulation& run) {
  const double ns = run.request.gpu.launch_first_ns;
  return ns > 0 ? say(tr("The whole run has {} for its first launch, before the timeline begins."), format_time(Nanoseconds(ns)))
                : std::string();
}

/// Whether the hardware said how long this takes; the tooltip's lines.
std::string trust_text(const View& view, const std::optional<Comparison>& time) {
  if (view.measured.found != nullptr) {
    const KnownBundle& known = *view.measured.found->bundle;
    const auto& measured = view.measured.found->measured().time_cold_ns;
    std::string text = where_from(known.live, known.bundle.device, known.bundle.date);
    add_line(text, say(tr("Measured {} ({} to {})"), format_time(Nanoseconds(measured.median)),
                       format_time(Nanoseconds(measured.least)), format_time(Nanoseconds(measured.most))));
    if (!time) return text;
    add_line(text, say(tr("Simulated {} at the measured clock, {}: {}"), format_time(Nanoseconds(time->simulated)),
                       format_clock(view.measured.found->measured().sm_clock_hz), format_signed_percent(time->error())));
    add_line(text, time_errors_text(view.studies->errors->time, view.lane().simulation->request));
    return text;
  }
  std::string load;
  if (const RunUnderLoad* const loaded = view.studies->under_load.get())
    load = loaded->clock.from == ClockUnderLoad::From::like_runs
               ? say(tr("Under load: simulated at {}, the mean clock of {} recorded runs around its load."),
                     format_clock(loaded->clock.hz), loaded->clock.runs)
           : loaded->clock.from == ClockUnderLoad::From::set
               ? say(tr("Under load: simulated at {}, as set."), format_clock(loaded->clock.hz))
               : say(tr("Under load: simulated at {}, as calibrated under products of mma.sync and exponentials."),
                     format_clock(loaded->clock.hz));
  if (const RunUnderLoad* const loaded = view.studies->under_load.get(); loaded != nullptr && loaded->clock.of_unchanged)
    add_line(load, tr("It is the clock of the same run on the unchanged GPU: a changed value does not show as another clock."));
  if (const RunUnderLoad* const loaded = view.studies->under_load.get(); loaded != nullptr && loaded->clock.of_own_tile)
    add_line(load, tr("It is the clock of the kernel's own tile and orders: another tile does not show as another clock."));
  const auto with_load = [&](std::string text) {
    if (!load.empty()) add_line(text, load);
    if (const Sentence& file = view.studies->gpu_file; !file.empty()) add_line(text, say(file));
    return text;
  };
  const SimulationRequest& request = view.lane().simulation->request;
  const std::string& id = request.gpu.id;
  for (const auto& known : view.measured.known->bundles)
    if (known->bundle.gpu == id) {
      return with_load(tr("This problem was not measured.") + std::string(" ") +
                       prediction_errors_text(*view.studies->errors, request));
    }
  if (is_imagined(id)) return with_load(say(imagined_gpu_sentence(id)));
  return with_load(tr("Nothing was measured on this GPU, so the error in time is unknown. L2↔SM bytes are exact on every GPU."));
}

/// How long it all takes, and what the hardware said: as much of it as there is room for.
void draw_whole_run(Row& row, const Rect& rect, const View& view, float right) {
  const Theme& theme = *view.theme;
  const Simulation& run = *view.lane().simulation;
  std::optional<Comparison> time;
  const RunUnderLoad* const loaded = view.studies->under_load.get();
  if (view.measured.found != nullptr && loaded != nullptr)
    time = compare(*loaded->simulation, view.measured.found->measured()).figure(Figure::time);
  // The time that the other views have, with its clock.
  const bool as_drawn = loaded == nullptr;
  const Simulation& timed = as_drawn ? run : *loaded->simulation;
  std::string clock = format_clock(timed.request.gpu.sm_clock_hz);
  if (!as_drawn && !time && view.studies->errors->time && view.studies->errors->clock)
    clock += " ±" + format_percent(view.studies->errors->clock->mean);  // that of a borrowed clock comes on top
  std::string simulated = format_time(timed.time);
  std::vector<std::string> texts = {say(tr("Whole run: {} at {}"), simulated, clock), say(tr("Whole run: {}"), simulated)};
  if (!as_drawn) {
    // Of a recorded run its own error, else that of such runs.
    const std::string mark = error_mark(*view.studies->errors);
    simulated += time            ? fmt::format(" ({})", say(tr("{} off"), format_signed_percent(time->error())))
                 : !mark.empty() ? " " + mark
                                 : std::string();
    texts = {say(time ? tr("Whole run: {} at {}, as measured") : tr("Whole run: {} at {} under load"), simulated, clock),
             say(tr("Whole run: {} at {}"), simulated, clock), fmt::format("{} {}", simulated, say(tr("at {}"), clock)), simulated};
  }
  const std::string whose = view.playback.race ? short_algorithm_title(*run.info) + " · " : std::string();
  for (const std::string& each : texts) {
    const std::string text = whose + each;
    const float left = row.x();
    if (!row.text(theme.ui, theme.text_dim, text, text, right)) continue;
    hit_area("whole run", {{left, rect.min.y}, {left + text_width(theme.ui, text), rect.max.y}});
    std::string body = trust_text(view, time);
    if (loaded != nullptr)
      add_line(body, say(tr("At {}, the highest clock: {}. Stage and timeline show the cycles of that run."),
                         format_clock(run.request.gpu.sm_clock_hz), format_time(run.time)));
    if (const std::string launch = launch_text(run); !launch.empty()) add_line(body, launch);
    item_tooltip(theme, tr("Error in time"), body);
    return;
  }
}

/// Returns true where Race has the bytes of both runs on its cards, which count what the L2 still has to write too.
bool counts_on_cards(const View& view) {
  const std::string_view alone = view.workspace->alone;
  return view.playback.race && view.workspace->center == CenterView::stage &&
         (alone.empty() || alone == "stage" || alone == "race");
}

void draw_figures(Row& row, const Rect& rect, const View& usual, float right) {
  if (usual.lanes.empty()) return;
  // A class reads the step and the bytes from the back of the room; beside a lesson there is no room for that.
  Theme theme = *usual.theme;
  if (usual.workspace->present && usual.lesson.lesson == nullptr) {
    theme.ui = theme.reading;
    theme.ui_bold = theme.reading_bold;
  }
  const View view{usual, &theme};
  const Lane& lane = view.lane();
  const std::string steps = format_count(lane.step_count);
  const char* const about_step = tr("A step is one operation of the SM in focus, ordered by its end.");
  if (!row.text(theme.ui_bold, theme.text, step_text(lane, lane.step), step_text(lane, lane.step_count), right, about_step))
    row.text(usual.theme->ui_bold, theme.text, fmt::format("{}/{}", format_count(lane.step), steps),
             fmt::format("{}/{}", steps, steps), right, about_step);
  const std::string last_cycle = format_cycles(lane.simulation->cycles);
  row.text(theme.ui, theme.text_dim, fmt::format("{} {}", tr("Cycle"), format_cycles(Cycles(view.playback.cycle))),
           fmt::format("{} {}", tr("Cycle"), last_cycle), right, tr("SM cycles since the start of the run."));
  const TrafficTable whole = lane.simulation->ledger.table();
  const auto figure = [&](const char* name, std::initializer_list<Link> links, const char* meaning) {
    const std::int64_t now = sum(lane.state.traffic, links), all = sum(whole, links);
    const auto text = [&](std::int64_t bytes, const char* about) { return fmt::format("{} {}{}", name, about, bytes_text(bytes)); };
    const char* const widest = lane.state.traffic_exact ? "" : "≈ ";  // of all steps, so that nothing moves from step to step
    row.text(theme.ui, theme.text_dim, text(now, about_mark(lane, static_cast<double>(now))), text(all, widest), right, meaning);
  };
  if (!counts_on_cards(view)) {
    const std::int64_t left = left_in_l2(lane);
    const std::int64_t moved = sum(lane.state.traffic, {Link::hbm_read, Link::hbm_write});
    const auto with_rest = [&](std::string_view rest) {
      const std::string text = fmt::format("{} {} + {}{}", tr("HBM"), bytes_text(moved), bytes_text(left), rest);
      return row.text(theme.ui, theme.text_dim, text, text, right,
                      tr("HBM traffic of the run, all SMs, and what the L2 has not written back when it ends."));
    };
    if (left == 0 || !(with_rest(std::string(" ") + tr("still in the L2")) || with_rest(std::string(" ") + tr("in L2"))))
      figure(tr("HBM"), {Link::hbm_read, Link::hbm_write}, tr("HBM traffic up to this step, all SMs."));
    figure("L2→SM", {Link::l2_to_sm}, tr("L2 reads up to this step, all SMs."));
  }
  // It answers many a question, and says who wins a race that a class still watches.
  const bool watched = view.playback.race && view.workspace->present && view.playback.cycle < lane.simulation->cycles.value;
  if (!view.lesson.locked && !view.lesson.asks_later && !watched) draw_whole_run(row, rect, view, right);
}

/// What the next press of a clicker does in a deck or a lesson, from all that there is to say to the least; empty without one, and
/// where a lesson says it beside its text.
std::vector<std::string> next_clicks(const View& view) {
  const Lecture& lecture = *view.lecture;
  if (view.lesson.lesson != nullptr) {
    if (shows_lesson_text() && !lecture.asking) return {};  // a question to the class stands over the text
    return {next_click_in_lesson(view)};
  }
  if (lecture.count() == 0 || view.lanes.empty()) return {};
  if (lecture.shown() == nullptr) return {tr("Page Down: the first scene")};
  std::vector<std::string> texts;
  switch (lecture.turn(1, view.lane().step)) {
    case Lecture::Turn::answer:
      texts = {tr("Page Down: the answer")};
      break;
    case Lecture::Turn::step: {
      const std::int64_t last = std::min(lecture.shown()->steps->last, view.lane().step_count);
      if (lecture.holds_answer()) {
        texts = {say(tr("Page Down: the next step, to {}, then the answer"), last), tr("Page Down: steps, then the answer")};
        break;
      }
      if (lecture.next() != nullptr) texts = {say(tr("Page Down: the next step, to {}. Ctrl+Page Down: the next scene"), last)};
      texts.push_back(say(tr("Page Down: the next step, to {}"), last));
      break;
    }
    case Lecture::Turn::scene:
      texts = {tr("Page Down: the next scene")};
      break;
    case Lecture::Turn::none:
      texts = {tr("This is the last scene.")};
      break;
  }
  // Whoever wrote a question waits for it.
  if (!lecture.shown()->question || lecture.asking) return texts;
  const std::string key = tr("Q: the question");
  std::vector<std::string> with_key;
  for (const std::string& text : texts) with_key.push_back(fmt::format("{}{}{}", text, text.ends_with('.') ? " " : ". ", key));
  with_key.push_back(key);
  return with_key;
}

/// The first of the hints that has room beside the step; else beside the step in figures alone, else without it. Empty where none
/// has room.
std::string hint_beside_step(const Row& row, const View& view, float right, const std::vector<std::string>& hints) {
  const Theme& theme = *view.theme;
  std::vector<float> besides = {0};
  if (!view.lanes.empty()) {
    const float between = between_figures(theme);
    const std::string last = format_count(view.lane().step_count);
    besides = {text_width(theme.ui_bold, step_text(view.lane(), view.lane().step_count)) + between,
               text_width(theme.ui_bold, fmt::format("{}/{}", last, last)) + between, 0};
  }
  for (const float beside : besides)
    for (const std::string& hint : hints)
      if (row.x() + text_width(theme.ui_small, hint) + beside <= right) return hint;
  return {};
}

/// Progress and a cancel button; returns its left edge.
float draw_busy(const Rect& rect, const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const float side = std::round(28 * theme.scale), width = std::round(170 * theme.scale);
  const float right = rect.max.x - theme.padding;
  ImGui::SetCursorScreenPos({right - side, std::round(rect.center().y - side * 0.5F)});
  if (icon_button(theme, "##cancel", Icon::cancel, tr("Cancel (Esc)"))) commands.push(CancelWork{});
  const Rect box{{right - side - theme.gap - width, rect.min.y}, {right - side - theme.gap, rect.max.y}};
  const float middle = box.center().y;
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_text(list, theme.ui_small, {{box.min.x, middle - 15 * theme.scale}, {box.max.x, middle}}, theme.text_dim,
            words_of(view.work.kind));
  draw_bar(list, theme, {{box.min.x, middle + 4 * theme.scale}, {box.max.x, middle + 10 * theme.scale}}, view.work.progress,
           theme.accent);
  return box.min.x;
}

/// The keys; or, where the SM in focus is done before the run is, what is left to see.
std::string hint_text(const View& view) {
  if (view.workspace->center == CenterView::banks)
    return tr("Space play  ←→ wavefront  ↑↓ access  X swizzle  Z enlarge  Ctrl F find  ? keys");
  if (view.workspace->center == CenterView::ladder)
    return tr("Space play  ←→ step  ↑↓ rung  ⇧↑↓ scroll its code  Z enlarge  Ctrl F find  ? keys");
  if (!view.playback.race && !view.lanes.empty()) {
    const Lane& lane = view.lane();
    if (lane.step == lane.step_count && lane.step > 0 && view.playback.cycle < lane.simulation->cycles.value)
      return say(tr("SM {} is done, others still run: → to their end, or click one"), lane.focus_sm);
  }
  return tr("Space play  ←→ step  ⇧ tile  Ctrl phase  R race  Z enlarge  Ctrl F find  ? keys");
}

}  // namespace

void draw_transport(const Rect& rect, const View& view, Commands& commands, bool controls) {
  const Theme& theme = *view.theme;
  Row row(rect, theme);
  if (!controls) return draw_figures(row, rect, view, rect.max.x - theme.padding);
  draw_buttons(row, view, commands);
  float right = rect.max.x - theme.padding;
  if (view.work.seconds > quiet_seconds) right = draw_busy(rect, view, commands) - theme.gap;
  // A class has no keys; one who holds the clicker has. What the next press does comes before the size and the speed of steps.
  const bool present = view.workspace->present;
  const std::vector<std::string> hints = present ? next_clicks(view) : std::vector{hint_text(view)};
  const auto hint_width = [&](const std::string& hint) { return text_width(theme.ui_small, hint); };
  const float shortest =
      present && !hints.empty() ? hint_width(*std::ranges::min_element(hints, {}, hint_width)) + between_figures(theme) : 0;
  draw_grain_and_speed(row, view, commands, right - shortest);
  const std::string hint = present ? hint_beside_step(row, view, right, hints) : hints.front();
  const float width = text_width(theme.ui_small, hint);
  draw_figures(row, rect, view, present && !hint.empty() ? right - width - between_figures(theme) : right);
  if (row.x() + width <= right)
    draw_text(ImGui::GetWindowDrawList(), theme.ui_small, {{right - width - 1, rect.min.y}, {right, rect.max.y}},
              present ? theme.text_dim : theme.text_faint, hint);
}

}  // namespace tilescope
