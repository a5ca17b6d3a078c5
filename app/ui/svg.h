// to_svg(): a built frame as a vector picture, with its text as text.
//
//   ImDrawData ──► triangles of one colour ──► <path>
//              ──► quads with a glyph of the atlas ──► <text>, a run a line, words placed
//              ──► batches of QuadRenderer ──► <rect> with gradient, pattern, border and halo
#pragma once

#include <string>
#include <vector>

#include <imgui.h>

#include "app/ui/fonts.h"

namespace tilescope {

/// A run of text as the picture places it.
struct SvgText {
  std::string text;
  ImVec2 min, max;  // of what is drawn of it
};

struct SvgPicture {
  std::string svg;
  std::vector<SvgText> texts;
};

/// `prefix` begins the ids, which must differ where several pictures are in one page. Needs a frame built without smoothed edges
/// (set_vector_style()), whose batches are still there.
SvgPicture to_svg(const ImDrawData& frame, const ImFontAtlas& atlas, const FontLibrary& fonts, ImU32 background,
                  const std::string& prefix = {});

/// Turns the smoothed edges of ImGui's shapes off, which would be triangles of their own, or on again. Call it before
/// ImGui::NewFrame.
void set_vector_style(bool on);

}  // namespace tilescope
