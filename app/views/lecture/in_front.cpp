// What a lecturer puts in front of the picture: a question to the class, a pointer, a black screen.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <misc/cpp/imgui_stdlib.h>

#include "app/model/lessons/lecture.h"
#include "app/model/lessons/lesson_runs.h"
#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/views/chrome.h"
#include "app/views/keys.h"
#include "app/views/lecture/question_fields.h"

namespace tilescope {

namespace {

/// In a low window the picture above needs the height of a larger font.
bool has_height_for_display(const Theme& theme) {
  constexpr float least_height_of_display = 640;
  return ImGui::GetMainViewport()->Size.y >= least_height_of_display * theme.scale;
}

/// Returns the font of choices and figures: a class reads them from the back of the room, where they are short enough for that.
ImFont* choice_font(const View& view, const ClassQuestion& question) {
  constexpr float most_of_width = 0.3F;
  const Theme& theme = *view.theme;
  if (!view.workspace->present || !has_height_for_display(theme)) return theme.heading;
  const float most = most_of_width * ImGui::GetMainViewport()->Size.x;
  const bool short_enough = std::all_of(question.choices.begin(), question.choices.end(),
                                        [&](const std::string& choice) { return text_width(theme.display, choice) <= most; });
  return short_enough ? theme.display : theme.heading;
}

/// Parts of a choice's width: its text, the raised hands, their share in percent; the bar takes the rest.
struct ChoiceWidths {
  float text = 0, field = 0, percent = 0, gap = 0, least_bar = 0;
  float without_bar() const { return text + field + percent + 3 * gap; }
};

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

/// A choice: its text, how many raised a hand, and their share as a bar.
void draw_choice(const View& view, Commands& commands, const ClassQuestion& question, std::size_t i, int all, bool appearing,
                 ImFont* font, const ChoiceWidths& widths, float between) {
  const Theme& theme = *view.theme;
  const Lecture& lecture = *view.lecture;
  const bool right = shows_class_answer(view) && question.answer == static_cast<int>(i) + 1;
  const int count = lecture.counts[i];
  ImGui::PushID(static_cast<int>(i));
  const float left = ImGui::GetCursorScreenPos().x, width = ImGui::GetContentRegionAvail().x - between;
  const auto go_to = [&](float x) {
    ImGui::SameLine();
    ImGui::SetCursorScreenPos({left + x, ImGui::GetCursorScreenPos().y});
  };
  ImGui::PushFont(font);  // of the field too, so that all stand on one line
  ImGui::AlignTextToFramePadding();
  ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + widths.text + 1);
  text_item(font, right ? theme.good : theme.text, choice_text(question, i, right));
  ImGui::PopTextWrapPos();
  go_to(widths.text + widths.gap);
  int typed = count;
  ImGui::SetNextItemWidth(widths.field);
  const bool first = i == 0;
  auto& waiting = panel_state<std::string>("digits of a class");
  if (first && appearing) waiting.clear();
  if (first && appearing) ImGui::SetKeyboardFocusHere();
  if (first) give_digits("##count", waiting, false);
  if (ImGui::InputInt("##count", &typed, 0, 0, ImGuiInputTextFlags_CharsDecimal))
    commands.push(CountAnswer{static_cast<int>(i), typed});
  if (first) give_digits("##count", waiting, true);
  item_tooltip(theme, tr("Raised hands"));
  go_to(widths.text + widths.field + 2 * widths.gap);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float bar = std::max(widths.least_bar, width - widths.without_bar()), height = ImGui::GetFrameHeight();
  const double share = all > 0 ? static_cast<double>(count) / all : 0;
  draw_bar(ImGui::GetWindowDrawList(), theme, {{at.x, at.y + height * 0.1F}, {at.x + bar, at.y + height * 0.9F}}, share,
           right ? theme.good : theme.accent);
  ImGui::Dummy({bar, height});
  go_to(widths.text + widths.field + 3 * widths.gap + bar);
  ImGui::AlignTextToFramePadding();
  text_item(font, theme.text, fmt::format("{:.0f} %", 100 * share));
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
void draw_choices(const View& view, Commands& commands, const ClassQuestion& question, bool appearing) {
  const Theme& theme = *view.theme;
  const std::size_t count = std::min(question.choices.size(), most_choices);
  int all = 0;
  for (std::size_t i = 0; i < count; ++i) all += view.lecture->counts[i];
  ImFont* const font = choice_font(view, question);
  const ChoiceWidths widths = choice_widths(theme, font, question, count);
  const float between = 2 * theme.gap;
  const std::size_t columns = choice_columns(view, widths, count, between);
  if (!ImGui::BeginTable("choices", static_cast<int>(columns), ImGuiTableFlags_SizingStretchSame)) return;
  for (std::size_t i = 0; i < count; ++i) {
    ImGui::TableNextColumn();
    draw_choice(view, commands, question, i, all, appearing, font, widths, columns > 1 ? between : 0);
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

/// Draws the fields of a question of the moment, and asks it.
void draw_writing(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  Writing& draft = writing();
  const float left = ImGui::GetContentRegionAvail().x;
  const auto width_of = [&](const char* text) { return text_width(theme.ui_bold, text) + 28 * theme.scale; };
  const float buttons = width_of(tr("Ask")) + width_of(tr("Close")) + 2 * theme.gap;
  ImGui::PushFont(theme.heading);
  if (std::exchange(draft.to_text, false)) ImGui::SetKeyboardFocusHere();
  ImGui::SetNextItemWidth(left - buttons);
  if (ImGui::InputTextWithHint("##text", tr("Question to the class"), &draft.fields.text, ImGuiInputTextFlags_EnterReturnsTrue))
    draft.to_choices = true;
  ImGui::SameLine();
  bool asked = pill(theme, tr("Ask"), true, tr("Ask the class (Ctrl+Enter)"));
  ImGui::SameLine();
  if (pill(theme, tr("Close"), false, tr("Back to the picture (Q)"))) commands.push(AskClass{false});
  if (std::exchange(draft.to_choices, false)) ImGui::SetKeyboardFocusHere();
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

/// The buttons at the right of the question. In a lesson the answer is that of its page, and stays.
struct QuestionButtons {
  const char* show = nullptr;   // null: nothing to show, or the page shows it
  const char* write = nullptr;  // null: there is a question already
  float width = 0;              // of all
};

QuestionButtons question_buttons(const View& view, const ClassQuestion& question) {
  const Theme& theme = *view.theme;
  QuestionButtons buttons;
  const bool of_page = page_asks(view);
  if (of_page ? view.lesson.locked : question.answer > 0)
    buttons.show = view.lecture->answered && !of_page ? tr("Hide the answer") : tr("Show the answer");
  if (can_write_question(view)) buttons.write = view.lecture->written() != nullptr ? tr("Edit") : tr("Write a question");
  const auto width_of = [&](const char* text) { return text_width(theme.ui_bold, text) + 28 * theme.scale; };
  buttons.width = width_of(tr("Close"));
  for (const char* each : {buttons.show, buttons.write})
    if (each != nullptr) buttons.width += width_of(each) + theme.gap;
  return buttons;
}

void draw_question_buttons(const View& view, Commands& commands, const QuestionButtons& buttons) {
  const Theme& theme = *view.theme;
  const bool of_page = page_asks(view), answered = view.lecture->answered && !of_page;
  if (buttons.show != nullptr) {
    if (pill(theme, buttons.show, answered, answered ? tr("Takes the mark off the right choice") : tr("Marks the right choice"))) {
      LessonAnswer none;
      none.given = false;
      if (of_page)
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

/// Draws the question, its buttons and its choices.
void draw_asked(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const ClassQuestion question = class_question(view);
  const std::string text = question.text.empty() ? tr("Question to the class") : question.text;
  const QuestionButtons buttons = question_buttons(view, question);
  const float left = ImGui::GetContentRegionAvail().x - buttons.width;
  // A class reads two lines of it; elsewhere a question that needs two takes the smaller font.
  const float lines = view.workspace->present ? 2 : 1;
  const bool large = text_width(theme.display, text) + theme.gap <= lines * left && has_height_for_display(theme);
  ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + left - theme.gap);
  text_item(large ? theme.display : theme.heading, theme.text, text);
  ImGui::PopTextWrapPos();
  ImGui::SameLine(left);
  draw_question_buttons(view, commands, buttons);
  const bool appearing = ImGui::IsWindowAppearing();
  draw_choices(view, commands, question, appearing);
}

/// The height that the question took in the last frame in which it was drawn.
struct QuestionRoom {
  float height = 0;
};

}  // namespace

float question_room(const View& view) {
  return view.lecture->asking ? panel_state<QuestionRoom>("question").height : 0;
}

bool writes_question() {
  return writing().on && ImGui::GetFrameCount() - writing().frame <= 1;
}

void draw_question(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const ImVec2 screen = ImGui::GetMainViewport()->Size;
  const float width = screen.x - 2 * theme.gap;
  constexpr float most_of_screen = 0.45F;
  ImGui::SetNextWindowPos({theme.gap, screen.y - theme.gap}, ImGuiCond_Always, {0, 1});
  ImGui::SetNextWindowSizeConstraints({width, 0}, {width, std::round(most_of_screen * screen.y)});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, theme.inset);
  constexpr ImGuiWindowFlags flags = ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoMove |
                                     ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_AlwaysAutoResize |
                                     ImGuiWindowFlags_NoCollapse;
  if (ImGui::Begin("##question", nullptr, flags)) {
    if (writing().on && !can_write_question(view)) writing().on = false;
    writing().on ? draw_writing(view, commands) : draw_asked(view, commands);
  }
  panel_state<QuestionRoom>("question").height = ImGui::GetWindowHeight() + theme.gap;
  ImGui::End();
  ImGui::PopStyleColor();
}

bool holds_pointer(const View& view) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool held =
      ImGui::IsMouseDown(ImGuiMouseButton_Middle) || (view.workspace->present && !io.WantTextInput && ImGui::IsKeyDown(ImGuiKey_L));
  return held && ImGui::IsMousePosValid();
}

void draw_pointer(const View& view) {
  if (!holds_pointer(view)) return;
  const ImGuiIO& io = ImGui::GetIO();
  const float radius = std::max(4.0F, std::round(7 * view.theme->scale));
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
