// Computes the path of a tile between HBM, L2 and an SM.
#include "app/views/stage/flight_path.h"

#include <algorithm>
#include <cmath>

namespace tilescope {

namespace {

/// Part of a tensor's width that is right of the marks on their way up.
constexpr float beside_name = 0.09F;

float distance(ImVec2 a, ImVec2 b) {
  return std::hypot(b.x - a.x, b.y - a.y);
}

ImVec2 tile_position(const TensorBox& box, const TensorLayout& tensor, const TileRef& tile) {
  const int row = cell_of(static_cast<int>(tile.row / tensor.tile_rows), box.grid_rows, box.shown_rows);
  const int col = cell_of(static_cast<int>(tile.col / tensor.tile_cols), box.grid_cols, box.shown_cols);
  const CellSpan x = cell_span(box.cells.min.x, box.cells.max.x, box.shown_cols, col);
  const CellSpan y = cell_span(box.cells.min.y, box.cells.max.y, box.shown_rows, row);
  return {(x.begin + x.end) / 2, (y.begin + y.end) / 2};
}

const SmBox* card_of(const StageLayout& layout, int sm) {
  for (const SmBox& box : layout.sms) {
    if (box.sm == sm && box.port.width() > 0) return &box;
  }
  return nullptr;
}

/// Returns a tile's position in the L2. Each SM has its own track, so that simultaneous tiles do not overlap.
ImVec2 place_in_l2(const StageLayout& layout, const TensorBox& tensor, int sm, int focus_sm) {
  std::size_t tracks = 1, track = 0;
  for (const SmBox& box : layout.sms) {
    if (box.port.width() <= 0) continue;
    if (box.sm == sm && sm != focus_sm) track = tracks;
    ++tracks;
  }
  const float index = static_cast<float>(track), part = (index + 1) / (static_cast<float>(tracks) + 1);
  const float apart = std::min(0.3F * layout.l2.height(), 0.8F * tensor.cells.width() / static_cast<float>(tracks));
  return {std::min(tensor.lane.center().x + apart * index, tensor.cells.max.x), layout.l2.min.y + part * layout.l2.height()};
}

/// Returns the path from the level below up to the SM.
bool add_port(FlightPath& path, const StageLayout& layout, const TileInFlight& flight, int focus_sm, int ring) {
  if (flight.sm == focus_sm) {
    const Rect& port = flight.to_sm ? layout.port_up : layout.port_down;
    path.points.push_back({port.center().x, port.max.y});
    path.points.push_back({port.center().x, port.min.y});
    path.port = path.points.size() - 1;
    const ChipTileBox* chip_tile = layout.find(flight.chip_tile, ring);
    if (chip_tile != nullptr && chip_tile->shared) {  // below the buffers, so that it crosses none but its own
      const float below = (chip_tile->box.max.y + layout.focus.max.y) / 2;
      path.points.push_back({port.center().x, below});
      path.points.push_back({chip_tile->cells.center().x, below});
    }
    path.points.push_back(chip_tile ? chip_tile->cells.center() : ImVec2{port.center().x, layout.focus.max.y - 20});
    return true;
  }
  const SmBox* card = card_of(layout, flight.sm);
  if (!card) return false;
  const float x = card->port.center().x, y = card->port.min.y + card->port.width() / 2;
  path.points.push_back({x, card->port.max.y});
  path.points.push_back({x, y});
  path.port = path.points.size() - 1;
  path.points.push_back({card->box.max.x - 6, y});
  return true;
}

}  // namespace

float FlightPath::length_from(std::size_t point) const {
  float sum = 0;
  for (std::size_t i = point + 1; i < points.size(); ++i)
    if (i != jump) sum += distance(points[i - 1], points[i]);
  return sum;
}

ImVec2 FlightPath::at(float along) const {
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (i == jump) continue;
    const float part = distance(points[i - 1], points[i]);
    if (along <= part && part > 0) {
      const float t = std::max(along, 0.0F) / part;
      return {points[i - 1].x + (points[i].x - points[i - 1].x) * t, points[i - 1].y + (points[i].y - points[i - 1].y) * t};
    }
    along -= part;
  }
  return points.empty() ? ImVec2{} : points.back();
}

const TileInFlight* fetch_of(const TileRef& tile, std::span<const TileInFlight> flights) {
  const auto found = std::ranges::find_if(
      flights, [&](const TileInFlight& each) { return each.to_sm && each.hbm_bytes > 0 && each.tile == tile; });
  return found == flights.end() ? nullptr : &*found;
}

WaitsAt waits_at(const TileInFlight& load, std::span<const TileInFlight> flights, bool all_known) {
  if (load.hbm_bytes > 0 || fetch_of(load.tile, flights) != nullptr) return WaitsAt::hbm;
  return all_known ? WaitsAt::l2 : WaitsAt::link;
}

ImVec2 tile_in_hbm(const StageLayout& layout, const TileInFlight& flight, const TensorLayout& tensor, std::int64_t shown_plane) {
  const TensorBox& box = *layout.find(flight.tile.tensor);
  return flight.tile.plane == shown_plane ? tile_position(box, tensor, flight.tile) : box.label.center();
}

std::optional<FlightPath> flight_path(const StageLayout& layout, const TileInFlight& flight, const TensorLayout& tensor,
                                      int focus_sm, int ring, std::int64_t shown_plane) {
  const TensorBox* box = layout.find(flight.tile.tensor);
  if (!box || !box->here) return std::nullopt;
  FlightPath path;
  const ImVec2 home = tile_in_hbm(layout, flight, tensor, shown_plane);
  const bool from_hbm = !layout.has_l2 || (flight.to_sm && flight.hbm_bytes > 0);
  const ImVec2 in_l2 = layout.has_l2 ? place_in_l2(layout, *box, flight.sm, focus_sm) : home;
  if (from_hbm) {  // up at the right edge, beside the name
    const float right = std::max(home.x, box->box.max.x - box->box.width() * beside_name);
    path.points.push_back(home);
    path.points.push_back({right, home.y});
    path.points.push_back({right, layout.hbm.min.y});
  }
  if (from_hbm && layout.has_l2) path.points.push_back({box->lane.center().x, layout.hbm.min.y});
  if (layout.has_l2) path.points.push_back(in_l2);
  const std::size_t lane_end = path.points.size();
  if (!add_port(path, layout, flight, focus_sm, ring)) return std::nullopt;
  // Inside the L2 there is nothing to see of it.
  if (layout.has_l2) path.jump = lane_end;
  if (!flight.to_sm) {
    std::reverse(path.points.begin(), path.points.end());
    path.port = path.points.size() - 1 - path.port;
    if (path.jump > 0) path.jump = path.points.size() - path.jump;
  }
  return path;
}

}  // namespace tilescope
