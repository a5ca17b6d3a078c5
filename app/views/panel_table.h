// The table of panels: every panel's id, title and draw function.
#pragma once

#include <span>
#include <string_view>

#include "app/views/view.h"

namespace tilescope {

/// Its content's least size in points. In less room it scrolls, for example with large text in a small window. 0: any size.
struct PanelContent {
  float width = 340, height = 124;
};

/// A panel is one file: app/views/<id>/. It draws inside the ImGui child that the layout opened for it.
struct PanelInfo {
  std::string_view id;  // "listing", "stage", "softmax", "traffic", "timeline", "race"
  std::string_view title;
  void (*draw)(const View& view, Commands& commands);
  PanelContent least = {};
  bool scrolls = false;          // a text that may be longer than its room
  bool lays_itself_out = false;  // simplifies itself in less room
  bool reads_large = false;      // for a class as large as the lesson's text, where it has the room
  ImVec2 grows_from = {};        // alone in a window larger than these points, its text grows with it; 0: it does not
};
std::span<const PanelInfo> panel_table();

}  // namespace tilescope
