// Takes keys out of ImGui's queue and puts them back.
#include "app/ui/key_hold.h"

#include <algorithm>

#include "app/ui/panel_state.h"

namespace tilescope {

namespace {

/// A field may need a frame to be drawn, one to be chosen and one to take the keyboard. One that never does costs no more than
/// these.
constexpr int most_frames = 6;

struct KeyHold {
  ImGuiID field = 0;
  int end = -1;  // the last frame after which keys wait
};

KeyHold& key_hold() {
  return panel_state<KeyHold>("held keys");
}

bool is_typed(const ImGuiInputEvent& event) {
  return event.Type == ImGuiInputEventType_Key || event.Type == ImGuiInputEventType_Text;
}

}  // namespace

void hold_keys_for(ImGuiID id) {
  KeyHold& hold = key_hold();
  // A field that did not take the keyboard, as under a black screen, is not waited for again at once: what it was to get would wait
  // for ever.
  if (hold.field == id && ImGui::GetFrameCount() < hold.end + most_frames) return;
  hold = {id, ImGui::GetFrameCount() + most_frames};
}

bool holds_keys() {
  return ImGui::GetFrameCount() < key_hold().end;
}

void type_first(std::string_view text) {
  ImGuiContext& context = *ImGui::GetCurrentContext();
  for (auto letter = text.rbegin(); letter != text.rend(); ++letter) {
    ImGuiInputEvent event;
    event.Type = ImGuiInputEventType_Text;
    event.Source = ImGuiInputSource_Keyboard;
    event.EventId = context.InputEventsNextEventId++;
    event.Text.Char = static_cast<unsigned char>(*letter);
    context.InputEventsQueue.insert(context.InputEventsQueue.begin(), event);
  }
}

HeldKeys::HeldKeys() {
  ImGuiContext& context = *ImGui::GetCurrentContext();
  KeyHold& hold = key_hold();
  if (hold.field != 0 && context.ActiveId == hold.field) hold = {};
  const bool all = holds_keys(), in_field = context.WantTextInputNextFrame == 1;
  bool typed = false;  // a letter, in this frame
  std::vector<ImGuiInputEvent> passed;
  for (const ImGuiInputEvent& event : context.InputEventsQueue) {
    const bool is_text = event.Type == ImGuiInputEventType_Text;
    // A key that was pressed before is let go at once, or it would repeat.
    const bool ends_earlier =
        event.Type == ImGuiInputEventType_Key && !event.Key.Down && std::ranges::none_of(kept_, [&](const ImGuiInputEvent& each) {
          return each.Type == ImGuiInputEventType_Key && each.Key.Key == event.Key.Key;
        });
    const bool follows = !in_field && typed && (!is_text || !kept_.empty());
    const bool keeps = is_typed(event) && !ends_earlier && (all || follows);
    (keeps ? kept_ : passed).push_back(event);
    typed = typed || (is_text && !keeps);
  }
  if (kept_.empty()) return;
  context.InputEventsQueue.resize(0);
  for (const ImGuiInputEvent& event : passed) context.InputEventsQueue.push_back(event);
}

HeldKeys::~HeldKeys() {
  // After those that passed: ImGui leaves some of them for the next frame.
  for (const ImGuiInputEvent& event : kept_) ImGui::GetCurrentContext()->InputEventsQueue.push_back(event);
}

}  // namespace tilescope
