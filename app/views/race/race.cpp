// The race panel: standard attention and the chosen algorithm side by side on one clock, with counters on one scale.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "app/model/lessons/lecture.h"
#include "app/model/requests/racers.h"
#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/ui/short_line.h"
#include "app/ui/widgets.h"
#include "app/views/beside_run.h"
#include "app/views/chrome.h"
#include "app/views/outcome_words.h"
#include "app/views/panels.h"
#include "app/views/race/race_exactness.h"
#include "app/views/race/race_reason.h"
#include "app/views/stage/race_layout.h"
#include "app/views/stage/stage_context.h"
#include "app/views/timed_run.h"
#include "sim/analysis/format.h"
#include "sim/analysis/outcome.h"

namespace tilescope {

namespace {

/// Bytes of a tensor over a link so far.
double tensor_bytes(const Lane& lane, Tensor tensor, Link link) {
  return static_cast<double>(lane.state.traffic[tensor.index()][static_cast<std::size_t>(link)]);
}

/// Bytes of a tensor that are dirty in the L2, as far as they have arrived there. They cross to HBM later.
double owed_bytes(const Lane& lane, Tensor tensor) {
  const auto dirty = static_cast<double>(lane.state.l2.dirty[tensor.index()]);
  return lane.state.traffic_exact ? std::min(dirty, tensor_bytes(lane, tensor, Link::sm_to_l2)) : dirty;
}

double bytes_now(const Lane& lane, Link a, Link b) {
  double sum = 0;
  for (Tensor tensor : lane.simulation->program->tensors()) sum += tensor_bytes(lane, tensor, a) + tensor_bytes(lane, tensor, b);
  return sum;
}

double bytes_total(const Lane& lane, Link a, Link b) {
  return static_cast<double>(lane.simulation->ledger.total(a).value + lane.simulation->ledger.total(b).value);
}

double dirty_at_end(const Lane& lane) {
  return static_cast<double>(dirty_bytes_at_end(*lane.simulation));
}

double end_of(const Lane& lane) {
  return lane.simulation->trace->end_cycle();
}
bool finished(const View& view, const Lane& lane) {
  return view.playback.cycle >= end_of(lane) || lane.state.cycle >= end_of(lane);
}

/// Draws one counter of a column, on a scale shared by both.
struct Counter {
  const char *name, *shorter;
  double now = 0, total = 0, scale = 1;
  std::string text, owed = {};  // owed: what moves later; empty: nothing
  /// Of a counter of bytes: the links of its reads and its writes.
  struct Links {
    Link up, down;
  };
  std::optional<Links> links = {};
};

void draw_counter(ImDrawList* list, const Theme& theme, const StageMetrics& metrics, const Rect& rect, const Counter& counter,
                  const Lane& lane, bool held) {
  const CounterParts parts = counter_parts(rect, metrics);
  const auto x = [&](double value) {
    return parts.bar.min.x + static_cast<float>(std::clamp(value / std::max(counter.scale, 1e-9), 0.0, 1.0)) * parts.bar.width();
  };
  QuadBatch quads;
  quads.add({.min = parts.bar.min, .max = parts.bar.max, .radius = 2 * theme.scale, .fill = with_alpha(theme.link, 0.6F)});
  const bool has_owed = counter.links && counter.links->up == Link::hbm_read;
  if (!counter.links) {
    quads.add({.min = parts.bar.min, .max = {x(counter.now), parts.bar.max.y}, .radius = 2 * theme.scale, .fill = theme.accent});
  } else {
    double sum = 0;  // stacked by tensor; traffic towards HBM is hatched
    for (Link link : {counter.links->up, counter.links->down}) {
      for (Tensor tensor : lane.simulation->program->tensors()) {
        const double bytes = tensor_bytes(lane, tensor, link);
        if (bytes <= 0) continue;
        quads.add({.min = {x(sum), parts.bar.min.y},
                   .max = {x(sum + bytes), parts.bar.max.y},
                   .fill = theme.color(tensor),
                   .hatch = link == counter.links->down ? Hatch::diagonal : Hatch::none});
        sum += bytes;
      }
    }
    // What HBM is owed has not moved: an outline.
    for (Tensor tensor : lane.simulation->program->tensors()) {
      const double owed = has_owed ? owed_bytes(lane, tensor) : 0;
      if (owed <= 0) continue;
      quads.add({.min = {x(sum), parts.bar.min.y},
                 .max = {x(sum + owed), parts.bar.max.y},
                 .border = theme.color(tensor),
                 .border_width = theme.scale});
      sum += owed;
    }
  }
  // Marks the total, which answers many a question of a lesson.
  if (!held)
    quads.add({.min = {x(counter.total) - theme.scale, parts.bar.min.y - 3 * theme.scale},
               .max = {x(counter.total) + theme.scale, parts.bar.max.y + 3 * theme.scale},
               .fill = theme.text_dim});
  draw_quads(list, std::move(quads));
  const float between = 4 * theme.scale;  // the label and its bar or figure
  const Rect label = {parts.label.min, {parts.label.max.x - between, parts.label.max.y}};
  draw_fitted_text(list, theme.ui_small, label, theme.text_dim,
                   first_that_fits(theme.ui_small, label.width(), {counter.name, counter.shorter}));
  std::string sum = counter.text, brief = counter.text;
  if (!counter.owed.empty()) {
    sum = fmt::format("{} + {}", counter.text, counter.owed);
    brief = fmt::format("{} + {}", without_unit_of(counter.owed, counter.text), counter.owed);
  }
  const std::string figure = first_that_fits(theme.mono, parts.value.width(), {sum, brief});
  ImFont* const font = text_width(theme.mono, figure) <= parts.value.width() ? theme.mono : theme.mono_small;
  draw_fitted_text(list, font, parts.value, theme.text, figure, Align::right);
  hit_area(counter.name, rect);
  std::string body = tr("The mark is the total of the run. Both sides have one scale.");
  if (counter.links) add_line(body, tr("Hatched: written. Plain: read."));
  if (has_owed)
    add_line(body, tr("Outlined, and behind the plus sign: dirty in the L2, to be written to HBM later. The mark is without it."));
  item_tooltip(theme, say(tr("{}, so far {}"), counter.name, sum), body);
}

/// Draws every SM as a cell, filled by the time of its block.
void draw_strip(ImDrawList* list, const Theme& theme, const Rect& rect, const Lane& lane, bool done) {
  const int count = static_cast<int>(lane.state.sms.size());
  QuadBatch quads;
  quads.reserve(static_cast<std::size_t>(count));
  for (int sm = 0; sm < count; ++sm) {
    const SmState& state = lane.state.sms[static_cast<std::size_t>(sm)];
    const bool busy = state.resident > 0 && !done;  // at the last cycle the last block is over
    const float step = rect.width() / static_cast<float>(count);
    const float left = rect.min.x + step * static_cast<float>(sm);
    const float gap = step > 6 * theme.scale ? 2 * theme.scale : step * 0.2F;
    quads.add({.min = {left, rect.min.y},
               .max = {left + step - gap, rect.max.y},
               .radius = step > 8 * theme.scale ? 3 * theme.scale : 0,
               .fill = mix(theme.inset, theme.accent, 0.7F),
               .empty = mix(theme.inset, theme.accent, busy ? 0.22F : 0.04F),
               .fill_fraction = busy ? static_cast<float>(state.progress) : 0,
               .fill_from = FillFrom::bottom});
  }
  draw_quads(list, std::move(quads));
  ImGui::PushID(&lane);
  hit_area("strip", rect);
  ImGui::PopID();
  item_tooltip(theme, say(tr("{} SMs"), count), tr("A cell for each SM. It fills from below as the time of its block goes by."));
}

std::string column_title(const Theme& theme, const Lane& lane, float width) {
  const ProgramInfo& info = *lane.simulation->info;
  return first_that_fits(theme.heading, width, {translated(info.title), short_algorithm_title(info)});
}

/// Draws a column's title. That of the partner opens the list of programs to race against.
void draw_title(const View& view, Commands& commands, const RaceColumn& column, const Lane& lane, bool chosen) {
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float arrow = text_width(theme.heading, " ▾");
  const bool opens = !chosen && !view.lesson.locked;
  const std::string title = column_title(theme, lane, column.title.width() - (opens ? arrow : 0));
  draw_text(list, theme.heading, column.title, theme.text, title);
  if (!opens) return;
  const float end = column.title.min.x + text_width(theme.heading, title);
  const Rect whole = {column.title.min, {std::min(end + arrow, column.title.max.x), column.title.max.y}};
  const bool clicked = hit_area("partner", whole);
  draw_text(list, theme.heading, {{end, whole.min.y}, {end + arrow + 1, whole.max.y}},
            ImGui::IsItemHovered() ? theme.text : theme.text_faint, " ▾");
  item_tooltip(theme, tr("Race against"), tr("Click: another program of this kind."));
  if (clicked) ImGui::OpenPopup("partners");
  ImGui::SetNextWindowPos({whole.min.x, whole.max.y + std::round(4 * theme.scale)}, ImGuiCond_Appearing);
  if (!ImGui::BeginPopup("partners")) return;
  for (const ProgramInfo* partner : partners_of(view.requested->request.algorithm)) {
    const std::string label = fmt::format("{}##{}", translated(partner->title), partner->id);
    if (ImGui::Selectable(label.c_str(), partner->id == lane.simulation->info->id))
      commands.push(SetRace{true, std::string(partner->id)});
    item_tooltip(theme, translated(partner->title), translated(partner->summary));
  }
  ImGui::EndPopup();
}

/// Says when a run is over, and at which clock where that is not the one of its cycles.
std::string finish_text(const ImFont* font, float width, const Simulation& timed, const Simulation& shown) {
  const std::string brief = format_time(timed.time), finished = say(tr("Finished in {}"), brief);
  const double clock = timed.request.gpu.sm_clock_hz;
  if (clock == shown.request.gpu.sm_clock_hz) return first_that_fits(font, width, {finished, brief});
  return first_that_fits(font, width,
                         {say(tr("Finished in {} at {}"), format_time(timed.time), format_clock(clock)), finished, brief});
}

/// Says between the title and the finish what limits this run, in as many words as fit.
void draw_limit(ImDrawList* list, const Theme& theme, const RaceColumn& column, const Simulation& run, float marker) {
  const float title = std::min(column.title.width(), text_width(theme.heading, translated(run.info->title) + " ▾"));
  const Rect rect = {{column.title.min.x + title + theme.gap, column.title.min.y},
                     {column.finish.max.x - marker - theme.gap, column.title.max.y}};
  const bool idle = bound_of(run).idle_decides();
  const std::string bound = idle ? idle_bound_text(run.sms) : bound_text(run.bound, run.sms);
  const double busy = run.utilisation[static_cast<std::size_t>(run.bound)];
  const std::string use = idle || run.bound == Bound::latency
                              ? bound
                              : fmt::format("{} ({})", bound, busy_text(run.bound, format_percent(std::round(100 * busy) / 100)));
  for (const std::string& text : {say(tr("Bottleneck: {}"), use), say(tr("Bottleneck: {}"), bound), bound,
                                  std::string(idle ? tr("SMs without a block") : bound_name(run.bound))}) {
    if (text_width(theme.ui_small, text) > rect.width()) continue;
    return draw_text(list, theme.ui_small, rect, theme.text_dim, text, Align::center);
  }
}

void draw_column(const View& view, Commands& commands, const RaceColumn& column, const Lane& lane, int index,
                 const std::array<double, 3>& scales) {
  const Theme& theme = *view.theme;
  const Simulation& timed = timed_in_race(view, static_cast<std::size_t>(index));
  StageContext context{
      view, lane, theme, commands, stage_metrics(theme), panel_state<StageCache>(index == 0 ? "race left" : "race right")};
  context.list = ImGui::GetWindowDrawList();
  context.mouse = ImGui::GetMousePos();
  context.mouse_here = ImGui::IsWindowHovered() && column.box.contains(context.mouse);
  context.alone = true;
  const bool done = finished(view, lane), held = holds_race_result(view);
  context.quads.add({.min = column.box.min,
                     .max = column.box.max,
                     .radius = theme.rounding,
                     .fill = theme.panel,
                     .border = done ? theme.good : theme.panel_border,
                     .border_width = context.px(done ? 2 : 1)});
  context.flush();
  ImGui::PushID(index);
  draw_title(view, commands, column, lane, lane.simulation->request.algorithm == view.requested->good_request.algorithm);
  ImGui::PopID();
  ImFont* const marker_font = done ? theme.ui_bold : theme.ui;
  const std::string percent = format_percent(end_of(lane) > 0 ? view.playback.cycle / end_of(lane) : 0);
  const std::string marker = done   ? finish_text(marker_font, column.finish.width(), timed, *lane.simulation)
                             : held ? std::string()  // the shares of two runs tell who wins
                                    : first_that_fits(marker_font, column.finish.width(), {say(tr("{} done"), percent), percent});
  const bool stacked = column.finish.min.y >= column.title.max.y;
  draw_fitted_text(context.list, marker_font, column.finish, done ? theme.good : theme.text_dim, marker,
                   stacked ? Align::left : Align::right);
  if (done && !held && !stacked) draw_limit(context.list, theme, column, timed, text_width(marker_font, marker));
  if (column.strip.height() > 0) draw_strip(context.list, theme, column.strip, lane, done);
  if (column.stage.height() > 0) draw_stage(context, column.stage);

  const double hbm = bytes_now(lane, Link::hbm_read, Link::hbm_write), l2 = bytes_now(lane, Link::l2_to_sm, Link::sm_to_l2);
  const double cycles = std::min(view.playback.cycle, end_of(lane));
  const auto bytes = [&](double value) { return about_mark(lane, value) + format_bytes(value); };
  double owed = 0;
  for (Tensor tensor : lane.simulation->program->tensors()) owed += owed_bytes(lane, tensor);
  const Counter::Links of_hbm{Link::hbm_read, Link::hbm_write}, of_l2{Link::l2_to_sm, Link::sm_to_l2};
  const Counter counters[] = {{"HBM", "HBM", hbm, bytes_total(lane, of_hbm.up, of_hbm.down), scales[0], bytes(hbm),
                               owed > 0 ? format_bytes(owed) : std::string(), of_hbm},
                              {tr("L2 ↔ SMs"), "L2", l2, bytes_total(lane, of_l2.up, of_l2.down), scales[1], bytes(l2), {}, of_l2},
                              {tr("cycles"), tr("cycles"), cycles, end_of(lane), scales[2], format_cycles(Cycles(cycles))}};
  ImGui::PushID(index);
  draw_counter(context.list, theme, context.metrics, column.counters[0], counters[0], lane, held);
  draw_counter(context.list, theme, context.metrics, column.counters[1], counters[1], lane, held);
  if (column.counters[2].height() > 0)
    draw_counter(context.list, theme, context.metrics, column.counters[2], counters[2], lane, held);
  ImGui::PopID();
  context.finish_hover();
}

/// Words under a figure: "of the HBM traffic" under "1/1.9", "the HBM traffic" under "3.1×".
struct Words {
  const char *part = nullptr, *times = nullptr, *same = nullptr;
};

/// Traffic of both runs, with words that shorten.
struct Ratio {
  double first = 0, second = 0;
  Words words, shorter;
  double first_later = 0, second_later = 0;  // bytes that are written after the runs: the counters show them behind a plus sign
};

/// A figure of the verdict and its words.
struct Verdict {
  std::string number;
  std::vector<std::string> words;  // longest first
  bool same = false, better = false;
  std::string later = {};                     // the figure with what is written after the runs, where that is another
  std::vector<std::string> later_words = {};  // longest first
};

/// Writes how two byte counts compare: "1/5.6", "3.1×" or "=".
std::string traffic_number(double first, double second) {
  const double factor = std::max(first, second) / std::max(std::min(first, second), 1.0);
  if (factor < 1.005) return "=";
  return say(first >= second ? tr("1/{}") : tr("{}×"), format_times(factor));
}

Verdict traffic_verdict(const Ratio& ratio) {
  Verdict verdict;
  verdict.better = ratio.first >= ratio.second;
  verdict.number = traffic_number(ratio.first, ratio.second);
  verdict.same = verdict.number == "=";
  const char* Words::*const which = verdict.same ? &Words::same : verdict.better ? &Words::part : &Words::times;
  const std::string all = traffic_number(ratio.first + ratio.first_later, ratio.second + ratio.second_later);
  if (all != verdict.number) {
    verdict.later = all;
    verdict.later_words = {tr("with what is written after the runs"), tr("with later write-backs")};
    verdict.words = {say(tr("{} during the runs"), ratio.words.*which), say(tr("{} during the runs"), ratio.shorter.*which),
                     tr("HBM during the runs")};
    return verdict;
  }
  verdict.words = {ratio.words.*which, ratio.shorter.*which};
  return verdict;
}

/// Compares times, and says at which clock they are where the cycles above are at another. `shown` is a run as it is drawn.
Verdict time_verdict(const Simulation& timed_first, const Simulation& timed_second, const Simulation& shown) {
  const double first = timed_first.time.value, second = timed_second.time.value;
  const double factor = std::max(first, second) / std::max(std::min(first, second), 1.0);
  const bool same = factor < 1.005;
  const std::string words = same ? tr("Same time") : first >= second ? tr("faster") : tr("slower");
  Verdict verdict{same ? "=" : say(tr("{}×"), format_times(factor)), {words}, same, same || first >= second};
  if (const double hz = timed_second.request.gpu.sm_clock_hz; hz != shown.request.gpu.sm_clock_hz)
    verdict.words.insert(verdict.words.begin(), say(tr("{} at {}"), words, format_clock(hz)));
  return verdict;
}

/// Draws one line under the figures: what bounds the slower run. For a class the larger text counts more than the longer sentence.
void draw_reason(const View& view, const Rect& rect) {
  const Theme& theme = *view.theme;
  ImFont* const font = view.workspace->present ? theme.ui : theme.ui_small;
  for (const std::string& text : race_sentences(timed_in_race(view, 0), timed_in_race(view, 1))) {
    if (text_width(font, text) > rect.width()) continue;
    draw_text(ImGui::GetWindowDrawList(), font, rect, theme.text, text, Align::center);
    return;
  }
}

/// Returns the longest words of one line that fit, or of as many lines as the height allows.
const std::string& words_that_fit(const ImFont* font, ImVec2 room, const std::vector<std::string>& words) {
  for (const float height : {font->FontSize, room.y})
    for (const std::string& text : words)
      if (fits_in_lines(font, text, room.x, height)) return text;
  return words.back();
}

/// Divides the verdict's line. HBM has the longest words, and maybe two figures; time has the shortest. In little room all figures
/// have the same.
std::array<CellSpan, 3> verdict_columns(float begin, float end, bool two_of_hbm, bool narrow) {
  std::pair shares = two_of_hbm ? std::pair{0.52F, 0.77F} : std::pair{0.44F, 0.74F};
  if (narrow) shares = two_of_hbm ? std::pair{2 / 4.0F, 3 / 4.0F} : std::pair{1 / 3.0F, 2 / 3.0F};
  const float first = begin + shares.first * (end - begin), second = begin + shares.second * (end - begin);
  return {{{begin, first}, {first, second}, {second, end}}};
}

void draw_verdict(const View& view, const RaceLayout& layout, const StageMetrics& metrics) {
  const Rect& rect = layout.verdict;
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Lane &left = view.lanes.front(), &right = view.lanes.back();
  const Words hbm = {tr("of the HBM traffic"), tr("the HBM traffic"), tr("Same HBM traffic")};
  const Words l2 = {tr("of the L2↔SM traffic"), tr("the L2↔SM traffic"), tr("Same L2↔SM traffic")};
  const Words short_hbm = {tr("of HBM bytes"), tr("HBM bytes"), tr("Same HBM bytes")};
  const Words short_l2 = {tr("of L2 bytes"), tr("L2 bytes"), tr("Same L2 bytes")};
  const Verdict verdicts[] = {
      traffic_verdict({bytes_total(left, Link::hbm_read, Link::hbm_write), bytes_total(right, Link::hbm_read, Link::hbm_write), hbm,
                       short_hbm, dirty_at_end(left), dirty_at_end(right)}),
      traffic_verdict(
          {bytes_total(left, Link::l2_to_sm, Link::sm_to_l2), bytes_total(right, Link::l2_to_sm, Link::sm_to_l2), l2, short_l2}),
      time_verdict(timed_in_race(view, 0), timed_in_race(view, 1), *right.simulation),
  };
  const bool both = finished(view, left) && finished(view, right), one = finished(view, left) || finished(view, right);
  const float scale = theme.scale;
  QuadBatch quads;
  quads.add({.min = rect.min,
             .max = rect.max,
             .radius = theme.rounding,
             .fill = theme.inset,
             .border = both ? theme.good : theme.inset_border,
             .border_width = scale});
  draw_quads(list, std::move(quads));
  if (holds_race_result(view))
    return draw_centered_lines(list, theme.ui, rect.inset(4 * theme.scale), theme.text_dim,
                               view.lesson.locked ? tr("Who wins, and by how much, shows after the answer.")
                                                  : tr("Who wins, and by how much, shows at the end."));
  const bool with_reason = layout.reason.height() > 0;
  const float bottom = with_reason ? layout.reason.min.y + 3 * scale : rect.max.y;
  if (with_reason) draw_reason(view, layout.reason);
  constexpr std::array<std::pair<Link, Link>, 2> links = {{{Link::hbm_read, Link::hbm_write}, {Link::l2_to_sm, Link::sm_to_l2}}};
  const std::array<CellSpan, 3> columns =
      verdict_columns(rect.min.x + metrics.padding, rect.max.x - metrics.padding, !verdicts[0].later.empty(), layout.two_lines);
  for (int i = 0; i < 3; ++i) {
    const Verdict& verdict = verdicts[i];
    const CellSpan x = columns[static_cast<std::size_t>(i)];
    const float words_height = (layout.two_lines ? 2 : 1) * metrics.small_line,
                middle = std::round(bottom - words_height - 4 * scale);
    // The counters below show the current step, the verdict the whole run.
    const float figure_width = (x.end - x.begin) / (verdict.later.empty() ? 1.0F : 2.0F);
    const float free = 0.5F * (figure_width - text_width(theme.display, verdict.number)) - 4 * scale;
    if (i == 0 && text_width(theme.ui_small, tr("Whole run")) <= free)
      draw_text(list, theme.ui_small,
                {{x.begin, rect.min.y + 3 * scale}, {x.begin + free, rect.min.y + 3 * scale + metrics.small_line}},
                theme.text_faint, tr("Whole run"));
    const auto figure = [&](CellSpan at, const std::string& number, const std::vector<std::string>& words, ImU32 color) {
      draw_fitted_text(list, theme.display, {{at.begin + 4 * scale, rect.min.y + 2 * scale}, {at.end - 4 * scale, middle}}, color,
                       number, Align::center);
      const Rect below = {{at.begin + 4 * scale, middle}, {at.end - 4 * scale, bottom - 3 * scale}};
      draw_centered_lines(list, theme.ui_small, below, one ? theme.text : theme.text_dim,
                          words_that_fit(theme.ui_small, {below.width(), below.height()}, words));
    };
    const ImU32 color = verdict.same ? theme.text : verdict.better ? theme.good : theme.bad;
    if (verdict.later.empty()) {
      figure(x, verdict.number, verdict.words, color);
    } else {  // two figures of one thing: both as large, each with what it counts
      const float half = std::round(0.5F * (x.begin + x.end));
      figure({x.begin, half}, verdict.number, verdict.words, color);
      figure({half, x.end}, verdict.later, verdict.later_words, theme.text);
    }
    if (i >= 2) continue;
    const auto& [up, down] = links[static_cast<std::size_t>(i)];
    hit_area(i == 0 ? "verdict hbm" : "verdict l2", {{x.begin, rect.min.y}, {x.end, rect.max.y}});
    if (ImGui::IsItemHovered()) {
      std::string body = race_by_tensor(*left.simulation, *right.simulation, up, down);
      if (i == 0) add_line(body, race_written_after(*left.simulation, *right.simulation));
      item_tooltip(theme, i == 0 ? tr("HBM, both ways") : tr("L2↔SM, both ways"), body);
    }
  }
}

}  // namespace

bool holds_race_result(const View& view) {
  if (view.lesson.locked) return true;
  if (!view.lesson.asks_later && (!view.workspace->present || view.lecture->answered)) return false;
  return !finished(view, view.lanes.front()) || !finished(view, view.lanes.back());
}

void draw_race_panel(const View& shown, Commands& commands) {
  const Theme theme = shown.workspace->present ? without_small_text(*shown.theme) : *shown.theme;
  const View view{shown, &theme};
  ImVec2 origin = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  if (view.lanes.size() < 2 || !view.lanes.front().simulation || !view.lanes.back().simulation) {
    draw_text(ImGui::GetWindowDrawList(), theme.ui, {origin, {origin.x + room.x, origin.y + room.y}}, theme.text_dim,
              tr("Simulating both…"), Align::center);
    ImGui::Dummy(room);
    return;
  }
  const StageMetrics metrics = stage_metrics(theme);
  const float less = room.y - beside_line_height(theme) - ImGui::GetStyle().ItemSpacing.y;
  // With the line a class could tell who wins; and the runs do not scroll for it.
  if (!holds_race_result(view) && race_size({room.x, less}, metrics).y <= less) {
    draw_beside_line(view);
    origin = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  }
  const bool held = holds_race_result(view);
  const ImVec2 size = race_size(room, metrics, held);
  // Its sentence tells the result; while a class waits for that, the stages have the room.
  const Lane &left = view.lanes.front(), &right = view.lanes.back();
  const bool compared = view.studies != nullptr && view.studies->exactness != nullptr && (view.lesson.locked || !held);
  const auto smaller = queries_that_can_be_compared(*left.simulation, *right.simulation);
  const bool too_large = smaller && view.lesson.lesson == nullptr && !held;  // a lesson's page says what it is about
  const RaceOutputs outputs = compared ? RaceOutputs::pictures : too_large ? RaceOutputs::sentence : RaceOutputs::none;
  const RaceLayout layout = layout_race({origin, {origin.x + size.x, origin.y + size.y}}, metrics, outputs, held);
  const std::array<double, 3> scales = {
      std::max(bytes_total(left, Link::hbm_read, Link::hbm_write) + dirty_at_end(left),
               bytes_total(right, Link::hbm_read, Link::hbm_write) + dirty_at_end(right)),
      std::max(bytes_total(left, Link::l2_to_sm, Link::sm_to_l2), bytes_total(right, Link::l2_to_sm, Link::sm_to_l2)),
      std::max(end_of(left), end_of(right))};
  draw_column(view, commands, layout.columns[0], left, 0, scales);
  draw_column(view, commands, layout.columns[1], right, 1, scales);
  draw_verdict(view, layout, metrics);
  if (layout.exactness.height() > 0 && !held)
    compared ? draw_exactness(view, layout.exactness, metrics) : draw_too_large(view, layout.exactness, metrics, *smaller);
  ImGui::Dummy(size);
}

}  // namespace tilescope
