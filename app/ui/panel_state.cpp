// Stores panel state in a shutdown hook of the ImGui context, so that two windows never share it.
#include "app/ui/panel_state.h"

#include <imgui.h>
#include <imgui_internal.h>

#include <map>
#include <string>

namespace tilescope {
namespace {

using Slots = std::map<std::string, std::shared_ptr<void>, std::less<>>;

void forget(ImGuiContext*, ImGuiContextHook* hook) {
  delete static_cast<Slots*>(hook->UserData);
  hook->UserData = nullptr;
}

Slots& slots_of_context() {
  ImGuiContext* context = ImGui::GetCurrentContext();
  for (const ImGuiContextHook& hook : context->Hooks)
    if (hook.Callback == forget) return *static_cast<Slots*>(hook.UserData);
  ImGuiContextHook hook;
  hook.Type = ImGuiContextHookType_Shutdown;
  hook.Callback = forget;
  hook.UserData = new Slots;
  ImGui::AddContextHook(context, &hook);
  return *static_cast<Slots*>(hook.UserData);
}

}  // namespace

std::shared_ptr<void>& panel_slot(std::string_view id) {
  Slots& slots = slots_of_context();
  const auto found = slots.find(id);
  return found != slots.end() ? found->second : slots[std::string(id)];
}

}  // namespace tilescope
