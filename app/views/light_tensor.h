// light_tensor(): asks that a tensor be lit everywhere while the mouse is over what stands for it.
#pragma once

#include <optional>

#include <imgui.h>

#include "app/views/view.h"

namespace tilescope {

/// Called at the end of a panel with what the mouse is on in it. Asks only for a change, so that a still mouse costs no frame.
inline void light_tensor(const View& view, Commands& commands, std::optional<Tensor> under_mouse) {
  if (ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows) && under_mouse != view.workspace->hovered_tensor)
    commands.push(HoverTensor{under_mouse});
}

}  // namespace tilescope
