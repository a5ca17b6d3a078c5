// Choice, number, point and order; curves are in question_curve.cpp.
#include "app/views/lesson/question.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include "app/model/lessons/lecture.h"
#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/typed_quantity.h"
#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/views/keys.h"
#include "app/views/lesson/figure_words.h"
#include "app/views/lesson/page_measures.h"
#include "app/views/lesson/prose_text.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

const ExpressionValues* values_of(const View& view) {
  return view.lesson.figures != nullptr ? &view.lesson.figures->shown : nullptr;
}

/// The tensor of the program on screen that an option of "point" names.
Tensor tensor_named(const View& view, std::string_view name) {
  if (view.lanes.empty()) return {};
  for (const Tensor tensor : view.lane().simulation->program->tensors())
    if (to_string(tensor) == name) return tensor;
  return {};
}

/// Measures of an option: around its text, before it, and of a tensor's colour.
struct OptionSizes {
  float pad = 0, lead = 0, swatch = 0, line = 0;
};

OptionSizes option_sizes(const Theme& theme) {
  return {std::round(8 * theme.scale), std::round(20 * theme.scale), std::round(9 * theme.scale),
          std::round(theme.ui->FontSize * 1.34F)};
}

/// A row of the options: what stands before its text, and after it.
struct OptionRow {
  const Prose* text = nullptr;
  Tensor swatch;
  std::string before, note, after;
  ImU32 fill = 0, border = 0, color = 0;
  bool ring = false, dot = false;  // a radio button
  bool indented = false;           // as the rows with a mark are
  int mark = 0;                    // 1: right, -1: wrong
};

float longest_word(const ImFont* font, std::string_view text) {
  float width = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    width = std::max(width, text_width(font, word));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return width;
}

/// The longest word of an option; code has a font and a frame of its own.
float longest_word(const Theme& theme, const Prose& option, const ExpressionValues* values) {
  float width = longest_word(theme.ui, prose_words(option, values));
  for (const ProseBlock& block : option)
    for (const ProseRun& run : block.runs)
      if (run.code) width = std::max(width, longest_word(theme.mono, run.text) + 8 * theme.scale);
  return width;
}

/// Where the parts of a row stand, from its left edge on, and how high they make it.
struct OptionLayout {
  float left = 0, right = 0, inner = 0;          // of the text; the right edge of what stands after it
  float note_right = 0, note = 0, after = 0;     // widths; 0: none
  bool after_below = false, note_below = false;  // on a line of their own, where a word would reach into them
  float text = 0, height = 0;
};

OptionLayout lay_out_option(const View& view, const OptionRow& row, float width) {
  const Theme& theme = *view.theme;
  const auto [pad, lead, swatch, line] = option_sizes(theme);
  OptionLayout out;
  out.left = pad;
  out.right = out.inner = width - pad;
  if (row.ring || row.indented || !row.before.empty() || row.mark != 0) out.left += lead;
  if (row.swatch) out.left += swatch + pad;
  const float longest = longest_word(theme, *row.text, values_of(view));
  out.after = row.after.empty() ? 0 : text_width(theme.mono, row.after) + pad;
  out.after_below = longest > out.right - out.after - out.left;
  if (!out.after_below) out.right -= out.after;
  out.note = row.note.empty() ? 0 : text_width(theme.ui_small, row.note) + 2 * pad;
  out.note_below = out.after_below || longest > out.right - out.note - out.left;
  out.note_right = out.inner - out.after;
  if (!out.note_below) out.right -= out.note;
  const bool has_line_below = (out.after_below && out.after > 0) || (out.note_below && out.note > 0);
  out.text = prose_height(theme, *row.text, values_of(view), out.right - out.left);
  out.height = out.text + pad + (has_line_below ? line : 0);
  return out;
}

/// Draws the row, `width` wide, and returns where it is; adds no item.
Rect draw_option_at(const View& view, const OptionRow& row, ImVec2 at, float width) {
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const auto [pad, lead, swatch, line] = option_sizes(theme);
  const OptionLayout parts = lay_out_option(view, row, width);
  const float left = at.x + parts.left, right = at.x + parts.right, inner = at.x + parts.inner,
              note_right = at.x + parts.note_right;
  const Rect rect = {at, {at.x + width, at.y + parts.height}};
  list->AddRectFilled(rect.min, rect.max, row.fill, 6 * theme.scale);
  if (row.border != 0) list->AddRect(rect.min, rect.max, row.border, 6 * theme.scale, 0, std::max(1.0F, theme.scale));
  const ImVec2 lead_at = {at.x + pad + 0.35F * lead, at.y + 0.5F * (pad + line)};
  if (row.ring) {
    list->AddCircle(lead_at, 5.5F * theme.scale, row.dot ? theme.accent : theme.text_dim, 0, std::max(1.0F, 1.5F * theme.scale));
    if (row.dot) list->AddCircleFilled(lead_at, 3 * theme.scale, theme.accent);
  }
  if (row.mark != 0) check_mark(list, lead_at, 9 * theme.scale, row.mark > 0 ? theme.good : theme.bad, row.mark > 0);
  if (!row.before.empty())
    draw_text(list, theme.mono, {{at.x + pad, at.y}, {at.x + pad + lead, at.y + pad + line}}, theme.text_dim, row.before);
  const float top = at.y + 0.5F * pad;
  if (row.swatch) draw_swatch(list, theme, {left - swatch - pad, std::round(top + 0.5F * (line - swatch))}, swatch, row.swatch);
  draw_prose_at(list, theme, *row.text, values_of(view), {left, top}, right - left, row.color != 0 ? row.color : theme.text);
  const float below = top + parts.text;
  if (parts.note > 0 && parts.note_below)
    draw_text(list, theme.ui_small, {{left, below}, {note_right, below + line}}, theme.text_dim, row.note);
  if (parts.note > 0 && !parts.note_below)
    draw_text(list, theme.ui_small, {{right, at.y}, {note_right - pad, at.y + pad + line}}, theme.text_dim, row.note, Align::right);
  if (parts.after > 0 && parts.after_below)
    draw_text(list, theme.mono, {{note_right, below}, {inner, below + line}}, theme.text, row.after, Align::right);
  if (parts.after > 0 && !parts.after_below)
    draw_text(list, theme.mono, {{note_right, at.y}, {inner, at.y + pad + line}}, theme.text, row.after, Align::right);
  return rect;
}

Rect draw_option(const View& view, const OptionRow& row, float width) {
  return draw_option_at(view, row, ImGui::GetCursorScreenPos(), width);
}

// --- choice and point -------------------------------------------------------------------------------------------------------

/// True where the digit of an option was pressed: 1 for the first one.
bool chosen_by_digit(int option) {
  const ImGuiIO& io = ImGui::GetIO();
  if (option > 8 || io.WantTextInput || io.KeyMods != ImGuiMod_None) return false;
  if (ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel)) return false;
  return ImGui::IsKeyPressed(static_cast<ImGuiKey>(ImGuiKey_1 + option), false);
}

/// Returns how many options stand side by side before the answer: names of tensors are short.
int options_across(const LessonQuestion& ask) {
  return ask.kind == QuestionKind::point ? 2 : 1;
}

float option_width(const Theme& theme, int across, float width) {
  return std::floor((width - static_cast<float>(across - 1) * theme.gap) / static_cast<float>(across));
}

void draw_choices(const View& view, QuestionDraft& draft, LessonKeys& keys) {
  const Theme& theme = *view.theme;
  const LessonQuestion& ask = question_of(view);
  const bool point = ask.kind == QuestionKind::point;
  const int count = static_cast<int>(ask.options.size());
  // A tensor under the mouse, on the stage or anywhere else, is pointed at by a click.
  if (point && view.workspace->hovered_tensor && ImGui::IsMouseClicked(ImGuiMouseButton_Left) && !ImGui::IsWindowHovered())
    if (const int pointed = option_pointed_at(view.lesson, *view.workspace->hovered_tensor); pointed >= 0) draft.option = pointed;
  const int across = options_across(ask);
  const float width = option_width(theme, across, ImGui::GetContentRegionAvail().x);
  for (int i = 0; i < count; ++i) {
    if (i % across != 0) ImGui::SameLine(0, theme.gap);
    const Prose& option = ask.options[static_cast<std::size_t>(i)];
    OptionRow row;
    row.text = &option;
    row.ring = true;
    row.dot = draft.option == i;
    if (point) row.swatch = tensor_named(view, plain_text(option));
    row.fill = row.dot ? theme.accent_soft : mix(theme.inset, theme.inset_border, 0.2F);
    row.border = row.dot ? theme.accent : 0;
    ImGui::PushID(i);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const Rect rect = draw_option(view, row, width);
    ImGui::SetCursorScreenPos(at);
    const bool clicked = ImGui::InvisibleButton("option", {rect.width(), rect.height()});
    if (ImGui::IsItemHovered()) ImGui::GetWindowDrawList()->AddRect(rect.min, rect.max, theme.accent, 6 * theme.scale);
    ImGui::PopID();
    keys.item(rect);
    const bool typed = chosen_by_digit(i);
    if (clicked || typed || keys.entered()) draft.option = i;
    if (typed || keys.entered()) keys.go(count);  // "Answer" comes after the options
  }
}

bool is_chosen(const View& view, int option) {
  return view.lesson.answer->given && view.lesson.answer->option == option;
}

/// An option after the answer.
OptionRow answered_row(const View& view, int option) {
  const Theme& theme = *view.theme;
  const LessonQuestion& ask = question_of(view);
  const PageFigures* figures = view.lesson.figures;
  const int right = figures != nullptr ? right_option(ask, *figures) : -1;
  const bool own = is_chosen(view, option);
  const auto i = static_cast<std::size_t>(option);
  OptionRow row;
  row.text = &ask.options[i];
  if (ask.kind == QuestionKind::point) row.swatch = tensor_named(view, plain_text(*row.text));
  if (ask.shows_values && figures != nullptr && i < figures->values.size()) row.after = figure_words(figures->values[i], ask.unit);
  row.ring = figures == nullptr;
  row.indented = true;
  row.mark = option == right ? 1 : own && right >= 0 ? -1 : 0;
  row.fill = option == right ? with_alpha(theme.good, 0.16F) : mix(theme.inset, theme.inset_border, 0.2F);
  row.border = own ? theme.accent : 0;
  row.color = option == right || own ? theme.text : theme.text_dim;
  return row;
}

void draw_chosen(const View& view) {
  for (int i = 0; i < static_cast<int>(question_of(view).options.size()); ++i) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const Rect rect = draw_option(view, answered_row(view, i), ImGui::GetContentRegionAvail().x);
    ImGui::SetCursorScreenPos(at);
    ImGui::Dummy({rect.width(), rect.height()});
    if (is_chosen(view, i)) item_tooltip(*view.theme, tr("Your answer"));
  }
}

// --- number -----------------------------------------------------------------------------------------------------------------

/// The last frame in which the field of an answer had the keyboard, and was empty.
int& empty_field_frame() {
  struct Frame {
    int number = -2;
  };
  return panel_state<Frame>("empty answer").number;
}

/// Keeps the letters of the window's keys out of the field; they may arrive a frame after the key.
int refuse_window_letters(ImGuiInputTextCallbackData* data) {
  const bool empty = static_cast<const QuestionDraft*>(data->UserData)->typed.empty();
  const ImWchar letter = data->EventChar;
  constexpr ImWchar first_beyond_latin = 0x400;  // letters of those keys on a Korean keyboard
  const bool is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
  return letter == 'q' || letter == 'Q' || letter >= first_beyond_latin || (empty && is_letter) ? 1 : 0;
}

void draw_number(const View& view, Commands& commands, QuestionDraft& draft, LessonKeys& keys, bool& submit) {
  const Theme& theme = *view.theme;
  const LessonQuestion& ask = question_of(view);
  const std::string unit = unit_label(ask.unit);
  const float label = unit.empty() ? 0 : text_width(theme.ui, unit) + theme.gap;
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, PageMeasures(theme).field);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = std::min(ImGui::GetContentRegionAvail().x - label, std::round(190 * theme.scale));
  const Rect rect = {at, {at.x + width, at.y + ImGui::GetFrameHeight()}};
  const bool here = keys.item(rect);
  if (here && keys.just_moved()) activate_next_frame("##number");
  ImGui::SetNextItemWidth(width);
  // No unit has a Q: it asks the class whatever is typed.
  const ImGuiIO& io = ImGui::GetIO();
  if (!view.lecture->asking && io.WantTextInput && io.KeyMods == ImGuiMod_None && !draft.typed.empty() &&
      ImGui::IsKeyPressed(ImGuiKey_Q, false))
    commands.push(AskClass{true});
  give_digits("##number", draft.digits, false);
  constexpr ImGuiInputTextFlags flags =
      ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_CharsNoBlank | ImGuiInputTextFlags_CallbackCharFilter;
  const bool entered = ImGui::InputText("##number", &draft.typed, flags, refuse_window_letters, &draft);
  if (ImGui::IsItemActive() && draft.typed.empty()) empty_field_frame() = ImGui::GetFrameCount();
  give_digits("##number", draft.digits, true);
  if (entered) {
    submit = true;
    if (!typed_quantity(draft.typed, ask.unit)) activate_next_frame("##number");  // Enter on no number: go on typing
  }
  if (ImGui::IsItemActivated() && !here) keys.go(keys.last());
  if (!here && ImGui::IsItemActive() && keys.just_moved()) ImGui::ClearActiveID();
  if (!unit.empty()) {
    ImGui::SameLine(0, theme.gap * 0.5F);
    ImGui::AlignTextToFramePadding();
    text_item(theme.ui, theme.text_dim, unit);
  }
  ImGui::PopStyleVar();
  if (!draft.typed.empty() && !typed_quantity(draft.typed, ask.unit))
    wrapped_text(
        theme.ui_small, theme.bad,
        ask.unit == FigureUnit::bytes ? tr("Type a number, such as 12 or 3.5MB.") : tr("Type a number, such as 12 or 3.5."));
}

void draw_bar_row(const Theme& theme, const char* label, const std::string& value, double fraction, ImU32 color) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, line = std::round(theme.ui->FontSize * 1.4F);
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_text(list, theme.ui, {at, {at.x + width * 0.55F, at.y + line}}, theme.text_dim, label);
  draw_text(list, theme.mono, {{at.x + width * 0.4F, at.y}, {at.x + width, at.y + line}}, theme.text, value, Align::right);
  const float bar = std::round(6 * theme.scale);
  draw_bar(list, theme, {{at.x, at.y + line}, {at.x + width, at.y + line + bar}}, fraction, color);
  ImGui::Dummy({width, line + bar + std::round(3 * theme.scale)});
}

void draw_typed(const View& view) {
  const Theme& theme = *view.theme;
  const LessonQuestion& ask = question_of(view);
  const PageFigures* figures = view.lesson.figures;
  const LessonAnswer& answer = *view.lesson.answer;
  const double real = figures != nullptr ? figures->answer : 0;
  const double most = std::max({std::fabs(real), answer.given ? std::fabs(answer.number) : 0, 1e-300});
  if (answer.given)
    draw_bar_row(theme, tr("Your answer"), figure_words(answer.number, ask.unit), std::fabs(answer.number) / most, theme.accent);
  if (figures == nullptr) return;
  draw_bar_row(theme, answer_source(ask), figure_words(real, ask.unit), std::fabs(real) / most, theme.good);
  if (!answer.given) return;
  const bool right = is_right(ask, answer, *figures);
  wrapped_text(theme.ui_bold, right ? theme.good : theme.bad, verdict_words(answer.number, real, right, ask.unit, ask.tolerance));
}

// --- order ------------------------------------------------------------------------------------------------------------------

void draw_order(const View& view, QuestionDraft& draft, LessonKeys& keys) {
  const Theme& theme = *view.theme;
  const LessonQuestion& ask = question_of(view);
  const int count = static_cast<int>(ask.options.size());
  if (static_cast<int>(draft.order.size()) != count) {
    draft.order.resize(static_cast<std::size_t>(count));
    std::iota(draft.order.begin(), draft.order.end(), 0);
  }
  wrapped_text(theme.ui_small, theme.text_faint, tr("Drag the rows, or press Enter on one and move it with ↑ and ↓."));
  int from = -1, to = -1;  // exchanged after this frame's rows
  for (int at_row = 0; at_row < count; ++at_row) {
    OptionRow row;
    row.text = &ask.options[static_cast<std::size_t>(draft.order[static_cast<std::size_t>(at_row)])];
    row.before = fmt::format("{}", at_row + 1);
    const bool held = draft.held == at_row;
    row.fill = held ? theme.accent_soft : mix(theme.inset, theme.inset_border, 0.2F);
    row.border = held ? theme.accent : 0;
    ImGui::PushID(draft.order[static_cast<std::size_t>(at_row)]);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const Rect rect = draw_option(view, row, ImGui::GetContentRegionAvail().x);
    ImGui::SetCursorScreenPos(at);
    ImGui::InvisibleButton("row", {rect.width(), rect.height()});
    const float y = ImGui::GetIO().MousePos.y;
    if (ImGui::IsItemActive() && (y < rect.min.y || y > rect.max.y)) {
      from = at_row;
      to = y < rect.min.y ? at_row - 1 : at_row + 1;
    }
    ImGui::PopID();
    keys.item(rect);
    if (held && !keys.here()) draft.held = -1;  // Tab went on
    if (keys.entered()) draft.held = held ? -1 : at_row;
    if (held && keys.here()) {
      keys.take_arrows();
      if (keys.pressed(ImGuiKey_DownArrow)) from = at_row, to = at_row + 1;
      if (keys.pressed(ImGuiKey_UpArrow)) from = at_row, to = at_row - 1;
    }
  }
  if (from < 0 || to < 0 || to >= count) return;
  std::swap(draft.order[static_cast<std::size_t>(from)], draft.order[static_cast<std::size_t>(to)]);
  if (draft.held != from) return;
  draft.held = to;
  keys.go(keys.last() - (count - 1) + to);
}

std::vector<OptionRow> ordered_rows(const View& view) {
  const Theme& theme = *view.theme;
  const LessonQuestion& ask = question_of(view);
  const PageFigures* figures = view.lesson.figures;
  const LessonAnswer& answer = *view.lesson.answer;
  std::vector<int> order = answer.order;
  if (figures != nullptr) order = right_order(*figures);
  std::vector<OptionRow> rows;
  for (std::size_t at_row = 0; at_row < order.size(); ++at_row) {
    const int option = order[at_row];
    const auto own = std::find(answer.order.begin(), answer.order.end(), option) - answer.order.begin();
    OptionRow row;
    row.text = &ask.options[static_cast<std::size_t>(option)];
    row.fill = mix(theme.inset, theme.inset_border, 0.2F);
    row.indented = true;
    if (figures != nullptr) {
      if (ask.shows_values) row.after = figure_words(figures->values[static_cast<std::size_t>(option)], ask.unit);
      if (answer.given) { row.mark = own == static_cast<std::ptrdiff_t>(at_row) ? 1 : -1; }
      if (row.mark < 0) row.note = say(tr("yours: {}"), own + 1);
      if (row.mark > 0) row.fill = with_alpha(theme.good, 0.16F);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

void draw_ordered(const View& view) {
  for (const OptionRow& row : ordered_rows(view)) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const Rect rect = draw_option(view, row, ImGui::GetContentRegionAvail().x);
    ImGui::SetCursorScreenPos(at);
    ImGui::Dummy({rect.width(), rect.height()});
  }
}

// --- the verdict in few lines -----------------------------------------------------------------------------------------------

/// The chosen option, and the right one; of an order all.
std::vector<OptionRow> verdict_rows(const View& view, VerdictRows shown) {
  const LessonQuestion& ask = question_of(view);
  if (ask.kind == QuestionKind::order) return ordered_rows(view);
  std::vector<OptionRow> rows;
  if (ask.kind != QuestionKind::choice && ask.kind != QuestionKind::point) return rows;
  const int right = view.lesson.figures != nullptr ? right_option(ask, *view.lesson.figures) : -1;
  for (int i = 0; i < static_cast<int>(ask.options.size()); ++i)
    if (shown == VerdictRows::all || i == right || is_chosen(view, i)) rows.push_back(answered_row(view, i));
  return rows;
}

/// The own number and the right one, on one line if it has room for both, and what came of the answer.
std::vector<std::pair<std::string, ImU32>> verdict_lines(const View& view, float width) {
  const Theme& theme = *view.theme;
  const LessonQuestion& ask = question_of(view);
  const PageFigures* figures = view.lesson.figures;
  const LessonAnswer& answer = *view.lesson.answer;
  std::vector<std::pair<std::string, ImU32>> lines;
  if (figures == nullptr || (ask.kind != QuestionKind::number && ask.kind != QuestionKind::draw)) return lines;
  const bool right = answer.given && is_right(ask, answer, *figures);
  if (ask.kind == QuestionKind::number) {
    std::string own, right_one = fmt::format("{}: {}", answer_source(ask), figure_words(figures->answer, ask.unit));
    if (answer.given) own = fmt::format("{}: {}", tr("Your answer"), figure_words(answer.number, ask.unit));
    if (const std::string both = own + "   " + right_one; !own.empty() && text_width(theme.ui_bold, both) <= width)
      right_one = both;
    else if (!own.empty())
      lines.emplace_back(own, theme.text);
    lines.emplace_back(right_one, theme.text);
  }
  if (!answer.given) return lines;
  lines.emplace_back(ask.kind == QuestionKind::draw ? curve_verdict_words(view)
                                                    : verdict_words(answer.number, figures->answer, right, ask.unit, ask.tolerance),
                     right ? theme.good : theme.bad);
  return lines;
}

std::optional<LessonAnswer> answer_of(const LessonQuestion& ask, const QuestionDraft& draft) {
  LessonAnswer answer;
  answer.option = draft.option;
  answer.order = draft.order;
  answer.drawn = draft.drawn;
  if (ask.kind == QuestionKind::draw && !draft.touched) return std::nullopt;
  if (ask.kind == QuestionKind::number) {
    const auto number = typed_quantity(draft.typed, ask.unit);
    if (!number) return std::nullopt;
    answer.number = *number;
  }
  return is_complete(ask, answer) ? std::optional(answer) : std::nullopt;
}

}  // namespace

void check_mark(ImDrawList* list, ImVec2 center, float size, ImU32 color, bool right) {
  const float s = size * 0.5F, width = std::max(1.5F, size * 0.16F);
  if (right) {
    const ImVec2 points[] = {
        {center.x - s, center.y}, {center.x - 0.25F * s, center.y + 0.7F * s}, {center.x + s, center.y - 0.75F * s}};
    list->AddPolyline(points, 3, color, 0, width);
  } else {
    list->AddLine({center.x - 0.7F * s, center.y - 0.7F * s}, {center.x + 0.7F * s, center.y + 0.7F * s}, color, width);
    list->AddLine({center.x - 0.7F * s, center.y + 0.7F * s}, {center.x + 0.7F * s, center.y - 0.7F * s}, color, width);
  }
}

bool answer_leaves_letters() {
  return ImGui::GetFrameCount() - empty_field_frame() <= 1;
}

const LessonQuestion& question_of(const View& view) {
  return *view.lesson.lesson->pages[view.lesson.page].ask;
}

void draw_question(const View& view, Commands& commands, QuestionDraft& draft, LessonKeys& keys) {
  const Theme& theme = *view.theme;
  const LessonQuestion& ask = question_of(view);
  draw_prose(theme, ask.question, values_of(view), ImGui::GetContentRegionAvail().x, theme.text);
  bool submit = false;
  switch (ask.kind) {
    case QuestionKind::choice:
    case QuestionKind::point:
      draw_choices(view, draft, keys);
      break;
    case QuestionKind::number:
      draw_number(view, commands, draft, keys, submit);
      break;
    case QuestionKind::order:
      draw_order(view, draft, keys);
      break;
    case QuestionKind::draw:
      draw_curve_question(view, draft, keys);
      break;
  }
  const std::optional<LessonAnswer> answer = answer_of(ask, draft);
  gap(theme, 1);
  ImGui::BeginDisabled(!answer);
  Theme faint = theme;
  if (!answer) faint.text = theme.text_faint;
  if (pill(faint, tr("Answer"), answer.has_value())) submit = true;
  ImGui::EndDisabled();
  keys.item(item_rect());
  if (keys.entered()) submit = true;
  if (keys.entered() && ask.kind == QuestionKind::draw && !answer) {  // back to the points, which are the item before
    draft.early = true;
    keys.go(keys.last() - 1);
  }
  ImGui::SameLine(0, theme.gap * 0.5F);
  bool skip = pill(theme, tr("Show"), false, tr("Show the answer without giving one"));
  keys.item(item_rect());
  skip = skip || keys.entered();
  if (submit && answer) commands.push(AnswerLesson{std::make_shared<const LessonAnswer>(*answer)});
  if (skip) {
    LessonAnswer none;
    none.given = false;
    commands.push(AnswerLesson{std::make_shared<const LessonAnswer>(none)});
  }
}

float question_height(const View& view, float width) {
  const Theme& theme = *view.theme;
  const LessonQuestion& ask = question_of(view);
  const PageMeasures of(theme);
  const float between = of.between;
  float height = prose_height(theme, ask.question, values_of(view), width) + between;
  const auto hint = [&](const char* text) { height += wrapped_height(theme.ui_small, text, width) + between; };
  if (ask.kind == QuestionKind::order) hint(tr("Drag the rows, or press Enter on one and move it with ↑ and ↓."));
  if (ask.kind == QuestionKind::draw) hint(tr("Drag the points. By keyboard: ← → choose one, ↑ ↓ move it."));
  if (ask.kind == QuestionKind::draw) height += curve_height(view, width) + between;
  if (ask.kind == QuestionKind::number) height += theme.ui->FontSize + 2 * of.field.y + between;
  const OptionSizes sizes = option_sizes(theme);
  const float before = sizes.lead + (ask.kind == QuestionKind::point ? sizes.swatch + sizes.pad : 0);
  const auto across = static_cast<std::size_t>(options_across(ask));
  const float each = option_width(theme, options_across(ask), width) - 2 * sizes.pad - before;
  if (ask.kind != QuestionKind::number && ask.kind != QuestionKind::draw)
    for (std::size_t i = 0; i < ask.options.size(); i += across)
      height += prose_height(theme, ask.options[i], values_of(view), each) + sizes.pad + between;
  return height + std::round(theme.scale) + between + of.button + between;
}

void draw_answered(const View& view) {
  const Theme& theme = *view.theme;
  const LessonQuestion& ask = question_of(view);
  draw_prose(theme, ask.question, values_of(view), ImGui::GetContentRegionAvail().x, theme.text_dim);
  switch (ask.kind) {
    case QuestionKind::choice:
    case QuestionKind::point:
      draw_chosen(view);
      break;
    case QuestionKind::number:
      draw_typed(view);
      break;
    case QuestionKind::order:
      draw_ordered(view);
      break;
    case QuestionKind::draw:
      draw_curve_answer(view);
      break;
  }
}

float verdict_height(const View& view, float width, VerdictRows rows) {
  const Theme& theme = *view.theme;
  const float between = PageMeasures(theme).between;
  float height = prose_height(theme, question_of(view).question, values_of(view), width) + between;
  for (const OptionRow& row : verdict_rows(view, rows)) height += lay_out_option(view, row, width).height + between;
  for (const auto& [text, color] : verdict_lines(view, width)) height += wrapped_height(theme.ui_bold, text, width) + between;
  return height;
}

void draw_verdict(const View& view, ImVec2 at, float width, VerdictRows rows) {
  const Theme& theme = *view.theme;
  const float between = PageMeasures(theme).between;
  ImDrawList* list = ImGui::GetWindowDrawList();
  float y = at.y + between + draw_prose_at(list, theme, question_of(view).question, values_of(view), at, width, theme.text_dim);
  for (const OptionRow& row : verdict_rows(view, rows)) y = draw_option_at(view, row, {at.x, y}, width).max.y + between;
  for (const auto& [text, color] : verdict_lines(view, width)) {
    draw_wrapped(list, theme.ui_bold, {at.x, y}, color, text, width);
    y += wrapped_height(theme.ui_bold, text, width) + between;
  }
}

}  // namespace tilescope
