// Tells commands of a number field from others, and a pause from the next key.
#include "app/views/held_typing.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <imgui_internal.h>

#include "app/ui/typed_limits.h"

namespace tilescope {

namespace {

bool is_of_number(const Command& command) {
  return std::holds_alternative<SetProblem>(command) || std::holds_alternative<SetTile>(command) ||
         std::holds_alternative<SetBlocksPerSm>(command) || std::holds_alternative<SetSpecValue>(command) ||
         std::holds_alternative<SetInputs>(command);
}

std::vector<Command> take_numbers(std::vector<Command>& commands) {
  const auto first =
      std::stable_partition(commands.begin(), commands.end(), [](const Command& each) { return !is_of_number(each); });
  std::vector<Command> numbers(std::make_move_iterator(first), std::make_move_iterator(commands.end()));
  commands.erase(first, commands.end());
  return numbers;
}

}  // namespace

std::vector<Command> HeldTyping::pass(std::vector<Command> commands) {
  const std::optional<std::string> typed = typed_text();
  const bool was_typing = std::exchange(typing_, typed.has_value());
  if (!typed) {
    std::vector<Command> held = std::exchange(held_, {});
    waiting_ = waits_for_pause();
    const bool asked_anew = std::any_of(commands.begin(), commands.end(), is_of_number);
    if (held.empty() || asked_anew || ImGui::IsKeyPressed(ImGuiKey_Escape, false)) return commands;
    held.insert(held.end(), std::make_move_iterator(commands.begin()), std::make_move_iterator(commands.end()));
    return held;
  }
  const double now = ImGui::GetTime();
  if (!was_typing || text_ != *typed) {
    text_ = *typed;
    since_ = now;
    sent_ = false;
  }
  held_ = take_numbers(commands);
  waiting_ = now - since_ < typing_pause;
  if (waiting_ || held_.empty()) return commands;
  // A number that was refused is asked for in every frame.
  if (!std::exchange(sent_, true))
    commands.insert(commands.end(), std::make_move_iterator(held_.begin()), std::make_move_iterator(held_.end()));
  held_.clear();
  return commands;
}

}  // namespace tilescope
