// light_tensor(): highlights a tensor in every panel while the mouse is over it in one.
#pragma once

#include <optional>

#include <imgui.h>

#include "app/views/view.h"

namespace tilescope {

/// Call at the end of a panel with the tensor under the mouse. It requests only changes, so a still mouse costs no frame.
inline void light_tensor(const View& view, Commands& commands, std::optional<Tensor> under_mouse) {
  if (ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows) && under_mouse != view.workspace->hovered_tensor)
    commands.push(HoverTensor{under_mouse});
}

}  // namespace tilescope
