// panel_state(): what a panel remembers between frames (zoom, caches), kept with the ImGui context and gone with it.
#pragma once

#include <memory>
#include <string_view>

namespace tilescope {

/// The place of `id` in the current ImGui context; empty at first.
std::shared_ptr<void>& panel_slot(std::string_view id);

/// The state of the panel `id` in the current ImGui context, made when it is first asked for. One type for one id.
template <class T>
T& panel_state(std::string_view id) {
  std::shared_ptr<void>& slot = panel_slot(id);
  if (!slot) slot = std::make_shared<T>();
  return *static_cast<T*>(slot.get());
}

}  // namespace tilescope
