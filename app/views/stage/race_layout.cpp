// Places Race's two columns with equal widths, so that equal bars mean equal bytes.
#include "app/views/stage/race_layout.h"

#include <algorithm>
#include <cmath>

#include "app/views/stage/chip_tile_box.h"

namespace tilescope {

namespace {

/// Minimum sizes in points, with and without pictures of the stage.
constexpr ImVec2 whole_race = {520, 400}, least_race = {270, 104};
/// Height of the line that stands in place of the figures while they are kept back, with the gap above and below its words.
float held_height(const StageMetrics& metrics) {
  return metrics.line + 8 * metrics.scale;
}
/// The least whole race: one without figures is lower.
ImVec2 least_whole(const StageMetrics& metrics, bool held) {
  constexpr float figures = 72;
  return {whole_race.x, whole_race.y - (held ? figures - held_height(metrics) / metrics.scale : 0)};
}
/// Least size in points of a stage in a column that is not whole: its tiles keep their names.
constexpr ImVec2 least_stage = {210, 100};

/// What a counter needs of the width of its column: "≈ 9.61 + 2.30 MB" in the larger font, beside a bar that can be read.
bool is_narrow(float counter_width, const StageMetrics& metrics) {
  const float value = 18 * metrics.digit, label_and_bar = 120 * metrics.scale;
  return counter_width < value + label_and_bar;
}

/// Height of a counter whose bar lies below its words.
float two_line_counter(const StageMetrics& metrics) {
  return metrics.small_line + 10 * metrics.scale;
}

/// Height of a stage whose tensors have four rows in HBM, and whose links have two lines of bytes.
constexpr float stage_with_two_lines = 250;

/// Places buffers and matrices in one band, each below its name; columns of one value a row are narrow, and left out in Race.
void place_lane_tiles(StageLayout& layout, const ProgramShape& shape, const Rect& band, const StageMetrics& metrics,
                      bool with_columns) {
  std::vector<ChipTileBox> boxes;
  for (int pass = 0; pass < 2; ++pass) {  // shared memory first, where data arrive
    for (const ChipTileShape& chip_tile : shape.chip_tiles) {
      if (chip_tile.shared != (pass == 0) || (chip_tile.cols <= 1 && !with_columns)) continue;
      const bool folded = chip_tile.rings > 2;
      for (int ring = 0; ring < (folded ? 1 : chip_tile.rings); ++ring) {
        ChipTileBox box = box_of(chip_tile, ring);
        box.folded = folded;
        boxes.push_back(box);
      }
    }
  }
  const float scale = metrics.scale;
  // Where the room is short, tiles stand closer, and what a block computes is wider than what it reads.
  const bool is_short = with_columns && band.width() < 400 * scale;
  const float gap = (is_short ? 4 : 6) * scale, pad = (is_short ? 1 : 3) * scale, column_gap = is_short ? 2 * scale : gap;
  constexpr float computed_weight = 1.6F;
  const auto weight_of = [&](const ChipTileBox& box) { return box.cols <= 1 ? 0 : is_short && !box.shared ? computed_weight : 1; };
  const auto columns = std::count_if(boxes.begin(), boxes.end(), [](const ChipTileBox& box) { return box.cols <= 1; });
  const float usual_column = std::min(26 * scale, 0.05F * band.width());  // with the gap
  const float narrow = is_short ? std::max(usual_column, 16 * scale) : usual_column;
  const float end = band.max.x + gap - narrow * static_cast<float>(columns);
  float weights = 0, before = 0;
  for (const ChipTileBox& box : boxes) weights += weight_of(box);
  const auto at = [&](float weight) { return std::round(band.min.x + (end - band.min.x) * weight / weights); };
  int column = 0;
  for (ChipTileBox& box : boxes) {
    CellSpan x{};
    if (box.cols <= 1) {
      const float begin = std::round(end + narrow * static_cast<float>(column++));
      x = {begin, std::round(begin + narrow) - column_gap};
    } else {
      x = {at(before), at(before + weight_of(box)) - gap};
      before += weight_of(box);
    }
    box.box = {{x.begin, band.min.y}, {x.end, band.max.y}};
    box.label = {{x.begin + pad, band.min.y}, {x.end - pad, std::round(band.min.y + metrics.small_line)}};
    box.cells = {{box.label.min.x, box.label.max.y + 1}, {box.label.max.x, band.max.y - pad}};
    const float smallest_cell = 4 * scale;
    box.shown_rows = box.folded ? 1 : condensed(box.rows, box.cells.height(), smallest_cell);
    box.shown_cols = condensed(box.folded ? box.rings : box.cols, box.cells.width(), smallest_cell);
    layout.chip_tiles.push_back(box);
  }
}

/// Heights of the bands of one side, from the top: the SM in focus, a gap, the L2, a gap with the bytes of the links, HBM.
struct LaneBands {
  float focus = 0, gap = 0, l2 = 0, note_gap = 0, hbm = 0;
  bool titled = true;  // the SM in focus has a line for its name and its operation
  void fill(float height) { focus = height - gap - l2 - note_gap - hbm; }
};

LaneBands usual_bands(float height, bool has_l2, const StageMetrics& metrics) {
  const float scale = metrics.scale;
  // If room is short it is divided, so that the SM keeps a band for its on-chip tiles.
  const bool low = height < 200 * scale;
  LaneBands bands;
  // Four rows of tiles below their names.
  bands.hbm = low ? std::clamp(56 * scale, 0.29F * height, 0.31F * height) : std::clamp(0.3F * height, 60 * scale, 130 * scale);
  bands.l2 = !has_l2 ? 0 : low ? 0.16F * height : std::clamp(0.13F * height, 30 * scale, 46 * scale);
  bands.gap = low ? 0.06F * height : std::clamp(0.1F * height, 18 * scale, 44 * scale);
  bands.note_gap = !has_l2 ? 0 : std::max(bands.gap, metrics.tiny_line);
  bands.fill(height);
  return bands;
}

constexpr float lane_edge = 7;  // inside the boxes of one side, in points

/// What the SM in focus needs beside the cells of its tiles.
float around_cells(const StageMetrics& metrics, bool titled) {
  return metrics.small_line + (titled ? metrics.line + 2 * metrics.scale : 0) + (3 + lane_edge + 3) * metrics.scale;
}

/// In a low stage of its own, the cells of the SM in focus come before the heights of HBM and L2, and before its title, whose
/// operation the listing has too.
LaneBands bands_for_cells(float height, bool has_l2, int rows, const StageMetrics& metrics) {
  constexpr float row = 4, least_rows = 4, most_rows = 16;  // points of a row that can be told from the next
  const float scale = metrics.scale;
  const float wanted = row * scale * std::clamp(static_cast<float>(rows), least_rows, most_rows);
  LaneBands bands = usual_bands(height, has_l2, metrics);
  const auto missing = [&] { return std::max(0.0F, wanted + around_cells(metrics, bands.titled) - bands.focus); };
  const auto give = [&](float& from, float least) {
    from = std::max(std::min(from, least), from - missing());
    bands.fill(height);
  };
  give(bands.hbm, metrics.small_line + 18 * scale);
  if (has_l2) give(bands.l2, metrics.small_line + 4 * scale);
  give(bands.gap, 7 * scale);
  constexpr float readable = 0.5F;  // of what is wanted
  bands.titled = missing() <= (1 - readable) * wanted;
  return bands;
}

}  // namespace

StageLayout layout_lane(const Rect& area, const GpuSpec& gpu, const ProgramShape& shape, const StageMetrics& metrics,
                        bool with_columns) {
  StageLayout layout;
  layout.area = area;
  layout.has_l2 = gpu.has_l2();
  const float scale = metrics.scale, left = area.min.x, right = area.max.x, pad = lane_edge * scale;
  int rows = 1;
  for (const ChipTileShape& chip_tile : shape.chip_tiles) rows = std::max(rows, chip_tile.rows);
  const LaneBands bands = with_columns ? bands_for_cells(area.height(), layout.has_l2, rows, metrics)
                                       : usual_bands(area.height(), layout.has_l2, metrics);
  const bool low = area.height() < 200 * scale;
  const float label = std::clamp(0.17F * area.width(), 48 * scale, 92 * scale);

  layout.hbm = {{left, std::round(area.max.y - bands.hbm)}, area.max};
  layout.hbm_label = {{left + pad, layout.hbm.min.y + pad * 0.6F}, {left + label, layout.hbm.max.y - pad * 0.6F}};
  float link_bottom = layout.hbm.min.y;
  if (layout.has_l2) {
    const float bottom = std::round(layout.hbm.min.y - bands.note_gap);
    layout.l2 = {{left, std::round(bottom - bands.l2)}, {right, bottom}};
    layout.l2_label = {{left + pad, layout.l2.min.y + 2 * scale}, {left + label, bottom - 2 * scale}};
    const int partitions = std::clamp(static_cast<int>(gpu.l2_partitions), 1, 4);
    const float bar = std::max(std::min(bands.l2 - 12 * scale, 30 * scale), 4 * scale);
    const float middle = layout.l2.center().y - (low ? 2 * scale : 0);  // the strip below it is in the box too
    for (int i = 0; i < partitions; ++i) {
      const CellSpan x = cell_span(left + label + pad, right - pad + metrics.gap, partitions, i);
      layout.l2_bars.push_back({{x.begin, std::round(middle - bar / 2)}, {x.end - metrics.gap, std::round(middle + bar / 2)}});
    }
    link_bottom = layout.l2.min.y;
  }
  layout.focus = {{left, area.min.y}, {right, std::round(link_bottom - bands.gap)}};
  const float top = layout.focus.min.y + 3 * scale;
  float tiles_top = top;
  if (bands.titled) {
    layout.focus_title = {{left + pad, top}, {left + 0.36F * area.width(), top + metrics.line}};
    layout.operation_line = {{layout.focus_title.max.x + pad, top}, {right - pad, top + metrics.line}};
    tiles_top = layout.focus_title.max.y + 2 * scale;
  }
  layout.registers = {{left + pad, tiles_top}, {right - pad, layout.focus.max.y - pad}};
  place_lane_tiles(layout, shape, layout.registers, metrics, with_columns);

  const float port = link_width(gpu.sm_l2_bytes_per_cycle, metrics);
  layout.port_up = {{std::round(left + 0.3F * area.width()), layout.focus.max.y},
                    {std::round(left + 0.3F * area.width() + port), link_bottom}};
  layout.port_down = {{std::round(left + 0.75F * area.width()), layout.focus.max.y},
                      {std::round(left + 0.75F * area.width() + port), link_bottom}};
  layout_tensors(layout, gpu, shape, metrics);
  return layout;
}

ImVec2 race_size(ImVec2 room, const StageMetrics& metrics, bool held) {
  return picture_size(room, least_whole(metrics, held), least_race, metrics.scale);
}

RaceLayout layout_race(const Rect& area, const StageMetrics& metrics, RaceOutputs outputs, bool held) {
  const float scale = metrics.scale, gap = metrics.gap, pad = metrics.padding;
  const float strip = 14 * scale, least_counter = 18 * scale;
  const bool whole = is_whole({area.width(), area.height()}, least_whole(metrics, held), scale);
  RaceLayout layout;
  const bool narrow = !whole && is_narrow(0.5F * (area.width() - gap) - 2 * pad, metrics);
  layout.two_lines = narrow;
  // Figures, their words, and the reason. Where it is narrow, the words take two lines.
  const float figures_height = whole    ? std::clamp(0.105F * area.height(), 54 * scale, 88 * scale)
                               : narrow ? 28 * scale + 2 * metrics.small_line
                                        : 44 * scale;
  // A low race that keeps them back has the room for its stages.
  const bool low = held && whole && !is_whole({area.width(), area.height()}, whole_race, scale);
  const float verdict_height = low ? held_height(metrics) : figures_height + (whole ? metrics.small_line : 0);
  layout.verdict = {area.min, {area.max.x, std::round(area.min.y + verdict_height)}};
  // Where the stages need the room, what shows that the answers are the same stands beside the figures.
  const bool with_exactness = outputs != RaceOutputs::none;
  const float pictures = outputs == RaceOutputs::sentence
                             ? 0.5F * pad
                             : metrics.small_line + std::clamp(0.1F * area.height(), 36 * scale, 96 * scale) + pad;
  const float counter_of_whole = std::clamp(0.045F * area.height(), least_counter, 32 * scale);
  const float around_stage = 2 * pad + metrics.line + strip + gap + 3 * counter_of_whole;
  const float left_for_stage = area.height() - verdict_height - 2 * gap - metrics.small_line - pictures - around_stage;
  const bool roomy = left_for_stage >= stage_with_two_lines * scale, beside = with_exactness && whole && !roomy;
  if (beside) {
    layout.verdict.max.x = std::round(area.min.x + 0.58F * area.width());
    layout.exactness = {{layout.verdict.max.x + gap, area.min.y}, {area.max.x, layout.verdict.max.y}};
  }
  if (whole)
    layout.reason = {{area.min.x + pad, std::round(layout.verdict.max.y - metrics.small_line) - 3 * scale},
                     {layout.verdict.max.x - pad, layout.verdict.max.y - 3 * scale}};
  float top = layout.verdict.max.y + (whole ? gap : 0.5F * gap);
  const float bottom = area.max.y;
  if (with_exactness && whole && roomy) {
    layout.exactness = {{area.min.x, top}, {area.max.x, std::round(top + metrics.small_line + pictures)}};
    top = layout.exactness.max.y + gap;
  }
  for (int i = 0; i < 2; ++i) {
    RaceColumn& column = layout.columns[static_cast<std::size_t>(i)];
    const CellSpan x = cell_span(area.min.x, area.max.x + gap, 2, i);
    column.box = {{x.begin, top}, {x.end - gap, bottom}};
    const float left = x.begin + pad, right = x.end - gap - pad;
    float y = top + (whole ? 0.6F : 0.2F) * pad;
    float under = bottom - (whole ? 0.6F : 0.2F) * pad;
    // A narrow column has the figures of its finish and of its counters below their words, and the bars below those.
    const float counter_wanted = narrow ? two_line_counter(metrics) : least_counter;
    const bool stacked = narrow && under - y >= 2 * metrics.line + 3 * counter_wanted;
    const float title_end = stacked ? right : left + 0.52F * (right - left);
    column.title = {{left, y}, {title_end, y + metrics.line}};
    column.finish = stacked ? Rect{{left, y + metrics.line}, {right, y + 2 * metrics.line}}
                            : Rect{{title_end + gap, y}, {right, y + metrics.line}};
    y = std::round(column.finish.max.y + (whole ? 0.4F * pad : 0));
    const float counters_wanted = 3 * counter_wanted;
    const bool with_stage =
        whole || (right - left >= least_stage.x * scale && under - y >= least_stage.y * scale + counters_wanted + 0.4F * pad);
    // The cells of the SMs give way to the stage, which has the SM in focus.
    const float beside_strip = counters_wanted + (with_stage && !whole ? least_stage.y * scale + gap : 0);
    if (whole || under - y >= strip + beside_strip) {
      column.strip = {{left, y}, {right, std::round(y + strip)}};
      y = column.strip.max.y;
    }
    const int counters = whole || under - y >= 3 * metrics.small_line ? 3 : 2;
    const float counter_height = whole        ? counter_of_whole
                                 : with_stage ? counter_wanted
                                              : std::min((under - y) / static_cast<float>(counters), (narrow ? 56 : 32) * scale);
    for (int c = counters - 1; c >= 0; --c) {
      column.counters[static_cast<std::size_t>(c)] = {{left, std::round(under - counter_height)}, {right, std::round(under)}};
      under -= counter_height;
    }
    if (with_stage) column.stage = {{left, column.strip.height() > 0 ? y + gap : y}, {right, std::round(under - 0.4F * pad)}};
  }
  return layout;
}

CounterParts counter_parts(const Rect& counter, const StageMetrics& metrics) {
  CounterParts parts;
  float bar_top = counter.min.y;
  constexpr float rounding = 1;  // of both edges to pixels
  float thickest = 5;
  if (is_narrow(counter.width(), metrics) && counter.height() >= two_line_counter(metrics) - rounding) {
    const float line = counter.min.y + metrics.small_line, label = std::round(std::min(60 * metrics.scale, 0.3F * counter.width()));
    parts.label = {counter.min, {counter.min.x + label, line}};
    parts.value = {{parts.label.max.x, counter.min.y}, {counter.max.x, line}};
    parts.bar = {{counter.min.x, line}, counter.max};
    bar_top = line;
    thickest = 8;
  } else {
    const float label = std::min(84 * metrics.scale, 0.24F * counter.width());
    const float most = 22 * metrics.digit, least = 18 * metrics.digit;  // "≈ 9.61 MB + 2.30 MB", "≈ 9.61 + 2.30 MB"
    // In little room the bar gives way to the figures.
    const float value = std::max(std::min(most, 0.38F * counter.width()),
                                 std::min(least, counter.width() - label - metrics.gap - 16 * metrics.scale));
    parts.label = {counter.min, {counter.min.x + label, counter.max.y}};
    parts.value = {{counter.max.x - value, counter.min.y}, counter.max};
    parts.bar = {{parts.label.max.x, counter.min.y}, {parts.value.min.x - metrics.gap, counter.max.y}};
  }
  const float height = counter.max.y - bar_top, half = std::min(thickest * metrics.scale, height / 2 - 1);
  const float middle = std::round(bar_top + height / 2);
  parts.bar.min.y = middle - half;
  parts.bar.max.y = middle + half;
  return parts;
}

}  // namespace tilescope
