// The box with the causes of a stall, above the clicked stall.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "app/ui/widgets.h"
#include "app/views/timeline/timeline_causes.h"
#include "app/views/view.h"

namespace tilescope {

struct CauseBox {
  std::shared_ptr<const TimelineData> of;
  std::size_t group = 0;
  std::vector<CauseLink> chain;  // empty: no box
  ImVec2 at;
  bool opened_by_key = false;  // its first line then takes the focus
};

/// Draws the box until a click elsewhere, or until its run leaves the screen. `data` are the visible runs.
void show_causes(CauseBox& box, std::span<const std::shared_ptr<const TimelineData>> data, const View& view, Commands& commands);

}  // namespace tilescope
