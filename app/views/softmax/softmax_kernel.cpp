// Draws the recorded row at the bottom of the softmax panel.
#include "app/views/softmax/softmax_kernel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "app/model/measurements/block_of_row.h"
#include "app/model/measurements/probe_comparison.h"
#include "app/ui/say.h"
#include "app/ui/tab_stops.h"
#include "app/ui/widgets.h"
#include "sim/analysis/format.h"
#include "sim/programs/backward_tensors.h"

namespace tilescope {

namespace {

/// Returns "2.1e-7", or "=" for equal bits.
std::string difference_text(double relative) {
  return relative == 0 ? std::string("=") : fmt::format("{:.1e}", relative);
}

std::string figure_text(double value) {
  return fmt::format("{:.5f}", value);
}

/// One number of the row: the kernel's, the tile machine's and their relative difference.
struct KernelFigure {
  const char* letter;
  Tensor tensor;
  double kernel, machine, difference;
};

std::vector<KernelFigure> figures_of(const ComparedStep& step) {
  const ProbedStep d = difference(step);
  return {{"m", tensors::m, step.kernel.m, step.machine.m, d.m},
          {"α", tensors::m, step.kernel.alpha, step.machine.alpha, d.alpha},
          {"l", tensors::l, step.kernel.l, step.machine.l, d.l}};
}
std::vector<KernelFigure> figures_of(const ComparedPair& pair) {
  const ProbedPair d = difference(pair);
  return {{"S", tensors::s, pair.kernel.s, pair.machine.s, d.s},
          {"P", tensors::p, pair.kernel.p, pair.machine.p, d.p},
          {"dP", tensors::d_p, pair.kernel.d_p, pair.machine.d_p, d.d_p},
          {"dS", tensors::d_s, pair.kernel.d_s, pair.machine.d_s, d.d_s}};
}

/// Returns the figures that are shown: of the compared step, or of the compared key.
std::vector<KernelFigure> figures_of(const SessionView& view) {
  const ProbeComparison& compared = *view.measured.compared;
  return compared.pairs.empty() ? figures_of(compared.steps[compared_step(view)]) : figures_of(compared.pairs[compared_key(view)]);
}
std::size_t count_of_figures(const ProbeComparison& compared) {
  return compared.pairs.empty() ? 3 : 4;
}

double largest_difference(const std::vector<KernelFigure>& figures) {
  double most = 0;
  for (const KernelFigure& figure : figures) most = std::max(most, figure.difference);
  return most;
}
double largest_difference(const ProbedPair& d) {
  return std::max({d.s, d.p, d.d_p, d.d_s});
}

bool has_rows(const SessionView& view) {
  const ProbeComparison* const compared = view.measured.compared;
  return compared != nullptr && !(compared->steps.empty() && compared->pairs.empty()) && !view.playback.race;
}

/// Adds a line for each of the first and the last of `count` entries. Omits the middle of a long list.
void add_list(std::string& text, std::size_t count, const std::function<std::string(std::size_t)>& line) {
  constexpr std::size_t most = 16;
  for (std::size_t i = 0; i < count; ++i) {
    if (count > most && i == most / 2) {
      add_line(text, "…");
      i = count - most / 2;
    }
    add_line(text, line(i));
  }
}

std::string step_line(const ProbeComparison& compared, std::size_t i) {
  const ComparedStep& step = compared.steps[i];
  const ProbedStep d = difference(step);
  return fmt::format("{:>3}   m {:>9} {:>7}   α {:>8} {:>7}   l {:>10} {:>7}", i, figure_text(step.kernel.m), difference_text(d.m),
                     figure_text(step.kernel.alpha), difference_text(d.alpha), figure_text(step.kernel.l), difference_text(d.l));
}
std::string pair_line(const ProbeComparison& compared, std::size_t i) {
  const ProbedPair& kernel = compared.pairs[i].kernel;
  const ProbedPair d = difference(compared.pairs[i]);
  return fmt::format("{:>5}   S {:>9} {:>7}   P {:>8} {:>7}   dP {:>9} {:>7}   dS {:>9} {:>7}", i, figure_text(kernel.s),
                     difference_text(d.s), figure_text(kernel.p), difference_text(d.p), figure_text(kernel.d_p),
                     difference_text(d.d_p), figure_text(kernel.d_s), difference_text(d.d_s));
}

std::string tooltip_of(const View& view) {
  const ProbeComparison& compared = *view.measured.compared;
  const ProbeResult& probe = compared.probe->probe;
  std::string text = where_from(compared.probe->live, probe.device, probe.date);
  if (compared.pairs.empty()) {
    add_line(text,
             say(tr("Query {} of head {}: row {} of the kernel's block {}"), probe.query, probe.plane, probe.row, probe.block));
    add_line(text, say(tr("The tile machine ran this block on the same numbers (seed {})."), probe.seed));
    add_line(text, tr("Kernel value and relative difference after each key tile:"));
    add_list(text, compared.steps.size(), [&](std::size_t i) { return step_line(compared, i); });
    const ProbedStep worst = compared.worst();
    add_line(text, say(tr("Largest difference: m {}, α {}, l {}"), difference_text(worst.m), difference_text(worst.alpha),
                       difference_text(worst.l)));
  } else {
    add_line(text, say(tr("Query {} of head {}: each block wrote the keys that it owns"), probe.query, probe.plane));
    add_line(text, say(tr("The tile machine ran these blocks on the same numbers (seed {})."), probe.seed));
    add_line(text, tr("Kernel value and relative difference of each key, in fp32 before P and dS are rounded:"));
    add_list(text, compared.pairs.size(), [&](std::size_t i) { return pair_line(compared, i); });
    const ProbedPair worst = compared.worst_pair();
    add_line(text, say(tr("Largest difference: S {}, P {}, dP {}, dS {}"), difference_text(worst.s), difference_text(worst.p),
                       difference_text(worst.d_p), difference_text(worst.d_s)));
  }
  const ShownBeside shown = shown_beside(view);
  if (!shown.inputs)
    add_line(text, tr("The window uses other inputs than the kernel: the values above are not those of this row."));
  if (!shown.row || !shown.inputs) add_line(text, tr("Click: go to the kernel's row and inputs."));
  return text;
}

float line_height(const Theme& theme) {
  return std::round(theme.mono_small->FontSize + 3 * theme.scale);
}

float letter_width(const Theme& theme) {
  return text_width(theme.ui_bold, "O[00]") + 4 * theme.scale;
}

void draw_line(ImDrawList* list, const Theme& theme, const Rect& rect, const KernelFigure& figure) {
  const float label = letter_width(theme), width = (rect.width() - label) / 3;
  draw_text(list, theme.ui_bold, {rect.min, {rect.min.x + label, rect.max.y}}, theme.text_color(figure.tensor), figure.letter);
  const std::array<std::string, 3> texts = {figure_text(figure.kernel), figure_text(figure.machine),
                                            difference_text(figure.difference)};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const float left = rect.min.x + label + width * static_cast<float>(i);
    draw_text(list, theme.mono_small, {{left, rect.min.y}, {left + width, rect.max.y}}, i == 0 ? theme.text : theme.text_dim,
              texts[i], Align::right);
  }
}

/// Draws all figures and the largest difference in one line, if the table does not fit.
void draw_brief_line(ImDrawList* list, const Theme& theme, const Rect& rect, const std::vector<KernelFigure>& figures) {
  const std::string largest = say(tr("difference {}"), difference_text(largest_difference(figures)));
  const float room = rect.width() - text_width(theme.mono_small, largest) - 6 * theme.scale, gap = text_width(theme.ui_bold, " ");
  const auto letter_of = [&](const KernelFigure& figure) { return text_width(theme.ui_bold, figure.letter) + gap; };
  std::vector<std::string> values;
  float taken = room + 1;
  for (int decimals = 4; decimals > 1 && taken > room; --decimals) {
    values.clear();
    taken = 0;
    for (const KernelFigure& figure : figures) {
      values.push_back(fmt::format("{:.{}f}", figure.kernel, decimals));
      taken += letter_of(figure) + text_width(theme.mono_small, values.back()) + gap;
    }
  }
  const float spread = std::max(0.0F, room - taken) / static_cast<float>(figures.size());
  float left = rect.min.x;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const float number = left + letter_of(figures[i]), end = number + text_width(theme.mono_small, values[i]) + gap + spread;
    draw_text(list, theme.ui_bold, {{left, rect.min.y}, {number, rect.max.y}}, theme.text_color(figures[i].tensor),
              figures[i].letter);
    draw_text(list, theme.mono_small, {{number, rect.min.y}, {end, rect.max.y}}, theme.text, values[i]);
    left = end;
  }
  draw_text(list, theme.mono_small, rect, theme.text_dim, largest, Align::right);
}

/// Returns what is shown of the row, or the words of the link to it, in at most `room` pixels.
std::string place_words(const View& view, float room) {
  const ProbeComparison& compared = *view.measured.compared;
  const ProbeResult& probe = compared.probe->probe;
  const ShownBeside shown = shown_beside(view);
  if (!shown.row || !shown.inputs) return say(tr("Show query {}, head {}"), probe.query, probe.plane);
  if (compared.pairs.empty()) return say(tr("key tile {}"), compared_step(view));
  const std::size_t key = compared_key(view);
  const std::string largest = difference_text(largest_difference(compared.worst_pair()));
  return first_that_fits(view.theme->ui_small, room,
                         {say(tr("key {}, largest of the row {}"), key, largest), say(tr("key {}, largest {}"), key, largest),
                          say(tr("key {}"), key)});
}

}  // namespace

ShownBeside shown_beside(const SessionView& view) {
  const ProbeComparison& compared = *view.measured.compared;
  const Lane& lane = view.lane();
  ShownBeside shown;
  shown.inputs = view.requested != nullptr && same_numbers(view.requested->inputs, compared.probe->inputs);
  if (lane.operations == nullptr || lane.rest.op < 0) return shown;
  const Operation& op = lane.operations->operations[static_cast<std::size_t>(lane.rest.op)];
  const ProbeResult& probe = compared.probe->probe;
  const std::int64_t tile = probe.query / probe.tile.block_q;
  if (!compared.pairs.empty()) {
    shown.row = lane.operations->domain.axis == Axis::key && op.q_tile == tile && view.workspace->row == compared.row &&
                query_plane(*lane.operations, lane.rest.op) == probe.plane;
    return shown;
  }
  shown.row = lane.operations->launch == compared.launch && lane.operations->block == compared.block &&
              view.workspace->row == compared.row && (op.q_tile < 0 || op.q_tile == tile);
  return shown;
}

std::size_t compared_step(const SessionView& view) {
  const std::size_t last = view.measured.compared->steps.size() - 1;
  if (last == 0 || !shown_beside(view).row) return last;
  const Operation& op = view.lane().operations->operations[static_cast<std::size_t>(view.lane().rest.op)];
  return op.kv_tile < 0 ? (op.iteration <= 0 ? 0 : last) : std::min(static_cast<std::size_t>(op.kv_tile), last);
}

std::size_t compared_key(const SessionView& view) {
  const ProbeComparison& compared = *view.measured.compared;
  const std::vector<ComparedPair>& pairs = compared.pairs;
  const auto off = [](const ComparedPair& pair) { return largest_difference(difference(pair)); };
  if (!shown_beside(view).row) return static_cast<std::size_t>(std::ranges::max_element(pairs, {}, off) - pairs.begin());
  const Operation& op = view.lane().operations->operations[static_cast<std::size_t>(view.lane().rest.op)];
  const std::int64_t tile_keys = compared.probe->probe.tile.block_kv, first = std::max(0, op.kv_tile) * tile_keys;
  const std::int64_t key = first + std::clamp<std::int64_t>(view.workspace->views.column, 0, tile_keys - 1);
  return static_cast<std::size_t>(std::min<std::int64_t>(key, std::ssize(pairs) - 1));
}

float kernel_rows_height(const View& view, float spare) {
  if (!has_rows(view)) return 0;
  const Theme& theme = *view.theme;
  const float title = std::round(theme.ui_small->FontSize + 8 * theme.scale);
  const float all = title + (static_cast<float>(count_of_figures(*view.measured.compared)) + 1) * line_height(theme);
  const float brief = title + line_height(theme);
  return spare >= all + 62 * theme.scale     ? all
         : spare >= brief + 34 * theme.scale ? brief
         : spare >= title + 34 * theme.scale ? title
                                             : 0;
}

std::string kernel_word(const View& view) {
  if (!has_rows(view)) return {};
  return say(tr("kernel {}"), difference_text(largest_difference(figures_of(view))));
}

void draw_kernel_word(const View& view, Commands& commands, const Rect& line, const std::string& word) {
  if (word.empty()) return;
  const Theme& theme = *view.theme;
  const float left = line.max.x - text_width(theme.ui_small, word) - 2 * theme.scale;
  const ShownBeside shown = shown_beside(view);
  const Rect rect = {{left, line.min.y}, line.max};
  bool clicked = hit_area("kernel word", rect);
  const bool hovered = ImGui::IsItemHovered();
  clicked = tab_stop(theme, rect, 4 * theme.scale) || clicked;
  if (clicked && !(shown.row && shown.inputs)) commands.push(ShowProbe{});
  draw_text(ImGui::GetWindowDrawList(), theme.ui_small, {{left, line.min.y}, line.max}, hovered ? theme.text : theme.accent, word,
            Align::right);
  if (hovered) show_tooltip(theme, tr("Recorded inside the kernel"), tooltip_of(view));
}

void draw_kernel_rows(const View& view, Commands& commands, float height) {
  if (height <= 0) return;
  const Theme& theme = *view.theme;
  const ProbeComparison& compared = *view.measured.compared;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, title = std::round(theme.ui_small->FontSize + 8 * theme.scale);
  const ShownBeside shown = shown_beside(view);
  const bool there = shown.row && shown.inputs;
  bool clicked = ImGui::InvisibleButton("kernel rows", {width, height});
  const bool hovered = ImGui::IsItemHovered();
  if (!there) clicked = tab_stop(theme, item_rect(), 4 * theme.scale) || clicked;
  if (clicked && !there) commands.push(ShowProbe{});
  list->AddRectFilled({at.x, at.y + 2 * theme.scale},
                      {at.x + width, at.y + 2 * theme.scale + std::max(1.0F, std::floor(theme.scale))}, theme.panel_border);
  const std::vector<KernelFigure> figures = figures_of(view);
  const ProbeResult& probe = compared.probe->probe;
  const Rect first = {{at.x, at.y + 4 * theme.scale}, {at.x + width, at.y + title}};
  const bool live = compared.probe->live;
  const std::string day = day_of(probe.date),
                    whole = say(live ? tr("Recorded inside the kernel, live {}") : tr("Recorded inside the kernel, {}"), day),
                    brief = say(live ? tr("Kernel, live {}") : tr("Kernel, recorded {}"), day);
  const std::string where = place_words(view, width - text_width(theme.ui_small, brief) - 12 * theme.scale);
  const float where_width = text_width(theme.ui_small, where) + 6 * theme.scale;
  const std::string what = first_that_fits(theme.ui_small, width - where_width, {whole, brief});
  draw_text(list, theme.ui_small, {first.min, {first.max.x - where_width, first.max.y}}, theme.text_dim, what);
  draw_text(list, theme.ui_small, {{first.max.x - where_width, first.min.y}, first.max},
            there     ? theme.text_faint
            : hovered ? theme.text
                      : theme.accent,
            where, Align::right);
  const float one_line = title + line_height(theme);
  if (height > title + 1 && height < one_line + 1)
    draw_brief_line(list, theme, {{at.x, at.y + title}, {at.x + width, at.y + one_line}}, figures);
  if (height > one_line + 1) {
    const float label = letter_width(theme), column = (width - label) / 3, line = line_height(theme);
    const std::array heads = {tr("kernel"), tr("tile machine"), tr("difference")};
    for (std::size_t i = 0; i < heads.size(); ++i) {
      const float left = at.x + label + column * static_cast<float>(i);
      draw_text(list, theme.ui_small, {{left, at.y + title}, {left + column, at.y + title + line}}, theme.text_faint, heads[i],
                Align::right);
    }
    for (std::size_t i = 0; i < figures.size(); ++i) {
      const float top = at.y + title + line * static_cast<float>(i + 1);
      draw_line(list, theme, {{at.x, top}, {at.x + width, top + line}}, figures[i]);
    }
  }
  if (hovered) show_tooltip(theme, tr("Recorded inside the kernel"), tooltip_of(view));
}

}  // namespace tilescope
