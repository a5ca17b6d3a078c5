// Draws the recorded row at the bottom of the softmax panel.
#include "app/views/softmax/softmax_kernel.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/model/measurements/probe_comparison.h"
#include "app/ui/say.h"
#include "app/ui/tab_stops.h"
#include "app/ui/widgets.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

/// Returns "2.1e-7", or "=" for equal bits.
std::string difference_text(double relative) {
  return relative == 0 ? std::string("=") : fmt::format("{:.1e}", relative);
}

/// Returns the largest relative difference of a step's three figures.
double largest_difference(const ComparedStep& step) {
  const ProbedStep off = difference(step);
  return std::max({off.m, off.l, off.alpha});
}

std::string figure(double value) {
  return fmt::format("{:.5f}", value);
}

/// Lists every step: the kernel's figures and their difference from the tile machine. Omits the middle of a long list.
std::string table_of(const ProbeComparison& compared) {
  constexpr std::size_t most = 16;
  std::string text;
  for (std::size_t i = 0; i < compared.steps.size(); ++i) {
    if (compared.steps.size() > most && i == most / 2) {
      add_line(text, "…");
      i = compared.steps.size() - most / 2;
    }
    const ComparedStep& step = compared.steps[i];
    const ProbedStep d = difference(step);
    add_line(text,
             fmt::format("{:>3}   m {:>9} {:>7}   α {:>8} {:>7}   l {:>10} {:>7}", i, figure(step.kernel.m), difference_text(d.m),
                         figure(step.kernel.alpha), difference_text(d.alpha), figure(step.kernel.l), difference_text(d.l)));
  }
  return text;
}

std::string tooltip_of(const View& view) {
  const ProbeComparison& compared = *view.measured.compared;
  const ProbeResult& probe = compared.probe->probe;
  std::string text = where_from(compared.probe->live, probe.device, probe.date);
  add_line(text, say(tr("Query {} of head {}: row {} of the kernel's block {}"), probe.query, probe.plane, probe.row, probe.block));
  add_line(text, say(tr("The tile machine ran this block on the same numbers (seed {})."), probe.seed));
  add_line(text, tr("Kernel value and relative difference after each key tile:"));
  add_line(text, table_of(compared));
  const ProbedStep worst = compared.worst();
  add_line(text, say(tr("Largest difference: m {}, α {}, l {}"), difference_text(worst.m), difference_text(worst.alpha),
                     difference_text(worst.l)));
  const ShownBeside shown = shown_beside(view);
  if (!shown.inputs)
    add_line(text, tr("The window uses other inputs than the kernel: the values above are not those of this row."));
  if (!shown.row || !shown.inputs) add_line(text, tr("Click: go to the kernel's row and inputs."));
  return text;
}

struct Line {
  const char* letter;
  double ProbedStep::*member;
  Meaning meaning;
};
constexpr std::array lines = {Line{"m", &ProbedStep::m, Meaning::row_max}, Line{"α", &ProbedStep::alpha, Meaning::row_max},
                              Line{"l", &ProbedStep::l, Meaning::row_sum}};

float line_height(const Theme& theme) {
  return std::round(theme.mono_small->FontSize + 3 * theme.scale);
}

void draw_line(ImDrawList* list, const Theme& theme, const Rect& rect, const Line& line, const ComparedStep& step) {
  const float label = text_width(theme.ui_bold, "O[00]") + 4 * theme.scale, width = (rect.width() - label) / 3;
  draw_text(list, theme.ui_bold, {rect.min, {rect.min.x + label, rect.max.y}}, theme.text_color(line.meaning), line.letter);
  const std::array<std::string, 3> texts = {figure(step.kernel.*line.member), figure(step.machine.*line.member),
                                            difference_text(difference(step).*line.member)};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const float left = rect.min.x + label + width * static_cast<float>(i);
    draw_text(list, theme.mono_small, {{left, rect.min.y}, {left + width, rect.max.y}}, i == 0 ? theme.text : theme.text_dim,
              texts[i], Align::right);
  }
}

/// Draws all three figures and the largest difference in one line, if the table does not fit.
void draw_brief_line(ImDrawList* list, const Theme& theme, const Rect& rect, const ComparedStep& step) {
  const std::string largest = say(tr("difference {}"), difference_text(largest_difference(step)));
  const float column = (rect.width() - text_width(theme.mono_small, largest) - 6 * theme.scale) / static_cast<float>(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const float left = rect.min.x + column * static_cast<float>(i), letter = text_width(theme.ui_bold, "m ");
    draw_text(list, theme.ui_bold, {{left, rect.min.y}, {left + letter, rect.max.y}}, theme.text_color(lines[i].meaning),
              lines[i].letter);
    draw_text(list, theme.mono_small, {{left + letter, rect.min.y}, {left + column, rect.max.y}}, theme.text,
              fmt::format("{:.4f}", step.kernel.*lines[i].member));
  }
  draw_text(list, theme.mono_small, rect, theme.text_dim, largest, Align::right);
}

}  // namespace

ShownBeside shown_beside(const SessionView& view) {
  const ProbeComparison& compared = *view.measured.compared;
  const Lane& lane = view.lane();
  ShownBeside shown;
  shown.inputs = view.requested != nullptr && same_numbers(view.requested->inputs, compared.probe->inputs);
  if (lane.operations == nullptr || lane.rest.op < 0) return shown;
  const Operation& op = lane.operations->operations[static_cast<std::size_t>(lane.rest.op)];
  const std::int64_t tile = compared.probe->probe.query / compared.probe->probe.tile.block_q;
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

float kernel_rows_height(const View& view, float spare) {
  if (view.measured.compared == nullptr || view.measured.compared->steps.empty() || view.playback.race) return 0;
  const Theme& theme = *view.theme;
  const float title = std::round(theme.ui_small->FontSize + 8 * theme.scale);
  const float all = title + (static_cast<float>(lines.size()) + 1) * line_height(theme);
  const float brief = title + line_height(theme);
  return spare >= all + 62 * theme.scale     ? all
         : spare >= brief + 34 * theme.scale ? brief
         : spare >= title + 34 * theme.scale ? title
                                             : 0;
}

std::string kernel_word(const View& view) {
  if (view.measured.compared == nullptr || view.measured.compared->steps.empty() || view.playback.race) return {};
  return say(tr("kernel {}"), difference_text(largest_difference(view.measured.compared->steps[compared_step(view)])));
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
  const std::size_t step = compared_step(view);
  const ProbeResult& probe = compared.probe->probe;
  const Rect first = {{at.x, at.y + 4 * theme.scale}, {at.x + width, at.y + title}};
  std::string what = say(compared.probe->live ? tr("Recorded inside the kernel, live {}") : tr("Recorded inside the kernel, {}"),
                         day_of(probe.date));
  const std::string where = there ? say(tr("key tile {}"), step) : say(tr("Show query {}, head {}"), probe.query, probe.plane);
  const float where_width = text_width(theme.ui_small, where) + 6 * theme.scale;
  draw_text(list, theme.ui_small, {first.min, {first.max.x - where_width, first.max.y}}, theme.text_dim, what);
  draw_text(list, theme.ui_small, {{first.max.x - where_width, first.min.y}, first.max},
            there     ? theme.text_faint
            : hovered ? theme.text
                      : theme.accent,
            where, Align::right);
  const float brief = title + line_height(theme);
  if (height > title + 1 && height < brief + 1)
    draw_brief_line(list, theme, {{at.x, at.y + title}, {at.x + width, at.y + brief}}, compared.steps[step]);
  if (height > brief + 1) {
    const float label = text_width(theme.ui_bold, "O[00]") + 4 * theme.scale, column = (width - label) / 3,
                line = line_height(theme);
    const std::array heads = {tr("kernel"), tr("tile machine"), tr("difference")};
    for (std::size_t i = 0; i < heads.size(); ++i) {
      const float left = at.x + label + column * static_cast<float>(i);
      draw_text(list, theme.ui_small, {{left, at.y + title}, {left + column, at.y + title + line}}, theme.text_faint, heads[i],
                Align::right);
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const float top = at.y + title + line * static_cast<float>(i + 1);
      draw_line(list, theme, {{at.x, top}, {at.x + width, top + line}}, lines[i], compared.steps[step]);
    }
  }
  if (hovered) show_tooltip(theme, tr("Recorded inside the kernel"), tooltip_of(view));
}

}  // namespace tilescope
