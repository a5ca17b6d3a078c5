// The tabs over the middle of the window.
#include <cmath>
#include <vector>

#include "app/center_views.h"
#include "app/panels/chrome.h"

namespace tilescope {

float center_tabs_height(const Theme& theme) { return center_views().size() > 1 ? std::round(30 * theme.scale) : 0; }

void draw_center_tabs(const Rect& rect, const View& view, Commands& commands) {
  std::vector<const char*> titles;
  int selected = 0;
  for (const CenterViewInfo& row : center_views()) {
    if (row.view == view.center) selected = static_cast<int>(titles.size());
    titles.push_back(tr(row.title));
  }
  ImGui::SetCursorScreenPos({rect.min.x + view.theme->padding, rect.min.y + std::round(8 * view.theme->scale)});
  if (const auto clicked = segmented(*view.theme, "center", titles, selected, true))
    commands.push(SetCenter{center_views()[static_cast<std::size_t>(*clicked)].view});
}

}  // namespace tilescope
