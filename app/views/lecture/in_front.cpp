// What a lecturer puts in front of the picture: a question to the class, a pointer, a black screen.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <misc/cpp/imgui_stdlib.h>

#include "app/model/lessons/lecture.h"
#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/whole_percents.h"
#include "app/ui/key_hold.h"
#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/views/chrome.h"
#include "app/views/keys.h"
#include "app/views/lecture/question_fields.h"
#include "app/views/lesson/question.h"

namespace tilescope {

namespace {

/// Parts of a choice's width: its text, the raised hands, their share in percent; the bar takes the rest.
struct ChoiceWidths {
  float text = 0, field = 0, percent = 0, gap = 0, least_bar = 0;
  float without_bar() const { return text + field + percent + 3 * gap; }
};

/// Where counts go that are typed while no field has the keyboard: after the choice that was counted last.
struct Counting {
  int scene = -2;
  std::string question;
  int next = 0;         // a choice
  std::string waiting;  // digits that the field of `target` gets once it has the keyboard
  int target = 0;
};

Counting& counting() {
  return panel_state<Counting>("counting");
}

/// A class counts from the first choice on when its question comes.
void begin_counting(const View& view, const std::string& question) {
  Counting& now = counting();
  if (!ImGui::IsWindowAppearing() && now.scene == view.lecture->scene() && now.question == question) return;
  now = {view.lecture->scene(), question};
}

bool types_digit() {
  return std::ranges::any_of(ImGui::GetIO().InputQueueCharacters, [](ImWchar each) { return each >= '0' && each <= '9'; });
}

std::string choice_text(const ClassQuestion& question, std::size_t i, bool right) {
  return fmt::format("{}{}", question.choices[i], right ? "  ✓" : "");
}

ChoiceWidths choice_widths(const Theme& theme, ImFont* font, const ClassQuestion& question, std::size_t count) {
  ChoiceWidths widths;
  for (std::size_t i = 0; i < count; ++i)  // with the mark, so that nothing moves when it comes
    widths.text = std::max(widths.text, text_width(font, choice_text(question, i, question.answer > 0)));
  widths.field = std::round(64 * theme.scale);
  widths.percent = text_width(font, "100 %");
  widths.gap = std::round(8 * theme.scale);
  widths.least_bar = std::round(24 * theme.scale);
  // Options of a lesson may be sentences: those wrap.
  const float room = ImGui::GetContentRegionAvail().x - widths.field - widths.percent - widths.least_bar - 4 * widths.gap;
  widths.text = std::min(widths.text, std::max(room, widths.field));
  return widths;
}

/// A choice while it is drawn.
struct Choice {
  std::size_t index = 0;
  std::string text;
  bool right = false;  // and marked so
};

std::vector<Choice> choices_of(const View& view, const ClassQuestion& question) {
  std::vector<Choice> choices;
  for (std::size_t i = 0; i < std::min(question.choices.size(), most_choices); ++i) {
    const bool right = shows_class_answer(view) && question.answer == static_cast<int>(i) + 1;
    choices.push_back({i, choice_text(question, i, right), right});
  }
  return choices;
}

/// Draws how many raised a hand for a choice: a field, their share as a bar, and in percent. `width` is that of all three.
void draw_hands(const View& view, Commands& commands, const Choice& choice, ImFont* font, const ChoiceWidths& widths, float width) {
  const Theme& theme = *view.theme;
  const auto& counts = view.lecture->counts;
  const int count = counts[choice.index], all = std::accumulate(counts.begin(), counts.end(), 0);
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const auto go_to = [&](float x) {
    ImGui::SameLine();
    ImGui::SetCursorScreenPos({from.x + x, from.y});
  };
  int typed = count;
  ImGui::SetNextItemWidth(widths.field);
  const bool first = choice.index == 0, appearing = ImGui::IsWindowAppearing();
  if (first && appearing) {
    ImGui::SetKeyboardFocusHere();
    hold_keys_for(ImGui::GetID("##count"));
  }
  Counting& now = counting();
  const int index = static_cast<int>(choice.index);
  if (ImGui::GetActiveID() == ImGui::GetID("##count") && types_digit()) now.next = index + 1;
  if (now.waiting.empty()) now.target = now.next;
  const bool takes_digits = index == now.target && !view.workspace->blank;
  if (takes_digits) give_digits("##count", now.waiting, false);
  if (ImGui::InputInt("##count", &typed, 0, 0, ImGuiInputTextFlags_CharsDecimal)) commands.push(CountAnswer{index, typed});
  if (takes_digits) give_digits("##count", now.waiting, true);
  item_tooltip(theme, tr("Raised hands"));
  go_to(widths.field + widths.gap);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float bar = std::max(widths.least_bar, width - widths.field - widths.percent - 2 * widths.gap);
  const float height = ImGui::GetFrameHeight();
  const double share = all > 0 ? static_cast<double>(count) / all : 0;
  draw_bar(ImGui::GetWindowDrawList(), theme, {{at.x, at.y + height * 0.1F}, {at.x + bar, at.y + height * 0.9F}}, share,
           choice.right ? theme.good : theme.accent);
  ImGui::Dummy({bar, height});
  go_to(widths.field + 2 * widths.gap + bar);
  ImGui::AlignTextToFramePadding();
  text_item(font, theme.text, fmt::format("{} %", whole_percents(counts)[choice.index]));
}

/// Draws a choice in one line: its text and the hands for it.
void draw_choice(const View& view, Commands& commands, const Choice& choice, ImFont* font, const ChoiceWidths& widths,
                 float between) {
  const Theme& theme = *view.theme;
  ImGui::PushID(static_cast<int>(choice.index));
  const float left = ImGui::GetCursorScreenPos().x, width = ImGui::GetContentRegionAvail().x - between;
  ImGui::PushFont(font);  // of the field too, so that all stand on one line
  ImGui::AlignTextToFramePadding();
  wrapped_text(font, choice.right ? theme.good : theme.text, choice.text, widths.text + 1);
  ImGui::SameLine();
  ImGui::SetCursorScreenPos({left + widths.text + widths.gap, ImGui::GetCursorScreenPos().y});
  draw_hands(view, commands, choice, font, widths, width - widths.text - widths.gap);
  ImGui::PopFont();
  ImGui::PopID();
}

/// Returns how many choices stand side by side: as many as leave bars that a class can compare and fill their rows, where that
/// takes few rows, because the picture above needs the height. Otherwise as many as their texts allow.
std::size_t choice_columns(const View& view, const ChoiceWidths& widths, std::size_t count, float between) {
  const Theme& theme = *view.theme;
  const std::size_t few_rows = view.playback.race ? 1 : 4;  // two runs above each other need all the height
  constexpr float readable_bar = 160;
  const auto most_columns = [&](float bar) {
    const float each = widths.without_bar() + bar + between + 2 * ImGui::GetStyle().CellPadding.x;
    return static_cast<std::size_t>(std::max(1.0F, (ImGui::GetContentRegionAvail().x + between) / each));
  };
  std::size_t full = std::min(count, most_columns(std::round(readable_bar * theme.scale)));
  while (count % full != 0) --full;
  if (count / full <= few_rows) return full;
  const std::size_t rows = (count + most_columns(widths.least_bar) - 1) / most_columns(widths.least_bar);
  return (count + rows - 1) / rows;
}

/// Draws the choices in rows.
void draw_choices(const View& view, Commands& commands, const ClassQuestion& question) {
  const Theme& theme = *view.theme;
  const std::vector<Choice> choices = choices_of(view, question);
  ImFont* const font = theme.heading;
  const ChoiceWidths widths = choice_widths(theme, font, question, choices.size());
  const float between = 2 * theme.gap;
  const std::size_t columns = choice_columns(view, widths, choices.size(), between);
  if (!ImGui::BeginTable("choices", static_cast<int>(columns), ImGuiTableFlags_SizingStretchSame)) return;
  for (const Choice& choice : choices) {
    ImGui::TableNextColumn();
    draw_choice(view, commands, choice, font, widths, columns > 1 ? between : 0);
  }
  ImGui::EndTable();
}

/// A question while it is written.
struct Writing {
  bool on = false, to_text = false, to_choices = false;  // to_…: that field takes the keyboard
  int frame = 0;                                         // the last one that drew it
  QuestionFields fields;
};

Writing& writing() {
  return panel_state<Writing>("class question");
}

void begin_writing(const View& view) {
  Writing& draft = writing();
  draft.on = draft.to_text = true;
  if (const ClassQuestion* const written = view.lecture->written()) draft.fields.fill(*written);
}

/// Draws the fields of a question of the moment, and asks it. `wide`: the buttons have room beside the question.
void draw_writing(const View& view, Commands& commands, bool wide) {
  const Theme& theme = *view.theme;
  Writing& draft = writing();
  const float left = ImGui::GetContentRegionAvail().x;
  const auto width_of = [&](const char* text) { return text_width(theme.ui_bold, text) + 28 * theme.scale; };
  const float buttons = width_of(tr("Ask")) + width_of(tr("Close")) + 2 * theme.gap;
  ImGui::PushFont(theme.heading);
  const auto focus_next = [](const char* field) {
    ImGui::SetKeyboardFocusHere();
    hold_keys_for(ImGui::GetID(field));
  };
  if (std::exchange(draft.to_text, false)) focus_next("##text");
  ImGui::SetNextItemWidth(wide ? left - buttons : left);
  if (ImGui::InputTextWithHint("##text", tr("Question to the class"), &draft.fields.text, ImGuiInputTextFlags_EnterReturnsTrue))
    draft.to_choices = true;
  if (wide) ImGui::SameLine();
  bool asked = pill(theme, tr("Ask"), true, tr("Ask the class (Ctrl+Enter)"));
  ImGui::SameLine();
  if (pill(theme, tr("Close"), false, tr("Back to the picture (Q)"))) commands.push(AskClass{false});
  if (std::exchange(draft.to_choices, false)) focus_next("##choices");
  constexpr float lines = 4;
  choices_field(theme, draft.fields, left, std::round(lines * theme.heading->FontSize + 2 * ImGui::GetStyle().FramePadding.y));
  ImGui::PopFont();
  if (draft.fields.count() > 0) right_choice_buttons(theme, draft.fields);
  asked = asked || (ImGui::GetIO().KeyCtrl && ImGui::IsKeyPressed(ImGuiKey_Enter, false));
  draft.frame = ImGui::GetFrameCount();
  if (!asked) return;
  draft.on = false;
  const auto question = draft.fields.question();
  commands.push(WriteQuestion{question ? std::make_shared<const ClassQuestion>(*question) : nullptr});
}

/// The buttons at the right of the question. In a lesson the answer is that of its page.
struct QuestionButtons {
  const char* show = nullptr;   // null: nothing to show
  const char* write = nullptr;  // null: there is a question already
  float width = 0;              // of all
};

QuestionButtons question_buttons(const View& view, const ClassQuestion& question) {
  const Theme& theme = *view.theme;
  QuestionButtons buttons;
  if (page_asks(view) || question.answer > 0)
    buttons.show = shows_class_answer(view) ? tr("Hide the answer") : tr("Show the answer");
  if (can_write_question(view)) buttons.write = view.lecture->written() != nullptr ? tr("Edit") : tr("Write a question");
  const auto width_of = [&](const char* text) { return text_width(theme.ui_bold, text) + 28 * theme.scale; };
  buttons.width = width_of(tr("Close"));
  for (const char* each : {buttons.show, buttons.write})
    if (each != nullptr) buttons.width += width_of(each) + theme.gap;
  return buttons;
}

void draw_question_buttons(const View& view, Commands& commands, const QuestionButtons& buttons) {
  const Theme& theme = *view.theme;
  const bool of_page = page_asks(view), answered = shows_class_answer(view);
  if (buttons.show != nullptr) {
    if (pill(theme, buttons.show, answered, answered ? tr("Takes the mark off the right choice") : tr("Marks the right choice"))) {
      LessonAnswer none;
      none.given = false;
      if (of_page && answered)
        commands.push(RetryLesson{});
      else if (of_page)
        commands.push(AnswerLesson{std::make_shared<const LessonAnswer>(none)});
      else
        commands.push(AskClass{true, !answered});
    }
    ImGui::SameLine();
  }
  if (buttons.write != nullptr) {
    if (pill(theme, buttons.write, false, tr("Type the question and its choices"))) begin_writing(view);
    ImGui::SameLine();
  }
  if (pill(theme, tr("Close"), false, tr("Back to the picture (Q)"))) commands.push(AskClass{false});
}

std::string text_of(const ClassQuestion& question) {
  return question.text.empty() ? tr("Question to the class") : question.text;
}

/// How a question stands in its column.
struct ColumnLook {
  ImFont* font = nullptr;
  float space = 0;     // below each item
  float inside = 0;    // above and below the text of a field
  bool close = false;  // its choices, so that the last of them and the buttons are in sight
};

/// The largest text that fits the column, for who sits at the back: choices stand closer before they take smaller text.
ColumnLook column_look(const Theme& theme, const ClassQuestion& question, const std::string& text, float width, float most_height) {
  const ImGuiStyle& style = ImGui::GetStyle();
  const float usual = style.ItemSpacing.y, close = std::round(2 * theme.scale), inside = std::round(theme.scale);
  const auto fits = [&](const ColumnLook& look) {
    const float line = look.font->FontSize, of_choice = (look.close ? 2 : 4) * look.space + 2 * look.inside;
    float height = wrapped_height(look.font, text, width) + look.space + 2 * (theme.row_height + look.space);
    for (std::size_t i = 0; i < std::min(question.choices.size(), most_choices); ++i)  // with the mark: nothing moves when it comes
      height += wrapped_height(look.font, choice_text(question, i, question.answer > 0), width) + line + of_choice;
    return height <= most_height;
  };
  std::vector<ColumnLook> looks;
  constexpr float closer = 0.5F;
  for (ImFont* const font : {theme.display, theme.lecture_bold, theme.reading_bold, theme.heading})
    for (const float part : {1.0F, closer})
      looks.push_back({font, std::round(part * usual), std::round(part * style.FramePadding.y)});
  for (ImFont* const font : {theme.heading, theme.ui, theme.ui_small}) looks.push_back({font, close, inside, true});
  const auto found = std::ranges::find_if(looks, fits);
  return found != looks.end() ? *found : looks.back();
}

/// Draws the question and its choices below each other.
void draw_asked_beside(const View& view, Commands& commands, float most_height) {
  const Theme& theme = *view.theme;
  const ClassQuestion question = class_question(view);
  const std::string text = text_of(question);
  begin_counting(view, text);
  const std::vector<Choice> choices = choices_of(view, question);
  const float width = ImGui::GetContentRegionAvail().x;
  const ColumnLook look = column_look(theme, question, text, width, most_height);
  const ChoiceWidths widths = choice_widths(theme, look.font, question, choices.size());
  // Short choices stand beside their hands, where the bar still tells them apart.
  const float readable_bar = std::round(80 * theme.scale);
  const bool one_line = widths.without_bar() + readable_bar <= width;
  ImGui::PushFont(look.font);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {ImGui::GetStyle().ItemSpacing.x, look.space});
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {ImGui::GetStyle().FramePadding.x, look.inside});
  wrapped_text(look.font, theme.text, text);
  for (const Choice& choice : choices) {
    if (!look.close) ImGui::Dummy({0, look.space});
    if (one_line) {
      draw_choice(view, commands, choice, look.font, widths, 0);
      continue;
    }
    ImGui::PushID(static_cast<int>(choice.index));
    wrapped_text(look.font, choice.right ? theme.good : theme.text, choice.text);
    draw_hands(view, commands, choice, look.font, widths, width);
    ImGui::PopID();
  }
  ImGui::PopStyleVar(2);
  ImGui::PopFont();
  draw_question_buttons(view, commands, question_buttons(view, question));
}

/// Draws the question, its buttons and its choices.
void draw_asked(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const ClassQuestion question = class_question(view);
  const std::string text = text_of(question);
  begin_counting(view, text);
  const QuestionButtons buttons = question_buttons(view, question);
  const float left = ImGui::GetContentRegionAvail().x - buttons.width;
  // A question that needs two lines takes the smaller font, and so does one in a low window: the picture above needs the height.
  constexpr float least_height_of_display = 640;
  const bool has_height = ImGui::GetMainViewport()->Size.y >= least_height_of_display * theme.scale;
  const bool large = text_width(theme.display, text) + theme.gap <= left && has_height;
  wrapped_text(large ? theme.display : theme.heading, theme.text, text, left - theme.gap);
  ImGui::SameLine(left);
  draw_question_buttons(view, commands, buttons);
  draw_choices(view, commands, question);
}

/// The height that the question took in the last frame in which it was drawn.
struct QuestionRoom {
  float height = 0;
};

}  // namespace

float question_room(const View& view) {
  return view.lecture->asking && !view.workspace->present ? panel_state<QuestionRoom>("question").height : 0;
}

bool writes_question() {
  return writing().on && ImGui::GetFrameCount() - writing().frame <= 1;
}

void draw_question(const View& view, Commands& commands, const Rect& beside) {
  const Theme& theme = *view.theme;
  const ImVec2 screen = ImGui::GetMainViewport()->Size;
  const bool below = beside.width() <= 0;
  constexpr float most_of_screen = 0.45F;
  const Rect room =
      below ? Rect{{theme.gap, (1 - most_of_screen) * screen.y}, {screen.x - theme.gap, screen.y - theme.gap}} : beside;
  ImGui::SetNextWindowPos({room.min.x, room.max.y}, ImGuiCond_Always, {0, 1});
  ImGui::SetNextWindowSizeConstraints({room.width(), below ? 0 : room.height()}, {room.width(), std::round(room.height())});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, theme.inset);
  constexpr ImGuiWindowFlags flags = ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoMove |
                                     ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_AlwaysAutoResize |
                                     ImGuiWindowFlags_NoCollapse;
  if (ImGui::Begin("##question", nullptr, flags)) {
    if (writing().on && !can_write_question(view)) writing().on = false;
    const float most = room.height() - 2 * theme.padding;
    if (writing().on)
      draw_writing(view, commands, below);
    else
      below ? draw_asked(view, commands) : draw_asked_beside(view, commands, most);
  }
  panel_state<QuestionRoom>("question").height = ImGui::GetWindowHeight() + theme.gap;
  ImGui::End();
  ImGui::PopStyleColor();
}

bool holds_pointer(const View& view) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool types = io.WantTextInput && !answer_leaves_letters();
  const bool held =
      ImGui::IsMouseDown(ImGuiMouseButton_Middle) || (view.workspace->present && !types && ImGui::IsKeyDown(ImGuiKey_L));
  return held && ImGui::IsMousePosValid();
}

void draw_pointer(const View& view) {
  if (!holds_pointer(view)) return;
  const ImGuiIO& io = ImGui::GetIO();
  constexpr float part_of_height = 0.025F;  // a class sees it from the back of the room
  const float radius = std::max(4.0F, std::round(0.5F * part_of_height * io.DisplaySize.y));
  ImDrawList* list = ImGui::GetForegroundDrawList();
  list->AddCircleFilled(io.MousePos, radius * 2.2F, IM_COL32(255, 30, 30, 60));
  list->AddCircleFilled(io.MousePos, radius, IM_COL32(255, 30, 30, 235));
  list->AddCircle(io.MousePos, radius, IM_COL32(255, 255, 255, 200), 0, std::max(1.0F, view.theme->scale));
}

void draw_blank(const View& view) {
  const ImVec2 screen = ImGui::GetMainViewport()->Size;
  ImGui::SetNextWindowPos({0, 0});
  ImGui::SetNextWindowSize(screen);
  ImGui::SetNextWindowFocus();  // a field under it would take what is typed
  ImGui::Begin("##blank", nullptr, ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings);
  ImGui::End();
  ImDrawList* list = ImGui::GetForegroundDrawList();
  list->AddRectFilled({0, 0}, screen, IM_COL32(0, 0, 0, 255));
  // A class sees black only; one who pressed B at the desk sees the way back.
  if (view.workspace->present || view.lecture->presenter) return;
  const float line = std::round(28 * view.theme->scale);
  draw_text(list, view.theme->ui, {{0, screen.y - 2 * line}, {screen.x, screen.y - line}}, IM_COL32(110, 110, 110, 255),
            tr("Any key or click brings the picture back."), Align::center);
}

}  // namespace tilescope
