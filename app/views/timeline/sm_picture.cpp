// Draws blocks as bars (with their operations, if high enough) or as density.
#include "app/views/timeline/sm_picture.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "app/ui/say.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

constexpr float sm_column_width = 2;        // pixels of one density column
constexpr float sm_bars_per_pixel = 0.15F;  // above this, blocks become density

using Kind = TimelineRow::Kind;

struct SmPainter {
  const Theme& theme;
  const TimelineLayout& layout;
  const TimeWindow& window;
  const TimelineRow& row;
  const SmLanes& lanes;
  TimelinePicture& picture;
  SmColumns columns = make_sm_columns(lanes, window, std::max(1, static_cast<int>(row.rect.width() / sm_column_width)));

  float x_of(double cycle) const {
    const double x = window.x_of(cycle, layout.plot.min.x, layout.plot.width());
    return static_cast<float>(std::clamp(x, static_cast<double>(layout.plot.min.x), static_cast<double>(layout.plot.max.x)));
  }
  ImU32 color_of(int launch) const { return theme.color(lanes.made[static_cast<std::size_t>(launch)]); }
};

/// Draws SMs [first, last) as one density line; merges similar neighbouring columns.
void add_density(const SmPainter& paint, const Rect& rect, int first, int last) {
  const int columns = paint.columns.count;
  const SmDensity density = sm_density(paint.lanes, first, last, paint.columns);
  constexpr int steps = 12;  // merges neighbours one step apart, to save quads
  const auto level_of = [&](int c) { return static_cast<int>(density.level[static_cast<std::size_t>(c)] * steps + 0.5F); };
  const auto launch_of = [&](int c) { return paint.columns.launch[static_cast<std::size_t>(c)]; };
  for (int c = 0, level = level_of(0); c < columns;) {
    const int launch = level > 0 ? launch_of(c) : 0;
    const std::uint8_t edge = density.edge[static_cast<std::size_t>(c)];
    int end = c + 1, next = 0, sum = level;
    for (; end < columns; ++end) {
      next = level_of(end);
      if (std::abs(next - level) > 1 || (next == 0) != (level == 0) || density.edge[static_cast<std::size_t>(end)] != edge) break;
      if (next > 0 && paint.lanes.launches.size() > 1 && launch_of(end) != launch) break;
      sum += next;
    }
    if (level > 0) {
      Quad quad;
      quad.min = {rect.min.x + static_cast<float>(c) * sm_column_width, rect.min.y};
      quad.max = {end == columns ? rect.max.x : rect.min.x + static_cast<float>(end) * sm_column_width, rect.max.y};
      const float share = static_cast<float>(sum) / static_cast<float>(steps * (end - c));
      quad.fill = with_alpha(paint.color_of(launch), (0.15F + 0.85F * share) * (edge != 0 ? 0.55F : 1));
      paint.picture.quads->add(quad);
    }
    c = end;
    level = next;
  }
}

void add_bar(const SmPainter& paint, const Rect& band, std::size_t index, bool inside) {
  const BlockRun& run = paint.lanes.runs[index];
  const Theme& theme = paint.theme;
  const float from = paint.x_of(run.start), to = std::max(paint.x_of(run.end), from + 1);
  const float gap = to - from > 5 ? 1 : 0;
  Quad quad;
  quad.min = {from, band.min.y};
  quad.max = {to - gap, band.max.y};
  quad.radius = std::min({2 * theme.scale, band.height() * 0.25F, (to - from) * 0.25F});
  // Alternate blocks are paler, so that waves show in thin rows.
  const ImU32 color = mix(paint.color_of(run.launch), theme.inset, index % 2 == 0 ? 0 : 0.22F);
  quad.fill = inside ? with_alpha(color, 0.3F) : color;
  if (inside) quad.border = with_alpha(color, 0.8F), quad.border_width = 1;
  paint.picture.quads->add(quad);
  const ImFont* font = theme.ui_small;
  if (inside || font == nullptr || band.height() < font->FontSize * 0.95F) return;
  std::string name = say(tr("block {}"), format_count(run.block));
  const float width = text_width(font, name);
  if (width + 8 * theme.scale > to - from) return;
  const ImVec2 at = {std::floor((from + to - width) * 0.5F), std::floor(band.center().y - font->FontSize * 0.5F)};
  paint.picture.texts.push_back({at, text_on(theme, color), std::move(name)});
}

/// Returns a block slot's part of an SM's row.
Rect band_of(const SmLanes& lanes, const Rect& rect, int place, int launch) {
  const float height = rect.height() / static_cast<float>(lanes.places_of[static_cast<std::size_t>(launch)]);
  const float top = rect.min.y + height * static_cast<float>(place), gap = height >= 6 ? 1 : 0;
  return {{rect.min.x, std::floor(top)}, {rect.max.x, std::floor(top + height) - gap}};
}

/// Draws the operations inside a slot's blocks, if visible.
const UnitLane* inside_of(const SmPainter& paint, const SmWork* work, int place, const Rect& band) {
  if (work == nullptr || band.height() < least_inside * paint.theme.scale || place >= static_cast<int>(work->places.size()))
    return nullptr;
  const UnitLane& lane = work->places[static_cast<std::size_t>(place)];
  return lane_is_dense(paint.layout, lane, paint.window) ? nullptr : &lane;
}

/// Draws one SM, with one band per block slot if there is room.
void add_sm(const SmPainter& paint, const Rect& rect, int sm, const SmWork* work) {
  const SmLanes& lanes = paint.lanes;
  const float most = paint.layout.plot.width() * sm_bars_per_pixel / paint.theme.scale;
  // Launches can have different numbers of block slots.
  int fewest = lanes.places, places = 1;
  bool few = true;
  for (int place = 0; few && place < lanes.places; ++place) {
    const auto [first, last] = lanes.visible(sm, place, paint.window.begin, paint.window.end);
    few = static_cast<float>(last - first) <= most;
    for (std::size_t i = first; few && i < last; ++i) {
      const int of_launch = lanes.places_of[static_cast<std::size_t>(lanes.runs[i].launch)];
      fewest = std::min(fewest, of_launch);
      places = std::max(places, of_launch);
    }
  }
  if (!few || rect.height() / static_cast<float>(places) < least_bar) return add_density(paint, rect, sm, sm + 1);
  for (int place = 0; place < places; ++place) {
    const auto [first, last] = lanes.visible(sm, place, paint.window.begin, paint.window.end);
    if (first == last) continue;
    const Rect own = band_of(lanes, rect, place, lanes.runs[first].launch);
    const UnitLane* lane = fewest == places ? inside_of(paint, work, place, own) : nullptr;
    for (std::size_t i = first; i < last; ++i)
      add_bar(paint, band_of(lanes, rect, place, lanes.runs[i].launch), i, lane != nullptr);
    if (lane == nullptr) continue;
    const TimelineRow row{Kind::unit, paint.row.group, 0, {{own.min.x, own.min.y + 1}, {own.max.x, own.max.y - 1}}};
    add_lane(paint.picture, paint.theme, paint.layout, paint.window, row, *lane, work->simulation->trace->intervals(sm),
             work->steps.labels, *work->simulation, std::nullopt);
  }
}

}  // namespace

void add_sm_blocks(TimelinePicture& picture, const Theme& theme, const TimelineLayout& layout, const TimeWindow& window,
                   const TimelineRow& row, const SmRows& rows, const SmLanes& lanes, const SmWorks* works) {
  const SmPainter paint{theme, layout, window, row, lanes, picture};
  const double height = row.rect.height() / rows.count;
  const auto clipped = [&](Rect rect) {
    rect.min.y = std::max(rect.min.y, row.rect.min.y);
    rect.max.y = std::min(rect.max.y, row.rect.max.y);
    return rect;
  };
  if (height < 1) {  // several SMs per line
    for (float y = row.rect.min.y; y < row.rect.max.y; ++y) {
      const double from = rows.first + (y - row.rect.min.y) / height, to = rows.first + (y + 1 - row.rect.min.y) / height;
      const int first = std::clamp(static_cast<int>(from), 0, lanes.sm_count - 1),
                last = std::clamp(static_cast<int>(to), first + 1, lanes.sm_count);
      add_density(paint, {{row.rect.min.x, y}, {row.rect.max.x, y + 1}}, first, last);
    }
    return;
  }
  for (int sm = std::max(0, static_cast<int>(rows.first)); sm < std::min<double>(rows.first + rows.count, lanes.sm_count); ++sm) {
    Rect rect = clipped(sm_rect(row, rows, sm));
    if (rect.height() < 1) continue;
    if (rect.height() >= 8)
      rect.max.y -= 2;
    else if (rect.height() >= 4)
      rect.max.y -= 1;
    add_sm(paint, rect, sm, works != nullptr ? works->of(sm) : nullptr);
  }
}

}  // namespace tilescope
