// The box that says why an operation waited, above the wait that was clicked.
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
};

/// Draws the box until a click elsewhere. `data`, by group, are those on screen: the box of any others is gone.
void show_causes(CauseBox& box, std::span<const std::shared_ptr<const TimelineData>> data, const View& view, Commands& commands);

}  // namespace tilescope
