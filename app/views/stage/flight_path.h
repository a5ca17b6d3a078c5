// FlightPath: the path of a tile in flight over the drawn links.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "app/views/stage/stage_layout.h"
#include "sim/engine/trace.h"

namespace tilescope {

struct FlightPath {
  std::vector<ImVec2> points;
  std::size_t port = 0;  // the point at the SM's end of its link
  std::size_t jump = 0;  // the point before which a tile is not drawn: it changes from its tensor's lane to the SM's port; 0: none
  float length() const { return length_from(0); }
  /// Returns the length of what comes after a point.
  float length_from(std::size_t point) const;
  /// Returns the point that is `along` from the start, clamped to the ends.
  ImVec2 at(float along) const;
};

/// Returns the path from HBM (or the L2, on a hit) to the on-chip tile's buffer; for a store, from the on-chip tile to the L2.
/// A tile of another plane than `shown_plane` starts at its tensor's name.
/// Returns nothing if the tile's SM has no link of its own.
std::optional<FlightPath> flight_path(const StageLayout& layout, const TileInFlight& flight, const TensorLayout& tensor,
                                      int focus_sm, int ring, std::int64_t shown_plane);

/// Returns the flight that fetches the tile from HBM, or null: until it has ended the L2 does not hold all of the tile.
const TileInFlight* fetch_of(const TileRef& tile, std::span<const TileInFlight> flights);
/// Where a load waits of which no byte has crossed: where its bytes are.
enum class WaitsAt { hbm, l2, link };
/// Returns it for a load behind an L2. A tile that HBM still sends is in HBM. Where not all SMs are recorded (`all_known`), another
/// one may be fetching it: then the request stands at its link, outside the L2.
WaitsAt waits_at(const TileInFlight& load, std::span<const TileInFlight> flights, bool all_known);
/// Returns where a tile lies in HBM; one of another plane than `shown_plane` at its tensor's name.
ImVec2 tile_in_hbm(const StageLayout& layout, const TileInFlight& flight, const TensorLayout& tensor, std::int64_t shown_plane);

}  // namespace tilescope
