// Draws intervals as bars, or as density if too dense, and bandwidth as filled curves.
#include "app/views/timeline/timeline_picture.h"

#include <algorithm>
#include <cmath>

#include "app/ui/language.h"

namespace tilescope {
namespace {

constexpr float column_width = 2;       // pixels of one density column
constexpr float bars_per_pixel = 0.3F;  // above this, bars become density

struct Painter {
  const Theme& theme;
  const TimelineLayout& layout;
  const TimeWindow& window;
  std::optional<Tensor> lit;
  TimelinePicture& picture;

  float x_of(double cycle) const {
    const double x = window.x_of(cycle, layout.plot.min.x, layout.plot.width());
    return static_cast<float>(std::clamp(x, static_cast<double>(layout.plot.min.x), static_cast<double>(layout.plot.max.x)));
  }
  ImU32 color_of(Tensor tensor) const { return with_alpha(theme.color(tensor), lit && *lit != tensor ? 0.25F : 1.0F); }
};

/// Line style of a stall: solid for memory, dashed for a busy unit, dotted for a held buffer or slot.
struct WaitLook {
  const char* name;
  float on = 0, off = 0;  // points; 0: solid
};
WaitLook look_of(WaitCause cause) {
  switch (cause) {
    case WaitCause::none:
    case WaitCause::program_order:
      break;
    case WaitCause::data:
      return {tr("data")};
    case WaitCause::l2_path:
      return {"L2"};
    case WaitCause::hbm:
      return {"HBM"};
    case WaitCause::buffer:
      return {tr("buffer"), 2, 3};
    case WaitCause::block_slot:
      return {tr("block slot"), 2, 3};
    case WaitCause::tensor:
      return {tr("tensor"), 7, 4};
    case WaitCause::exp:
      return {tr("exp"), 7, 4};
    case WaitCause::fp32:
      return {tr("FP32"), 7, 4};
    case WaitCause::smem:
      return {tr("port"), 7, 4};
    case WaitCause::barrier:
      return {tr("barrier"), 7, 4};
    case WaitCause::launch:
      return {tr("launch"), 2, 3};
  }
  return {""};
}

/// Returns true if a bar of the row lies between two pixels.
bool bar_between(const Painter& paint, const UnitLane& lane, float from, float to) {
  const double left = paint.window.cycle_at(from, paint.layout.plot.min.x, paint.layout.plot.width());
  const double right = paint.window.cycle_at(to, paint.layout.plot.min.x, paint.layout.plot.width());
  const auto [first, last] = lane.visible(left, right);
  for (std::size_t i = first; i < last; ++i)
    if (lane.bars[i].start < right && lane.bars[i].end > left) return true;
  return false;
}

void add_wait(const Painter& paint, const TimelineRow& row, const Interval& interval) {
  if (interval.cause == WaitCause::none || interval.cause == WaitCause::program_order) return;
  const float from = paint.x_of(interval.ready), to = paint.x_of(interval.start), scale = paint.theme.scale;
  const float thickness = std::max(1.0F, 2 * scale), middle = row.rect.center().y;
  if (to - from < 2 * scale) return;
  const ImU32 color = paint.theme.wait[static_cast<std::size_t>(interval.cause)];
  const WaitLook look = look_of(interval.cause);
  const float end = to - scale, step = look.on > 0 ? (look.on + look.off) * scale : end - from,
              on = look.on > 0 ? look.on * scale : step;
  for (float x = from; x < end; x += std::max(step, 1.0F)) {
    Quad line;
    line.min = {x, middle - thickness * 0.5F};
    line.max = {std::min(x + on, end), middle + thickness * 0.5F};
    line.fill = with_alpha(color, 0.75F);
    paint.picture.quads->add(line);
  }
  Quad tick;  // start of the stall
  tick.min = {from, middle - 2.5F * thickness};
  tick.max = {from + thickness * 0.75F, middle + 2.5F * thickness};
  tick.fill = with_alpha(color, 0.9F);
  paint.picture.quads->add(tick);
}

/// Stall names already placed on a row.
struct PlacedName {
  std::string_view name;
  float from = 0, to = 0;
};

/// The name of a wait on its line, in the middle or beside it; left out where bars or other names stand in every place, and where
/// the same name already stands over this stretch. After all lines of the row, so that none crosses a name.
void add_wait_name(const Painter& paint, const TimelineRow& row, const UnitLane& lane, const Interval& interval,
                   std::vector<PlacedName>& placed) {
  if (interval.cause == WaitCause::none || interval.cause == WaitCause::program_order) return;
  const ImFont* font = paint.theme.ui_small;
  if (!font || row.rect.height() < font->FontSize * name_line) return;
  const float from = paint.x_of(interval.ready), to = paint.x_of(interval.start), scale = paint.theme.scale;
  const WaitLook look = look_of(interval.cause);
  const float width = text_width(font, look.name), pad = 5 * scale;
  if (width + 4 * pad > to - from || bar_between(paint, lane, from + scale, to - scale)) return;
  const auto same_name = [&](const PlacedName& other) { return other.name == look.name && other.from < to && other.to > from; };
  if (std::any_of(placed.begin(), placed.end(), same_name)) return;
  for (const float share : {0.5F, 0.25F, 0.75F}) {
    const float left = std::floor(from + (to - from) * share - width * 0.5F);
    const PlacedName place{look.name, left - pad, left + width + pad};
    if (place.from < from || place.to > to) continue;
    const auto in_the_way = [&](const PlacedName& other) { return other.from < place.to && other.to > place.from; };
    if (std::any_of(placed.begin(), placed.end(), in_the_way)) continue;
    Quad gap;  // the lines make way for the name
    const float half = std::min(font->FontSize * 0.55F, row.rect.height() * 0.5F - scale);
    gap.min = {left - pad * 0.6F, row.rect.center().y - half};
    gap.max = {left + width + pad * 0.6F, row.rect.center().y + half};
    gap.fill = paint.theme.inset;
    paint.picture.quads->add(gap);
    const ImU32 color = paint.theme.wait[static_cast<std::size_t>(interval.cause)];
    paint.picture.texts.push_back(
        {{left, std::floor(row.rect.center().y - font->FontSize * 0.5F)}, mix(color, paint.theme.text, 0.35F), look.name});
    placed.push_back(place);
    return;
  }
}

void add_bar(const Painter& paint, const TimelineRow& row, const UnitLane& lane, const LaneBar& bar, const StepLabel& label,
             const Simulation& simulation) {
  const float scale = paint.theme.scale;
  const Rect track = timeline_track(row, lane, bar.track, scale);
  const float from = paint.x_of(bar.start), to = std::max(paint.x_of(bar.end), from + 1);
  const float gap = to - from > 6 * scale ? scale : 0;  // neighbours stay two bars
  Quad quad;
  quad.min = {from, track.min.y};
  quad.max = {to - gap, track.max.y};
  quad.radius = std::min({3 * scale, track.height() * 0.3F, (to - from) * 0.25F});
  quad.fill = paint.color_of(label.tensor);
  paint.picture.quads->add(quad);

  const ImFont* font = paint.theme.ui_small;
  if (!font || track.height() < font->FontSize * 0.95F || to - from < 12 * scale) return;
  std::string name = step_name(simulation, label);
  const float width = text_width(font, name);
  if (width + 8 * scale > to - from) return;
  const ImVec2 at = {std::floor((from + to - width) * 0.5F), std::floor(track.center().y - font->FontSize * 0.5F)};
  paint.picture.texts.push_back({at, text_on(paint.theme, quad.fill), std::move(name)});
}

void add_density(const Painter& paint, const TimelineRow& row, const UnitLane& lane) {
  const int columns = std::max(1, static_cast<int>(row.rect.width() / column_width));
  const auto density_columns = density(lane, paint.window.begin, paint.window.end, columns);
  const float inset = std::min(2 * paint.theme.scale, row.rect.height() * 0.1F);
  const float bottom = row.rect.max.y - inset, height = row.rect.height() - 2 * inset;
  for (int c = 0; c < columns; ++c) {
    const DensityColumn& column = density_columns[static_cast<std::size_t>(c)];
    float base = bottom;
    for (std::size_t k = 0; k < 2; ++k) {
      if (column.share[k] <= 0.004F) continue;
      Quad quad;
      quad.max = {row.rect.min.x + static_cast<float>(c + 1) * column_width, base};
      base -= column.share[k] * height;
      quad.min = {quad.max.x - column_width, base};
      quad.fill = paint.color_of(column.tensor[k]);
      paint.picture.quads->add(quad);
    }
  }
}

void add_lane(const Painter& paint, const TimelineRow& row, const UnitLane& lane, std::span<const Interval> intervals,
              std::span<const StepLabel> labels, const Simulation& simulation) {
  if (lane_is_dense(paint.layout, lane, paint.window)) {
    add_density(paint, row, lane);
    return;
  }
  const auto [first, last] = lane.visible(paint.window.begin, paint.window.end);
  for (std::size_t i = first; i < last; ++i) add_wait(paint, row, intervals[static_cast<std::size_t>(lane.bars[i].interval)]);
  for (std::size_t i = first; i < last; ++i)
    if (lane.bars[i].end >= paint.window.begin)
      add_bar(paint, row, lane, lane.bars[i], labels[static_cast<std::size_t>(lane.bars[i].interval)], simulation);
  std::vector<PlacedName> placed;
  for (std::size_t i = first; i < last; ++i)
    add_wait_name(paint, row, lane, intervals[static_cast<std::size_t>(lane.bars[i].interval)], placed);
}

/// Colours the idle time of the tensor cores by what it waits for.
void add_bubbles(const Painter& paint, const TimelineRow& row, const TensorBubbles& found) {
  constexpr std::array<WaitCause, bubble_causes> colors = {WaitCause::exp, WaitCause::launch, WaitCause::data, WaitCause::barrier};
  const auto seen = [&](const Bubble& bubble, double time) { return bubble.end < time; };
  auto bubble = std::lower_bound(found.bubbles.begin(), found.bubbles.end(), paint.window.begin, seen);
  float drawn_to = 0;
  for (; bubble != found.bubbles.end() && bubble->start < paint.window.end; ++bubble) {
    const float from = paint.x_of(bubble->start), to = paint.x_of(bubble->end);
    if (to - from < paint.theme.scale || to <= drawn_to) continue;
    Quad quad;
    quad.min = {from, row.rect.min.y + paint.theme.scale};
    quad.max = {to, row.rect.max.y - paint.theme.scale};
    quad.fill = with_alpha(paint.theme.wait[static_cast<std::size_t>(colors[static_cast<std::size_t>(bubble->cause)])], 0.3F);
    paint.picture.quads->add(quad);
    drawn_to = to;
  }
}

void add_curve(const Painter& paint, const TimelineRow& row, const BandwidthCurve& curve) {
  const double top = curve_top(curve);
  if (top <= 0) return;
  const float pad = std::min(2 * paint.theme.scale, row.rect.height() * 0.1F), height = row.rect.height() - 2 * pad;
  std::vector<ImVec2> line;
  const float last = std::min(paint.x_of(paint.window.whole), row.rect.max.x);
  for (float x = row.rect.min.x; x < last; x += column_width) {
    const double rate = curve_rate_at(curve, paint.window, paint.layout, x + column_width * 0.5F);
    const auto share = static_cast<float>(std::clamp(rate / top, 0.0, 1.0));
    const float y = row.rect.max.y - pad - share * height;
    line.push_back({x, y});
    if (share < 0.004F) continue;
    Quad quad;
    quad.min = {x, y};
    quad.max = {x + column_width, row.rect.max.y - pad};
    quad.fill = with_alpha(paint.theme.accent, row.kind == TimelineRow::Kind::hbm ? 0.28F : 0.18F);
    paint.picture.quads->add(quad);
  }
  paint.picture.lines.push_back(std::move(line));
  for (const double rate : {curve.ceiling, curve.unshared_ceiling}) {
    if (rate <= 0 && curve.ceiling > 0) continue;
    const float y = row.rect.min.y + pad + (curve.ceiling > 0 ? static_cast<float>(1 - rate / curve.ceiling) * height : 0);
    Quad ceiling;
    ceiling.min = {row.rect.min.x, y};
    ceiling.max = {row.rect.max.x, y + std::max(1.0F, std::floor(paint.theme.scale))};
    ceiling.fill = with_alpha(paint.theme.text_faint, 0.45F);
    paint.picture.quads->add(ceiling);
  }
}

}  // namespace

TimelineLayout timeline_frame(const Rect& area, const TimelineShape& shape) {
  TimelineLayout layout;
  layout.area = area;
  layout.scale = shape.scale;
  const float axis = std::ceil(std::min(17 * shape.scale, area.height() * 0.2F));
  layout.axis = {{area.min.x + shape.gutter, area.max.y - axis}, area.max};
  layout.plot = {{area.min.x + shape.gutter, area.min.y}, {area.max.x, area.max.y - axis}};
  return layout;
}

float scroll_to(const TimelineLayout& layout, const TimelineRow& row, float scroll) {
  const float above = layout.plot.min.y + layout.launch_strip - row.rect.min.y, below = row.rect.max.y - layout.plot.max.y;
  return std::clamp(above > 0 ? scroll - above : below > 0 ? scroll + below : scroll, 0.0F, layout.hidden);
}

TimelineLayout lay_out_timeline(const Rect& area, const TimelineShape& shape) {
  const float scale = shape.scale;
  TimelineLayout layout = timeline_frame(area, shape);
  layout.launch_strip = shape.several_launches && layout.plot.height() > 90 * scale ? std::round(14 * scale) : 0;

  // Heights in parts of a plain lane; several loads in flight need room beside each other.
  constexpr float curve = 1.1F;
  std::size_t most_lanes = shape.groups > 1 ? std::max(shape.lanes[0], shape.lanes[1]) : shape.lanes[0];
  const auto parts = [&most_lanes](int curves, float copy) {
    return static_cast<float>(most_lanes) - 1 + copy + curve * static_cast<float>(curves);
  };
  const float between = shape.groups > 1 ? 5 * scale : 0, groups = static_cast<float>(shape.groups);
  // In Race the launches of each have a row of their own, so that three beside one are seen from afar.
  const float whole = (layout.plot.height() - layout.launch_strip - between) / groups, launch_row = std::round(14 * scale);
  const bool leaves_out = shape.leaves_out && shape.groups > 1;
  const float least_lanes = leaves_out ? shape.least_lane : std::max(38 * scale, shape.least_lane * parts(0, 1));
  const bool launch_rows = shape.groups > 1 && whole - launch_row > least_lanes;
  const float launches = launch_rows ? launch_row : 0, height = whole - launches;
  if (leaves_out) most_lanes = std::clamp<std::size_t>(static_cast<std::size_t>(height / shape.least_lane), 1, most_lanes);
  int curves = shape.groups > 1 ? 1 : 2;
  while (curves > 0 && height < shape.least_lane * parts(curves, 1)) --curves;
  const float most_copy = shape.groups == 1 ? std::min(1 + 0.25F * static_cast<float>(shape.copy_tracks - 1), 2.0F) : 1;
  const float copy = std::clamp(height / shape.least_lane - parts(curves, 0), 1.0F, most_copy);
  const float part = std::min(std::max(height / parts(curves, copy), shape.least_lane), shape.most_lane * scale);

  layout.hidden = std::max(0.0F, groups * (part * parts(curves, copy) - height));
  const float scroll = std::clamp(shape.scroll, 0.0F, layout.hidden);
  layout.lane_height = part;
  float y = layout.plot.min.y + layout.launch_strip - scroll;
  const auto add_row = [&](TimelineRow::Kind kind, std::size_t group, std::size_t unit, float tall) {
    const float bottom = y + (kind == TimelineRow::Kind::launches ? launches : tall * part);
    layout.rows.push_back({kind, group, unit, {{layout.plot.min.x, std::floor(y)}, {layout.plot.max.x, std::floor(bottom)}}});
    y = bottom;
  };
  for (std::size_t group = 0; group < shape.groups; ++group) {
    if (launches > 0) add_row(TimelineRow::Kind::launches, group, 0, 0);
    if (curves > 0) add_row(TimelineRow::Kind::hbm, group, 0, curve);
    if (curves > 1) add_row(TimelineRow::Kind::l2, group, 0, curve);
    for (std::size_t unit = 0; unit < std::min(shape.lanes[group], most_lanes); ++unit)
      add_row(TimelineRow::Kind::unit, group, unit, unit == 0 ? copy : 1);  // loads are the first lane
    y += between;
  }
  return layout;
}

Rect timeline_track(const TimelineRow& row, const UnitLane& lane, int track, float scale) {
  const float inset = row.rect.height() > 12 * scale ? 2 * scale : scale * 0.5F;
  const Rect body = {{row.rect.min.x, row.rect.min.y + inset}, {row.rect.max.x, row.rect.max.y - inset}};
  const int tracks = std::clamp(static_cast<int>(body.height() / 3), 1, lane.tracks);  // thinner than that they are one blur
  const float height = body.height() / static_cast<float>(tracks);
  const float top = body.min.y + height * static_cast<float>(std::min(track, tracks - 1));
  return {{body.min.x, top}, {body.max.x, top + height - (tracks > 1 ? std::min(1.0F, scale) : 0)}};
}

bool lane_is_dense(const TimelineLayout& layout, const UnitLane& lane, const TimeWindow& window) {
  const auto [first, last] = lane.visible(window.begin, window.end);
  return static_cast<float>(last - first) > layout.plot.width() * bars_per_pixel / layout.scale;
}

double curve_top(const BandwidthCurve& curve) {
  return curve.ceiling;
}

double curve_rate_at(const BandwidthCurve& curve, const TimeWindow& window, const TimelineLayout& layout, float x) {
  const double cycle = window.cycle_at(x, layout.plot.min.x, layout.plot.width());
  const double half = std::max({window.span() / layout.plot.width() * column_width, window.span() / 240, curve.bin_width}) * 0.5;
  return curve.rate_between(cycle - half, cycle + half);
}

void add_lane(TimelinePicture& picture, const Theme& theme, const TimelineLayout& layout, const TimeWindow& window,
              const TimelineRow& row, const UnitLane& lane, std::span<const Interval> intervals, std::span<const StepLabel> labels,
              const Simulation& simulation, std::optional<Tensor> lit) {
  add_lane(Painter{theme, layout, window, lit, picture}, row, lane, intervals, labels, simulation);
}

TimelinePicture make_timeline_picture(const Theme& theme, const TimelineLayout& layout, const TimeWindow& window,
                                      std::span<const std::shared_ptr<const TimelineData>> data,
                                      std::span<const std::shared_ptr<const Simulation>> simulations, std::optional<Tensor> lit,
                                      std::shared_ptr<QuadBatch> quads) {
  TimelinePicture picture;
  picture.quads = quads != nullptr ? std::move(quads) : std::make_shared<QuadBatch>();
  picture.quads->clear();
  const Painter paint{theme, layout, window, lit, picture};
  for (const TimelineRow& row : layout.rows) {
    Quad track;
    track.min = {row.rect.min.x, row.rect.min.y + theme.scale * 0.5F};
    track.max = {row.rect.max.x, row.rect.max.y - theme.scale * 0.5F};
    track.radius = 2 * theme.scale;
    track.fill = with_alpha(theme.inset, 0.7F);
    picture.quads->add(track);
    const TimelineData& of = *data[row.group];  // also where SMs are the lanes: it has the curves
    switch (row.kind) {
      case TimelineRow::Kind::hbm:
        add_curve(paint, row, of.hbm);
        break;
      case TimelineRow::Kind::l2:
        add_curve(paint, row, of.l2);
        break;
      case TimelineRow::Kind::unit:
        if (of.lanes[row.unit].unit == Unit::tensor && of.lanes[row.unit].group < 0) add_bubbles(paint, row, of.bubbles);
        add_lane(paint, row, of.lanes[row.unit], simulations[row.group]->trace->intervals(of.steps->sm), of.steps->labels,
                 *simulations[row.group]);
        break;
      default:  // SMs have a picture of their own
        break;
    }
  }
  return picture;
}

}  // namespace tilescope
