// Keys that wait for a field: one that is about to have the keyboard gets what is typed, in the order in which it was typed.
#pragma once

#include <string_view>
#include <vector>

#include <imgui_internal.h>

namespace tilescope {

/// Holds keys back until the field `id` has the keyboard, for a few frames at most. 0: a field that is drawn for the first time.
void hold_keys_for(ImGuiID id);
/// Returns true while keys wait.
bool holds_keys();
/// Types `text` before the keys that wait.
void type_first(std::string_view text);

/// Keeps the waiting keys from the frame that begins while this lives. While no field has the keyboard, a letter also ends the keys
/// of its frame: what follows it may be for the field that the letter opens.
class HeldKeys {
 public:
  HeldKeys();
  ~HeldKeys();
  HeldKeys(const HeldKeys&) = delete;
  HeldKeys& operator=(const HeldKeys&) = delete;

 private:
  std::vector<ImGuiInputEvent> kept_;
};

}  // namespace tilescope
