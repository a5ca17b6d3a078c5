// Splits the lines of the choices, and draws their fields.
#include "app/views/lecture/question_fields.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <misc/cpp/imgui_stdlib.h>

#include "app/ui/say.h"

namespace tilescope {

namespace {

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < most_choices) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (!is_blank(line)) lines.emplace_back(line);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return lines;
}

}  // namespace

void QuestionFields::fill(const ClassQuestion& question) {
  text = question.text;
  choices = fmt::format("{}", fmt::join(question.choices, "\n"));
  answer = question.answer;
}

std::optional<ClassQuestion> QuestionFields::question() const {
  if (is_blank(text)) return std::nullopt;
  ClassQuestion question{text, lines_of(choices), 0};
  question.answer = std::clamp(answer, 0, static_cast<int>(question.choices.size()));
  return question;
}

int QuestionFields::count() const {
  return static_cast<int>(lines_of(choices).size());
}

bool choices_field(const Theme& theme, QuestionFields& fields, float width, float height) {
  const std::string typed = fields.choices;
  text_item(theme.ui_small, theme.text_dim, tr("Choices, one per line"));
  ImGui::InputTextMultiline("##choices", &fields.choices, {width, height});
  return leaves_field(fields.choices, typed);
}

bool right_choice_buttons(const Theme& theme, QuestionFields& fields) {
  const int choices = fields.count();
  text_item(theme.ui_small, theme.text_dim, tr("Right choice"));
  std::array<const char*, most_choices + 1> labels{tr("none")};
  std::array<std::string, most_choices + 1> numbers;
  for (std::size_t i = 1; i < labels.size(); ++i) labels[i] = (numbers[i] = fmt::format("{}", i)).c_str();
  const auto shown = std::span(labels).first(static_cast<std::size_t>(choices) + 1);
  const auto chosen = segmented(theme, "right choice", shown, std::min(fields.answer, choices), true);
  if (chosen) fields.answer = *chosen;
  return chosen.has_value();
}

bool leaves_field(std::string& text, const std::string& typed) {
  if (!ImGui::IsItemDeactivatedAfterEdit()) return false;
  if (ImGui::IsKeyPressed(ImGuiKey_Escape, false)) text = typed;
  return true;
}

}  // namespace tilescope
