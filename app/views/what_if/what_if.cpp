// The what-if panel: the same kernel on machines that are changed in one way each, and what each change is worth.
#include <algorithm>
#include <array>
#include <cmath>
#include <list>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "app/model/requests/assets.h"
#include "app/ui/say.h"
#include "app/ui/tab_stops.h"
#include "app/ui/typed_limits.h"
#include "app/views/algorithm_style.h"
#include "app/views/beside_run.h"
#include "app/views/chrome.h"
#include "app/views/error_words.h"
#include "app/views/outcome_words.h"
#include "app/views/panels.h"
#include "app/views/race/race_reason.h"
#include "app/views/study_panel.h"
#include "app/views/timed_run.h"
#include "app/views/what_if/what_if_words.h"
#include "sim/analysis/format.h"

namespace tilescope {
namespace {

/// One line of the table: the real machine, the one that the sliders made, or a variant.
struct Line {
  std::string title, tip = {};
  const Outcome* outcome = nullptr;
  const WhatIf* what = nullptr;
  bool base = false, current = false;
  bool changes_gpu = false;
  bool simulated = true;             // else a bound, which has no reason
  const NextLimit* limit = nullptr;  // of this run; null where it is not simulated
};

/// How a column writes its figures.
struct ColumnWords {
  ColumnUnit unit;
  bool factors = false;  // differences, where they are no percentages
};

/// What the panel shows, beside the table.
struct WhatIfShown {
  bool changed = false;               // settings on screen differ from the real machine
  const Simulation* shown = nullptr;  // what is on screen, at the clock of the table; null while it is simulated
  const NextLimit* limit = nullptr;   // of what is on screen; null while it is simulated
  const Outcome* base = nullptr;      // of the unchanged run; null while it is simulated
  double noise = least_difference;    // relative change of time that means nothing

  const NextLimit* unchanged_limit() const { return changed ? nullptr : limit; }
  bool compares() const { return changed && base != nullptr && shown != nullptr; }
};

/// What all rows have in common.
struct TableWords {
  const Outcome* base = nullptr;  // null while it is simulated
  const NextLimit* base_limit = nullptr;
  double noise = least_difference;  // of the times
  ColumnWords time, hbm, l2;
};

/// Grey up to `noise`, a fraction of `before`.
ImU32 difference_color(const Theme& theme, double now, double before, double noise) {
  if (std::abs(now - before) <= noise * before) return theme.text_faint;
  return now < before ? theme.good : theme.bad;
}

/// Whether the lifted limit is what decides the time of the unchanged run.
bool is_bottleneck(const Outcome& base, const NextLimit& limit) {
  return limit.decides() && !bound_of(base, &limit).idle_decides();
}

/// Names the row of the limit that takes no time.
std::string limit_title(const Outcome& base, const NextLimit& limit) {
  return say(is_bottleneck(base, limit) ? tr("No bottleneck: {} infinitely fast") : tr("Without {} alone"),
             bound_name(limit.without));
}

/// "40.1 µs ±5.7 %": a predicted time and the mean error of such times; the time alone where that is unknown.
std::string predicted_text(Nanoseconds time, const std::string& error) {
  return format_time(time) + (error.empty() ? "" : " " + error);
}

/// The settings on screen against the unchanged GPU. `limit` may be null; `error` is that of the run on screen.
std::string changed_finding(const WhatIfTable& table, const Simulation& now, const NextLimit* limit, const std::string& error) {
  const Nanoseconds before(table.base->time_ns);
  std::string text = say(tr("{} with the current settings: {}, unchanged {}: {} ({}). {}"), algorithm_title(table.real.algorithm),
                         predicted_text(now.time, error), table.real.gpu.id, format_time(before),
                         speed_text(now.time.value, before.value), bottleneck_text(bound_of(now, limit))) +
                     idle_text(bound_of(now, limit));
  if (limit != nullptr) text += ". " + next_limit_text(bound_of(now, limit));
  const Outcome outcome = outcome_of(now);
  return !unchanged(now.request.gpu) && outcome.l2_may_decide() ? text + ". " + unshared_text(outcome) : text;
}

/// "1.91× faster". Where the L2 may decide: "1.91× faster; at best 1.28× faster if no read shares an L2 lookup".
std::string change_text(double time_ns, double unshared_ns, double before_ns) {
  const std::string speed = speed_text(time_ns, before_ns);
  if (!l2_may_decide(unshared_ns, time_ns)) return speed;
  return say(tr("{}; at best {} if no read shares an L2 lookup"), speed, speed_text(unshared_ns, before_ns));
}

/// The row that saves most time, and the one that costs most.
std::string finding(const WhatIfTable& table, const NextLimit* limit, const std::string& error, double noise) {
  if (!table.base || !table.base->done()) return tr("Simulating the real GPU…");
  struct Row {
    std::string title;
    double time_ns = 0, unshared_ns = 0;
  };
  std::optional<Row> best, worst;
  const auto take = [&](const std::string& title, const Outcome& outcome) {
    const Row row{title, outcome.time_ns, outcome.unshared_ns};
    if (!best || row.time_ns < best->time_ns) best = row;
    if (!worst || row.time_ns > worst->time_ns) worst = row;
  };
  if (limit != nullptr) take(limit_title(*table.base, *limit), limit->outcome);
  for (const WhatIfRow& row : table.rows)
    if (row.outcome && row.outcome->done()) take(translated(row.what.title), *row.outcome);
  std::string now = say(tr("{}: {}. {}"), algorithm_title(table.real.algorithm),
                        predicted_text(Nanoseconds(table.base->time_ns), error), bottleneck_text(bound_of(*table.base, limit))) +
                    idle_text(bound_of(*table.base, limit));
  if (limit != nullptr) now += ". " + next_limit_text(bound_of(*table.base, limit));
  if (!best) return now;
  const double gain = best->time_ns / table.base->time_ns - 1, loss = worst->time_ns / table.base->time_ns - 1;
  std::string text = now;
  if (gain < -noise)
    text += say(tr(". Best: {} ({})"), best->title, change_text(best->time_ns, best->unshared_ns, table.base->time_ns));
  if (loss > noise)
    text += say(tr(". Worst: {} ({})"), worst->title, change_text(worst->time_ns, worst->unshared_ns, table.base->time_ns));
  return text;
}

/// Units of the unchanged run; factors where the difference of some row is too large for a percentage.
TableWords words_of(const std::vector<Line>& lines, const WhatIfShown& panel) {
  const Outcome* const base = panel.base;
  TableWords words{.base = base, .base_limit = panel.unchanged_limit(), .noise = panel.noise, .time = {}, .hbm = {}, .l2 = {}};
  const auto column = [&](auto figure, ColumnUnit (*unit)(double)) {
    std::vector<double> ratios;
    double first = 0;
    for (const Line& line : lines) {
      if (line.outcome == nullptr || !line.outcome->done()) continue;
      if (first <= 0) first = figure(base != nullptr ? *base : *line.outcome);
      if (first > 0) ratios.push_back(figure(*line.outcome) / first);
    }
    return ColumnWords{unit(first), needs_factors(ratios)};
  };
  words.time = column([](const Outcome& run) { return run.time_ns; }, &time_unit);
  words.hbm = column([](const Outcome& run) { return run.hbm(); }, &byte_unit);
  words.l2 = column([](const Outcome& run) { return run.sm_link(); }, &byte_unit);
  return words;
}

struct Columns {
  float title, time, bar, hbm, l2, bound, right;  // left edges
  bool has_bar = true, has_hbm = true, has_l2 = true;
};

/// `longest_title` is the width of the longest title. The bars take the room that is left over.
/// `has_ranges`: some times are ranges, which take more room.
Columns columns_of(const Theme& theme, float left, float width, float longest_title, bool has_ranges) {
  const float unit = theme.scale;
  Columns c{};
  c.right = left + width;
  const bool narrow = width < 720 * unit;
  c.bound = c.right - (narrow ? 92 : width < 1200 * unit ? 150 : 226) * unit;
  // A line's name comes before its bytes: those are in its tooltip too.
  c.has_hbm = width >= 510 * unit;
  c.has_l2 = width >= 640 * unit;
  const float figure = (width < 960 * unit ? 132 : 156) * unit;
  c.l2 = c.bound - (c.has_l2 ? figure : 0);
  c.hbm = c.l2 - (c.has_hbm ? figure : 0);
  c.has_bar = !narrow;
  c.bar = c.hbm;
  if (!narrow) c.bar = std::min(left + longest_title + 16 * unit + figure + (has_ranges ? 124 * unit : 0), c.hbm - 96 * unit);
  c.time = c.bar - std::min(figure, 140 * unit) - (has_ranges ? 124 * unit : 0);
  c.title = left;
  return c;
}

/// Whether the time of a row is a range: its GPU is changed, and the L2 may decide.
bool has_range(const Line& line) {
  return line.outcome != nullptr && line.outcome->done() && line.changes_gpu && line.outcome->l2_may_decide();
}

/// A figure of a row, and the same of the real machine.
struct Figures {
  double now = 0, before = 0;
  double up_to = 0;    // the other end of a range; 0: it is none
  bool alone = false;  // nothing to compare it with
  double noise = least_difference;
};

/// A value and, behind it, how it differs from the real machine's. A range is "508 µs … ≥ 758 µs": the simulated time of a changed
/// GPU, and the least if no read shares an L2 lookup.
void draw_figure(const Theme& theme, const Rect& rect, const ColumnWords& words, const Figures& figures) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const auto& [now, before, up_to, alone, noise] = figures;
  const float middle = rect.min.x + rect.width() * 0.54F;
  const std::string value = in_unit(now, words.unit), range = up_to > 0 ? " … ≥ " + in_unit(up_to, words.unit) : std::string();
  draw_text(list, theme.mono_small, {rect.min, {middle, rect.max.y}}, theme.text, value + range, Align::right);
  if (alone) return;
  const std::string difference = difference_text(now, before, words.factors);
  draw_text(list, theme.mono_small, {{middle + 6 * theme.scale, rect.min.y}, rect.max},
            up_to > 0 ? theme.text_dim : difference_color(theme, now, before, noise),
            up_to > 0 ? fmt::format("{} … {}", difference, difference_text(up_to, before, words.factors)) : difference);
}

/// Time against the real machine's: to the left it is shorter. The axis is logarithmic, from half to twice; an arrow head beyond
/// its end says that a bar goes on.
void draw_time_bar(ImDrawList* list, const Theme& theme, const Rect& rect, double ratio, double noise) {
  const float middle = rect.center().x, half = rect.width() * 0.5F;
  list->AddRectFilled({middle, rect.min.y}, {middle + std::max(1.0F, theme.scale), rect.max.y}, theme.text_faint);
  const auto share = static_cast<float>(std::clamp(std::log(ratio) / std::log(2.0), -1.0, 1.0));
  const float end = middle + share * half, inset = rect.height() * 0.3F;
  const ImU32 color = std::abs(ratio - 1) <= noise ? theme.text_faint : ratio < 1 ? theme.good : theme.bad;
  list->AddRectFilled({std::min(middle, end), rect.min.y + inset}, {std::max(middle, end), rect.max.y - inset}, color);
  if (ratio >= 0.5 && ratio <= 2) return;
  const float gap = (ratio < 1 ? -1.5F : 1.5F) * theme.scale, head = (ratio < 1 ? -5.0F : 5.0F) * theme.scale;
  const ImVec2 points[] = {{end + gap, rect.min.y + inset}, {end + gap, rect.max.y - inset}, {end + gap + head, rect.center().y}};
  list->AddConvexPolyFilled(points, 3, color);
}

void draw_headings(const Theme& theme, const Columns& c, float top) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float height = theme.ui_small->FontSize;
  const auto heading = [&](float left, float right, const char* text, Align align) {
    draw_text(list, theme.ui_small, {{left, top}, {right, top + height}}, theme.text_faint, text, align);
  };
  const float slim = 0.54F;
  heading(c.title, c.time, tr("Change"), Align::left);
  heading(c.time, c.time + (c.bar - c.time) * slim, tr("Time"), Align::right);
  if (c.has_bar) heading(c.bar, c.hbm, tr("½ … ×2"), Align::center);
  if (c.has_hbm) heading(c.hbm - 20 * theme.scale, c.hbm + (c.l2 - c.hbm) * slim, tr("HBM bytes"), Align::right);
  if (c.has_l2) heading(c.l2 - 20 * theme.scale, c.l2 + (c.bound - c.l2) * slim, tr("L2↔SM bytes"), Align::right);
  heading(c.bound + 8 * theme.scale, c.right, tr("Why"), Align::left);
}

/// The figures of a row behind its name.
void draw_figures(const Theme& theme, const Line& line, const TableWords& words, const Columns& c, float top, float height) {
  const Outcome& now = *line.outcome;
  const Outcome& before = words.base != nullptr ? *words.base : now;
  const bool alone = line.base || words.base == nullptr;
  const auto cell = [&](float left, float right) { return Rect{{left, top}, {right, top + height}}; };
  draw_figure(theme, cell(c.time, c.bar), words.time,
              {now.time_ns, before.time_ns, has_range(line) ? now.unshared_ns : 0, alone, words.noise});
  if (c.has_bar && !alone && before.time_ns > 0)
    draw_time_bar(ImGui::GetWindowDrawList(), theme, cell(c.bar + 6 * theme.scale, c.hbm - 6 * theme.scale),
                  now.time_ns / before.time_ns, words.noise);
  if (c.has_hbm) draw_figure(theme, cell(c.hbm, c.l2), words.hbm, {now.hbm(), before.hbm(), 0, alone});
  if (c.has_l2) draw_figure(theme, cell(c.l2, c.bound), words.l2, {now.sm_link(), before.sm_link(), 0, alone});
}

/// What bounds the run of a line that is done.
RunBound bound_of_line(const Line& line, const TableWords& words) {
  if (line.base || line.limit != nullptr || words.base == nullptr) return bound_of(*line.outcome, line.limit);
  return changed_bound(*line.outcome, *words.base, words.base_limit);
}

/// Why a row has the time that it has.
std::vector<std::string> reasons_of(const Line& line, const TableWords& words) {
  if (!line.simulated) return {tr("a bound, not simulated")};
  const RunBound bound = bound_of_line(line, words);
  if (line.base || words.base == nullptr) return bound_reasons(bound);
  return row_reasons(line.what != nullptr ? line.what->part : WhatIfPart(),
                     {*words.base, *line.outcome, bound_of(*words.base, words.base_limit), bound}, words.noise);
}

std::string tip_of(const Line& line, const TableWords& words) {
  std::string tip = line.tip;
  if (line.outcome == nullptr || !line.outcome->done()) return tip;
  add_line(tip, say(tr("HBM {}, L2↔SM {}"), format_bytes(line.outcome->hbm()), format_bytes(line.outcome->sm_link())));
  add_line(tip, written_after_text(line.outcome->dirty()));
  add_line(tip, tr("HBM bytes and their ratio are those of the run."));
  if (has_range(line)) add_line(tip, unshared_text(*line.outcome));
  if (words.base == nullptr || line.base) return tip;
  add_line(tip, slower_reason(*line.outcome, *words.base, tr("this row"), tr("unchanged")));
  add_line(tip, slower_reason(*words.base, *line.outcome, tr("unchanged"), tr("this row")));
  return tip;
}

/// Returns whether the row was clicked.
bool draw_line(const View& view, const Line& line, const TableWords& words, const Columns& c, float top, float height) {
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Rect rect = {{c.title - 6 * theme.scale, top}, {c.right, top + height}};
  ImGui::PushID(line.title.c_str());
  bool clicked = hit_area("row", rect);
  const bool hovered = ImGui::IsItemHovered();
  ImGui::PopID();
  clicked = tab_stop(theme, rect, 4 * theme.scale, ImGui::GetID("rows")) || clicked;
  const bool focused = tab_stop_is_focused();
  if (line.current)
    list->AddRectFilled(rect.min, rect.max, theme.accent_soft, 4 * theme.scale);
  else if (hovered)
    list->AddRectFilled(rect.min, rect.max, with_alpha(theme.inset_border, 0.6F), 4 * theme.scale);
  if (hovered) show_tooltip(theme, line.title, tip_of(line, words));
  if (focused && !hovered) stop_tooltip(theme, rect, line.title, tip_of(line, words));
  draw_text(list, line.base ? theme.ui_bold : theme.ui, {{c.title, top}, {c.time - 4 * theme.scale, top + height}},
            line.base ? theme.text : theme.text_dim, line.title);
  const Rect rest = {{c.time, top}, {c.right, top + height}};
  if (line.outcome == nullptr) {
    draw_text(list, theme.ui_small, rest, theme.text_faint, tr("Not simulated yet"));
    return clicked;
  }
  if (!line.outcome->done()) {
    draw_text(list, theme.ui_small, rest, theme.bad, say(line.outcome->refusal));
    return clicked;
  }
  draw_figures(theme, line, words, c, top, height);
  const Rect why = {{c.bound + 8 * theme.scale, top}, rest.max};
  const bool other_bound =
      words.base != nullptr && !line.base && !same_bottleneck(bound_of_line(line, words), bound_of(*words.base, words.base_limit));
  draw_text(list, theme.ui_small, why, other_bound ? theme.text : theme.text_dim,
            first_that_fits(theme.ui_small, why.width(), reasons_of(line, words)));
  return clicked;
}

bool is_current(const View& view, const WhatIf& what) {
  const SimulationRequest& shown = view.requested->request;
  return same_numbers(shown.gpu, what.request.gpu) && shown.block_order == what.request.block_order &&
         shown.key_order == what.request.key_order && shown.problem == what.request.problem;
}

/// Puts a variant into the window, from the real machine on.
void apply(const WhatIf& what, Commands& commands) {
  commands.push(ResetSpecValue{});
  commands.push(SetBlockOrder{what.request.block_order});
  commands.push(SetKeyOrder{what.request.key_order});
  for (const std::string& assignment : what.assignments) commands.push(SetSpecValue{assignment});
  // On the changed machine the program might choose another tile by itself.
  const auto program = find_program(what.request.algorithm);
  if (program && what.request.tile && !((*program)->default_tile(what.request.problem, what.request.gpu) == *what.request.tile))
    commands.push(SetTile{what.request.tile, "tile"});
  commands.push(SetProblem{what.request.problem, "problem"});  // nothing where it is the one that is shown
}

/// Any number of the GPU, with what it is on the real one.
void draw_slider(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const std::string& key_now = view.workspace->views.what_if_number;
  const SpecKey* chosen = find_spec_key(key_now);
  ImGui::AlignTextToFramePadding();
  text_item(theme.ui, theme.text_dim, tr("Any value"));
  ImGui::SameLine();
  ImGui::SetNextItemWidth(std::round(220 * theme.scale));
  if (ImGui::BeginCombo("##key", chosen != nullptr ? spec_key_name(*chosen).c_str() : key_now.c_str())) {
    for (const SpecKey& key : spec_keys())
      if (key.may_change_a_run() &&
          ImGui::Selectable(fmt::format("{}  ({})", spec_key_name(key), key.key).c_str(), key.key == key_now)) {
        ViewChoices views = view.workspace->views;
        views.what_if_number = std::string(key.key);
        commands.push(SetViews{views});
      }
    ImGui::EndCombo();
  } else {
    combo_stop(theme);
  }
  if (chosen == nullptr) return;
  item_tooltip(theme, chosen->key, translated(chosen->meaning));
  const double real = view.requested->gpu_base.*chosen->member;
  double value = view.requested->request.gpu.*chosen->member;
  // Logarithmic around the real value; where that is 0 or small, from 0 on.
  const double low = real > 0 ? std::max(chosen->minimum, real / 64) : chosen->minimum;
  const double high = real > 0 ? std::min(chosen->maximum, real * 64) : std::min(chosen->maximum, 1e6);
  ImGui::SameLine();
  const float figure = text_width(theme.mono, "000.00 GB/s");
  const float room = ImGui::GetContentRegionAvail().x - figure - 150 * theme.scale, least = 80 * theme.scale;
  const std::string first = spec_value_text(*chosen, low), last = spec_value_text(*chosen, high);
  const float ends = text_width(theme.mono_small, first) + text_width(theme.mono_small, last) + 2 * ImGui::GetStyle().ItemSpacing.x;
  const bool shows_ends = room - ends >= least;
  if (shows_ends) {
    text_item(theme.mono_small, theme.text_faint, first);
    ImGui::SameLine();
  }
  ImGui::SetNextItemWidth(std::max(least, shows_ends ? room - ends : room));
  const ImGuiSliderFlags flags =
      low > 0 ? ImGuiSliderFlags_Logarithmic | ImGuiSliderFlags_NoRoundToFormat : ImGuiSliderFlags_NoRoundToFormat;
  ImGui::PushFont(theme.mono_small);
  const NumberLimits limits = spec_limits(*chosen);
  const double before = value;
  // The value stands behind the slider, where no knob covers it.
  if (!type_quantity("##value", value, limits) &&
      ImGui::SliderScalar("##value", ImGuiDataType_Double, &value, &low, &high, " ", flags)) {
    if (chosen->whole) value = std::round(value);
    value = std::clamp(value, chosen->minimum, chosen->maximum);  // typed, it may be beyond the slider's ends, not beyond these
  }
  if (value != before) commands.push(SetSpecValue{fmt::format("{}={}", chosen->key, value)});
  field_stop(theme, "##value");
  ImGui::PopFont();
  note_limits(theme, limits, value, item_and_button(theme.gap + figure, tr("Reset")));
  if (shows_ends) {
    ImGui::SameLine();
    text_item(theme.mono_small, theme.text_faint, last);
  }
  ImGui::SameLine();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_text(ImGui::GetWindowDrawList(), theme.mono, {at, {at.x + figure, at.y + ImGui::GetFrameHeight()}}, theme.text,
            spec_value_text(*chosen, value));
  ImGui::Dummy({figure, ImGui::GetFrameHeight()});
  ImGui::SameLine();
  if (value != real) {
    if (small_button_stop(theme, tr("Reset"))) commands.push(ResetSpecValue{std::string(chosen->key)});
  } else {
    text_item(theme.ui_small, theme.text_faint, tr("unchanged"));
  }
  study_message(view, chosen->key);
}

/// The sentences below the headline.
std::string detail_of(const View& view, const WhatIfShown& panel) {
  const WhatIfTable& table = *view.studies->what_if;
  std::string detail = tr("Each row changes one thing and simulates the same problem again. Click a row to load it.");
  if (table.noise() > 0)
    detail.append(" ").append(
        say(tr("Grey: up to {}. The order of events alone may change that much."), format_percent(panel.noise)));
  if (const double dirty = panel.base != nullptr ? panel.base->dirty() : 0; dirty > 0)
    detail.append(" ").append(say(tr("HBM bytes are those of the run. {} more of {}, unchanged, are written back after it."),
                                  format_bytes(dirty), table.real.gpu.id));
  if (const std::string clock = one_clock_text(table.clock_hz, table.real.gpu, tr("the unchanged run")); !clock.empty())
    detail.append(" ").append(clock);
  detail.append(" ").append(time_errors_text(view.studies->errors->time, view.lane().simulation->request));
  const std::string why = panel.compares()
                              ? slower_reason(outcome_of(*panel.shown), *panel.base, tr("current settings"), tr("unchanged"))
                              : std::string();
  return why.empty() ? detail : why + " " + detail;
}

/// The rows from the unchanged machine on. `made` keeps the outcomes that no study has.
std::vector<Line> lines_of(const View& view, const WhatIfShown& panel, std::list<Outcome>& made) {
  const WhatIfTable& table = *view.studies->what_if;
  const Outcome* base = panel.base;
  std::vector<Line> lines;
  lines.push_back({.title = say(tr("{}, unchanged"), table.real.gpu.id),
                   .tip = table.base && !table.base->done() ? say(table.base->refusal) : std::string(),
                   .outcome = table.base ? &*table.base : nullptr,
                   .base = true,
                   .current = !panel.changed,
                   .changes_gpu = !unchanged(table.real.gpu),
                   .limit = panel.unchanged_limit()});
  if (const NextLimit* const limit = panel.unchanged_limit(); limit != nullptr && base != nullptr) {
    const bool decides = is_bottleneck(*base, *limit);
    lines.push_back({.title = limit_title(*base, *limit),
                     .tip = decides ? tr("The bottleneck takes no time at all. The next limit decides.") : std::string(),
                     .outcome = &limit->outcome,
                     .changes_gpu = true});
  }
  if (base != nullptr && base->balanced_ns > 0 && base->balanced_ns < (1 - least_difference) * base->time_ns) {
    made.push_back(*base);
    made.back().time_ns = base->balanced_ns;
    lines.push_back(
        {.title = tr("Perfect balance (a bound)"),
         .tip =
             tr("Not simulated: at best the time if every SM had all its blocks until the end. HBM and the L2 may not allow it."),
         .outcome = &made.back(),
         .simulated = false});
  }
  const bool is_variant =
      std::any_of(table.rows.begin(), table.rows.end(), [&](const WhatIfRow& row) { return is_current(view, row.what); });
  if (panel.changed && !is_variant) {
    if (panel.shown != nullptr) made.push_back(outcome_of(*panel.shown));
    lines.push_back({.title = tr("Current settings"),
                     .outcome = panel.shown != nullptr ? &made.back() : nullptr,
                     .current = true,
                     .changes_gpu = panel.shown != nullptr && !unchanged(panel.shown->request.gpu),
                     .limit = panel.limit});
  }
  if (const BesideRun* const beside = beside_run(view); beside != nullptr && beside->kernel != nullptr)
    lines.push_back({.title = say(tr("{}: {} on {}"), beside_label(*beside), algorithm_title(beside->kernel->algorithm),
                                  beside->simulation->request.gpu.id),
                     .tip = beside_text(view, *beside),
                     .outcome = &beside->kernel->outcome});
  for (const WhatIfRow& row : table.rows) {
    std::string tip = translated(row.what.asks);
    for (const std::string& assignment : row.what.assignments) add_line(tip, assignment);
    const bool current = is_current(view, row.what);
    lines.push_back({.title = translated(row.what.title),
                     .tip = tip,
                     .outcome = row.outcome ? &*row.outcome : nullptr,
                     .what = &row.what,
                     .current = current,
                     .changes_gpu = !row.what.assignments.empty(),
                     .limit = panel.changed && current ? panel.limit : nullptr});
  }
  return lines;
}

/// Draws the table from the cursor on; a click on a row loads it.
void draw_table(const View& view, Commands& commands, const std::vector<Line>& lines, const TableWords& words) {
  const Theme& theme = *view.theme;
  const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  float longest_title = 0;
  for (const Line& line : lines)
    longest_title = std::max(longest_title, text_width(line.base ? theme.ui_bold : theme.ui, line.title));
  const Columns columns = columns_of(theme, at.x, room.x, longest_title, std::ranges::any_of(lines, has_range));
  draw_headings(theme, columns, at.y);
  float y = at.y + theme.ui_small->FontSize + 4 * theme.scale;
  const float least = theme.ui->FontSize + std::round(4 * theme.scale);
  const float height = std::clamp(std::floor((at.y + room.y - y) / static_cast<float>(lines.size())), least,
                                  std::max(least, std::round(44 * theme.scale)));
  for (const Line& line : lines) {
    if (draw_line(view, line, words, columns, y, height)) {
      if (line.what != nullptr) apply(*line.what, commands);
      if (line.base) {
        commands.push(ResetSpecValue{});
        commands.push(SetBlockOrder{});
        commands.push(SetKeyOrder{});
      }
    }
    y += height;
  }
  ImGui::Dummy({room.x, y - at.y});  // where the lines need more than there is, the panel scrolls
}

}  // namespace

void draw_what_if_panel(const View& view, Commands& commands) {
  if (view.studies->what_if == nullptr) return study_empty(view, tr("Nothing simulated yet."));
  const WhatIfTable& table = *view.studies->what_if;
  WhatIfShown panel;
  panel.changed = view.requested != nullptr && !(same_numbers(view.lane().simulation->request.gpu, view.requested->gpu_base) &&
                                                 view.lane().simulation->request.block_order == BlockOrder::launch);
  panel.shown = view.studies->at_what_if_clock.get();
  panel.limit = view.studies->limit && view.studies->limit->outcome.done() ? view.studies->limit.get() : nullptr;
  panel.base = table.base && table.base->done() ? &*table.base : nullptr;
  panel.noise = std::max(table.noise(), least_difference);
  const std::string error = error_mark(*view.studies->errors);
  study_head(view,
             panel.compares() ? changed_finding(table, *panel.shown, panel.limit, error)
                              : finding(table, panel.unchanged_limit(), panel.changed ? std::string() : error, panel.noise),
             detail_of(view, panel));
  draw_beside_line(view);
  draw_slider(view, commands);
  study_progress(view, commands, table.done(), table.total());
  std::list<Outcome> made;
  const std::vector<Line> lines = lines_of(view, panel, made);
  draw_table(view, commands, lines, words_of(lines, panel));
}

}  // namespace tilescope
