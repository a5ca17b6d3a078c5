// Draws the table: so far, whole run, formula and measured, as many of these columns as there is room for.
#include "app/views/traffic/traffic_table.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/model/measurements/error_sentences.h"
#include "app/ui/meanings.h"
#include "app/ui/say.h"
#include "app/ui/short_line.h"
#include "app/ui/widgets.h"
#include "app/views/algorithm_style.h"
#include "app/views/beside_run.h"
#include "app/views/timed_run.h"
#include "app/views/traffic/traffic_measured.h"
#include "sim/analysis/format.h"

namespace tilescope {
namespace {

/// Right-aligned columns; those that do not fit a narrow panel are left out and live on in the tooltip.
struct Columns {
  float name_end = 0;
  float so_far = 0, whole = 0, pinned = 0, formula = 0, measured = 0;  // right edges; 0 where left out
  float width = 0;
  bool exact = false;  // bytes to the byte; else shortened
};

/// `held`: a question of a lesson is asked, and only what ran so far has figures.
Columns lay_out_columns(const Theme& theme, const TrafficSheet& sheet, float left, float right, bool held) {
  const std::int64_t largest = std::max(sheet.total.whole, sheet.total.formula);
  Columns columns;
  float name = 24 * theme.scale;
  for (const TrafficRow& row : sheet.rows)
    name = std::max(name, text_width(theme.ui_bold, formula_text(to_string(row.tensor))) + 4 * theme.scale);
  columns.name_end = left + 16 * theme.scale + name;
  const float room = right - columns.name_end;
  const float shortened = text_width(theme.mono_small, "≥ 00.0 MB") + 6 * theme.scale;
  const bool compared = sheet.total.pinned.has_value();
  const int count = std::clamp(static_cast<int>(room / shortened), 2, compared ? 5 : 4);
  columns.width = room / static_cast<float>(count);
  // What goes first where room is short, from the right edge: the whole run and the pinned one, then what confirms them.
  const int others = count - (compared ? 2 : 1);
  float edge = right;
  const auto take = [&](float& column) { column = edge, edge -= columns.width; };
  const int confirming = held ? others - 1 : others;
  if (confirming >= 2) take(columns.measured);
  if (confirming >= 1) take(columns.formula);
  if (compared) take(columns.pinned);
  take(columns.whole);
  if (held ? others >= 1 : others >= 3) take(columns.so_far);
  columns.exact = text_width(theme.mono_small, fmt::format("≥ {}", format_count(largest))) + 6 * theme.scale <= columns.width;
  return columns;
}

std::string bytes_text(const Columns& columns, std::int64_t bytes) {
  return columns.exact || bytes == 0 ? format_count(bytes) : format_bytes(Bytes(bytes));
}

void cell(ImDrawList* list, ImFont* font, const Columns& columns, float edge, float top, float height, ImU32 color,
          std::string_view text) {
  if (edge <= 0) return;
  draw_text(list, font, {{edge - columns.width, top}, {edge, top + height}}, color, text, Align::right);
}

void draw_header(ImDrawList* list, const View& view, const Columns& columns, float top, float height, LinkChoice choice) {
  const Theme& theme = *view.theme;
  const bool least = choice == LinkChoice::hbm_read && view.lane().simulation->request.gpu.has_l2();
  const std::string measured_meaning = measured_column_meaning(view);
  const std::string brief = view.measured.imported != nullptr ? "Nsight" : measured_heading(view);
  const std::string measured = first_that_fits(theme.ui_small, columns.width, {measured_heading(view), brief});
  struct Head {
    float edge;
    const char* text;
    const char* meaning;
  };
  const BesideRun* const beside = beside_run(view);
  const std::string pinned = beside != nullptr ? say(tr("vs pinned {}"), beside->place) : std::string(),
                    pinned_meaning = beside != nullptr ? beside_text(view, *beside) : std::string();
  const std::array<Head, 5> heads = {
      Head{columns.so_far, tr("So far"), tr("Up to the current step.")}, Head{columns.whole, tr("Whole run"), tr("The whole run.")},
      Head{columns.pinned, pinned.c_str(), pinned_meaning.c_str()},
      Head{columns.formula, least ? tr("Minimum") : tr("Formula"),
           least ? tr("Every input crosses at least once, because the L2 starts cold. The L2 decides the rest.")
                 : tr("The closed form of this program, independent of the simulation.")},
      Head{columns.measured, measured.c_str(), measured_meaning.c_str()}};
  for (const Head& head : heads) {
    if (head.edge <= 0) continue;
    const Rect rect = {{head.edge - columns.width, top}, {head.edge, top + height}};
    hit_area(head.text, rect);
    if (ImGui::IsItemHovered()) show_tooltip(theme, head.text, head.meaning);
    draw_text(list, theme.ui_small, rect, theme.text_faint, head.text, Align::right);
  }
}

/// In the place of a figure of the whole run while a question of a lesson is held: it would answer it.
constexpr const char* hidden_figure = "?";

/// Why HBM moves fewer bytes than the SMs do; empty on other links and where it moves as many.
std::string spared_text(LinkChoice choice, const TrafficRow& row) {
  const auto bytes = [](std::int64_t count) { return format_exact_bytes(Bytes(count)); };
  // For what SMs add to memory, as dQ_acc, the L2 itself reads and writes HBM.
  if (row.of_sms <= row.whole || row.of_sms < row.whole + row.dirty) return {};
  if (choice == LinkChoice::hbm_read)
    return say(tr("SMs read {}. They found {} of it in the L2."), bytes(row.of_sms), bytes(row.of_sms - row.whole));
  std::string text = say(tr("SMs wrote {}."), bytes(row.of_sms));
  if (row.dirty > 0) text += " " + say(tr("The L2 writes {} of it after the run."), bytes(row.dirty));
  if (const std::int64_t again = row.of_sms - row.whole - row.dirty; again > 0)
    text += " " + say(tr("{} of it was written over in the L2."), bytes(again));
  return text;
}

std::string row_details(const View& view, const TrafficRow& row) {
  std::string body =
      say(tr("So far: {}{}"), about_mark(view.lane(), static_cast<double>(row.so_far)), format_exact_bytes(Bytes(row.so_far)));
  if (view.lesson.locked) {
    add_line(body, tr("The whole run shows after the answer."));
    return body;
  }
  add_line(body, say(tr("Whole run: {}"), format_exact_bytes(Bytes(row.whole))));
  if (const BesideRun* const beside = beside_run(view); beside != nullptr && row.pinned)
    add_line(body, fmt::format("{}: {}", beside_label(*beside), format_exact_bytes(Bytes(*row.pinned))));
  if (row.kind == FormulaKind::exact) add_line(body, say(tr("Formula: {}"), format_exact_bytes(Bytes(row.formula))));
  if (row.kind == FormulaKind::at_least) add_line(body, say(tr("Minimum: {}"), format_exact_bytes(Bytes(row.formula))));
  if (!row.formula_text.empty()) add_line(body, fmt::format("= {}", row.formula_text));
  if (const std::string spared = spared_text(view.workspace->traffic, row); !spared.empty()) add_line(body, spared);
  return body;
}

/// How the whole run differs from the pinned one.
void draw_difference(ImDrawList* list, const Theme& theme, const Columns& columns, const TrafficRow& row, float top, float height) {
  if (!row.pinned) return;
  const std::int64_t difference = row.whole - *row.pinned;
  const ImU32 color = difference == 0 ? theme.text_faint : difference < 0 ? theme.good : theme.bad;
  cell(list, theme.mono_small, columns, columns.pinned, top, height, color,
       difference == 0 ? std::string(tr("same"))
                       : fmt::format("{}{}", difference < 0 ? minus_sign : "+", format_bytes(Bytes(std::abs(difference)))));
}

void draw_figures(ImDrawList* list, const View& view, const Columns& columns, const TrafficRow& row, float top, float height,
                  bool bold) {
  const Theme& theme = *view.theme;
  const ImU32 figure = row.whole == 0 ? theme.text_faint : theme.text;
  cell(list, theme.mono_small, columns, columns.so_far, top, height, row.so_far == 0 ? theme.text_faint : theme.text_dim,
       fmt::format("{}{}", about_mark(view.lane(), static_cast<double>(row.so_far)), bytes_text(columns, row.so_far)));
  if (view.lesson.locked) {
    for (const float edge : {columns.whole, columns.formula})
      cell(list, theme.mono_small, columns, edge, top, height, theme.text_faint, hidden_figure);
    if (!bold) cell(list, theme.mono_small, columns, columns.measured, top, height, theme.text_faint, hidden_figure);
    return;
  }
  cell(list, theme.mono_small, columns, columns.whole, top, height, figure, bytes_text(columns, row.whole));
  draw_difference(list, theme, columns, row, top, height);
  if (row.kind == FormulaKind::none) {
    cell(list, theme.mono_small, columns, columns.formula, top, height, theme.text_faint, "–");
  } else {
    const bool least = row.kind == FormulaKind::at_least;
    const char* sign = !row.agrees() ? "≠ " : least ? "≥ " : "= ";
    const ImU32 color = !row.agrees() ? theme.bad : least || (row.whole == 0 && !bold) ? theme.text_faint : theme.good;
    cell(list, theme.mono_small, columns, columns.formula, top, height, color,
         fmt::format("{}{}", sign, bytes_text(columns, row.formula)));
  }
  if (!bold) cell(list, theme.mono_small, columns, columns.measured, top, height, theme.text_faint, "–");
}

/// A hair under a row's figures: how much of the whole run has gone by.
void draw_progress(ImDrawList* list, const Theme& theme, const Columns& columns, const TrafficRow& row, float bottom, ImU32 color) {
  if (row.whole <= 0) return;
  const float from = columns.whole - columns.width + 10 * theme.scale;
  const auto share = static_cast<float>(std::clamp(static_cast<double>(row.so_far) / static_cast<double>(row.whole), 0.0, 1.0));
  const float thickness = std::max(1.0F, std::floor(1.5F * theme.scale));
  list->AddRectFilled({from, bottom - thickness}, {columns.whole, bottom}, with_alpha(theme.text_faint, 0.25F));
  list->AddRectFilled({from, bottom - thickness}, {from + (columns.whole - from) * share, bottom}, color);
}

/// Returns the tensor under the mouse.
std::optional<Tensor> draw_rows(const View& view, const TrafficSheet& sheet, const Columns& columns, float row_height) {
  std::optional<Tensor> under_mouse;
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (const TrafficRow& row : sheet.rows) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const Rect rect = {at, {at.x + ImGui::GetContentRegionAvail().x, at.y + row_height}};
    ImGui::PushID(static_cast<int>(row.tensor.index()));
    ImGui::InvisibleButton("row", {rect.width(), rect.height()});
    ImGui::PopID();
    if (ImGui::IsItemHovered()) {
      under_mouse = row.tensor;
      std::string body = meaning_of(row.tensor);
      add_line(body, row_details(view, row));
      show_tooltip(theme, to_string(row.tensor), body);
    }
    if (view.workspace->hovered_tensor == row.tensor)
      list->AddRectFilled({rect.min.x - 4 * theme.scale, rect.min.y}, {rect.max.x + 4 * theme.scale, rect.max.y}, theme.accent_soft,
                          4 * theme.scale);
    const float swatch = 9 * theme.scale;
    draw_swatch(list, theme, {rect.min.x, std::floor(rect.center().y - swatch * 0.5F)}, swatch, row.tensor);
    draw_text(list, theme.ui_bold, {{rect.min.x + 16 * theme.scale, rect.min.y}, {columns.name_end, rect.max.y}}, theme.text,
              formula_text(to_string(row.tensor)));
    draw_figures(list, view, columns, row, rect.min.y, row_height, false);
    if (!view.lesson.locked)
      draw_progress(list, theme, columns, row, rect.max.y - std::floor(theme.scale), theme.color(row.tensor));
  }
  return under_mouse;
}

/// How far predicted bytes of this link were off; null on links other than HBM's, and where it is unknown.
const FigureErrors* byte_errors(const View& view, LinkChoice choice) {
  const PredictionErrors* const errors = view.studies != nullptr ? view.studies->errors.get() : nullptr;
  if (errors == nullptr || view.lesson.locked) return nullptr;
  const Result<FigureErrors>* const of = choice == LinkChoice::hbm_read    ? &errors->hbm_read
                                         : choice == LinkChoice::hbm_write ? &errors->hbm_write
                                                                           : nullptr;
  return of != nullptr && *of ? &**of : nullptr;
}

void draw_total(const View& view, const TrafficSheet& sheet, const Columns& columns, LinkChoice choice, float row_height) {
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  ImVec2 at = ImGui::GetCursorScreenPos();
  const float right = at.x + ImGui::GetContentRegionAvail().x, line = at.y + std::floor(total_gap(theme) * 0.5F);
  list->AddRectFilled({at.x, line}, {right, line + std::max(1.0F, std::floor(theme.scale))}, theme.panel_border);
  at.y += total_gap(theme);
  ImGui::SetCursorScreenPos(at);
  ImGui::InvisibleButton("total", {right - at.x, row_height});
  const bool hovered = ImGui::IsItemHovered();
  const MeasuredTotal measured = measured_total(view, choice);
  const FigureErrors* const errors = byte_errors(view, choice);
  const ImU32 color = !measured.known || view.lesson.locked ? theme.text_faint : measured.within ? theme.good : theme.bad;
  cell(list, theme.mono_small, columns, columns.measured, at.y, row_height, color,
       view.lesson.locked  ? std::string(hidden_figure)
       : measured.known    ? fmt::format("{}{}", measured.within ? "" : "! ", bytes_text(columns, measured.bytes))
       : errors != nullptr ? "±" + format_percent(errors->mean)
                           : std::string("–"));
  if (hovered) {
    std::string body = row_details(view, sheet.total);
    if (measured.known && !view.lesson.locked) add_line(body, measured.details);
    if (errors != nullptr)
      add_line(body, say(byte_errors_sentence(*errors, choice == LinkChoice::hbm_read ? Link::hbm_read : Link::hbm_write,
                                              algorithm_title(view.lane().simulation->request.algorithm))));
    if (const double shown = view.lane().simulation->request.gpu.sm_clock_hz, timed = timed_run(view).request.gpu.sm_clock_hz;
        errors != nullptr && shown != timed)
      add_line(body, say(tr("The error is of bytes at {}, the clock under load. The stage counts them at {}."), format_clock(timed),
                         format_clock(shown)));
    if (choice == LinkChoice::hbm_write && !view.lesson.locked && view.lane().simulation->hbm_write_queued.value > 0)
      add_line(body, say(tr("Written after the end: {}"), format_exact_bytes(view.lane().simulation->hbm_write_queued)));
    if (choice == LinkChoice::hbm_write && !view.lesson.locked)
      add_line(body, say(tr("After a flush: {}"), format_exact_bytes(view.lane().simulation->hbm_write_after_flush)));
    show_tooltip(theme, choice_name(choice), body);
  }
  draw_text(list, theme.ui_bold, {at, {columns.name_end, at.y + row_height}}, theme.text, tr("Total"));
  draw_figures(list, view, columns, sheet.total, at.y, row_height, true);
}

}  // namespace

float total_gap(const Theme& theme) {
  return std::round(4 * theme.scale);
}

const char* choice_name(LinkChoice choice) {
  switch (choice) {
    case LinkChoice::l2_to_sm:
      return tr("L2→SM");
    case LinkChoice::sm_to_l2:
      return tr("SM→L2");
    case LinkChoice::hbm_read:
      return tr("HBM read");
    case LinkChoice::hbm_write:
      return tr("HBM write");
    case LinkChoice::shared:
      return tr("shared");
  }
  return "";
}

std::optional<Tensor> draw_traffic_table(const View& view, const TrafficSheet& sheet, LinkChoice choice, float header_height,
                                         float row_height) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const Columns columns = lay_out_columns(*view.theme, sheet, at.x, at.x + ImGui::GetContentRegionAvail().x, view.lesson.locked);
  draw_header(ImGui::GetWindowDrawList(), view, columns, at.y, header_height, choice);
  ImGui::SetCursorScreenPos({at.x, at.y + header_height});
  const std::optional<Tensor> under_mouse = draw_rows(view, sheet, columns, row_height);
  draw_total(view, sheet, columns, choice, row_height);
  return under_mouse;
}

}  // namespace tilescope
