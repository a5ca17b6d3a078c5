// FlightPath: the way a tile takes over the drawn links, and where on it a tile in flight is.
#pragma once

#include <optional>
#include <vector>

#include "app/views/stage/stage_layout.h"
#include "sim/engine/trace.h"

namespace tilescope {

struct FlightPath {
  std::vector<ImVec2> points;
  float length() const;
  /// The point at `distance` from the start; clamped to the ends.
  ImVec2 at(float distance) const;
};

/// From HBM (or the L2, when it hits) up to the slot's buffer; a store from its slot down to the L2.
/// A tile of a plane that is not `shown_plane` comes from its tensor's name instead of a cell.
/// Nothing where the tile's SM is not drawn with a link of its own.
std::optional<FlightPath> flight_path(const StageLayout& layout, const TileInFlight& flight, const TensorLayout& tensor,
                                      int focus_sm, int ring, std::int64_t shown_plane);

}  // namespace tilescope
