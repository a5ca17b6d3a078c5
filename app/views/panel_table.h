// The table of panels: every panel's id, title and draw function.
#pragma once

#include <span>
#include <string_view>

#include "app/views/view.h"

namespace tilescope {

/// A panel is one file: app/views/<id>/. It draws inside the ImGui child that the layout opened for it.
struct PanelInfo {
  std::string_view id;  // "listing", "stage", "softmax", "traffic", "timeline", "race"
  std::string_view title;
  void (*draw)(const View& view, Commands& commands);
};
std::span<const PanelInfo> panel_table();

}  // namespace tilescope
