// The blocks of a mask on the screen. Zoomed out, a pixel shows the average of its blocks; zoomed in, elements appear.
//
//   keys ►                    a block of 128 × 128:   ▇ full   ▨ partial   blank: empty
//   queries ▼                 less than 1.5 pixels:   a pixel's colour is the mean of what it covers
#pragma once

#include <memory>

#include "app/model/session/mask_study.h"
#include "app/ui/quad_batch.h"
#include "app/ui/widgets.h"

namespace tilescope {

/// What a block's colour says: how much of it is visible, who decided that, or where another mask differs.
enum class MaskColors : std::uint8_t { state, decided, difference };

/// Which part of a plane is on screen: pixels an element, and the element at the canvas's top left.
struct MaskWindow {
  double pixels = 1, query = 0, key = 0;
  bool operator==(const MaskWindow&) const = default;

  float x_of(const Rect& canvas, double key_at) const { return canvas.min.x + static_cast<float>((key_at - key) * pixels); }
  float y_of(const Rect& canvas, double query_at) const { return canvas.min.y + static_cast<float>((query_at - query) * pixels); }
  double key_at(const Rect& canvas, float x) const { return key + static_cast<double>(x - canvas.min.x) / pixels; }
  double query_at(const Rect& canvas, float y) const { return query + static_cast<double>(y - canvas.min.y) / pixels; }
};

/// The whole plane in the canvas.
MaskWindow whole_plane(const AttentionProblem& problem, const Rect& canvas);
/// Zooms by `factor` around a point, no further out than the whole plane, and keeps the plane on the canvas.
MaskWindow zoomed(const MaskWindow& window, const AttentionProblem& problem, const Rect& canvas, ImVec2 around, double factor);
MaskWindow moved(const MaskWindow& window, const AttentionProblem& problem, const Rect& canvas, ImVec2 by);

/// From so many pixels on, the elements of partial blocks are drawn.
inline constexpr double element_pixels = 3;
inline bool shows_elements(MaskColors colors, const MaskWindow& window) {
  return colors != MaskColors::decided && window.pixels >= element_pixels;
}

/// Fill of a block; `depth` counts for MaskColors::decided.
ImU32 mask_color(const Theme& theme, MaskColors colors, TileVisibility visibility, bool by_analysis, int depth);
Hatch mask_hatch(MaskColors colors, TileVisibility visibility, bool by_analysis);

/// How a block is drawn that has so many pixels on its shorter side. Where the elements of partial blocks are drawn over them,
/// those are faint.
struct MaskLook {
  ImU32 fill = 0;
  Hatch hatch = Hatch::none;
  bool operator==(const MaskLook&) const = default;
};
MaskLook mask_look(const Theme& theme, MaskColors colors, const TileBox& box, int depth, double size, bool elements);

/// The looks that the map of a mask has now, with what each says.
struct MaskLegendEntry {
  std::string text;
  MaskLook look;
};
std::vector<MaskLegendEntry> mask_legend(const MaskPicture& picture, const Theme& theme, MaskColors colors,
                                         const MaskWindow& window, bool elements);
/// Those of MaskColors::difference: what one of the two masks alone leaves visible, with how many elements that are.
std::vector<MaskLegendEntry> mask_legend(const MaskDifference& difference, const Theme& theme);

/// The box that holds a block; nullptr outside.
const TileBox* box_at(const MaskPicture& picture, std::int64_t row, std::int64_t col);

/// Mean colours of pixels, row by row, of what `boxes` cover: what is drawn where blocks are smaller than a pixel.
std::vector<ImU32> average_colors(const MaskPicture& picture, const Theme& theme, MaskColors colors, const MaskWindow& window,
                                  int width, int height);

std::shared_ptr<const QuadBatch> make_mask_quads(const MaskPicture& picture, const MaskElements* elements, const Theme& theme,
                                                 MaskColors colors, const MaskWindow& window, const Rect& canvas);
/// The mask, faint, and over it what one of the two masks alone leaves visible: by element where those are large enough, else by
/// block.
std::shared_ptr<const QuadBatch> make_difference_quads(const MaskDifference& difference, const MaskElements* elements,
                                                       const Theme& theme, const MaskWindow& window, const Rect& canvas);

}  // namespace tilescope
