// Averages and quads of a mask's blocks.
#include "app/views/mask/mask_picture.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "app/ui/say.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

constexpr double block_pixels = 1.5;  // below, pixels are averages
constexpr double pattern_pixels = 7;  // from here on a block has a pattern
constexpr double gap_pixels = 9;      // and a gap to its neighbours
constexpr double most_pixels = 40;    // an element

MaskWindow kept_inside(MaskWindow window, const AttentionProblem& problem, const Rect& canvas) {
  const auto keep = [&](double& first, float room, std::int64_t length) {
    const double shown = static_cast<double>(room) / window.pixels, all = static_cast<double>(length);
    first = shown >= all ? (all - shown) / 2 : std::clamp(first, 0.0, all - shown);
  };
  keep(window.key, canvas.width(), problem.seq_kv);
  keep(window.query, canvas.height(), problem.seq_q);
  return window;
}

/// A box in pixels of the canvas.
struct PixelBox {
  double left, top, right, bottom;
};

PixelBox pixels_of(const MaskPicture& picture, const TileBox& box, const MaskWindow& window) {
  const AttentionProblem& p = picture.problem;
  const auto at = [&](std::int64_t block, std::int64_t size, std::int64_t length, double first) {
    return (static_cast<double>(std::min(block * size, length)) - first) * window.pixels;
  };
  return {at(box.first_col, picture.block.block_kv, p.seq_kv, window.key),
          at(box.first_row, picture.block.block_q, p.seq_q, window.query),
          at(box.end_col, picture.block.block_kv, p.seq_kv, window.key),
          at(box.end_row, picture.block.block_q, p.seq_q, window.query)};
}

struct Mean {
  float r = 0, g = 0, b = 0, covered = 0;
};

void add_quad(QuadBatch& batch, const Rect& canvas, const PixelBox& at, ImU32 fill, Hatch hatch, float radius) {
  Quad quad;
  quad.min = {canvas.min.x + static_cast<float>(std::max(0.0, at.left)), canvas.min.y + static_cast<float>(std::max(0.0, at.top))};
  quad.max = {canvas.min.x + static_cast<float>(std::min(static_cast<double>(canvas.width()), at.right)),
              canvas.min.y + static_cast<float>(std::min(static_cast<double>(canvas.height()), at.bottom))};
  if (quad.min.x >= quad.max.x || quad.min.y >= quad.max.y) return;
  quad.fill = fill;
  quad.hatch = hatch;
  quad.radius = radius;
  batch.add(quad);
}

void add_averages(QuadBatch& batch, const MaskPicture& picture, const Theme& theme, MaskColors colors, const MaskWindow& window,
                  const Rect& canvas) {
  const int width = static_cast<int>(canvas.width()), height = static_cast<int>(canvas.height());
  const std::vector<ImU32> pixels = average_colors(picture, theme, colors, window, width, height);
  for (int y = 0; y < height; ++y) {
    const ImU32* row = pixels.data() + static_cast<std::ptrdiff_t>(y) * width;
    for (int x = 0; x < width;) {
      int end = x + 1;
      while (end < width && row[end] == row[x]) ++end;
      if (row[x] != 0) {
        Quad quad;
        quad.min = {canvas.min.x + static_cast<float>(x), canvas.min.y + static_cast<float>(y)};
        quad.max = {canvas.min.x + static_cast<float>(end), canvas.min.y + static_cast<float>(y + 1)};
        quad.fill = row[x];
        batch.add(quad);
      }
      x = end;
    }
  }
}

/// Blocks one by one: those of a box have gaps between them where there is room.
void add_blocks(QuadBatch& batch, const MaskPicture& picture, const Theme& theme, MaskColors colors, const MaskWindow& window,
                const Rect& canvas, bool elements) {
  const double size = window.pixels * static_cast<double>(std::min(picture.block.block_q, picture.block.block_kv));
  const bool apart = size >= gap_pixels;
  const double gap = apart ? std::max(1.0, std::round(static_cast<double>(theme.scale))) : 0;
  const float radius = apart ? std::min(2.0F * theme.scale, static_cast<float>(size) * 0.1F) : 0;
  for (const TileBox& box : picture.boxes) {
    const PixelBox whole = pixels_of(picture, box, window);
    if (whole.right <= 0 || whole.bottom <= 0 || whole.left >= static_cast<double>(canvas.width()) ||
        whole.top >= static_cast<double>(canvas.height()))
      continue;
    const MaskLook look = mask_look(theme, colors, box, depth_of(picture, box), size, elements);
    const bool whole_box = colors == MaskColors::decided || !apart;
    if (whole_box) {
      add_quad(batch, canvas, {whole.left, whole.top, whole.right - (size >= 4 ? gap : 0), whole.bottom - (size >= 4 ? gap : 0)},
               look.fill, look.hatch, radius);
      continue;
    }
    for (std::int64_t row = box.first_row; row < box.end_row; ++row)
      for (std::int64_t col = box.first_col; col < box.end_col; ++col) {
        const PixelBox one = pixels_of(picture, {row, row + 1, col, col + 1, box.visibility, false}, window);
        add_quad(batch, canvas, {one.left, one.top, one.right - gap, one.bottom - gap}, look.fill, look.hatch, radius);
      }
  }
}

/// What the mask of the controls alone leaves visible, and what the other one does: told apart by colour and by pattern.
MaskLook only_here_look(const Theme& theme) {
  return {theme.bad, Hatch::none};
}
MaskLook only_there_look(const Theme& theme) {
  return {theme.accent, Hatch::diagonal};
}

/// Elements that one of the two masks alone leaves visible, in the blocks that have any.
void add_differing_elements(QuadBatch& batch, const MaskDifference& difference, const MaskElements& elements, const Theme& theme,
                            const MaskWindow& window, const Rect& canvas) {
  const MaskPicture& picture = *difference.of;
  const MaskLook here = only_here_look(theme), there = only_there_look(theme);
  const double gap = window.pixels >= 6 ? 1 : 0;
  for (const MaskDifference::Block& block : difference.blocks) {
    const std::int64_t first_query = std::max(elements.queries.first, block.row * picture.block.block_q),
                       end_query = std::min(elements.queries.end(), (block.row + 1) * picture.block.block_q),
                       first_key = std::max(elements.keys.first, block.col * picture.block.block_kv),
                       end_key = std::min(elements.keys.end(), (block.col + 1) * picture.block.block_kv);
    for (std::int64_t q = first_query; q < end_query; ++q)
      for (std::int64_t kv = first_key; kv < end_key; ++kv) {
        if (elements.at(q, kv) == elements.at_there(q, kv)) continue;
        const MaskLook& look = elements.at(q, kv) ? here : there;
        const double left = (static_cast<double>(kv) - window.key) * window.pixels,
                     top = (static_cast<double>(q) - window.query) * window.pixels;
        add_quad(batch, canvas, {left, top, left + window.pixels - gap, top + window.pixels - gap}, look.fill, look.hatch, 0);
      }
  }
}

/// Blocks in which the masks differ. One that each of them alone leaves visible in part has both looks beside each other.
void add_differing_blocks(QuadBatch& batch, const MaskDifference& difference, const Theme& theme, const MaskWindow& window,
                          const Rect& canvas) {
  const MaskLook here = only_here_look(theme), there = only_there_look(theme);
  const double least = 2;
  for (const MaskDifference::Block& block : difference.blocks) {
    PixelBox at = pixels_of(*difference.of, {block.row, block.row + 1, block.col, block.col + 1}, window);
    at.right = std::max(at.right, at.left + least);
    at.bottom = std::max(at.bottom, at.top + least);
    const double middle = block.here == 0 ? at.left : block.there == 0 ? at.right : (at.left + at.right) / 2;
    add_quad(batch, canvas, {at.left, at.top, middle, at.bottom}, here.fill, here.hatch, 0);
    add_quad(batch, canvas, {middle, at.top, at.right, at.bottom}, there.fill, there.hatch, 0);
  }
}

/// Runs of visible elements, in partial blocks.
void add_elements(QuadBatch& batch, const MaskPicture& picture, const MaskElements& elements, const Theme& theme,
                  const MaskWindow& window, const Rect& canvas) {
  const ImU32 fill = mask_color(theme, MaskColors::state, TileVisibility::full, true, 0);
  const double gap = window.pixels >= 6 ? 1 : 0;
  for (const TileBox& box : picture.boxes) {
    if (box.visibility != TileVisibility::partial) continue;
    const std::int64_t first_query = std::max(elements.queries.first, box.first_row * picture.block.block_q),
                       end_query = std::min(elements.queries.end(), box.end_row * picture.block.block_q),
                       first_key = std::max(elements.keys.first, box.first_col * picture.block.block_kv),
                       end_key = std::min(elements.keys.end(), box.end_col * picture.block.block_kv);
    for (std::int64_t q = first_query; q < end_query; ++q)
      for (std::int64_t kv = first_key; kv < end_key;) {
        if (!elements.at(q, kv)) {
          ++kv;
          continue;
        }
        std::int64_t end = kv + 1;
        while (gap == 0 && end < end_key && elements.at(q, end)) ++end;
        const auto x = [&](std::int64_t key) { return (static_cast<double>(key) - window.key) * window.pixels; };
        const double top = (static_cast<double>(q) - window.query) * window.pixels;
        add_quad(batch, canvas, {x(kv), top, x(end) - gap, top + window.pixels - gap}, fill, Hatch::none, 0);
        kv = end;
      }
  }
}

}  // namespace

MaskWindow whole_plane(const AttentionProblem& problem, const Rect& canvas) {
  MaskWindow window;
  window.pixels = std::min(static_cast<double>(canvas.width()) / static_cast<double>(problem.seq_kv),
                           static_cast<double>(canvas.height()) / static_cast<double>(problem.seq_q));
  return kept_inside(window, problem, canvas);
}

MaskWindow zoomed(const MaskWindow& window, const AttentionProblem& problem, const Rect& canvas, ImVec2 around, double factor) {
  const double least = whole_plane(problem, canvas).pixels;
  MaskWindow next = window;
  next.pixels = std::clamp(window.pixels * factor, least, std::max(least, most_pixels));
  next.key = window.key_at(canvas, around.x) - static_cast<double>(around.x - canvas.min.x) / next.pixels;
  next.query = window.query_at(canvas, around.y) - static_cast<double>(around.y - canvas.min.y) / next.pixels;
  return kept_inside(next, problem, canvas);
}

MaskWindow moved(const MaskWindow& window, const AttentionProblem& problem, const Rect& canvas, ImVec2 by) {
  MaskWindow next = window;
  next.key -= static_cast<double>(by.x) / window.pixels;
  next.query -= static_cast<double>(by.y) / window.pixels;
  return kept_inside(next, problem, canvas);
}

ImU32 mask_color(const Theme& theme, MaskColors colors, TileVisibility visibility, bool by_analysis, int depth) {
  constexpr float faint = 0.3F;  // below what differs
  if (colors == MaskColors::difference)
    return mix(theme.inset, mask_color(theme, MaskColors::state, visibility, by_analysis, depth), faint);
  if (colors == MaskColors::state) {
    // Steps of brightness, which are seen from the back of a room and by colour-blind readers: to S's hue, and on to the text's.
    constexpr double step = 3;
    const ImU32 partial = readable(theme.inset, theme.color(Meaning::score), theme.inset, step);
    return visibility == TileVisibility::empty     ? theme.inset
           : visibility == TileVisibility::partial ? partial
                                                   : readable(theme.color(Meaning::score), theme.text, partial, step);
  }
  if (!by_analysis) return theme.highlight;
  constexpr float deepest = 12;
  return mix(theme.inset, theme.accent, 0.85F - 0.65F * std::min(1.0F, static_cast<float>(depth) / deepest));
}

Hatch mask_hatch(MaskColors colors, TileVisibility visibility, bool by_analysis) {
  if (colors == MaskColors::decided) return by_analysis ? Hatch::none : Hatch::cross;
  return colors == MaskColors::state && visibility == TileVisibility::partial ? Hatch::diagonal : Hatch::none;
}

MaskLook mask_look(const Theme& theme, MaskColors colors, const TileBox& box, int depth, double size, bool elements) {
  const ImU32 fill = mask_color(theme, colors, box.visibility, box.by_analysis, depth);
  if (elements && colors == MaskColors::state && box.visibility == TileVisibility::partial)
    return {with_alpha(fill, 0.35F), Hatch::none};
  return {fill, size >= pattern_pixels ? mask_hatch(colors, box.visibility, box.by_analysis) : Hatch::none};
}

std::vector<MaskLegendEntry> mask_legend(const MaskPicture& picture, const Theme& theme, MaskColors colors,
                                         const MaskWindow& window, bool elements) {
  const double size = window.pixels * static_cast<double>(std::min(picture.block.block_q, picture.block.block_kv));
  std::vector<MaskLegendEntry> entries;
  const auto add = [&](std::string text, const TileBox& box, int depth) {
    entries.push_back({std::move(text), mask_look(theme, colors, box, depth, size, elements)});
  };
  if (colors == MaskColors::state) {
    const bool tiles = picture.blocks_are_tiles();
    add(elements ? (tiles ? tr("full tile, visible element") : tr("full mask block, visible element"))
                 : (tiles ? tr("full tile") : tr("full mask block")),
        {.visibility = TileVisibility::full, .by_analysis = true}, 0);
    add(tiles ? tr("partial tile") : tr("partial mask block"), {.visibility = TileVisibility::partial, .by_analysis = true}, 0);
    add(tiles ? tr("empty tile") : tr("empty mask block"), {.visibility = TileVisibility::empty, .by_analysis = true}, 0);
    return entries;
  }
  std::optional<std::pair<int, int>> depths;  // of what analysis decided
  bool looked_at = false;
  for (const TileBox& box : picture.boxes) {
    const int depth = depth_of(picture, box);
    looked_at = looked_at || !box.by_analysis;
    if (!box.by_analysis) continue;
    depths = depths ? std::pair(std::min(depths->first, depth), std::max(depths->second, depth)) : std::pair(depth, depth);
  }
  const auto analysis = [](int cuts) {
    return cuts == 0   ? std::string(tr("by analysis, at once"))
           : cuts == 1 ? std::string(tr("by analysis, after 1 cut"))
                       : say(tr("by analysis, after {} cuts"), cuts);
  };
  if (depths) add(analysis(depths->first), {.by_analysis = true}, depths->first);
  if (depths && depths->second != depths->first) add(analysis(depths->second), {.by_analysis = true}, depths->second);
  if (looked_at) add(tr("by looking at elements"), {.by_analysis = false}, 0);
  return entries;
}

std::vector<MaskLegendEntry> mask_legend(const MaskDifference& difference, const Theme& theme) {
  return {{say(tr("only here: {}"), format_count(difference.only_here)), only_here_look(theme)},
          {say(tr("only in the other mask: {}"), format_count(difference.only_there)), only_there_look(theme)}};
}

const TileBox* box_at(const MaskPicture& picture, std::int64_t row, std::int64_t col) {
  const auto found = std::find_if(picture.boxes.begin(), picture.boxes.end(), [&](const TileBox& box) {
    return row >= box.first_row && row < box.end_row && col >= box.first_col && col < box.end_col;
  });
  return found == picture.boxes.end() ? nullptr : &*found;
}

std::vector<ImU32> average_colors(const MaskPicture& picture, const Theme& theme, MaskColors colors, const MaskWindow& window,
                                  int width, int height) {
  std::vector<Mean> means(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  for (const TileBox& box : picture.boxes) {
    const PixelBox at = pixels_of(picture, box, window);
    const double left = std::max(0.0, at.left), top = std::max(0.0, at.top), right = std::min(static_cast<double>(width), at.right),
                 bottom = std::min(static_cast<double>(height), at.bottom);
    if (left >= right || top >= bottom) continue;
    const ImU32 color = mask_color(theme, colors, box.visibility, box.by_analysis, depth_of(picture, box));
    const ImVec4 c = ImGui::ColorConvertU32ToFloat4(color);
    for (int y = static_cast<int>(top); y < height && y < bottom; ++y) {
      const auto down = static_cast<float>(std::min(bottom, y + 1.0) - std::max(top, static_cast<double>(y)));
      Mean* row = means.data() + static_cast<std::ptrdiff_t>(y) * width;
      for (int x = static_cast<int>(left); x < width && x < right; ++x) {
        const float part = down * static_cast<float>(std::min(right, x + 1.0) - std::max(left, static_cast<double>(x)));
        Mean& mean = row[x];
        mean.r += part * c.x, mean.g += part * c.y, mean.b += part * c.z, mean.covered += part;
      }
    }
  }
  std::vector<ImU32> pixels(means.size(), 0);
  for (std::size_t i = 0; i < means.size(); ++i) {
    const Mean& mean = means[i];
    constexpr float least = 1e-3F;
    if (mean.covered < least) continue;  // beyond the plane
    const auto channel = [&](float sum) { return static_cast<ImU32>(std::lround(255 * std::min(1.0F, sum / mean.covered))); };
    const auto alpha = static_cast<ImU32>(std::lround(255 * std::min(1.0F, mean.covered)));
    pixels[i] = IM_COL32(channel(mean.r), channel(mean.g), channel(mean.b), alpha);
  }
  return pixels;
}

std::shared_ptr<const QuadBatch> make_mask_quads(const MaskPicture& picture, const MaskElements* elements, const Theme& theme,
                                                 MaskColors colors, const MaskWindow& window, const Rect& canvas) {
  auto batch = std::make_shared<QuadBatch>();
  if (canvas.width() < 1.0F || canvas.height() < 1.0F) return batch;  // a window of a few pixels leaves no room for the picture
  const double size = window.pixels * static_cast<double>(std::min(picture.block.block_q, picture.block.block_kv));
  if (size < block_pixels) {
    add_averages(*batch, picture, theme, colors, window, canvas);
    return batch;
  }
  const bool with_elements = elements != nullptr && shows_elements(colors, window);
  add_blocks(*batch, picture, theme, colors, window, canvas, with_elements);
  if (with_elements) add_elements(*batch, picture, *elements, theme, window, canvas);
  return batch;
}

std::shared_ptr<const QuadBatch> make_difference_quads(const MaskDifference& difference, const MaskElements* elements,
                                                       const Theme& theme, const MaskWindow& window, const Rect& canvas) {
  auto batch =
      std::make_shared<QuadBatch>(*make_mask_quads(*difference.of, nullptr, theme, MaskColors::difference, window, canvas));
  if (canvas.width() < 1.0F || canvas.height() < 1.0F) return batch;
  const bool by_element = elements != nullptr && elements->there == difference.there && window.pixels >= element_pixels;
  if (by_element)
    add_differing_elements(*batch, difference, *elements, theme, window, canvas);
  else
    add_differing_blocks(*batch, difference, theme, window, canvas);
  return batch;
}

}  // namespace tilescope
