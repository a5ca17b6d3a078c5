// panel_state(): a panel's state between frames (zoom, caches), owned by the ImGui context.
#pragma once

#include <memory>
#include <string_view>

namespace tilescope {

/// Returns the slot of `id` in the current ImGui context; initially empty.
std::shared_ptr<void>& panel_slot(std::string_view id);

/// Returns the state of panel `id`, created on first use. Each id has one type.
template <class T>
T& panel_state(std::string_view id) {
  std::shared_ptr<void>& slot = panel_slot(id);
  if (!slot) slot = std::make_shared<T>();
  return *static_cast<T*>(slot.get());
}

}  // namespace tilescope
