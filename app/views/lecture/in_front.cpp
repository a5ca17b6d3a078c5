// What a lecturer puts in front of the picture: a question to the class, a pointer, a black screen.
#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "app/model/lessons/lecture.h"
#include "app/model/lessons/lesson_runs.h"
#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/views/chrome.h"
#include "app/views/keys.h"

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

/// Draws the choices side by side, in as few rows as their texts allow: the picture above needs the height.
void draw_choices(const View& view, Commands& commands, const ClassQuestion& question, bool appearing) {
  const Theme& theme = *view.theme;
  const std::size_t count = std::min(question.choices.size(), most_choices);
  int all = 0;
  for (std::size_t i = 0; i < count; ++i) all += view.lecture->counts[i];
  ImFont* const font = choice_font(view, question);
  const ChoiceWidths widths = choice_widths(theme, font, question, count);
  const float between = 2 * theme.gap,
              each = widths.without_bar() + widths.least_bar + between + 2 * ImGui::GetStyle().CellPadding.x;
  const auto most = static_cast<std::size_t>(std::max(1.0F, (ImGui::GetContentRegionAvail().x + between) / each));
  const std::size_t rows = (count + most - 1) / most, columns = (count + rows - 1) / rows;
  if (!ImGui::BeginTable("choices", static_cast<int>(columns), ImGuiTableFlags_SizingStretchSame)) return;
  for (std::size_t i = 0; i < count; ++i) {
    ImGui::TableNextColumn();
    draw_choice(view, commands, question, i, all, appearing, font, widths, columns > 1 ? between : 0);
  }
  ImGui::EndTable();
}

/// The buttons at the right of the question. In a lesson the answer is that of its page, and stays.
struct QuestionButtons {
  const char* show = nullptr;  // null: nothing to show, or the page shows it
  float width = 0;             // of all
};

QuestionButtons question_buttons(const View& view, const ClassQuestion& question) {
  const Theme& theme = *view.theme;
  QuestionButtons buttons;
  const bool in_lesson = view.lesson.lesson != nullptr;
  if (in_lesson ? view.lesson.locked : question.answer > 0)
    buttons.show = view.lecture->answered && !in_lesson ? tr("Hide the answer") : tr("Show the answer");
  const auto width_of = [&](const char* text) { return text_width(theme.ui_bold, text) + 28 * theme.scale; };
  buttons.width = width_of(tr("Close")) + (buttons.show != nullptr ? width_of(buttons.show) + theme.gap : 0);
  return buttons;
}

void draw_question_buttons(const View& view, Commands& commands, const QuestionButtons& buttons) {
  const Theme& theme = *view.theme;
  const bool in_lesson = view.lesson.lesson != nullptr, answered = view.lecture->answered && !in_lesson;
  if (buttons.show != nullptr) {
    if (pill(theme, buttons.show, answered, answered ? tr("Takes the mark off the right choice") : tr("Marks the right choice"))) {
      LessonAnswer none;
      none.given = false;
      if (in_lesson)
        commands.push(AnswerLesson{std::make_shared<const LessonAnswer>(none)});
      else
        commands.push(AskClass{true, !answered});
    }
    ImGui::SameLine();
  }
  if (pill(theme, tr("Close"), false, tr("Back to the picture (Q)"))) commands.push(AskClass{false});
}

/// The height that the question took in the last frame in which it was drawn.
struct QuestionRoom {
  float height = 0;
};

}  // namespace

float question_room(const View& view) {
  return view.lecture->asking ? panel_state<QuestionRoom>("question").height : 0;
}

void draw_question(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const ClassQuestion question = class_question(view);
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
