// Rows of conditions and presets, completion, sliders.
#include "app/views/mask/mask_editor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_internal.h>
#include <imgui_stdlib.h>

#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/ui/tab_stops.h"
#include "app/ui/typed_limits.h"
#include "app/views/chrome.h"
#include "app/views/study_panel.h"
#include "app/views/work_words.h"
#include "sim/analysis/format.h"
#include "sim/masks/expression.h"
#include "sim/masks/expression_tokens.h"
#include "sim/masks/presets.h"

namespace tilescope {

namespace {

struct TextEdit {
  std::string text, shown;  // as typed; what it was filled from
  bool active = false;
  bool typed = false;  // what is in it was not asked for yet
  double since = 0;    // when it was typed
};

struct EditorState {
  std::map<std::string, TextEdit> edits;  // by control: "mask.0", "preset.1", "score"
  std::string table_name, table_path;
  std::string added;  // the control that was added a moment ago: it takes the keyboard, with its example selected
};

/// One text of the choice on screen.
struct Row {
  Setting where = Setting::mask;
  std::size_t index = 0;
  std::string preset, text;  // the preset's request, empty for a text; the expression
  bool score = false;
};

const Preset* preset_of(std::string_view request) {
  const std::string_view name = request.substr(0, request.find(':'));
  for (const Preset& row : presets())
    if (row.name == name) return &row;
  return nullptr;
}

std::vector<Row> rows_of(const MaskChoice& choice) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < choice.presets.size(); ++i) {
    const auto text = preset_text(choice.presets[i]);
    if (!text) continue;
    rows.push_back({Setting::preset, i, choice.presets[i], text->mask.empty() ? text->score : text->mask, text->mask.empty()});
  }
  for (std::size_t i = 0; i < choice.masks.size(); ++i) rows.push_back({Setting::mask, i, {}, choice.masks[i], false});
  if (!choice.score.empty()) rows.push_back({Setting::score, 0, {}, choice.score, true});
  return rows;
}

MaskChoice without(MaskChoice choice, const Row& row) {
  if (row.where == Setting::score)
    choice.score.clear();
  else {
    auto& list = row.where == Setting::preset ? choice.presets : choice.masks;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(row.index));
  }
  return choice;
}

/// The choice with another text in a row's place; a preset that was edited is a preset no more.
MaskChoice with_text(const MaskChoice& choice, const Row& row, const std::string& text) {
  MaskChoice changed = choice;
  if (row.where == Setting::mask) {
    changed.masks[row.index] = text;
  } else if (row.where == Setting::score) {
    changed.score = text;
  } else {
    changed = without(choice, row);
    if (row.score)
      changed.score = text;
    else
      changed.masks.push_back(text);
  }
  return changed;
}

// --- text -------------------------------------------------------------------------------------------------------------------

ImU32 token_color(const Theme& theme, const Token& token, const TableList& tables, const std::vector<std::string>& own) {
  if (token.kind == TokenKind::integer || token.kind == TokenKind::real) return theme.text_color(Meaning::value);
  if (token.kind == TokenKind::symbol) return theme.text_dim;
  if (is_language_word(token.text)) return theme.accent;
  for (const auto& table : tables)
    if (table->name == token.text) return theme.text_color(Meaning::table);
  for (const ExprFunction& row : expression_functions())
    if (row.name == token.text) return theme.text_color(Meaning::key);
  for (const ExprNameInfo& row : expression_names())
    if (row.name == token.text) return theme.text_color(Meaning::query);
  return std::find(own.begin(), own.end(), token.text) != own.end() ? theme.text : theme.bad;
}

/// Names that the text defines: after let, in brackets of a function, before `in`.
std::vector<std::string> own_names(std::string_view text) {
  std::vector<std::string> found;
  const std::vector<Token> tokens = readable_tokens(text);
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].text == "let") {
      for (std::size_t j = i + 1; j < tokens.size() && tokens[j].text != "="; ++j)
        if (tokens[j].kind == TokenKind::name) found.emplace_back(tokens[j].text);
    } else if (tokens[i + 1].text == "in" && tokens[i].kind == TokenKind::name) {
      found.emplace_back(tokens[i].text);
    }
  }
  return found;
}

/// Where a byte of a text lies on the screen, for text without wrapping.
ImVec2 position_of(const ImFont* font, std::string_view text, std::size_t at, ImVec2 origin) {
  const std::string_view before = text.substr(0, at);
  const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const auto line = static_cast<float>(std::count(before.begin(), before.end(), '\n'));
  return {origin.x + text_width(font, before.substr(line_start)), origin.y + line * font->FontSize};
}

/// The list that a field of several lines draws its text into: that of the child window which it opens.
ImDrawList* list_of_field(ImGuiID field) {
  const ImGuiWindow* const here = ImGui::GetCurrentWindow();
  for (ImGuiWindow* window : ImGui::GetCurrentContext()->Windows)
    if (window->ParentWindow == here && window->ChildId == field) return window->DrawList;
  return ImGui::GetWindowDrawList();
}

/// Draws the tokens over the field's own text, and underlines the column of an error.
void draw_tokens(const Theme& theme, const Rect& field, std::string_view text, const TableList& tables, std::size_t fault_column,
                 float scrolled) {
  ImDrawList* list = list_of_field(ImGui::GetItemID());
  const ImVec2 padding = ImGui::GetStyle().FramePadding;
  const ImVec2 origin = {field.min.x + padding.x - scrolled, field.min.y + padding.y};
  const ImFont* font = theme.mono_small;
  const std::vector<std::string> own = own_names(text);
  list->PushClipRect(field.min, field.max, true);
  for (const Token& token : readable_tokens(text)) {
    const ImVec2 at = position_of(font, text, token.column - 1, origin);
    draw_text_at(list, theme.mono_small, at, token_color(theme, token, tables, own), token.text);
    if (fault_column == token.column)
      list->AddRectFilled({at.x, at.y + font->FontSize - theme.scale},
                          {at.x + std::max(4 * theme.scale, text_width(font, token.text)), at.y + font->FontSize + theme.scale},
                          theme.bad);
  }
  if (fault_column > text.size()) {
    const ImVec2 at = position_of(font, text, text.size(), origin);
    list->AddRectFilled({at.x, at.y + font->FontSize - theme.scale}, {at.x + 6 * theme.scale, at.y + font->FontSize + theme.scale},
                        theme.bad);
  }
  list->PopClipRect();
}

std::size_t word_begin(std::string_view text, std::size_t at) {
  const auto part = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  while (at > 0 && part(text[at - 1])) --at;
  return at;
}

struct Completing {
  const TableList* tables = nullptr;
  bool score = false;
  std::string begun;         // the word before the cursor
  bool selects_all = false;  // so that typing replaces the text
};

/// Tab puts in what all words that begin like this one share.
int complete(ImGuiInputTextCallbackData* data) {
  auto& completing = *static_cast<Completing*>(data->UserData);
  const std::string_view text(data->Buf, static_cast<std::size_t>(data->BufTextLen));
  const auto cursor = static_cast<std::size_t>(data->CursorPos);
  const std::size_t begin = word_begin(text, cursor);
  completing.begun = std::string(text.substr(begin, cursor - begin));
  if (completing.selects_all) data->SelectAll();
  if (data->EventFlag != ImGuiInputTextFlags_CallbackCompletion || completing.begun.empty()) return 0;
  const std::vector<MaskWord> found = completions(completing.begun, text, *completing.tables, completing.score);
  if (found.empty()) return 0;
  std::string shared = found.front().word;
  for (const MaskWord& each : found) {
    std::size_t same = 0;
    while (same < shared.size() && same < each.word.size() && shared[same] == each.word[same]) ++same;
    shared.resize(same);
  }
  data->DeleteChars(static_cast<int>(begin), static_cast<int>(cursor - begin));
  data->InsertChars(static_cast<int>(begin), shared.c_str());
  completing.begun = shared;
  return 0;
}

void draw_words(const Theme& theme, const std::vector<MaskWord>& words) {
  constexpr std::size_t most = 6;
  for (std::size_t i = 0; i < std::min(most, words.size()); ++i) {
    text_item(theme.mono_small, theme.text, words[i].word);
    ImGui::SameLine();
    text_item(theme.ui_small, theme.text_faint, words[i].meaning);
  }
}

/// The field of a row's text. Returns true when it was changed.
bool draw_text_field(const View& view, const Row& row, const std::string& control, EditorState& state, std::size_t fault_column) {
  TextEdit& edit = state.edits[control];
  const Theme& theme = *view.theme;
  const TableList& tables = view.requested->request.masking.tables;
  const float width = ImGui::GetContentRegionAvail().x;
  const float letter = text_width(theme.mono_small, "m");
  const auto columns = static_cast<std::size_t>(std::max(12.0F, (width - 2 * ImGui::GetStyle().FramePadding.x) / letter - 1));
  if (!edit.active && edit.shown != row.text) {
    edit.shown = row.text;
    edit.text = wrapped_expression(row.text, columns);
  }
  const auto lines = static_cast<float>(1 + std::count(edit.text.begin(), edit.text.end(), '\n'));
  ImGui::PushFont(theme.mono_small);
  Completing completing{&tables, row.score, {}};
  // The field's own letters stay below the coloured ones, faint: its cursor has their colour.
  ImGui::PushStyleColor(ImGuiCol_Text, theme.text);
  const std::string id = fmt::format("##{}", control);
  const bool added = state.added == control;
  if (added) activate_next_frame(id.c_str());
  completing.selects_all = added;
  const bool changed = ImGui::InputTextMultiline(
      id.c_str(), &edit.text, {width, lines * theme.mono_small->FontSize + 2 * ImGui::GetStyle().FramePadding.y},
      ImGuiInputTextFlags_CallbackCompletion | ImGuiInputTextFlags_CallbackAlways | ImGuiInputTextFlags_NoHorizontalScroll,
      complete, &completing);
  field_stop(theme, id.c_str());
  ImGui::PopStyleColor();
  ImGui::PopFont();
  const Rect field = item_rect();
  edit.active = ImGui::IsItemActive();
  if (added && edit.active) state.added.clear();
  float longest = 0;
  for (std::size_t at = 0; at <= edit.text.size();) {
    const std::size_t end = std::min(edit.text.find('\n', at), edit.text.size());
    longest = std::max(longest, text_width(theme.mono_small, std::string_view(edit.text).substr(at, end - at)));
    at = end + 1;
  }
  const bool scrolls = edit.active && longest > width - 2 * ImGui::GetStyle().FramePadding.x;
  if (!scrolls) draw_tokens(theme, field, edit.text, tables, fault_column, 0);
  if (edit.active && !completing.begun.empty()) draw_words(theme, completions(completing.begun, edit.text, tables, row.score));
  return changed;
}

// --- sliders ----------------------------------------------------------------------------------------------------------------

/// A number with a name. Returns its new text while the slider moves.
std::optional<double> draw_slider(const Theme& theme, const NamedNumber& number, std::int64_t length, float name_width) {
  ImGui::AlignTextToFramePadding();
  text_item(theme.mono_small, theme.text_dim, number.name);
  ImGui::SameLine(name_width);
  ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x);
  ImGui::PushFont(theme.mono_small);
  double value = number.value;
  bool moved = false;
  const std::string id = fmt::format("##{}", number.name);
  if (number.whole) {
    auto whole = static_cast<std::int64_t>(value);
    const std::int64_t low = whole < 0 ? -length : 0, high = std::max<std::int64_t>(length, 16);
    moved = ImGui::SliderScalar(id.c_str(), ImGuiDataType_S64, &whole, &low, &high, "%lld", ImGuiSliderFlags_Logarithmic);
    value = std::clamp(static_cast<double>(whole), -2147483647.0, 2147483647.0);
  } else {
    const double high = 1000, low = value < 0 ? -high : 0;
    moved = ImGui::SliderScalar(id.c_str(), ImGuiDataType_Double, &value, &low, &high, "%.4g", ImGuiSliderFlags_Logarithmic);
  }
  field_stop(theme, id.c_str());
  ImGui::PopFont();
  return moved && value != number.value ? std::optional(value) : std::nullopt;
}

void draw_sliders(const View& view, Commands& commands, const Row& row) {
  const Theme& theme = *view.theme;
  const std::vector<NamedNumber> numbers = named_numbers(row.text);
  const Preset* preset = row.preset.empty() ? nullptr : preset_of(row.preset);
  float name_width = 60 * theme.scale;
  for (const NamedNumber& number : numbers)
    name_width = std::max(name_width, text_width(theme.mono_small, number.name) + theme.gap);
  const AttentionProblem& p = view.requested->request.problem;
  for (const NamedNumber& number : numbers) {
    if (preset != nullptr && fmt::format(",{}", preset->parameters).find(fmt::format(",{}=", number.name)) == std::string::npos)
      continue;
    const auto value = draw_slider(theme, number, std::max(p.seq_q, p.seq_kv), name_width);
    if (!value) continue;
    MaskChoice choice = view.requested->request.masking;
    const std::string text = with_number(row.text, number, *value);
    if (preset == nullptr) {
      choice = with_text(choice, row, text);
    } else {
      for (const NamedNumber& now : named_numbers(text))
        if (now.name == number.name)
          choice.presets[row.index] = preset_with(row.preset, number.name, text.substr(now.first, now.length));
    }
    commands.push(SetMasking{std::move(choice)});
  }
}

// --- rows -------------------------------------------------------------------------------------------------------------------

bool is_never_true(const View& view, const Row& row) {
  const MaskPicture* const picture = view.mask.picture.get();
  return picture != nullptr && !row.score &&
         std::ranges::find(picture->never, row.preset.empty() ? row.text : row.preset) != picture->never.end();
}

/// Asks for what was typed once the field is left or the typing pauses. Esc only undoes the typing since then.
void ask_for_text(Commands& commands, const MaskChoice& choice, const Row& row, TextEdit& edit, bool changed, bool was_active) {
  const double now = ImGui::GetTime();
  if (was_active && !edit.active && ImGui::IsKeyPressed(ImGuiKey_Escape, false)) {
    edit = {};                          // is filled anew
    commands.push(SetMasking{choice});  // takes a refusal of what was typed back
    return;
  }
  if (changed) {
    edit.typed = true;
    edit.since = now;
  }
  if (!edit.typed) return;
  // A preset that is changed becomes a condition, in a field of its own: not while one types.
  if (edit.active && (!row.preset.empty() || now - edit.since < typing_pause)) return wait_for_pause(edit.since);
  edit.typed = false;
  commands.push(SetMasking{with_text(choice, row, edit.text)});
  if (!row.preset.empty()) edit = {};
}

void draw_row(const View& view, Commands& commands, const Row& row, EditorState& state) {
  const Theme& theme = *view.theme;
  const MaskChoice& choice = view.requested->request.masking;
  const std::string control = mask_control(row.where, row.index);
  ImGui::PushID(control.c_str());
  const Preset* preset = row.preset.empty() ? nullptr : preset_of(row.preset);
  const std::string title = preset != nullptr ? std::string(preset->name) : row.score ? tr("Score change") : tr("Condition");
  ImGui::AlignTextToFramePadding();
  text_item(theme.ui_bold, theme.text, title);
  if (preset != nullptr) item_tooltip(theme, title, translated(preset->meaning));
  ImGui::SameLine(ImGui::GetContentRegionAvail().x - 26 * theme.scale);
  if (icon_button(theme, "remove", Icon::close, tr("Remove"))) commands.push(SetMasking{without(choice, row)});
  const auto& message = view.workspace->message;
  const bool refused = message && message->control == control;
  const std::size_t column = refused ? column_of(message->error.sentence.text()) : 0;
  TextEdit& edit = state.edits[control];
  const bool was_active = edit.active, changed = draw_text_field(view, row, control, state, column);
  ask_for_text(commands, choice, row, edit, changed, was_active);
  if (refused) wrapped_text(theme.ui_small, theme.bad, with_line_of(words_of(*message), edit.text, column));
  if (is_never_true(view, row)) wrapped_text(theme.ui_small, theme.bad, tr("Never true for this problem: it hides every key."));
  draw_sliders(view, commands, row);
  ImGui::Dummy({0, 2 * theme.scale});
  ImGui::PopID();
}

/// The list of presets of one kind; the first entry is a text of one's own.
void draw_add(const View& view, Commands& commands, EditorState& state, bool score, float width) {
  const Theme& theme = *view.theme;
  MaskChoice choice = view.requested->request.masking;
  ImGui::SetNextItemWidth(width);
  ImGui::PushID(score ? "score" : "mask");
  ImGui::SetNextWindowSizeConstraints({0, 0}, {1e4F, 420 * theme.scale});
  if (ImGui::BeginCombo("##add", score ? tr("Add a score change") : tr("Add a mask"))) {
    if (ImGui::Selectable(score ? tr("Your own score change…") : tr("Your own condition…"))) {
      if (score)
        choice.score = "score + 0.0 * (q - kv)";
      else
        choice.masks.emplace_back("let window = 8; q >= kv && q - kv < window");
      state.added = score ? mask_control(Setting::score, 0) : mask_control(Setting::mask, choice.masks.size() - 1);
      commands.push(SetMasking{choice});
    }
    for (const Preset& preset : presets()) {
      if (preset.mask.empty() != score) continue;
      const std::string name(preset.name);
      if (ImGui::Selectable(name.c_str())) {
        choice.presets.push_back(suited_preset(preset, view.requested->request.problem));
        if (score) choice.score.clear();
        if (score)
          std::erase_if(choice.presets, [&](const std::string& other) {
            const Preset* row = preset_of(other);
            return row != nullptr && row->mask.empty() && other.substr(0, other.find(':')) != name;
          });
        commands.push(SetMasking{choice});
      }
      item_tooltip(theme, preset.name, translated(preset.meaning));
    }
    ImGui::EndCombo();
  } else {
    combo_stop(theme);
  }
  ImGui::PopID();
}

void draw_tables(const View& view, Commands& commands, EditorState& state) {
  const Theme& theme = *view.theme;
  const TableList& tables = view.requested->request.masking.tables;
  text_item(theme.ui_small, theme.text_dim, tr("Tables that expressions read"));
  for (const auto& table : tables) {
    ImGui::PushID(table->name.c_str());
    std::string shape;
    for (const std::int64_t length : table->shape) shape += fmt::format("{}{}", shape.empty() ? "" : "×", length);
    text_item(theme.mono_small, theme.text, fmt::format("{}  {}", table->name, shape));
    item_tooltip(theme, table->name, table->origin);
    ImGui::SameLine(ImGui::GetContentRegionAvail().x - 26 * theme.scale);
    if (icon_button(theme, "remove", Icon::close, tr("Remove"))) commands.push(SetMaskTable{table->name, {}});
    ImGui::PopID();
  }
  ImGui::PushFont(theme.mono_small);
  ImGui::SetNextItemWidth(70 * theme.scale);
  ImGui::InputTextWithHint("##table", tr("name"), &state.table_name);
  field_stop(theme, "##table");
  ImGui::SameLine();
  ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x);
  const bool entered = ImGui::InputTextWithHint("##path", tr("path of a .csv or .npy, then Enter"), &state.table_path,
                                                ImGuiInputTextFlags_EnterReturnsTrue);
  field_stop(theme, "##path");
  ImGui::PopFont();
  if (entered && !state.table_name.empty() && !state.table_path.empty())
    commands.push(SetMaskTable{state.table_name, state.table_path});
  study_message(view, "table");
}

}  // namespace

std::vector<MaskWord> completions(std::string_view begun, std::string_view text, const TableList& tables, bool score) {
  std::vector<MaskWord> found;
  const auto add = [&](std::string_view word, std::string_view meaning) {
    if (word.starts_with(begun) && word != begun &&
        std::none_of(found.begin(), found.end(), [&](const MaskWord& each) { return each.word == word; }))
      found.push_back({std::string(word), std::string(meaning)});
  };
  for (const std::string& name : own_names(text)) add(name, tr("defined in this text"));
  for (const auto& table : tables) add(table->name, tr("a table"));
  for (const ExprNameInfo& row : expression_names())
    if (score || row.name != "score") add(row.name, translated(row.meaning));
  for (const ExprFunction& row : expression_functions()) add(row.name, translated(row.meaning));
  for (const std::string_view word : {"let", "and", "or", "not", "true", "false", "sum", "any", "all"}) add(word, "");
  return found;
}

std::string with_line_of(const std::string& words, std::string_view text, std::size_t column) {
  if (column == 0) return words;
  const std::string_view before = text.substr(0, std::min(column - 1, text.size()));
  const std::size_t newline = before.rfind('\n');
  if (newline == std::string_view::npos) return words;
  const std::string counted = say(tr("column {}: {}"), column, "");
  if (!words.starts_with(counted)) return words;
  const auto lines = std::count(before.begin(), before.end(), '\n');
  return say(tr("line {}, column {}: {}"), lines + 1, column - newline - 1, words.substr(counted.size()));
}

std::string preset_with(std::string_view preset, std::string_view parameter, const std::string& value) {
  const std::size_t colon = preset.find(':');
  std::string out(preset.substr(0, colon));
  std::string_view rest = colon == std::string_view::npos ? std::string_view() : preset.substr(colon + 1);
  std::string values;
  bool found = false;
  while (!rest.empty()) {
    const std::string_view piece = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), piece.size() + 1));
    const bool own = piece.substr(0, piece.find('=')) == parameter;
    values += fmt::format("{}{}", values.empty() ? "" : ",", own ? fmt::format("{}={}", parameter, value) : std::string(piece));
    found = found || own;
  }
  if (!found) values += fmt::format("{}{}={}", values.empty() ? "" : ",", parameter, value);
  return fmt::format("{}:{}", out, values);
}

std::string suited_preset(const Preset& preset, const AttentionProblem& problem) {
  std::string request(preset.name);
  const std::int64_t length = std::min(problem.seq_q, problem.seq_kv);
  // A picture of width x height tokens fills the sequence.
  std::int64_t side = 1;
  while (4 * side * side <= length) side *= 2;
  const bool picture =
      preset.parameters.find("height=") != std::string_view::npos && preset.parameters.find("frames=") == std::string_view::npos;
  const auto text = preset_text(preset.name);
  if (!text) return request;
  for (const NamedNumber& number : named_numbers(text->mask.empty() ? text->score : text->mask)) {
    if (fmt::format(",{}", preset.parameters).find(fmt::format(",{}=", number.name)) == std::string::npos || !number.whole)
      continue;
    const auto usual = static_cast<std::int64_t>(number.value);
    std::int64_t value = usual;
    if (number.name == "clean")
      value = problem.seq_kv / 2;
    else if (picture && (number.name == "width" || number.name == "height"))
      value = side;
    else if (picture && number.name == "tile")
      value = std::min(usual, std::max<std::int64_t>(1, side / 4));
    else if (picture && number.name == "kernel")
      value = usual > 8 ? 3 * std::min<std::int64_t>(8, std::max<std::int64_t>(1, side / 4))
                        : std::min(usual, std::max<std::int64_t>(1, side / 2 - 1));
    else if (!preset.mask.empty() && usual > length / 4)
      value = std::max<std::int64_t>(1, length / 4);
    if (value != usual) request = preset_with(request, number.name, fmt::format("{}", value));
  }
  return request;
}

std::string wrapped_expression(std::string_view text, std::size_t most) {
  std::string out;
  std::size_t line = 0, last_break = std::string::npos;  // of the line, where it may be cut
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    out += c;
    line = c == '\n' ? 0 : line + 1;
    if (c == '\n') last_break = std::string::npos;
    if (c == ' ') last_break = out.size() - 1;
    const bool after_definition = c == ';' && i + 1 < text.size() && text[i + 1] == ' ';
    if (after_definition) {
      out += '\n';
      ++i;
      line = 0;
      last_break = std::string::npos;
    } else if (line > most && last_break != std::string::npos) {
      out[last_break] = '\n';
      line = out.size() - last_break - 1;
      last_break = std::string::npos;
    }
  }
  return out;
}

void draw_mask_editor(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  auto& state = panel_state<EditorState>("mask editor");
  const float half = (ImGui::GetContentRegionAvail().x - theme.gap) / 2;
  draw_add(view, commands, state, false, half);
  ImGui::SameLine(0, theme.gap);
  draw_add(view, commands, state, true, half);
  // Refusals of the whole request: an index outside a table, a program without score changes.
  for (const char* control : {"mask", "score"}) study_message(view, control);
  const auto& message = view.workspace->message;
  const std::vector<Row> rows = rows_of(view.requested->request.masking);
  const bool of_row = message && std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
                        return mask_control(row.where, row.index) == message->control;
                      });
  if (message && !of_row && (message->control.starts_with("preset.") || message->control.starts_with("mask.")))
    wrapped_text(theme.ui_small, theme.bad, words_of(*message));
  for (const Row& row : rows) draw_row(view, commands, row, state);
  draw_tables(view, commands, state);
}

}  // namespace tilescope
