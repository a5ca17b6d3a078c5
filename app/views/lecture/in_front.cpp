// What a lecturer puts in front of the picture: a question to the class, a pointer, a black screen.
#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "app/model/lecture.h"
#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/views/chrome.h"
#include "app/views/keys.h"

namespace tilescope {

namespace {

/// Parts of a choice's width: its text, the raised hands, their share in percent; the bar takes the rest.
struct ChoiceWidths {
  float text = 0, field = 0, percent = 0, gap = 0, least_bar = 0;
  float without_bar() const { return text + field + percent + 3 * gap; }
};

std::string choice_text(const ClassQuestion& question, std::size_t i, bool right) {
  return fmt::format("{}{}", question.choices[i], right ? "  ✓" : "");
}

ChoiceWidths choice_widths(const Theme& theme, const ClassQuestion& question, std::size_t count) {
  ChoiceWidths widths;
  for (std::size_t i = 0; i < count; ++i)  // with the mark, so that nothing moves when it comes
    widths.text = std::max(widths.text, text_width(theme.heading, choice_text(question, i, question.answer > 0)));
  widths.field = std::round(64 * theme.scale);
  widths.percent = text_width(theme.mono, "100 %");
  widths.gap = std::round(8 * theme.scale);
  widths.least_bar = std::round(64 * theme.scale);
  return widths;
}

/// A choice: its text, how many raised a hand, and their share as a bar.
void draw_choice(const View& view, Commands& commands, const ClassQuestion& question, std::size_t i, int all, bool appearing,
                 const ChoiceWidths& widths, float between) {
  const Theme& theme = *view.theme;
  const Lecture& lecture = *view.lecture;
  const bool right = lecture.answered && question.answer == static_cast<int>(i) + 1;
  const int count = lecture.counts[i];
  ImGui::PushID(static_cast<int>(i));
  const float left = ImGui::GetCursorScreenPos().x, width = ImGui::GetContentRegionAvail().x - between;
  const auto go_to = [&](float x) {
    ImGui::SameLine();
    ImGui::SetCursorScreenPos({left + x, ImGui::GetCursorScreenPos().y});
  };
  ImGui::AlignTextToFramePadding();
  text_item(theme.heading, right ? theme.good : theme.text, choice_text(question, i, right));
  go_to(widths.text + widths.gap);
  int typed = count;
  ImGui::SetNextItemWidth(widths.field);
  const bool first = i == 0;
  auto& waiting = panel_state<std::string>("digits of a class");
  if (first && appearing) waiting.clear();
  if (first && appearing) ImGui::SetKeyboardFocusHere();
  if (first) give_digits("##count", waiting, false);
  if (ImGui::InputInt("##count", &typed, 0)) commands.push(CountAnswer{static_cast<int>(i), typed});
  if (first) give_digits("##count", waiting, true);
  item_tooltip(theme, tr("Raised hands"));
  go_to(widths.text + widths.field + 2 * widths.gap);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float bar = std::max(widths.least_bar, width - widths.without_bar()), height = ImGui::GetFrameHeight();
  const double share = all > 0 ? static_cast<double>(count) / all : 0;
  draw_bar(ImGui::GetWindowDrawList(), theme, {{at.x, at.y + height * 0.2F}, {at.x + bar, at.y + height * 0.8F}}, share,
           right ? theme.good : theme.accent);
  ImGui::Dummy({bar, height});
  go_to(widths.text + widths.field + 3 * widths.gap + bar);
  ImGui::AlignTextToFramePadding();
  text_item(theme.mono, theme.text_dim, fmt::format("{:3.0f} %", 100 * share));
  ImGui::PopID();
}

/// Draws the choices side by side, in as few rows as their texts allow: the picture above needs the height.
void draw_choices(const View& view, Commands& commands, const ClassQuestion& question, bool appearing) {
  const Theme& theme = *view.theme;
  const std::size_t count = std::min(question.choices.size(), most_choices);
  int all = 0;
  for (std::size_t i = 0; i < count; ++i) all += view.lecture->counts[i];
  const ChoiceWidths widths = choice_widths(theme, question, count);
  const float between = 2 * theme.gap,
              each = widths.without_bar() + widths.least_bar + between + 2 * ImGui::GetStyle().CellPadding.x;
  const auto most = static_cast<std::size_t>(std::max(1.0F, (ImGui::GetContentRegionAvail().x + between) / each));
  const std::size_t rows = (count + most - 1) / most, columns = (count + rows - 1) / rows;
  if (!ImGui::BeginTable("choices", static_cast<int>(columns), ImGuiTableFlags_SizingStretchSame)) return;
  for (std::size_t i = 0; i < count; ++i) {
    ImGui::TableNextColumn();
    draw_choice(view, commands, question, i, all, appearing, widths, columns > 1 ? between : 0);
  }
  ImGui::EndTable();
}

/// The buttons below a question, or beside it where its line has room.
void draw_question_buttons(const View& view, Commands& commands, const ClassQuestion& question, float beside) {
  const Theme& theme = *view.theme;
  const Lecture& lecture = *view.lecture;
  const char* const show = lecture.answered ? tr("Hide the answer") : tr("Show the answer");
  const auto width_of = [&](const char* text) { return text_width(theme.ui_bold, text) + 28 * theme.scale; };
  const float needed = width_of(tr("Close")) + (question.answer > 0 ? width_of(show) + theme.gap : 0);
  const float free = ImGui::GetContentRegionAvail().x - needed;
  if (beside + theme.gap <= free) ImGui::SameLine(free);
  if (question.answer > 0 && pill(theme, show, lecture.answered,
                                  lecture.answered ? tr("Takes the mark off the right choice") : tr("Marks the right choice")))
    commands.push(AskClass{true, !lecture.answered});
  if (question.answer > 0) ImGui::SameLine();
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
  const Lecture& lecture = *view.lecture;
  const ClassQuestion question = question_of(lecture.shown());
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
    text_item(theme.display, theme.text, text);
    draw_question_buttons(view, commands, question, text_width(theme.display, text));
    const bool appearing = ImGui::IsWindowAppearing();
    draw_choices(view, commands, question, appearing);
  }
  panel_state<QuestionRoom>("question").height = ImGui::GetWindowHeight() + theme.gap;
  ImGui::End();
  ImGui::PopStyleColor();
}

void draw_pointer(const View& view) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool held =
      ImGui::IsMouseDown(ImGuiMouseButton_Middle) || (view.workspace->present && !io.WantTextInput && ImGui::IsKeyDown(ImGuiKey_L));
  if (!held || !ImGui::IsMousePosValid()) return;
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
