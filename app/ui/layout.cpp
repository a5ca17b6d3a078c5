// The arithmetic of the layout.
#include "app/ui/layout.h"

#include <algorithm>
#include <cmath>

namespace tilescope {

namespace {

/// Minimum sizes in points at scale 1; all shrink equally in a smaller window.
constexpr float least_left = 236, least_right = 290, least_stage = 470, least_upper = 380, least_box = 120;
constexpr float least_three = 1150;  // least width for three columns
constexpr float least_side = 260, side_tabs_height = 26;
constexpr float least_lesson = 300, most_lesson = 460, lesson_share = 0.27F, most_lesson_share = 0.36F;
constexpr float caption_height = 30;  // while presenting, in place of the top bar
constexpr float least_bar = 0.66F;    // least part of a bar's height, for its buttons

struct Measures {
  float gap, bar, transport;
  float left_min, left_max, right_min, right_max, bottom_min, bottom_max;
  float box_min;  // of a box in the right column
  bool one_column;
};

Measures measure(float width, float height, float scale, bool present) {
  Measures m{};
  const float across = std::min(1.0F, width / ((least_left + least_right + least_stage + 40) * scale));
  const float down = std::min(1.0F, height / ((least_bottom + least_upper + 74) * scale));
  const float fit = std::min(across, down);
  m.one_column = width < least_three * scale;
  m.gap = std::max(2.0F, std::round(10 * scale * fit));
  // Bars shrink less than panels, because their buttons must stay clickable.
  const float bar = std::round(std::min(44 * scale * std::max(down, least_bar), 0.12F * height));
  m.bar = present ? std::round(caption_height * scale * down) : bar;
  m.transport = bar;
  m.left_min = m.one_column ? std::min(least_side * scale, 0.36F * width) : least_left * scale * across;
  m.left_max = std::max(m.left_min, width * 0.34F);
  m.right_min = least_right * scale * across;
  m.right_max = std::max(m.right_min, width * 0.38F);
  m.bottom_min = least_bottom * scale * down;
  m.box_min = least_box * scale * down;
  // The timeline never takes what the two boxes of the right column need.
  m.bottom_max = std::max(m.bottom_min, std::min(height * 0.5F, height - m.bar - 4 * m.gap - 2 * m.box_min));
  return m;
}

float between(float value, float low, float high) {
  return std::clamp(value, low, std::max(low, high));
}

float right_width(const Measures& m, float width, float left, float scale, const LayoutShares& shares) {
  const float stage_min = least_stage * scale * std::min(1.0F, m.left_min / (least_left * scale));
  const float room = width - left - 4 * m.gap - stage_min;
  return std::round(std::min(between(shares.right * width, m.right_min, m.right_max), std::max(m.right_min, room)));
}

/// One column: the side panels share the listing's rectangle, and the middle reaches the right edge.
void join_columns(Layout& layout, float scale) {
  const float tabs = std::min(std::round(side_tabs_height * scale), layout.listing.height() * 0.4F);
  layout.one_column = true;
  layout.stage.max.x = layout.traffic.max.x;
  layout.side_tabs = {layout.listing.min, {layout.listing.max.x, layout.listing.min.y + tabs}};
  layout.listing.min.y += tabs;
  layout.softmax = layout.traffic = layout.listing;
  for (const Splitter gone : {Splitter::right, Splitter::softmax}) layout.splitters[static_cast<std::size_t>(gone)] = {};
}

/// Presenting: a caption, the stage, beside it the numbers of the row and as much of the listing as there is room for. The timeline
/// is there where the window is high, or where it has the rows of all SMs: then they are what is shown.
Layout present_layout(float width, float height, float scale, bool sm_rows) {
  constexpr float transport_height = 40, timeline_height = 120, least_height_with_timeline = 640;
  constexpr float sm_rows_share = 0.3F;
  constexpr float softmax_height = 400, least_listing = 200;
  const float down = std::min(1.0F, height / (420 * scale));
  const float gap = std::max(2.0F, std::round(8 * scale * down));
  Layout out;
  const float caption = std::round(caption_height * scale * down), transport = std::round(transport_height * scale * down);
  const float timeline = sm_rows                                        ? std::round(sm_rows_share * height)
                         : height >= least_height_with_timeline * scale ? std::round(timeline_height * scale)
                                                                        : 0;
  const float low = height - gap, split = low - transport - timeline - gap;
  const float right = presented_column(width, scale);
  const float x3 = width - gap - right, x4 = width - gap;
  out.top_bar = {{0, 0}, {width, caption}};
  out.stage = {{gap, caption}, {x3 - gap, split}};
  const float column = split - caption, wanted = std::round(softmax_height * scale);
  const bool listed = column - wanted - gap >= least_listing * scale;
  out.softmax = {{x3, caption}, {x4, listed ? caption + wanted : split}};
  if (listed) out.listing = {{x3, caption + wanted + gap}, {x4, split}};
  out.bottom = {{gap, split + gap}, {x4, low}};
  out.timeline = {{gap, split + gap}, {x4, low - transport}};
  out.transport = {{gap, low - transport}, {x4, low}};
  out.alone = {{gap, caption}, {x4, out.transport.min.y - gap}};
  return out;
}

/// Divides `whole` into equal columns, or rows.
Rect part_of(const Rect& whole, bool columns, int count, int index, float gap) {
  const float length = columns ? whole.width() : whole.height();
  const float each = (length - gap * static_cast<float>(count - 1)) / static_cast<float>(count);
  const float begin = std::round(static_cast<float>(index) * (each + gap)), end = std::round(begin + each);
  return columns ? Rect{{whole.min.x + begin, whole.min.y}, {whole.min.x + end, whole.max.y}}
                 : Rect{{whole.min.x, whole.min.y + begin}, {whole.max.x, whole.min.y + end}};
}

/// The lesson takes the listing's column down to the lower edge; what is below the panels begins beside it.
void give_room_to_lesson(Layout& layout, float gap, float low) {
  const float left = layout.bottom.min.x, right = layout.stage.min.x;
  layout.lesson = {{left, layout.top_bar.max.y + gap}, {right - gap, low}};
  for (Rect* rect : {&layout.bottom, &layout.timeline, &layout.transport, &layout.alone}) rect->min.x = right;
  layout.splitters[static_cast<std::size_t>(Splitter::left)] = {};
  layout.splitters[static_cast<std::size_t>(Splitter::bottom)].min.x = right;
  layout.listing = layout.side_tabs = {};
  if (layout.one_column) layout.softmax = layout.traffic = {};
}

}  // namespace

float scale_of_window(float width, float height) {
  constexpr float least_width = 1280, least_height = 720, design_width = 1600, design_height = 900;
  constexpr float least = 0.6F, most = 2, steps = 20;
  const float larger = std::min(width / design_width, height / design_height);
  const float fits = larger > 1 ? 1 + (larger - 1) / 2 : std::min(1.0F, std::min(width / least_width, height / least_height));
  // The small number absorbs rounding.
  return std::clamp(std::floor(fits * steps + 1e-3F) / steps, least, most);
}

float presented_column(float width, float scale) {
  constexpr float least = 260, share = 0.25F, most_share = 0.42F;
  return std::round(std::min(std::max(share * width, least * scale), most_share * width));
}

Layout compute_layout(float width, float height, float scale, const LayoutShares& shares, bool present, bool lesson, bool sm_rows) {
  if (present && !lesson) return present_layout(width, height, scale, sm_rows);
  const Measures m = measure(width, height, scale, present);
  const float lesson_width =
      std::min(std::clamp(lesson_share * width, least_lesson * scale, most_lesson * scale), most_lesson_share * width);
  const float left = std::round(lesson ? lesson_width : between(shares.left * width, m.left_min, m.left_max));
  const float right = m.one_column ? 0 : right_width(m, width, left, scale, shares);
  const float bottom = std::round(between(shares.bottom * height, m.bottom_min, m.bottom_max));

  Layout out;
  const float top = m.bar + m.gap, low = height - m.gap;
  const float split = low - bottom - m.gap;  // lower edge of the upper panels
  const float x1 = m.gap + left, x2 = x1 + m.gap, x4 = width - m.gap, x3 = x4 - right;
  out.top_bar = {{0, 0}, {width, m.bar}};
  out.listing = {{m.gap, top}, {x1, split}};
  out.stage = {{x2, top}, {x3 - m.gap, split}};
  const float column = split - top - m.gap;
  const float softmax = std::round(between(shares.softmax * column, m.box_min, column - m.box_min));
  out.softmax = {{x3, top}, {x4, top + softmax}};
  out.traffic = {{x3, top + softmax + m.gap}, {x4, split}};
  out.bottom = {{m.gap, split + m.gap}, {x4, low}};
  const float transport = std::min(m.transport, std::round(bottom * 0.5F));
  out.transport = {{m.gap, low - transport}, {x4, low}};
  out.timeline = {{m.gap, split + m.gap}, {x4, low - transport}};
  out.splitters[0] = {{x1, top}, {x2, split}};
  out.splitters[1] = {{x3 - m.gap, top}, {x3, split}};
  out.splitters[2] = {{m.gap, split}, {x4, split + m.gap}};
  out.splitters[3] = {{x3, top + softmax}, {x4, top + softmax + m.gap}};
  out.alone = {{m.gap, top}, {x4, out.transport.min.y - m.gap}};
  if (m.one_column) join_columns(out, scale);
  if (lesson) give_room_to_lesson(out, m.gap, low);
  return out;
}

void give_room_to_race(Layout& layout, float height, float scale, bool sm_rows) {
  constexpr float least_height_with_timeline = 700, whole_race = 432, least_sm_rows = 100;
  layout.stage.max.x = layout.transport.max.x;
  if (sm_rows) {
    // As high as the pictures of both runs allow; where they would leave too little, the rows matter more.
    const float gap = layout.timeline.min.y - layout.stage.max.y, rows = layout.timeline.max.y - layout.stage.min.y - gap;
    const float left = std::floor(rows - whole_race * scale);
    if (left < least_sm_rows * scale || left >= layout.timeline.height()) return;
    layout.timeline.min.y = layout.bottom.min.y = layout.timeline.max.y - left;
    layout.stage.max.y = layout.timeline.min.y - gap;
    return;
  }
  if (height >= least_height_with_timeline * scale) return;
  layout.stage.max.y += layout.timeline.height();
  layout.bottom.min.y = layout.timeline.min.y = layout.timeline.max.y = layout.transport.min.y;
}

Layout present_lesson_layout(float width, float height, float scale, const PresentedLook& look) {
  constexpr float transport_height = 40, timeline_height = 150;
  constexpr float least_middle = 544, least_beside = 255, most_beside = 0.42F, least_row = 180, row_share = 0.48F, most_row = 0.52F;
  const float down = std::min(1.0F, height / (420 * scale)), gap = std::max(2.0F, std::round(8 * scale * down));
  const float caption = std::round(caption_height * scale * down), transport = std::round(transport_height * scale * down);
  const float low = height - gap;
  Layout out;
  out.top_bar = {{0, 0}, {width, caption}};
  float left = gap;
  const float right = width - gap;
  if (look.lesson_share > 0) {
    const float widest = std::max(most_lesson_share, look.lesson_share) * width;
    const float lesson = std::round(std::min(std::max(look.lesson_share * width, least_lesson * scale), widest));
    out.lesson = {{gap, caption}, {gap + lesson, low}};
    left = out.lesson.max.x + gap;
  }
  out.transport = out.bottom = {{left, low - transport}, {right, low}};
  out.alone = {{left, caption}, {right, out.transport.min.y - gap}};
  Rect room = out.alone;
  const bool others = look.middle || look.beside > 0;
  if (look.timeline) {
    const float high = others ? std::min(timeline_height * scale, 0.4F * room.height()) : room.height();
    out.timeline = {{left, std::round(room.max.y - high)}, {right, out.transport.min.y}};
    out.bottom = {out.timeline.min, {right, low}};
    room.max.y = out.timeline.min.y - gap;
  }
  const int beside = std::min(look.beside, 2);
  const bool middle = look.middle || (beside == 0 && !look.timeline);
  Rect panels = room;
  bool stacked = true;
  if (middle && beside > 0) {
    const bool column = room.width() >= (least_middle + least_beside) * scale + gap;
    const float wide = std::min(room.width() - gap - least_middle * scale, most_beside * room.width());
    const float high = std::min(std::max(row_share * room.height(), least_row * scale), most_row * room.height());
    stacked = column;
    panels.min = column ? ImVec2(std::round(room.max.x - wide), room.min.y) : ImVec2(room.min.x, std::round(room.max.y - high));
    column ? room.max.x = panels.min.x - gap : room.max.y = panels.min.y - gap;
  } else if (!middle) {
    stacked = room.width() < 2 * least_beside * scale + gap;
  }
  if (middle) out.stage = room;
  for (int i = 0; i < beside; ++i) (i == 0 ? out.softmax : out.traffic) = part_of(panels, !stacked, beside, i, gap);
  return out;
}

LayoutShares drag_splitter(LayoutShares shares, Splitter splitter, float x, float y, float width, float height, float scale,
                           bool present) {
  const Measures m = measure(width, height, scale, present);
  const Layout now = compute_layout(width, height, scale, shares, present);
  switch (splitter) {
    case Splitter::left:
      shares.left = between(x - 1.5F * m.gap, m.left_min, m.left_max) / width;
      break;
    case Splitter::right:
      shares.right = between(width - x - 1.5F * m.gap, m.right_min, m.right_max) / width;
      break;
    case Splitter::bottom:
      shares.bottom = between(height - y - 1.5F * m.gap, m.bottom_min, m.bottom_max) / height;
      break;
    case Splitter::softmax: {
      const float column = std::max(1.0F, now.traffic.max.y - now.softmax.min.y - m.gap);
      shares.softmax = between(y - 0.5F * m.gap - now.softmax.min.y, m.box_min, column - m.box_min) / column;
      break;
    }
  }
  return shares;
}

}  // namespace tilescope
