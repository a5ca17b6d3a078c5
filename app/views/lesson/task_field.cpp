// Fields of a task: ÷2, a number to drag or type, and ×2; a list where the control has names.
#include "app/views/lesson/task_field.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "app/ui/say.h"
#include "app/views/chrome.h"
#include "app/views/top_bar/number_controls.h"
#include "app/views/work_words.h"
#include "sim/engine/block_order.h"

namespace tilescope {

namespace {

/// Adds ÷2, the number and ×2, as wide as the column.
void draw_number_control(const Theme& theme, Commands& commands, LessonKeys& keys, const NumberControl& control) {
  const NumberLimits& limits = control.limits;
  double value = control.value;
  const auto step = [&](const char* sign, bool possible, double next) {
    ImGui::BeginDisabled(!possible);
    const bool clicked = ImGui::Button(sign);
    ImGui::EndDisabled();
    keys.item(item_rect());
    if (clicked || (keys.entered() && possible))
      value = std::clamp(limits.whole ? std::floor(next) : next, limits.low, limits.high);
  };
  const float space = theme.gap * 0.5F, twice = text_width(ImGui::GetFont(), "×2") + 2 * ImGui::GetStyle().FramePadding.x + space;
  step("÷2", value > limits.low, value / 2);
  ImGui::SameLine(0, space);
  ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x - twice);
  ImGui::PushFont(theme.mono);
  drag_quantity("##value", value, limits);
  ImGui::PopFont();
  const Rect field = item_rect();
  note_limits(theme, limits, value, {{field.min.x, field.max.y}, {field.max.x, field.max.y + field.height()}});
  keys.item(field);
  if (keys.entered()) activate_next_frame("##value");
  ImGui::SameLine(0, space);
  step("×2", value < limits.high, value * 2);
  if (value != control.value) control.ask_for(value, commands);
}

void draw_block_orders(const View& view, Commands& commands, LessonKeys& keys) {
  const Theme& theme = *view.theme;
  for (const BlockOrderInfo& row : block_orders()) {
    const bool chosen = view.requested->request.block_order == row.order;
    const std::string title = translated(row.title);
    const float room = ImGui::GetContentRegionAvail().x - button_width(theme, "");
    const std::string label = fmt::format("{}##{}", elide(theme.ui_bold, title, room), row.id);
    const bool clicked = pill(theme, label.c_str(), chosen, title.c_str());
    keys.item(item_rect());
    if (clicked || keys.entered()) commands.push(SetBlockOrder{row.order});
  }
}

/// The programs of the same family: another one answers another question.
void draw_programs(const View& view, Commands& commands, LessonKeys& keys) {
  const SimulationRequest& request = view.requested->request;
  const Result<const ProgramInfo*> now = find_program(request.algorithm, request.problem.pass);
  ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x);
  const bool open = ImGui::BeginCombo("##value", (now ? translated((*now)->title) : request.algorithm).c_str());
  if (open) {
    for (const ProgramInfo& info : program_table())
      if (now && info.family == (*now)->family &&
          ImGui::Selectable(fmt::format("{}##{}", translated(info.title), info.id).c_str(), info.id == request.algorithm))
        commands.push(SetAlgorithm{std::string(info.id)});
    ImGui::EndCombo();
  }
  keys.item(item_rect());
  if (keys.entered()) activate_next_frame("##value");
}

}  // namespace

bool has_task_field(const View& view, const std::string& key) {
  return key == "block_order" || key == "algorithm" || number_control(view, key).has_value();
}

int task_field_lines(const View& view, const std::string& key) {
  if (key == "block_order") return static_cast<int>(block_orders().size());
  return has_task_field(view, key) ? 1 : 0;
}

void draw_task_field(const View& view, Commands& commands, LessonKeys& keys, const std::string& key) {
  const Theme& theme = *view.theme;
  ImGui::PushID(key.c_str());
  if (const std::optional<NumberControl> number = number_control(view, key))
    draw_number_control(theme, commands, keys, *number);
  else if (key == "block_order")
    draw_block_orders(view, commands, keys);
  else if (key == "algorithm")
    draw_programs(view, commands, keys);
  ImGui::PopID();
  const auto& message = view.workspace->message;
  const bool stands_below = view.workspace->present;  // every message does then
  if (message && message->control == key && !stands_below) wrapped_text(theme.ui_small, theme.bad, words_of(*message));
}

}  // namespace tilescope
