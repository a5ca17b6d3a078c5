// Caption: what an exported picture shows, in the picture: algorithm, GPU, problem, step and line.
#pragma once

#include <string>

#include "app/ui/widgets.h"
#include "app/views/view.h"

namespace tilescope {

/// Returns "FlashAttention-2 on toy"; in Race both names.
std::string caption_run(const View& view);
/// Returns "B 1  H 1  N 64  d 16  fp16, tile 16×16".
std::string caption_problem(const View& view);
/// Returns "Step 12 of 84".
std::string caption_step(const View& view);
/// Returns "line 5: load Kⱼ, Vⱼ", "before the first step", or the clock in a race.
std::string caption_line(const View& view);

/// Returns one row, or two where the picture is narrow.
float caption_height(const Theme& theme, float width);
void draw_caption(const Rect& rect, const View& view);

}  // namespace tilescope
