// Places Race's two columns with equal widths, so that equal lengths mean equal bytes.
#include "app/stage/race_layout.h"

#include <algorithm>
#include <cmath>

namespace tilescope {

RaceLayout layout_race(const Rect& area, const StageMetrics& metrics) {
  const float scale = metrics.scale, gap = metrics.gap, pad = metrics.padding;
  const float verdict_height = std::clamp(0.1F * area.height(), 52 * scale, 88 * scale);
  const float counter_height = std::clamp(0.045F * area.height(), 20 * scale, 32 * scale);
  RaceLayout layout;
  layout.verdict = {{area.min.x, std::round(area.max.y - verdict_height)}, area.max};
  const float bottom = layout.verdict.min.y - gap;
  for (int i = 0; i < 2; ++i) {
    RaceColumn& column = layout.columns[static_cast<std::size_t>(i)];
    const CellSpan x = cell_span(area.min.x, area.max.x + gap, 2, i);
    column.box = {{x.begin, area.min.y}, {x.end - gap, bottom}};
    const float left = x.begin + pad, right = x.end - gap - pad;
    float y = area.min.y + 0.6F * pad;
    column.title = {{left, y}, {left + 0.52F * (right - left), y + metrics.line}};
    column.finish = {{column.title.max.x + gap, y}, {right, y + metrics.line}};
    y = std::round(y + metrics.line + 0.4F * pad);
    column.strip = {{left, y}, {right, std::round(y + 14 * scale)}};
    float under = bottom - 0.6F * pad;
    for (int c = 2; c >= 0; --c) {
      column.counters[static_cast<std::size_t>(c)] = {{left, std::round(under - counter_height)}, {right, std::round(under)}};
      under -= counter_height;
    }
    column.stage = {{left, column.strip.max.y + gap}, {right, std::round(under - 0.4F * pad)}};
  }
  return layout;
}

CounterParts counter_parts(const Rect& counter, const StageMetrics& metrics) {
  const float label = std::min(84 * metrics.scale, 0.24F * counter.width()), value = 11 * metrics.digit;
  CounterParts parts;
  parts.label = {counter.min, {counter.min.x + label, counter.max.y}};
  parts.value = {{counter.max.x - value, counter.min.y}, counter.max};
  const float half = std::min(5 * metrics.scale, counter.height() / 2 - 1), middle = std::round(counter.center().y);
  parts.bar = {{parts.label.max.x, middle - half}, {parts.value.min.x - metrics.gap, middle + half}};
  return parts;
}

}  // namespace tilescope
