// The table by kernel and the list of cases of the validate panel, and what its parts share.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "app/ui/say.h"
#include "app/ui/tab_stops.h"
#include "app/views/validate/validate_panel.h"
#include "sim/analysis/format.h"

namespace tilescope {

std::vector<std::string> kernels_of(const MeasurementBundle& bundle) {
  std::vector<std::string> out;
  for (const MeasuredCase& c : bundle.cases)
    if (std::find(out.begin(), out.end(), c.kernel) == out.end()) out.push_back(c.kernel);
  return out;
}

KernelMark mark_of(const Theme& theme, std::size_t kernel_index) {
  constexpr std::array markers = {Marker::circle, Marker::square, Marker::diamond, Marker::triangle, Marker::ring, Marker::cross};
  constexpr std::size_t hues = 7;  // L, m and l share one; 7 and 6 have no common divisor, so the first 42 pairs differ
  return {markers[kernel_index % markers.size()], theme.tensor_text[kernel_index % hues]};
}

const char* figure_name(Figure figure) {
  switch (figure) {
    case Figure::l2_to_sm:
      return tr("L2→SM");
    case Figure::sm_to_l2:
      return tr("SM→L2");
    case Figure::hbm_read:
      return tr("HBM read");
    case Figure::hbm_write:
      return tr("HBM write");
    case Figure::hbm_write_after_flush:
      return tr("… flushed");
    case Figure::cycles:
      return tr("cycles");
    case Figure::time:
      return tr("time");
    case Figure::reduced:
      return tr("added");
  }
  return "";
}

std::string error_text(const Comparison& comparison) {
  return std::isfinite(comparison.error()) ? format_signed_percent(comparison.error()) : std::string(tr("none measured"));
}

std::string comparison_text(const Comparison& c, const MeasuredCase& measured, Figure figure) {
  std::string body = say(tr("simulated {}, measured {}: {}"), figure_text(figure, c.simulated),
                         figure_text(figure, c.measured.median), error_text(c));
  if (c.in_many_places)
    add_line(body, say(tr("from {} to {} as the tensors lay in {} places of memory"), figure_text(figure, c.measured.least),
                       figure_text(figure, c.measured.most), measured.placements));
  add_line(body, c.bound ? say(tr("{}: {} allowed"), verdict_name(c.verdict()), figure_text(figure, c.allowed()))
                         : std::string(verdict_name(std::nullopt)));
  if (c.known) add_line(body, say(tr("at most {}: {}"), format_percent(c.known->cap), c.known->cause));
  add_line(body, tr("Click to open it in the window."));
  return body;
}

std::optional<std::size_t> shown_case(const View& view) {
  if (view.measured.found == nullptr || view.measured.validation == nullptr ||
      view.measured.found->bundle != view.measured.validation->bundle)
    return std::nullopt;
  return view.measured.found->index;
}

void open_case(const View& view, Commands& commands, std::size_t index) {
  const KnownBundle& known = *view.measured.validation->bundle;
  const MeasuredCase& measured = known.bundle.cases[index];
  commands.push(OpenCase{known.bundle.gpu, counterpart_of(measured.kernel), measured.problem, measured.tile});
}

std::string provenance_of(const KnownBundle& known) {
  return where_from(known.live, known.bundle.device, known.bundle.date);
}

ErrorSummary errors_of(const ValidationState& validation, std::string_view only_kernel, Figure figure) {
  ErrorSummary out;
  for (std::size_t i = 0; i < validation.results.size(); ++i) {
    if (!validation.results[i]) continue;
    const std::string& kernel = validation.bundle->bundle.cases[i].kernel;
    if (only_kernel.empty() ? counterpart_of(kernel).library : kernel != only_kernel) continue;
    out.add(validation.results[i]->figure(figure), i);
  }
  return out;
}

namespace {

/// Right-aligned cells from the right edge, each `width` wide.
void cells(ImDrawList* list, ImFont* font, const Rect& row, float width, const std::vector<std::pair<std::string, ImU32>>& texts) {
  float right = row.max.x - 4;
  for (auto text = std::rbegin(texts); text != std::rend(texts); ++text, right -= width)
    draw_text(list, font, {{right - width + 4, row.min.y}, {right, row.max.y}}, text->second, text->first, Align::right);
}

Rect next_row(float height) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  return {at, {at.x + ImGui::GetContentRegionAvail().x, at.y + height}};
}

/// A sign after the mark, or nothing where there is none.
std::string marked(const char* mark, const std::string& text) {
  return *mark == '\0' ? text : fmt::format("{} {}", mark, text);
}

/// "~7 !24 ✗1": the verdicts that are not within; "0" where there are none.
std::string marks_text(const Theme& theme, const VerdictCounts& counts) {
  std::string text;
  for (const Verdict verdict : {Verdict::within_spread, Verdict::known_miss, Verdict::fails})
    if (counts[verdict] > 0) text += fmt::format("{}{}{}", text.empty() ? "" : " ", style_of(theme, verdict).mark, counts[verdict]);
  return text.empty() ? "0" : text;
}

/// The worst verdict that occurs; nullopt without a bound.
std::optional<Verdict> worst_of(const VerdictCounts& counts) {
  std::optional<Verdict> worst;
  for (const Verdict verdict : all_verdicts)
    if (counts[verdict] > 0) worst = verdict;
  return worst;
}

}  // namespace

VerdictStyle style_of(const Theme& theme, const std::optional<Verdict>& verdict) {
  if (!verdict) return {"", theme.text_dim};
  switch (*verdict) {
    case Verdict::within:
      return {"", theme.good};
    case Verdict::within_spread:
      return {"~", theme.good};
    case Verdict::known_miss:
      return {"!", theme.highlight};
    case Verdict::fails:
      return {"✗", theme.bad};
  }
  return {};
}

const char* verdict_name(const std::optional<Verdict>& verdict) {
  if (!verdict) return tr("no bound");
  switch (*verdict) {
    case Verdict::within:
      return tr("within the bound");
    case Verdict::within_spread:
      return tr("within the hardware's spread");
    case Verdict::known_miss:
      return tr("known miss");
    case Verdict::fails:
      return tr("fails");
  }
  return "";
}

VerdictCounts case_verdicts(const ValidationState& validation) {
  VerdictCounts counts;
  for (const auto& result : validation.results)
    if (result) counts.add(result->verdict());
  return counts;
}

void draw_validate_verdicts(const View& view, float row_height) {
  const Theme& theme = *view.theme;
  const ValidationState& validation = *view.measured.validation;
  const VerdictCounts counts = case_verdicts(validation);
  std::vector<std::pair<std::string, ImU32>> parts = {
      {say(tr("Cases, all figures together: {} within"), counts[Verdict::within]), style_of(theme, Verdict::within).color}};
  const auto add = [&](Verdict verdict, const std::string& text) {
    const VerdictStyle style = style_of(theme, verdict);
    parts.emplace_back(marked(style.mark, text), counts[verdict] > 0 ? style.color : theme.text_faint);
  };
  add(Verdict::within_spread, say(tr("{} in the spread"), counts[Verdict::within_spread]));
  add(Verdict::known_miss, say(tr("{} known misses"), counts[Verdict::known_miss]));
  add(Verdict::fails, say(tr("{} fail"), counts[Verdict::fails]));
  if (counts.unbounded > 0) parts.emplace_back(say(tr("{} without bounds"), counts.unbounded), theme.text_faint);

  // What does not fit goes on in a second line.
  const Rect row = next_row(row_height);
  ImDrawList* list = ImGui::GetWindowDrawList();
  ImVec2 at = row.min;
  for (const auto& [text, color] : parts) {
    const float width = text_width(theme.ui_small, text);
    if (at.x > row.min.x && at.x + width > row.max.x) at = {row.min.x, at.y + row_height};
    draw_text(list, theme.ui_small, {at, {std::min(at.x + width + 2, row.max.x), at.y + row_height}}, color, text);
    at.x += width + 10 * theme.scale;
  }
  ImGui::InvisibleButton("verdicts", {std::max(1.0F, row.width()), at.y + row_height - row.min.y});
  std::string body = tr("A case has the worst verdict of its figures.");
  add_line(body, tr("In the spread: the hardware's own values differ between places in memory, and the bound around them is met."));
  add_line(body, tr("Known miss: beyond the bound, listed with its cause, and no larger than its cap."));
  if (!validation.stale.empty())
    add_line(body, say(tr("{} listed misses are stale: see tilescope validate."), validation.stale.size()));
  item_tooltip(theme, tr("Verdicts over all figures"), body);
}

namespace {

using Texts = std::vector<std::pair<std::string, ImU32>>;

/// The cells of a kernel beside its name; those of the heading where `errors` is null.
Texts kernel_cells(const Theme& theme, const ErrorSummary* errors) {
  if (errors == nullptr)
    return {{tr("cases"), theme.text_faint},
            {tr("marks"), theme.text_faint},
            {tr("mean"), theme.text_faint},
            {tr("worst"), theme.text_faint}};
  if (errors->cases == 0) return Texts(4, {"–", theme.text_faint});
  const auto worst = worst_of(errors->verdicts);
  return {{fmt::format("{}", errors->cases), theme.text_dim},
          {errors->verdicts.bounded() > 0 ? marks_text(theme, errors->verdicts) : std::string("–"),
           worst > Verdict::within ? style_of(theme, worst).color : theme.text_dim},
          {format_percent(errors->mean()), theme.text},
          {format_percent(errors->worst), theme.text}};
}

}  // namespace

void draw_validate_kernels(const View& view, ValidatePanelState& state, float row_height) {
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float whole_width = 58 * theme.scale;
  const Rect head = next_row(row_height);
  // In a narrow panel the names are worth more than how many cases there are and their mean error, which the tooltip has.
  const bool all = head.width() - 4 * whole_width >= 100 * theme.scale;
  const float width = all ? whole_width : 52 * theme.scale, figures = (all ? 4 : 2) * width;
  const auto shown = [&](const Texts& texts) { return all ? texts : Texts{texts[1], texts[3]}; };
  draw_text(list, theme.ui_small, head, theme.text_faint, tr("kernel"));
  cells(list, theme.ui_small, head, width, shown(kernel_cells(theme, nullptr)));
  ImGui::Dummy({head.width(), row_height});
  const std::vector<std::string> kernels = kernels_of(view.measured.validation->bundle->bundle);
  const ImGuiID group = ImGui::GetID("kernels");
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const Rect row = next_row(row_height);
    const bool chosen = state.only_kernel == kernels[k];
    ImGui::PushID(static_cast<int>(k));
    bool pressed = ImGui::InvisibleButton("kernel", {row.width(), row_height});
    ImGui::PopID();
    pressed = tab_stop(theme, row, 3 * theme.scale, group) || pressed;
    if (pressed) state.only_kernel = chosen ? std::string() : kernels[k];
    const ErrorSummary errors = errors_of(*view.measured.validation, kernels[k], state.figure);
    std::string tip = chosen ? tr("Click to see all kernels.") : tr("Click to see this kernel alone.");
    if (!all && errors.cases > 0) add_line(tip, say(tr("{} cases, mean error {}"), errors.cases, format_percent(errors.mean())));
    item_tooltip(theme, kernels[k], tip);
    if (chosen || ImGui::IsItemHovered())
      list->AddRectFilled(row.min, row.max, chosen ? theme.accent_soft : with_alpha(theme.text_faint, 0.12F), 3 * theme.scale);
    const KernelMark mark = mark_of(theme, k);
    draw_marker(list, mark.marker, {row.min.x + 7 * theme.scale, row.center().y}, 4 * theme.scale, mark.color, 1.5F * theme.scale);
    draw_text(list, theme.ui_small, {{row.min.x + 18 * theme.scale, row.min.y}, {row.max.x - figures, row.max.y}}, theme.text,
              kernels[k]);
    cells(list, theme.mono_small, row, width, shown(kernel_cells(theme, &errors)));
  }
}

namespace {

/// The cases of the list in its order: by error what was not simulated comes first, what has no error last.
std::vector<std::size_t> listed_cases(const ValidationState& validation, const ValidatePanelState& state) {
  const auto& cases = validation.bundle->bundle.cases;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (state.only_kernel.empty() || cases[i].kernel == state.only_kernel) order.push_back(i);
  const auto size_of_error = [&](std::size_t i) {
    const auto& result = validation.results[i];
    if (!result) return -1.0;
    if (!result->not_simulated.empty()) return std::numeric_limits<double>::infinity();
    const auto& c = result->figure(state.figure);
    return !c ? -1.0 : std::abs(c->error());
  };
  if (state.by_error)
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size_of_error(a) > size_of_error(b); });
  return order;
}

/// Which figures stand beside the name of a case. In a narrow panel the problem is worth more than a third and a second figure,
/// which the plot's tooltip has.
struct CaseColumns {
  float width = 0;  // of a figure
  bool simulated = true, measured = true;
  float figures() const { return (simulated ? 3.0F : measured ? 2.0F : 1.0F) * width; }
};

CaseColumns case_columns(const Theme& theme, float row) {
  CaseColumns columns{72 * theme.scale};
  columns.simulated = row - 3 * columns.width - 18 * theme.scale >= text_width(theme.mono_small, "B2 H16 N16384 d128 fp16 causal");
  columns.measured = row - 2 * columns.width >= 150 * theme.scale;
  return columns;
}

/// The heading of the list, which is a button: it changes the order.
void draw_case_heading(const Theme& theme, ValidatePanelState& state, const Rect& head, const CaseColumns& columns) {
  bool turned = ImGui::InvisibleButton("order", {head.width(), head.height()});
  turned = tab_stop(theme, head, 3 * theme.scale) || turned;
  if (turned) state.by_error = !state.by_error;
  item_tooltip(theme, state.by_error ? tr("the largest errors first") : tr("in the order of the bundle"),
               tr("Click to change the order."));
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_text(list, theme.ui_small, head, theme.text_faint, say(tr("case{}"), state.by_error ? "" : " ▾"));
  cells(list, theme.ui_small, head, columns.width,
        {{columns.simulated ? tr("simulated") : "", theme.text_faint},
         {columns.measured ? tr("measured") : "", theme.text_faint},
         {say(tr("error{}"), state.by_error ? " ▾" : ""), theme.text_faint}});
}

/// The figures of a case, right-aligned.
void draw_case_figures(const Theme& theme, const CaseColumns& columns, const Rect& row, const CaseValidation& result,
                       Figure figure) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (!result.not_simulated.empty()) return cells(list, theme.ui_small, row, columns.width, {{tr("not simulated"), theme.bad}});
  const auto& c = result.figure(figure);
  if (!c) return cells(list, theme.mono_small, row, columns.width, {{"–", theme.text_faint}});
  cells(list, theme.mono_small, row, columns.width,
        {{columns.simulated ? figure_text(figure, c->simulated) : std::string(), theme.text},
         {columns.measured ? figure_text(figure, c->measured.median) : std::string(), theme.text},
         {marked(style_of(theme, c->verdict()).mark, error_text(*c)), style_of(theme, c->verdict()).color}});
}

/// A row of the list, at the cursor.
void draw_case(const View& view, Commands& commands, ValidatePanelState& state, std::size_t i, const Rect& row,
               const CaseColumns& columns, ImGuiID group) {
  const Theme& theme = *view.theme;
  const ValidationState& validation = *view.measured.validation;
  const MeasuredCase& measured = validation.bundle->bundle.cases[i];
  ImDrawList* list = ImGui::GetWindowDrawList();
  ImGui::PushID(static_cast<int>(i));
  bool opened = ImGui::InvisibleButton("case", {row.width(), row.height()});
  ImGui::PopID();
  opened = tab_stop(theme, row, 3 * theme.scale, group) || opened;
  if (opened) open_case(view, commands, i);
  const bool focused = tab_stop_is_focused();
  if (ImGui::IsItemHovered() || focused) state.hovered = i;
  const auto& result = validation.results[i];
  const bool compared = result && result->not_simulated.empty() && result->figure(state.figure);
  const std::string title = fmt::format("{}, {}", measured.kernel, short_text(measured)),
                    tip = compared ? comparison_text(*result->figure(state.figure), measured, state.figure) : std::string();
  if (result && !result->not_simulated.empty())
    item_tooltip(theme, tr("not simulated"), result->not_simulated);
  else if (compared)
    item_tooltip(theme, title, tip);
  const bool shown = shown_case(view) == i;
  if (shown || state.hovered == i)
    list->AddRectFilled(row.min, row.max, shown ? theme.accent_soft : with_alpha(theme.text_faint, 0.12F), 3 * theme.scale);
  if (focused && compared) stop_tooltip(theme, row, title, tip);
  const std::vector<std::string> kernels = kernels_of(validation.bundle->bundle);
  const auto kernel = static_cast<std::size_t>(std::find(kernels.begin(), kernels.end(), measured.kernel) - kernels.begin());
  const KernelMark mark = mark_of(theme, kernel);
  draw_marker(list, mark.marker, {row.min.x + 7 * theme.scale, row.center().y}, 4 * theme.scale, mark.color, 1.5F * theme.scale);
  draw_text(list, theme.mono_small, {{row.min.x + 18 * theme.scale, row.min.y}, {row.max.x - columns.figures(), row.max.y}},
            theme.text_dim, short_text(measured));
  if (result) draw_case_figures(theme, columns, row, *result, state.figure);
}

}  // namespace

void draw_validate_cases(const View& view, Commands& commands, ValidatePanelState& state, float row_height) {
  const Rect head = next_row(row_height);
  const CaseColumns columns = case_columns(*view.theme, head.width());
  const std::vector<std::size_t> order = listed_cases(*view.measured.validation, state);
  draw_case_heading(*view.theme, state, head, columns);
  ImGui::BeginChild("list", {0, std::max(row_height * 2, ImGui::GetContentRegionAvail().y)}, ImGuiChildFlags_None,
                    ImGuiWindowFlags_NoNav);
  const ImGuiID group = ImGui::GetID("cases");
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(order.size()), row_height);
  // One line more at both ends, so that the arrows find it.
  const int above = static_cast<int>(ImGui::GetScrollY() / row_height) - 1,
            below = static_cast<int>((ImGui::GetScrollY() + ImGui::GetWindowHeight()) / row_height) + 2;
  clipper.IncludeItemsByIndex(std::max(0, above), std::clamp(below, 1, std::max(1, static_cast<int>(order.size()))));
  while (clipper.Step())
    for (int line = clipper.DisplayStart; line < clipper.DisplayEnd; ++line)
      draw_case(view, commands, state, order[static_cast<std::size_t>(line)], next_row(row_height), columns, group);
  ImGui::EndChild();
}

}  // namespace tilescope
