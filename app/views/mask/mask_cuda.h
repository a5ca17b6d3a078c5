// The CUDA of a mask and of a score change, as NVRTC compiles it for this request: which line computes which part of the
// expression.
#pragma once

#include <memory>
#include <optional>

#include "app/ui/widgets.h"
#include "app/views/view.h"
#include "sim/core/attention_problem.h"
#include "sim/masks/kernel_source.h"

namespace tilescope {

/// The text of a request, made anew only for another one.
struct MaskCuda {
  std::optional<AttentionProblem> of;  // whose text it is
  std::optional<Expression> mask;      // nullopt: none, or a mask that is no expression
  std::shared_ptr<const KernelSource> source;
  // The expression that the pointer is on, and its column there.
  enum class Part : std::uint8_t { mask, score, slope, tables } part = Part::mask;
  std::uint32_t column = 0;
};

/// Draws the expressions, with the part that the pointed line computes, and the lines below, in `area`. `problem` is that of the
/// run that is shown.
void draw_mask_cuda(const View& view, const AttentionProblem& problem, MaskCuda& state, const Rect& area);

}  // namespace tilescope
