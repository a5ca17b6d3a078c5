// Places the large boxes of the stage: the SM in focus, the other SMs, L2, HBM and the links between them.
#include "app/views/stage/stage_layout.h"

#include <algorithm>
#include <cmath>

namespace tilescope {

namespace {

Rect rect_of(float x, float y, float width, float height) {
  return {{std::round(x), std::round(y)}, {std::round(x + width), std::round(y + height)}};
}

constexpr int most_cards = 5;

/// Heights of the bands, from the top: SMs, gap, L2, gap, HBM.
struct Bands {
  float sm = 0, gap = 0, l2 = 0, hbm = 0;
};

Bands bands_of(float height, bool has_l2, const StageMetrics& metrics) {
  const float scale = metrics.scale;
  Bands bands;
  bands.hbm = metrics.tight ? 77 * scale : std::clamp((metrics.presented ? 0.18F : 0.205F) * height, 72 * scale, 210 * scale);
  bands.l2 = !has_l2 ? 0 : metrics.tight ? 38 * scale : std::clamp(0.082F * height, 38 * scale, 68 * scale);
  bands.gap = std::clamp((metrics.presented ? 0.062F : 0.078F) * height, (metrics.presented ? 33 : 26) * scale, 72 * scale);
  bands.sm = height - bands.hbm - bands.l2 - bands.gap * (has_l2 ? 2 : 1);
  return bands;
}

void place_cards(StageLayout& layout, int sm_count, int focus_sm, float link_bottom, float port_width,
                 const StageMetrics& metrics) {
  const int count = sm_count - 1;
  const float gutter = static_cast<float>(count) * (port_width + 4 * metrics.scale) + 4 * metrics.scale;
  const Rect& area = layout.others;
  const float height = (area.height() - static_cast<float>(count - 1) * metrics.gap) / static_cast<float>(count);
  int index = 0;
  for (int sm = 0; sm < sm_count; ++sm) {
    if (sm == focus_sm) continue;
    SmBox box;
    box.sm = sm;
    const float top = area.min.y + static_cast<float>(index) * (height + metrics.gap);
    box.box = rect_of(area.min.x, top, area.width() - gutter, height);
    // The topmost card has the outermost link, so that links do not cross.
    const float x = area.max.x - port_width - static_cast<float>(index) * (port_width + 4 * metrics.scale);
    const float from = box.box.center().y - port_width / 2;
    box.port = rect_of(x, from, port_width, link_bottom - from);
    layout.sms.push_back(box);
    ++index;
  }
}

void place_grid(StageLayout& layout, int sm_count, const StageMetrics& metrics) {
  layout.grid = true;
  const Rect& box = layout.others;
  const float pad = metrics.padding;
  layout.others_label = rect_of(box.min.x + pad, box.min.y + pad * 0.7F, box.width() - 2 * pad, metrics.small_line);
  const Rect area = {{box.min.x + pad, layout.others_label.max.y + pad * 0.6F}, {box.max.x - pad, box.max.y - pad}};
  const double aspect = static_cast<double>(area.width()) / std::max(area.height(), 1.0F);
  const int columns = std::clamp(static_cast<int>(std::lround(std::sqrt(sm_count * aspect))), 1, sm_count);
  const int rows = (sm_count + columns - 1) / columns;
  for (int sm = 0; sm < sm_count; ++sm) {
    const CellSpan x = cell_span(area.min.x, area.max.x, columns, sm % columns);
    const CellSpan y = cell_span(area.min.y, area.max.y, rows, sm / columns);
    layout.sms.push_back({sm, {{x.begin, y.begin}, {x.end - 2, y.end - 2}}, {}});
  }
}

void place_l2(StageLayout& layout, const GpuSpec& gpu, float label_width, const StageMetrics& metrics) {
  const Rect& box = layout.l2;
  const float pad = metrics.padding;
  layout.l2_label = {{box.min.x + pad, box.min.y + 2}, {box.min.x + label_width, box.max.y - 2}};
  const int partitions = std::clamp(static_cast<int>(gpu.l2_partitions), 1, 4);
  const float height = std::min(box.height() - 14 * metrics.scale, 34 * metrics.scale);
  const float left = layout.l2_label.max.x + pad, right = box.max.x - pad;
  for (int i = 0; i < partitions; ++i) {
    const CellSpan x = cell_span(left, right + metrics.gap, partitions, i);
    layout.l2_bars.push_back(rect_of(x.begin, box.center().y - height / 2, x.end - x.begin - metrics.gap, height));
  }
}

void place_focus(StageLayout& layout, const GpuSpec& gpu, float link_bottom, const StageMetrics& metrics) {
  const Rect& box = layout.focus;
  const float pad = metrics.padding, left = box.min.x + pad, width = box.width() - 2 * pad;
  layout.focus_title = rect_of(left, box.min.y + pad * 0.6F, width, metrics.line);
  const float operation = metrics.tight ? std::min(metrics.operation_line, 1.3F * metrics.line) : metrics.operation_line;
  layout.operation_line = rect_of(left, layout.focus_title.max.y, width, operation);

  const float port = link_width(gpu.sm_l2_bytes_per_cycle, metrics), top = box.max.y, height = link_bottom - box.max.y;
  layout.port_up = rect_of(box.min.x + 0.44F * box.width(), top, port, height);
  layout.port_down = rect_of(box.min.x + 0.74F * box.width(), top, port, height);
  layout.upper_note = rect_of(left, top + 3 * metrics.scale, 0.36F * box.width() - pad, height - 6 * metrics.scale);
}

}  // namespace

bool is_whole(ImVec2 size, ImVec2 whole, float scale) {
  constexpr float least_part = 0.9F;  // of it everything still fits, closer together
  constexpr float rounding = 0.5F;    // of a pixel, where the size is the difference of two corners
  const float share = least_part * scale;
  return size.x >= share * whole.x - rounding && size.y >= share * whole.y - rounding;
}

ImVec2 picture_size(ImVec2 room, ImVec2 whole, ImVec2 least, float scale) {
  if (is_whole(room, whole, scale)) return room;
  return {std::max(room.x, least.x * scale), std::max(room.y, least.y * scale)};
}

StageMetrics stage_metrics(const Theme& theme) {
  StageMetrics metrics;
  metrics.scale = theme.scale;
  metrics.line = std::ceil(theme.ui->FontSize + 4 * theme.scale);
  metrics.operation_line = metrics.line;
  metrics.small_line = std::ceil(theme.ui_small->FontSize + 3 * theme.scale);
  metrics.digit = text_width(theme.mono_small, "0");
  metrics.tiny_digit = text_width(theme.mono_tiny, "0");
  metrics.tiny_line = std::ceil(theme.mono_tiny->FontSize);
  metrics.large_digit = text_width(theme.mono, "0");
  metrics.large_line = std::ceil(theme.mono->FontSize + 2 * theme.scale);
  metrics.gap = theme.gap;
  metrics.padding = theme.padding;
  return metrics;
}

CellSpan cell_span(float begin, float end, int shown, int cell) {
  const float width = (end - begin) / static_cast<float>(std::max(shown, 1));
  return {std::round(begin + width * static_cast<float>(cell)), std::round(begin + width * static_cast<float>(cell + 1))};
}

float link_width(double bytes_per_cycle, const StageMetrics& metrics) {
  return std::round(std::clamp(static_cast<float>(bytes_per_cycle) * 0.22F, 9.0F, 26.0F) * metrics.scale);
}

const ChipTileBox* StageLayout::find(ChipTile chip_tile, int ring) const {
  for (const ChipTileBox& box : chip_tiles) {
    if (box.chip_tile == chip_tile && (box.ring == ring || box.folded || ring >= box.rings)) return &box;
  }
  return nullptr;
}

const TensorBox* StageLayout::find(Tensor tensor) const {
  for (const TensorBox& box : tensors) {
    if (box.tensor == tensor) return &box;
  }
  return nullptr;
}

namespace {

StageLayout place_stage(const Rect& area, const GpuSpec& gpu, const ProgramShape& shape, int focus_sm,
                        const StageMetrics& metrics) {
  StageLayout layout;
  layout.area = area;
  layout.has_l2 = gpu.has_l2();
  const Bands bands = bands_of(area.height(), layout.has_l2, metrics);
  const float x = area.min.x, width = area.width();
  const float label_width = metrics.presented ? std::clamp(0.17F * width, 120 * metrics.scale, 190 * metrics.scale)
                                              : std::clamp(0.14F * width, 112 * metrics.scale, 168 * metrics.scale);

  float y = area.max.y - bands.hbm;
  layout.hbm = rect_of(x, y, width, bands.hbm);
  layout.hbm_label =
      rect_of(x + metrics.padding, y + metrics.padding * 0.8F, label_width - metrics.padding, bands.hbm - 1.6F * metrics.padding);
  float link_bottom = y;
  if (layout.has_l2) {
    layout.lower_note = rect_of(x + metrics.padding, y - bands.gap + 3 * metrics.scale, label_width - 4 * metrics.scale,
                                bands.gap - 6 * metrics.scale);
    y -= bands.gap + bands.l2;
    layout.l2 = rect_of(x, y, width, bands.l2);
    place_l2(layout, gpu, label_width, metrics);
    link_bottom = layout.l2.min.y;
  }

  const int sm_count = std::max(static_cast<int>(gpu.sm_count), 1);
  const bool cards =
      sm_count > 1 && sm_count - 1 <= most_cards && bands.sm / static_cast<float>(sm_count - 1) >= 66 * metrics.scale;
  const float others_width = sm_count == 1 ? 0
                             : cards       ? std::clamp((metrics.presented ? 0.18F : 0.29F) * width,
                                                        (metrics.presented ? 138 : 150) * metrics.scale, 330 * metrics.scale)
                                           : std::clamp(0.30F * width, 190 * metrics.scale, 420 * metrics.scale);
  layout.focus = rect_of(x, area.min.y, width - others_width - (others_width > 0 ? metrics.gap : 0), bands.sm);
  place_focus(layout, gpu, link_bottom, metrics);
  layout_chip_tiles(layout, shape, metrics);

  if (others_width > 0) {
    layout.others = {{layout.focus.max.x + metrics.gap, layout.focus.min.y}, {layout.hbm.max.x, layout.focus.max.y}};
    if (cards) {
      place_cards(layout, sm_count, focus_sm, link_bottom, link_width(gpu.sm_l2_bytes_per_cycle, metrics), metrics);
    } else {
      place_grid(layout, sm_count, metrics);
      const float bundle = std::min(2.2F * link_width(gpu.l2_bytes_per_cycle, metrics), 0.6F * others_width);
      layout.bundle =
          rect_of(layout.others.min.x + 0.25F * others_width, layout.others.max.y, bundle, link_bottom - layout.others.max.y);
    }
  }
  layout_tensors(layout, gpu, shape, metrics);
  return layout;
}

/// Returns whether every row of the tiles in registers is high enough for a number.
bool rows_have_digits(const StageLayout& layout, const StageMetrics& metrics) {
  return std::ranges::all_of(layout.chip_tiles, [&](const ChipTileBox& box) {
    const float row_height = box.cells.height() / static_cast<float>(std::max(box.rows, 1));
    return box.shared || (box.shown_rows == box.rows && digits_size(row_height, metrics) > 0);
  });
}

}  // namespace

float digits_size(float row_height, const StageMetrics& metrics) {
  if (row_height >= metrics.tiny_line) return 1;
  // Digits need none of the room of a line for accents and descenders, but a gap to the digits above and below.
  constexpr float digits_of_line = 0.85F, least_size = 0.62F;
  const float size = std::min(row_height / (digits_of_line * metrics.tiny_line), 1.0F);
  return metrics.presented && size >= least_size ? size : 0;
}

StageLayout layout_stage(const Rect& area, const GpuSpec& gpu, const ProgramShape& shape, int focus_sm,
                         const StageMetrics& metrics) {
  StageLayout usual = place_stage(area, gpu, shape, focus_sm, metrics);
  if (!metrics.presented || usual.stacked || rows_have_digits(usual, metrics)) return usual;
  StageMetrics tight = metrics;
  tight.tight = true;
  StageLayout with_digits = place_stage(area, gpu, shape, focus_sm, tight);
  return rows_have_digits(with_digits, metrics) ? with_digits : usual;
}

}  // namespace tilescope
