// FlightPath: the path of a tile in flight over the drawn links.
#pragma once

#include <optional>
#include <vector>

#include "app/views/stage/stage_layout.h"
#include "sim/engine/trace.h"

namespace tilescope {

struct FlightPath {
  std::vector<ImVec2> points;
  std::size_t jump = 0;  // the point before which a tile is not drawn: it changes from its tensor's lane to the SM's port; 0: none
  float length() const;
  /// Returns the point at `distance` from the start, clamped to the ends.
  ImVec2 at(float distance) const;
};

/// Returns the path from HBM (or the L2, on a hit) to the slot's buffer; for a store, from the slot to the L2.
/// A tile of another plane than `shown_plane` starts at its tensor's name.
/// Returns nothing if the tile's SM has no link of its own.
std::optional<FlightPath> flight_path(const StageLayout& layout, const TileInFlight& flight, const TensorLayout& tensor,
                                      int focus_sm, int ring, std::int64_t shown_plane);

}  // namespace tilescope
